//! A context in memory: what was counted, and a presenter that follows it.
//!
//! The presenter is made when it is first asked for, and made anew when the catalog's prior changes; options that come, go or come back are
//! told to the one that is there. Nothing of it is ever written: it can be made again from the counts at any time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use unloop::presenter::{PresenterError, Request, Shown};
use unloop::{OptionId, Options, Presentation, Presenter};
use unloop_store::{Applied, Event, Fold, Held, StoreError};

use crate::catalog::Known;
use crate::problem::Problem;
use crate::service::Service;
use crate::standing::internal;

/// What is kept of a context beside its own: its place in lists, its lock.
const AROUND: usize = 400;
/// Events after which its size is looked at again.
const MEASURED_EVERY: u32 = 16;
/// Distinct presentations with which a presenter takes longer to make than an async thread, or others from the context, should be kept.
const QUICKLY_MADE: usize = 300;
/// How often one looks whether a presenter was made that somebody else makes.
const SOON: Duration = Duration::from_millis(5);
/// Choices that may come while one is made: with more it is made again.
const MOST_MISSED: usize = 1 << 16;
/// So long after somebody began to make one, they have gone away.
const GIVEN_UP: Duration = Duration::from_mins(1);

/// A context in memory.
pub(crate) struct Loaded {
    fold: Fold,
    prepared: Option<Prepared>,
    /// Somebody makes a presenter of what was counted before: what was since.
    making: Option<Making>,
    bytes: usize,
    until_measured: u32,
}

/// A presenter that is being made, without keeping others from the context: of a million presentations that takes seconds.
struct Making {
    began: Instant,
    missed: Vec<Counted>,
}

/// Whether a context can present.
enum Readiness {
    Ready,
    /// Somebody has to make a presenter of these counts first.
    ToBeMade(Box<Fold>),
    /// Somebody does.
    BeingMade,
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
        let mut loaded = Self { fold, prepared: None, making: None, bytes: 0, until_measured: 0 };
        loaded.measure();
        loaded
    }

    fn apply(&mut self, event: &Event) -> Result<Applied, StoreError> {
        let mut counted = Vec::new();
        let keep = self.prepared.is_some() || self.making.is_some();
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
        if let Some(making) = &mut self.making {
            making.missed.append(&mut counted);
            if making.missed.len() > MOST_MISSED {
                self.making = None;
            }
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

    /// Whether it can present at once, or a presenter has to be made first and that takes long.
    fn readiness(&mut self, known: &Arc<Known>) -> Readiness {
        if self.fold.statistics().distinct() <= QUICKLY_MADE || self.is_prepared(known) {
            return Readiness::Ready;
        }
        if self.making.as_ref().is_some_and(|making| making.began.elapsed() < GIVEN_UP) {
            return Readiness::BeingMade;
        }
        self.prepared = None;
        self.making = Some(Making { began: Instant::now(), missed: Vec::new() });
        Readiness::ToBeMade(Box::new(self.fold.clone()))
    }

    /// Takes a presenter that was made of counts as they were when somebody was told to.
    fn install(&mut self, made: Result<Prepared, PresenterError>) -> Result<(), PresenterError> {
        // None where too much came meanwhile: then it is made again.
        let Some(Making { missed, .. }) = self.making.take() else { return Ok(()) };
        let mut prepared = made?;
        prepared.take_in(&self.fold, &missed)?;
        self.prepared = Some(prepared);
        self.measure();
        Ok(())
    }

    /// Whether there is a presenter for a catalog as it is, or one that can take it up.
    fn is_prepared(&mut self, known: &Arc<Known>) -> bool {
        let Some(prepared) = &mut self.prepared else { return false };
        Arc::ptr_eq(&prepared.known, known) || prepared.follow(known).unwrap_or(false)
    }

    fn prepare(&mut self, known: &Arc<Known>, seed: u64) -> Result<(), PresenterError> {
        if !self.is_prepared(known) {
            self.prepared = None;
            self.prepared = Some(Prepared::new(&self.fold, known, seed)?);
            self.measure();
        }
        Ok(())
    }
}

impl Service {
    /// Does something with a context that can present. Of many presentations a presenter takes long to make: that is done without keeping others, and
    /// choices, from the context.
    pub(crate) async fn presenting<R>(
        &self,
        known: &Arc<Known>,
        context: Option<&str>,
        work: impl Fn(&mut Loaded) -> R,
    ) -> Result<R, Problem> {
        loop {
            let look = |loaded: &mut Loaded| match loaded.readiness(known) {
                Readiness::Ready => Ok(work(loaded)),
                other => Err(other),
            };
            match self.contexts.with(known.id, context, look).await.map_err(|error| self.failed(error))? {
                Ok(done) => return Ok(done),
                Err(Readiness::ToBeMade(fold)) => {
                    let seed = self.seed_of(known.id, context);
                    let made = aside(true, || Prepared::new(&fold, known, seed));
                    let installed = self.contexts.with(known.id, context, |loaded| loaded.install(made)).await;
                    installed.map_err(|error| self.failed(error))?.map_err(|error| internal(&error))?;
                }
                Err(_) => tokio::time::sleep(SOON).await,
            }
        }
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

#[cfg(test)]
mod tests {
    use unloop_store::{Body, Catalog, CatalogId, CatalogOption, Kind};

    use super::*;

    const OPTIONS: u64 = 40;

    fn known() -> Arc<Known> {
        let catalog = Catalog { id: CatalogId(1), name: "lunch".into(), settings: "{}".into(), revision: 1 };
        let option = |index: u64| CatalogOption {
            index: index as u32,
            name: format!("option {index}"),
            label: None,
            weight: None,
            active: true,
        };
        Arc::new(Known::new(&catalog, (0..OPTIONS).map(option).collect()))
    }

    /// Three different options, others for every number; now and then one that is in no catalog.
    fn event(seq: u64) -> Event {
        let mut names: Vec<String> =
            [seq, 1 + seq / OPTIONS, 2 + seq / OPTIONS / OPTIONS].map(|k| format!("option {}", k % OPTIONS)).to_vec();
        names.sort();
        names.dedup();
        if seq % 1_000 == 999 {
            names.push(format!("stranger {seq}"));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let body = Body::chosen(&names, names[0]);
        Event { seq, catalog: CatalogId(1), context: None, kind: Kind::Choice, id: seq.to_string(), body: Some(body), time: 0 }
    }

    /// A presenter of a big context is made while choices come in: none of them is missed, and none counted twice.
    #[test]
    fn what_comes_while_a_presenter_is_made_is_in_it() {
        let (known, asked) = (known(), Asked { size: 3, ..Asked::default() });
        let mut loaded = Loaded::new(Fold::new());
        let count = 100 * QUICKLY_MADE as u64;
        (1..=count).for_each(|seq| assert_eq!(loaded.apply(&event(seq)).unwrap(), Applied::Counted));
        assert!(loaded.fold.statistics().distinct() > QUICKLY_MADE, "{}", loaded.fold.statistics().distinct());
        let Readiness::ToBeMade(fold) = loaded.readiness(&known) else { panic!("it takes long") };
        assert!(matches!(loaded.readiness(&known), Readiness::BeingMade));
        (count + 1..=count + 3_000).for_each(|seq| assert_eq!(loaded.apply(&event(seq)).unwrap(), Applied::Counted));
        loaded.install(Prepared::new(&fold, &known, 7)).unwrap();
        assert!(matches!(loaded.readiness(&known), Readiness::Ready));
        assert_eq!(loaded.present(&known, 7, &asked).unwrap().len(), 3);
        loaded.apply(&event(count + 3_001)).unwrap();
        let prepared = loaded.prepared.as_ref().unwrap();
        let expected = loaded
            .fold
            .statistics()
            .renumbered(prepared.presenter.options().len(), |option| prepared.numbers[option.index()])
            .unwrap();
        assert!(prepared.presenter.statistics() == expected);
        // Whoever comes with one that nobody waits for changes nothing.
        loaded.install(Prepared::new(&fold, &known, 7)).unwrap();
        assert!(loaded.prepared.as_ref().unwrap().presenter.statistics() == expected);
    }
}
