//! One interleaving.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::burst::burst;
use super::{CONTEXTS, Pair, ranking_path};
use crate::support::Answer;

/// Options that the catalog begins with.
const MENU: [&str; 5] = ["soup", "salad", "curry", "ramen", "sushi"];
/// Options that are imported before the catalog has them, if ever.
const STRANGERS: [&str; 3] = ["haggis", "natto", "lutefisk"];
/// Memory of the second server: from room for all to room for nothing.
const MEMORY: [usize; 3] = [1 << 20, 1 << 14, 1 << 10];

/// Something that was recorded.
struct Kept {
    id: String,
    context: Option<String>,
    seq: u64,
    /// The presentation and what came of it; none of what was imported.
    answered: Option<(Answer, Value)>,
    withdrawn: Option<u64>,
    erased: bool,
}

pub(crate) struct Case {
    number: u64,
    rng: ChaCha8Rng,
    pair: Pair,
    kept: Vec<Kept>,
    imported: u64,
    /// Options that were added.
    added: u64,
    at: String,
}

impl Case {
    pub(crate) fn new(number: u64, mut rng: ChaCha8Rng) -> Self {
        let pair = Pair::new(MEMORY[rng.random_range(0..MEMORY.len())]);
        Self { number, rng, pair, kept: Vec::new(), imported: 0, added: 0, at: String::new() }
    }

    pub(crate) fn run(mut self) -> u64 {
        self.pair.client(0).put("/v1/catalogs/c", &json!({ "options": MENU, "size": 3 })).expect(201);
        self.pair.settled();
        let steps = self.rng.random_range(30..60);
        for step in 0..steps {
            self.at = format!("case {}, step {step}", self.number);
            self.step();
        }
        self.at = format!("case {}, at the end", self.number);
        self.pair.settled();
        for context in ["all", self.context_or_none().as_deref().unwrap_or("nobody")] {
            self.pair.compare(context, &self.at);
        }
        // Everything that was ever counted is ranked now.
        let fold = self.pair.fold("all");
        let none = unloop_store::NO_CHOICE.to_string();
        let names: Vec<&str> = fold.options().iter().map(|(_, name)| name).filter(|&name| name != none).collect();
        let which = self.which();
        self.pair.client(which).patch("/v1/catalogs/c/options", &json!({ "options": names })).expect(200);
        self.pair.settled();
        for context in self.pair.contexts() {
            self.pair.compare(&context, &format!("{}, all active", self.at));
        }
        for which in [self.which(), 0, 1] {
            self.pair.end(which);
            self.pair.assert_put_aside(&self.at);
        }
        steps
    }

    fn which(&mut self) -> usize {
        self.rng.random_range(0..2)
    }

    fn context_or_none(&mut self) -> Option<String> {
        CONTEXTS.get(self.rng.random_range(0..=CONTEXTS.len())).map(|&name| name.to_owned())
    }

    fn outcome(&mut self, presented: &[String]) -> Value {
        let some = presented[..self.rng.random_range(1..=presented.len())].to_vec();
        match self.rng.random_range(0..8) {
            0 => json!({ "tied": some }),
            1 | 2 => json!({ "none": true }),
            3 => json!({ "chosen": some }),
            _ => json!({ "chosen": [presented[self.rng.random_range(0..presented.len())]] }),
        }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..30 => self.choose(),
            30..40 => self.import(),
            40..48 => self.withdraw(),
            48..51 => self.erase(),
            51..57 => self.repeat(),
            57..72 => self.change(),
            72..86 => self.read(),
            86..90 => self.guests(),
            90..95 => {
                let seed = self.rng.random_range(0..u64::MAX);
                burst(&self.pair, ChaCha8Rng::seed_from_u64(seed), &self.at);
            }
            95..98 => {
                let which = self.which();
                self.pair.restart(which);
            }
            98 => self.pair.restart_all(),
            // Long enough for both to look at the log and the settings by themselves.
            _ => std::thread::sleep(std::time::Duration::from_millis(130)),
        }
    }

    /// Presented by one, answered at one or the other.
    fn choose(&mut self) {
        let (context, at_least) = (self.context_or_none(), [0, self.pair.head()][self.which()]);
        let which = self.which();
        let asked = json!({ "context": context, "size": self.rng.random_range(1..5), "at_least": at_least });
        let shown = self.pair.client(which).present("c", &asked);
        if shown.problem() == "nothing-eligible" {
            return;
        }
        let shown = shown.expect(201);
        let (outcome, which) = (self.outcome(&shown.options()), self.which());
        let answer = self.pair.client(which).choose(&shown, &outcome).expect(200);
        assert_eq!(answer.body["repeated"], false, "{}: {}", self.at, answer.text);
        assert_eq!(answer.body["seq"], self.pair.head(), "{}: {}", self.at, answer.text);
        let (id, seq) = (shown.body["id"].as_str().expect("an id").to_owned(), self.pair.head());
        let name = context.clone().unwrap_or_else(|| "all".into());
        self.kept.push(Kept { id, context, seq, answered: Some((shown, outcome)), withdrawn: None, erased: false });
        // Who acknowledged it knows it, whoever else is asked with its position.
        if self.rng.random_range(0..3) == 0 {
            let asked = self.which();
            let at_least = if asked == which { 0 } else { seq };
            self.assert_counted(asked, &name, at_least);
        }
    }

    fn assert_counted(&self, which: usize, context: &str, at_least: u64) {
        let ranked = self.pair.client(which).get(&ranking_path(context, at_least)).expect(200);
        assert!(ranked.body["seq"].as_u64() >= Some(at_least), "{}: {}", self.at, ranked.text);
        self.pair.assert_counts(&ranked, context, &format!("{}, server {which}", self.at));
    }

    fn import(&mut self) {
        let mut rows = Vec::new();
        for _ in 0..self.rng.random_range(1..6) {
            self.imported += 1;
            let all: Vec<&str> = MENU.iter().chain(&STRANGERS).copied().collect();
            let (start, size) = (self.rng.random_range(0..all.len()), self.rng.random_range(1..5));
            let presented: Vec<String> = all.iter().cycle().skip(start).take(size).map(|&name| name.to_owned()).collect();
            let mut row = self.outcome(&presented);
            row["id"] = json!(format!("i{}", self.imported));
            row["context"] = json!(self.context_or_none());
            row["presented"] = json!(presented);
            row["declinable"] = json!(self.rng.random_range(0..4) == 0);
            row["weight"] = json!([1.0, 1.0, 0.5, 3.25][self.rng.random_range(0..4)]);
            rows.push(row);
        }
        let which = self.which();
        let answer = self.pair.client(which).post("/v1/catalogs/c/choices", &json!({ "rows": rows })).expect(200);
        for (row, own) in rows.iter().zip(answer.body["rows"].as_array().expect("rows")) {
            assert_eq!(own["status"], "recorded", "{}: {}", self.at, answer.text);
            let (id, context) = (row["id"].as_str().expect("an id").to_owned(), row["context"].as_str().map(str::to_owned));
            let seq = own["seq"].as_u64().expect("a position");
            self.kept.push(Kept { id, context, seq, answered: None, withdrawn: None, erased: false });
        }
    }

    fn any_kept(&mut self) -> Option<usize> {
        (!self.kept.is_empty()).then(|| self.rng.random_range(0..self.kept.len()))
    }

    fn withdraw(&mut self) {
        let (Some(place), which) = (self.any_kept(), self.which()) else { return };
        let own = &mut self.kept[place];
        let answer = self.pair.client(which).delete(&format!("/v1/catalogs/c/choices/{}", own.id));
        if own.erased {
            answer.refused(410, "gone");
            return;
        }
        let answer = answer.expect(200);
        assert_eq!(answer.body["repeated"], own.withdrawn.is_some(), "{}: {}", self.at, answer.text);
        let seq = answer.body["seq"].as_u64().expect("a position");
        assert_eq!(seq, *own.withdrawn.get_or_insert(seq), "{}: {}", self.at, answer.text);
    }

    fn erase(&mut self) {
        let (context, which) = (CONTEXTS[self.rng.random_range(0..CONTEXTS.len())], self.which());
        let is_there = self.pair.with_choices().iter().any(|name| name == context);
        let answer = self.pair.client(which).delete(&format!("/v1/catalogs/c/contexts/{context}"));
        if !is_there {
            answer.refused(404, "no-context");
            return;
        }
        self.kept.iter_mut().filter(|own| own.context.as_deref() == Some(context)).for_each(|own| own.erased = true);
        let answer = answer.expect(200);
        assert_eq!(answer.body["seq"], self.pair.head(), "{}: {}", self.at, answer.text);
        assert_eq!(self.pair.fold(context).statistics().total(), 0.0);
        for which in 0..2 {
            self.assert_counted(which, context, self.pair.head());
        }
    }

    /// The same again, or something else, at one or the other.
    fn repeat(&mut self) {
        let (Some(place), which) = (self.any_kept(), self.which()) else { return };
        let Some((shown, outcome)) = self.kept[place].answered.clone() else { return };
        let other = self.outcome(&shown.options());
        let (own, client) = (&self.kept[place], self.pair.client(which));
        let (again, otherwise) = (client.choose(&shown, &outcome), client.choose(&shown, &other));
        if own.erased {
            again.refused(410, "gone");
            otherwise.refused(410, "gone");
            return;
        }
        let again = again.expect(200);
        assert!(again.body["repeated"] == true && again.body["seq"] == own.seq, "{}: {}", self.at, again.text);
        assert_eq!(again.body.get("withdrawn").is_some(), own.withdrawn.is_some(), "{}: {}", self.at, again.text);
        if other != outcome {
            assert_eq!(otherwise.refused(409, "conflict").body["seq"], own.seq);
        }
    }

    /// Options and settings.
    fn change(&mut self) {
        let (kind, which) = (self.rng.random_range(0..10), self.which());
        let prior = [0.25, 1.0, 4.0][self.rng.random_range(0..3)];
        let mut names: Vec<String> = MENU.iter().chain(&STRANGERS).map(|&name| name.to_owned()).collect();
        names.extend((0..self.added).map(|number| format!("new-{number}")));
        let name = &names[self.rng.random_range(0..names.len())];
        let client = self.pair.client(which);
        let path = format!("/v1/catalogs/c/options/{name}");
        match kind {
            0 => {
                self.added += 1;
                client.put(&format!("/v1/catalogs/c/options/new-{}", self.added - 1), &json!({})).expect(201);
            }
            1 => {
                self.added += 1;
                client.put(&format!("/v1/catalogs/c/options/new-{}", self.added - 1), &json!({ "prior": prior })).expect(201);
            }
            2 | 3 => {
                // One that it does not have, or does not know of yet.
                let answer = client.delete(&path);
                assert!(matches!((answer.status, answer.problem()), (200, _) | (404, "no-option")), "{}", answer.text);
            }
            4 | 5 => {
                let answer = client.put(&path, &json!({}));
                assert!(matches!(answer.status, 200 | 201), "{}: {}", self.at, answer.text);
            }
            6 => {
                let answer = client.put(&path, &json!({ "prior": prior }));
                assert!(matches!(answer.status, 200 | 201), "{}: {}", self.at, answer.text);
            }
            7 => self.merge(which, &json!({ "prior": prior })),
            8 => self.merge(which, &json!({ "no_choice": true })),
            _ => self.merge(which, &json!({ "no_choice": null })),
        }
    }

    /// Changes settings of the catalog; who has not seen the last change is told so, once.
    fn merge(&self, which: usize, change: &Value) {
        let client = self.pair.client(which);
        let answer = client.patch("/v1/catalogs/c", change);
        if answer.problem() == "stale" {
            client.patch("/v1/catalogs/c", change).expect(200);
        } else {
            answer.expect(200);
        }
    }

    fn read(&mut self) {
        let (context, which) = (self.context_or_none().unwrap_or_else(|| "all".into()), self.which());
        let at_least = self.pair.head();
        if self.rng.random_range(0..2) == 0 {
            self.assert_counted(which, &context, at_least);
            return;
        }
        let shown = self.pair.client(which).present("c", &json!({ "context": context, "at_least": at_least }));
        if shown.problem() != "nothing-eligible" {
            let shown = shown.expect(201);
            assert!(shown.body["seq"].as_u64() >= Some(at_least), "{}: {}", self.at, shown.text);
        }
    }

    /// Many who were never seen before: others have to go for them.
    fn guests(&mut self) {
        let which = self.which();
        for guest in 0..10 {
            let shown = self.pair.client(which).present("c", &json!({ "context": format!("stranger {guest}") }));
            assert!(shown.status == 201 || shown.problem() == "nothing-eligible", "{}: {}", self.at, shown.text);
        }
    }
}
