//! Triangles as their readers find them.

mod drawing;

use drawing::{class, edges_are_white, number, parse, pixels, texts};
use unloop_plot::{Picture, SimplexPanel, Simplexes, SimplexesError, grid_points};

fn panel(grid: usize, marks: [usize; 3], of: impl Fn([f64; 3]) -> f64) -> SimplexPanel {
    SimplexPanel {
        title: "A triangle".to_owned(),
        corners: ["curry", "bread & soup", "salad"].map(str::to_owned),
        grid,
        density: grid_points(grid).map(of).collect(),
        marks: marks.map(|count| (0..count).map(|index| index as f64 / count as f64).collect()),
        note: Some("a note".to_owned()),
    }
}

fn hill(marks: [usize; 3]) -> SimplexPanel {
    panel(40, marks, |shares| shares.iter().product::<f64>().powi(4))
}

#[test]
fn everything_is_there_once() {
    let picture = Simplexes::new("Triangles", 2, [hill([100, 100, 100]), hill([0, 10, 0])]).draw().unwrap();
    let document = parse(&picture);
    let count = |name| class(&document, name).count();
    assert_eq!((count("region"), count("contour"), count("outline")), (12, 2, 2));
    assert_eq!((count("axis"), count("rug"), count("mark"), count("end"), count("share")), (4, 4, 310, 8, 4));
    assert_eq!((count("corner"), count("panel"), count("note"), count("swatch")), (6, 2, 2, 6));
    let texts = texts(&document);
    for text in ["Triangles", "curry", "bread & soup", "salad", "θ₂ bread & soup", "a note", "95 %", "0", "1"] {
        assert!(texts.iter().any(|drawn| drawn == text), "{text} is missing in {texts:?}");
    }
    assert_eq!(picture.width(), 900);
}

#[test]
fn a_flat_density_is_one_even_tone() {
    let picture = Simplexes::new("", 1, [panel(30, [0; 3], |_| 2.0)]).draw().unwrap();
    let document = parse(&picture);
    assert_eq!((class(&document, "region").count(), class(&document, "contour").count()), (1, 0));
    // Every pixel well inside has the same colour.
    let image = pixels(&picture.png().unwrap());
    let outline = class(&document, "outline").next().unwrap().attribute("points").unwrap();
    let corners: Vec<(f64, f64)> = (outline.split(' '))
        .map(|pair| pair.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap())
        .collect();
    let colours: Vec<_> = grid_points(80)
        .map(|shares| {
            // Two pixels from the edges at least.
            let shares = shares.map(|share| 0.02 + 0.94 * share);
            let at = |axis: fn(&(f64, f64)) -> f64| {
                2.0 * shares.iter().zip(&corners).map(|(share, corner)| share * axis(corner)).sum::<f64>()
            };
            image.pixel(at(|corner| corner.0) as u32, at(|corner| corner.1) as u32).unwrap()
        })
        .collect();
    assert!(colours.iter().all(|colour| *colour == colours[0]));
}

/// Length of a side of the first triangle.
fn side(picture: &Picture) -> f64 {
    let document = parse(picture);
    let outline = class(&document, "outline").next().and_then(|node| node.attribute("points")).unwrap();
    let across: Vec<f64> = outline.split(' ').map(|pair| pair.split_once(',').unwrap().0.parse().unwrap()).collect();
    across[1] - across[0]
}

#[test]
fn panels_without_marks_are_more_compact_and_six_fit() {
    let three = |marks| Simplexes::new("", 3, vec![hill(marks); 3]).draw().unwrap();
    let [bare, marked] = [three([0; 3]), three([5; 3])];
    assert!(side(&bare) > 1.3 * side(&marked), "{} and {}", side(&bare), side(&marked));
    assert!(bare.height() < marked.height() + 20, "{} and {}", bare.height(), marked.height());
    let bare = Simplexes::new("", 6, vec![hill([0; 3]); 12]).draw().unwrap();
    assert_eq!((bare.width(), class(&parse(&bare), "outline").count()), (900, 12));
    for corner in class(&parse(&bare), "corner") {
        assert_eq!(number(corner, "font-size"), 11.0);
    }
}

#[test]
fn nothing_leaves_the_page() {
    let long = SimplexPanel { corners: ["curry", "bread", "salad"].map(|name| name.repeat(40)), ..hill([9; 3]) };
    for columns in [1, 2, 3, 6] {
        for marks in [[9; 3], [0; 3], [0, 9, 0]] {
            let panels = vec![SimplexPanel { marks: hill(marks).marks, ..long.clone() }; 6];
            assert!(edges_are_white(&Simplexes::new("", columns, panels).draw().unwrap()), "{columns} columns, {marks:?}");
        }
    }
}

#[test]
fn names_with_room_are_not_cut_and_long_ones_are() {
    let mut long = hill([5; 3]);
    long.corners[0] = "a name that nobody would ever give to an option in a small panel".to_owned();
    let picture = Simplexes::new("", 3, vec![long; 3]).draw().unwrap();
    let document = parse(&picture);
    let names: Vec<_> = class(&document, "corner").filter_map(|node| node.text()).collect();
    assert!(names[0].ends_with('…') && names[1] == "bread & soup", "{names:?}");
}

#[test]
fn what_cannot_be_drawn_is_named() {
    let error = |simplexes: Simplexes| simplexes.draw().unwrap_err();
    assert_eq!(error(Simplexes::new("", 1, [])), SimplexesError::NoPanels);
    assert_eq!(error(Simplexes::new("", 0, [hill([0; 3])])), SimplexesError::NoColumns);
    let change = |change: fn(&mut SimplexPanel)| {
        let mut panels = vec![hill([3; 3]); 2];
        change(&mut panels[1]);
        error(Simplexes::new("", 2, panels)).to_string()
    };
    assert_eq!(change(|panel| panel.grid = 0), "panel 2 (A triangle): a grid of 0 intervals per side must have from 1 to 1000");
    assert_eq!(change(|panel| panel.grid = 41), "panel 2 (A triangle): 861 values of the density for a grid of 903 points");
    assert_eq!(
        change(|panel| panel.density[4] = -1.0),
        "panel 2 (A triangle), value 5 of the density: -1 must be finite and not below 0"
    );
    assert!(change(|panel| panel.density[0] = f64::INFINITY).contains("value 1 of the density: inf"));
    assert_eq!(change(|panel| panel.density.fill(0.0)), "panel 2 (A triangle): its density is 0 everywhere");
    assert_eq!(change(|panel| panel.marks[2][1] = 1.5), "panel 2 (A triangle), mark 2 of share 3: 1.5 must be between 0 and 1");
}
