//! Two servers over one store, and random interleavings of everything that is asked of them: both know what the log says, and nothing else.
//!
//! `cargo test -p unloop-server --test two_servers [-- --cases N] [--seed S]`; 20 cases by default. In each, one or the other server presents,
//! records, imports, withdraws, erases, changes options and settings, ranks and is restarted, in an order that the seed decides, at times by several
//! callers at once; one of them has next to no memory, so that contexts go and come back all the time. In the end counts are those of the log
//! folded anew, and the answers of both servers are the same to the bit.
#![allow(missing_docs, clippy::print_stdout)]

mod pair;
#[path = "../../unloop-store/tests/repeated/mod.rs"]
mod repeated;
mod support;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use pair::case::Case;
use pair::{CONTEXTS, Pair, ranking_path};
use repeated::report;

fn main() -> ExitCode {
    report("--cases", 20, &[("two_servers", interleave), ("at_least", at_least)])
}

fn interleave(cases: u64, seed: u64) {
    let mut steps = 0;
    for number in 0..cases {
        let rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1_000_003) + number);
        steps += Case::new(number, rng).run();
    }
    println!("{cases} interleavings of {steps} steps on two servers, both as the log says");
}

/// Whoever passes on the position that one server answered finds the choice at the other, at once.
fn at_least(_: u64, seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pair = Pair::new(1 << 30);
    pair.client(0).put("/v1/catalogs/c", &json!({ "options": ["soup", "salad", "curry"], "size": 2 })).expect(201);
    pair.settled();
    // Both have them in memory, where nothing but the log moves them on.
    for which in 0..2 {
        for context in CONTEXTS.iter().chain(&["all"]) {
            pair.client(which).get(&ranking_path(context, 0)).expect(200);
        }
    }
    let mut longest = Duration::ZERO;
    for round in 0..40 {
        let (here, there) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
        let context = CONTEXTS[rng.random_range(0..CONTEXTS.len())];
        let shown = pair.client(here).present("c", &json!({ "context": context })).expect(201);
        let chosen = pair.client(here).choose(&shown, &json!({ "chosen": [shown.options()[0]] })).expect(200);
        let seq = chosen.body["seq"].as_u64().expect("a position");
        // Its own, everybody's, and one that it does not concern.
        let other = CONTEXTS[rng.random_range(0..CONTEXTS.len())];
        let start = Instant::now();
        let presented = pair.client(there).present("c", &json!({ "context": context, "at_least": seq })).expect(201);
        assert!(presented.body["seq"].as_u64() >= Some(seq), "{}", presented.text);
        for context in [context, "all", other] {
            let ranked = pair.client(there).get(&ranking_path(context, seq)).expect(200);
            assert!(ranked.body["seq"].as_u64() >= Some(seq), "round {round}, {context}: {}", ranked.text);
            pair.assert_counts(&ranked, context, &format!("round {round}"));
        }
        longest = longest.max(start.elapsed());
        // What was learnt shows in what is presented.
        let (fan, favourite) = (format!("fan {round}"), shown.options()[1].clone());
        let row = json!({ "id": fan, "context": fan, "presented": shown.options(), "chosen": [favourite], "weight": 200.0 });
        let imported = pair.client(here).post("/v1/catalogs/c/choices", &json!({ "rows": [row] })).expect(200);
        let asked = json!({ "context": fan, "size": 1, "candidates": shown.options(), "policy": "greedy", "at_least": imported.body["rows"][0]["seq"] });
        assert_eq!(pair.client(there).present("c", &asked).expect(201).options(), [favourite], "{}", imported.text);
    }
    let beyond = json!({ "at_least": 1_000_000 });
    assert_eq!(pair.client(0).present("c", &beyond).refused(422, "invalid").body["field"], "at_least");
    assert_eq!(pair.client(1).get(&ranking_path("all", 1_000_000)).refused(422, "invalid").body["field"], "at_least");
    println!("40 choices found at the other server at once, within {longest:?}");
    assert!(longest < Duration::from_secs(3), "it took {longest:?}");
}
