//! What is on a disk when the power goes: what was flushed, and something or other of what was not.

use std::path::{Path, PathBuf};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Bytes that a disk writes at once.
const SECTOR: usize = 512;

/// Something done to a file and not flushed yet.
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
    Delete,
}

struct File {
    path: PathBuf,
    /// Bytes that the program sees.
    length: u64,
    /// As it was flushed last; none if it never was: then it may not even exist.
    durable: Option<Vec<u8>>,
    /// What was done since, in order.
    pending: Vec<Change>,
    /// Whether its folder was flushed since it was made: else its name may be lost, with all that was flushed.
    is_named: bool,
}

/// The files that were opened through the layer.
#[derive(Default)]
pub(super) struct Disk {
    files: Vec<File>,
}

impl Disk {
    /// The number of a file. One that is met for the first time holds what it holds, and that is flushed; an empty one may as well
    /// have been made just now.
    pub(super) fn open(&mut self, path: &Path) -> usize {
        if let Some(number) = self.find(path) {
            return number;
        }
        let durable = std::fs::read(path).ok().filter(|bytes| !bytes.is_empty());
        let length = durable.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let is_named = durable.is_some();
        self.files.push(File { path: path.to_owned(), length, durable, pending: Vec::new(), is_named });
        self.files.len() - 1
    }

    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        self.files.iter().position(|file| file.path == path)
    }

    /// Bytes that a write would add to all files.
    pub(super) fn growth(&self, file: usize, offset: u64, count: usize) -> u64 {
        (offset + count as u64).saturating_sub(self.files[file].length)
    }

    pub(super) fn size(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    pub(super) fn write(&mut self, file: usize, offset: u64, bytes: &[u8]) {
        let file = &mut self.files[file];
        file.length = file.length.max(offset + bytes.len() as u64);
        file.pending.push(Change::Write { offset: offset as usize, bytes: bytes.to_owned() });
    }

    pub(super) fn truncate(&mut self, file: usize, length: u64) {
        let file = &mut self.files[file];
        file.length = length;
        file.pending.push(Change::Truncate { length: length as usize });
    }

    pub(super) fn delete(&mut self, file: usize) {
        let file = &mut self.files[file];
        file.length = 0;
        file.pending.push(Change::Delete);
    }

    /// Names that were made or taken away are so for good.
    pub(super) fn sync_folder(&mut self) {
        for file in &mut self.files {
            if let Some(last) = file.pending.iter().rposition(|change| matches!(change, Change::Delete)) {
                file.pending.drain(..=last);
                file.durable = None;
            }
            file.is_named = file.path.exists();
        }
    }

    pub(super) fn sync(&mut self, file: usize) {
        let file = &mut self.files[file];
        let durable = file.durable.get_or_insert_default();
        let mut content = Some(std::mem::take(durable));
        file.pending.drain(..).for_each(|change| change.apply(&mut content));
        file.durable = Some(content.unwrap_or_default());
    }

    /// A flush that failed: systems take what they could not write for written, so no later flush brings it to the disk.
    pub(super) fn fail_sync(&mut self, file: usize, half: bool) {
        let pending = &mut self.files[file].pending;
        let written = if half { pending.len() / 2 } else { 0 };
        pending.truncate(written);
        if half {
            self.sync(file);
        }
    }

    /// Each file as the power leaves it: what was flushed, and of what came after some, in order, each whole or torn.
    pub(super) fn survivors(&self, rng: &mut ChaCha8Rng) -> Vec<(PathBuf, Vec<u8>)> {
        self.files.iter().filter_map(|file| Some((file.path.clone(), file.survivor(rng)?))).collect()
    }
}

impl File {
    fn survivor(&self, rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
        if !self.is_named && rng.random_bool(0.5) {
            return None;
        }
        let mut content = self.durable.clone();
        // Nothing, everything, or a part: the first two are what happens most often, the rest is what goes wrong.
        let kept = [0.0, 0.1, 0.5, 0.9, 1.0][rng.random_range(0..5)];
        let torn = [0.0, 0.1, 0.5][rng.random_range(0..3)];
        for change in &self.pending {
            match change {
                _ if rng.random_bool(kept) => match change {
                    Change::Write { offset, bytes } if rng.random_bool(torn) => tear(&mut content, *offset, bytes, rng),
                    change => change.apply(&mut content),
                },
                // The name still leads to the old file: whatever was made under it later is not to be found.
                Change::Delete => break,
                _ => {}
            }
        }
        content
    }
}

impl Change {
    fn apply(&self, content: &mut Option<Vec<u8>>) {
        match self {
            Self::Write { offset, bytes } => put(content, *offset, bytes),
            Self::Truncate { length } => content.get_or_insert_default().resize(*length, 0),
            Self::Delete => *content = None,
        }
    }
}

fn put(content: &mut Option<Vec<u8>>, offset: usize, bytes: &[u8]) {
    let content = content.get_or_insert_default();
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// A part of a write: its beginning, its end, or some of its sectors.
fn tear(content: &mut Option<Vec<u8>>, offset: usize, bytes: &[u8], rng: &mut ChaCha8Rng) {
    let place = rng.random_range(0..=bytes.len());
    match rng.random_range(0..3) {
        0 => put(content, offset, &bytes[..place]),
        1 => put(content, offset + place, &bytes[place..]),
        _ => {
            let mut start = 0;
            while start < bytes.len() {
                // Sectors are where the file's are, not the write's.
                let end = (((offset + start) / SECTOR + 1) * SECTOR - offset).min(bytes.len());
                if rng.random_bool(0.5) {
                    put(content, offset + start, &bytes[start..end]);
                }
                start = end;
            }
        }
    }
}
