//! The write-ahead log as it lies there before it is opened: whether it ends in a commit.
//!
//! SQLite itself leaves out an unfinished end without a word. Whoever opens a database after a crash wants to know.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// Whether there is something of a commit that was not finished, or was damaged. A log that cannot be read, or is none, has nothing.
///
/// The format is that of <https://www.sqlite.org/fileformat2.html#walformat>: frames with the salts of the header belong to it, each has a checksum
/// over all before it, and the last of a commit says how large the database is after it. What an earlier round left behind has other salts.
pub(super) fn is_unfinished(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut file = BufReader::new(file);
    let mut header = [0; HEADER];
    let Some(HEADER) = fill(&mut file, &mut header) else { return false };
    let (magic, page) = (word(&header, 0), word(&header, 8) as usize);
    if magic & !1 != 0x377f_0682 || !(512..=65_536).contains(&page) {
        return false;
    }
    let mut sum = Sum { is_big: magic & 1 == 1, state: (0, 0) };
    sum.add(&header[..24]);
    let salts = &header[16..24];
    let mut frame = vec![0; FRAME + page];
    let mut unfinished = false;
    loop {
        let Some(read) = fill(&mut file, &mut frame) else { return unfinished };
        // Whose it is stands in the first 16 bytes.
        if read < 16 || frame[8..16] != *salts {
            return unfinished;
        }
        if read < frame.len() {
            return true;
        }
        sum.add(&frame[..8]);
        sum.add(&frame[FRAME..]);
        if (word(&frame, 16), word(&frame, 20)) != sum.state {
            return true;
        }
        unfinished = word(&frame, 4) == 0;
    }
}

fn word(bytes: &[u8], place: usize) -> u32 {
    u32::from_be_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]])
}

/// The checksum of the format, over pairs of words in the order of bytes that the header says.
struct Sum {
    is_big: bool,
    state: (u32, u32),
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let (mut x, mut y) = self.state;
        for pair in bytes.chunks_exact(8) {
            let read = |place: usize| if self.is_big { word(pair, place) } else { word(pair, place).swap_bytes() };
            x = x.wrapping_add(read(0)).wrapping_add(y);
            y = y.wrapping_add(read(4)).wrapping_add(x);
        }
        self.state = (x, y);
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
