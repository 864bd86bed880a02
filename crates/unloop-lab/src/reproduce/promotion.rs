//! `promotion`: three inferior options were promoted before.
//!
//! The paper's Figure 8b: {3, 4, 5} was presented a hundred times, choices simulated. Under Dirichlet-Luce options 1 and 2 are as
//! they were, get presented, and win; under the Dirichlet-Multinomial, which forgets what was presented, they never come up.
//! Greedy and Thompson sampling, presentations of three.

use unloop_plot::Picture;

use super::illustration::{Illustration, Way, shown_late};
use super::{Claim, Data, Figure, Plan, ReproduceError, Verdict, Work, table};
use crate::summary::Summary;

pub(super) struct Promotion;

const ILLUSTRATION: Illustration = Illustration {
    name: "promotion",
    ways: &[
        Way { aware: true, draws: false },
        Way { aware: true, draws: true },
        Way { aware: false, draws: false },
        Way { aware: false, draws: true },
    ],
    size: 3,
    history: || vec![(vec![2, 3, 4], None); 100],
    stream: 20,
};
const ROUNDS: usize = 1_000;
/// Part of late presentations that must hold the best option.
const ESCAPED: f64 = 0.95;

fn runs(plan: &Plan) -> usize {
    plan.pick(20, 100)
}

impl Figure for Promotion {
    fn name(&self) -> &'static str {
        "promotion"
    }

    fn about(&self) -> &'static str {
        "Figure 8b: inferior options were promoted before"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["promotion", "promotion-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        ILLUSTRATION.cost(runs(plan), ROUNDS)
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        ILLUSTRATION.simulate(runs(plan), ROUNDS, plan, work)
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let subtitle = "Before: {3, 4, 5} was presented a hundred times";
        let picture = ILLUSTRATION.draw(table(tables, "promotion")?, "Inferior options were promoted", subtitle, 2)?;
        Ok(vec![("promotion".into(), picture)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "promotion-runs")?;
        let shown = |aware| shown_late(runs, Way { aware, draws: true }, 1).map(|parts| Summary::new(&parts));
        let (aware, blind) = (shown(true)?, shown(false)?);
        let claim = |id, words| Claim::new("promotion", id, "Supplement, Figure 8b", words);
        Ok(vec![
            claim("promotion-escaped", "Dirichlet-Luce is resilient to an initial promotion of inferior options").measured(
                "part of the last tenth of presentations with the best option (at least 0.95)",
                &aware,
                Verdict::below(-ESCAPED, -aware.high, -aware.low),
            ),
            claim("promotion-loop", "The Dirichlet-Multinomial fails there").measured(
                "the same, presentations forgotten (at most a half)",
                &blind,
                Verdict::below(0.5, blind.low, blind.high),
            ),
        ])
    }
}
