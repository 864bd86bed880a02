//! Several callers at once, at both servers, who choose, import, withdraw, erase and rank.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::{CONTEXTS, Pair, ranking_path};

const CALLERS: usize = 4;
const CALLS: usize = 6;

/// Lets them; nobody knows in what order things happened, but everybody gets a right answer.
pub(crate) fn burst(pair: &Pair, mut rng: ChaCha8Rng, at: &str) {
    let seeds: [u64; CALLERS] = std::array::from_fn(|_| rng.random_range(0..u64::MAX));
    std::thread::scope(|scope| {
        for seed in seeds {
            scope.spawn(move || call(pair, ChaCha8Rng::seed_from_u64(seed), at));
        }
    });
}

fn call(pair: &Pair, mut rng: ChaCha8Rng, at: &str) {
    let mut last = 0;
    for call in 0..CALLS {
        let (here, there) = (rng.random_range(0..2), rng.random_range(0..2));
        // Guests are forgotten now and then, and remembered by nobody here.
        let guest = format!("guest {}", rng.random_range(0..2));
        let known = CONTEXTS[rng.random_range(0..CONTEXTS.len())].to_owned();
        let context = if rng.random_range(0..2) == 0 { guest.clone() } else { known };
        match rng.random_range(0..10) {
            0..5 => {
                let shown = pair.client(here).present("c", &json!({ "context": context, "size": 3, "at_least": last }));
                if shown.problem() == "nothing-eligible" {
                    continue;
                }
                let shown = shown.expect(201);
                let first = shown.options()[0].clone();
                let answer = pair.client(there).choose(&shown, &json!({ "chosen": [first] })).expect(200);
                let seq = answer.body["seq"].as_u64().expect("a position");
                assert!(seq > last && answer.body["repeated"] == false, "{at}: {} after {last}", answer.text);
                last = seq;
                if rng.random_range(0..3) == 0 {
                    let id = shown.body["id"].as_str().expect("an id");
                    let answer = pair.client(here).delete(&format!("/v1/catalogs/c/choices/{id}"));
                    assert!(answer.status == 200 || answer.problem() == "gone", "{at}: {}", answer.text);
                }
            }
            5 | 6 => {
                let id = format!("{:x}", rng.random_range(0..u64::MAX));
                let row = json!({ "id": id, "context": guest, "presented": ["soup", "haggis"], "tied": ["haggis", "soup"] });
                let answer = pair.client(here).post("/v1/catalogs/c/choices", &json!({ "rows": [row, row] })).expect(200);
                let seq = answer.body["rows"][0]["seq"].as_u64().expect("a position");
                // Between the two of them nobody comes.
                assert!(seq > last && answer.body["rows"][1]["seq"] == seq, "{at}, call {call}: {}", answer.text);
                last = seq;
            }
            7 => {
                let answer = pair.client(here).delete(&format!("/v1/catalogs/c/contexts/{}", guest.replace(' ', "%20")));
                assert!(answer.status == 200 || answer.problem() == "no-context", "{at}: {}", answer.text);
            }
            _ => {
                let ranked = pair.client(here).get(&ranking_path(&context, last)).expect(200);
                assert!(ranked.body["seq"].as_u64() >= Some(last), "{at}: {}", ranked.text);
            }
        }
    }
}
