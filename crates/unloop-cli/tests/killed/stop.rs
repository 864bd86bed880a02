//! A server that is told to end in the middle of traffic: what was sent before is answered, and then it ends.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::caller::Caller;
use super::client::CATALOG;
use super::process::{Folder, Process};

/// Cycles of the whole test for each time that it is told to end.
const ROUND: u64 = 5;
const CLIENTS: usize = 16;
/// Idle connections and answers to what was sent do not take longer.
const ENDS_IN: Duration = Duration::from_secs(3);

/// What became of a request.
enum Ending {
    Answered(u16, Value),
    /// The connection ended before the first byte of an answer.
    Dropped,
    /// Nobody took the connection.
    Refused,
}

/// A connection that is used again and again.
struct Connection {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Connection {
    fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Sends a request and waits for its answer; when all of it was sent, and what became of it.
    fn call(&mut self, path: &str, body: &Value) -> (Instant, Ending) {
        let stream = match self.stream.take() {
            Some(stream) => Ok(stream),
            None => TcpStream::connect(self.address),
        };
        let Ok(mut stream) = stream else { return (Instant::now(), Ending::Refused) };
        stream.set_nodelay(true).expect("a setting");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a setting");
        if stream.write_all(request(path, body).as_bytes()).is_err() {
            return (Instant::now(), Ending::Refused);
        }
        let sent = Instant::now();
        let Some((status, head, answer)) = read(&mut stream) else { return (sent, Ending::Dropped) };
        if !head.contains("connection: close") {
            self.stream = Some(stream);
        }
        (sent, Ending::Answered(status, answer))
    }
}

fn request(path: &str, body: &Value) -> String {
    let text = body.to_string();
    let head = "host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length";
    format!("POST {path} HTTP/1.1\r\n{head}: {}\r\n\r\n{text}", text.len())
}

/// An answer: status, head, body; nothing if the connection ended before it. Half of one is never right.
fn read(stream: &mut TcpStream) -> Option<(u16, String, Value)> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        let count = match stream.read(&mut part) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => 0,
            Err(error) => panic!("no answer: {error}"),
        };
        if count == 0 {
            assert!(bytes.is_empty(), "half an answer: {}", String::from_utf8_lossy(&bytes));
            return None;
        }
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() == length.expect("a length") {
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
            let value = serde_json::from_str(body).unwrap_or(Value::Null);
            return Some((status, head, value));
        }
    }
}

#[derive(Default)]
struct Told {
    /// Positions of what was acknowledged, by id.
    acknowledged: HashMap<String, u64>,
    /// When requests were sent to which there was no answer.
    dropped: Vec<Instant>,
    answers: usize,
}

pub(crate) fn answers_what_was_sent(cycles: u64, seed: u64) {
    let rounds = cycles.div_ceil(ROUND);
    let folder = Folder::new("stop");
    let mut all: HashMap<String, u64> = HashMap::new();
    let mut answers = 0;
    for round in 0..rounds {
        let mut server = Process::start(&folder.database(), &["--catalog", CATALOG]);
        let address = server.address;
        let ended = AtomicBool::new(false);
        let (mut slow, rest) = half_sent(address);
        let idle = TcpStream::connect(address).expect("a connection");
        let (signalled, told) = std::thread::scope(|scope| {
            let ended = &ended;
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(move || traffic(address, ended))).collect();
            std::thread::sleep(Duration::from_millis(100 + seed.wrapping_mul(37).wrapping_add(53 * round) % 150));
            let signalled = Instant::now();
            server.tell_to_end();
            ended.store(true, Ordering::SeqCst);
            let told: Vec<Told> = clients.into_iter().map(|client| client.join().expect("a client")).collect();
            (signalled, told)
        });
        // Its head had been read: the rest is waited for.
        std::thread::sleep(Duration::from_millis(100));
        slow.write_all(rest.as_bytes()).expect("it is still read");
        let (status, head, _) = read(&mut slow).expect("an answer to what was begun before");
        assert!(status == 201 && head.contains("connection: close"), "{head}");
        let time = server.ended();
        assert!(time < ENDS_IN, "it took {time:?} to end");
        assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
        drop(idle);
        let mut lost: Vec<Duration> = Vec::new();
        for own in told {
            answers += own.answers;
            all.extend(own.acknowledged);
            lost.extend(own.dropped.into_iter().filter_map(|sent| signalled.checked_duration_since(sent)));
        }
        assert!(lost.is_empty(), "round {round}: no answer to requests that were sent so long before the signal: {lost:?}");
    }
    let server = Process::start(&folder.database(), &[]);
    let exported = Caller::new(server.address).exported().expect("rows");
    let found: HashMap<&str, u64> = exported.iter().filter_map(|row| Some((row["id"].as_str()?, row["seq"].as_u64()?))).collect();
    for (id, seq) in &all {
        assert_eq!(found.get(id.as_str()), Some(seq), "{id} was acknowledged");
    }
    server.stop();
    folder.verify();
    println!("told to end {rounds} times among {answers} answers, {} choices acknowledged, none lost", all.len());
}

/// Whoever reads where it is can end it at once: that it said so means that it is ready for it.
pub(crate) fn ends_in_good_order_from_the_first_moment(cycles: u64, _: u64) {
    let folder = Folder::new("stop-at-once");
    for _ in 0..cycles {
        Process::start(&folder.database(), &["--catalog", CATALOG]).stop();
    }
}

/// A request of which the last half is not sent yet, and that half.
fn half_sent(address: SocketAddr) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let text = request("/v1/catalogs/c/presentations", &json!({ "context": "slow", "size": 2 }));
    let (first, rest) = text.split_at(text.len() - 12);
    stream.write_all(first.as_bytes()).expect("sent");
    (stream, rest.to_owned())
}

/// Presents and chooses until there is no more answer.
fn traffic(address: SocketAddr, ended: &AtomicBool) -> Told {
    let mut connection = Connection::new(address);
    let mut told = Told::default();
    let mut call = |told: &mut Told, path: &str, body: &Value, status: u16| {
        // Who was told that it ends asks once more, and takes no for an answer.
        let before = ended.load(Ordering::SeqCst);
        match connection.call(path, body) {
            (_, Ending::Answered(found, body)) => {
                assert_eq!(found, status, "{body}");
                told.answers += 1;
                Some(body)
            }
            (sent, Ending::Dropped) => {
                told.dropped.push(sent);
                None
            }
            (_, Ending::Refused) => {
                let after = before || ended.load(Ordering::SeqCst) || soon_after(ended);
                assert!(after, "refused though nobody told it to end");
                None
            }
        }
    };
    loop {
        let Some(presentation) = call(&mut told, "/v1/catalogs/c/presentations", &json!({ "size": 2 }), 201) else { return told };
        let id = presentation["id"].as_str().expect("an id").to_owned();
        let body = json!({ "token": presentation["token"], "chosen": [presentation["options"][1]["option"]] });
        let Some(choice) = call(&mut told, &format!("/v1/presentations/{id}/choice"), &body, 200) else { return told };
        told.acknowledged.insert(id, choice["seq"].as_u64().expect("a position"));
    }
}

/// The signal arrives before whoever sent it knows.
fn soon_after(ended: &AtomicBool) -> bool {
    std::thread::sleep(Duration::from_millis(200));
    ended.load(Ordering::SeqCst)
}
