//! Somebody who calls, by hand on a socket: the client shares two cores with the server, and must not be what is measured.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection that is kept.
pub(crate) struct Caller {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Caller {
    pub(crate) async fn new(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// Posts JSON; the status and the body.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Result<(u16, &[u8])> {
        self.call("POST", path, body).await
    }

    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, &[u8])> {
        self.stream.write_all(&request(method, path, body)).await?;
        self.received.clear();
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(Answer { status, start, end }) = Answer::parse(&self.received)? {
                return Ok((status, &self.received[start..end]));
            }
        }
    }
}

/// The bytes of a request.
pub(crate) fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// An answer: its status, and where its body begins and ends.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Answer {
    /// Out of what has come; none before it is whole.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let bad = || Error::new(ErrorKind::InvalidData, "no answer of HTTP");
        let text = std::str::from_utf8(&bytes[..head]).map_err(|_| bad())?;
        let status = text.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
        let length = text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let start = head + 4;
        let end = start + length.ok_or_else(bad)?;
        Ok((bytes.len() >= end).then_some(Self { status, start, end }))
    }
}
