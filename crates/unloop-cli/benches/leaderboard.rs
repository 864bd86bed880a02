//! From a file of battles to a leaderboard, the whole command: `cargo bench -p unloop-cli --bench leaderboard`.
//!
//! Two files are made in the temporary folder and removed at the end: 100 models with 100 000 battles, 1 000 options with 10⁷ (280 MB),
//! a fifth of them ties. Each is ranked three times; printed are the times from start to end of the process and its largest memory.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn main() {
    for (options, rows) in [(100, 100_000), (1_000, 10_000_000)] {
        let path = std::env::temp_dir().join(format!("unloop-leaderboard-{}-{options}.csv", std::process::id()));
        write_battles(&path, options, rows).expect("written");
        let size = std::fs::metadata(&path).expect("a file").len() as f64 / 1e6;
        print!("{options} options, {rows} battles, {size:.0} MB:");
        let mut memory = 0.0_f64;
        for _ in 0..3 {
            let (seconds, peak) = rank(&path);
            print!(" {seconds:.2} s");
            memory = memory.max(peak);
        }
        println!(", {memory:.0} MB of memory");
        std::fs::remove_file(&path).expect("removed");
    }
}

fn write_battles(path: &PathBuf, options: usize, rows: usize) -> std::io::Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let strength: Vec<f64> = (0..options).map(|_| (4.0 * rng.random::<f64>() - 2.0).exp()).collect();
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "model_a,model_b,winner")?;
    for _ in 0..rows {
        let a = rng.random_range(0..options);
        let b = (a + rng.random_range(1..options)) % options;
        let winner = match rng.random::<f64>() {
            u if u < 0.1 => "tie",
            u if u < 0.2 => "tie (bothbad)",
            _ if rng.random::<f64>() * (strength[a] + strength[b]) < strength[a] => "model_a",
            _ => "model_b",
        };
        writeln!(out, "model-{a:03},model-{b:03},{winner}")?;
    }
    out.flush()
}

/// Seconds from start to end, and the largest resident memory in MB, where the system tells.
fn rank(path: &Path) -> (f64, f64) {
    let began = Instant::now();
    let mut child =
        Command::new(env!("CARGO_BIN_EXE_unloop")).arg("rank").arg(path).stdout(Stdio::null()).spawn().expect("the binary runs");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0.0_f64;
    while child.try_wait().expect("it runs").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0.0) / 1e3);
        std::thread::sleep(Duration::from_millis(2));
    }
    (began.elapsed().as_secs_f64(), peak)
}
