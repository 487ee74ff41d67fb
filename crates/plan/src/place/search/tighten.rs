//! The bounds of a search: how low each interval can still lie, and whether what is left has room.
//!
//! In: a state in which something was just placed. Out: raised bounds, or the news that there is no way on. A section
//! is one machine that does a job at a time, a size is how long the job takes, a bound is when it may start, and the
//! capacity is when all must be done: the rules are those of one-machine scheduling.

use super::Search;

/// There is no room: this branch of the search ends.
pub(super) struct NoRoom;

impl Search {
    /// Raises bounds until nothing changes; false if something has no room left.
    pub(super) fn tighten(&mut self, part: &[usize]) -> bool {
        let (first, end) = self.reach(part);
        loop {
            if self.lift_unsupported(part).is_err() {
                return false;
            }
            let Some(section) = (first..end).find(|&section| self.dirty[section]) else { return true };
            for section in section..end {
                if std::mem::take(&mut self.dirty[section]) && self.tighten_section(section).is_err() {
                    return false;
                }
            }
        }
    }

    /// The sections a part lives in, half-open.
    fn reach(&self, part: &[usize]) -> (usize, usize) {
        let ends = part.iter().map(|&index| self.span[index]);
        ends.fold((usize::MAX, 0), |(first, end), span| (first.min(span.0), end.max(span.1)))
    }

    /// What cannot lie on what is placed must lie on something that is left, and is lifted above what can end first of
    /// that. Gives the interval that has no room.
    fn lift_unsupported(&mut self, part: &[usize]) -> Result<(), NoRoom> {
        for &index in part.iter() {
            if self.bound[index] == self.offset[index] {
                continue;
            }
            let (mut support, mut lowest) = (u64::MAX, u64::MAX);
            for &other in self.neighbours[index].iter().filter(|&&other| !self.placed[other]) {
                support = support.min(self.bound[other] + self.size[other]);
                lowest = lowest.min(self.bound[other]);
            }
            let free = self.ideas.dominance && lowest >= self.offset[index] + self.size[index];
            if free || support > self.bound[index] {
                let mut reason = std::mem::take(&mut self.conflict);
                reason.clear();
                self.explain_support(index, &mut reason);
                for &other in self.neighbours[index].iter().filter(|&&other| !self.placed[other]) {
                    reason.add(&self.why[other]);
                }
                self.conflict = reason;
                if free || self.lift(index, support).is_err() {
                    return Err(NoRoom);
                }
            }
        }
        Ok(())
    }

    /// Lifts an interval for the reason that was just written down; if it has no room there, that is the reason of the
    /// failure.
    fn lift(&mut self, index: usize, bound: u64) -> Result<(), NoRoom> {
        if bound.saturating_add(self.size[index]) > self.capacity {
            return Err(NoRoom);
        }
        self.remember(index);
        self.why[index].clone_from(&self.conflict);
        self.raise(index, bound);
        Ok(())
    }

    fn tighten_section(&mut self, section: usize) -> Result<(), NoRoom> {
        let open = self.sections[section].iter().filter(|&&index| !self.placed[index]);
        let highest = open.map(|&index| self.bound[index]).max().unwrap_or(0);
        if highest + self.remaining[section] <= self.capacity {
            return Ok(());
        }
        if self.ideas.section_bound {
            self.check_section(section)?;
        }
        if self.ideas.not_first { self.lift_not_first(section) } else { Ok(()) }
    }

    /// All that cannot start below some offset must fit above it, for every offset.
    fn check_section(&mut self, section: usize) -> Result<(), NoRoom> {
        let open = self.sections[section].iter().filter(|&&index| !self.placed[index]);
        let mut starts: Vec<(u64, usize)> = open.map(|&index| (self.bound[index], index)).collect();
        starts.sort_unstable_by(|a, b| b.cmp(a));
        let mut above = 0;
        for (position, &(start, index)) in starts.iter().enumerate() {
            above += self.size[index];
            if start + above > self.capacity {
                self.explain(starts[..=position].iter().map(|&(_, index)| index));
                return Err(NoRoom);
            }
        }
        Ok(())
    }

    /// Writes down why some intervals lie as high as they do.
    fn explain(&mut self, indices: impl Iterator<Item = usize>) {
        let mut reason = std::mem::take(&mut self.conflict);
        reason.clear();
        indices.for_each(|index| reason.add(&self.why[index]));
        self.conflict = reason;
    }

    /// Of those that can end highest, the fewest that do not fit above an interval: one of them must lie below it.
    fn lift_not_first(&mut self, section: usize) -> Result<(), NoRoom> {
        let open = self.sections[section].iter().copied().filter(|&index| !self.placed[index]);
        let mut ends: Vec<(u64, usize)> =
            open.map(|index| (self.bound[index] + self.size[index], index)).collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        let sums: Vec<u64> = ends
            .iter()
            .map(|&(_, index)| {
                sum += self.size[index];
                sum
            })
            .collect();
        for (position, &(end, index)) in ends.iter().enumerate() {
            let Some(room) = self.capacity.checked_sub(end) else {
                self.explain(std::iter::once(index));
                return Err(NoRoom);
            };
            if sum - self.size[index] <= room {
                continue;
            }
            let before = sums[..position].partition_point(|&sum| sum <= room);
            // From its own position on, the sums count the interval itself.
            let fewest = match before < position {
                true => before,
                false => sums.partition_point(|&sum| sum - self.size[index].min(sum) <= room),
            };
            if ends[fewest].0 > self.bound[index] {
                self.explain(ends[..=fewest].iter().map(|&(_, index)| index).chain([index]));
                self.lift(index, ends[fewest].0)?;
            }
        }
        Ok(())
    }
}
