//! Whether counts leave every group of options a positive slack.
//!
//! ```text
//! a(A) = Σ_{k∈A} a_k − Σ_{C⊆A} b_C > 0     for every non-empty A other than all options,  Σa = Σb
//! ```
//! This decides whether a prior is proper, and with a = y, b = μ whether a maximum-likelihood estimate exists. It is a question
//! about flows: send b_C from each column to its members so that option k receives a_k. If that fails, the minimum cut names an
//! A with a(A) < 0. If it succeeds, a(A) is what columns reaching outside A send into it; it is zero just when A is closed under
//! the links k → j (a column sends to k and holds j too), that is when these links are not strongly connected.

use crate::statistics::DisjointSets;

/// A group of options without slack.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Deficit {
    /// The options of the group, ascending.
    pub(crate) options: Vec<u32>,
    /// a(A) ≤ 0.
    pub(crate) slack: f64,
}

/// Flows below this part of Σa are rounding. Sums of multiples of 2⁻²⁰ are exact.
const ROUNDING: f64 = 1e-13;

/// Checks that every group has slack; Σa = Σb is the caller's knowledge.
pub(crate) fn check_slack(a: &[f64], columns: &[(&[u32], f64)]) -> Result<(), Deficit> {
    let mut network = Network::new(a, columns);
    network.send();
    let slack = |options: &[u32]| slack(a, columns, options);
    let options = match network.overfull() {
        Some(options) => options,
        None => match network.closed_group() {
            Some(options) => options,
            None => return Ok(()),
        },
    };
    let slack = slack(&options).min(0.0);
    Err(Deficit { options, slack })
}

/// As [`check_slack`], helped by preferences near the maximum, which are nearly a flow: b_C p_k|C into option k, off by a gradient
/// whose absolute values add up to `gap`.
///
/// If links that carry more than the gap connect everything strongly, every group has slack. If not, what they do not leave is likely
/// the group without, and its slack is a plain sum. Only where that is positive the flow is computed.
pub(crate) fn check_slack_near(a: &[f64], columns: &[(&[u32], f64)], lambda: &[f64], gap: f64) -> Result<(), Deficit> {
    let total: f64 = a.iter().sum();
    let threshold = 2.0 * gap + 1e-14 * total;
    if strongly_linked(a.len(), columns, lambda, threshold) {
        return Ok(());
    }
    let mut network = Network::new(a, columns);
    for (c, (set, b)) in columns.iter().enumerate() {
        let sum: f64 = set.iter().map(|&k| lambda[k as usize]).sum();
        for (place, &k) in (network.offsets[c]..).zip(*set) {
            network.flow[place] = b * lambda[k as usize] / sum;
        }
    }
    for threshold in [threshold, 100.0 * threshold, 1e-3] {
        network.tolerance = threshold;
        match network.closed_group() {
            None => return Ok(()),
            Some(options) => {
                let inside: f64 = options.iter().map(|&k| a[k as usize]).sum();
                let slack = slack(a, columns, &options);
                if slack <= ROUNDING * inside {
                    return Err(Deficit { options, slack: slack.min(0.0) });
                }
            }
        }
    }
    check_slack(a, columns)
}

/// Whether options are strongly connected by columns that send more than a threshold to at least two of their members: those two
/// reach each other, so they are joined. Stops as soon as all are one.
fn strongly_linked(n: usize, columns: &[(&[u32], f64)], lambda: &[f64], threshold: f64) -> bool {
    let mut sets = DisjointSets::new(n);
    let mut apart = n;
    // The whole column stands last and joins most.
    for (set, b) in columns.iter().rev() {
        let sum: f64 = set.iter().map(|&k| lambda[k as usize]).sum();
        let mut first = None;
        for &k in set.iter().filter(|&&k| b * lambda[k as usize] > threshold * sum) {
            match first {
                None => first = Some(k),
                Some(first) => apart -= usize::from(sets.join(first as usize, k as usize)),
            }
        }
        if apart == 1 {
            return true;
        }
    }
    apart == 1
}

/// a(A) of a sorted group.
fn slack(a: &[f64], columns: &[(&[u32], f64)], options: &[u32]) -> f64 {
    let mut inside = vec![false; a.len()];
    for &k in options {
        inside[k as usize] = true;
    }
    let sent: f64 = columns.iter().filter(|(set, _)| set.iter().all(|&k| inside[k as usize])).map(|(_, b)| b).sum();
    options.iter().map(|&k| a[k as usize]).sum::<f64>() - sent
}

/// A bipartite flow from columns to options, by Dinic's algorithm.
struct Network<'a> {
    columns: &'a [(&'a [u32], f64)],
    /// What each column has yet to send, and each option yet to receive.
    unsent: Vec<f64>,
    room: Vec<f64>,
    /// Flow on each membership, column by column.
    offsets: Vec<usize>,
    flow: Vec<f64>,
    /// For each option its memberships: (column, place in `flow`).
    memberships: Vec<Vec<(u32, u32)>>,
    tolerance: f64,
}

const FAR: u32 = u32::MAX;

impl<'a> Network<'a> {
    fn new(a: &[f64], columns: &'a [(&'a [u32], f64)]) -> Self {
        let mut offsets = Vec::with_capacity(columns.len() + 1);
        let mut memberships = vec![Vec::new(); a.len()];
        let mut place = 0;
        for (c, (set, _)) in columns.iter().enumerate() {
            offsets.push(place);
            for &k in *set {
                memberships[k as usize].push((c as u32, place as u32));
                place += 1;
            }
        }
        offsets.push(place);
        Self {
            columns,
            unsent: columns.iter().map(|&(_, b)| b).collect(),
            room: a.to_vec(),
            offsets,
            flow: vec![0.0; place],
            memberships,
            tolerance: ROUNDING * a.iter().sum::<f64>(),
        }
    }

    /// Sends as much as possible.
    fn send(&mut self) {
        loop {
            let levels = self.levels();
            let mut next_member = vec![0; self.columns.len()];
            let mut next_column = vec![0; self.room.len()];
            let mut sent = false;
            for c in 0..self.columns.len() {
                while self.unsent[c] > self.tolerance && self.augment(c, &levels, &mut next_member, &mut next_column) {
                    sent = true;
                }
            }
            if !sent {
                return;
            }
        }
    }

    /// Distance of columns and options from unsent columns in the residual network.
    fn levels(&self) -> (Vec<u32>, Vec<u32>) {
        let mut columns = vec![FAR; self.columns.len()];
        let mut options = vec![FAR; self.room.len()];
        let mut front: Vec<usize> = (0..columns.len()).filter(|&c| self.unsent[c] > self.tolerance).collect();
        for &c in &front {
            columns[c] = 0;
        }
        let mut level = 0;
        while !front.is_empty() {
            let mut next = Vec::new();
            for c in front {
                for &k in self.columns[c].0 {
                    if options[k as usize] != FAR {
                        continue;
                    }
                    options[k as usize] = level;
                    for &(d, place) in &self.memberships[k as usize] {
                        if columns[d as usize] == FAR && self.flow[place as usize] > self.tolerance {
                            columns[d as usize] = level + 1;
                            next.push(d as usize);
                        }
                    }
                }
            }
            front = next;
            level += 1;
        }
        (columns, options)
    }

    /// Sends along one shortest path from an unsent column to an option with room: depth first, without recursion.
    fn augment(
        &mut self,
        start: usize,
        (columns, options): &(Vec<u32>, Vec<u32>),
        next_member: &mut [usize],
        next_column: &mut [usize],
    ) -> bool {
        // Steps taken: (column, place of the membership forward, place of the membership back into the next column).
        let mut path: Vec<(usize, usize, usize)> = Vec::new();
        let mut column = start;
        'search: loop {
            let (set, _) = self.columns[column];
            while next_member[column] < set.len() {
                let place = self.offsets[column] + next_member[column];
                let k = set[next_member[column]] as usize;
                if options[k] == columns[column] {
                    if self.room[k] > self.tolerance {
                        self.push(start, &path, place, k);
                        return true;
                    }
                    while next_column[k] < self.memberships[k].len() {
                        let (d, back) = self.memberships[k][next_column[k]];
                        if columns[d as usize] == options[k] + 1 && self.flow[back as usize] > self.tolerance {
                            path.push((column, place, back as usize));
                            column = d as usize;
                            continue 'search;
                        }
                        next_column[k] += 1;
                    }
                }
                next_member[column] += 1;
            }
            // A dead end: step back and take the next way.
            let Some((previous, place, _)) = path.pop() else { return false };
            let k = self.columns[previous].0[place - self.offsets[previous]] as usize;
            next_column[k] += 1;
            column = previous;
        }
    }

    fn push(&mut self, start: usize, path: &[(usize, usize, usize)], last: usize, k: usize) {
        let back = path.iter().map(|&(_, _, back)| self.flow[back]).fold(f64::INFINITY, f64::min);
        let amount = self.unsent[start].min(self.room[k]).min(back);
        for &(_, place, back) in path {
            self.flow[place] += amount;
            self.flow[back] -= amount;
        }
        self.flow[last] += amount;
        self.unsent[start] -= amount;
        self.room[k] -= amount;
    }

    /// Options that columns with something unsent reach: they are offered more than they take.
    fn overfull(&self) -> Option<Vec<u32>> {
        let (_, options) = self.levels();
        let reached: Vec<u32> = (0..options.len() as u32).filter(|&k| options[k as usize] != FAR).collect();
        if reached.is_empty() { None } else { Some(reached) }
    }

    /// A smallest group closed under k → j, if it is not all options. A strongly connected component without a way out.
    fn closed_group(&self) -> Option<Vec<u32>> {
        let (labels, count) = self.strong_components();
        if count <= 1 {
            return None;
        }
        let mut open = vec![false; count];
        for (c, (set, _)) in self.columns.iter().enumerate() {
            for (place, &k) in (self.offsets[c]..).zip(*set) {
                if self.flow[place] > self.tolerance {
                    let label = labels[k as usize];
                    open[label] |= set.iter().any(|&j| labels[j as usize] != label);
                }
            }
        }
        let closed = (0..count).filter(|&label| !open[label]);
        let sizes = |label: &usize| labels.iter().filter(|&l| l == label).count();
        let group = closed.min_by_key(sizes)?;
        Some((0..labels.len() as u32).filter(|&k| labels[k as usize] == group).collect())
    }

    /// Strongly connected components of the links k → column sending to k → its members: Kosaraju's two searches.
    fn strong_components(&self) -> (Vec<usize>, usize) {
        let n = self.room.len();
        let mut seen_columns = vec![false; self.columns.len()];
        let mut seen = vec![false; n];
        let mut order = Vec::with_capacity(n);
        for root in 0..n {
            if seen[root] {
                continue;
            }
            seen[root] = true;
            // (option, its next membership, next member of the column being walked)
            let mut stack = vec![(root, 0, 0)];
            while let Some((k, membership, member)) = stack.pop() {
                let Some(&(c, place)) = self.memberships[k].get(membership) else {
                    order.push(k);
                    continue;
                };
                let set = self.columns[c as usize].0;
                let usable = self.flow[place as usize] > self.tolerance && (member > 0 || !seen_columns[c as usize]);
                if !usable || member == set.len() {
                    stack.push((k, membership + 1, 0));
                    continue;
                }
                seen_columns[c as usize] = true;
                stack.push((k, membership, member + 1));
                let j = set[member] as usize;
                if !seen[j] {
                    seen[j] = true;
                    stack.push((j, 0, 0));
                }
            }
        }
        // Backwards: j ← every option that one of j's columns sends to.
        let mut labels = vec![usize::MAX; n];
        let mut count = 0;
        seen_columns.fill(false);
        for &root in order.iter().rev() {
            if labels[root] != usize::MAX {
                continue;
            }
            labels[root] = count;
            let mut stack = vec![root];
            while let Some(j) = stack.pop() {
                for &(c, _) in &self.memberships[j] {
                    if std::mem::replace(&mut seen_columns[c as usize], true) {
                        continue;
                    }
                    let senders = (self.offsets[c as usize]..).zip(self.columns[c as usize].0);
                    for (_, &k) in senders.filter(|&(place, _)| self.flow[place] > self.tolerance) {
                        if labels[k as usize] == usize::MAX {
                            labels[k as usize] = count;
                            stack.push(k as usize);
                        }
                    }
                }
            }
            count += 1;
        }
        (labels, count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    /// All groups one by one.
    fn brute_force(a: &[f64], columns: &[(&[u32], f64)]) -> bool {
        (1..(1_u32 << a.len()) - 1).all(|group| {
            let inside = |k: &u32| group >> k & 1 == 1;
            let received: f64 = (0..a.len() as u32).filter(inside).map(|k| a[k as usize]).sum();
            let sent: f64 = columns.iter().filter(|(set, _)| set.iter().all(inside)).map(|(_, b)| b).sum();
            received - sent > 0.0
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(2026), ..ProptestConfig::default() })]
        /// Random whole counts: the flow's verdict is that of trying every group, and the group it names has no slack.
        #[test]
        fn verdict_is_that_of_every_group(
            n in 2_usize..6,
            sets in proptest::collection::vec((1_u32..64, 0_u8..4), 1..8),
            splits in proptest::collection::vec(0_usize..6, 40),
            perturb in 0_usize..4,
        ) {
            let mut a = vec![0.0; n];
            let mut columns = Vec::new();
            let mut split = splits.iter();
            for (mask, b) in sets {
                let set: Vec<u32> = (0..n as u32).filter(|k| mask >> k & 1 == 1).collect();
                if set.is_empty() || b == 0 {
                    continue;
                }
                for _ in 0..b {
                    a[set[split.next().unwrap_or(&0) % set.len()] as usize] += 1.0;
                }
                columns.push((set, f64::from(b)));
            }
            // Moving a unit between options may make the margins those of no choices at all.
            if perturb > 0 && a[0] > 0.0 {
                a[0] -= 1.0;
                a[perturb % n] += 1.0;
            }
            let columns: Vec<(&[u32], f64)> = columns.iter().map(|(set, b)| (&set[..], *b)).collect();
            match check_slack(&a, &columns) {
                Ok(()) => prop_assert!(brute_force(&a, &columns)),
                Err(deficit) => {
                    prop_assert!(!brute_force(&a, &columns));
                    let inside = |k: &u32| deficit.options.contains(k);
                    let received: f64 = deficit.options.iter().map(|&k| a[k as usize]).sum();
                    let sent: f64 = columns.iter().filter(|(set, _)| set.iter().all(inside)).map(|(_, b)| b).sum();
                    prop_assert_eq!(received - sent, deficit.slack);
                    prop_assert!(deficit.slack <= 0.0 && deficit.options.len() < n);
                }
            }
        }
    }
}
