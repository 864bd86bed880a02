//! How particles follow the choices, and what a choice did to them.

use crate::option::OptionId;
use crate::sampler::{Resampling, SamplerError};

/// Particles at most.
const MAX_PARTICLES: usize = 1 << 24;

/// How many times particles are moved after resampling.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Moves {
    /// Always as often.
    Fixed(usize),
    /// Until ln of the watched option's share (of the worst one, if none is watched or it has no data) has at most this correlation with its value
    /// before, and at most so many times.
    Adaptive {
        /// The correlation over the particles.
        correlation: f64,
        /// Moves at most.
        most: usize,
        /// Whose share.
        watched: Option<OptionId>,
    },
}

/// How particles follow the choices.
#[derive(Clone, Debug, PartialEq)]
pub struct SmcSettings {
    /// Particles; rounded up to a multiple of 4, and of 4·`chain` in the waste-free variant. 1 000 by default.
    pub particles: usize,
    /// Resample below this part of effective particles. ½ by default.
    pub threshold: f64,
    /// How offspring are drawn. Systematic by default.
    pub resampling: Resampling,
    /// Moves after resampling. One by default.
    pub moves: Moves,
    /// Waste-free (Dau & Chopin 2022): resample only one in so many particles, and keep every state on its way as a particle. 1 by
    /// default: keep the last states only.
    pub chain: usize,
    /// Carry every option in every particle from the beginning, as the paper does. Not by default.
    pub carry_all: bool,
    /// Take a choice in parts where it would leave fewer than a tenth of the threshold's effective particles. By default.
    pub in_parts: bool,
    /// Seed of every random number.
    pub seed: u64,
}

impl Default for SmcSettings {
    fn default() -> Self {
        Self {
            particles: 1_000,
            threshold: 0.5,
            resampling: Resampling::Systematic,
            moves: Moves::Fixed(1),
            chain: 1,
            carry_all: false,
            in_parts: true,
            seed: 0,
        }
    }
}

impl SmcSettings {
    /// The paper's: 10 000 particles that carry every option, multinomial resampling below half of them, one sweep. With
    /// [`Smc::paper`](super::Smc::paper) the kernel is the paper's too.
    pub fn paper() -> Self {
        Self { particles: 10_000, resampling: Resampling::Multinomial, carry_all: true, in_parts: false, ..Self::default() }
    }
}

/// What a choice did to the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmcStep {
    /// Effective particles after the weights moved, before resampling.
    pub ess: f64,
    /// ln of the estimated probability of the choice given those before; none after counts went down.
    pub ln_increment: Option<f64>,
    /// How particles were resampled and moved, if they were.
    pub moved: Option<Moved>,
}

/// How particles were resampled and moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// How often particles were resampled: more than once if the choice was taken in parts.
    pub resampled: usize,
    /// Moves of each particle, over all of these.
    pub moves: usize,
    /// Part of the proposals that were accepted, on average.
    pub acceptance: f64,
    /// Of the watched share with its value before the last moves; only if the number of moves adapts.
    pub correlation: Option<f64>,
}

impl Moved {
    /// This and what came after it.
    pub(super) fn and(self, next: Self) -> Self {
        let moves = self.moves + next.moves;
        let sum = self.acceptance * self.moves as f64 + next.acceptance * next.moves as f64;
        let acceptance = if moves == 0 { 1.0 } else { sum / moves as f64 };
        Self { resampled: self.resampled + next.resampled, moves, acceptance, correlation: next.correlation }
    }
}

pub(super) fn check(settings: &SmcSettings) -> Result<(), SamplerError> {
    let bad = |what: &'static str, value: f64, needed: &'static str| Err(SamplerError::Setting { what, value, needed });
    if !(2..=MAX_PARTICLES).contains(&settings.particles) {
        return bad("particles", settings.particles as f64, "from 2 to 16 777 216");
    }
    if !(settings.threshold >= 0.0 && settings.threshold <= 1.0) {
        return bad("threshold", settings.threshold, "from 0 to 1");
    }
    if !(1..=settings.particles).contains(&settings.chain) {
        return bad("chain", settings.chain as f64, "from 1 to the number of particles");
    }
    if let Moves::Adaptive { correlation, most, .. } = settings.moves {
        if most == 0 {
            return bad("most", 0.0, "at least 1");
        }
        if !(correlation > 0.0 && correlation <= 1.0) {
            return bad("correlation", correlation, "above 0 and at most 1");
        }
        if settings.chain > 1 {
            return bad(
                "chain",
                settings.chain as f64,
                "1 where the number of moves adapts: every state on a chain's way is kept",
            );
        }
    }
    Ok(())
}
