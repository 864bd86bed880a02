//! Records of a CSV file, in bounded memory.
//!
//! `csv-core` splits records; around it stands what a stream of unknown length needs: a limit on the length of a record, so that
//! a quote never closed does not swallow the file.

use std::io::BufRead;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::cell::Cell;
use crate::error::{Outcome, Problem, excerpt, refuse};

/// Longest record, in bytes.
const MAX_RECORD: usize = 1 << 22;
/// Bytes in which the delimiter is looked for.
const SAMPLE: usize = 1 << 16;

pub(crate) struct CsvRecords {
    input: Box<dyn BufRead + Send>,
    reader: Reader,
    /// Fields of the record, end to end.
    text: Vec<u8>,
    /// End of each field in `text`.
    ends: Vec<usize>,
    fields: usize,
    /// Line on which the record begins.
    line: u64,
    last_line: u64,
    /// What a file without a header has as its first record.
    pending: bool,
}

impl CsvRecords {
    /// A CSV file and its header. A single field with a `>` is no header but a ranking.
    pub(crate) fn new(mut input: Box<dyn BufRead + Send>) -> Outcome<(Self, Vec<String>)> {
        let delimiter = delimiter(input.fill_buf().map_err(Problem::Io)?);
        let mut records = Self {
            input,
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            text: vec![0; 1 << 12],
            ends: vec![0; 1 << 6],
            fields: 0,
            line: 1,
            last_line: 1,
            pending: false,
        };
        if !records.next()? {
            return refuse(Problem::NoHeader);
        }
        let header =
            (0..records.fields).map(|i| records.field(i).map(|name| name.trim().to_owned())).collect::<Result<Vec<_>, _>>()?;
        if header.len() == 1 && header[0].contains('>') {
            records.pending = true;
            return Ok((records, vec!["ranking".into()]));
        }
        Ok((records, header))
    }

    /// Goes to the next record; false after the last.
    pub(crate) fn next(&mut self) -> Outcome<bool> {
        if std::mem::take(&mut self.pending) {
            return Ok(true);
        }
        let (mut length, mut fields) = (0, 0);
        // Lines are counted from the end of the last record, and those between are empty.
        self.line = self.reader.line();
        loop {
            let input = self.input.fill_buf().map_err(Problem::Io)?;
            let (result, read, written, ended) =
                self.reader.read_record(input, &mut self.text[length..], &mut self.ends[fields..]);
            if length == 0 && fields == 0 {
                let blank = input[..read].iter().take_while(|&&byte| byte == b'\n' || byte == b'\r');
                self.line += blank.filter(|&&byte| byte == b'\n').count() as u64;
            }
            self.input.consume(read);
            (length, fields) = (length + written, fields + ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() >= MAX_RECORD => {
                    return refuse(Problem::LongRecord { bytes: MAX_RECORD });
                }
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => {
                    self.fields = fields;
                    // The reader counts the line's end with the record, unless the file ends there.
                    self.last_line = (self.reader.line() - 1).max(self.line);
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The line on which the record ends.
    pub(crate) fn last_line(&self) -> u64 {
        self.last_line
    }

    pub(crate) fn fields(&self) -> usize {
        self.fields
    }

    pub(crate) fn cell(&self, column: usize) -> Outcome<Cell<'_>> {
        self.field(column).map(Cell::text)
    }

    /// A field as it stands in the file, quotes undone.
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        if i < self.fields { &self.text[start..self.ends[i]] } else { &[] }
    }

    pub(crate) fn field(&self, i: usize) -> Outcome<&str> {
        let bytes = self.bytes(i);
        std::str::from_utf8(bytes).map_err(|_| Problem::NotUtf8 { value: excerpt(&String::from_utf8_lossy(bytes)) }.into())
    }
}

/// What separates the fields of the first line: a comma, unless there is none outside quotes and a tab or semicolon is.
fn delimiter(start: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0)];
    let mut quoted = false;
    for &byte in start.trim_ascii_start().iter().take(SAMPLE) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if !quoted => counts.iter_mut().filter(|(d, _)| *d == byte).for_each(|(_, count)| *count += 1),
            _ => {}
        }
    }
    counts.into_iter().find(|&(_, count)| count > 0).map_or(b',', |(delimiter, _)| delimiter)
}
