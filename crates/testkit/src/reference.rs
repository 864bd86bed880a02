//! Reference values and choice files, computed or collected elsewhere.
//!
//! They are not part of the repository: they lie in a folder `shared` beside it, or where the environment variable
//! `UNLOOP_SHARED` says.
//!
//! ```text
//! shared/oracles/posterior.json   posteriors by quadrature: `posterior_cases`
//! shared/data/*.csv               choices that people made: `choices`
//! ```
//!
//! Where a file is absent the functions here [`skip`] the test and return `None`:
//!
//! ```text
//! let Some(cases) = reference::posterior_cases() else { return };
//! ```
//!
//! A file that is there and cannot be read is a failure, not a skip.

use crate::skip::skip;
use serde::Deserialize;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One posterior with what quadrature says about it. Vectors are indexed by option.
#[derive(Clone, Debug, Deserialize)]
pub struct PosteriorCase {
    /// What the case is about; name it when a comparison fails.
    pub name: String,
    /// Prior weights α_k.
    pub alpha: Vec<f64>,
    /// The data.
    pub presentations: Vec<ChosenCounts>,
    /// How accurate the quadrature was.
    pub accuracy: f64,
    /// ln R(α + y, Z, β + μ), Carlson's function in the normalising constant of the posterior.
    pub log_r: f64,
    /// Natural logarithm of the probability of the choices in the order made, without multinomial coefficients.
    pub log_evidence: f64,
    /// Posterior means of θ_k.
    pub posterior_mean: Vec<f64>,
    /// Posterior variances of θ_k.
    pub posterior_variance: Vec<f64>,
    /// Probabilities of the next choice from some presentations.
    pub predictive: Vec<Predictive>,
    /// θ at the maximum of the posterior density in the log basis η, θ = softmax(η).
    pub log_basis_map: Vec<f64>,
    /// That density at one point.
    pub log_basis: LogBasis,
}

impl PosteriorCase {
    /// Presentations as members and how often each was chosen.
    pub fn rows(&self) -> Vec<(Vec<u32>, Vec<f64>)> {
        let members = |row: &ChosenCounts| row.options.iter().map(|&k| k as u32).collect();
        self.presentations.iter().map(|row| (members(row), row.chosen.clone())).collect()
    }
}

/// Choices from one presentation, summed up.
#[derive(Clone, Debug, Deserialize)]
pub struct ChosenCounts {
    /// The options shown.
    pub options: Vec<usize>,
    /// How often each of them was chosen, in the order of `options`.
    pub chosen: Vec<f64>,
}

/// Probabilities of the next choice from one presentation.
#[derive(Clone, Debug, Deserialize)]
pub struct Predictive {
    /// The options shown.
    pub options: Vec<usize>,
    /// Probability of each of them, in the order of `options`.
    pub probability: Vec<f64>,
}

/// The unnormalised log posterior in the log basis at one point: f(η) = Σ_k (α_k + y_k) η_k − Σ_C (β(C) + μ(C)) ln S_C(e^η),
/// with β the weight Σα on the set of all options.
#[derive(Clone, Debug, Deserialize)]
pub struct LogBasis {
    /// The point.
    pub eta: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// First derivatives.
    pub gradient: Vec<f64>,
    /// Second derivatives, by row.
    pub hessian: Vec<Vec<f64>>,
}

/// One row of a choice file.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceRow {
    /// Names of the options shown, in the order of the file.
    pub presented: Vec<String>,
    /// The one of them that was chosen, or none.
    pub chosen: Option<String>,
    /// How often this happened.
    pub count: f64,
}

/// The cases of `oracles/posterior.json`.
///
/// # Panics
///
/// When the file is there and is not what it should be.
pub fn posterior_cases() -> Option<Vec<PosteriorCase>> {
    let path = path("oracles/posterior.json")?;
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// The rows of `data/<name>`, a plain CSV file.
///
/// Columns are found by their name: `presented`, names joined by `|`; `chosen`, one of them or empty; `count`, 1 where
/// there is no such column. Other columns are left alone. Quoting is that of RFC 4180.
///
/// # Panics
///
/// When the file is there and is not what it should be.
pub fn choices(name: &str) -> Option<Vec<ChoiceRow>> {
    let path = path(&format!("data/{name}"))?;
    let file = fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(choice_rows(file).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Where a reference file is, seen from the folder of them all, if it exists; otherwise the test is skipped.
pub fn path(relative: &str) -> Option<PathBuf> {
    let path = folder().join(relative);
    if path.exists() {
        return Some(path);
    }
    skip(format!("{relative} not found in {} (set UNLOOP_SHARED)", folder().display()));
    None
}

/// The folder of reference files, whether it exists or not.
pub fn folder() -> PathBuf {
    folder_for(std::env::var_os("UNLOOP_SHARED").map(PathBuf::from))
}

fn folder_for(chosen: Option<PathBuf>) -> PathBuf {
    chosen.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(3)
            .expect("this crate is two folders below the workspace")
            .join("shared")
    })
}

fn choice_rows(input: impl Read) -> Result<Vec<ChoiceRow>, String> {
    let mut reader = csv::Reader::from_reader(input);
    let headers = reader.headers().map_err(|e| e.to_string())?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let presented_column = column("presented").ok_or("no column `presented`")?;
    let chosen_column = column("chosen").ok_or("no column `chosen`")?;
    let count_column = column("count");

    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| e.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let presented: Vec<String> = record[presented_column].split('|').map(str::to_owned).collect();
        let chosen = Some(record[chosen_column].to_owned()).filter(|name| !name.is_empty());
        if let Some(name) = chosen.as_ref().filter(|name| !presented.contains(name)) {
            return Err(format!("line {line}: {name:?} was chosen but not presented"));
        }
        let count = count_column.map_or(Ok(1.0), |column| {
            record[column].parse().map_err(|e| format!("line {line}: count {:?}: {e}", &record[column]))
        })?;
        rows.push(ChoiceRow { presented, chosen, count });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(presented: &[&str], chosen: Option<&str>, count: f64) -> ChoiceRow {
        ChoiceRow { presented: presented.iter().map(ToString::to_string).collect(), chosen: chosen.map(ToOwned::to_owned), count }
    }

    #[test]
    fn the_folder_lies_beside_the_repository() {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let folder = folder_for(None);
        assert_eq!(folder.parent().expect("not the root").canonicalize().expect("exists"), above.canonicalize().expect("exists"));
        assert_eq!(folder.file_name().expect("has a name"), "shared");
        assert_eq!(folder_for(Some(PathBuf::new())), folder);
        assert_eq!(folder_for(Some(PathBuf::from("elsewhere"))), Path::new("elsewhere"));
    }

    #[test]
    fn columns_are_found_by_name_and_quotes_undone() {
        let text = "time,chosen,presented,count\r\n\
                    1990,\"a, b\",\"a, b|say \"\"c\"\"|d\",2.5\r\n\
                    1991,,d|e,1\r\n";
        assert_eq!(
            choice_rows(text.as_bytes()).expect("well formed"),
            [row(&["a, b", "say \"c\"", "d"], Some("a, b"), 2.5), row(&["d", "e"], None, 1.0)]
        );
    }

    #[test]
    fn a_row_counts_once_without_a_count() {
        assert_eq!(choice_rows("presented,chosen\na|b,b\n".as_bytes()).expect("well formed"), [row(&["a", "b"], Some("b"), 1.0)]);
    }

    #[test]
    fn a_malformed_file_is_refused_with_the_line() {
        for (text, message) in [
            ("presented,count\na|b,1\n", "no column `chosen`"),
            ("chosen\na\n", "no column `presented`"),
            ("presented,chosen\na|b,a\na|b,c\n", "line 3: \"c\" was chosen but not presented"),
            ("presented,chosen,count\na|b,a,often\n", "line 2: count \"often\": invalid float literal"),
        ] {
            assert_eq!(choice_rows(text.as_bytes()), Err(message.to_owned()));
        }
        assert!(choice_rows("presented,chosen\na|b\n".as_bytes()).is_err());
    }

    /// Natural logarithm of the probability of the choices if all options shown are equally likely.
    fn uniform_ln_likelihood(rows: &[ChoiceRow]) -> f64 {
        let chosen = rows.iter().filter(|row| row.chosen.is_some());
        chosen.map(|row| -row.count * (row.presented.len() as f64).ln()).sum()
    }

    #[test]
    fn choice_files_have_their_published_likelihood() {
        // U0 in the description of the files, given to four decimals.
        for (name, likelihood) in [
            ("chess_3players.csv", -60.9970),
            ("climate_icons.csv", -184.3772),
            ("management_schools.csv", -2749.7149),
            ("sf_work_commute.csv", -7309.6010),
            ("wiki_survey_gpa.csv", -3508.7110),
        ] {
            let Some(rows) = choices(name) else { return };
            let found = uniform_ln_likelihood(&rows);
            assert!((found - likelihood).abs() < 5.1e-5, "{name}: {found}");
        }
    }

    #[test]
    fn posterior_cases_are_consistent() {
        let Some(cases) = posterior_cases() else {
            return;
        };
        assert!(!cases.is_empty());
        for case in cases {
            let options = case.alpha.len();
            let near_one = |values: &[f64]| (values.iter().sum::<f64>() - 1.0).abs() < 1e-9;
            assert_eq!(case.posterior_variance.len(), options, "{}", case.name);
            assert!(near_one(&case.posterior_mean), "{}", case.name);
            assert!(near_one(&case.log_basis_map), "{}", case.name);
            for presentation in &case.presentations {
                assert_eq!(presentation.options.len(), presentation.chosen.len());
                assert!(presentation.options.iter().all(|&k| k < options));
            }
            for predictive in &case.predictive {
                assert_eq!(predictive.options.len(), predictive.probability.len());
                assert!(near_one(&predictive.probability), "{}", case.name);
            }
            assert_eq!(case.log_basis.gradient.len(), options, "{}", case.name);
            assert_eq!(case.log_basis.hessian.len(), options, "{}", case.name);
        }
    }
}
