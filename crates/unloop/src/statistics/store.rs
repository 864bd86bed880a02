//! Distinct presentations in a compact layout.
//!
//! Entries live in blocks of up to 2¹⁶: sorted `u32` members in one buffer, offsets into it, counts. Blocks bound the slack of
//! growing buffers to the last one and are the units of parallel work. Members never change, so copies of a store share them: a
//! copy takes 8 bytes of counts and some 7 of slots for each presentation, whatever their sizes. The hash index is a table of `u32` slots with open
//! addressing. A table of 2ᵏ slots needs k bits for an entry; the other 32 − k bits of a slot hold a tag of the hash, so that
//! nearly every probe of a foreign entry is refused without touching its members. hashbrown's table costs a tag byte more for
//! each slot, which at 10⁷ presentations of 10 options (1.68 slots each) would pass 60 bytes for each; here they take 59.0
//! (`cargo bench -p unloop --bench targets`).

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::option::OptionId;

const BLOCK_BITS: u32 = 16;
const BLOCK_ENTRIES: usize = 1 << BLOCK_BITS;
/// A block is closed early when its members pass this number, so that offsets fit `u32`.
const BLOCK_MEMBERS: usize = 1 << 30;
/// Entries are addressed by a `u32` slot, and the table is at most 7/8 full.
const MAX_ENTRIES: usize = 1 << 31;
const MIN_SLOT_BITS: u32 = 4;
/// Slots of a part of the table that fits the cache while the table is rebuilt: 256 kB.
const PART_SLOT_BITS: u32 = 16;
/// Blocks dealt out before the parts are filled: bounds the memory that rebuilding takes, to 8 MB.
const PART_BLOCKS: usize = 16;

/// Number of an entry: its block and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u32);

impl Entry {
    fn new(block: usize, place: usize) -> Self {
        Self((block << BLOCK_BITS | place) as u32)
    }

    /// A number for arrays beside the store: dense unless presentations hold thousands of options.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    fn block(self) -> usize {
        (self.0 >> BLOCK_BITS) as usize
    }

    fn place(self) -> usize {
        self.0 as usize & (BLOCK_ENTRIES - 1)
    }
}

/// Up to 2¹⁶ distinct presentations and their counts.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Shared by copies, until one of them adds to it.
    sets: Arc<Sets>,
    counts: Vec<f64>,
}

/// Members of presentations, end to end.
#[derive(Clone, Debug)]
struct Sets {
    /// Place of the first member of each entry, and the end.
    offsets: Vec<u32>,
    members: Vec<OptionId>,
}

impl Block {
    fn new() -> Self {
        Self { sets: Arc::new(Sets { offsets: vec![0], members: Vec::new() }), counts: Vec::new() }
    }

    /// An empty block with room for as much as a full one holds: growing buffers step by step moves them through memory.
    fn with_room(room: Room) -> Self {
        let mut offsets = Vec::with_capacity(room.entries + 1);
        offsets.push(0);
        let sets = Arc::new(Sets { offsets, members: Vec::with_capacity(room.members) });
        Self { sets, counts: Vec::with_capacity(room.entries) }
    }

    fn room(&self) -> Room {
        Room { entries: self.counts.len(), members: self.sets.members.len() }
    }

    /// One more entry, with a count of zero.
    fn push(&mut self, members: &[OptionId]) {
        let sets = Arc::make_mut(&mut self.sets);
        sets.members.extend_from_slice(members);
        sets.offsets.push(sets.members.len() as u32);
        self.counts.push(0.0);
    }

    /// As [`with_room`](Self::with_room), with every page written once: the first touch of fresh memory is slow, and another
    /// thread may have the time.
    pub(crate) fn touched(room: Room) -> Self {
        let mut block = Self::with_room(room);
        let sets = Arc::make_mut(&mut block.sets);
        sets.offsets.resize(room.entries + 1, 0);
        sets.offsets.truncate(1);
        sets.members.resize(room.members, OptionId::default());
        sets.members.clear();
        block.counts.resize(room.entries, 0.0);
        block.counts.clear();
        block
    }

    fn is_full_for(&self, size: usize) -> bool {
        let held = self.sets.members.len();
        self.counts.len() == BLOCK_ENTRIES || (held > 0 && held + size > BLOCK_MEMBERS)
    }

    fn members(&self, place: usize) -> &[OptionId] {
        let Sets { offsets, members } = &*self.sets;
        &members[offsets[place] as usize..offsets[place + 1] as usize]
    }

    /// Entries in order of first recording, those with a count of zero too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[OptionId], f64)> {
        let Sets { offsets, members } = &*self.sets;
        offsets.windows(2).zip(&self.counts).map(|(ends, &count)| (&members[ends[0] as usize..ends[1] as usize], count))
    }

    /// Those that copies share, too.
    fn heap_bytes(&self) -> usize {
        let Sets { offsets, members } = &*self.sets;
        // Two counts of owners beside the sets.
        16 + size_of::<Sets>() + 4 * offsets.capacity() + 4 * members.capacity() + 8 * self.counts.capacity()
    }

    fn shrink(&mut self) {
        // What a copy shares is left as it is.
        if let Some(sets) = Arc::get_mut(&mut self.sets) {
            sets.offsets.shrink_to_fit();
            sets.members.shrink_to_fit();
        }
        self.counts.shrink_to_fit();
    }
}

/// What a block holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    entries: usize,
    members: usize,
}

/// The distinct presentations with their counts.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    blocks: Vec<Block>,
    /// A block made in advance for when the last is full.
    spare: Option<Block>,
    entries: usize,
    slots: Vec<u32>,
    /// The table has 2^slot_bits slots.
    slot_bits: u32,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { blocks: Vec::new(), spare: None, entries: 0, slots: Vec::new(), slot_bits: 0 }
    }

    pub(crate) fn with_capacity(entries: usize) -> Self {
        let mut store = Self::new();
        store.resize_table(slot_bits_for(entries));
        // A hint, so bounded: room for what is kept of a block beside its members.
        store.spare = Some(Block::with_room(Room { entries: entries.min(BLOCK_ENTRIES), members: 0 }));
        store
    }

    /// All entries, those with a count of zero too.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// One more than the largest [`Entry::index`].
    pub(crate) fn end(&self) -> usize {
        self.blocks.last().map_or(0, |last| ((self.blocks.len() - 1) << BLOCK_BITS) + last.counts.len())
    }

    /// The entry of an index, if there is one.
    pub(crate) fn entry(&self, index: usize) -> Option<Entry> {
        let entry = Entry(index as u32);
        (entry.place() < self.blocks.get(entry.block())?.counts.len()).then_some(entry)
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub(crate) fn members(&self, entry: Entry) -> &[OptionId] {
        self.blocks[entry.block()].members(entry.place())
    }

    pub(crate) fn count(&self, entry: Entry) -> f64 {
        self.blocks[entry.block()].counts[entry.place()]
    }

    pub(crate) fn count_mut(&mut self, entry: Entry) -> &mut f64 {
        &mut self.blocks[entry.block()].counts[entry.place()]
    }

    pub(crate) fn counts_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.blocks.iter_mut().flat_map(|block| &mut block.counts)
    }

    pub(crate) fn find(&self, members: &[OptionId]) -> Option<Entry> {
        if self.slots.is_empty() {
            return None;
        }
        self.probe(members, hash(members)).ok()
    }

    /// The entry of these sorted members, added with a count of zero if it is new; `None` if no more fit.
    pub(crate) fn find_or_insert(&mut self, members: &[OptionId]) -> Option<Entry> {
        self.find_or_insert_hashed(members, hash(members))
    }

    /// Reads the slots where probing for these hashes will start, all at once: the misses overlap.
    pub(crate) fn touch(&self, hashes: impl Iterator<Item = u64>) {
        if !self.slots.is_empty() {
            std::hint::black_box(hashes.fold(0, |sum, hash| sum ^ self.slots[self.home(hash)]));
        }
    }

    /// As [`find_or_insert`](Self::find_or_insert), with the hash of the members at hand.
    pub(crate) fn find_or_insert_hashed(&mut self, members: &[OptionId], hash: u64) -> Option<Entry> {
        if (self.entries + 1) * 8 > self.slots.len() * 7 {
            if self.entries >= MAX_ENTRIES {
                return None;
            }
            self.resize_table((self.slot_bits + 1).max(MIN_SLOT_BITS));
        }
        let slot = match self.probe(members, hash) {
            Ok(entry) => return Some(entry),
            Err(slot) => slot,
        };
        if self.blocks.last().is_none_or(|block| block.is_full_for(members.len())) {
            let next = match self.blocks.last_mut() {
                Some(full) => {
                    full.shrink();
                    self.spare.take().unwrap_or_else(|| Block::with_room(full.room()))
                }
                None => self.spare.take().unwrap_or_else(Block::new),
            };
            // Blocks closed early leave numbers unused; those must fit the slots' entry bits too.
            if self.blocks.len() >= MAX_ENTRIES / BLOCK_ENTRIES {
                return None;
            }
            self.blocks.push(next);
        }
        let block = self.blocks.len() - 1;
        let last = &mut self.blocks[block];
        let entry = Entry::new(block, last.counts.len());
        last.push(members);
        self.entries += 1;
        let bits = 64 - (u64::from(entry.0) + 1).leading_zeros();
        if bits > self.slot_bits {
            self.resize_table(bits);
        } else {
            self.slots[slot] = self.slot_value(entry, hash);
        }
        Some(entry)
    }

    /// Room for the next block, if the last is nearly full and none was made in advance.
    pub(crate) fn wants_spare(&self) -> Option<Room> {
        match &self.blocks[..] {
            [.., full, last] if self.spare.is_none() && last.counts.len() > full.counts.len() / 2 => Some(full.room()),
            _ => None,
        }
    }

    pub(crate) fn set_spare(&mut self, spare: Option<Block>) {
        self.spare = spare;
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().chain(&self.spare).map(Block::heap_bytes).sum();
        4 * self.slots.capacity() + size_of::<Block>() * self.blocks.capacity() + blocks
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        if let Some(last) = self.blocks.last_mut() {
            last.shrink();
        }
    }

    /// The entry of these members, or the free slot where it belongs.
    fn probe(&self, members: &[OptionId], hash: u64) -> Result<Entry, usize> {
        let mask = self.slots.len() - 1;
        let tag = self.tag(hash);
        let entry_mask = ((1_u64 << self.slot_bits) - 1) as u32;
        let mut slot = self.home(hash);
        loop {
            let value = self.slots[slot];
            let number = value & entry_mask;
            if number == 0 {
                return Err(slot);
            }
            if value & !entry_mask == tag {
                let entry = Entry(number - 1);
                if self.members(entry) == members {
                    return Ok(entry);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Where probing starts: the top bits of the hash.
    fn home(&self, hash: u64) -> usize {
        (hash >> (64 - self.slot_bits)) as usize
    }

    /// The bits of a slot above the entry's, from the bottom half of the hash.
    fn tag(&self, hash: u64) -> u32 {
        (hash as u32) & !(((1_u64 << self.slot_bits) - 1) as u32)
    }

    fn slot_value(&self, entry: Entry, hash: u64) -> u32 {
        self.tag(hash) | (entry.0 + 1)
    }

    /// Rebuilds the table with 2^slot_bits slots.
    ///
    /// Entries are hashed in order and dealt into parts of the table that fit the cache, then each part is filled. Writing each
    /// slot where it falls costs a cache miss for each entry: 2.6 s of the 6.1 s that recording 10⁷ choices of 10 took.
    fn resize_table(&mut self, slot_bits: u32) {
        self.slot_bits = slot_bits;
        self.slots = vec![0; 1 << slot_bits];
        let part_bits = PART_SLOT_BITS.min(slot_bits);
        let mut parts: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 1 << (slot_bits - part_bits)];
        let blocks = std::mem::take(&mut self.blocks);
        for (b, blocks_together) in blocks.chunks(PART_BLOCKS).enumerate() {
            for (i, block) in blocks_together.iter().enumerate() {
                for (place, (members, _)) in block.iter().enumerate() {
                    let hash = hash(members);
                    let slot = self.home(hash);
                    let value = self.slot_value(Entry::new(b * PART_BLOCKS + i, place), hash);
                    parts[slot >> part_bits].push((slot as u32, value));
                }
            }
            for part in &mut parts {
                self.fill(part.drain(..));
            }
        }
        self.blocks = blocks;
    }

    /// Puts values into the first free slots from where they belong.
    fn fill(&mut self, values: impl Iterator<Item = (u32, u32)>) {
        let mask = self.slots.len() - 1;
        for (slot, value) in values {
            let mut slot = slot as usize;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = value;
        }
    }
}

fn slot_bits_for(entries: usize) -> u32 {
    // A hint, so bounded: 1 GB of slots.
    let entries = entries.min(1 << 27);
    let mut bits = MIN_SLOT_BITS;
    while bits < 31 && entries * 8 > (1 << bits) * 7 {
        bits += 1;
    }
    bits
}

/// Hash of sorted members, under a fixed seed: the library has no source of randomness of its own.
pub(crate) fn hash(members: &[OptionId]) -> u64 {
    let mut hasher = FixedState::with_seed(members.len() as u64).build_hasher();
    let mut pairs = members.chunks_exact(2);
    for pair in &mut pairs {
        hasher.write_u64(u64::from(u32::from(pair[0])) << 32 | u64::from(u32::from(pair[1])));
    }
    if let [last] = pairs.remainder() {
        hasher.write_u32((*last).into());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(indices: &[u32]) -> Vec<OptionId> {
        indices.iter().copied().map(OptionId::new).collect()
    }

    #[test]
    fn every_entry_is_found_again_across_blocks_and_resizes() {
        let mut store = Store::new();
        let n: u32 = 150_000;
        let sets: Vec<_> = (0..n).map(|i| ids(&[i % 387, 400 + i / 387, 1_000 + i])).collect();
        for (i, set) in sets.iter().enumerate() {
            let entry = store.find_or_insert(set).unwrap();
            assert_eq!(store.count(entry), 0.0);
            *store.count_mut(entry) = i as f64 + 1.0;
        }
        assert_eq!(store.entries(), n as usize);
        assert_eq!(store.blocks().len(), 3);
        for (i, set) in sets.iter().enumerate() {
            let entry = store.find(set).unwrap();
            assert_eq!(store.count(entry), i as f64 + 1.0);
            assert_eq!(store.find_or_insert(set), Some(entry));
        }
        assert_eq!(store.find(&ids(&[1, 2])), None);
    }

    #[test]
    fn hashes_of_neighbouring_sets_spread() {
        let mut buckets = vec![0_u32; 256];
        for i in 0..256 {
            for j in 0..100 {
                buckets[hash(&ids(&[i, 300 + j])) as usize & 255] += 1;
            }
        }
        // 100 expected in each, standard deviation 10.
        assert!(buckets.iter().all(|&n| (50..=160).contains(&n)), "{buckets:?}");
    }
}
