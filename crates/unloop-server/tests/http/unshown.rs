//! Unshown is untouched: whatever happens to others, an option that was never shown is believed to be what it was before.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Own};

const CASES: u64 = 20;
const STEPS: usize = 25;
const OTHERS: [&str; 5] = ["soup", "salad", "curry", "tart", "stew"];
const CONTEXTS: [Option<&str>; 3] = [None, Some("ada"), Some("bob")];

/// SplitMix64: the same histories every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % n as u64) as usize
    }

    /// Some of them, at least one.
    fn some(&mut self, of: &[String]) -> Vec<String> {
        let mut rest = of.to_vec();
        let count = 1 + self.below(of.len());
        (0..count).map(|_| rest.swap_remove(self.below(rest.len()))).collect()
    }

    fn outcome(&mut self, presented: &[String]) -> Value {
        match self.below(6) {
            0 => json!({ "none": true }),
            1 => json!({ "tied": self.some(presented) }),
            2 => json!({ "chosen": self.some(presented) }),
            _ => json!({ "chosen": [presented[self.below(presented.len())]] }),
        }
    }
}

/// Mean, spread and interval as they are written, in everybody's ranking and in each context's.
fn beliefs(client: &Client, catalog: &str, seq: u64) -> Vec<Vec<String>> {
    let of_context = |context: &str| {
        let ranking = client.get(&format!("/v1/catalogs/{catalog}/ranking?context={context}")).expect(200);
        let rows = ranking.body["rows"].as_array().expect("rows").clone();
        let row = rows.iter().find(|row| row["option"] == "unshown").expect("it is there");
        assert_eq!((&row["shown"], &row["chosen"]), (&json!(0.0), &json!(0.0)));
        assert!(context != "all" || ranking.body["seq"].as_u64() >= Some(seq), "a ranking from before");
        ["mean", "sd", "low", "high"].map(|field| row[field].to_string()).to_vec()
    };
    ["all", "ada", "bob"].map(of_context).to_vec()
}

/// Chooses, imports and withdraws without ever showing one option. The last position.
fn history(client: &Client, catalog: &str, dice: &mut Dice) -> u64 {
    let mut ids: Vec<String> = Vec::new();
    let mut last = 0;
    for step in 0..STEPS {
        let context = CONTEXTS[dice.below(3)];
        let answer: Answer = match dice.below(4) {
            0 if !ids.is_empty() => {
                let id = ids.swap_remove(dice.below(ids.len()));
                client.delete(&format!("/v1/catalogs/{catalog}/choices/{id}")).expect(200)
            }
            1 => {
                let set = dice.some(&OTHERS.map(str::to_owned));
                let mut row = dice.outcome(&set);
                row["id"] = json!(step.to_string());
                row["context"] = json!(context);
                row["weight"] = json!(1 + dice.below(3));
                row["presented"] = json!(set);
                let answer = client.post(&format!("/v1/catalogs/{catalog}/choices"), &json!({ "rows": [row] })).expect(200);
                assert_eq!(answer.body["rows"][0]["status"], "recorded");
                ids.push(step.to_string());
                Answer { body: answer.body["rows"][0].clone(), ..answer }
            }
            _ => {
                let asked = json!({ "context": context, "exclude": ["unshown"], "size": 1 + dice.below(5) });
                let shown = client.present(catalog, &asked).expect(201);
                ids.push(shown.body["id"].as_str().expect("an id").to_owned());
                client.choose(&shown, &dice.outcome(&shown.options())).expect(200)
            }
        };
        last = answer.body["seq"].as_u64().expect("a position");
    }
    last
}

#[test]
fn beliefs_about_an_option_that_was_never_shown_stay_to_the_last_digit() {
    let own = Own::new();
    let client = own.client();
    for case in 0..CASES {
        let mut dice = Dice(case);
        let catalog = format!("case-{case}");
        let prior = [0.1, 1.0, 2.5][dice.below(3)];
        let weight = [None, Some(0.7), Some(4.0)][dice.below(3)];
        let mut options = vec![json!({ "option": "unshown", "prior": weight })];
        options.extend(OTHERS.map(|name| json!(name)));
        let given = json!({ "options": options, "prior": prior, "no_choice": dice.below(2) == 0 });
        client.put(&format!("/v1/catalogs/{catalog}"), &given).expect(201);
        let before = beliefs(&client, &catalog, 0);
        assert!(before.iter().all(|own| *own == before[0]), "a context that is not known is like any other");
        let last = history(&client, &catalog, &mut dice);
        assert_eq!(beliefs(&client, &catalog, last), before, "case {case}");
    }
}
