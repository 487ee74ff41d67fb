//! Heights along a line that are raised over stretches and asked for their highest: a tree over the line, each node
//! with what was added to all of it.

/// Heights along a line.
pub(super) struct Heights {
    /// For each node, what was added to all of it, and the highest below it without that of the nodes above.
    added: Vec<u64>,
    highest: Vec<u64>,
    leaves: usize,
}

impl Heights {
    /// A line with given heights.
    pub(super) fn new(heights: &[u64]) -> Self {
        let leaves = heights.len().next_power_of_two();
        let mut highest = vec![0; 2 * leaves];
        highest[leaves..leaves + heights.len()].copy_from_slice(heights);
        for node in (1..leaves).rev() {
            highest[node] = highest[2 * node].max(highest[2 * node + 1]);
        }
        Self { added: vec![0; 2 * leaves], highest, leaves }
    }

    /// The highest of a stretch, half-open; 0 if it is empty.
    pub(super) fn highest(&self, from: usize, to: usize) -> u64 {
        self.highest_below(1, 0, self.leaves, from, to)
    }

    /// Raises a stretch, half-open.
    pub(super) fn add(&mut self, from: usize, to: usize, height: u64) {
        self.add_below(1, 0, self.leaves, (from, to, height));
    }

    fn highest_below(&self, node: usize, begin: usize, length: usize, from: usize, to: usize) -> u64 {
        if to <= begin || begin + length <= from || to <= from {
            return 0;
        }
        if from <= begin && begin + length <= to {
            return self.highest[node];
        }
        let half = length / 2;
        let first = self.highest_below(2 * node, begin, half, from, to);
        let second = self.highest_below(2 * node + 1, begin + half, half, from, to);
        self.added[node] + first.max(second)
    }

    fn add_below(&mut self, node: usize, begin: usize, length: usize, stretch: (usize, usize, u64)) {
        let (from, to, height) = stretch;
        if to <= begin || begin + length <= from || to <= from {
            return;
        }
        if from <= begin && begin + length <= to {
            self.added[node] += height;
            self.highest[node] += height;
            return;
        }
        let half = length / 2;
        self.add_below(2 * node, begin, half, stretch);
        self.add_below(2 * node + 1, begin + half, half, stretch);
        self.highest[node] = self.added[node] + self.highest[2 * node].max(self.highest[2 * node + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::Heights;

    #[test]
    fn stretches_are_raised_and_asked_for_their_highest() {
        let mut plain: Vec<u64> = (0..37).map(|position| position * 7919 % 100).collect();
        let mut heights = Heights::new(&plain);
        for round in 0..200u64 {
            let (from, to) = ((round * 31 % 37) as usize, (round * 17 % 38) as usize);
            if from < to {
                plain[from..to].iter_mut().for_each(|height| *height += round % 13);
            }
            heights.add(from, to, round % 13);
            let (from, to) = ((round * 13 % 37) as usize, (round * 29 % 38) as usize);
            let highest = plain.get(from..to).and_then(|stretch| stretch.iter().copied().max()).unwrap_or(0);
            assert_eq!(heights.highest(from, to), highest, "{from}..{to} in round {round}");
        }
    }
}
