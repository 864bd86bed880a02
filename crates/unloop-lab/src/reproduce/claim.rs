//! What the paper says, and whether it holds here.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// These runs cannot tell.
    Undecided,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Undecided => "not decided",
        }
    }

    /// Of a number that should be below a bound, by its interval.
    pub fn below(bound: f64, low: f64, high: f64) -> Self {
        if high < bound {
            Self::Holds
        } else if low >= bound {
            Self::Fails
        } else {
            Self::Undecided
        }
    }

    /// Of several parts that must all hold.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let verdicts: Vec<Self> = verdicts.into_iter().collect();
        match () {
            () if verdicts.contains(&Self::Fails) => Self::Fails,
            () if verdicts.contains(&Self::Undecided) || verdicts.is_empty() => Self::Undecided,
            () => Self::Holds,
        }
    }
}

/// A sentence of the paper, and the number that decides it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// A short name that stays.
    pub id: String,
    /// The figure it belongs to.
    pub figure: String,
    /// The claim, in a sentence.
    pub claim: String,
    /// Where the paper makes it.
    pub source: String,
    /// What the number is.
    pub measure: String,
    /// The number that decides.
    pub number: f64,
    /// Its 95 % interval; the number itself twice where it is exact.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Runs, or draws, behind it; 0 where it is exact.
    pub runs: usize,
    /// Whether it holds.
    pub verdict: Verdict,
}

impl Claim {
    /// A claim of a figure that nothing has decided yet.
    pub fn new(figure: &str, id: &str, source: &str, claim: &str) -> Self {
        Self {
            id: id.to_owned(),
            figure: figure.to_owned(),
            claim: claim.to_owned(),
            source: source.to_owned(),
            measure: String::new(),
            number: 0.0,
            low: 0.0,
            high: 0.0,
            runs: 0,
            verdict: Verdict::Undecided,
        }
    }

    /// Decided by an exact number.
    #[must_use]
    pub fn exact(self, measure: &str, number: f64, holds: bool) -> Self {
        let verdict = if holds { Verdict::Holds } else { Verdict::Fails };
        Self { measure: measure.to_owned(), number, low: number, high: number, runs: 0, verdict, ..self }
    }

    /// Decided by a number that was measured once.
    #[must_use]
    pub fn once(self, measure: &str, number: f64, holds: bool) -> Self {
        Self { runs: 1, ..self.exact(measure, number, holds) }
    }

    /// Decided by a mean over runs. An interval that is infinite, of one run, is left at the number, and decides nothing.
    #[must_use]
    pub fn measured(self, measure: &str, summary: &Summary, verdict: Verdict) -> Self {
        let known = summary.low.is_finite() && summary.high.is_finite();
        let verdict = if known { verdict } else { Verdict::Undecided };
        let (low, high) = if known { (summary.low, summary.high) } else { (summary.mean, summary.mean) };
        Self { measure: measure.to_owned(), number: summary.mean, low, high, runs: summary.runs, verdict, ..self }
    }
}

/// All claims of a reproduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// Version of unloop.
    pub version: String,
    /// The commit it was built from.
    pub commit: String,
    /// `quick` or `paper`.
    pub profile: String,
    /// Seed of everything.
    pub seed: u64,
    /// The claims.
    pub claims: Vec<Claim>,
}

impl Claims {
    /// How many hold, do not, and are not decided.
    pub fn counts(&self) -> [usize; 3] {
        [Verdict::Holds, Verdict::Fails, Verdict::Undecided]
            .map(|verdict| self.claims.iter().filter(|claim| claim.verdict == verdict).count())
    }

    /// In a sentence.
    pub fn summary(&self) -> String {
        let [holds, fails, undecided] = self.counts();
        format!("{} claims: {holds} hold, {fails} do not, {undecided} are not decided", self.claims.len())
    }

    /// The page `docs/reproduction.md`.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# The paper, reproduced\n\n\
             *A Bayesian Choice Model for Eliminating Feedback Loops*, claim by claim. Made from `docs/claims.json` by\n\
             `unloop reproduce --claims docs/claims.json --report docs/reproduction.md`; the figures themselves by\n\
             `unloop reproduce all --profile {} --seed {}` (unloop {}, commit {}).\n\n\
             {}. A number is a mean with its 95 % interval over runs; where there are no runs it is exact.\n\n\
             | figure | claim | where | number that decides | | runs |\n|---|---|---|---|---|---|\n",
            self.profile,
            self.seed,
            self.version,
            self.commit,
            self.summary()
        );
        for claim in &self.claims {
            let Claim { figure, claim: words, source, measure, runs, verdict, .. } = claim;
            let runs = if *runs == 0 { "exact".to_owned() } else { runs.to_string() };
            let verdict = match verdict {
                Verdict::Fails => format!("**{}**", verdict.words()),
                _ => verdict.words().to_owned(),
            };
            let number = claim.figures();
            // Bars would end a cell, stars begin italics.
            let [words, measure] = [words, measure].map(|text| text.replace('|', "\\|").replace('*', "\\*"));
            let _ = writeln!(text, "| `{figure}` | {words} | {source} | {measure}: {number} | {verdict} | {runs} |");
        }
        text
    }
}

impl Claim {
    /// The number with its interval, as people read it.
    pub fn figures(&self) -> String {
        let number = short(self.number);
        if self.low == self.high { number } else { format!("{number} ({} to {})", short(self.low), short(self.high)) }
    }
}

/// Three digits, or as many as a whole number has.
fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e6).contains(&size) => format!("{x:.1e}"),
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        size if size >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_intervals() {
        assert_eq!(Verdict::below(0.0, -2.0, -1.0), Verdict::Holds);
        assert_eq!(Verdict::below(0.0, 1.0, 2.0), Verdict::Fails);
        assert_eq!(Verdict::below(0.0, -1.0, 1.0), Verdict::Undecided);
        assert_eq!(Verdict::all([Verdict::Holds, Verdict::Undecided, Verdict::Fails]), Verdict::Fails);
        assert_eq!(Verdict::all([Verdict::Holds, Verdict::Undecided]), Verdict::Undecided);
        assert_eq!(Verdict::all([]), Verdict::Undecided);
        let one = Claim::new("x", "x", "", "").measured("", &Summary::new(&[-5.0]), Verdict::Holds);
        assert_eq!(one.verdict, Verdict::Undecided, "one run decides nothing");
    }

    #[test]
    fn cells_stay_cells() {
        let claim = Claim::new("x", "x", "Figure 1", "θ* is found").exact("Σ|a − θ*|", 0.5, true);
        let claims = Claims { version: "1".into(), commit: "c".into(), profile: "quick".into(), seed: 1, claims: vec![claim] };
        let page = claims.markdown();
        let row = page.lines().last().unwrap();
        assert_eq!(row, r"| `x` | θ\* is found | Figure 1 | Σ\|a − θ\*\|: 0.500 | holds | exact |");
    }

    #[test]
    fn numbers_read_well() {
        let figures: Vec<String> = [0.0, 1.5e-17, 0.012_34, 3.456, -45.67, 1234.5, 2e7].map(short).into();
        assert_eq!(figures, ["0", "1.5e-17", "0.012", "3.46", "-45.7", "1234", "2.0e7"]);
    }
}
