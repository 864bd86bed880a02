//! Numbers as people read them: shares and chances in per cent, others with their thousands apart.

/// A share with a fixed number of decimals, such as `4.1 %`.
pub(crate) fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", 100.0 * share)
}

/// A share with two significant digits, such as `12 %`, `4.1 %` or `0.0041 %`; below a ten-thousandth of a per cent only that it is.
pub(crate) fn two_digits(share: f64) -> String {
    const LEAST: f64 = 1e-6;
    if share == 0.0 {
        "0 %".to_owned()
    } else if share < LEAST {
        format!("<{}", percent(LEAST, 4))
    } else {
        // The logarithm decides how many decimals; 9.96 % shown as 10.0 % is one too many and does no harm.
        let magnitude = (100.0 * share).log10().floor();
        percent(share, (1.0 - magnitude).max(0.0) as usize)
    }
}

/// A chance in whole per cent without the sign. What is not certain is never shown as 0 or 100.
pub(crate) fn chance(probability: f64) -> String {
    match (100.0 * probability).round() {
        0.0 if probability > 0.0 => "<1".to_owned(),
        100.0 if probability < 1.0 => ">99".to_owned(),
        whole => format!("{whole}"),
    }
}

/// A number with a fixed number of decimals and a space between thousands, such as `12 500`.
pub(crate) fn plain(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut text = String::new();
    if value < 0.0 {
        text.push('−');
    }
    for (index, digit) in digits.char_indices() {
        if index > 0 && index < whole && (whole - index) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(percent(0.0412, 1), "4.1 %");
        assert_eq!(percent(0.5, 0), "50 %");
        let written = [1.0, 0.62, 0.1, 0.0412, 0.004_12, 0.000_041_2, 1e-6, 9e-7, 0.0].map(two_digits);
        assert_eq!(written, ["100 %", "62 %", "10 %", "4.1 %", "0.41 %", "0.0041 %", "0.00010 %", "<0.0001 %", "0 %"]);
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0.0, 7.0, 999.0, 1000.0, 12_500.0, -1_234_567.0].map(|value| plain(value, 0)),
            ["0", "7", "999", "1 000", "12 500", "−1 234 567"]
        );
        assert_eq!((plain(0.25, 2), plain(-1234.5, 1), plain(-0.0, 1)), ("0.25".into(), "−1 234.5".into(), "0.0".into()));
    }

    #[test]
    fn only_certainty_is_shown_as_certainty() {
        let written = [0.0, 1e-9, 0.0049, 0.005, 0.5, 0.994, 0.9951, 1.0 - 1e-9, 1.0].map(chance);
        assert_eq!(written, ["0", "<1", "<1", "1", "50", "99", ">99", ">99", "100"]);
    }
}
