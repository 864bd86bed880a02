//! Writes a small database into a file: `cargo run -p unloop-store --example fixture -- FILE`. Files of older formats are kept in `tests/fixtures`
//! and opened by the tests; they were written by this program as it was then.
#![allow(missing_docs, clippy::print_stdout)]

use unloop_store::{
    Body, CatalogId, Change, Entry, Kind, OptionChange, Outcome, Snapshot, SnapshotKey, Sqlite, Store, StoreError, What, fold,
    load,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a file")?;
    let store = Sqlite::open(path.as_ref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(fill(&store))?;
    let digest = runtime.block_on(fold(&store, CatalogId(1), None))?.digest();
    println!("{}", blake3::Hash::from_bytes(digest).to_hex());
    Ok(())
}

async fn fill(store: &Sqlite) -> Result<(), StoreError> {
    store.change(Change::Catalog { name: "lunch".into(), settings: r#"{"size":3}"#.into(), expected: Some(0) }).await?;
    let options = ["soup", "salad", "curry", "ramen"].map(OptionChange::plain).to_vec();
    store.change(Change::Options { catalog: CatalogId(1), options, expected: None }).await?;
    let entry = |context: Option<&str>, what: What| Entry {
        catalog: CatalogId(1),
        context: context.map(str::to_owned),
        what,
        time: 1_700_000_000_000,
    };
    let menu = ["soup", "salad", "curry", "ramen"];
    for i in 0..40_usize {
        let id = format!("p{i}");
        let plain = Body::chosen(&[menu[i % 4], menu[(i + 1) % 4], menu[(i + 2) % 4]], menu[(i + i / 7) % 4]);
        let body = match i % 5 {
            3 => Body { outcome: Outcome::Tied(plain.presented[..2].to_vec()), weight: 0.5, ..plain },
            4 => Body { outcome: Outcome::None, declinable: i % 2 == 0, ..plain },
            _ => Body { outcome: Outcome::Chosen(vec![plain.presented[i % 3].clone()]), ..plain },
        };
        let context = ["ada", "bob", "cy"].get(i % 4).copied();
        let what = if i % 3 == 0 { What::Import { id, body } } else { What::Choice { id, body } };
        store.append(vec![entry(context, what)]).await?;
    }
    store.append(vec![entry(None, What::Withdrawal { of: Kind::Choice, id: "p7".into() })]).await?;
    store.append(vec![entry(None, What::Withdrawal { of: Kind::Import, id: "p9".into() })]).await?;
    store.erase(CatalogId(1), Some("cy".into()), 1_700_000_000_000).await?;
    for context in [Some("ada"), None] {
        let folded = load(store, CatalogId(1), context).await?;
        store.put_snapshots(vec![(SnapshotKey::new(CatalogId(1), context), Snapshot::of(&folded))]).await?;
    }
    Ok(())
}
