//! The write-ahead log as it lies there before it is opened: whether it ends in a commit.
//!
//! SQLite itself leaves out an unfinished end without a word. Whoever opens a database after a crash wants to know.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// Whether there is something of a commit that was not finished. A log that cannot be read, or is none, has nothing.
///
/// The format is that of <https://www.sqlite.org/fileformat2.html#walformat>: frames with the salts of the header belong to it, and the last of a
/// commit says how large the database is after it. What an earlier round left behind has other salts.
pub(super) fn is_unfinished(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut file = BufReader::new(file);
    let mut header = [0; HEADER];
    let Some(HEADER) = fill(&mut file, &mut header) else { return false };
    let word =
        |bytes: &[u8], place: usize| u32::from_be_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]]);
    let page = word(&header, 8) as usize;
    if word(&header, 0) & !1 != 0x377f_0682 || !(512..=65_536).contains(&page) {
        return false;
    }
    let salts = [word(&header, 16), word(&header, 20)];
    let mut frame = vec![0; FRAME + page];
    let mut unfinished = false;
    loop {
        match fill(&mut file, &mut frame) {
            Some(read) if read == frame.len() && [word(&frame, 8), word(&frame, 12)] == salts => {
                unfinished = word(&frame, 4) == 0;
            }
            // Cut off inside a frame of this log.
            Some(read) if (16..FRAME + page).contains(&read) => {
                return unfinished || [word(&frame, 8), word(&frame, 12)] == salts;
            }
            _ => return unfinished,
        }
    }
}

/// Reads as much as there is.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> Option<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(_) => return None,
        }
    }
    Some(read)
}
