//! Curves as their readers find them.

mod drawing;

use drawing::{class, dark, edges_are_white, number, parse, pixels, texts};
use roxmltree::{Document, Node};
use unloop_plot::{BandPoint, Bands, BandsError, Curve};

fn curve(name: &str, points: &[(f64, f64, f64, f64)]) -> Curve {
    let points = points.iter().map(|&(x, mean, low, high)| BandPoint { x, mean, low, high });
    Curve { name: name.to_owned(), points: points.collect() }
}

fn regrets() -> Bands {
    Bands::new(
        "Regret",
        [
            curve("uniform", &[(0.0, 0.0, 0.0, 0.0), (5000.0, 600.0, 560.0, 640.0), (10_000.0, 1200.0, 1130.0, 1270.0)]),
            curve("top & two", &[(0.0, 0.0, 0.0, 0.0), (5000.0, 160.0, 120.0, 210.0), (10_000.0, 210.0, 170.0, 280.0)]),
            curve("Thompson", &[(0.0, 0.0, 0.0, 0.0), (5000.0, 150.0, 130.0, 180.0), (10_000.0, 208.0, 160.0, 270.0)]),
        ],
    )
}

/// Curves that end at almost the same place.
fn many(curves: usize, end: f64) -> Bands {
    let curves: Vec<Curve> = (0..curves)
        .map(|index| {
            let mean = end + 0.001 * index as f64;
            curve(&format!("policy {index}"), &[(1.0, 1.0, 0.0, 2.0), (100.0, mean, mean - 1.0, mean + 1.0)])
        })
        .collect();
    Bands::new("", curves)
}

/// One of the values of a point.
type Field = fn(&mut BandPoint) -> &mut f64;

fn points(node: Node<'_, '_>) -> Vec<(f64, f64)> {
    let pairs = node.attribute("points").expect("has points").split(' ');
    pairs.map(|pair| pair.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).expect("is a pair")).collect()
}

/// The value at a pixel, by the two ticks with these labels: what a reader does with a ruler.
fn value_at(document: &Document<'_>, axis: &str, pixel: f64, ticks: [(&str, f64); 2]) -> f64 {
    // Print stands 0.36 of its size of 11 below its middle.
    let (key, shift) = if axis == "x-tick" { ("x", 0.0) } else { ("y", 0.36 * 11.0) };
    let [(a, u), (b, v)] = ticks.map(|(label, value)| {
        let tick = class(document, axis).find(|tick| tick.text() == Some(label)).unwrap_or_else(|| panic!("no tick {label}"));
        (number(tick, key) - shift, value)
    });
    u + (pixel - a) / (b - a) * (v - u)
}

#[test]
fn lines_and_bands_stand_at_their_values() {
    let picture = regrets().draw().unwrap();
    let document = parse(&picture);
    let near = |(x, y): (f64, f64), value: (f64, f64)| {
        let read = (
            value_at(&document, "x-tick", x, [("2 000", 2000.0), ("8 000", 8000.0)]),
            value_at(&document, "y-tick", y, [("0", 0.0), ("1 000", 1000.0)]),
        );
        // A hundredth of a pixel is 0.16 rounds and 0.04 of regret on these axes.
        assert!((read.0 - value.0).abs() < 0.5 && (read.1 - value.1).abs() < 0.1, "{read:?} for {value:?}");
    };
    let curves = regrets().curves;
    assert_eq!((class(&document, "curve").count(), class(&document, "band").count()), (3, 3));
    for ((line, band), curve) in class(&document, "curve").zip(class(&document, "band")).zip(&curves) {
        let (line, band) = (points(line), points(band));
        assert_eq!((line.len(), band.len()), (3, 6));
        for (index, point) in curve.points.iter().enumerate() {
            near(line[index], (point.x, point.mean));
            near(band[index], (point.x, point.high));
            near(band[5 - index], (point.x, point.low));
        }
    }
}

#[test]
fn words_and_ticks_are_there() {
    let mut bands = regrets();
    bands.subtitle = Some("of May".to_owned());
    bands.footer = Some("played at noon".to_owned());
    bands.y_label = "lost choices".to_owned();
    let picture = bands.draw().unwrap();
    let texts = texts(&parse(&picture));
    for text in [
        "Regret",
        "of May",
        "played at noon",
        "round",
        "lost choices",
        "uniform",
        "top & two",
        "Thompson",
        "10 000",
        "0",
        "1 400",
    ] {
        assert!(texts.iter().any(|drawn| drawn == text), "{text} is missing in {texts:?}");
    }
    assert_eq!(picture.width(), 900);
    assert!((480..=540).contains(&picture.height()), "{}", picture.height());
}

#[test]
fn the_upright_axis_begins_at_zero_or_below_the_lowest() {
    let first = |bands: &Bands| {
        let picture = bands.draw().unwrap();
        let document = parse(&picture);
        class(&document, "y-tick").next().and_then(|tick| tick.text().map(str::to_owned))
    };
    let mut bands = regrets();
    for curve in &mut bands.curves {
        curve.points.remove(0);
    }
    assert_eq!(first(&bands).as_deref(), Some("0"));
    bands.curves[1].points[0].low = -320.0;
    assert_eq!(first(&bands).as_deref(), Some("−400"));
}

#[test]
fn every_curve_has_dashes_of_its_own_and_a_name_in_a_colour() {
    let picture = many(12, 500.0).draw().unwrap();
    let document = parse(&picture);
    let mut dashes: Vec<&str> = class(&document, "curve").map(|line| line.attribute("stroke-dasharray").unwrap_or("")).collect();
    dashes.sort_unstable();
    dashes.dedup();
    assert_eq!(dashes.len(), 12);
    let mut names: Vec<&str> = class(&document, "name").filter_map(|name| name.text()).collect();
    names.sort_unstable();
    let mut expected: Vec<String> = (0..12).map(|index| format!("policy {index}")).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    let mut colours: Vec<&str> = class(&document, "name").filter_map(|name| name.attribute("fill")).collect();
    colours.sort_unstable();
    colours.dedup();
    assert_eq!(colours.len(), 12);
}

#[test]
fn names_do_not_overlap_and_stand_in_the_order_of_the_ends() {
    for end in [1.0, 30.0, 500.0, 99_999.0] {
        let picture = many(12, end).draw().unwrap();
        let document = parse(&picture);
        let heights: Vec<f64> = class(&document, "name").map(|name| number(name, "y")).collect();
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] > 16.9), "{heights:?}");
        let names: Vec<&str> = class(&document, "name").filter_map(|name| name.text()).collect();
        assert_eq!((names[0], names[11]), ("policy 11", "policy 0"), "the highest curve has the highest name");
        assert!(edges_are_white(&picture), "{end}");
    }
}

#[test]
fn a_name_with_room_stands_at_the_end_of_its_line() {
    let picture = regrets().draw().unwrap();
    let document = parse(&picture);
    let name = class(&document, "name").next().expect("has names");
    let (x, y) = *points(class(&document, "curve").next().expect("has curves")).last().unwrap();
    assert_eq!(name.text(), Some("uniform"));
    assert!((number(name, "y") - 0.36 * 12.0 - y).abs() < 0.02 && (10.0..40.0).contains(&(number(name, "x") - x)));
    let leader = class(&document, "leader").next().expect("has a line to it");
    assert_eq!((number(leader, "x1"), number(leader, "y1")), (x, y));
}

#[test]
fn the_line_to_the_name_of_a_curve_that_ends_early_is_dotted() {
    let mut bands = regrets();
    bands.curves[1].points.truncate(2);
    let picture = bands.draw().unwrap();
    let document = parse(&picture);
    let dotted = class(&document, "leader").filter(|leader| leader.attribute("stroke-dasharray").is_some());
    assert_eq!(dotted.count(), 1);
}

#[test]
fn names_are_all_there_escaped_cut_and_whole_in_the_tip() {
    let long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen";
    let names = ["a < b & \"c\" > 'd'", "борщ", "\u{1b}[31mred\u{0}", "]]>", long, ""];
    let mut bands = many(names.len(), 500.0);
    bands.title = "<Regret> & more".to_owned();
    for (curve, name) in bands.curves.iter_mut().zip(names) {
        name.clone_into(&mut curve.name);
    }
    let picture = bands.draw().unwrap();
    let document = parse(&picture);
    // The last curve ends highest; it has no name to draw.
    let mut drawn: Vec<&str> = class(&document, "name").filter_map(|name| name.text()).collect();
    drawn.reverse();
    assert_eq!(drawn.len(), 5);
    assert_eq!(drawn[..4], [names[0], names[1], "\u{fffd}[31mred\u{fffd}", "]]>"]);
    let cut = drawn[4].strip_suffix('…').expect("cut");
    assert!(long.starts_with(cut) && (20..40).contains(&cut.chars().count()), "{cut}");
    for tip in [class(&document, "curve").nth(4), class(&document, "name").next()] {
        assert_eq!(tip.and_then(|node| node.first_element_child()?.text()), Some(long));
    }
    assert!(texts(&document).contains(&"<Regret> & more".to_owned()));
}

#[test]
fn nothing_leaves_the_page() {
    let mut bands = many(12, 1e15 - 1.0);
    let long = "WWWW ".repeat(60);
    for curve in &mut bands.curves {
        curve.name = "W".repeat(60);
        curve.points[0].low = -1e15;
    }
    bands.title.clone_from(&long);
    bands.subtitle = Some(long.clone());
    bands.footer = Some(long.clone());
    bands.x_label.clone_from(&long);
    bands.y_label = long;
    assert!(edges_are_white(&bands.draw().unwrap()));
}

#[test]
fn the_png_has_twice_the_size_and_shows_names_and_lines() {
    let picture = regrets().draw().unwrap();
    let document = parse(&picture);
    let image = pixels(&picture.png().unwrap());
    assert_eq!((image.width(), image.height()), (2 * picture.width(), 2 * picture.height()));
    // Orange is not dark in its red.
    for name in class(&document, "name").filter(|name| name.text() != Some("top & two")) {
        let (x, y) = (number(name, "x"), number(name, "y"));
        assert!(dark(&image, (x, y - 9.0), (x + 40.0, y)).len() > 100, "{:?}", name.text());
    }
    // The first curve has no dashes and is straight.
    let line = points(class(&document, "curve").next().expect("has curves"));
    let (x, y) = (0.5 * (line[0].0 + line[1].0), 0.5 * (line[0].1 + line[1].1));
    let at = image.pixel((2.0 * x) as u32, (2.0 * y) as u32).unwrap();
    assert_eq!((at.red(), at.green(), at.blue()), (0, 114, 178));
    assert_eq!(picture, regrets().draw().unwrap());
}

#[test]
fn odd_but_valid_values_are_drawn() {
    for value in [0.0, -1e15, 1e15, 5e-324, -1e-300, 0.1] {
        for x in [(-1e15, 1e15), (0.0, 5e-324), (1e15 - 1.0, 1e15), (-3.0, -2.0), (1e9, 1e9 + 1e-6)] {
            let flat = curve("a", &[(x.0, value, value, value), (x.1, 0.5 * value, value.min(0.0), value.max(0.0))]);
            let picture = Bands::new("", [flat]).draw().unwrap();
            assert!(!picture.svg().contains("NaN") && !picture.svg().contains("inf"), "{value} {x:?}");
            let document = parse(&picture);
            for axis in ["x-tick", "y-tick"] {
                assert!(class(&document, axis).count() > 1, "{value} {x:?}");
            }
            assert!(edges_are_white(&picture), "{value} {x:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let error = |change: &dyn Fn(&mut Bands)| {
        let mut bands = regrets();
        change(&mut bands);
        bands.draw().unwrap_err()
    };
    let name = || "top & two".to_owned();
    assert_eq!(error(&|bands| bands.curves.clear()), BandsError::NoCurves);
    assert_eq!(many(13, 5.0).draw(), Err(BandsError::TooMany { curves: 13 }));
    assert_eq!(error(&|bands| bands.curves[1].points.truncate(1)), BandsError::TooShort { curve: 2, name: name(), points: 1 });
    assert_eq!(error(&|bands| bands.curves[1].points.clear()), BandsError::TooShort { curve: 2, name: name(), points: 0 });
    for x in [0.0, -1.0] {
        assert_eq!(
            error(&|bands| bands.curves[1].points[1].x = x),
            BandsError::Order { curve: 2, name: name(), point: 2, before: 0.0, x }
        );
    }
    assert_eq!(
        error(&|bands| bands.curves[1].points[2].low = 300.0),
        BandsError::Interval { curve: 2, name: name(), point: 3, low: 300.0, high: 280.0 }
    );
    let fields: [(&str, Field); 4] = [
        ("x", |point| &mut point.x),
        ("mean", |point| &mut point.mean),
        ("lower end", |point| &mut point.low),
        ("upper end", |point| &mut point.high),
    ];
    for (what, field) in fields {
        for value in [f64::INFINITY, f64::NEG_INFINITY, 1.1e15] {
            assert_eq!(
                error(&|bands| *field(&mut bands.curves[1].points[2]) = value),
                BandsError::Value { curve: 2, name: name(), point: 3, what, value }
            );
        }
        let text = error(&|bands| *field(&mut bands.curves[1].points[0]) = f64::NAN).to_string();
        assert_eq!(text, format!("curve 2 (top & two), point 1: its {what} of NaN must be between -10¹⁵ and 10¹⁵"));
    }
}
