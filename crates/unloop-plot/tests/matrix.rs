//! Matrices as their readers find them.

mod drawing;

use drawing::{class, dark, number, parse, pixels, texts};
use roxmltree::{Document, Node};
use unloop_plot::{MatrixError, MatrixPlot};

fn matrix(options: usize) -> MatrixPlot {
    let chance = |row: usize, column: usize| 0.5 + 0.49 * (column as f64 - row as f64) / options as f64;
    let chances: Vec<Vec<f64>> = (0..options).map(|row| (0..options).map(|column| chance(row, column)).collect()).collect();
    let names: Vec<String> = (0..options).map(|index| format!("dish & {index}")).collect();
    MatrixPlot::new("Which beats which", names, chances)
}

/// Cells with their tips.
fn cells<'a>(document: &'a Document<'_>) -> Vec<(Node<'a, 'a>, &'a str)> {
    let rects = document.descendants().filter(|node| node.has_tag_name("rect"));
    rects.filter_map(|rect| Some((rect, rect.first_element_child()?.text()?))).collect()
}

#[test]
fn there_is_a_cell_for_each_pair_and_none_on_the_diagonal() {
    for options in [2, 25, 26, 100] {
        let picture = matrix(options).draw().unwrap();
        let document = parse(&picture);
        assert_eq!(cells(&document).len(), options * (options - 1));
        for names in ["row-name", "column-name"] {
            let names: Vec<&str> = class(&document, names).filter_map(|name| name.text()).collect();
            assert_eq!(names, matrix(options).names);
        }
    }
}

#[test]
fn a_cell_stands_in_its_row_and_column_and_has_its_colour() {
    let mut plot = matrix(3);
    plot.chances = vec![vec![f64::NAN, 1.0, 0.5], vec![0.0, f64::NAN, 0.7], vec![0.5, 0.3, f64::NAN]];
    let picture = plot.draw().unwrap();
    let document = parse(&picture);
    let cells = cells(&document);
    let cell = |row: usize, column: usize| {
        let tip = format!("dish & {row} over dish & {column}: ");
        cells.iter().find(|(_, text)| text.starts_with(&tip)).expect("is there").0
    };
    let fill = |row, column| cell(row, column).attribute("fill").unwrap();
    assert_eq!([fill(0, 1), fill(1, 0), fill(0, 2)], ["#165896", "#964603", "#f7f7f5"]);
    assert_eq!(fill(0, 2), fill(2, 0));
    let side = number(cell(0, 2), "x") - number(cell(0, 1), "x");
    assert_eq!(number(cell(2, 0), "y") - number(cell(1, 0), "y"), side);
    assert_eq!(number(cell(2, 1), "x"), number(cell(0, 1), "x"));
    // Names stand beside their rows.
    for (name, row) in class(&document, "row-name").zip(0..3) {
        let middle = number(cell(row, (row + 1) % 3), "y") + 0.5 * side;
        assert!((number(name, "y") - middle).abs() < 0.4 * side && number(name, "x") < number(cell(1, 0), "x"));
    }
}

#[test]
fn numbers_are_printed_up_to_twenty_five_options() {
    let printed = |options| {
        let picture = matrix(options).draw().unwrap();
        texts(&parse(&picture)).iter().filter(|text| text.trim_start_matches(['<', '>']).parse::<u8>().is_ok()).count()
    };
    assert_eq!(printed(4), 12);
    assert_eq!(printed(25), 25 * 24);
    assert_eq!(printed(26), 0);
    let mut plot = matrix(2);
    plot.chances = vec![vec![0.0, 0.999], vec![0.001, 0.0]];
    let picture = plot.draw().unwrap();
    let texts = texts(&parse(&picture));
    assert!(texts.contains(&">99".to_owned()) && texts.contains(&"<1".to_owned()), "{texts:?}");
}

#[test]
fn words_are_there() {
    let mut plot = matrix(3);
    plot.subtitle = Some("of May".to_owned());
    plot.footer = Some("asked at noon".to_owned());
    let picture = plot.draw().unwrap();
    let texts = texts(&parse(&picture));
    for text in ["Which beats which", "of May", "asked at noon", "chance that the row beats the column", "0 %", "50 %", "100 %"] {
        assert!(texts.iter().any(|drawn| drawn == text), "{text} is missing in {texts:?}");
    }
}

#[test]
fn long_names_stay_inside_the_picture_and_below_the_legend() {
    for options in [2, 12, 25, 26, 60] {
        let mut plot = matrix(options);
        plot.names = vec!["W".repeat(60); options];
        let picture = plot.draw().unwrap();
        let document = parse(&picture);
        let image = pixels(&picture.png().unwrap());
        let (width, height) = (f64::from(picture.width()), f64::from(picture.height()));
        let legend = document.descendants().find(|node| node.text() == Some("50 %")).unwrap();
        let legend = number(legend, "y") + 2.0;
        for (corner, opposite) in [
            ((0.0, 0.0), (10.0, height)),
            ((width - 10.0, 0.0), (width, height)),
            ((0.0, legend), (width, legend + 8.0)),
            ((0.0, height - 10.0), (width, height)),
        ] {
            assert!(dark(&image, corner, opposite).is_empty(), "{options} options, {corner:?} to {opposite:?}");
        }
        let first = class(&document, "column-name").next().unwrap();
        let (x, y) = (number(first, "x"), number(first, "y"));
        assert!(dark(&image, (x - 8.0, y - 40.0), (x + 40.0, y)).len() > 100, "{options} options");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let error = |change: &dyn Fn(&mut MatrixPlot)| {
        let mut plot = matrix(3);
        change(&mut plot);
        plot.draw().unwrap_err()
    };
    assert_eq!(error(&|plot| plot.names.clear()), MatrixError::TooFew { options: 0 });
    assert_eq!(error(&|plot| plot.names.truncate(1)), MatrixError::TooFew { options: 1 });
    assert_eq!(error(&|plot| plot.names.truncate(2)), MatrixError::Rows { options: 2, rows: 3 });
    assert_eq!(error(&|plot| plot.chances[1].truncate(2)), MatrixError::Columns { row: 2, length: 2, options: 3 });
    assert_eq!(error(&|plot| plot.chances[1][2] = 1.01), MatrixError::Chance { row: 2, column: 3, value: 1.01 });
    let text = error(&|plot| plot.chances[2][0] = f64::NAN).to_string();
    assert_eq!(text, "row 3, column 1: a chance of NaN must be between 0 and 1");
    assert!(matrix(3).draw().is_ok());
}
