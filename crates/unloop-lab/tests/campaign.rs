//! The runner: regret by hand, the same answer on any number of threads, pairing, the paper's scenarios.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use unloop::presenter::{Policy as Forming, Request};
use unloop::{OptionId, Presenter, Statistics};
use unloop_lab::rivals::Blind;
use unloop_lab::summary::Summary;
use unloop_lab::{Campaign, Policy, PolicySpec, Run, Setting, SpecError, User, UserError, numbers};

fn campaign(users: Vec<User>, size: usize, rounds: usize, runs: usize, policies: &[&str]) -> Campaign {
    let policies = policies.iter().map(|text| text.parse().expect("a policy")).collect();
    Campaign { users, size, rounds, runs, policies, seed: 5, marks: vec![rounds / 2, rounds] }
}

fn play(campaign: &Campaign, threads: usize) -> Vec<Vec<Run>> {
    let done = AtomicUsize::new(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let runs = pool.install(|| campaign.run(&done)).expect("runs");
    assert_eq!(done.load(Ordering::Relaxed), campaign.runs * campaign.policies.len());
    runs
}

fn without_time(mut runs: Vec<Vec<Run>>) -> Vec<Vec<Run>> {
    runs.iter_mut().flatten().for_each(|run| run.seconds = 0.0);
    runs
}

/// All policies with all kinds of people: the same on one thread and on two.
#[test]
fn threads_do_not_matter() {
    let ours = [
        "thompson",
        "thompson:order=draw,prior=0.3",
        "anchored:learn=yes",
        "greedy",
        "uniform",
        "self-sparring",
        "toprank",
        "blind",
    ];
    let duels = ["dts", "dts+", "wsw", "thompson:sampler=smc,particles=50", "thompson:sampler=exact", "thompson:budget=full"];
    let none = match User::dirichlet(8, 0.5, 1) {
        User::Luce { theta, .. } => User::Luce { theta, none: Some(0.2) },
        _ => unreachable!("Luce's rule"),
    };
    let drifting = User::Drifting { from: vec![1.0, 2.0, 3.0], to: vec![3.0, 2.0, 1.0], rounds: 50 };
    let rankings = User::Rankings {
        rows: vec![vec![0, 1, 2], vec![2, 0], vec![1]],
        counts: vec![1.0, 2.0, 3.0],
        theta: vec![0.4, 0.3, 0.3],
    };
    for campaign in [
        campaign(vec![User::dirichlet(8, 0.5, 1), User::dirichlet(8, 0.5, 2)], 3, 120, 4, &ours),
        campaign(vec![User::cyclic()], 2, 120, 3, &duels),
        campaign(vec![none], 3, 120, 3, &["thompson", "aoa-rb:x=0.5", "mnl-ts:factor=0.1", "anchored"]),
        campaign(vec![drifting], 2, 120, 3, &["thompson", "wsw"]),
        campaign(vec![rankings], 2, 120, 3, &["thompson", "uniform"]),
    ] {
        let one = without_time(play(&campaign, 1));
        assert_eq!(one, without_time(play(&campaign, 2)));
        for run in one.iter().flatten() {
            let regret = &run.regret;
            assert!(regret.weak >= 0.0 && regret.weak <= regret.average + 1e-9 && regret.average <= regret.strong + 1e-9);
            assert_eq!(run.marks.len(), 2);
            assert_eq!(run.marks[1], run.regret);
        }
    }
}

/// Everybody is shown: no weak regret; the strong one and the average are those of the worst and of all.
#[test]
fn regret_by_hand() {
    let user = User::Luce { theta: vec![6.0, 3.0, 1.0], none: None };
    let runs = play(&campaign(vec![user], 3, 10, 2, &["uniform:order=shuffled"]), 1);
    // q = 0, 6/9 − ½, 6/7 − ½.
    let (second, third) = (6.0 / 9.0 - 0.5, 6.0 / 7.0 - 0.5);
    for run in &runs[0] {
        assert_eq!((run.regret.weak, run.regret.weak_binary, run.distinct), (0.0, 0.0, 1));
        assert!((run.regret.strong - 10.0 * third).abs() < 1e-12);
        assert!((run.regret.average - 10.0 * (second + third) / 3.0).abs() < 1e-12);
        assert!(run.regret.top[2].abs() < 1e-12 && run.regret.top[0] > 0.0 && run.exposure == [10, 10, 10]);
    }
    // One shown of two, the worse or the better by chance: half the gap, in all kinds of regret.
    let user = User::Luce { theta: vec![3.0, 1.0], none: None };
    let runs = play(&campaign(vec![user], 1, 4_000, 4, &["uniform"]), 2);
    let mean = Summary::new(&runs[0].iter().map(|run| run.regret.weak / 4_000.0).collect::<Vec<_>>());
    assert!((mean.mean - 0.125).abs() < 0.01, "{mean:?}");
    let top = Summary::new(&runs[0].iter().map(|run| run.regret.top[0] / 4_000.0).collect::<Vec<_>>());
    assert!((top.mean - 0.25).abs() < 0.02, "{top:?}");
}

/// A policy that cannot play says so before anything is played.
#[test]
fn policies_that_cannot_play_are_refused() {
    let refused = |policy: &str, size: usize| {
        campaign(vec![User::dirichlet(5, 1.0, 1)], size, 10, 1, &[policy]).run(&AtomicUsize::new(0)).expect_err("refused")
    };
    assert!(matches!(refused("dts", 3), SpecError::Duels { .. }));
    assert!(matches!(refused("wsw", 5), SpecError::Duels { .. }));
    assert!(matches!(refused("mnl-ts", 3), SpecError::NeedsNone { .. }));
    assert!(matches!(refused("aoa-rb:x=1", 3), SpecError::NeedsNone { .. }));
    let text = |text: &str| text.parse::<PolicySpec>().expect_err("no policy").to_string();
    assert!(text("tompson").starts_with("there is no policy \"tompson\": thompson, anchored"));
    assert_eq!(text("toprank:detla=1"), "toprank has no setting \"detla\"; it has delta");
    assert_eq!(text("toprank:delta=2"), "toprank: delta=2: it must be a number above 0 and below 1");
    assert_eq!(text("thompson:order=best"), "thompson: order=best: it must be mean, draw or shuffled");
    assert_eq!(text("wsw:x=1"), "wsw has no setting \"x\"; it has none");
    let bad = User::Table(vec![vec![0.5, 0.7], vec![0.4, 0.5]]);
    assert!(matches!(bad.check(), Err(UserError::Table { row: 1, column: 2, .. })));
    assert!(User::cyclic().check().is_ok());
    assert!(User::Luce { theta: vec![1.0, 0.0], none: None }.check().is_err());
}

/// Luce's people choose in proportion to their preferences, those of a table by it, those with rankings what they rank highest.
#[test]
fn people_choose_as_they_should() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut count = |user: &User, shown: &[u32]| {
        let mut counts = vec![0_u64; user.option_count() + 1];
        for _ in 0..20_000 {
            counts[user.choose(shown, 0, &mut rng).map_or(user.option_count(), |k| k as usize)] += 1;
        }
        counts
    };
    let luce = User::Luce { theta: vec![4.0, 2.0, 1.0, 9.0], none: Some(3.0) };
    let counts = count(&luce, &[0, 1, 2]);
    testkit::chi_square::counts(&counts, &[0.4, 0.2, 0.1, 0.0, 0.3], 1e-4).assert_passes("Luce");
    let counts = count(&User::cyclic(), &[3, 1]);
    testkit::chi_square::counts(&counts, &[0.0, 0.1, 0.0, 0.9, 0.0], 1e-4).assert_passes("a table");
    // Of three certain duels each wins as many of the others: not half of itself as well.
    let certain = User::Table(vec![vec![0.5, 1.0, 1.0], vec![0.0, 0.5, 1.0], vec![0.0, 0.0, 0.5]]);
    let counts = count(&certain, &[0, 1, 2]);
    testkit::chi_square::counts(&counts, &[2.0 / 3.0, 1.0 / 3.0, 0.0, 0.0], 1e-4).assert_passes("a table of three");
    // One ranks like the first, three like the second.
    let rankings = User::Rankings { rows: vec![vec![2, 0], vec![1]], counts: vec![1.0, 4.0], theta: vec![1.0; 3] };
    let counts = count(&rankings, &[0, 2]);
    testkit::chi_square::counts(&counts, &[0.0, 0.0, 0.25, 0.75], 1e-4).assert_passes("rankings");
    // Half way preferences are the geometric mean; there and back.
    let drifting = User::Drifting { from: vec![1.0, 4.0], to: vec![4.0, 1.0], rounds: 10 };
    let share = |round: usize| drifting.truth(round).theta.expect("preferences")[0];
    assert!((share(0) - 0.2).abs() < 1e-12 && (share(5) - 0.5).abs() < 1e-12 && (share(10) - 0.8).abs() < 1e-12);
    assert!((share(20) - 0.2).abs() < 1e-12);
}

/// People who are none are refused, and files that are none.
#[test]
fn people_are_checked() {
    let luce = |theta: &[f64]| User::Luce { theta: theta.to_vec(), none: None }.check();
    assert!(matches!(luce(&[1e308, 1e308, 1.0]), Err(UserError::Sum { .. })));
    assert!(matches!(luce(&[1.0, 0.0]), Err(UserError::Preference { place: 2, .. })));
    let circle = vec![vec![0.5, 0.9, 0.1], vec![0.1, 0.5, 0.9], vec![0.9, 0.1, 0.5]];
    assert_eq!(User::Table(circle).check(), Err(UserError::NoWinner));
    assert_eq!(User::cyclic().check(), Ok(()));
    assert_eq!(numbers("\u{feff}0.7\n0.2\n").unwrap(), [[0.7], [0.2]]);
    assert_eq!(numbers("theta\n0.2\n").unwrap(), [[0.2]]);
    assert!(numbers("O.7\n0.2\n").is_err() && numbers("0.7\nx\n").is_err());
}

/// Settings without effect and policies beyond their means are refused.
#[test]
fn policies_are_checked() {
    for text in ["thompson:particles=5", "thompson:sampler=smc,learn=yes", "thompson:sampler=exact,budget=3"] {
        assert!(matches!(text.parse::<PolicySpec>(), Err(SpecError::Idle { .. })), "{text}");
    }
    let many = Setting { options: 100_000, size: 2, rounds: 1, may_decline: true };
    for text in ["dts", "toprank", "aoa-rb"] {
        assert!(matches!(text.parse::<PolicySpec>().unwrap().check(&many), Err(SpecError::Pairs { .. })), "{text}");
    }
    assert_eq!("thompson".parse::<PolicySpec>().unwrap().check(&many), Ok(()));
}

/// The promotion of the paper's supplement: inferior options were shown a hundred times first. The presenter finds its way out: within
/// 1 000 rounds the best option is in nearly all presentations; the exposure-blind counter never gets there.
#[test]
fn promotion_is_escaped() {
    let theta = [0.4, 0.3, 0.15, 0.1, 0.05];
    let runs = 30;
    let (mut ours, mut blind) = (Vec::new(), Vec::new());
    for run in 0..runs {
        let user = User::Luce { theta: theta.to_vec(), none: None };
        let mut people = ChaCha8Rng::seed_from_u64(run);
        let mut promoted = Statistics::new(5);
        let mut counter = Blind::new(5, 1.0);
        let mut rng = ChaCha8Rng::seed_from_u64(1_000 + run);
        for round in 0..100 {
            let chosen = user.choose(&[2, 3, 4], round, &mut people).expect("a choice");
            promoted.record([2, 3, 4].map(OptionId::new), OptionId::new(chosen), 1.0).expect("counts");
            counter.choose(&[2, 3, 4], Some(chosen), &mut rng);
        }
        let mut presenter = Presenter::builder().options((0..5).map(|k| k.to_string())).seed(run).build().expect("a presenter");
        presenter.merge(&promoted).expect("counts");
        let (mut seen, mut seen_by_blind) = (0.0, 0.0);
        let mut shown_by_blind = Vec::new();
        for round in 0..1_000 {
            let shown = presenter.present(3).expect("options");
            let options: Vec<u32> = shown.options.iter().map(|row| u32::from(row.option)).collect();
            let chosen = user.choose(&options, round, &mut people).expect("a choice");
            presenter.choose(&shown, OptionId::new(chosen)).expect("presented");
            counter.present(3, &mut shown_by_blind, &mut rng);
            let chosen = user.choose(&shown_by_blind, round, &mut people).expect("a choice");
            counter.choose(&shown_by_blind, Some(chosen), &mut rng);
            if round >= 900 {
                seen += f64::from(u8::from(options.contains(&0))) / 100.0;
                seen_by_blind += f64::from(u8::from(shown_by_blind.contains(&0))) / 100.0;
            }
        }
        ours.push(seen);
        blind.push(seen_by_blind);
    }
    let (ours, blind) = (Summary::new(&ours), Summary::new(&blind));
    println!("{ours:?}\n{blind:?}");
    assert!(ours.mean >= 0.95, "{ours:?}");
    assert!(blind.mean < 0.7, "{blind:?}");
}

/// An option never shown keeps its chance under ours after any history; the same history starves it under the blind counter.
#[test]
fn the_unshown_keep_their_chance() {
    let mut history = Statistics::new(10);
    let mut counter = Blind::new(10, 1.0);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for i in 0..400_u32 {
        let set = [i % 4, (i + 1) % 4];
        history.record(set.map(OptionId::new), OptionId::new(set[0]), 1.0).expect("counts");
        counter.choose(&set, Some(set[0]), &mut rng);
    }
    let mut presenter = Presenter::builder().options((0..10).map(|k| k.to_string())).seed(1).build().expect("a presenter");
    presenter.merge(&history).expect("counts");
    let request = Request { size: 2, policy: Some(Forming::Thompson), ..Request::default() };
    let (mut ours, mut blind) = (0.0, 0.0);
    let mut shown = Vec::new();
    for _ in 0..5_000 {
        let own = presenter.present_with(&request).expect("options");
        ours += own.options.iter().filter(|row| row.option.index() >= 4).count() as f64 / 10_000.0;
        counter.present(2, &mut shown, &mut rng);
        blind += shown.iter().filter(|&&k| k >= 4).count() as f64 / 10_000.0;
    }
    println!("{ours} {blind}");
    // The four are alike and share their mass; six of ten options never shown have more than half of the places.
    assert!(ours > 0.4, "{ours}");
    assert!(blind < 1e-3, "{blind}");
}
