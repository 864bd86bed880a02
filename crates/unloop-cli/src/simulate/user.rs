//! `--user`: whom to simulate.

use std::path::Path;

use anyhow::{Context, Result};
use unloop_data::Source;
use unloop_lab::{User, numbers, replay};

use crate::failure::failure;

/// Vectors of preferences when none is given: runs go round them.
pub(super) const VECTORS: u64 = 20;

/// Preferences that are kept, all vectors together: a gigabyte and a half.
const MOST_PREFERENCES: u64 = 200_000_000;

/// People as written: `luce:sparse|dense|FILE`, `cyclic`, `table:FILE`, `replay:FILE`, with `none=…`, `seed=…`, `vectors=…` after a comma.
pub(super) fn users(text: &str, options: usize) -> Result<Vec<User>> {
    let mut parts = text.split(',');
    let kind = parts.next().unwrap_or_default();
    let (mut none, mut seed, mut vectors) = (None, 100_u64, VECTORS);
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let bad = || failure(format!("--user {text}: {part:?} is no setting"), "settings are none=0.1, seed=7 and vectors=10");
        match key {
            "none" => none = Some(value.parse::<f64>().ok().filter(|x| *x > 0.0 && x.is_finite()).ok_or_else(bad)?),
            "seed" => seed = value.parse().map_err(|_| bad())?,
            "vectors" => vectors = value.parse::<u64>().ok().filter(|&n| n > 0).ok_or_else(bad)?,
            _ => return Err(bad()),
        }
    }
    if vectors.saturating_mul(options as u64) > MOST_PREFERENCES {
        let told = format!("--user {text}: {vectors} vectors of {options} preferences are more than {MOST_PREFERENCES}");
        return Err(failure(told, "have fewer of them with vectors=…, or fewer --options"));
    }
    let dirichlet = |alpha: f64| (0..vectors).map(|i| User::dirichlet(options, alpha, seed + i)).collect();
    let mut users = match kind.split_once(':') {
        Some(("luce", "sparse")) => dirichlet(0.1),
        Some(("luce", "dense")) => dirichlet(2.0),
        Some(("luce", file)) => {
            let theta = table(file)?.into_iter().flatten().collect();
            vec![User::Luce { theta, none: None }]
        }
        Some(("table", file)) => vec![User::Table(table(file)?)],
        Some(("replay", file)) => vec![replay(Source::open(Path::new(file))?).with_context(|| file.to_owned())?.0],
        Some(("drift", kind @ ("sparse" | "dense"))) => {
            let alpha = if kind == "sparse" { 0.1 } else { 2.0 };
            (0..vectors).map(|i| drifting(options, alpha, seed + 2 * i)).collect()
        }
        None if kind == "cyclic" => vec![User::cyclic()],
        _ => {
            return Err(failure(
                format!("--user {text}: there are no such people"),
                "they are luce:sparse, luce:dense, luce:FILE, cyclic, table:FILE, replay:FILE, drift:sparse or drift:dense",
            ));
        }
    };
    for user in &mut users {
        if let Some(weight) = none {
            match user {
                User::Luce { none, .. } => *none = Some(weight),
                _ => return Err(failure(format!("--user {text}: only luce may choose nothing"), "leave out none=…")),
            }
        }
        user.check().with_context(|| format!("--user {text}"))?;
    }
    Ok(users)
}

fn drifting(options: usize, alpha: f64, seed: u64) -> User {
    let theta = |seed| match User::dirichlet(options, alpha, seed) {
        User::Luce { theta, .. } => theta,
        _ => Vec::new(),
    };
    User::Drifting { from: theta(seed), to: theta(seed + 1), rounds: 5_000 }
}

fn table(file: &str) -> Result<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{file}: cannot be read"))?;
    numbers(&text).with_context(|| file.to_owned())
}
