//! Requests at a steady rate, whether or not the server keeps up; the time of each counts from when it was due.
//!
//! One thread that waits for answers and for the next request to be due, both at once. A runtime with timers of milliseconds, or a clock in a thread of its own,
//! would be a part of what is measured.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use polling::{Event, Events, PollMode, Poller};

use super::caller::Answer;
use super::figures::{Cores, Load};

/// Answers that are looked at before the next requests are sent.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("some");
/// A stretch of a load with figures of its own.
const STRETCH: Duration = Duration::from_secs(1);

/// A request: its bytes, by its number; and whether the answer is a good one.
pub(crate) trait Calls {
    fn request(&mut self, number: usize) -> &[u8];
    fn answered(&mut self, status: u16, body: &[u8]) -> bool;
}

/// What came of a load: each second of it, by when requests were due.
pub(crate) struct Loaded {
    pub(crate) seconds: Vec<Load>,
}

impl Loaded {
    pub(crate) fn whole(&self) -> Load {
        self.sum(|_| true)
    }

    /// The seconds in which nothing was stolen, and how many these are.
    pub(crate) fn quiet(&self) -> (Load, usize) {
        let quiet = |second: &Load| second.stolen == 0.0 && !second.times.is_empty();
        (self.sum(quiet), self.seconds.iter().filter(|second| quiet(second)).count())
    }

    fn sum(&self, which: impl Fn(&Load) -> bool) -> Load {
        let mut sum = Load::new();
        self.seconds.iter().filter(|second| which(second)).for_each(|second| sum.add(second));
        sum
    }
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    /// When the request was due whose answer it waits for, and in which second.
    since: Instant,
    second: usize,
}

/// Sends requests at a rate over some connections (open loop), or as fast as each is answered if there is no rate (closed loop).
pub(crate) fn load(address: SocketAddr, calls: &mut dyn Calls, count: usize, rate: Option<f64>, connections: usize) -> Loaded {
    let poller = Poller::new().expect("a poller");
    let mut all: Vec<Connection> = (0..connections).map(|number| connect(address, number, &poller)).collect();
    // In turn: the server closes a connection on which nothing comes for long.
    let mut idle: VecDeque<usize> = (0..connections).collect();
    let mut events = Events::with_capacity(AT_ONCE);
    let begin = Instant::now();
    let mut seconds = Seconds { begin, done: Vec::new(), cores: Cores::now() };
    let (mut sent, mut answered) = (0, 0);
    while answered < count {
        let now = Instant::now();
        seconds.reach(now);
        let due = |number: usize| rate.map_or(now, |rate| begin + Duration::from_secs_f64(number as f64 / rate));
        while sent < count
            && due(sent) <= now
            && let Some(free) = idle.pop_front()
        {
            let since = due(sent);
            let second = (since - begin).as_nanos() / STRETCH.as_nanos();
            let own = &mut all[free];
            (own.since, own.second) = (since, second as usize);
            own.received.clear();
            // Small, and the last one was answered: there is room for it.
            own.stream.write_all(calls.request(sent)).expect("sent");
            sent += 1;
        }
        // Without a connection that is free the next one waits; its time runs.
        let patience = (sent < count && !idle.is_empty()).then(|| due(sent).saturating_duration_since(Instant::now()));
        events.clear();
        poller.wait(&mut events, patience).expect("events");
        for event in events.iter() {
            let own = &mut all[event.key];
            let Some(answer) = own.receive() else { continue };
            let load = seconds.of(own.second);
            let good = calls.answered(answer.status, &own.received[answer.start..answer.end]);
            load.errors += u64::from(!good);
            load.times.saturating_record(u64::try_from(own.since.elapsed().as_micros()).unwrap_or(u64::MAX).max(1));
            answered += 1;
            idle.push_back(event.key);
        }
    }
    all.iter().for_each(|own| poller.delete(&own.stream).expect("known"));
    seconds.end()
}

fn connect(address: SocketAddr, number: usize, poller: &Poller) -> Connection {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).expect("set");
    // SAFETY: it is deleted from the poller before it goes.
    unsafe { poller.add_with_mode(&stream, Event::readable(number), PollMode::Level) }.expect("watched");
    Connection { stream, received: Vec::new(), since: Instant::now(), second: 0 }
}

impl Connection {
    /// The answer, once it is whole. A connection that breaks is no load that anybody could compare.
    fn receive(&mut self) -> Option<Answer> {
        let mut bytes = [0; 4_096];
        match self.stream.read(&mut bytes) {
            Ok(0) => panic!("the server hung up"),
            Ok(length) => self.received.extend_from_slice(&bytes[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) => panic!("{error}"),
        }
        Answer::parse(&self.received).expect("an answer")
    }
}

/// Figures of each second.
struct Seconds {
    begin: Instant,
    done: Vec<Load>,
    /// As they were when the last one began.
    cores: Cores,
}

impl Seconds {
    /// Those of a second that has begun.
    fn of(&mut self, second: usize) -> &mut Load {
        while self.done.len() <= second {
            self.done.push(Load::new());
        }
        &mut self.done[second]
    }

    /// Closes what is over.
    fn reach(&mut self, now: Instant) {
        let current = ((now - self.begin).as_nanos() / STRETCH.as_nanos()) as usize;
        if current >= self.done.len() {
            self.close(STRETCH.as_secs_f64());
            self.of(current);
        }
    }

    fn close(&mut self, seconds: f64) {
        let cores = std::mem::replace(&mut self.cores, Cores::now());
        if let Some(last) = self.done.last_mut() {
            (last.seconds, last.stolen) = (seconds, cores.stolen());
        }
    }

    fn end(mut self) -> Loaded {
        let over = self.begin.elapsed().as_secs_f64() - STRETCH.as_secs_f64() * self.done.len().saturating_sub(1) as f64;
        self.close(over);
        Loaded { seconds: self.done }
    }
}
