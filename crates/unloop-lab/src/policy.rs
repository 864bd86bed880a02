//! What decides: one of ours, or a rival.

use rand_chacha::ChaCha8Rng;

/// Forms presentations and learns from choices. Options are numbers below K.
pub trait Policy: Send {
    /// Writes down the next presentation, `size` options in order. A rival may repeat an option.
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng);

    /// Learns what was chosen from it; none for nothing.
    fn choose(&mut self, shown: &[u32], chosen: Option<u32>, rng: &mut ChaCha8Rng);
}

/// The largest values with their places, largest first; ties at random.
pub(crate) fn top(values: &[f64], count: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
    use rand::RngExt;
    let mut rows: Vec<(f64, u32, u32)> = values.iter().enumerate().map(|(i, &x)| (x, rng.random(), i as u32)).collect();
    let order = |x: &(f64, u32, u32), y: &(f64, u32, u32)| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1));
    if count < rows.len() {
        rows.select_nth_unstable_by(count, order);
        rows.truncate(count);
    }
    rows.sort_unstable_by(order);
    rows.into_iter().map(|(_, _, i)| i).collect()
}

/// One of those with the largest value.
pub(crate) fn argmax(values: impl Iterator<Item = f64>, rng: &mut ChaCha8Rng) -> usize {
    use rand::RngExt;
    let (mut best, mut at, mut alike) = (f64::NEG_INFINITY, 0, 0_u32);
    for (i, value) in values.enumerate() {
        if value > best {
            (best, at, alike) = (value, i, 1);
        } else if value == best {
            alike += 1;
            if rng.random_range(0..alike) == 0 {
                at = i;
            }
        }
    }
    at
}
