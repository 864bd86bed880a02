//! Real choice files against the figures that their README gives for checking a reader.

use std::collections::BTreeSet;

use testkit::reference;
use unloop::{Options, Statistics};
use unloop_data::{Answer, CountSettings, NoChoice, ReadSettings, Row, Rows, Source, count};

/// File, rows, presentations, options, distinct sets, rows without a choice, users, U0, U1.
type Figures = (&'static str, u64, f64, usize, usize, u64, usize, f64, f64);

const FILES: [Figures; 19] = [
    ("bean_trials_nicaragua.csv", 1_684, 1_684.0, 10, 165, 0, 842, -1_508.661_5, -2_092.291_4),
    ("cassava_tasting.csv", 2_000, 2_000.0, 13, 197, 0, 1_000, -1_791.759_5, -2_484.906_6),
    ("chess_3players.csv", 6, 88.0, 3, 3, 0, 0, -60.9970, -96.6779),
    ("climate_icons.csv", 35, 133.0, 6, 9, 0, 0, -184.3772, -214.0552),
    ("country_populations.csv", 1_960, 1_960.0, 48, 1_052, 0, 392, -2_579.066_5, -3_070.149_6),
    ("debian_leader_2007.csv", 3_204, 3_204.0, 9, 317, 0, 482, -5_316.167_9, -5_926.141_2),
    ("dublin_west_2002.csv.gz", 66_365, 128_926.0, 9, 497, 0, 10_335, -240_667.290_8, -260_367.643_0),
    ("flat_lizard_contests.csv", 100, 100.0, 77, 100, 0, 0, -69.3147, -109.8612),
    ("football_internationals_1990_2009.csv", 16_473, 16_473.0, 274, 4_718, 3_921, 0, -8_700.383_4, -18_097.440_2),
    ("journal_citations.csv", 12, 3_727.0, 4, 6, 0, 0, -2_583.359_5, -4_094.528_0),
    ("llm_battles_crowd.csv", 8_931, 8_931.0, 59, 927, 3_471, 124, -3_784.583_6, -9_811.706_4),
    ("management_schools.csv", 4_454, 4_454.0, 6, 15, 487, 303, -2_749.714_9, -4_893.219_1),
    ("nascar_2002.csv", 1_512, 1_512.0, 87, 1_511, 0, 36, -4_375.190_9, -4_486.468_5),
    ("polis_basic_income_nz.csv", 7_135, 7_135.0, 52, 52, 2_571, 233, 0.0, -4_945.605_1),
    ("ranklens_movies_dev.csv.gz", 28_524, 28_524.0, 2_520, 5_874, 614, 1_287, -88_699.482_4, -91_815.214_0),
    ("sf_work_commute.csv", 5_029, 5_029.0, 6, 12, 0, 0, -7_309.601_0, -8_384.898_5),
    ("wiki_survey_gpa.csv", 5_062, 5_062.0, 39, 605, 0, 135, -3_508.711_0, -5_561.175_4),
    ("zozo_men_bts.csv", 10_000, 10_000.0, 34, 34, 9_931, 0, 0.0, -6_931.471_8),
    ("zozo_men_random.csv", 10_000, 10_000.0, 34, 34, 9_954, 0, 0.0, -6_931.471_8),
];

/// U0: ln likelihood when all that was shown is equally likely.
fn uniform(statistics: &Statistics) -> f64 {
    -statistics.iter().map(|(members, count)| count * (members.len() as f64).ln()).sum::<f64>()
}

#[test]
fn every_file_is_read_without_a_flag_and_has_the_figures_of_its_readme() {
    for (name, rows, presentations, options, distinct, nothing, users, u0, u1) in FILES {
        let Some(path) = reference::path(&format!("data/{name}")) else { continue };
        let mut found = Options::new();
        let mut reader = Rows::new(Source::open(&path).expect("opens"), &ReadSettings::default()).expect("a form");
        let (mut row, mut row_count, mut weight, mut without) = (Row::default(), 0, 0.0, 0);
        let (mut sets, mut names) = (BTreeSet::new(), BTreeSet::new());
        while reader.read(&mut found, &mut row).expect("a good row") {
            row_count += 1;
            weight += row.count;
            without += u64::from(row.answer == Answer::Nothing);
            let mut set = row.presented.clone();
            set.sort_unstable();
            sets.insert(set);
            if !row.user.is_empty() {
                names.insert(row.user.clone());
            }
        }
        assert_eq!((row_count, weight, found.len()), (rows, presentations, options), "{name}");
        assert_eq!((sets.len(), without, names.len()), (distinct, nothing, users), "{name}");
        let counted = |none| {
            let settings = CountSettings { none, ..CountSettings::default() };
            let counted = count([Source::open(&path)], &mut Options::new(), &ReadSettings::default(), &settings).expect("read");
            assert_eq!((counted.rows, counted.nothing, counted.skipped.count), (rows, nothing, 0), "{name}");
            uniform(counted.statistics())
        };
        let (ignored, as_option) = (counted(NoChoice::Ignore), counted(NoChoice::Option));
        println!("{name}: U0 {ignored:.4} ({u0}), U1 {as_option:.4} ({u1})");
        // To the digits of the README.
        assert!((ignored - u0).abs() < 5.1e-5, "{name}: {ignored} is not {u0}");
        assert!((as_option - u1).abs() < 5.1e-5, "{name}: {as_option} is not {u1}");
    }
}
