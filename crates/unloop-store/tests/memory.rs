//! What a context says it takes is what it takes: a server's memory is bounded by these figures alone.
#![allow(missing_docs)]

use allocation_counter::measure;
use rand::seq::index::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop::{OptionId, Options, Presentation, Presenter, Statistics};
use unloop_store::{Body, CatalogId, Event, Fold, Kind};

/// Options of the catalog.
const OPTIONS: usize = 300;
/// By how much of itself a figure may be off.
const TOLERANCE: f64 = 0.02;

fn event(seq: u64, rng: &mut ChaCha8Rng) -> Event {
    let names: Vec<String> = sample(rng, OPTIONS, 5).into_iter().map(|option| format!("option-{option}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let body = Body::chosen(&names, names[rng.random_range(0..names.len())]);
    Event { seq, catalog: CatalogId(1), context: None, kind: Kind::Choice, id: seq.to_string(), body: Some(body), time: 0 }
}

/// What it takes by the allocator, and what it says.
fn check(what: &str, make: impl FnOnce() -> usize) {
    let mut told = 0;
    let taken = measure(|| told = make()).bytes_current as f64;
    let told = told as f64;
    println!("{what}: takes {taken}, says {told}, {:.3}", told / taken);
    assert!((told / taken - 1.0).abs() < TOLERANCE, "{what}: takes {taken} bytes and says {told}");
}

#[test]
fn a_fold_knows_its_size() {
    for count in [1, 5, 30, 300, 3_000] {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let events: Vec<Event> = (1..=count).map(|seq| event(seq, &mut rng)).collect();
        check(&format!("a fold of {count}"), || {
            let mut fold = Box::new(Fold::new());
            for event in &events {
                fold.apply(event).unwrap();
            }
            let bytes = fold.heap_bytes();
            std::mem::forget(fold);
            bytes
        });
    }
}

#[test]
fn a_presenter_knows_its_size() {
    let names = Options::from_names((0..OPTIONS).map(|option| format!("option-{option}"))).unwrap();
    for count in [1, 5, 30, 300, 3_000] {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut draw = || {
            let members = sample(&mut rng, OPTIONS, 5).into_iter().map(|option| OptionId::new(option as u32));
            Presentation::new(members).unwrap()
        };
        let mut statistics = Statistics::new(OPTIONS);
        let mut more = Vec::new();
        for number in 0..2 * count {
            let shown = draw();
            let choice = shown.choose(shown.members()[0]).unwrap();
            if number < count {
                statistics.record(shown.members().iter().copied(), shown.members()[0], 1.0).unwrap();
            } else {
                more.push(choice);
            }
        }
        check(&format!("a presenter of {count} and {count} more"), || {
            let builder = Presenter::builder().shared_options(names.clone(), vec![1.0; OPTIONS]).seed(3);
            let mut presenter = Box::new(builder.build_with(&statistics).unwrap());
            for choice in &more {
                presenter.record_choice(choice, 1.0).unwrap();
                presenter.present(5).unwrap();
            }
            let bytes = presenter.heap_bytes();
            std::mem::forget(presenter);
            bytes
        });
    }
}
