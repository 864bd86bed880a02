//! Forest plots as their readers find them: what stands where, in the SVG and in the PNG.

mod drawing;

use drawing::{class, number, parse, pixels, texts};
use roxmltree::Document;
use unloop_plot::{Forest, ForestError, ForestRow, PngError, Reference, Scale};

fn row(name: &str, mean: f64, low: f64, high: f64) -> ForestRow {
    ForestRow { name: name.to_owned(), mean, low, high, p_best: None, unseen: false }
}

fn lunch() -> Forest {
    let mut forest =
        Forest::new("Lunch", [row("curry", 0.47, 0.33, 0.58), row("soup", 0.33, 0.21, 0.46), row("salad", 0.2, 0.01, 0.53)]);
    for (row, p_best) in forest.rows.iter_mut().zip([0.87, 0.11, 0.02]) {
        row.p_best = Some(p_best);
    }
    forest
}

/// The value at a pixel, by the two ticks with these labels: what a reader does with a ruler.
fn value_at(document: &Document<'_>, x: f64, ticks: [(&str, f64); 2], log: bool) -> f64 {
    let [(a, u), (b, v)] = ticks.map(|(label, value)| {
        let tick = class(document, "tick").find(|tick| tick.text() == Some(label)).unwrap_or_else(|| panic!("no tick {label}"));
        (number(tick, "x"), value)
    });
    let part = (x - a) / (b - a);
    if log { u * (v / u).powf(part) } else { u + part * (v - u) }
}

#[test]
fn dots_and_lines_stand_at_their_values() {
    let picture = lunch().draw().unwrap();
    let document = parse(&picture);
    let read = |x| value_at(&document, x, [("10 %", 0.1), ("50 %", 0.5)], false);
    let means: Vec<f64> = class(&document, "mean").map(|dot| read(number(dot, "cx"))).collect();
    let ends: Vec<[f64; 2]> = class(&document, "interval").map(|line| ["x1", "x2"].map(|end| read(number(line, end)))).collect();
    assert_eq!((means.len(), ends.len()), (3, 3));
    for ((row, mean), [low, high]) in lunch().rows.iter().zip(means).zip(ends) {
        // A hundredth of a pixel is 0.000 014 on this axis.
        for (read, value) in [(mean, row.mean), (low, row.low), (high, row.high)] {
            assert!((read - value).abs() < 5e-5, "{}: {read} for {value}", row.name);
        }
    }
}

#[test]
fn dots_stand_at_their_values_on_a_logarithmic_axis() {
    let forest = Forest::new("", [row("a", 0.6, 0.5, 0.7), row("b", 0.04, 0.02, 0.1), row("c", 0.0003, 0.0001, 0.001)]);
    let picture = forest.draw().unwrap();
    let document = parse(&picture);
    let means: Vec<f64> = class(&document, "mean")
        .map(|dot| value_at(&document, number(dot, "cx"), [("0.1 %", 1e-3), ("10 %", 0.1)], true))
        .collect();
    for (read, row) in means.iter().zip(&forest.rows) {
        assert!((read / row.mean - 1.0).abs() < 1e-3, "{read} for {}", row.mean);
    }
    assert!(texts(&document).contains(&"share of choices (logarithmic)".to_owned()));
}

#[test]
fn the_scale_is_logarithmic_from_two_decades_or_where_told() {
    let scales = |ratio: f64, scale| {
        let mut forest = Forest::new("", [row("a", 0.6, 0.5, 0.7), row("b", 0.6 / ratio, 0.5 / ratio, 0.7 / ratio)]);
        forest.scale = scale;
        forest.draw().unwrap().svg().contains("(logarithmic)")
    };
    assert!(!scales(99.0, Scale::Auto));
    assert!(scales(101.0, Scale::Auto));
    assert!(scales(3.0, Scale::Log));
    assert!(!scales(1e6, Scale::Linear));
}

#[test]
fn ticks_are_round_and_above_too_where_rows_are_many() {
    let ticks = |picture| class(&parse(&picture), "tick").map(|tick| tick.text().unwrap().to_owned()).collect::<Vec<_>>();
    let few = ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %", "60 %"];
    assert_eq!(ticks(lunch().draw().unwrap()), few);
    let mut many = lunch();
    many.rows = many.rows.iter().cycle().take(31).cloned().collect();
    assert_eq!(ticks(many.draw().unwrap()), [few, few].concat());
}

#[test]
fn names_are_all_there_escaped_cut_and_whole_in_the_tip() {
    let long = "Donaudampfschifffahrtsgesellschaftskapitänsmütze";
    let names = ["a < b & \"c\" > 'd'", "борщ", "蕎麦", "\u{1b}[31mred\u{0}", "", "]]>", long];
    let rows: Vec<ForestRow> = names.iter().map(|name| row(name, 0.1, 0.05, 0.2)).collect();
    let picture = Forest::new("<Lunch> & more", rows).draw().unwrap();
    let document = parse(&picture);
    let drawn: Vec<&str> = class(&document, "name").map(|name| name.text().unwrap_or("")).collect();
    assert_eq!(drawn[..3], names[..3]);
    assert_eq!(drawn[3..6], ["\u{fffd}[31mred\u{fffd}", "", "]]>"]);
    let cut = drawn[6].strip_suffix('…').expect("cut");
    assert!(long.starts_with(cut) && (30..40).contains(&cut.chars().count()), "{cut}");
    let tip = class(&document, "row").last().unwrap().first_element_child().unwrap();
    assert!(tip.text().unwrap().starts_with(long), "{tip:?}");
    assert!(texts(&document).contains(&"<Lunch> & more".to_owned()));
}

#[test]
fn words_and_numbers_are_there() {
    let mut forest = lunch();
    forest.subtitle = Some("of May".to_owned());
    forest.footer = Some("asked at noon".to_owned());
    forest.axis_title = "part of all".to_owned();
    forest.legend = "mean and 90 % interval".to_owned();
    forest.reference = Some(Reference { value: 1.0 / 3.0, label: "equal share".to_owned() });
    let picture = forest.draw().unwrap();
    let document = parse(&picture);
    let texts = texts(&document);
    for text in [
        "Lunch",
        "of May",
        "asked at noon",
        "part of all",
        "mean and 90 % interval",
        "equal share",
        "47.0 %",
        "87 %",
        "P(best)",
        "3",
    ] {
        assert!(texts.iter().any(|drawn| drawn == text), "{text} is missing in {texts:?}");
    }
    let line = class(&document, "reference").next().unwrap();
    let value = value_at(&document, number(line, "x1"), [("0 %", 0.0), ("40 %", 0.4)], false);
    assert!((value - 1.0 / 3.0).abs() < 5e-5, "{value}");
    let bars: Vec<f64> = class(&document, "best").map(|bar| number(bar, "width")).collect();
    assert!((bars[0] / bars[1] - 0.87 / 0.11).abs() < 0.02, "{bars:?}");
}

#[test]
fn what_was_not_given_is_left_out() {
    let mut forest = Forest::new("", [row("curry", 0.5, 0.4, 0.6)]);
    forest.numbered = false;
    let picture = forest.draw().unwrap();
    let document = parse(&picture);
    assert!(!texts(&document).iter().any(|text| text == "P(best)" || text == "1" || text.starts_with("never shown")));
    assert_eq!(class(&document, "best").count() + class(&document, "reference").count(), 0);
    assert!(picture.width() < lunch().draw().unwrap().width());
}

#[test]
fn options_never_shown_are_hollow_and_explained() {
    let mut forest = lunch();
    forest.rows[1].unseen = true;
    let picture = forest.draw().unwrap();
    let document = parse(&picture);
    let hollow: Vec<bool> = class(&document, "mean").map(|dot| dot.attribute("fill") == Some("#ffffff")).collect();
    assert_eq!(hollow, [false, true, false]);
    assert!(class(&document, "legend").any(|entry| entry.text() == Some("never shown: its prior")));
}

#[test]
fn an_interval_down_to_nothing_is_an_arrow_on_a_logarithmic_axis() {
    let mut forest = Forest::new("", [row("a", 0.5, 0.4, 0.6), row("b", 0.01, 0.0, 0.02), row("c", 0.0, 0.0, 0.3)]);
    forest.scale = Scale::Log;
    let picture = forest.draw().unwrap();
    let document = parse(&picture);
    assert_eq!(class(&document, "mean").count(), 2, "a mean of zero has no place on the axis");
    let left = class(&document, "interval").map(|line| number(line, "x1")).fold(f64::INFINITY, f64::min);
    let arrows = document.descendants().filter(|node| node.attribute("class") == Some("arrow"));
    assert_eq!(arrows.filter(|arrow| arrow.attribute("d").unwrap().starts_with(&format!("M{left} "))).count(), 2);
    forest.scale = Scale::Linear;
    assert!(!forest.draw().unwrap().svg().contains("class=\"arrow\""));
}

#[test]
fn rows_are_eighteen_pixels_high() {
    let height = |rows: usize| {
        let rows: Vec<ForestRow> = lunch().rows.into_iter().cycle().take(rows).collect();
        Forest::new("Lunch", rows).draw().unwrap().height()
    };
    assert_eq!(height(30) - height(3), 27 * 18);
    assert_eq!(height(100) - height(31), 69 * 18);
}

#[test]
fn the_png_has_twice_the_size_and_shows_names_and_dots() {
    let picture = lunch().draw().unwrap();
    let document = parse(&picture);
    let image = pixels(&picture.png().unwrap());
    assert_eq!((image.width(), image.height()), (2 * picture.width(), 2 * picture.height()));
    for name in class(&document, "name") {
        let (x, y) = (number(name, "x"), number(name, "y"));
        let dark = drawing::dark(&image, (x, y - 9.0), (x + 30.0, y)).len();
        assert!(dark > 100, "{dark} dark pixels at the name {:?}", name.text());
    }
    for dot in class(&document, "mean") {
        let at = image.pixel((2.0 * number(dot, "cx")) as u32, (2.0 * number(dot, "cy")) as u32).unwrap();
        assert_eq!((at.red(), at.green(), at.blue()), (0x1f, 0x5f, 0xa8));
    }
    assert!(drawing::dark(&image, (0.0, 0.0), (20.0, 20.0)).is_empty());
}

#[test]
fn every_script_of_the_fonts_is_drawn_in_the_png() {
    // A font that lacks two letters draws the same box for both.
    let pairs = ["sp", "щб", "σπ", "שק", "حص", "ხჭ", "★♥", "→…", "éü"];
    let letters = pairs.iter().flat_map(|pair| pair.chars());
    let rows: Vec<ForestRow> = letters.map(|letter| row(&letter.to_string(), 0.1, 0.05, 0.2)).collect();
    let picture = Forest::new("", rows).draw().unwrap();
    let document = parse(&picture);
    let image = pixels(&picture.png().unwrap());
    let shapes: Vec<Vec<(u32, u32)>> = class(&document, "name")
        .map(|name| {
            let (x, y) = (number(name, "x"), number(name, "y"));
            drawing::dark(&image, (x, y - 10.0), (x + 20.0, y + 3.0))
        })
        .collect();
    assert_eq!(shapes.len(), 2 * pairs.len());
    for (shapes, pair) in shapes.chunks(2).zip(pairs) {
        assert!(shapes[0].len() > 4 && shapes[1].len() > 4 && shapes[0] != shapes[1], "{pair}: {shapes:?}");
    }
}

#[test]
fn the_same_picture_has_the_same_bytes_at_any_scale() {
    let picture = lunch().draw().unwrap();
    assert_eq!(picture, lunch().draw().unwrap());
    assert_eq!(picture.png().unwrap(), lunch().draw().unwrap().png_at(2.0).unwrap());
    let image = pixels(&picture.png_at(0.5).unwrap());
    assert_eq!(image.width(), picture.width().div_ceil(2));
}

#[test]
fn scales_that_make_no_image_are_refused() {
    let picture = lunch().draw().unwrap();
    let (width, height) = (picture.width(), picture.height());
    for scale in [0.0, -1.0, 1e-4, 1e4, f32::INFINITY] {
        assert_eq!(picture.png_at(scale), Err(PngError::Size { width, height, scale }));
    }
    assert!(matches!(picture.png_at(f32::NAN), Err(PngError::Size { .. })));
}

#[test]
fn what_is_wrong_is_named() {
    let error = |change: &dyn Fn(&mut Forest)| {
        let mut forest = lunch();
        change(&mut forest);
        forest.draw().unwrap_err()
    };
    assert_eq!(error(&|forest| forest.rows.clear()), ForestError::NoRows);
    let name = || "soup".to_owned();
    assert_eq!(error(&|forest| forest.rows[1].mean = 1.5), ForestError::Share { row: 2, name: name(), what: "mean", value: 1.5 });
    assert_eq!(
        error(&|forest| forest.rows[1].low = -0.1),
        ForestError::Share { row: 2, name: name(), what: "lower end", value: -0.1 }
    );
    assert_eq!(
        error(&|forest| forest.rows[1].high = f64::INFINITY),
        ForestError::Share { row: 2, name: name(), what: "upper end", value: f64::INFINITY }
    );
    assert_eq!(
        error(&|forest| forest.rows[1].p_best = Some(2.0)),
        ForestError::Share { row: 2, name: name(), what: "P(best)", value: 2.0 }
    );
    assert_eq!(error(&|forest| forest.rows[1].low = 0.5), ForestError::Interval { row: 2, name: name(), low: 0.5, high: 0.46 });
    let reference = |value| Some(Reference { value, label: String::new() });
    assert_eq!(error(&|forest| forest.reference = reference(-1.0)), ForestError::Reference { value: -1.0 });
    let nothing = |forest: &mut Forest| {
        forest.scale = Scale::Log;
        forest.rows.iter_mut().for_each(|row| row.mean = 0.0);
    };
    assert_eq!(error(&nothing), ForestError::NothingAboveZero);
    for index in 0..5 {
        let error = error(&|forest| match index {
            0 => forest.rows[1].mean = f64::NAN,
            1 => forest.rows[1].low = f64::NAN,
            2 => forest.rows[1].high = f64::NAN,
            3 => forest.rows[1].p_best = Some(f64::NAN),
            _ => forest.reference = reference(f64::NAN),
        });
        assert!(error.to_string().contains("NaN must be between 0 and 1"), "{error}");
    }
}

#[test]
fn odd_but_valid_values_are_drawn() {
    for (mean, low, high) in [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.3, 0.0, 0.1), (1e-300, 0.0, 1e-299), (5e-324, 5e-324, 1.0)] {
        for scale in [Scale::Auto, Scale::Linear, Scale::Log] {
            let mut forest = Forest::new("", [row("a", mean, low, high), row("b", 0.5, 0.5, 0.5)]);
            forest.scale = scale;
            let picture = forest.draw().unwrap();
            assert!(!picture.svg().contains("NaN") && !picture.svg().contains("inf"), "{mean} {low} {high} {scale:?}");
            parse(&picture);
        }
    }
}
