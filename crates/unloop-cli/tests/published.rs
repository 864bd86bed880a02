//! Every file of real choices through the command line, against the figures in print or computed by other programs.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use testkit::reference;

fn file(name: &str) -> Option<PathBuf> {
    reference::path(&format!("data/{name}"))
}

fn rank(name: &str, flags: &[&str]) -> Option<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_unloop"))
        .arg("rank")
        .arg(file(name)?)
        .arg("--json")
        .args(flags)
        .output()
        .expect("the binary under test runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn row<'a>(ranking: &'a Value, option: &str) -> &'a Value {
    ranking["options"].as_array().expect("rows").iter().find(|row| row["option"] == option).expect(option)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Maximum-likelihood strengths, adding up to 1, to so many decimals.
fn assert_mle(name: &str, flags: &[&str], decimals: i32, strengths: &[(&str, f64)]) {
    let flags: Vec<&str> = flags.iter().copied().chain(["--mle", "--draws", "250"]).collect();
    let Some(ranking) = rank(name, &flags) else { return };
    for &(option, expected) in strengths {
        let found = number(&row(&ranking, option)["mle"]);
        println!("{name}, {option}: {found} ({expected})");
        assert!((found - expected).abs() < 0.51 * 10.0_f64.powi(-decimals), "{name}, {option}: {found} is not {expected}");
    }
}

#[test]
fn maximum_likelihood_strengths_are_those_in_print() {
    // The optimiser behind these two prints stopped within 10⁻⁵ of the maximum.
    assert_mle("chess_3players.csv", &[], 5, &[("Topalov", 0.403_610_84), ("Anand", 0.340_516_83), ("Karpov", 0.255_872_33)]);
    let icons =
        [("NB", 0.252_304), ("L", 0.173_644), ("PB", 0.224_582), ("THC", 0.170_113), ("OA", 0.110_686), ("WAIS", 0.068_671)];
    assert_mle("climate_icons.csv", &[], 4, &icons);
    let llm = [
        ("GPT 4", 0.041_218),
        ("Platypus-2 Instruct (70B)", 0.029_233),
        ("command", 0.028_852),
        ("ReMM SLERP L2 13B", 0.027_150),
        ("LLaMA-2-Chat (70B)", 0.026_384),
        ("Dolly v2 (3B)", 0.006_294),
        ("Vicuna-FastChat-T5 (3B)", 0.006_304),
        ("Dolly v2 (7B)", 0.006_343),
    ];
    assert_mle("llm_battles_crowd.csv", &["--none", "tie"], 6, &llm);
    let journals = [("JRSS-B", 0.439_12), ("Biometrika", 0.335_57), ("JASA", 0.207_73), ("Comm Statist", 0.017_58)];
    assert_mle("journal_citations.csv", &[], 5, &journals);
    let schools = [
        ("London", 0.396_38),
        ("Paris", 0.186_72),
        ("Barcelona", 0.124_43),
        ("St.Gallen", 0.122_85),
        ("Milano", 0.103_42),
        ("Stockholm", 0.066_20),
    ];
    assert_mle("management_schools.csv", &[], 5, &schools);
    let commute = [
        ("DriveAlone", 0.683_70),
        ("Transit", 0.097_23),
        ("Walk", 0.088_87),
        ("SharedRide(2)", 0.080_71),
        ("SharedRide(3+)", 0.025_13),
        ("Bike", 0.024_36),
    ];
    assert_mle("sf_work_commute.csv", &[], 5, &commute);
    let beans = [("INTA Sequia", 0.134_36), ("INTA Centro Sur", 0.117_93), ("BRT 103-182", 0.105_51), ("ALS 0532-6", 0.083_55)];
    assert_mle("bean_trials_nicaragua.csv", &[], 5, &beans);
    assert_mle("cassava_tasting.csv", &[], 5, &[("TMS6", 0.163_81), ("Sape", 0.121_14), ("Akpu", 0.026_81)]);
    let dublin = [("Brian Lenihan F.F.", 0.179_97), ("Joan Burton Lab", 0.163_21), ("John Thomas Smyth C.C. Csp", 0.021_75)];
    assert_mle("dublin_west_2002.csv.gz", &[], 5, &dublin);
    let gpa = [("Mother's substance abuse", 0.087_63), ("Number of books at home", 0.066_88), ("Child's IQ", 0.044_78)];
    assert_mle("wiki_survey_gpa.csv", &[], 5, &gpa);
}

/// File, means, ln evidence and its printed precision.
type Case = (&'static str, &'static [(&'static str, f64)], f64, f64);

/// Posterior means under the flat prior and evidences, computed elsewhere by quadrature or importance sampling. Means have four
/// decimals there; ours have a Monte Carlo error besides, of sd/√ess.
#[test]
fn posterior_means_and_evidence_are_those_computed_elsewhere() {
    let cases: [Case; 4] = [
        ("chess_3players.csv", &[("Topalov", 0.4004), ("Anand", 0.3400), ("Karpov", 0.2596)], -63.4126, 5e-5),
        (
            "climate_icons.csv",
            &[("NB", 0.2481), ("PB", 0.2223), ("L", 0.1737), ("THC", 0.1696), ("OA", 0.1133), ("WAIS", 0.0731)],
            -183.297,
            5e-4,
        ),
        (
            "journal_citations.csv",
            &[("JRSS-B", 0.4385), ("Biometrika", 0.3357), ("JASA", 0.2081), ("Comm Statist", 0.0177)],
            -1_633.757,
            6e-4,
        ),
        (
            "sf_work_commute.csv",
            &[("DriveAlone", 0.6827), ("Transit", 0.0973), ("Walk", 0.0892), ("SharedRide(2)", 0.0808), ("Bike", 0.0248)],
            -4_151.543,
            7e-4,
        ),
    ];
    for (name, means, ln_evidence, digits) in cases {
        let Some(ranking) = rank(name, &["--draws", "5000"]) else { continue };
        let ess = number(&ranking["ess_min"]);
        for &(option, expected) in means {
            let row = row(&ranking, option);
            let (mean, error) = (number(&row["mean"]), number(&row["sd"]) / ess.sqrt());
            println!("{name}, {option}: {mean:.4} ± {error:.1e} ({expected})");
            assert!((mean - expected).abs() < 6e-5 + 4.0 * error, "{name}, {option}: {mean} is not {expected}");
        }
        let (found, error) = (number(&ranking["ln_evidence"]), number(&ranking["ln_evidence_se"]));
        println!("{name}: ln evidence {found} ± {error:.1e} ({ln_evidence})");
        assert!((found - ln_evidence).abs() < digits + 4.0 * error, "{name}: {found} is not {ln_evidence}");
    }
}

/// P(Topalov stronger than Anand) = 0.7127 by quadrature (0.7123 in print), P(p_NB < 1/6) = 0.0144, P(NB largest) = 0.6043.
#[test]
fn posterior_probabilities_are_those_computed_elsewhere() {
    if let Some(ranking) = rank("chess_3players.csv", &["--draws", "10000", "--pairwise"]) {
        let names = ranking["pairwise"]["options"].as_array().expect("names");
        let place = |name: &str| names.iter().position(|option| option == name).expect(name);
        let p = number(&ranking["pairwise"]["p_stronger"][place("Topalov")][place("Anand")]);
        let error = (p * (1.0 - p) / number(&ranking["ess_min"])).sqrt();
        println!("P(Topalov > Anand) = {p:.4} ± {error:.4}");
        assert!((p - 0.7127).abs() < 5e-5 + 4.0 * error);
    }
    if let Some(ranking) = rank("climate_icons.csv", &["--draws", "10000"]) {
        let (p, ess) = (number(&row(&ranking, "NB")["p_best"]), number(&ranking["ess_min"]));
        println!("P(NB largest) = {p:.4}");
        assert!((p - 0.6043).abs() < 5e-5 + 4.0 * (p * (1.0 - p) / ess).sqrt());
    }
    // The part of the draws below a bound, from the draws themselves.
    let Some(path) = file("climate_icons.csv") else { return };
    let output = Command::new(env!("CARGO_BIN_EXE_unloop"))
        .args(["sample", "--draws", "10000"])
        .arg(path)
        .output()
        .expect("the binary under test runs");
    let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
    let column = reader.headers().expect("a header").iter().position(|name| name == "NB").expect("NB");
    let draws: Vec<f64> = reader.records().map(|record| record.expect("a row")[column].parse().expect("a number")).collect();
    let p = draws.iter().filter(|&&share| share < 1.0 / 6.0).count() as f64 / draws.len() as f64;
    // The tails of 40 000 draws are worth some 15 000.
    println!("P(p_NB < 1/6) = {p:.4} from {} draws", draws.len());
    assert!(draws.len() == 40_000 && (p - 0.0144).abs() < 5e-5 + 4.0 * (p * (1.0 - p) / 15_000.0).sqrt());
}

/// Hunter's drivers: with all 87 there is no maximum, and the reason names who never won.
#[test]
fn where_no_maximum_exists_the_reason_is_given_and_intervals_are_finite() {
    for (name, losers) in [("nascar_2002.csv", "Andy Hillenburg"), ("flat_lizard_contests.csv", "lizard")] {
        let Some(ranking) = rank(name, &["--mle"]) else { continue };
        let reason = ranking["mle_missing"].as_str().expect("a reason");
        println!("{name}: {reason}");
        assert!(reason.contains(losers), "{reason}");
        for row in ranking["options"].as_array().expect("rows") {
            assert!(row["mle"].is_null());
            let [mean, sd, low, high] = ["mean", "sd", "low", "high"].map(|field| number(&row[field]));
            assert!(0.0 < low && low < mean && mean < high && high < 1.0 && sd > 0.0, "{row}");
        }
        assert!(number(&ranking["rhat_max"]) < 1.02);
    }
}

/// Every file ranks without a flag: shares add up to 1, ranks are a permutation, counts are those of the rows.
#[test]
fn every_file_ranks_without_a_flag() {
    let Some(folder) = reference::path("data") else { return };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name.contains(".csv"))
        .collect();
    names.sort();
    assert!(names.len() >= 19, "{names:?}");
    for name in names {
        // The largest takes twenty seconds by itself; fewer draws show the same.
        let flags: &[&str] = if name.starts_with("ranklens") { &["--draws", "20"] } else { &[] };
        let Some(ranking) = rank(&name, flags) else { return };
        let rows = ranking["options"].as_array().expect("rows");
        let total: f64 = rows.iter().map(|row| number(&row["mean"])).sum();
        let best: f64 = rows.iter().map(|row| number(&row["p_best"])).sum();
        let chosen: f64 = rows.iter().map(|row| number(&row["chosen"])).sum();
        println!("{name}: {} options, {total} {best}", rows.len());
        assert!((total - 1.0).abs() < 1e-6 && (best - 1.0).abs() < 1e-6, "{name}: {total} {best}");
        assert!((chosen - number(&ranking["presentations"])).abs() < 1e-6, "{name}");
        assert!(rows.iter().enumerate().all(|(i, row)| row["rank"] == i + 1));
    }
}
