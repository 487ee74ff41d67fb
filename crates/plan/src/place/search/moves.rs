//! The moves of a search: what is placed or passed over changes bounds, and everything can be taken back.

use super::Search;

impl Search {
    /// Places an interval at its lowest offset and lifts its neighbours above it.
    pub(super) fn place(&mut self, index: usize) {
        self.placed[index] = true;
        self.level[index] = self.depth;
        self.depth += 1;
        let (first, end) = self.span[index];
        for section in first..end {
            self.remaining[section] -= self.size[index];
            self.dirty[section] = true;
        }
        let top = self.offset[index] + self.size[index];
        for neighbour in 0..self.neighbours[index].len() {
            let other = self.neighbours[index][neighbour];
            if !self.placed[other] && self.offset[other] < top {
                self.remember(other);
                self.offset[other] = top;
                if top > self.bound[other] {
                    // It cannot lie below: its size alone may be the reason, or else its bound is.
                    if self.size[other] > self.offset[index] {
                        self.why[other].clear();
                    }
                    self.why[other].insert(self.level[index]);
                    self.raise(other, top);
                }
            }
        }
    }

    /// Forbids an interval, and those that are like it, its lowest offset.
    pub(super) fn pass_over(&mut self, index: usize, part: &[usize]) {
        let offset = self.offset[index];
        for &other in part {
            let twin = self.ideas.twins
                && self.span[other] == self.span[index]
                && self.size[other] == self.size[index];
            if (other == index || twin) && self.bound[other] == offset {
                self.remember(other);
                self.why[other].add(&self.conflict);
                self.raise(other, offset + 1);
            }
        }
    }

    /// Keeps the bound of an interval for the way back.
    pub(super) fn remember(&mut self, index: usize) {
        self.trail.push((index, self.offset[index], self.bound[index], self.why[index].clone()));
    }

    /// Raises the bound of an interval; the caller remembers the old one.
    pub(super) fn raise(&mut self, index: usize, bound: u64) {
        self.bound[index] = bound;
        let (first, end) = self.span[index];
        self.dirty[first..end].fill(true);
    }

    /// Takes intervals out again; [`Self::rewind`] puts back what that changed of others.
    pub(super) fn unplace(&mut self, part: &[usize]) {
        for &index in part {
            self.placed[index] = false;
            self.depth -= 1;
            let (first, end) = self.span[index];
            for section in first..end {
                self.remaining[section] += self.size[index];
            }
        }
    }

    /// Puts offsets and bounds back as they were when the trail was so long.
    pub(super) fn rewind(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let (index, offset, bound, why) = self.trail.pop().expect("the trail is longer than the mark");
            self.why[index] = why;
            self.offset[index] = offset;
            self.bound[index] = bound;
        }
    }
}
