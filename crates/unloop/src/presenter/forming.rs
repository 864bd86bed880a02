//! How a set is formed: what a request leaves, and what a policy takes of it.

use rand::RngExt;

use super::{Policy, Presenter, Request};
use crate::option::OptionId;
use crate::sampler::unexplored::{Unexplored, largest};

/// A place of a presentation: ln λ of the draw, and the option.
pub(super) type Drawn = (f64, OptionId);

/// What a request leaves.
pub(super) enum Filter {
    All,
    /// The marked ones, each named once, of which these were never shown.
    Only {
        named: Vec<OptionId>,
        unexplored: Unexplored,
    },
    /// All but the marked ones, each named once; those of them never shown are not among the presenter's now.
    Without {
        named: Vec<OptionId>,
        aside: Vec<OptionId>,
    },
}

impl Filter {
    pub(super) fn unexplored<'a>(&'a self, all: &'a Unexplored) -> &'a Unexplored {
        match self {
            Self::All | Self::Without { .. } => all,
            Self::Only { unexplored, .. } => unexplored,
        }
    }
}

impl Presenter {
    /// What a request leaves.
    pub(super) fn filter(&mut self, request: &Request) -> Filter {
        if request.candidates.is_none() && request.excluded.is_empty() && request.pinned.is_empty() {
            return Filter::All;
        }
        self.request += 1;
        self.marks.resize(self.options.len(), 0);
        let out = |option: &OptionId| request.excluded.contains(option) || request.pinned.contains(option);
        if let Some(candidates) = &request.candidates {
            let (mut named, mut unexplored) = (Vec::new(), Unexplored::default());
            for &option in candidates.iter().filter(|option| !out(option)) {
                if std::mem::replace(&mut self.marks[option.index()], self.request) == self.request || !self.is_active(option) {
                    continue;
                }
                named.push(option);
                if self.unexplored.contains(option) {
                    unexplored.insert(option, self.weight(option));
                }
            }
            return Filter::Only { named, unexplored };
        }
        // There may be millions of others: these few step aside until it is done.
        let (mut named, mut aside) = (Vec::new(), Vec::new());
        for &option in request.excluded.iter().chain(&request.pinned) {
            if std::mem::replace(&mut self.marks[option.index()], self.request) == self.request {
                continue;
            }
            named.push(option);
            if self.unexplored.contains(option) {
                self.unexplored.remove(option);
                aside.push(option);
            }
        }
        Filter::Without { named, aside }
    }

    /// Options that stepped aside for a request come back.
    pub(super) fn put_back(&mut self, filter: Filter) {
        if let Filter::Without { aside, .. } = filter {
            aside.into_iter().for_each(|option| self.unexplored.insert(option, self.weight(option)));
        }
    }

    /// Whether a request leaves an option with data.
    pub(super) fn leaves(&self, filter: &Filter, option: OptionId) -> bool {
        let in_filter = match filter {
            Filter::All => true,
            Filter::Only { .. } => self.marks[option.index()] == self.request,
            Filter::Without { .. } => self.marks[option.index()] != self.request,
        };
        in_filter && self.is_active(option)
    }

    /// The options of a presentation by a policy, from the draw as it is.
    pub(super) fn form(&mut self, policy: Policy, places: usize, filter: &Filter) -> Vec<Drawn> {
        match policy {
            Policy::Thompson => self.best_of_draw(places, filter, &[]),
            Policy::Greedy => self.best_of_means(places, filter),
            Policy::Anchored { explore, boldness } => {
                let explore = explore.unwrap_or(places.saturating_sub(1)).clamp(1, places.max(1));
                let mut anchors = self.best_of_means(places.saturating_sub(explore), filter);
                let kept: Vec<OptionId> = anchors.iter().map(|&(_, option)| option).collect();
                self.embolden(boldness.unwrap_or_else(|| self.default_boldness(places)));
                anchors.extend(self.best_of_draw(places - kept.len(), filter, &kept));
                anchors
            }
            Policy::Uniform => self.any(places, filter),
        }
    }

    /// How bold exploring is by default. The second of a pair costs nothing as long as the first is the best; of more options each counts, and
    /// what is not found early is hardly found late.
    pub(super) fn default_boldness(&self, places: usize) -> f64 {
        if places <= 2 { 1.5 } else { 0.8 + 0.7 / (1.0 + self.choices / 500.0) }
    }

    /// Raises what is above its mean in the draw.
    pub(super) fn embolden(&mut self, boldness: f64) {
        if boldness == 1.0 {
            return;
        }
        // The mean in the units of the values.
        let unit = self.draw.ln_scale.map(|ln_scale| (-ln_scale).exp());
        for (option, value) in self.draw.options.iter().zip(&mut self.draw.values) {
            let mean = self.means.get(*option);
            match unit {
                // A mean of zero has underflowed: there is nothing to measure by.
                Some(unit) if *value > mean * unit && mean * unit > 0.0 => {
                    *value = mean * unit * (*value / (mean * unit)).powf(boldness);
                }
                None if *value > mean.ln() && mean > 0.0 => *value = mean.ln() + boldness * (*value - mean.ln()),
                _ => {}
            }
        }
    }

    /// The best of the draw, without some options.
    pub(super) fn best_of_draw(&mut self, count: usize, filter: &Filter, without: &[OptionId]) -> Vec<Drawn> {
        let is_in = |option: OptionId| self.leaves(filter, option) && !without.contains(&option);
        let pairs = self.draw.values.iter().copied().zip(self.draw.options.iter().copied());
        let everything = matches!(filter, Filter::All) && self.retired_count == 0 && self.none.is_none() && without.is_empty();
        let mut best =
            if everything { largest(pairs, count) } else { largest(pairs.filter(|&(_, option)| is_in(option)), count) };
        best.iter_mut().for_each(|(value, _)| *value = self.draw.ln_lambda(*value));
        // Some of these may be among those left out: as many more are asked for, and they are dropped.
        let unexplored = filter.unexplored(&self.unexplored);
        let spare = without.iter().filter(|&&option| unexplored.contains(option)).count();
        unexplored.merge_largest(&mut best, count + spare, &mut self.rng);
        best.retain(|(_, option)| !without.contains(option));
        best.truncate(count);
        best
    }

    /// The largest posterior means; among options never shown of the same weight any.
    pub(super) fn best_of_means(&mut self, count: usize, filter: &Filter) -> Vec<Drawn> {
        if count == 0 {
            return Vec::new();
        }
        let explored = self.draw.options.iter().copied().filter(|&option| self.leaves(filter, option));
        let mut best: Vec<(f64, f64, OptionId)> = explored.map(|option| (self.means.get(option), 0.0, option)).collect();
        let unexplored = filter.unexplored(&self.unexplored);
        for group in unexplored.groups() {
            let n = group.options.len();
            for place in rand::seq::index::sample(&mut self.rng, n, count.min(n)) {
                best.push((group.alpha, self.rng.random(), group.options[place]));
            }
        }
        let order = |x: &(f64, f64, OptionId), y: &(f64, f64, OptionId)| {
            y.0.total_cmp(&x.0).then(y.1.total_cmp(&x.1)).then(x.2.cmp(&y.2))
        };
        if count < best.len() {
            best.select_nth_unstable_by(count - 1, order);
            best.truncate(count);
        }
        best.sort_by(order);
        best.into_iter().map(|(mean, _, option)| (mean.ln(), option)).collect()
    }

    /// Any options.
    pub(super) fn any(&mut self, count: usize, filter: &Filter) -> Vec<Drawn> {
        let explored: Vec<OptionId> = self.draw.options.iter().copied().filter(|&option| self.leaves(filter, option)).collect();
        let unexplored = filter.unexplored(&self.unexplored);
        let sizes: Vec<usize> = unexplored.groups().map(|group| group.options.len()).collect();
        let total = explored.len() + sizes.iter().sum::<usize>();
        let picked = rand::seq::index::sample(&mut self.rng, total, count.min(total));
        let lists = || std::iter::once(&explored).chain(unexplored.groups().map(|group| &group.options));
        let at = |place: usize| {
            let mut before = 0;
            lists().find_map(|list| {
                let found = list.get(place - before).copied();
                before += list.len();
                found
            })
        };
        picked.into_iter().filter_map(|place| Some((self.rng.random::<f64>(), at(place)?))).collect()
    }

    /// How many options a request leaves.
    pub(super) fn eligible(&self, filter: &Filter) -> usize {
        let explored = self.draw.options.iter().filter(|&&option| self.leaves(filter, option)).count();
        explored + filter.unexplored(&self.unexplored).groups().map(|group| group.options.len()).sum::<usize>()
    }
}
