//! scratch
mod support;
use std::time::Instant;
use support::*;
use unloop::{Basis, Posterior, Prior, OptionId, Statistics};
fn main() {
    let which: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    for (case, alpha) in [(PAIRS, 1.0), (FIVES, 1.0), (CHAIN, 1.0), (CHAIN_FIVES, 1.0), (LARGE, 2.0)] {
        if !which.is_empty() && !which.iter().any(|w| case.name.contains(w.as_str())) { continue; }
        for seed in 1..4 {
        if case.options > 10_000 && seed > 1 { break; }
        let mut all: Vec<OptionId> = Vec::new();
        let mut ch: Vec<OptionId> = Vec::new();
        case.each(seed, |m, c| { all.extend_from_slice(m); ch.push(c); });
        let t = Instant::now();
        let mut statistics = Statistics::new(case.options as usize);
        statistics.record_all(all.chunks_exact(case.size).zip(&ch).map(|(m, &c)| (m.iter().copied(), c, 1.0))).unwrap();
        println!("{} seed {seed} record {:?} distinct {} bytes/each {:.1}", case.name, t.elapsed(), statistics.distinct(), statistics.heap_bytes() as f64 / statistics.distinct() as f64);
        drop((all, ch));
            let t = Instant::now();
            let posterior = Posterior::new(&Prior::symmetric(alpha).unwrap(), &statistics).unwrap();
            let built = t.elapsed();
            let map = posterior.map(Basis::Simplex);
            let total = t.elapsed();
            match map { Ok(map) => println!("   build {built:?} total {total:?} iterations {} norm {:e}", map.iterations, map.gradient_norm),
              Err(e) => println!("   build {built:?} total {total:?} {e}") }
        }
    }
}
