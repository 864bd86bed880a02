//! The real program serves 32 clients and is killed at random moments, again and again; nothing that it acknowledged may be lost.
//!
//! `cargo test -p unloop-cli --test serve_kill [-- --cycles N] [--seed S]`; 20 cycles by default. Each cycle: clients present and choose,
//! import, withdraw, repeat and contradict, each with a ledger of its own; after 100 to 400 ms the server gets SIGKILL, starts again over
//! the same files, and what it exports is compared with the ledgers. What no answer came to is sent again. SIGKILL leaves the system's cache alive:
//! `power.rs` of the store is about the disk.
//!
//! Also how it ends when it is told to, how it does without its secrets, and without space.
#![allow(missing_docs, clippy::print_stdout)]

mod killed;
#[path = "../../unloop-store/tests/repeated/mod.rs"]
mod repeated;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use killed::caller::Caller;
use killed::client::Client;
use killed::ledger::{Figures, compare};
use killed::process::{Folder, Process};
use repeated::report;

const CLIENTS: u64 = 32;
/// Milliseconds of traffic before it is killed.
const TRAFFIC: std::ops::Range<u64> = 100..400;

fn main() -> ExitCode {
    report(
        "--cycles",
        20,
        &[
            ("kill", kill_again_and_again),
            ("secret", killed::secret::is_replaced_with_a_warning),
            ("stop", killed::stop::answers_what_was_sent),
            ("stop_at_once", killed::stop::ends_in_good_order_from_the_first_moment),
            ("full", killed::full::refuses_and_recovers),
        ],
    )
}

fn kill_again_and_again(cycles: u64, seed: u64) {
    let folder = Folder::new("kill");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut clients: Vec<Client> = (0..CLIENTS).map(|number| Client::new(number, seed)).collect();
    let mut server = Process::start(&folder.database(), &["--catalog", killed::client::CATALOG]);
    for cycle in 0..cycles {
        serve_until_killed(&mut server, &mut clients, rng.random_range(TRAFFIC));
        if cycle + 1 == cycles {
            folder.verify();
        }
        server = Process::start(&folder.database(), &[]);
        compare(&Caller::new(server.address), &mut clients).unwrap_or_else(|problem| panic!("cycle {cycle}: {problem}"));
    }
    // What no answer came to in the end, and tokens from before.
    let caller = Caller::new(server.address);
    for client in &mut clients {
        client.settle_all(&caller).unwrap_or_else(|cut| panic!("nobody killed it: {cut}"));
    }
    compare(&caller, &mut clients).unwrap_or_else(|problem| panic!("at the end: {problem}"));
    server.stop();
    folder.verify();
    let figures = clients.iter().map(|client| client.figures).fold(Figures::default(), |sum, own| sum + own);
    println!("{cycles} kills, {figures}; 0 lost, 0 doubled");
    assert!(figures.choices > 10 * cycles && figures.withdrawals > 0, "hardly anything was acknowledged");
    assert!(figures.repeats > 0 && figures.conflicts > 0 && figures.from_before > 0, "not everything was tried");
}

fn serve_until_killed(server: &mut Process, clients: &mut [Client], milliseconds: u64) {
    let killed = AtomicBool::new(false);
    let address = server.address;
    std::thread::scope(|scope| {
        for client in clients {
            let killed = &killed;
            scope.spawn(move || client.call_until_killed(&Caller::new(address), killed));
        }
        std::thread::sleep(Duration::from_millis(milliseconds));
        killed.store(true, Ordering::SeqCst);
        server.kill();
    });
}
