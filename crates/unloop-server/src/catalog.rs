//! Catalogs as the service knows them: what is set, options, keys. Read again when the store's settings have moved on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use serde::{Deserialize, Serialize};
use unloop::presenter::{Order, Policy};
use unloop::{Options, Presenter};
use unloop_store::{Catalog, CatalogId, CatalogOption, Key, NO_CHOICE, Store, StoreError};
use utoipa::ToSchema;

use crate::lock::{read, write};
use crate::problem::Problem;

/// Options of a presentation at most.
pub const MOST_SIZE: u32 = 100;
/// The longest time in which a presentation may be answered, and the shortest; in seconds.
pub const LONGEST_EXPIRY: i64 = 30 * 86_400;
const SHORTEST_EXPIRY: i64 = 1;

/// The largest prior weight. The library takes larger ones, but their rankings take it seconds.
const LARGEST_PRIOR: f64 = 1e6;

/// How presentations are formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicyName {
    /// The best of one posterior draw: the paper's mechanism.
    #[default]
    Thompson,
    /// Keeps the likely best, explores in the rest.
    Anchored,
    /// The largest means. It may starve options; to compare with.
    Greedy,
    /// Any options, all alike.
    Uniform,
}

impl PolicyName {
    /// As everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thompson => "thompson",
            Self::Anchored => "anchored",
            Self::Greedy => "greedy",
            Self::Uniform => "uniform",
        }
    }
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Thompson => Self::Thompson,
            PolicyName::Anchored => Self::Anchored { explore: None, boldness: None },
            PolicyName::Greedy => Self::Greedy,
            PolicyName::Uniform => Self::Uniform,
        }
    }
}

/// How presentations are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrderName {
    /// By posterior mean.
    #[default]
    Mean,
    /// By the draw that formed it.
    Draw,
    /// At random.
    Shuffled,
}

impl OrderName {
    /// As everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Draw => "draw",
            Self::Shuffled => "shuffled",
        }
    }
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Mean => Self::Mean,
            OrderName::Draw => Self::Draw,
            OrderName::Shuffled => Self::Shuffled,
        }
    }
}

/// What is set for a catalog. What is kept of it in the store may have been written by a newer server: fields that are not known are left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CatalogSettings {
    /// Options of a presentation, unless a request says otherwise.
    pub size: u32,
    /// Prior weight of options that have none of their own.
    pub prior: f64,
    /// How presentations are formed.
    pub policy: PolicyName,
    /// How they are ordered.
    pub order: OrderName,
    /// Whether choosing nothing is an option.
    pub no_choice: bool,
    /// Seconds in which a presentation may be answered.
    pub expiry: i64,
}

impl Default for CatalogSettings {
    fn default() -> Self {
        Self { size: 5, prior: 1.0, policy: PolicyName::Thompson, order: OrderName::Mean, no_choice: false, expiry: 86_400 }
    }
}

impl CatalogSettings {
    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if !(1..=MOST_SIZE).contains(&self.size) {
            return Err(Problem::invalid("size", format!("a presentation has 1 to {MOST_SIZE} options")));
        }
        check_prior(self.prior)?;
        if !(SHORTEST_EXPIRY..=LONGEST_EXPIRY).contains(&self.expiry) {
            let longest = LONGEST_EXPIRY / 86_400;
            return Err(Problem::invalid(
                "expiry",
                format!("an expiry is {SHORTEST_EXPIRY} second to {longest} days, in seconds"),
            ));
        }
        Ok(())
    }
}

/// Refuses a prior weight that is none.
pub(crate) fn check_prior(prior: f64) -> Result<(), Problem> {
    let good = (unloop::MIN_ALPHA..=LARGEST_PRIOR).contains(&prior);
    let refuse = || Problem::invalid("prior", format!("a prior weight is {:e} to {LARGEST_PRIOR:e}", unloop::MIN_ALPHA));
    if good { Ok(()) } else { Err(refuse()) }
}

/// A catalog at a revision.
pub struct Known {
    /// Its number.
    pub id: CatalogId,
    /// Its name.
    pub name: String,
    /// At which it was read.
    pub revision: u64,
    /// What is set.
    pub settings: CatalogSettings,
    /// Options by their numbers.
    pub options: Vec<CatalogOption>,
    /// Their names by the same numbers; then the no-choice option, where there is one.
    pub names: Options,
    /// Prior weights of the names.
    pub alpha: Vec<f64>,
    /// Presents to whoever has not chosen yet: all of them alike.
    pub(crate) blank: Mutex<Option<Presenter>>,
}

impl Known {
    /// The name of the no-choice option, in presenters and folds.
    pub(crate) fn none_name() -> String {
        NO_CHOICE.to_string()
    }

    pub(crate) fn new(catalog: &Catalog, options: Vec<CatalogOption>) -> Self {
        let settings: CatalogSettings = serde_json::from_str(&catalog.settings).unwrap_or_else(|error| {
            tracing::error!(%error, "the settings of a catalog cannot be read: defaults are used");
            CatalogSettings::default()
        });
        let mut names = Options::new();
        let mut alpha = Vec::with_capacity(options.len() + 1);
        let none = Self::none_name();
        let with_none = settings.no_choice.then_some((none.as_str(), None));
        for (name, weight) in options.iter().map(|own| (own.name.as_str(), own.weight)).chain(with_none) {
            // The store has checked them, and each is there once.
            if names.intern(name).is_ok() {
                alpha.push(weight.unwrap_or(settings.prior));
            }
        }
        let (id, name, revision) = (catalog.id, catalog.name.clone(), catalog.revision);
        Self { id, name, revision, settings, options, names, alpha, blank: Mutex::new(None) }
    }

    /// An option by name.
    pub(crate) fn option(&self, name: &str) -> Option<&CatalogOption> {
        self.names.get(name).and_then(|id| self.options.get(id.index()))
    }
}

/// All settings at a revision.
#[derive(Default)]
pub(crate) struct All {
    pub(crate) revision: u64,
    by_name: HashMap<String, Arc<Known>>,
    by_id: HashMap<CatalogId, Arc<Known>>,
    keys: HashMap<[u8; 32], Arc<Key>>,
}

impl All {
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Known>> {
        self.by_name.get(name)
    }

    pub(crate) fn numbered(&self, id: CatalogId) -> Option<&Arc<Known>> {
        self.by_id.get(&id)
    }

    /// By name.
    pub(crate) fn catalogs(&self) -> Vec<&Arc<Known>> {
        let mut all: Vec<&Arc<Known>> = self.by_name.values().collect();
        all.sort_by(|x, y| x.name.cmp(&y.name));
        all
    }

    pub(crate) fn key(&self, hash: &[u8; 32]) -> Option<&Arc<Key>> {
        self.keys.get(hash)
    }

    /// A key by what people call it by.
    pub(crate) fn key_called(&self, id: &str) -> Option<&Arc<Key>> {
        self.keys.values().find(|key| key.id == id)
    }

    /// Expired ones count: who made keys wants them needed.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// The settings in use.
pub(crate) struct Registry {
    store: Arc<dyn Store>,
    all: RwLock<Arc<All>>,
    /// One reads at a time.
    reading: tokio::sync::Mutex<()>,
}

impl Registry {
    pub(crate) async fn new(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let registry = Self { store, all: RwLock::default(), reading: tokio::sync::Mutex::default() };
        registry.read_again().await?;
        Ok(registry)
    }

    pub(crate) fn get(&self) -> Arc<All> {
        Arc::clone(&read(&self.all))
    }

    /// Reads them again if they have moved on, at least to a revision.
    pub(crate) async fn refresh(&self, revision: u64) -> Result<(), StoreError> {
        if self.get().revision < revision { self.read_again().await } else { Ok(()) }
    }

    async fn read_again(&self) -> Result<(), StoreError> {
        let _turn = self.reading.lock().await;
        let before = self.get();
        let settings = self.store.settings().await?;
        let mut all = All { revision: settings.revision, ..All::default() };
        for catalog in &settings.catalogs {
            let same = before.by_id.get(&catalog.id).filter(|known| known.revision == catalog.revision);
            let known = match same {
                Some(known) => Arc::clone(known),
                None => Arc::new(Known::new(catalog, self.store.options(catalog.id).await?)),
            };
            all.by_name.insert(catalog.name.clone(), Arc::clone(&known));
            all.by_id.insert(catalog.id, known);
        }
        all.keys = settings.keys.into_iter().map(|key| (key.hash, Arc::new(key))).collect();
        *write(&self.all) = Arc::new(all);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_newer_server_are_read() {
        let text = r#"{"size":3,"policy":"anchored","later":{"a":1}}"#;
        let settings: CatalogSettings = serde_json::from_str(text).unwrap();
        assert_eq!((settings.size, settings.policy, settings.expiry), (3, PolicyName::Anchored, 86_400));
        assert!(settings.check().is_ok());
        assert!(CatalogSettings { size: 0, ..settings.clone() }.check().is_err());
        assert!(CatalogSettings { prior: f64::NAN, ..settings.clone() }.check().is_err());
        assert!(CatalogSettings { expiry: LONGEST_EXPIRY + 1, ..settings }.check().is_err());
    }
}
