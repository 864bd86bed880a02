//! Connected components: options linked by presentations that hold both.

/// Disjoint sets of indices, joined by union with path halving.
#[derive(Clone, Debug, Default)]
pub(crate) struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    pub(crate) fn heap_bytes(&self) -> usize {
        4 * self.parent.capacity()
    }

    pub(crate) fn new(len: usize) -> Self {
        Self { parent: (0..len as u32).collect() }
    }

    /// More indices, each alone.
    pub(crate) fn grow(&mut self, len: usize) {
        self.parent.extend(self.parent.len() as u32..len as u32);
    }

    pub(crate) fn find(&mut self, index: usize) -> usize {
        find_root(&mut self.parent, index)
    }

    /// Joins two sets; whether they were apart. The smaller root wins, so a root is the smallest member.
    pub(crate) fn join(&mut self, i: usize, j: usize) -> bool {
        let (i, j) = (self.find(i), self.find(j));
        self.parent[i.max(j)] = i.min(j) as u32;
        i != j
    }
}

/// Follows parents to the root, halving the path on the way.
pub(crate) fn find_root(parent: &mut [u32], index: usize) -> usize {
    let mut i = index;
    while parent[i] as usize != i {
        parent[i] = parent[parent[i] as usize];
        i = parent[i] as usize;
    }
    i
}

/// Numbers the sets of those indices that `include` accepts by their smallest member: a label for each index
/// (`u32::MAX` outside) and the members of each set, ascending.
pub(crate) fn label(mut sets: DisjointSets, include: impl Fn(usize) -> bool) -> (Vec<u32>, Vec<Vec<u32>>) {
    let len = sets.parent.len();
    let mut labels = vec![u32::MAX; len];
    let mut members: Vec<Vec<u32>> = Vec::new();
    for i in (0..len).filter(|&i| include(i)) {
        let root = sets.find(i);
        if labels[root] == u32::MAX {
            labels[root] = members.len() as u32;
            members.push(Vec::new());
        }
        labels[i] = labels[root];
        members[labels[root] as usize].push(i as u32);
    }
    (labels, members)
}
