//! Places for what is never freed: one behind another, and not across two pages where there are pages.

use plimsoll_trace::{Bytes, Offset};

/// Bytes that are taken from the bottom up.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    page: Option<Bytes>,
    /// Where the first page with room begins.
    start: Offset,
    /// For it and each page behind it, how much is taken; only one where the arena is one piece.
    taken: Vec<Bytes>,
}

impl Stack {
    /// Everything below `end` is taken.
    pub(crate) fn above(end: Offset, page: Option<Bytes>) -> Self {
        let page = page.filter(|&page| page > Bytes::ZERO);
        let taken = page.map_or(end.0, |page| end.0 % page.0);
        Self { page, start: Offset(end.0 - taken), taken: vec![Bytes(taken)] }
    }

    /// Takes the lowest place with room. What is larger than a page begins one of its own; the proof refuses it.
    pub(crate) fn take(&mut self, bytes: Bytes) -> Offset {
        let Some(page) = self.page else {
            self.taken[0] += bytes;
            return Offset::START + (self.taken[0] - bytes);
        };
        let has_room = |taken: &Bytes| *taken == Bytes::ZERO || *taken + bytes <= page;
        let index = self.taken.iter().position(has_room).unwrap_or(self.taken.len());
        if index == self.taken.len() {
            self.taken.push(Bytes::ZERO);
        }
        self.taken[index] += bytes;
        Offset(self.ends(index).0 - bytes.0)
    }

    /// Where everything taken ends.
    pub(crate) fn end(&self) -> Offset {
        self.ends(self.taken.iter().rposition(|&taken| taken > Bytes::ZERO).unwrap_or(0))
    }

    /// Where what is taken of a page ends.
    fn ends(&self, index: usize) -> Offset {
        self.start + Bytes(index as u64 * self.page.unwrap_or_default().0) + self.taken[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(end: u64, page: Option<u64>, sizes: &[u64]) -> (Vec<u64>, u64) {
        let mut stack = Stack::above(Offset(end), page.map(Bytes));
        let offsets = sizes.iter().map(|&bytes| stack.take(Bytes(bytes)).0).collect();
        (offsets, stack.end().0)
    }

    #[test]
    fn without_pages_there_are_no_gaps() {
        assert_eq!(offsets(64, None, &[64, 0, 128]), (vec![64, 128, 128], 256));
    }

    #[test]
    fn nothing_lies_across_pages_and_gaps_are_filled() {
        assert_eq!(offsets(0, Some(256), &[192, 128, 64, 128, 64]), (vec![0, 256, 192, 384, 512], 576));
        assert_eq!(offsets(320, Some(256), &[256, 64]), (vec![512, 320], 768));
        assert_eq!(offsets(0, Some(256), &[]), (vec![], 0));
    }
}
