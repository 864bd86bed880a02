//! Pages over real HTTP: what browsers are held to, who may look, what is exported. What people see is tested in a browser (`tests/browser`).

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Answer, Client, Own, beside, soon, wait};
use unloop_server::Scope;
use unloop_store::{Change, Store};

/// Sends a form, from one of the server's own pages unless told otherwise.
fn send_form(client: &Client, path: &str, fields: &str, origin: Option<&str>) -> Answer {
    let client = client.header("content-type", "application/x-www-form-urlencoded");
    let client = origin.map_or(client.clone(), |origin| client.header("origin", origin));
    client.send("POST", path, Some(fields))
}

fn own_origin(own: &Own) -> String {
    format!("http://{}", own.address())
}

/// A catalog with choices: soup over salad, and curry that nobody was shown.
fn with_choices() -> Own {
    let own = Own::new();
    own.client().catalog("lunch", &["soup", "salad", "curry"]);
    let rows: Vec<Value> = (0..15)
        .map(|i| json!({ "id": i.to_string(), "context": "ada", "presented": ["soup", "salad"], "chosen": [if i < 10 { "soup" } else { "salad" }] }))
        .collect();
    own.client().post("/v1/catalogs/lunch/choices", &json!({ "rows": rows })).expect(200);
    own
}

const PAGES: [&str; 7] =
    ["/", "/catalogs/lunch", "/catalogs/lunch/contexts", "/catalogs/lunch/context?name=ada", "/try", "/health", "/sign-in"];

#[test]
fn no_page_lets_a_browser_run_or_load_anything_of_others() {
    let own = with_choices();
    for path in PAGES.into_iter().chain(["/catalogs/none"]) {
        let page = own.client().get(path);
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{path}");
        assert_eq!(page.headers["cache-control"], "no-store", "{path}");
        // Neither scripts nor styles stand in a page, and nothing is named that lies elsewhere.
        assert!(!page.text.contains(" style=") && !page.text.contains("<style") && !page.text.contains(" onclick"), "{path}");
        for part in page.text.split("<script").skip(1) {
            assert!(part.starts_with(" src=\"/assets/"), "{path}: {part:.60}");
        }
        assert!(!page.text.contains("src=\"http") && !page.text.contains("href=\"http"), "{path}");
    }
    assert_eq!(own.client().get("/catalogs/none").status, 404);
    let script = own.client().get("/assets/app.js").expect(200);
    assert!(script.headers["cache-control"].to_str().unwrap().contains("immutable"));
    own.client().get("/assets/..%2Fapp.js").expect(404);
}

#[test]
fn forms_are_taken_from_the_same_origin_alone() {
    let own = with_choices();
    let client = own.client();
    let fields = "name=other&options=a%0Ab&size=1";
    for origin in [None, Some("https://evil.example"), Some("null"), Some("http://localhost")] {
        send_form(&client, "/catalogs", fields, origin).refused(403, "origin");
        send_form(&client, "/catalogs/lunch/context/erase", "name=ada&again=ada", origin).refused(403, "origin");
    }
    client.get("/v1/catalogs/other").refused(404, "no-catalog");
    let made = send_form(&client, "/catalogs", fields, Some(&own_origin(&own)));
    // Whoever follows is at the new page.
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(client.get("/v1/catalogs/other").expect(200).body["size"], 1);
    // JSON is for calls, forms are for pages.
    client.header("origin", &own_origin(&own)).post("/catalogs", &json!({})).expect(415);
}

/// The session of a key: the cookie as a browser would send it.
fn signed_in(own: &Own, key: &str) -> Option<String> {
    let body = format!("key={key}&to=%2F");
    let origin = own_origin(own);
    let host = own.address();
    let request = format!(
        "POST /sign-in HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = support::raw(own.address(), &request);
    let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie:"))?.to_owned();
    assert!(line.contains("HttpOnly") && line.contains("SameSite=Strict") && line.contains("Max-Age=43200"), "{line}");
    assert!(!line.contains("Secure"), "{line}");
    line.split_once(':')?.1.trim().split(';').next().map(str::to_owned)
}

#[test]
fn a_session_lasts_as_long_as_its_key() {
    let own = with_choices();
    let (id, admin) = own.make_key(&[Scope::Admin], None, None);
    let (_, reader) = own.make_key(&[Scope::Read, Scope::Present, Scope::Choose], None, None);
    assert!(soon(|| own.client().get("/v1/catalogs").status == 401));
    assert_eq!(signed_in(&own, &reader), None);
    assert_eq!(signed_in(&own, "unloop_nonsense"), None);
    let cookie = signed_in(&own, &admin).expect("a cookie");
    let visitor = own.client().header("cookie", &cookie);
    assert!(visitor.get("/catalogs/lunch").expect(200).text.contains("Sign out"));
    // It is for pages, not for calls; and nothing of it can be changed.
    visitor.get("/v1/catalogs").refused(401, "no-key");
    for place in COOKIE_NAME..cookie.len() {
        let mut changed = cookie.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let page = own.client().header("cookie", std::str::from_utf8(&changed).unwrap()).get("/");
        assert!(page.text.contains("<h1>Sign in</h1>"), "character {place}");
    }
    // A stream that is open ends with the key.
    let mut stream = TcpStream::connect(own.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /catalogs/lunch/live HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("event: part")));
    wait(beside(&own.folder.database()).change(Change::Revoke { id }));
    assert!(soon(|| visitor.get("/").text.contains("<h1>Sign in</h1>")));
    let start = Instant::now();
    // The last chunk of a body that has ended.
    assert!(lines.map_while(Result::ok).any(|line| line == "0"));
    assert!(start.elapsed() < Duration::from_secs(15));
}

const COOKIE_NAME: usize = "unloop_session=".len();

#[test]
fn a_key_of_one_catalog_sees_that_one() {
    let own = with_choices();
    own.client().catalog("secret", &["a", "b"]);
    let (_, key) = own.make_key(&[Scope::Admin], Some(own.number("lunch")), None);
    assert!(soon(|| own.client().get("/v1/catalogs").status == 401));
    let visitor = own.client().header("cookie", &signed_in(&own, &key).expect("a cookie"));
    let page = visitor.get("/").expect(200).text;
    assert!(page.contains("/catalogs/lunch") && !page.contains("/catalogs/secret") && !page.contains("New catalog"));
    visitor.get("/catalogs/secret").expect(403);
    visitor.get("/catalogs/secret/export/ranking.csv").expect(403);
    let made = send_form(&visitor, "/catalogs", "name=third&options=a&size=1", Some(&own_origin(&own)));
    assert_eq!(made.status, 422, "{}", made.text);
}

/// What the fairness panel says of an option that nobody was shown: exactly its prior; and of the blind counter, that it would starve it.
#[test]
fn a_never_shown_option_is_at_its_prior_and_the_blind_counter_would_starve_it() {
    let own = with_choices();
    own.client().patch("/v1/catalogs/lunch", &json!({ "size": 2 })).expect(200);
    let rows = || own.client().get("/catalogs/lunch/export/fairness.json").body["rows"].as_array().cloned().unwrap_or_default();
    assert!(soon(|| rows().len() == 3 && rows()[0]["blind"].is_number()));
    let rows = rows();
    let row = |name: &str| rows.iter().find(|row| row["option"] == name).expect("a row").clone();
    let curry = row("curry");
    assert_eq!((curry["prior"].as_f64(), curry["posterior"].as_f64()), (Some(1.0 / 3.0), Some(1.0 / 3.0)), "{curry}");
    assert_eq!((curry["shown"].as_f64(), curry["starved_by_blind"].as_bool()), (Some(0.0), Some(true)), "{curry}");
    // Dirichlet(11, 6, 1): that counter gives it a share of 1/18.
    assert!((curry["blind"].as_f64().unwrap() - 1.0 / 18.0).abs() < 1e-9, "{curry}");
    assert_eq!(row("soup")["starved_by_blind"], false);
    let page = own.client().get("/catalogs/lunch").expect(200).text;
    assert!(page.contains("at its prior") && page.contains("starved by a blind counter"));
}

#[test]
fn what_is_seen_can_be_taken_along() {
    let own = with_choices();
    let client = own.client();
    let files = [
        ("ranking.csv", "text/csv; charset=utf-8", "option,rank,mean"),
        ("ranking.json", "application/json", "{\"rows\":[{\"option\":\"soup\""),
        ("ranking.svg", "image/svg+xml", "<svg"),
        ("fairness.csv", "text/csv; charset=utf-8", "option,rank,served"),
        ("pairs.csv?pick=soup&pick=curry", "text/csv; charset=utf-8", "option,over,mean"),
        ("pairs.svg", "image/svg+xml", "<svg"),
        ("prediction.json?pick=soup&pick=curry", "application/json", "{\"rows\":[{\"option\":"),
        ("prediction.svg?pick=soup&pick=curry", "image/svg+xml", "<svg"),
        ("simplex.svg", "image/svg+xml", "<svg"),
        ("best.csv", "text/csv; charset=utf-8", "time"),
        ("choices.csv", "text/csv; charset=utf-8", "presented,chosen"),
    ];
    for (file, media, begin) in files {
        assert!(soon(|| client.get(&format!("/catalogs/lunch/export/{file}")).status == 200), "{file}");
        let answer = client.get(&format!("/catalogs/lunch/export/{file}"));
        assert_eq!(answer.headers["content-type"], media, "{file}");
        assert!(answer.text.trim_start().starts_with(begin), "{file}: {:.80}", answer.text);
    }
    assert_eq!(client.get("/catalogs/lunch/export/choices.csv").text.lines().count(), 16);
    assert_eq!(client.get("/catalogs/lunch/context/export/choices.csv?name=ada").text.lines().count(), 16);
    for file in ["ranking.pdf", "nothing.csv", "fairness.svg", "prediction.csv?pick=soup", "best"] {
        client.get(&format!("/catalogs/lunch/export/{file}")).expect(404);
    }
    let chances = client.get("/catalogs/lunch/export/prediction.json?pick=soup&pick=salad").body["rows"].clone();
    let sum: f64 = chances.as_array().unwrap().iter().map(|row| row["probability"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
}

/// Exposure over time is what the store noted: another server, a restart later, shows the same.
#[test]
fn trends_outlive_a_restart() {
    let mut own = with_choices();
    for _ in 0..20 {
        own.client().present("lunch", &json!({ "size": 2 })).expect(201);
    }
    let served = |own: &Own| -> f64 {
        let rows = own.client().get("/catalogs/lunch/export/fairness.json").body["rows"].clone();
        rows.as_array().into_iter().flatten().filter_map(|row| row["served"].as_f64()).sum()
    };
    assert!(soon(|| served(&own) == 40.0));
    own.restart();
    assert!(soon(|| served(&own) == 40.0), "{}", served(&own));
}

/// Sixteen at a time: with one more the first is gone. Nothing of them is in the log.
#[test]
fn scratch_catalogs_are_few_and_leave_no_trace() {
    let own = with_choices();
    let head = wait(beside(&own.folder.database()).head());
    let begin = || {
        let body = "options=a%0Ab%0Ac&size=2";
        let host = own.address();
        let request = format!(
            "POST /try HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let answer = support::raw(own.address(), &request);
        let line = answer.lines().find(|line| line.starts_with("location:")).expect("a place").to_owned();
        line.split_once(' ').expect("a path").1.trim().to_owned()
    };
    let places: Vec<String> = (0..16).map(|_| begin()).collect();
    own.client().get(&places[0]).expect(200);
    let token = |page: &str| page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let page = own.client().get(&places[0]).text;
    let shown = page.split("name=\"chosen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let fields = format!("token={}&chosen={shown}", token(&page));
    let chosen = send_form(&own.client(), &format!("{}/choose", places[0]), &fields, Some(&own_origin(&own)));
    assert!(chosen.text.contains("after 1 choices"), "{}", chosen.text);
    // Again, it is the same choice; another token is none of that catalog.
    let again = send_form(&own.client(), &format!("{}/choose", places[0]), &fields, Some(&own_origin(&own)));
    assert!(again.text.contains("after 1 choices"));
    send_form(&own.client(), &format!("{}/choose", places[1]), &fields, Some(&own_origin(&own))).expect(403);
    begin();
    // The one that was not used for longest: the second, as the first was used since.
    own.client().get(&places[2]).expect(404);
    own.client().get(&places[0]).expect(200);
    assert_eq!(wait(beside(&own.folder.database()).head()), head);
    for fields in ["options=a&size=1", "options=a%0Ab&size=3", "options=a%0Ab&size=x", "options=&size=2"] {
        assert_eq!(send_form(&own.client(), "/try", fields, Some(&own_origin(&own))).status, 422, "{fields}");
    }
}

/// A server that is told to end does not wait for pages that are open.
#[test]
fn open_streams_do_not_keep_a_server_from_ending() {
    let mut own = with_choices();
    let streams: Vec<TcpStream> = (0..5)
        .map(|_| {
            let mut stream = TcpStream::connect(own.address()).unwrap();
            write!(stream, "GET /catalogs/lunch/live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    own.server = None;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(streams);
}
