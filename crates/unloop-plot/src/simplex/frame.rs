//! Where the parts of a triangle stand: its corners, the axes of marks beside it and the names around it.

use super::SimplexPanel;

/// Height of a triangle with sides of one.
const RISE: f64 = 0.866_025_403_784_438_6;
/// From a corner to the axis that passes it.
pub(super) const OFF: f64 = 15.0;
/// Length of a stroke of a mark.
pub(super) const STROKE: f64 = 8.0;
/// From an axis to the middle of its name.
pub(super) const NAMED: f64 = STROKE + 10.0;
/// From an end of an axis to the middle of its 0 or 1.
pub(super) const END: f64 = 9.0;
/// Half of a figure at an end of an axis, with some air.
const FIGURE: f64 = 7.0;
/// Height of the names below and above a triangle.
const NAMES: f64 = 18.0;

/// A triangle on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    /// The corner of the first share.
    pub(super) left: f64,
    pub(super) bottom: f64,
    /// Length of a side.
    pub(super) side: f64,
}

/// How far things reach beyond the corner of the first share; above and below as heights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reach {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) above: f64,
    pub(super) below: f64,
}

/// The axis of one share: where it is 0 and 1, and which way is out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beside {
    pub(super) zero: (f64, f64),
    pub(super) one: (f64, f64),
    pub(super) out: (f64, f64),
}

impl Frame {
    /// Where three shares, of which two are given, stand.
    pub(super) fn at(&self, (first, second): (f64, f64)) -> (f64, f64) {
        let third = 1.0 - first - second;
        (self.left + self.side * (second + 0.5 * third), self.bottom - self.side * RISE * third)
    }

    pub(super) fn corners(&self) -> [(f64, f64); 3] {
        [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)].map(|shares| self.at(shares))
    }

    /// The axis of a share, parallel to its altitude: that of the first passes the third corner, that of the second the first and
    /// that of the third the second, so that none is in the way of another.
    pub(super) fn beside(&self, share: usize) -> Beside {
        let corners = self.corners();
        let passed = corners[(share + 2) % 3];
        // The directions of the altitudes, towards their corners.
        let (right, down) = [(-RISE, 0.5), (RISE, 0.5), (0.0, -1.0)][share % 3];
        // A quarter turn to the outside.
        let out = (-down, right);
        let zero = (passed.0 + OFF * out.0, passed.1 + OFF * out.1);
        let length = RISE * self.side;
        Beside { zero, one: (zero.0 + length * right, zero.1 + length * down), out }
    }

    /// How far a triangle with a side of this length reaches, with axes where there are marks.
    pub(super) fn reach(side: f64, marked: [bool; 3]) -> Reach {
        let frame = Self { left: 0.0, bottom: 0.0, side };
        let mut reach = Reach { left: 0.0, right: side, above: RISE * side + NAMES, below: NAMES };
        for share in (0..3).filter(|&share| marked[share]) {
            let beside = frame.beside(share);
            for part in [0.0, 0.3, 0.5, 0.7, 1.0] {
                let (x, y) = beside.at(part);
                let far = if part == 0.0 || part == 1.0 { STROKE } else { NAMED + 8.0 };
                for (x, y) in [(x, y), (x + far * beside.out.0, y + far * beside.out.1)] {
                    reach.hold(x, y, 1.0);
                }
            }
            for (x, y) in beside.figures() {
                reach.hold(x, y, FIGURE);
            }
        }
        reach
    }
}

impl Beside {
    /// Where a value of the share stands.
    pub(super) fn at(&self, value: f64) -> (f64, f64) {
        (self.zero.0 + value * (self.one.0 - self.zero.0), self.zero.1 + value * (self.one.1 - self.zero.1))
    }

    /// The middles of 0 and 1.
    pub(super) fn figures(&self) -> [(f64, f64); 2] {
        let length = (self.one.0 - self.zero.0).hypot(self.one.1 - self.zero.1).max(1.0);
        [-END / length, 1.0 + END / length].map(|value| self.at(value))
    }
}

impl Reach {
    fn hold(&mut self, x: f64, y: f64, around: f64) {
        self.left = self.left.max(around - x);
        self.right = self.right.max(x + around);
        self.above = self.above.max(around - y);
        self.below = self.below.max(y + around);
    }

    pub(super) fn width(&self) -> f64 {
        self.left + self.right
    }
}

/// Which of the three axes any of the panels has.
pub(super) fn marked(panels: &[SimplexPanel]) -> [bool; 3] {
    [0, 1, 2].map(|share| panels.iter().any(|panel| !panel.marks[share].is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { left: 100.0, bottom: 300.0, side: 200.0 };

    #[test]
    fn axes_are_parallel_to_altitudes_and_show_what_is_level_with_them() {
        let corners = FRAME.corners();
        for share in 0..3 {
            let beside = FRAME.beside(share);
            let along = (beside.one.0 - beside.zero.0, beside.one.1 - beside.zero.1);
            assert!((along.0 * beside.out.0 + along.1 * beside.out.1).abs() < 1e-9);
            let project = |(x, y): (f64, f64)| {
                ((x - beside.zero.0) * along.0 + (y - beside.zero.1) * along.1) / (along.0.powi(2) + along.1.powi(2))
            };
            for (index, corner) in corners.into_iter().enumerate() {
                let value = if index == share { 1.0 } else { 0.0 };
                assert!((project(corner) - value).abs() < 1e-9, "corner {index} on the axis of {share}");
                let outside = (beside.zero.0 - corner.0) * beside.out.0 + (beside.zero.1 - corner.1) * beside.out.1;
                assert!(outside >= OFF - 1e-9, "the triangle is on one side of the axis");
            }
        }
    }

    #[test]
    fn marks_need_more_room() {
        let bare = Frame::reach(200.0, [false; 3]);
        assert_eq!(bare.width(), 200.0);
        let full = Frame::reach(200.0, [true; 3]);
        assert!(full.left > 50.0 && full.right > 215.0 && full.below > 80.0, "{full:?}");
    }
}
