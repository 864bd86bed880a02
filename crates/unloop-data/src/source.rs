//! A file or stream to read from: gzip undone, bytes counted, its kind found out from its first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Problem, ReadError};

/// Read at a time.
const BUFFER: usize = 1 << 17;
/// Read ahead at most, and at least.
const AHEAD: usize = 1 << 16;
const LONGEST_MAGIC: usize = 6;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Something to read choices from.
pub struct Source {
    pub(crate) name: String,
    pub(crate) content: Content,
    /// Bytes, as far as they are known before reading.
    pub size: Option<u64>,
}

pub(crate) enum Content {
    /// A stream of which nothing was read yet.
    Unknown(Box<dyn BufRead + Send>),
    /// Text, with gzip undone.
    Text(Box<dyn BufRead + Send>),
    /// A Parquet file, which needs to be read from its end.
    #[cfg(feature = "parquet")]
    Parquet(std::path::PathBuf),
}

impl Source {
    /// A file; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened, or is of a kind that is not read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::open_counted(path, &Arc::default())
    }

    /// As [`open`](Self::open); bytes are added to a counter as they are read, before decompression.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_counted(path: impl AsRef<Path>, read: &Arc<AtomicU64>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        if path == Path::new("-") {
            let input = Counted { inner: io::stdin(), read: Arc::clone(read) };
            return Self::with_content("standard input", None, None, Box::new(BufReader::with_capacity(BUFFER, input)));
        }
        let name = path.display().to_string();
        let failed = |error| ReadError { file: name.clone(), line: None, column: None, problem: Problem::Io(error) };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")));
        }
        let input = Counted { inner: file, read: Arc::clone(read) };
        let size = metadata.is_file().then_some(metadata.len());
        Self::with_content(&name, size, Some(path), Box::new(BufReader::with_capacity(BUFFER, input)))
    }

    /// A stream with a name for messages. What it is, and whether it can be read, is found out when it is read.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        let input = Box::new(BufReader::with_capacity(BUFFER, reader));
        Self { name: name.into(), content: Content::Unknown(input), size: None }
    }

    /// The content, found out if it was not yet.
    pub(crate) fn found(self) -> Result<Self, ReadError> {
        if let Content::Unknown(input) = self.content { Self::with_content(&self.name, self.size, None, input) } else { Ok(self) }
    }

    fn with_content(
        name: &str,
        size: Option<u64>,
        #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "only Parquet files are opened again"))]
        path: Option<&Path>,
        input: Box<dyn BufRead + Send>,
    ) -> Result<Self, ReadError> {
        let failed = |problem| ReadError { file: name.into(), line: None, column: None, problem };
        let mut input = ahead(input).map_err(|error| failed(error.into()))?;
        let start = input.fill_buf().map_err(|error| failed(error.into()))?;
        let content = match Kind::of(start) {
            Kind::Gzip => {
                let text = BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input));
                Content::Text(ahead(Box::new(text)).map_err(|error| failed(error.into()))?)
            }
            #[cfg(feature = "parquet")]
            Kind::Parquet => Content::Parquet(path.ok_or_else(|| failed(PARQUET_STREAM))?.into()),
            #[cfg(not(feature = "parquet"))]
            Kind::Parquet => return Err(failed(PARQUET_LEFT_OUT)),
            Kind::Utf16 => return Err(failed(UTF_16)),
            Kind::Other(what) => {
                return Err(failed(Problem::Form { what, hint: "decompress it first, or compress it with gzip" }));
            }
            Kind::Text => Content::Text(input),
        };
        Ok(Self { name: name.into(), content, size })
    }
}

#[cfg(not(feature = "parquet"))]
const PARQUET_LEFT_OUT: Problem = Problem::Form {
    what: "a Parquet file, and this program was built without them",
    hint: "build it with `--features parquet`, or convert the file to CSV",
};
#[cfg(feature = "parquet")]
const PARQUET_STREAM: Problem =
    Problem::Form { what: "a Parquet file, which cannot be read from a stream", hint: "give the name of the file" };

const UTF_16: Problem =
    Problem::Form { what: "text in UTF-16", hint: "convert it to UTF-8, for example with `iconv -f utf-16 -t utf-8`" };

/// What the first bytes say.
enum Kind {
    Text,
    Gzip,
    Parquet,
    Utf16,
    Other(&'static str),
}

impl Kind {
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Other("compressed with zstd"),
            [b'B', b'Z', b'h', ..] => Self::Other("compressed with bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Self::Other("compressed with xz"),
            [b'P', b'K', 3, 4, ..] => Self::Other("a zip archive or a spreadsheet"),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Self::Utf16,
            _ => Self::Text,
        }
    }
}

/// Reads until the first line with something in it is there: a pipe may give it in pieces, and it tells what the file is.
fn ahead(mut input: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let mut start = Vec::new();
    while start.len() < AHEAD {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        let count = piece.len();
        start.extend_from_slice(piece);
        input.consume(count);
        let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start).trim_ascii_start();
        if start.len() >= LONGEST_MAGIC && text.contains(&b'\n') {
            break;
        }
    }
    Ok(Box::new(io::Cursor::new(start).chain(input)))
}

/// Leaves out a byte order mark at the start; the first byte that is no space then tells JSON from CSV.
pub(crate) fn first_byte(input: &mut dyn BufRead) -> io::Result<Option<u8>> {
    if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    Ok(input.fill_buf()?.iter().copied().find(|byte| !byte.is_ascii_whitespace()))
}

/// Counts what is read through it.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
