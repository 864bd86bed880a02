//! Present and choose, over real HTTP and a real database.

mod support;

use serde_json::json;
use support::Own;

#[test]
fn a_choice_is_recorded_once_and_repeated_with_the_first_answer() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry"]);
    let shown = client.present("lunch", &json!({ "context": "ada", "size": 2 })).expect(201);
    let first = &shown.options()[0];
    let answer = client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
    assert_eq!((answer.body["seq"].as_u64(), answer.body["repeated"].as_bool()), (Some(1), Some(false)));
    let again = client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
    assert_eq!((again.body["seq"].as_u64(), again.body["repeated"].as_bool()), (Some(1), Some(true)));
    let ranking = client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200);
    assert_eq!((ranking.body["presentations"].as_f64(), ranking.body["seq"].as_u64()), (Some(1.0), Some(1)));
}
