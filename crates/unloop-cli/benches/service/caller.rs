//! Somebody who calls, by hand on a socket: the client shares two cores with the server, and must not be what is measured.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection that is kept.
pub(crate) struct Caller {
    stream: TcpStream,
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Caller {
    pub(crate) async fn new(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, sent: Vec::new(), received: Vec::new() })
    }

    /// Posts JSON; the status and the body.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Result<(u16, &[u8])> {
        self.call("POST", path, body).await
    }

    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, &[u8])> {
        self.sent.clear();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.sent.extend_from_slice(head.as_bytes());
        self.sent.extend_from_slice(body.as_bytes());
        self.stream.write_all(&self.sent).await?;
        self.received.clear();
        let (status, start, end) = loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(found) = parse(&self.received)? {
                break found;
            }
        };
        while self.received.len() < end {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok((status, &self.received[start..end]))
    }
}

/// The status, and where the body begins and ends; nothing before the head is whole.
fn parse(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let bad = || Error::new(ErrorKind::InvalidData, "no answer of HTTP");
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| bad())?;
    let status = head.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Ok(Some((status, end + 4, end + 4 + length.ok_or_else(bad)?)))
}
