//! The bounds of a search: how low each interval can still lie, and whether what is left has room.
//!
//! In: a state in which something was just placed. Out: raised bounds, or the news that there is no way on.
//! A section is one machine that does a job at a time, a size is how long the job takes, a bound is when it may start, and the capacity is
//! when all must be done: the rules are those of one-machine scheduling.

use super::Search;

/// There is no room: this branch of the search ends.
pub(super) struct NoRoom;

impl Search {
    /// Raises bounds until nothing changes; false if something has no room left.
    pub(super) fn tighten(&mut self, part: &[usize], lowest: u64, lowest_rank: usize) -> bool {
        let (first, end) = self.reach(part);
        loop {
            if self.ideas.canonical && self.lift_passed_over(part, lowest, lowest_rank).is_err() {
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

    /// Lifts what comes before the last placed interval in the order of placing: it will not be placed where it could be now.
    fn lift_passed_over(&mut self, part: &[usize], lowest: u64, lowest_rank: usize) -> Result<(), NoRoom> {
        for &index in part {
            if (self.offset[index], self.rank[index]) >= (lowest, lowest_rank) {
                continue;
            }
            self.lift(index, lowest)?;
            if self.ideas.passed_over {
                let open = self.neighbours[index].iter().filter(|&&other| !self.placed[other]);
                let support = open.map(|&other| self.bound[other] + self.size[other]).min();
                self.lift(index, support.ok_or(NoRoom)?)?;
            }
        }
        Ok(())
    }

    fn lift(&mut self, index: usize, bound: u64) -> Result<(), NoRoom> {
        if bound > self.bound[index] {
            self.trail.push((index, self.offset[index], self.bound[index]));
            self.raise(index, bound);
        }
        if self.bound[index] + self.size[index] > self.capacity { Err(NoRoom) } else { Ok(()) }
    }

    fn tighten_section(&mut self, section: usize) -> Result<(), NoRoom> {
        let open = self.sections[section].iter().filter(|&&index| !self.placed[index]);
        let highest = open.map(|&index| self.bound[index]).max().unwrap_or(0);
        if highest + self.remaining[section] <= self.capacity {
            return Ok(());
        }
        if self.ideas.section_bound && !self.section_holds(section) {
            return Err(NoRoom);
        }
        if self.ideas.not_first { self.lift_not_first(section) } else { Ok(()) }
    }

    /// Whether all that cannot start below some offset fits above it, for every offset.
    fn section_holds(&self, section: usize) -> bool {
        let open = self.sections[section].iter().filter(|&&index| !self.placed[index]);
        let mut starts: Vec<(u64, u64)> = open.map(|&index| (self.bound[index], self.size[index])).collect();
        starts.sort_unstable_by(|a, b| b.cmp(a));
        let mut above = 0;
        starts.iter().all(|&(start, size)| {
            above += size;
            start + above <= self.capacity
        })
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
            let room = self.capacity.checked_sub(end).ok_or(NoRoom)?;
            if sum - self.size[index] <= room {
                continue;
            }
            let before = sums[..position].partition_point(|&sum| sum <= room);
            // From its own position on, the sums count the interval itself.
            let fewest = match before < position {
                true => before,
                false => sums.partition_point(|&sum| sum - self.size[index].min(sum) <= room),
            };
            self.lift(index, ends[fewest].0)?;
        }
        Ok(())
    }
}
