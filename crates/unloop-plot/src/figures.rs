//! Numbers as people read them.

/// A text of a file as it can stand in a terminal: what would move its cursor is written out.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}

/// A share or probability in percent, with at least two digits that tell something.
pub fn percent(x: f64) -> String {
    let x = 100.0 * x;
    if x > 0.0 && x < 1e-4 {
        return format!("{x:.1e} %");
    }
    let digits = if x >= 9.95 || x == 0.0 { 1 } else { (1 - x.log10().floor() as i32).max(2) as usize };
    format!("{x:.digits$} %")
}

/// A chance from draws: no more digits than they have.
pub fn chance(p: f64) -> String {
    let percent = 100.0 * p;
    if percent > 0.0 && percent < 0.5 {
        "<1 %".into()
    } else if percent < 100.0 && percent > 99.5 {
        ">99 %".into()
    } else {
        format!("{percent:.0} %")
    }
}

/// A count: whole, or to one place.
pub fn count(x: f64) -> String {
    let text = if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 && whole.len() > 4 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// A probability that somebody chose, with the digits it has.
pub fn level(p: f64) -> String {
    format!("{} %", (1e6 * p).round() / 1e4)
}

/// From–to, where both ends are alike only once.
pub fn range(low: usize, high: usize) -> String {
    if low == high { low.to_string() } else { format!("{low}–{high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(percent(0.4567), "45.7 %");
        assert_eq!(percent(0.0412), "4.12 %");
        assert_eq!(percent(0.000_912), "0.091 %");
        assert_eq!(percent(0.000_014), "0.0014 %");
        assert_eq!(percent(1.3e-9), "1.3e-7 %");
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(chance(0.001), "<1 %");
        assert_eq!(chance(0.999), ">99 %");
        assert_eq!(chance(1.0), "100 %");
        assert_eq!(chance(0.0), "0 %");
        assert_eq!(count(1234.0), "1234");
        assert_eq!(count(1_234_567.5), "1 234 567.5");
        assert_eq!((level(0.05), level(0.9), level(0.995)), ("5 %".into(), "90 %".into(), "99.5 %".into()));
        assert_eq!(range(3, 3), "3");
        assert_eq!(range(1, 12), "1–12");
    }
}
