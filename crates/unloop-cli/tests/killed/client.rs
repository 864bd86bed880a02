//! A client with a ledger: what it sends, and what it has to be answered.

use std::sync::atomic::{AtomicBool, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::caller::{Answer, Caller, Cut};
use super::ledger::{Figures, Kept, Request, Said, Unsure};

pub(crate) const CATALOG: &str = "c=soup,salad,curry,ramen,sushi,pizza,tacos,pasta";
const MENU: [&str; 8] = ["soup", "salad", "curry", "ramen", "sushi", "pizza", "tacos", "pasta"];
const CONTEXTS: u64 = 12;

pub(crate) struct Client {
    number: u64,
    rng: ChaCha8Rng,
    /// What was acknowledged.
    pub(crate) kept: Vec<Kept>,
    /// What was presented before a kill, with an outcome that was not sent.
    open: Vec<Said>,
    /// What is on its way.
    pub(crate) unsure: Option<Unsure>,
    /// The last position that something of its own got.
    last: u64,
    imported: u64,
    pub(crate) figures: Figures,
}

impl Client {
    pub(crate) fn new(number: u64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number + 1);
        let figures = Figures::default();
        Self { number, rng, kept: Vec::new(), open: Vec::new(), unsure: None, last: 0, imported: 0, figures }
    }

    /// Goes on where it was cut off, until it is cut off again.
    pub(crate) fn call_until_killed(&mut self, caller: &Caller, killed: &AtomicBool) {
        let Err(cut) = self.call(caller);
        assert!(killed.load(Ordering::SeqCst), "client {}: nobody killed it: {cut}", self.number);
    }

    fn call(&mut self, caller: &Caller) -> Result<std::convert::Infallible, Cut> {
        self.settle(caller)?;
        // Of tokens from before the kill some wait for another one.
        for _ in 0..self.open.len() / 2 {
            self.answer_open(caller)?;
        }
        loop {
            self.step(caller)?;
        }
    }

    /// Sends all that is left.
    pub(crate) fn settle_all(&mut self, caller: &Caller) -> Result<(), Cut> {
        self.settle(caller)?;
        while !self.open.is_empty() {
            self.answer_open(caller)?;
        }
        Ok(())
    }

    fn step(&mut self, caller: &Caller) -> Result<(), Cut> {
        match self.rng.random_range(0..100) {
            0..55 => {
                let said = self.presented(caller)?;
                self.send(caller, Request::Choice(said))
            }
            55..60 => {
                // Not for ever: each is a choice to come.
                if self.open.len() < 8 {
                    let said = self.presented(caller)?;
                    self.open.push(said);
                }
                Ok(())
            }
            60..70 => {
                let rows = (0..self.rng.random_range(1..5)).map(|_| self.logged()).collect();
                self.send(caller, Request::Import(rows))
            }
            70..80 => match self.any_kept(|kept| kept.withdrawn.is_none()) {
                Some(place) => self.send(caller, Request::Withdrawal(place)),
                None => Ok(()),
            },
            80..92 => self.repeat(caller),
            _ => self.contradict(caller),
        }
    }

    fn any_kept(&mut self, fits: impl Fn(&Kept) -> bool) -> Option<usize> {
        let place = self.rng.random_range(0..self.kept.len().max(1));
        self.kept.get(place).is_some_and(fits).then_some(place)
    }

    fn context(&mut self) -> Option<String> {
        let number = self.rng.random_range(0..=CONTEXTS);
        (number < CONTEXTS).then(|| format!("person {number}"))
    }

    /// Something that may come of a presentation.
    fn outcome(&mut self, presented: &[String]) -> Value {
        let some = presented[..self.rng.random_range(1..=presented.len())].to_vec();
        match self.rng.random_range(0..8) {
            0 => json!({ "tied": some }),
            1 => json!({ "none": true }),
            2 => json!({ "chosen": some }),
            _ => json!({ "chosen": [presented[self.rng.random_range(0..presented.len())]] }),
        }
    }

    /// Has something presented, and decides what comes of it.
    fn presented(&mut self, caller: &Caller) -> Result<Said, Cut> {
        let context = self.context();
        let answer = caller.present(&json!({ "context": context, "size": self.rng.random_range(2..5) }))?.expect(201);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let presented: Vec<String> =
            answer.body["options"].as_array().expect("options").iter().map(|row| text(&row["option"])).collect();
        let outcome = self.outcome(&presented);
        let (id, token) = (text(&answer.body["id"]), Some(text(&answer.body["token"])));
        Ok(Said { id, token, context, presented, outcome, weight: 1.0 })
    }

    /// A choice from elsewhere.
    fn logged(&mut self) -> Said {
        self.imported += 1;
        let id = format!("{}-{}", self.number, self.imported);
        let start = self.rng.random_range(0..MENU.len());
        let size = self.rng.random_range(2..5);
        let presented: Vec<String> = MENU.iter().cycle().skip(start).take(size).map(|&name| name.to_owned()).collect();
        let (context, outcome) = (self.context(), self.outcome(&presented));
        Said { id, token: None, context, presented, outcome, weight: [1.0, 0.5, 3.25][self.rng.random_range(0..3)] }
    }

    fn answer_open(&mut self, caller: &Caller) -> Result<(), Cut> {
        let said = self.open.remove(0);
        self.send(caller, Request::Choice(said))?;
        self.figures.from_before += 1;
        Ok(())
    }

    fn send(&mut self, caller: &Caller, request: Request) -> Result<(), Cut> {
        self.unsure = Some(Unsure { request, found: Vec::new() });
        self.settle(caller)
    }

    /// Sends what is on its way, for the first time or again. It is taken off only once there is an answer.
    fn settle(&mut self, caller: &Caller) -> Result<(), Cut> {
        let Some(Unsure { request, found }) = self.unsure.clone() else { return Ok(()) };
        match &request {
            Request::Choice(said) => {
                let answer = send_outcome(caller, said, &said.outcome)?.expect(200);
                assert_eq!(answer.body["repeated"], !found.is_empty(), "{}", answer.text);
                let seq = self.acknowledged(answer.seq(), found.first());
                self.kept.push(Kept { said: said.clone(), seq, withdrawn: None });
                self.figures.choices += 1;
            }
            Request::Import(rows) => {
                let answer =
                    caller.post("/v1/catalogs/c/choices", &json!({ "rows": rows.iter().map(row).collect::<Vec<_>>() }))?;
                let answer = answer.expect(200);
                let answered = answer.body["rows"].as_array().expect("rows");
                assert_eq!(answered.len(), rows.len(), "{}", answer.text);
                for (place, (said, own)) in rows.iter().zip(answered).enumerate() {
                    assert_eq!(own["status"], if found.is_empty() { "recorded" } else { "repeated" }, "{}", answer.text);
                    let seq = self.acknowledged(own["seq"].as_u64().expect("a position"), found.get(place));
                    self.kept.push(Kept { said: said.clone(), seq, withdrawn: None });
                }
                self.figures.imports += rows.len() as u64;
            }
            Request::Withdrawal(place) => {
                let answer = caller.delete(&format!("/v1/catalogs/c/choices/{}", self.kept[*place].said.id))?.expect(200);
                assert_eq!(answer.body["repeated"], !found.is_empty(), "{}", answer.text);
                self.kept[*place].withdrawn = Some(self.acknowledged(answer.seq(), found.first()));
                self.figures.withdrawals += 1;
            }
        }
        self.unsure = None;
        Ok(())
    }

    /// Where something is: where it was found, or after everything that this client had acknowledged.
    fn acknowledged(&mut self, seq: u64, found: Option<&u64>) -> u64 {
        match found {
            Some(&found) => assert_eq!(seq, found),
            None => assert!(seq > self.last, "client {}: {seq} after {}", self.number, self.last),
        }
        self.last = self.last.max(seq);
        seq
    }

    /// What was acknowledged, sent again: the first answer.
    fn repeat(&mut self, caller: &Caller) -> Result<(), Cut> {
        let Some(place) = self.any_kept(|_| true) else { return Ok(()) };
        let Kept { said, seq, withdrawn } = &self.kept[place];
        let answer = send_outcome(caller, said, &said.outcome)?.expect(200);
        assert_eq!(answer.seq(), *seq, "{}", answer.text);
        if said.token.is_some() {
            assert_eq!(answer.body["repeated"], true, "{}", answer.text);
            assert_eq!(answer.body.get("withdrawn").is_some_and(|own| own == true), withdrawn.is_some(), "{}", answer.text);
            let (name, value) = said.outcome.as_object().and_then(|outcome| outcome.iter().next()).expect("an outcome");
            assert_eq!(answer.body[name], *value, "{}", answer.text);
        } else {
            let status = if withdrawn.is_some() { "withdrawn" } else { "repeated" };
            assert_eq!(answer.body["status"], status, "{}", answer.text);
        }
        self.figures.repeats += 1;
        Ok(())
    }

    /// Another outcome of what was acknowledged: refused, with the first one.
    fn contradict(&mut self, caller: &Caller) -> Result<(), Cut> {
        let Some(place) = self.any_kept(|_| true) else { return Ok(()) };
        let Kept { said, seq, .. } = self.kept[place].clone();
        let outcome = self.outcome(&said.presented);
        // The same said in another way is the same.
        if outcome == said.outcome {
            return Ok(());
        }
        let answer = send_outcome(caller, &said, &outcome)?;
        if said.token.is_some() {
            answer.refused(409, "conflict");
            assert_eq!(answer.body["recorded"], said.outcome, "{}", answer.text);
        } else {
            assert_eq!(answer.body["status"], "conflict", "{}", answer.text);
        }
        assert_eq!(answer.seq(), seq, "{}", answer.text);
        self.figures.conflicts += 1;
        Ok(())
    }
}

/// Sends an outcome of a presentation or of one from elsewhere; the answer to the latter is that of its row.
fn send_outcome(caller: &Caller, said: &Said, outcome: &Value) -> Result<Answer, Cut> {
    if let Some(token) = &said.token {
        return caller.choose(&said.id, token, outcome);
    }
    let said = Said { outcome: outcome.clone(), ..said.clone() };
    let mut answer = caller.post("/v1/catalogs/c/choices", &json!({ "rows": [row(&said)] }))?.expect(200);
    answer.body = answer.body["rows"][0].take();
    Ok(answer)
}

/// A choice from elsewhere, to be imported.
fn row(said: &Said) -> Value {
    let mut row = said.outcome.clone();
    row["id"] = json!(said.id);
    row["presented"] = json!(said.presented);
    row["weight"] = json!(said.weight);
    if let Some(context) = &said.context {
        row["context"] = json!(context);
    }
    row
}
