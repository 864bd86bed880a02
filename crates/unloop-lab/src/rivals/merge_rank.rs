//! Merge-Rank (Falahatgar, Orlitsky, Pichapati & Suresh 2017): a merge sort with duels until a pair is told apart.

/// How sure a comparison has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeRankSettings {
    /// Chances nearer to ½ than this need not be told apart. 0.05 by default.
    pub epsilon: f64,
    /// Chance of a wrong comparison. 0.1 by default.
    pub delta: f64,
    /// Whether these hold for the whole order: ε/log₂ K and δ/K² for each comparison.
    pub budgeted: bool,
}

impl Default for MergeRankSettings {
    fn default() -> Self {
        Self { epsilon: 0.05, delta: 0.1, budgeted: false }
    }
}

/// Options in order, best first. `duel(i, j)` says whether i wins.
pub fn merge_rank(count: usize, settings: &MergeRankSettings, mut duel: impl FnMut(u32, u32) -> bool) -> Vec<u32> {
    let (mut epsilon, mut delta) = (settings.epsilon, settings.delta);
    if settings.budgeted && count > 1 {
        let k = count as f64;
        epsilon /= k.log2();
        delta /= k * k;
    }
    sort((0..count as u32).collect(), &mut |i, j| compare(i, j, epsilon, delta, &mut duel))
}

fn sort(mut options: Vec<u32>, beats: &mut impl FnMut(u32, u32) -> bool) -> Vec<u32> {
    if options.len() < 2 {
        return options;
    }
    let right = options.split_off(options.len() / 2);
    let (left, right) = (sort(options, beats), sort(right, beats));
    let (mut i, mut j, mut merged) = (0, 0, Vec::with_capacity(left.len() + right.len()));
    while i < left.len() && j < right.len() {
        if beats(left[i], right[j]) {
            merged.push(left[i]);
            i += 1;
        } else {
            merged.push(right[j]);
            j += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    merged
}

/// Duels until the part that i wins is far enough from ½, or it does not matter which.
fn compare(i: u32, j: u32, epsilon: f64, delta: f64, duel: &mut impl FnMut(u32, u32) -> bool) -> bool {
    let (mut rounds, mut wins) = (0.0_f64, 0.0_f64);
    let (mut part, mut width) = (0.5_f64, 0.5);
    while (part - 0.5).abs() <= width - epsilon && rounds <= (2.0 / delta).ln() / (2.0 * epsilon * epsilon) {
        wins += f64::from(u8::from(duel(i, j)));
        rounds += 1.0;
        part = wins / rounds;
        width = ((4.0 * rounds * rounds / delta).ln() / (2.0 * rounds)).sqrt();
    }
    part > 0.5
}
