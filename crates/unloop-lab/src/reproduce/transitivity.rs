//! `transitivity`: an option that lost once, by chance, to a bad one.
//!
//! The paper's Figure 8a: {1, 5} was presented ten times and 1 always chosen, then {2, 5} once and 5 chosen. By transitivity option 2
//! looks worse than all; greedy presentations never find out, Thompson sampling does. Presentations of two here.

use unloop_plot::Picture;

use super::illustration::{Illustration, Way, shown_late};
use super::{Claim, Data, Figure, Plan, ReproduceError, Verdict, Work, table};
use crate::summary::Summary;

pub(super) struct Transitivity;

const GREEDY: Way = Way { aware: true, draws: false };
const THOMPSON: Way = Way { aware: true, draws: true };
const ILLUSTRATION: Illustration = Illustration {
    name: "transitivity",
    ways: &[GREEDY, THOMPSON],
    size: 2,
    history: || {
        let mut history = vec![(vec![0, 4], Some(0)); 10];
        history.push((vec![1, 4], Some(4)));
        history
    },
    stream: 10,
};
const ROUNDS: usize = 1_000;

fn runs(plan: &Plan) -> usize {
    plan.pick(20, 100)
}

impl Figure for Transitivity {
    fn name(&self) -> &'static str {
        "transitivity"
    }

    fn about(&self) -> &'static str {
        "Figure 8a: Thompson sampling finds an option that lost once by chance"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["transitivity", "transitivity-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        ILLUSTRATION.cost(runs(plan), ROUNDS)
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        ILLUSTRATION.simulate(runs(plan), ROUNDS, plan, work)
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let subtitle = "Before: {1, 5} ten times, always 1; {2, 5} once, 5";
        let picture = ILLUSTRATION.draw(table(tables, "transitivity")?, "An option that lost once, by chance", subtitle, 2)?;
        Ok(vec![("transitivity".into(), picture)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "transitivity-runs")?;
        let gain = Summary::of_differences(&shown_late(runs, GREEDY, 2)?, &shown_late(runs, THOMPSON, 2)?);
        let gain = Summary { mean: -gain.mean, low: -gain.high, high: -gain.low, ..gain };
        let claim = Claim::new(
            "transitivity",
            "transitivity-remedied",
            "Supplement, Figure 8a",
            "Thompson sampling remedies the bias that transitivity brings on a scarcely presented option",
        );
        let measure = "how much oftener option 2 is shown in the last tenth than by greedy (as a part of presentations)";
        Ok(vec![claim.measured(measure, &gain, Verdict::below(0.0, -gain.high, -gain.low))])
    }
}
