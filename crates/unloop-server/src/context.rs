//! A context in memory: what was counted, and a presenter that follows it.
//!
//! The presenter is made when it is first asked for, and made anew when the catalog's prior changes; options that come, go or come back are
//! told to the one that is there. Nothing of it is ever written: it can be made again from the counts at any time.

use std::sync::Arc;

use unloop::presenter::{PresenterError, Request, Shown};
use unloop::{OptionId, Options, Presentation, Presenter};
use unloop_store::{Applied, Event, Fold, Held, StoreError};

use crate::catalog::Known;

/// What is kept of a context beside its own: its place in lists, its lock.
const AROUND: usize = 400;
/// Events after which its size is looked at again.
const MEASURED_EVERY: u32 = 16;
/// Distinct presentations with which a presenter takes longer to make than an async thread should be kept.
const QUICKLY_MADE: usize = 300;

/// A context in memory.
pub(crate) struct Loaded {
    fold: Fold,
    prepared: Option<Prepared>,
    bytes: usize,
    until_measured: u32,
}

/// A presenter, and what it was made for.
struct Prepared {
    presenter: Presenter,
    known: Arc<Known>,
    /// The presenter's numbers by the fold's.
    numbers: Vec<OptionId>,
}

/// What was counted, in the fold's numbers.
struct Counted {
    members: Vec<OptionId>,
    chosen: OptionId,
    weight: f64,
    adds: bool,
}

impl Held for Loaded {
    fn new(fold: Fold) -> Self {
        let mut loaded = Self { fold, prepared: None, bytes: 0, until_measured: 0 };
        loaded.measure();
        loaded
    }

    fn apply(&mut self, event: &Event) -> Result<Applied, StoreError> {
        let mut counted = Vec::new();
        let keep = self.prepared.is_some();
        let applied = self.fold.apply_with(event, &mut |part| {
            if keep {
                let members = part.members.to_vec();
                counted.push(Counted { members, chosen: part.chosen, weight: part.weight, adds: part.adds });
            }
        })?;
        if let Some(prepared) = &mut self.prepared
            && prepared.take_in(&self.fold, &counted).is_err()
        {
            // It is made again from the counts, which are right.
            self.prepared = None;
        }
        self.until_measured = self.until_measured.saturating_sub(1);
        if self.until_measured == 0 {
            self.measure();
        }
        Ok(applied)
    }

    fn fold(&self) -> &Fold {
        &self.fold
    }

    fn fold_mut(&mut self) -> &mut Fold {
        &mut self.fold
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Loaded {
    fn measure(&mut self) {
        let presenter = |own: &Prepared| own.presenter.heap_bytes() + 4 * own.numbers.capacity();
        self.bytes = AROUND + self.fold.heap_bytes() + self.prepared.as_ref().map_or(0, presenter);
        self.until_measured = MEASURED_EVERY;
    }

    /// Presents; whoever has not chosen yet is presented to by the one that all such share.
    pub(crate) fn present(&mut self, known: &Arc<Known>, seed: u64, asked: &Asked) -> Result<Presented, PresenterError> {
        if self.fold.statistics().is_empty() {
            let mut blank = crate::lock::lock(&known.blank);
            let presenter = match &mut *blank {
                Some(presenter) => presenter,
                None => {
                    blank.insert(begin(known, &known.names, known.alpha.clone(), seed).build().map(|own| retired(own, known))?)
                }
            };
            return asked.of(presenter);
        }
        self.prepare(known, seed)?;
        match &mut self.prepared {
            Some(prepared) => asked.of(&mut prepared.presenter),
            None => Err(PresenterError::NothingEligible { active: 0 }),
        }
    }

    fn prepare(&mut self, known: &Arc<Known>, seed: u64) -> Result<(), PresenterError> {
        if let Some(prepared) = &mut self.prepared {
            if Arc::ptr_eq(&prepared.known, known) || prepared.follow(known)? {
                return Ok(());
            }
            self.prepared = None;
        }
        let distinct = self.fold.statistics().distinct();
        let prepared = aside(distinct > QUICKLY_MADE, || Prepared::new(&self.fold, known, seed))?;
        self.prepared = Some(prepared);
        self.measure();
        Ok(())
    }
}

/// Does something that may take long, where no async thread is kept by it.
pub(crate) fn aside<T>(long: bool, work: impl FnOnce() -> T) -> T {
    let several = || {
        let flavor = tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor());
        matches!(flavor, Ok(tokio::runtime::RuntimeFlavor::MultiThread))
    };
    if long && several() { tokio::task::block_in_place(work) } else { work() }
}

fn begin(known: &Known, names: &Options, alpha: Vec<f64>, seed: u64) -> unloop::presenter::PresenterBuilder {
    let builder = Presenter::builder().shared_options(names.clone(), alpha).seed(seed);
    if known.settings.no_choice { builder.no_choice(Known::none_name(), known.settings.prior) } else { builder }
}

/// With what is retired in the catalog.
fn retired(mut presenter: Presenter, known: &Known) -> Presenter {
    for own in known.options.iter().filter(|own| !own.active) {
        if let Some(option) = presenter.options().get(&own.name) {
            // It is known.
            let _ = presenter.retire(option);
        }
    }
    presenter
}

impl Prepared {
    fn new(fold: &Fold, known: &Arc<Known>, seed: u64) -> Result<Self, PresenterError> {
        let Numbering { names, alpha, numbers } = Numbering::new(fold, known)?;
        let statistics = fold.statistics().renumbered(names.len(), |option| numbers[option.index()])?;
        let presenter = begin(known, &names, alpha, seed).build_with(&statistics)?;
        let mut presenter = retired(presenter, known);
        // What was chosen and is no option of the catalog counts, and is not presented.
        for option in (known.names.len()..names.len()).map(|index| OptionId::new(index as u32)) {
            presenter.retire(option)?;
        }
        Ok(Self { presenter, known: Arc::clone(known), numbers })
    }

    /// Takes up a catalog that has changed; false where it has to be made anew.
    fn follow(&mut self, known: &Arc<Known>) -> Result<bool, PresenterError> {
        let before = &self.known;
        let (old, new) = (&before.settings, &known.settings);
        let kept = before.options.len();
        let same = old.prior == new.prior
            && old.no_choice == new.no_choice
            && known.options.len() >= kept
            && known.options[..kept].iter().zip(&before.options).all(|(x, y)| x.name == y.name && x.weight == y.weight);
        if !same {
            return Ok(false);
        }
        for (own, before) in known.options.iter().zip(before.options.iter().map(Some).chain(std::iter::repeat(None))) {
            let number = self.presenter.options().get(&own.name);
            match (before, number) {
                (Some(before), Some(_)) if own.active == before.active => {}
                (_, Some(number)) => {
                    // One that was counted before it came has the catalog's weight.
                    if before.is_none() && own.weight.is_some_and(|weight| weight != new.prior) {
                        return Ok(false);
                    }
                    if own.active { self.presenter.revive(number)? } else { self.presenter.retire(number)? }
                }
                (_, None) => {
                    let number = self.presenter.add_option(&own.name, own.weight.unwrap_or(new.prior))?;
                    if !own.active {
                        self.presenter.retire(number)?;
                    }
                }
            }
        }
        self.known = Arc::clone(known);
        Ok(true)
    }

    fn take_in(&mut self, fold: &Fold, counted: &[Counted]) -> Result<(), PresenterError> {
        for (_, name) in fold.options().iter().skip(self.numbers.len()) {
            if let Some(number) = self.presenter.options().get(name) {
                self.numbers.push(number);
                continue;
            }
            let number = self.presenter.add_option(name, self.known.settings.prior)?;
            self.presenter.retire(number)?;
            self.numbers.push(number);
        }
        for own in counted {
            let members = Presentation::new(own.members.iter().map(|member| self.numbers[member.index()]))?;
            let choice = members.choose(self.numbers[own.chosen.index()])?;
            if own.adds {
                self.presenter.record_choice(&choice, own.weight)?;
            } else {
                self.presenter.withdraw_choice(&choice, own.weight)?;
            }
        }
        Ok(())
    }
}

/// Numbers of a catalog for what was counted: its options, then those that were only ever imported.
pub(crate) struct Numbering {
    pub(crate) names: Options,
    pub(crate) alpha: Vec<f64>,
    /// By the fold's numbers.
    pub(crate) numbers: Vec<OptionId>,
}

impl Numbering {
    pub(crate) fn new(fold: &Fold, known: &Known) -> Result<Self, PresenterError> {
        let (mut names, mut alpha) = (known.names.clone(), known.alpha.clone());
        let mut numbers = Vec::with_capacity(fold.options().len());
        for (_, name) in fold.options().iter() {
            let number = names.intern(name)?;
            if number.index() == alpha.len() {
                alpha.push(known.settings.prior);
            }
            numbers.push(number);
        }
        Ok(Self { names, alpha, numbers })
    }
}

/// What is asked of a presenter, by names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) size: usize,
    pub(crate) candidates: Option<Vec<String>>,
    pub(crate) excluded: Vec<String>,
    pub(crate) pinned: Vec<String>,
    pub(crate) policy: unloop::presenter::Policy,
    pub(crate) order: unloop::presenter::Order,
}

/// Names with propensities, in order.
pub(crate) type Presented = Vec<(String, f64)>;

impl Asked {
    fn of(&self, presenter: &mut Presenter) -> Result<Presented, PresenterError> {
        let options = presenter.options();
        let known = |names: &[String]| -> Result<Vec<OptionId>, PresenterError> {
            let find = |name: &String| options.get(name).ok_or_else(|| PresenterError::Unknown { name: name.clone() });
            names.iter().map(find).collect()
        };
        let request = Request {
            size: self.size,
            candidates: self.candidates.as_deref().map(known).transpose()?,
            excluded: known(&self.excluded)?,
            pinned: known(&self.pinned)?,
            policy: Some(self.policy),
            order: Some(self.order),
            ..Request::default()
        };
        let Shown { options, .. } = presenter.present_with(&request)?;
        let name = |option| presenter.options().name(option).unwrap_or_default().to_owned();
        Ok(options.into_iter().map(|own| (name(own.option), own.propensity)).collect())
    }
}
