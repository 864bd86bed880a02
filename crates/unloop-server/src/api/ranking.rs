//! What is believed: the leaderboard, and chances of choices.

use std::time::{Duration, Instant};

use axum::Json as Reply;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use unloop::sampler::SampleSettings;
use unloop::{IntegralSettings, OptionId, Posterior, Presentation};
use utoipa::{IntoParams, ToSchema};

use super::{context_of, limit_of, number_of};
use crate::access::{Access, Scope};
use crate::beside::compute;
use crate::body::{Json, Path, Query};
use crate::now;
use crate::problem::{Kind, Problem, Sent};
use crate::rankings::{MOST_VISITS, NoneRow, RankingRow, TOP};
use crate::service::Shared;
use crate::standing::{Standing, internal};

/// Sets of one request at most, and options of a set.
const MOST_SETS: usize = 100;
const MOST_MEMBERS: usize = 1_000;
/// Points of a grid that somebody waits for, and the time in which all sets may be exact.
const GRID: usize = 200_000;
const EXACT_FOR: Duration = Duration::from_secs(1);
/// Probability of the intervals.
const LEVEL: f64 = 0.9;

/// Of whom, and which rows.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RankingAsked {
    /// Whose; `all` or none is everybody's.
    #[param(min_length = 1, max_length = 128)]
    context: Option<String>,
    /// n of `p_top`, the chance to be among the best n; 5 by default.
    #[param(minimum = 1, maximum = 1000)]
    top: Option<usize>,
    /// Rows at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// What `next` of the page before said.
    cursor: Option<String>,
    /// A position that has to be taken into account: what another server acknowledged.
    at_least: Option<u64>,
}

/// A leaderboard.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RankingSent {
    /// Active options, by mean share.
    rows: Vec<RankingRow>,
    /// The `cursor` of the next page; null where there is none.
    next: Option<String>,
    /// Choosing nothing, where that is an option.
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<NoneRow>,
    /// Everything up to this position of the log is in it.
    seq: u64,
    /// How old it is, in seconds.
    age: f64,
    /// n of `p_top`.
    top: usize,
    /// Presentations that were answered.
    presentations: f64,
    /// How many different ones.
    distinct: usize,
    /// Groups of options that no presentation links: between them only the prior speaks.
    components: usize,
    /// Posterior draws that it rests on.
    draws: usize,
    /// Largest R̂ of the draws; null where they are independent.
    rhat_max: Option<f64>,
    /// Smallest effective number of draws.
    ess_min: Option<f64>,
}

/// The leaderboard of a context, or of all. Of a big one it may be some seconds old: `seq` and `age` say so.
#[utoipa::path(get, path = "/v1/catalogs/{catalog}/ranking", tag = "beliefs", params(("catalog" = String, Path), RankingAsked), responses(
    (status = 200, body = RankingSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn get(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Query(asked): Query<RankingAsked>,
) -> Result<Reply<RankingSent>, Problem> {
    let known = access.catalog(&service, Scope::Read, &name)?;
    let (limit, start) = (limit_of(asked.limit)?, number_of(asked.cursor.as_deref())?);
    let top = asked.top.unwrap_or(TOP);
    if !(1..=1_000).contains(&top) {
        return Err(Problem::invalid("top", "it is 1 to 1000"));
    }
    let context = context_of(asked.context)?;
    service.at_least(asked.at_least).await?;
    let (ranked, seq) = service.ranking(&known, context.as_deref(), top, asked.at_least.unwrap_or(0)).await?;
    let rows: Vec<RankingRow> = ranked.rows.iter().skip(start).take(limit).cloned().collect();
    let end = start.saturating_add(rows.len());
    let finite = |value: f64| value.is_finite().then_some(value);
    Ok(Reply(RankingSent {
        next: (end < ranked.rows.len() && !rows.is_empty()).then(|| end.to_string()),
        rows,
        none: ranked.none.clone(),
        seq,
        age: (now() - ranked.computed).max(0) as f64 / 1e3,
        top,
        presentations: ranked.presentations,
        distinct: ranked.distinct,
        components: ranked.components,
        draws: ranked.draws,
        rhat_max: finite(ranked.rhat_max),
        ess_min: finite(ranked.ess_min),
    }))
}

/// Sets to predict choices from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PredictionsAsked {
    /// Whose; `all` or none is everybody's.
    #[schema(min_length = 1, max_length = 128)]
    context: Option<String>,
    /// The sets. The no-choice option is in each, where the catalog has one.
    #[schema(max_items = 100, example = json!([["soup", "curry"]]))]
    presented: Vec<Vec<String>>,
    /// A position that has to be taken into account.
    at_least: Option<u64>,
}

/// Chances of choices.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PredictionsSent {
    /// For each set in order.
    rows: Vec<PredictionRow>,
    /// Everything up to this position of the log is in it.
    seq: u64,
    /// Probability of the intervals.
    level: f64,
}

/// Chances in one set.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PredictionRow {
    /// The likeliest first.
    options: Vec<Chance>,
    /// Choosing nothing, where that is an option.
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<Chance>,
}

/// A chance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Chance {
    /// The option; none for choosing nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<String>,
    /// The probability that it is chosen.
    probability: f64,
    /// Lower end of the interval of what that probability may truly be.
    low: f64,
    /// Upper end.
    high: f64,
}

/// Predicts what is chosen from given sets; they need never have been presented.
#[utoipa::path(post, path = "/v1/catalogs/{catalog}/predictions", tag = "beliefs", params(("catalog" = String, Path)), request_body = PredictionsAsked, responses(
    (status = 200, body = PredictionsSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn predict(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Json(asked): Json<PredictionsAsked>,
) -> Result<Reply<PredictionsSent>, Problem> {
    let known = access.catalog(&service, Scope::Read, &name)?;
    if asked.presented.len() > MOST_SETS {
        return Err(Problem::invalid("presented", format!("at most {MOST_SETS} sets")));
    }
    let context = context_of(asked.context)?;
    service.at_least(asked.at_least).await?;
    // It may take as long as a ranking, and waits for its turn like one.
    let (at, standing) = service.standing(&known, context.as_deref()).await?;
    let turn = service.rankings.turn(standing.as_ref().map_or(0, |own| own.statistics.distinct())).await;
    let sets = asked.presented;
    let no_choice = known.settings.no_choice;
    let rows = compute(move || {
        let _turn = turn;
        predictions(standing, &sets, no_choice)
    });
    let rows = rows.await.flatten()?;
    Ok(Reply(PredictionsSent { rows, seq: at.seq, level: LEVEL }))
}

fn predictions(standing: Option<Standing>, sets: &[Vec<String>], no_choice: bool) -> Result<Vec<PredictionRow>, Problem> {
    let Some(standing) = standing else {
        return match sets {
            [] => Ok(Vec::new()),
            _ => Err(Problem::new(Kind::NothingEligible, "the catalog has no options")),
        };
    };
    let sets =
        sets.iter().enumerate().map(|(i, names)| members(&standing, i, names, no_choice)).collect::<Result<Vec<_>, _>>()?;
    let posterior = Posterior::new(&standing.prior, &standing.statistics).map_err(|error| internal(&error))?;
    let settings = SampleSettings { visits: Some(MOST_VISITS), ..SampleSettings::default() };
    let sample = posterior.sample(&settings).map_err(|error| internal(&error))?;
    let (start, integrals) = (Instant::now(), IntegralSettings { grid: GRID, ..IntegralSettings::default() });
    let row = |set: &Presentation| {
        // Where only a large grid would be exact, draws do: somebody waits.
        let exact = match start.elapsed() {
            time if time > EXACT_FOR => None,
            _ => posterior.predict_exactly_with(set, &integrals).map_err(|error| internal(&error))?,
        };
        let intervals = sample.draws.choice_intervals(set, LEVEL).ok_or_else(|| internal(&"an option is unknown"))?;
        let means = exact.map_or_else(|| intervals.iter().map(|own| own.mean).collect(), |exact| exact.probabilities);
        let (mut options, mut none) = (Vec::new(), None);
        for ((&option, probability), own) in set.members().iter().zip(means).zip(&intervals) {
            let chance = |option| Chance { option, probability, low: own.low, high: own.high };
            if Some(option) == standing.none {
                none = Some(chance(None));
            } else {
                options.push(chance(standing.names.name(option).map(str::to_owned)));
            }
        }
        options.sort_by(|x, y| y.probability.total_cmp(&x.probability));
        Ok(PredictionRow { options, none })
    };
    sets.iter().map(row).collect()
}

fn members(standing: &Standing, place: usize, names: &[String], no_choice: bool) -> Result<Presentation, Problem> {
    let refuse = |detail: String| Problem::invalid(format!("presented[{place}]"), detail);
    if names.is_empty() || names.len() > MOST_MEMBERS {
        return Err(refuse(format!("a set has 1 to {MOST_MEMBERS} options")));
    }
    let find = |name: &String| {
        let found = standing.names.get(name).filter(|&option| Some(option) != standing.none);
        found.ok_or_else(|| refuse(format!("the catalog has no option {name:?}, or it is retired and was never shown")))
    };
    let mut ids = names.iter().map(find).collect::<Result<Vec<OptionId>, Problem>>()?;
    ids.extend(standing.none.filter(|_| no_choice));
    Presentation::new(ids).map_err(|_| refuse("an option is there twice".into()))
}
