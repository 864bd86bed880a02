//! Choices as they stand in the log.

use serde_json::{Value, json};

use crate::support::{Client, Own};

fn imported(client: &Client, ids: std::ops::Range<u32>, context: &str) {
    let row =
        |id: u32| json!({ "id": format!("row {id}"), "context": context, "presented": ["soup", "salad"], "chosen": ["soup"] });
    let rows: Vec<Value> = ids.map(row).collect();
    client.post("/v1/catalogs/lunch/choices", &json!({ "rows": rows })).expect(200);
}

#[test]
fn an_export_is_resumed_by_position() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    client.catalog("dinner", &["soup"]);
    imported(&client, 0..3, "ada");
    let elsewhere = client.present("dinner", &json!({})).expect(201);
    client.choose(&elsewhere, &json!({ "chosen": ["soup"] })).expect(200);
    imported(&client, 3..1_203, "bob");
    let all = client.exported("lunch", "");
    assert_eq!(all.len(), 1_203);
    let seqs: Vec<u64> = all.iter().filter_map(|row| row["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=3).chain(5..=1_204).collect::<Vec<u64>>());
    // Page by page, as long as something comes.
    let mut pages: Vec<Value> = Vec::new();
    loop {
        let after = pages.last().map_or(0, |row| row["seq"].as_u64().expect("a position"));
        let page = client.exported("lunch", &format!("?after={after}&limit=500"));
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 500);
        pages.extend(page);
    }
    assert_eq!(pages, all);
    assert_eq!(client.exported("lunch", "?after=1204"), Vec::<Value>::new());
    assert_eq!(client.exported("lunch", "?after=9999999"), Vec::<Value>::new());
    assert_eq!(client.exported("lunch", "?context=ada"), all[..3]);
    let first = json!({
        "presented": ["soup", "salad"], "chosen": ["soup"], "count": 1.0, "seq": 1, "kind": "import", "id": "row 0", "context": "ada",
        "time": all[0]["time"],
    });
    assert_eq!(all[0], first);
}

#[test]
fn an_export_is_json_lines_or_csv() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &[]);
    let names = json!(["a|b", "c,\"d\"", "=1+1"]);
    let rows = json!({ "rows": [
        { "id": "x,y", "presented": names, "chosen": ["a|b"], "time": "2026-01-01T00:00:00Z" },
        { "id": "z", "presented": ["soup", "salad"], "tied": ["soup", "salad"], "time": "2026-01-01T00:00:00Z", "context": "ada", "declinable": true },
    ] });
    client.post("/v1/catalogs/lunch/choices", &rows).expect(200);
    let lines = client.get("/v1/catalogs/lunch/choices").expect(200);
    assert_eq!(lines.headers["content-type"], "application/jsonl");
    let asked = client.header("accept", "text/csv").get("/v1/catalogs/lunch/choices").expect(200);
    let named = client.get("/v1/catalogs/lunch/choices?format=csv").expect(200);
    assert_eq!(asked.text, named.text);
    assert!(named.headers["content-type"].to_str().is_ok_and(|text| text.starts_with("text/csv")));
    let table: Vec<&str> = named.text.lines().collect();
    assert_eq!(table[0], "presented,chosen,tied,count,seq,kind,id,context,time,declinable");
    assert_eq!(table[2], "soup|salad,,soup|salad,1,2,import,z,ada,2026-01-01T00:00:00Z,true");
    assert_eq!((table.len(), lines.text.lines().count()), (3, 2));
    let first: Value = serde_json::from_str(lines.text.lines().next().expect("a line")).expect("a row");
    assert_eq!((&first["presented"], &first["id"]), (&names, &json!("x,y")));
    let rest = client.get("/v1/catalogs/lunch/choices?format=csv&after=1").expect(200);
    assert_eq!(rest.text.lines().collect::<Vec<_>>(), [table[0], table[2]]);
    let end = client.get("/v1/catalogs/lunch/choices?format=csv&after=2").expect(200);
    assert_eq!(end.text.lines().collect::<Vec<_>>(), [table[0]]);
}

/// Many pages of the log make one table.
#[test]
fn a_long_table_has_its_names_of_columns_once() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    imported(&client, 0..1_201, "ada");
    let table = client.get("/v1/catalogs/lunch/choices?format=csv").expect(200).text;
    assert_eq!(table.lines().filter(|line| line.starts_with("presented,")).count(), 1);
    assert_eq!(table.lines().count(), 1_202);
}

/// Whoever asks again until nothing more comes would stop too early.
#[test]
fn an_export_goes_on_behind_what_was_erased() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    imported(&client, 0..3, "ada");
    imported(&client, 3..4, "bob");
    client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    let ids = |rows: &[Value]| rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(ids(&client.exported("lunch", "")), ["row 3"]);
    assert_eq!(ids(&client.exported("lunch", "?limit=2")), ["row 3"]);
}

#[test]
fn what_cannot_be_exported_is_told() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    for query in ["limit=0", "limit=100001", "limit=x", "after=-1", "format=xml", "before=3", "context=%0A"] {
        client.get(&format!("/v1/catalogs/lunch/choices?{query}")).refused(422, "invalid");
    }
    client.get("/v1/catalogs/supper/choices").refused(404, "no-catalog");
}
