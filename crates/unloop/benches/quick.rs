//! scratch
mod support;
use std::time::Instant;
use support::*;
use unloop::{Basis, Posterior, Prior};
fn main() {
    let which: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    for (case, alpha) in [(PAIRS, 1.0), (FIVES, 1.0), (CHAIN, 1.0), (CHAIN_FIVES, 1.0), (LARGE, 2.0)] {
        if !which.is_empty() && !which.iter().any(|w| case.name.contains(w.as_str())) { continue; }
        let t = Instant::now();
        let statistics = case.statistics(1);
        println!("{} record {:?} distinct {} bytes/each {:.1}", case.name, t.elapsed(), statistics.distinct(), statistics.heap_bytes() as f64 / statistics.distinct() as f64);
        for _ in 0..3 {
            let t = Instant::now();
            let posterior = Posterior::new(&Prior::symmetric(alpha).unwrap(), &statistics).unwrap();
            let built = t.elapsed();
            let map = posterior.map(Basis::Simplex);
            let total = t.elapsed();
            match map { Ok(map) => println!("   build {built:?} total {total:?} iterations {} norm {:e}", map.iterations, map.gradient_norm),
              Err(e) => println!("   build {built:?} total {total:?} {e}") }
            if case.options > 10_000 { break; }
        }
    }
}
