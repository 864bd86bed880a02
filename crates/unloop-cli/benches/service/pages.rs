//! The dashboard over a big catalog: 1 000 options, 10⁶ choices by 10 000 contexts, all of different sets. Every page is asked for right after the start, when
//! nothing is in memory, and again when there is a ranking.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use rand::seq::index::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::caller::Caller;
use super::server::{Folder, Server};

const OPTIONS: usize = 1_000;
const CHOICES: usize = 1_000_000;
const CONTEXTS: usize = 10_000;
const PAGES: [&str; 12] = [
    "/",
    "/catalogs/big",
    "/catalogs/big?pick=option-5&pick=option-7",
    "/catalogs/big?q=77",
    "/catalogs/big?rows=1000",
    "/catalogs/big/fairness",
    "/catalogs/big/charts/best",
    "/catalogs/big/contexts",
    "/catalogs/big/context?name=user-77",
    "/catalogs/big/export/ranking.svg",
    "/catalogs/big/export/pairs.svg",
    "/health",
];

/// Choices by Luce's rule from five options at random.
fn choices() -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let strength: Vec<f64> = (0..OPTIONS).map(|_| 0.01 + rng.random::<f64>().powi(3)).collect();
    let mut text = String::from("presented,chosen,user\n");
    for number in 0..CHOICES {
        let set: Vec<usize> = sample(&mut rng, OPTIONS, 5).into_vec();
        let mut left = rng.random::<f64>() * set.iter().map(|&option| strength[option]).sum::<f64>();
        let chosen = set.iter().copied().find(|&option| {
            left -= strength[option];
            left < 0.0
        });
        let names: Vec<String> = set.iter().map(|option| format!("option-{option}")).collect();
        let _ = writeln!(text, "{},option-{},user-{}", names.join("|"), chosen.unwrap_or(set[0]), number % CONTEXTS);
    }
    text
}

/// Times every page.
pub(crate) async fn pages() {
    let folder = Folder::new("load-pages");
    let (file, database) = (folder.0.join("big.csv"), folder.0.join("unloop.db"));
    std::fs::write(&file, choices()).expect("a file");
    let import = Command::new(env!("CARGO_BIN_EXE_unloop"))
        .args(["import", "--catalog", "big", "--db"])
        .arg(&database)
        .arg(&file)
        .current_dir(&folder.0)
        .output()
        .expect("an import");
    assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    let server = Server::start(&database, &[]);
    let mut caller = Caller::new(server.address).await.expect("a connection");
    let mut worst = [Duration::ZERO; 2];
    let mut times = [[Duration::ZERO; PAGES.len()]; 2];
    for (round, times) in times.iter_mut().enumerate() {
        if round == 1 {
            // Until the leaderboard is there.
            let start = Instant::now();
            loop {
                let (status, _) = caller.call("GET", "/catalogs/big/export/ranking.csv", "").await.expect("answered");
                if status == 200 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            println!("pages: the first ranking was there after {:.1} s more", start.elapsed().as_secs_f64());
        }
        for (page, time) in PAGES.into_iter().zip(times) {
            let start = Instant::now();
            let (status, _) = caller.call("GET", page, "").await.expect("answered");
            *time = start.elapsed();
            // What is exported has to be there.
            assert!(status == 200 || (round == 0 && status == 503), "{page}: {status}");
            worst[round] = worst[round].max(*time);
        }
    }
    let ms = |time: Duration| 1e3 * time.as_secs_f64();
    for (place, page) in PAGES.into_iter().enumerate() {
        println!("pages: {page}: {:.0} ms at first, {:.0} ms with a ranking", ms(times[0][place]), ms(times[1][place]));
    }
    let choices = CHOICES as f64;
    println!(
        "pages, {OPTIONS} options, {choices:e} choices: at most {:.0} ms at first, {:.0} ms with a ranking",
        ms(worst[0]),
        ms(worst[1])
    );
    server.stop();
}
