//! Try it: a catalog in memory that somebody chooses from, or has simulated people choose from; beside it the same with a counter that does not look
//! at what was shown, and so falls into its loop.
//!
//! Each is a [`Service`] of its own over a store in memory: the same calls as everywhere, and nothing of it reaches the real log. They are few, and
//! go when nobody has used them for a while.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use askama::Template;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use lru::LruCache;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use unloop_lab::rivals::Blind;
use unloop_lab::{Policy, User};
use unloop_plot::figures::{count, percent};
use unloop_store::{Change, Memory, OptionChange, Outcome};

use super::board::{Axis, Marks, Tick, interval};
use super::catalogs::pasted;
use super::charts::{Curves, Series};
use super::page::{Frame, Oops, Page, is_part, missing};
use super::params::Form;
use super::session::Visitor;
use crate::api::options::check_option;
use crate::api::presentations::{PresentationAsked, PresentationSent};
use crate::catalog::{CatalogSettings, Known};
use crate::lock::lock;
use crate::now;
use crate::problem::{Kind, Problem};
use crate::secret::{Secrets, random};
use crate::service::{ServerSettings, Service, Shared};
use crate::standing::internal;

/// How many there are at a time, with how many options and choices, and for how long without being used: milliseconds.
const MOST: NonZeroUsize = NonZeroUsize::new(16).expect("it is above 0");
const MOST_OPTIONS: usize = 50;
const MOST_CHOICES: usize = 5_000;
const LIFE: i64 = 3_600_000;
/// Memory for the presenter and rankings of each.
const CACHE: usize = 4 << 20;
/// How long people take, and how often the page is told.
const TICKS: usize = 40;
const TICK: Duration = Duration::from_millis(100);
/// How much less the next favourite is liked.
const FALL: f64 = 1.2;
const NAME: &str = "try";
const DISHES: &str = "soup\nsalad\ncurry\nramen\npizza\ntacos\nsushi\nstew\nfalafel\npasta\nburger\ndumplings";

/// All of them.
pub(super) struct Playground {
    all: Mutex<LruCache<String, Arc<Scratch>>>,
}

impl Default for Playground {
    fn default() -> Self {
        Self { all: Mutex::new(LruCache::new(MOST)) }
    }
}

impl Playground {
    /// Lets go what nobody has used for long.
    pub(super) fn sweep(&self) {
        let mut all = lock(&self.all);
        while all.peek_lru().is_some_and(|(_, own)| own.used.load(Ordering::Relaxed) < now() - LIFE) {
            all.pop_lru();
        }
    }

    fn get(&self, id: &str) -> Result<Arc<Scratch>, Oops> {
        self.sweep();
        let found = lock(&self.all).get(id).cloned();
        let found =
            found.ok_or_else(|| missing("it is gone: each lasts for an hour after it was used last. Begin another one"))?;
        found.used.store(now(), Ordering::Relaxed);
        Ok(found)
    }
}

/// One of them.
struct Scratch {
    service: Shared,
    known: Arc<Known>,
    names: Vec<String>,
    used: AtomicI64,
    is_running: AtomicBool,
    state: Mutex<Progress>,
}

/// How far it is.
struct Progress {
    rng: ChaCha8Rng,
    /// What people like, once there are people.
    taste: Option<Vec<f64>>,
    blind: Blind,
    /// How often each option was served, here and by the counter.
    served: Vec<f64>,
    blind_served: Vec<f64>,
    choices: usize,
    /// After how many choices estimates were how far from the truth: ours, and the counter's.
    course: Vec<(usize, f64, f64)>,
}

impl Scratch {
    async fn new(names: Vec<String>, size: u32) -> Result<Self, Problem> {
        let settings = CatalogSettings { size, ..CatalogSettings::default() };
        settings.check()?;
        let options: Vec<OptionChange> = names.iter().map(|name| OptionChange::plain(name)).collect();
        options.iter().try_for_each(check_option)?;
        let seed = random().map_err(|error| internal(&error))?;
        let server = ServerSettings { cache_bytes: CACHE, ..ServerSettings::default() };
        let secrets = Secrets::fresh().map_err(|error| internal(&error))?;
        // In a box: a service holds a playground, which holds services.
        let service = Box::pin(Service::new(Arc::new(Memory::new()), secrets, None, server)).await?;
        let id = service.set_catalog(NAME, &settings, None).await?.id;
        service.change(Change::Options { catalog: id, options, expected: None }).await?;
        let progress = Progress {
            rng: ChaCha8Rng::from_seed(seed),
            taste: None,
            blind: Blind::new(names.len(), settings.prior),
            served: vec![0.0; names.len()],
            blind_served: vec![0.0; names.len()],
            choices: 0,
            course: Vec::new(),
        };
        Ok(Self {
            known: service.known(id)?,
            service,
            used: AtomicI64::new(now()),
            is_running: AtomicBool::new(false),
            state: Mutex::new(progress),
            names,
        })
    }

    fn place(&self, name: &str) -> Option<u32> {
        self.names.iter().position(|own| own == name).map(|place| place as u32)
    }

    async fn present(&self) -> Result<PresentationSent, Problem> {
        let sent = self.service.present(&self.known, PresentationAsked::of(None)).await?;
        // Nobody writes them down.
        self.service.forget_notes();
        Ok(sent)
    }

    /// Somebody is shown options and picks the one with this name.
    async fn choose(&self, token: &str, name: &str) -> Result<(), Problem> {
        if lock(&self.state).choices >= MOST_CHOICES {
            return Err(Problem::new(Kind::Full, format!("{MOST_CHOICES} choices are enough to try it: begin another one")));
        }
        let token = self.service.opened(token)?;
        if !token.options.iter().any(|own| own == name) {
            return Err(Problem::invalid("chosen", "it was not presented"));
        }
        let presented = token.options.clone();
        let (_, sent) = self.service.choose(&token, Outcome::Chosen(vec![name.to_owned()])).await?;
        if !sent.repeated {
            let mut state = lock(&self.state);
            state.choices += 1;
            for place in presented.iter().filter_map(|own| self.place(own)) {
                state.served[place as usize] += 1.0;
            }
        }
        Ok(())
    }

    /// A round: the same people meet ours and the counter.
    async fn round(&self, user: &User, round: usize) -> Result<(), Problem> {
        let sent = self.present().await?;
        let shown: Vec<u32> = sent.options.iter().filter_map(|own| self.place(&own.option)).collect();
        let picked = {
            let mut state = lock(&self.state);
            let Progress { rng, blind, blind_served, .. } = &mut *state;
            let mut blindly = Vec::new();
            blind.present(shown.len(), &mut blindly, rng);
            let taken = user.choose(&blindly, round, rng);
            blind.choose(&blindly, taken, rng);
            for place in blindly {
                blind_served[place as usize] += 1.0;
            }
            user.choose(&shown, round, rng)
        };
        let Some(name) = picked.and_then(|place| self.names.get(place as usize)) else { return Ok(()) };
        self.choose(&sent.token, name).await
    }

    /// Our estimate, by the places of names.
    async fn estimate(&self) -> Result<Vec<Estimate>, Problem> {
        let (ranked, _) = self.service.ranking(&self.known, None, self.known.settings.size as usize, 0).await?;
        let mut estimates = vec![Estimate::default(); self.names.len()];
        for row in &ranked.rows {
            if let Some(place) = self.place(&row.option) {
                estimates[place as usize] =
                    Estimate { rank: row.rank, mean: row.mean, low: row.low, high: row.high, is_unseen: row.shown == 0.0 };
            }
        }
        Ok(estimates)
    }

    /// Notes how far estimates are from the truth.
    async fn note(&self) -> Result<(), Problem> {
        let estimates = self.estimate().await?;
        let mut state = lock(&self.state);
        let Some(taste) = &state.taste else { return Ok(()) };
        let apart = |shares: &[f64]| 0.5 * shares.iter().zip(taste).map(|(share, truth)| (share - truth).abs()).sum::<f64>();
        let ours = apart(&estimates.iter().map(|own| own.mean).collect::<Vec<f64>>());
        let (blind, choices) = (apart(&state.blind.shares()), state.choices);
        if state.course.last().is_none_or(|&(last, ..)| last < choices) {
            state.course.push((choices, ours, blind));
        }
        Ok(())
    }

    /// People with a hidden taste, some at a time so that one can watch.
    async fn people(self: Arc<Self>, count: usize) {
        let user = {
            let mut state = lock(&self.state);
            let Progress { rng, taste, .. } = &mut *state;
            let theta = taste.get_or_insert_with(|| hidden(self.names.len(), rng)).clone();
            User::Luce { theta, none: None }
        };
        let at_a_time = count.div_ceil(TICKS);
        let mut done = 0;
        while done < count && !self.service.health.is_draining() {
            for _ in 0..at_a_time.min(count - done) {
                if self.round(&user, done).await.is_err() {
                    // There are choices enough.
                    self.is_running.store(false, Ordering::Relaxed);
                    return;
                }
                done += 1;
            }
            // What cannot be noted is not drawn.
            let _ = self.note().await;
            self.used.store(now(), Ordering::Relaxed);
            tokio::time::sleep(TICK).await;
        }
        self.is_running.store(false, Ordering::Relaxed);
    }
}

/// A few favourites and a long tail, in any order; shares.
fn hidden(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut shares: Vec<f64> = (1..=count).map(|place| (place as f64).powf(-FALL)).collect();
    shares.shuffle(rng);
    let total: f64 = shares.iter().sum();
    shares.iter().map(|share| share / total).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    rank: usize,
    mean: f64,
    low: f64,
    high: f64,
    is_unseen: bool,
}

#[derive(Template)]
#[template(path = "try_list.html")]
pub(super) struct Begin {
    frame: Frame,
    options: String,
    size: String,
    problem: String,
}

/// Asks what to try it with.
pub(super) async fn list(visitor: Visitor) -> Page<Begin> {
    let frame = visitor.frame("try");
    Page(Begin { frame, options: DISHES.to_owned(), size: "3".to_owned(), problem: String::new() })
}

/// Begins one, and goes there.
pub(super) async fn create(State(service): State<Shared>, visitor: Visitor, Form(form): Form) -> Result<Response, Oops> {
    let (options, size) = (form.get("options").to_owned(), form.get("size").trim().to_owned());
    let names = pasted(&options);
    let made = match size.parse() {
        _ if !(2..=MOST_OPTIONS).contains(&names.len()) => {
            Err(Problem::invalid("options", format!("it takes 2 to {MOST_OPTIONS} different options")))
        }
        Ok(size) if size as usize > names.len() => Err(Problem::invalid("size", "there are not so many options")),
        Ok(size) => Scratch::new(names, size).await,
        Err(_) => Err(Problem::invalid("size", "how many are shown is a whole number")),
    };
    match made {
        Ok(scratch) => {
            let id = data_encoding::HEXLOWER.encode(&random().map_err(|error| Oops::from(internal(&error)))?[..16]);
            service.dashboard.playground.sweep();
            lock(&service.dashboard.playground.all).put(id.clone(), Arc::new(scratch));
            Ok(Redirect::to(&format!("/try/{id}")).into_response())
        }
        Err(problem) => {
            let told = problem.to_json();
            let problem = told.get("detail").and_then(|own| own.as_str()).unwrap_or_default().to_owned();
            let page = Begin { frame: visitor.frame("try"), options, size, problem };
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Page(page)).into_response())
        }
    }
}

/// What is seen of one.
struct Seen {
    url: String,
    token: String,
    shown: Vec<String>,
    choices: String,
    left: usize,
    has_truth: bool,
    is_running: bool,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
}

/// An option.
struct Row {
    name: String,
    is_unseen: bool,
    truth: String,
    truth_mark: String,
    share: String,
    interval: String,
    marks: Marks,
    exposure: String,
    exposure_part: String,
    blind: String,
    blind_mark: String,
    blind_exposure: String,
    blind_part: String,
}

impl Seen {
    async fn new(id: &str, scratch: &Scratch) -> Result<Self, Problem> {
        let sent = scratch.present().await?;
        let estimates = scratch.estimate().await?;
        let state = lock(&scratch.state);
        let blind = state.blind.shares();
        let highest =
            estimates.iter().map(|own| own.high).chain(state.taste.iter().flatten().copied()).chain(blind.iter().copied());
        let axis = Axis::new(highest.fold(0.0, f64::max));
        let share_of = |served: &[f64], place: usize| {
            let total: f64 = served.iter().sum();
            if total > 0.0 { served[place] / total } else { 0.0 }
        };
        let truth = |place: usize| state.taste.as_ref().map(|taste| taste[place]);
        // The truth in order where it is known: one sees at once who gets it right.
        let mut places: Vec<usize> = (0..scratch.names.len()).collect();
        places.sort_by(|&x, &y| {
            let by_truth = truth(y).unwrap_or(0.0).total_cmp(&truth(x).unwrap_or(0.0));
            by_truth.then(estimates[x].rank.cmp(&estimates[y].rank))
        });
        let part = |share: f64| format!("{:.1}%", 100.0 * share);
        // A presentation has several places: exposure is the share of them.
        let most = 1.0 / f64::from(scratch.known.settings.size).max(1.0);
        let row = |place: usize| {
            let own = estimates[place];
            let (exposure, blind_exposure) = (share_of(&state.served, place), share_of(&state.blind_served, place));
            Row {
                name: scratch.names[place].clone(),
                is_unseen: own.is_unseen,
                truth: truth(place).map_or_else(String::new, percent),
                truth_mark: truth(place).map_or_else(String::new, |truth| axis.place(truth)),
                share: percent(own.mean),
                interval: interval(own.low, own.high),
                marks: axis.marks(own.mean, own.low, own.high),
                exposure: percent(exposure),
                exposure_part: part(exposure / most),
                blind: percent(blind[place]),
                blind_mark: axis.place(blind[place]),
                blind_exposure: percent(blind_exposure),
                blind_part: part(blind_exposure / most),
            }
        };
        Ok(Self {
            url: format!("/try/{id}"),
            token: sent.token,
            shown: sent.options.into_iter().map(|own| own.option).collect(),
            choices: count(state.choices as f64),
            left: MOST_CHOICES - state.choices.min(MOST_CHOICES),
            has_truth: state.taste.is_some(),
            is_running: scratch.is_running.load(Ordering::Relaxed),
            ticks: axis.ticks(),
            rows: places.into_iter().map(row).collect(),
        })
    }
}

#[derive(Template)]
#[template(path = "try.html")]
pub(super) struct TryPage {
    frame: Frame,
    seen: Seen,
}

#[derive(Template)]
#[template(path = "try_part.html")]
pub(super) struct TryPart {
    seen: Seen,
}

/// Shows one.
pub(super) async fn show(State(service): State<Shared>, visitor: Visitor, Path(id): Path<String>) -> Result<Page<TryPage>, Oops> {
    let scratch = service.dashboard.playground.get(&id)?;
    Ok(Page(TryPage { frame: visitor.frame("try"), seen: Seen::new(&id, &scratch).await? }))
}

/// As it is now.
pub(super) async fn state(State(service): State<Shared>, _: Visitor, Path(id): Path<String>) -> Result<Page<TryPart>, Oops> {
    let scratch = service.dashboard.playground.get(&id)?;
    Ok(Page(TryPart { seen: Seen::new(&id, &scratch).await? }))
}

/// As it is after a form was sent: the part that its script asks for, or the page again.
async fn answer(id: &str, scratch: &Scratch, headers: &HeaderMap) -> Result<Response, Oops> {
    if is_part(headers) {
        return Ok(Page(TryPart { seen: Seen::new(id, scratch).await? }).into_response());
    }
    Ok(Redirect::to(&format!("/try/{id}")).into_response())
}

/// Somebody picks an option.
pub(super) async fn choose(
    State(service): State<Shared>,
    _: Visitor,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form,
) -> Result<Response, Oops> {
    let scratch = service.dashboard.playground.get(&id)?;
    let name = form.get("chosen");
    let before = lock(&scratch.state).choices;
    scratch.choose(form.get("token"), name).await?;
    {
        // A counter makes the same of it, whatever was shown.
        let mut state = lock(&scratch.state);
        if let Some(place) = scratch.place(name).filter(|_| state.choices > before) {
            let Progress { rng, blind, .. } = &mut *state;
            blind.choose(&[], Some(place), rng);
        }
    }
    scratch.note().await?;
    answer(&id, &scratch, &headers).await
}

/// Simulated people come.
pub(super) async fn people(
    State(service): State<Shared>,
    _: Visitor,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form,
) -> Result<Response, Oops> {
    let scratch = service.dashboard.playground.get(&id)?;
    let left = MOST_CHOICES - lock(&scratch.state).choices.min(MOST_CHOICES);
    let count = form.get("count").parse().unwrap_or(100_usize).clamp(1, 1_000).min(left);
    if count > 0 && !scratch.is_running.swap(true, Ordering::Relaxed) {
        tokio::spawn(Arc::clone(&scratch).people(count));
    }
    answer(&id, &scratch, &headers).await
}

impl Scratch {
    /// How far estimates were from the truth, choice by choice.
    fn course(&self) -> Curves {
        let state = lock(&self.state);
        let series = |name: &str, colour, value: fn(&(usize, f64, f64)) -> f64| Series {
            name: name.to_owned(),
            colour,
            dashed: false,
            values: state.course.iter().map(|own| Some(value(own))).collect(),
        };
        Curves {
            x: state.course.iter().map(|&(choices, ..)| choices as f64).collect(),
            series: vec![series("unloop", 0, |own| own.1), series("blind counter", 4, |own| own.2)],
        }
    }
}

/// The data of the chart.
pub(super) async fn chart(State(service): State<Shared>, _: Visitor, Path(id): Path<String>) -> Result<Json<Curves>, Oops> {
    Ok(Json(service.dashboard.playground.get(&id)?.course()))
}

/// The chart as a picture.
pub(super) async fn picture(State(service): State<Shared>, _: Visitor, Path(id): Path<String>) -> Result<Response, Oops> {
    let course = service.dashboard.playground.get(&id)?.course();
    let picture = course.draw("How far from the truth".into(), "distance", "choices", 1.0);
    let picture = picture.ok_or_else(|| missing("there is nothing to draw yet"))?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], picture.into_svg()).into_response())
}
