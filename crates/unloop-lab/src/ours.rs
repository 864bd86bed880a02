//! Ours: a [`Presenter`] as a policy.

use rand_chacha::ChaCha8Rng;
use unloop::presenter::{PresenterBuilder, PresenterError, Shown};
use unloop::{OptionId, Presenter};

use crate::policy::Policy;

/// A presenter over numbered options.
pub struct Ours {
    presenter: Presenter,
    shown: Option<Shown>,
    /// Rounds after which time passes, and those left until then.
    aging: Option<(u32, u32)>,
}

/// How often time passes in a half-life: each time costs a sweep.
const TICKS: f64 = 50.0;

impl Ours {
    /// A presenter over so many options; where people may choose nothing, with a no-choice option of a weight.
    ///
    /// # Errors
    /// If the builder's settings are none.
    pub fn new(count: usize, builder: PresenterBuilder, none: Option<f64>) -> Result<Self, PresenterError> {
        let builder = builder.options((0..count).map(|k| k.to_string()));
        let builder = if let Some(alpha) = none { builder.no_choice("(none)", alpha) } else { builder };
        Ok(Self { presenter: builder.build()?, shown: None, aging: None })
    }

    /// Forgets half of what it counted in so many rounds.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn forgetting(
        count: usize,
        builder: PresenterBuilder,
        none: Option<f64>,
        half_life: f64,
    ) -> Result<Self, PresenterError> {
        let every = (half_life / TICKS).clamp(1.0, 1e9) as u32;
        Ok(Self { aging: Some((every, every)), ..Self::new(count, builder.half_life(half_life), none)? })
    }

    /// The presenter.
    pub fn presenter(&self) -> &Presenter {
        &self.presenter
    }
}

impl Policy for Ours {
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, _: &mut ChaCha8Rng) {
        shown.clear();
        let formed = self.presenter.present(size);
        // Without anything shown the round is lost, and counts.
        debug_assert!(formed.is_ok(), "invariant: there is always something to show: {formed:?}");
        self.shown = formed.ok();
        shown.extend(self.shown.iter().flat_map(|shown| &shown.options).map(|row| u32::from(row.option)));
    }

    fn choose(&mut self, _: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        let Some(shown) = self.shown.take() else { return };
        if let Some((every, left)) = &mut self.aging {
            *left -= 1;
            if *left == 0 {
                *left = *every;
                let aged = self.presenter.age(f64::from(*every));
                debug_assert!(aged.is_ok(), "invariant: an age");
            }
        }
        let outcome = match chosen {
            Some(chosen) => self.presenter.choose(&shown, OptionId::new(chosen)),
            None => self.presenter.choose_nothing(&shown),
        };
        // Nothing chosen counts for nothing where there is no option for it.
        debug_assert!(outcome.is_ok() || chosen.is_none(), "invariant: chosen from what was shown");
    }
}
