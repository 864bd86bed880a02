//! Winner stays (Chen & Frazier 2017) for pairs, and independent Self-Sparring (Sui, Zhuang, Burdick & Yue 2017) for any size.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution};

use crate::policy::{Policy, top};

/// WS-W: the options with the most wins less losses meet; the last round's stay where they are level.
pub struct WinnerStays {
    score: Vec<i64>,
    last: Option<[u32; 2]>,
}

impl WinnerStays {
    /// Over so many options.
    pub fn new(count: usize) -> Self {
        Self { score: vec![0; count], last: None }
    }
}

impl Policy for WinnerStays {
    fn present(&mut self, _: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        let rank = |k: u32| match self.last {
            Some([first, _]) if k == first => 2_u8,
            Some([_, second]) if k == second => 1,
            _ => 0,
        };
        let mut best: [Option<(i64, u8, u32, u32)>; 2] = [None; 2];
        for k in 0..self.score.len() as u32 {
            let own = Some((self.score[k as usize], rank(k), rng.random::<u32>(), k));
            if own > best[0] {
                best = [own, best[0]];
            } else if own > best[1] {
                best[1] = own;
            }
        }
        shown.clear();
        shown.extend(best.iter().flatten().map(|row| row.3));
        if let [first, second] = shown[..] {
            self.last = Some([first, second]);
        }
    }

    fn choose(&mut self, shown: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        let Some(chosen) = chosen else { return };
        for &k in shown {
            self.score[k as usize] += if k == chosen { 1 } else { -1 };
        }
    }
}

/// Self-Sparring: a Beta draw for each option, the largest are shown. The chosen has beaten all others that were.
pub struct SelfSparring {
    wins: Vec<f64>,
    losses: Vec<f64>,
    /// What the chosen wins: one for each other option shown, or one in all (a weaker form, to show that it is).
    one: bool,
}

impl SelfSparring {
    /// Over so many options; `one` is the weaker form.
    pub fn new(count: usize, one: bool) -> Self {
        Self { wins: vec![0.0; count], losses: vec![0.0; count], one }
    }
}

impl Policy for SelfSparring {
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        let draws: Vec<f64> = self
            .wins
            .iter()
            .zip(&self.losses)
            .map(|(wins, losses)| Beta::new(wins + 1.0, losses + 1.0).map_or(0.5, |beta| beta.sample(rng)))
            .collect();
        *shown = top(&draws, size, rng);
    }

    fn choose(&mut self, shown: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        let Some(chosen) = chosen else { return };
        self.wins[chosen as usize] += if self.one { 1.0 } else { (shown.len() - 1) as f64 };
        for &k in shown.iter().filter(|&&k| k != chosen) {
            self.losses[k as usize] += 1.0;
        }
    }
}
