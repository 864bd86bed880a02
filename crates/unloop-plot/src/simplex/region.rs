//! Regions of highest density: the values at which they end, and their outlines by marching triangles.

use std::collections::BTreeMap;

/// The parts of the probability that regions hold, the largest first.
pub(super) const MASSES: [f64; 6] = [0.95, 0.9, 0.75, 0.5, 0.25, 0.1];
/// Values that differ by less than this part of the largest are the same: a flat density has no contours of rounding errors.
const SAME: f64 = 1e-9;

/// The first two of three shares that sum to one.
type Point = (f64, f64);
/// A point to 10⁻⁹, by which it is found again.
type Key = (i64, i64);

/// A region, as outlines with their insides on one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Region {
    pub(super) loops: Vec<Vec<Point>>,
}

/// A density on a grid, relative to its largest value, with a ring of values around the triangle so that it covers all of it.
pub(super) struct Density {
    grid: usize,
    /// By i + 1 and j + 1.
    values: Vec<Vec<f64>>,
    /// The values as given, the largest first.
    sorted: Vec<f64>,
}

impl Density {
    /// Of values at the points of a grid, in their order. Not all are zero.
    pub(super) fn new(grid: usize, given: &[f64]) -> Self {
        let most = given.iter().copied().fold(0.0, f64::max);
        let mut values = vec![vec![0.0; grid + 4]; grid + 4];
        let mut given = given.iter().map(|value| value / most);
        let mut sorted = Vec::new();
        for i in 0..=grid {
            for (j, value) in (0..=grid - i).zip(&mut given) {
                values[i + 1][j + 1] = value;
                sorted.push(value);
            }
        }
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut density = Self { grid, values, sorted };
        density.surround();
        density
    }

    /// Extends the values by one point beyond each edge, straight on; at the corners, as they are.
    fn surround(&mut self) {
        let n = self.grid;
        // (a, b, c) with a = -1 by what is inward of it; all are shifted by one here.
        for b in 0..=n + 1 {
            let c = n + 1 - b;
            for place in 0..3 {
                let turned = |[a, b, c]: [usize; 3]| match place {
                    0 => (a, b),
                    1 => (c, a),
                    _ => (b, c),
                };
                let value = |at| {
                    let (i, j) = turned(at);
                    self.values[i][j]
                };
                let outside = if b == 0 {
                    value([1, 1, c])
                } else if c == 0 {
                    value([1, b, 1])
                } else {
                    let edge = 0.5 * (value([1, b, c + 1]) + value([1, b + 1, c]));
                    (2.0 * edge - value([2, b, c])).clamp(0.0, 2.0)
                };
                let (i, j) = turned([0, b + 1, c + 1]);
                self.values[i][j] = outside;
            }
        }
        let corner = [self.values[1][1], self.values[n + 1][1], self.values[1][n + 1]];
        [self.values[0][0], self.values[n + 3][0], self.values[0][n + 3]] = corner;
    }

    /// The values at which regions end that hold these parts of the probability, each with the number of its part. Where several
    /// regions are the same, only the one that holds most.
    pub(super) fn levels(&self) -> Vec<(usize, f64)> {
        let total: f64 = self.sorted.iter().sum();
        let mut levels: Vec<(usize, f64)> = Vec::new();
        for (index, mass) in MASSES.iter().enumerate() {
            let mut sum = 0.0;
            let last = self.sorted.iter().position(|value| {
                sum += value;
                sum >= mass * total
            });
            let last = last.unwrap_or(self.sorted.len() - 1);
            // Between this value and the next: a point stands for what is around it.
            let here = self.sorted[last];
            let next = self.sorted.get(last + 1).copied().unwrap_or(here);
            let level = 0.5 * (here + next);
            let level = if here - level < SAME { here - SAME } else { level };
            if levels.last().is_none_or(|(_, before)| level - before > SAME) {
                levels.push((index, level));
            }
        }
        levels
    }

    /// The part of the triangle where the density is at least `level`.
    pub(super) fn above(&self, level: f64) -> Region {
        let m = self.grid + 3;
        let mut edges = Edges::default();
        for i in 0..m {
            for j in 0..m - i {
                edges.add(&self.piece([(i, j), (i + 1, j), (i, j + 1)], level));
                if i + j + 2 <= m {
                    edges.add(&self.piece([(i + 1, j), (i + 1, j + 1), (i, j + 1)], level));
                }
            }
        }
        Region { loops: edges.loops() }
    }

    /// What of a small triangle is in the large one and has at least a density of `level`.
    fn piece(&self, corners: [(usize, usize); 3], level: f64) -> Vec<Point> {
        let share = |place: usize| (place as f64 - 2.0 / 3.0) / (self.grid as f64 + 1.0);
        let polygon = corners.map(|(i, j)| ((share(i), share(j)), self.values[i][j] - level));
        let mut piece = clip(&polygon);
        for side in 0..3 {
            let inside = |point: &Point| [point.0, point.1, 1.0 - point.0 - point.1][side];
            let measured: Vec<(Point, f64)> = piece.iter().map(|point| (*point, inside(point))).collect();
            piece = clip(&measured);
        }
        piece
    }
}

/// The part of a convex polygon where a linear function, given at the corners, is not below zero.
fn clip(polygon: &[(Point, f64)]) -> Vec<Point> {
    let mut kept = Vec::new();
    for (index, &(here, value)) in polygon.iter().enumerate() {
        let (next, other) = polygon[(index + 1) % polygon.len()];
        if value >= 0.0 {
            kept.push(here);
        }
        if (value >= 0.0) != (other >= 0.0) {
            // From the same end whichever way the edge is walked, so that neighbours agree to the bit.
            let (from, to, start, end) = if here < next { (here, next, value, other) } else { (next, here, other, value) };
            let part = start / (start - end);
            kept.push((from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1)));
        }
    }
    kept
}

/// Edges of polygons that lie side by side. What two of them share, in opposite directions, vanishes.
#[derive(Default)]
struct Edges {
    /// From each point to others.
    next: BTreeMap<Key, Vec<Key>>,
}

impl Edges {
    fn add(&mut self, polygon: &[Point]) {
        let keys: Vec<Key> = polygon.iter().map(key).collect();
        for (index, &from) in keys.iter().enumerate() {
            let to = keys[(index + 1) % keys.len()];
            if from == to || self.remove(to, from) {
                continue;
            }
            self.next.entry(from).or_default().push(to);
        }
    }

    fn remove(&mut self, from: Key, to: Key) -> bool {
        let Some(ends) = self.next.get_mut(&from) else { return false };
        let Some(place) = ends.iter().position(|end| *end == to) else { return false };
        ends.swap_remove(place);
        if ends.is_empty() {
            self.next.remove(&from);
        }
        true
    }

    /// The outlines of all that is left.
    fn loops(mut self) -> Vec<Vec<Point>> {
        let mut loops = Vec::new();
        while let Some((&start, _)) = self.next.first_key_value() {
            let mut outline = vec![start];
            let mut here = start;
            while let Some(to) = self.next.get(&here).and_then(|ends| ends.last()).copied() {
                self.remove(here, to);
                if to == start {
                    break;
                }
                outline.push(to);
                here = to;
            }
            let outline = straightened(&outline);
            if outline.len() > 2 {
                loops.push(outline);
            }
        }
        loops
    }
}

const FINE: f64 = 1e9;

fn key(point: &Point) -> Key {
    ((point.0 * FINE).round() as i64, (point.1 * FINE).round() as i64)
}

/// Points that are nearer to one another, or to a straight line, are there.
const NEAR: f64 = 1e-6;

/// An outline without points that are all but the same and without those in the middle of straight lines.
fn straightened(outline: &[Key]) -> Vec<Point> {
    let mut points: Vec<Point> = outline.iter().map(|key| (key.0 as f64 / FINE, key.1 as f64 / FINE)).collect();
    let same = |a: &Point, b: &Point| (a.0 - b.0).hypot(a.1 - b.1) < NEAR;
    points.dedup_by(|here, before| same(here, before));
    while points.len() > 1 && points.first().zip(points.last()).is_some_and(|(first, last)| same(first, last)) {
        points.pop();
    }
    let mut kept: Vec<Point> = Vec::new();
    for (index, &here) in points.iter().enumerate() {
        let before = kept.last().or(points.last()).copied().unwrap_or(here);
        let after = points[(index + 1) % points.len()];
        let (along, aside) = ((after.0 - before.0, after.1 - before.1), (here.0 - before.0, here.1 - before.1));
        // Twice the area of the three is the length of one side times the distance from it.
        if (along.0 * aside.1 - along.1 * aside.0).abs() > NEAR * along.0.hypot(along.1) {
            kept.push(here);
        }
    }
    kept
}

impl Region {
    /// The parts of the outlines that are not on the edges of the triangle.
    pub(super) fn contours(&self) -> Vec<Vec<Point>> {
        let on_edge = |a: &Point, b: &Point| {
            let shares = |point: &Point| [point.0, point.1, 1.0 - point.0 - point.1];
            shares(a).iter().zip(shares(b)).any(|(a, b)| a.abs() < 2.0 * NEAR && b.abs() < 2.0 * NEAR)
        };
        let mut contours = Vec::new();
        for outline in &self.loops {
            let count = outline.len();
            let edge = |index: usize| on_edge(&outline[index % count], &outline[(index + 1) % count]);
            let Some(first) = (0..count).find(|&index| edge(index)) else {
                contours.push(outline.iter().chain(outline.first()).copied().collect());
                continue;
            };
            let mut contour: Vec<Point> = Vec::new();
            for index in first + 1..=first + count {
                if !edge(index) {
                    if contour.is_empty() {
                        contour.push(outline[index % count]);
                    }
                    contour.push(outline[(index + 1) % count]);
                } else if !contour.is_empty() {
                    contours.push(std::mem::take(&mut contour));
                }
            }
        }
        contours
    }
}

#[cfg(test)]
mod tests;
