//! Grids of charts as their readers find them.

mod drawing;

use drawing::{class, edges_are_white, number, parse, texts};
use unloop_plot::{BandPoint, Look, Panel, Panels, PanelsError, PointFault, Series};

fn series(name: &str, style: usize, look: Look, points: &[(f64, f64)]) -> Series {
    let points = points.iter().map(|&(x, mean)| BandPoint { x, mean, low: 0.9 * mean, high: 1.1 * mean }).collect();
    Series { name: name.to_owned(), style, look, points }
}

fn panel(series: Vec<Series>) -> Panel {
    Panel {
        title: "A panel".to_owned(),
        x_label: "round".to_owned(),
        y_label: "regret".to_owned(),
        log_x: false,
        log_y: false,
        series,
    }
}

const LINE: [(f64, f64); 3] = [(1.0, 2.0), (2.0, 3.0), (3.0, 5.0)];

fn charts() -> Panels {
    let both = vec![series("uniform", 0, Look::Line, &LINE), series("top & two", 3, Look::Line, &LINE)];
    let marks = vec![series("top & two", 3, Look::Marks, &LINE), series("Thompson", 5, Look::Marks, &LINE)];
    Panels::new("Charts", 3, [panel(both), panel(marks), panel(vec![series("uniform", 0, Look::Steps, &LINE)])])
}

#[test]
fn everything_is_there_once() {
    let picture = charts().draw().unwrap();
    let document = parse(&picture);
    let count = |name| class(&document, name).count();
    assert_eq!((count("band"), count("curve"), count("mark"), count("bar"), count("join")), (3, 3, 6, 6, 2));
    assert_eq!((count("panel"), count("x-label"), count("y-label")), (3, 3, 3));
    let names: Vec<_> = class(&document, "legend").filter_map(|node| node.text()).collect();
    assert_eq!(names, ["uniform", "top & two", "Thompson"]);
    // Marks have a marker in the legend, also where they are lines elsewhere.
    assert_eq!((count("swatch"), count("swatch-mark")), (3, 2));
    assert_eq!(picture.width(), 900);
    assert!((350..=450).contains(&picture.height()), "{}", picture.height());
    assert!(picture.png().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_style_looks_the_same_in_every_panel() {
    let picture = charts().draw().unwrap();
    let document = parse(&picture);
    let strokes = |name| class(&document, name).map(|node| node.attribute("stroke").unwrap()).collect::<Vec<_>>();
    assert_eq!(strokes("curve")[1], strokes("join")[0]);
    assert_eq!(strokes("curve")[1], strokes("swatch")[1]);
    assert_ne!(strokes("curve")[0], strokes("curve")[1]);
}

#[test]
fn the_legend_wraps_and_stays_above_the_panels() {
    let one = |style| series(&format!("an algorithm with a long name, number {style}"), style, Look::Marks, &LINE);
    let picture = Panels::new("", 2, [panel((0..12).map(one).collect()), panel(vec![one(0)])]).draw().unwrap();
    let document = parse(&picture);
    let mut heights: Vec<f64> = class(&document, "legend").map(|node| number(node, "y")).collect();
    assert_eq!(heights.len(), 12);
    heights.dedup();
    assert!(heights.len() >= 4 && heights.windows(2).all(|pair| pair[1] > pair[0]), "{heights:?}");
    let highest = class(&document, "panel").map(|node| number(node, "y")).fold(f64::INFINITY, f64::min);
    assert!(heights.iter().all(|height| height + 10.0 < highest), "{heights:?} and {highest}");
}

#[test]
fn marks_at_one_place_do_not_hide_each_other() {
    let marks = |style: usize| series(&style.to_string(), style, Look::Marks, &LINE);
    let picture = Panels::new("", 1, [panel(vec![marks(0), marks(7)])]).draw().unwrap();
    let document = parse(&picture);
    // Both styles are circles.
    let places: Vec<f64> = class(&document, "mark").map(|node| number(node, "cx")).collect();
    assert_eq!(places.len(), 6);
    for index in 0..3 {
        assert!((9.0..=11.0).contains(&(places[index + 3] - places[index])), "{places:?}");
    }
}

#[test]
fn nothing_leaves_the_page() {
    assert!(edges_are_white(&charts().draw().unwrap()));
    let large = [(1e14, 1e14), (9e14, 9e14)];
    let mut wide = panel(vec![series(&"long ".repeat(60), 0, Look::Line, &large)]);
    (wide.title, wide.x_label, wide.y_label) = ("title ".repeat(30), "label ".repeat(30), "label".repeat(30));
    for columns in [1, 3, 5] {
        assert!(edges_are_white(&Panels::new("", columns, vec![wide.clone(); 5]).draw().unwrap()), "{columns} columns");
    }
}

#[test]
fn logarithmic_axes_have_plain_numbers() {
    let wide = [(1.0, 0.01), (100.0, 3.0), (10_000.0, 100.0)];
    let logarithmic = Panel { log_x: true, log_y: true, ..panel(vec![series("a", 0, Look::Line, &wide)]) };
    let picture = Panels::new("", 1, [logarithmic]).draw().unwrap();
    let texts = texts(&parse(&picture));
    for label in ["1", "10", "100", "1 000", "10 000", "0.01", "0.1"] {
        assert!(texts.iter().any(|text| text == label), "{label} is missing in {texts:?}");
    }
}

#[test]
fn a_single_mark_is_enough_and_widths_are_equal() {
    let single = panel(vec![series("a", 11, Look::Marks, &[(4.0, 1.0)])]);
    let picture = Panels::new("", 2, vec![single; 5]).draw().unwrap();
    let document = parse(&picture);
    let widths: Vec<f64> = class(&document, "axis").map(|node| number(node, "x2") - number(node, "x1")).collect();
    assert_eq!(widths.len(), 5);
    assert!(widths.iter().all(|width| (width - widths[0]).abs() < 0.02), "{widths:?}");
}

#[test]
fn what_cannot_be_drawn_is_named() {
    let error = |panels: Panels| panels.draw().unwrap_err();
    assert_eq!(error(Panels::new("", 1, [])), PanelsError::NoPanels);
    assert_eq!(error(Panels { columns: 0, ..charts() }), PanelsError::NoColumns);
    assert_eq!(error(Panels::new("", 1, [panel(vec![])])), PanelsError::Empty { panel: 1, title: "A panel".to_owned() });
    let change = |change: fn(&mut Panel)| {
        let mut charts = charts();
        change(&mut charts.panels[1]);
        error(charts).to_string()
    };
    assert_eq!(
        change(|panel| panel.series[1].style = 12),
        "panel 2 (A panel), series 2 (Thompson): its style of 12 must be below 12"
    );
    assert_eq!(
        change(|panel| panel.series[0].points.clear()),
        "panel 2 (A panel), series 1 (top & two) needs 1 points or more, not 0"
    );
    assert!(
        change(|panel| panel.series[0].points[1].mean = f64::NAN)
            .ends_with("point 2: its mean of NaN must be between -10¹⁵ and 10¹⁵")
    );
    assert!(
        change(|panel| panel.series[0].points[1].low = 9.0)
            .ends_with("point 2: its interval begins at 9 and ends at 3.3000000000000003")
    );
    let mut backwards = charts();
    backwards.panels[0].series[0].points[2].x = 2.0;
    let fault = PointFault::Order { before: 2.0, x: 2.0 };
    let (title, name) = ("A panel".to_owned(), "uniform".to_owned());
    assert_eq!(error(backwards), PanelsError::Point { panel: 1, title, series: 1, name, point: 3, fault });
    let low = change(|panel| (panel.log_y, panel.series[1].points[2].low) = (true, 0.0));
    assert_eq!(
        low,
        "panel 2 (A panel), series 2 (Thompson), point 3: its lower end of 0 must be 10⁻¹⁵ or more on a logarithmic axis"
    );
    assert!(change(|panel| (panel.log_x, panel.series[0].points[0].x) = (true, -1.0)).contains("point 1: its x of -1"));
    let short = panel(vec![series("a", 0, Look::Line, &[(1.0, 1.0)])]);
    assert!(error(Panels::new("", 1, [short])).to_string().contains("needs 2 points or more, not 1"));
}
