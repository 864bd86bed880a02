//! Numbers as people read them: shares and chances in per cent.

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
    fn only_certainty_is_shown_as_certainty() {
        let written = [0.0, 1e-9, 0.0049, 0.005, 0.5, 0.994, 0.9951, 1.0 - 1e-9, 1.0].map(chance);
        assert_eq!(written, ["0", "<1", "<1", "1", "50", "99", ">99", ">99", "100"]);
    }
}
