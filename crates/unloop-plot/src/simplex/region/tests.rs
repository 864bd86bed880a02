//! Regions of densities whose areas are known.

use super::super::grid_points;
use super::*;

/// Area as a part of that of the triangle.
fn area(region: &Region) -> f64 {
    let twice = |outline: &Vec<Point>| {
        let next = outline.iter().cycle().skip(1);
        outline.iter().zip(next).map(|(a, b)| a.0 * b.1 - a.1 * b.0).sum::<f64>()
    };
    region.loops.iter().map(twice).sum::<f64>().abs()
}

fn density(grid: usize, of: impl Fn([f64; 3]) -> f64) -> Density {
    let values: Vec<f64> = grid_points(grid).map(of).collect();
    Density::new(grid, &values)
}

fn level(density: &Density, mass: f64) -> f64 {
    density.levels().iter().find(|(index, _)| MASSES[*index] == mass).expect("has the level").1
}

#[test]
fn a_linear_density_has_the_areas_that_it_must() {
    // θ₁ has the density 2(1 − θ₁) on a uniform triangle. With weight θ₁ the part above t holds 1 − 3t² + 2t³ of the mass, one half
    // at t = ½, and (1 − t)² of the area.
    let density = density(60, |[first, ..]| first);
    let level = level(&density, 0.5);
    let most = grid_points(60).map(|[first, ..]| first).fold(0.0, f64::max);
    assert!((level * most - 0.5).abs() < 0.01, "{}", level * most);
    let half = density.above(level);
    assert!((area(&half) - 0.25).abs() < 0.01, "{}", area(&half));
    assert_eq!((half.loops.len(), half.contours().len()), (1, 1));
    // Exact where the level is: a linear density is interpolated without error, beyond the grid too.
    let exact = density.above(0.5 / most);
    assert!((area(&exact) - 0.25).abs() < 1e-6, "{}", area(&exact));
    assert_eq!(exact.loops[0].len(), 3, "{exact:?}");
}

#[test]
fn a_flat_density_is_one_region_without_contours() {
    for grid in [1, 2, 7, 60] {
        // What lnΓ and exp leave of a constant.
        let flat = density(grid, |[first, ..]| 2.0 + 1e-13 * (1e4 * first).sin());
        let levels = flat.levels();
        assert_eq!(levels.len(), 1, "{levels:?}");
        let all = flat.above(levels[0].1);
        assert!((area(&all) - 1.0).abs() < 1e-6 && all.loops.len() == 1 && all.loops[0].len() == 3, "{all:?}");
        assert!(all.contours().is_empty());
    }
}

#[test]
fn a_hill_has_closed_contours_inside_one_another() {
    let hill = density(50, |shares| shares.iter().product::<f64>().powi(6));
    let areas: Vec<f64> = hill.levels().iter().map(|(_, level)| area(&hill.above(*level))).collect();
    assert_eq!(areas.len(), MASSES.len());
    assert!(areas.windows(2).all(|pair| pair[1] < pair[0]), "{areas:?}");
    for (_, level) in hill.levels() {
        let contours = hill.above(level).contours();
        assert_eq!(contours.len(), 1);
        assert_eq!(contours[0].first(), contours[0].last());
    }
}

#[test]
fn two_hills_and_a_ring_have_two_outlines() {
    let corners = density(40, |[first, second, _]| first.powi(8) + second.powi(8));
    assert_eq!(corners.above(level(&corners, 0.5)).loops.len(), 2);
    let ring = density(60, |shares| {
        let distance: f64 = shares.iter().map(|share| (share - 1.0 / 3.0).powi(2)).sum::<f64>().sqrt();
        (-(30.0 * (distance - 0.2)).powi(2)).exp()
    });
    let half = ring.above(level(&ring, 0.5));
    assert_eq!(half.loops.len(), 2);
    // The hole is walked the other way.
    let outer = 3f64.sqrt() * std::f64::consts::PI * 0.04 / 1.5;
    assert!(area(&half) < 0.6 * outer, "{} of {outer}", area(&half));
}

#[test]
fn densities_far_apart_and_zeros_do_no_harm() {
    let spike = density(30, |[first, ..]| if first > 0.95 { 1e300 } else { 0.0 });
    for (_, level) in spike.levels() {
        assert!(area(&spike.above(level)) < 0.02);
    }
    let edge = density(30, |[first, second, third]| 1.0 / (first * second * third));
    assert!(edge.levels().iter().all(|(_, level)| area(&edge.above(*level)) > 0.0));
}
