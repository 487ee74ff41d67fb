//! Placement into pages: several arenas of a limited size instead of one, for devices that cannot give one large piece.
//!
//! In: intervals, the size of a page and an alignment. Out: a page and an offset each, and the bytes used of every
//! page. Invariant: no interval lies across two pages; offsets are multiples of the alignment. The first page may have
//! something at its bottom already, such as the weights below the activations. Method: one page, if everything fits
//! into it. Otherwise first fit in several orders, and each page is then placed once more on its own, as low as
//! [`place`](super::place()) can; the fewest pages win, then the least bytes.

use super::greedy::first_gap;
use super::{Interval, place};
use plimsoll_trace::{Alignment, Bytes, Offset};
use std::cmp::Reverse;

/// How pages are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRules {
    /// The most bytes of a page.
    pub size: Bytes,
    /// What offsets in a page are multiples of.
    pub alignment: Alignment,
}

/// Where an interval lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The page, from 0.
    pub page: usize,
    /// Where it begins in the page.
    pub offset: Offset,
}

/// Where everything goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// For each interval, where it lies.
    pub spots: Vec<Spot>,
    /// For each page, the highest end in it.
    pub used: Vec<Bytes>,
    /// The fewest pages that the bytes live at once could fill.
    pub fewest: usize,
}

/// What is wrong with intervals for pages, or with pages for intervals.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagesError {
    /// An interval is larger than a page.
    #[error("interval {index} needs {bytes}, more than a page of {size} can hold")]
    TooLarge {
        /// Which.
        index: usize,
        /// Its size.
        bytes: Bytes,
        /// The size of a page.
        size: Bytes,
    },
    /// An offset is not a multiple of the alignment.
    #[error("interval {index} begins at {offset}, which is not a multiple of {alignment}", offset = offset.0)]
    Misaligned {
        /// Which.
        index: usize,
        /// Where it begins.
        offset: Offset,
        /// What it should be a multiple of.
        alignment: u64,
    },
    /// An interval ends above its page or above what its page is said to use.
    #[error("interval {index} ends at {end} in page {page}, of which {used} are used")]
    Outside {
        /// Which.
        index: usize,
        /// Its page.
        page: usize,
        /// Where it ends.
        end: Bytes,
        /// What the page is said to use.
        used: Bytes,
    },
    /// Two intervals lie over each other.
    #[error("intervals {first} and {second} lie over each other in page {page}")]
    Overlap {
        /// One of them.
        first: usize,
        /// The other.
        second: usize,
        /// Their page.
        page: usize,
    },
}

impl PageRules {
    /// What of a page can be used: whole multiples of the alignment.
    fn usable(self) -> Bytes {
        Bytes(self.size.0 - self.size.0 % self.alignment.bytes())
    }
}

/// Places intervals into as few pages as it can, and there as low as it can.
pub fn place_in_pages(intervals: &[Interval], rules: PageRules) -> Result<Pages, PagesError> {
    let pages = filled(intervals, rules, Bytes::ZERO)?;
    let (floor, size) = (super::floor(&aligned(intervals, rules.alignment)).0, rules.usable().0);
    let fewest = usize::try_from(floor.div_ceil(size.max(1))).unwrap_or(usize::MAX);
    Ok(gather(intervals, &pages, fewest))
}

/// Places intervals into pages that lie one behind another, above what already stands below `base`. Gives offsets from
/// the start of the first page.
pub fn place_above(
    intervals: &[Interval],
    rules: PageRules,
    base: Offset,
) -> Result<Vec<Offset>, PagesError> {
    let taken = Bytes(base.0 % rules.size.0.max(1));
    let mut pages = filled(intervals, rules, taken)?;
    // The first page stays where it is; of the others the emptiest comes last, because it ends lowest.
    if let Some(others) = pages.get_mut(1..) {
        others.sort_by_key(|page| Reverse(peak(intervals, page)));
    }
    let mut offsets = vec![base; intervals.len()];
    for (number, page) in pages.iter().enumerate() {
        let start = match number {
            0 => base,
            _ => Offset(base.0 - taken.0 + number as u64 * rules.size.0),
        };
        page.iter().for_each(|&(offset, index)| offsets[index] = start + Bytes(offset));
    }
    Ok(offsets)
}

/// Pages with all intervals, where so many bytes of the first page are taken.
fn filled(intervals: &[Interval], rules: PageRules, taken: Bytes) -> Result<Vec<Page>, PagesError> {
    let room = Room { first: rules.usable().saturating_sub(taken).0, others: rules.usable().0 };
    let aligned = aligned(intervals, rules.alignment);
    if let Some(index) = aligned.iter().position(|interval| interval.bytes.0 > room.others) {
        return Err(PagesError::TooLarge { index, bytes: intervals[index].bytes, size: rules.size });
    }
    let together = lower(&aligned, (0..aligned.len()).collect());
    match peak(&aligned, &together) <= room.first {
        true => Ok(vec![together]),
        false => Ok(in_several(&aligned, room)),
    }
}

/// How much pages hold.
#[derive(Clone, Copy)]
struct Room {
    first: u64,
    others: u64,
}

/// Proves that nothing lies across pages, over each other or off the alignment, the slow way.
pub fn verify_pages(intervals: &[Interval], rules: PageRules, pages: &Pages) -> Result<(), PagesError> {
    for (index, (interval, spot)) in intervals.iter().zip(&pages.spots).enumerate() {
        let (page, end) = (spot.page, (spot.offset + interval.bytes).distance());
        let used = pages.used.get(page).copied().unwrap_or(Bytes::ZERO).min(rules.size);
        if !spot.offset.0.is_multiple_of(rules.alignment.bytes()) {
            let alignment = rules.alignment.bytes();
            return Err(PagesError::Misaligned { index, offset: spot.offset, alignment });
        }
        if end > used {
            return Err(PagesError::Outside { index, page, end, used });
        }
        for (second, (other, its)) in intervals.iter().zip(&pages.spots).enumerate().skip(index + 1) {
            let together = interval.live.start < other.live.end && other.live.start < interval.live.end;
            let apart = end <= its.offset.distance() || (its.offset + other.bytes) <= spot.offset;
            let empty = interval.bytes.min(other.bytes) == Bytes::ZERO;
            if page == its.page && together && !apart && !empty {
                return Err(PagesError::Overlap { first: index, second, page });
            }
        }
    }
    Ok(())
}

/// A page while it is filled: where intervals lie in it, and which; first fit keeps them by offset.
type Page = Vec<(u64, usize)>;

/// Sizes that are multiples of the alignment lead to offsets that are.
fn aligned(intervals: &[Interval], alignment: Alignment) -> Vec<Interval> {
    let up = |bytes: Bytes| Bytes(bytes.0.next_multiple_of(alignment.bytes()));
    intervals.iter().map(|i| Interval { live: i.live.clone(), bytes: up(i.bytes) }).collect()
}

/// Large ones first, as time goes; large areas first; long lives first; as time goes.
fn orders(intervals: &[Interval]) -> [Vec<usize>; 4] {
    let bytes = |i: usize| u128::from(intervals[i].bytes.0);
    let steps = |i: usize| intervals[i].live.len() as u128;
    let sorted = |key: &dyn Fn(usize) -> u128| {
        let mut order: Vec<usize> = (0..intervals.len()).collect();
        order.sort_by_key(|&i| (Reverse(key(i)), intervals[i].live.start, i));
        order
    };
    [sorted(&bytes), sorted(&|i| bytes(i) * steps(i)), sorted(&steps), sorted(&|_| 0)]
}

/// The best of several orders: the fewest pages, then the least bytes.
fn in_several(intervals: &[Interval], room: Room) -> Vec<Page> {
    let filled = orders(intervals).map(|order| {
        let pages = first_fit(intervals, &order, room);
        let lowered = pages.into_iter().map(|page| lower_filled(intervals, page)).collect::<Vec<Page>>();
        let total: u64 = lowered.iter().map(|page| peak(intervals, page)).sum();
        (lowered.len(), total, lowered)
    });
    let best = filled.into_iter().min_by_key(|(count, total, _)| (*count, *total));
    best.map(|(_, _, pages)| pages).unwrap_or_default()
}

/// Each in the first page with room for it; a new page where there is none.
fn first_fit(intervals: &[Interval], order: &[usize], room: Room) -> Vec<Page> {
    let mut pages: Vec<Page> = vec![Vec::new()];
    for &index in order {
        let bytes = intervals[index].bytes.0;
        let fitting = pages.iter_mut().enumerate().find_map(|(number, page)| {
            let offset = lowest_free(intervals, page, index);
            let size = if number == 0 { room.first } else { room.others };
            (offset + bytes <= size).then_some((page, offset))
        });
        match fitting {
            Some((page, offset)) => {
                let at = page.partition_point(|&(start, _)| start < offset);
                page.insert(at, (offset, index));
            }
            None => pages.push(vec![(0, index)]),
        }
    }
    pages
}

fn lowest_free(intervals: &[Interval], page: &Page, index: usize) -> u64 {
    let Interval { live, bytes } = &intervals[index];
    let meets = |other: &Interval| other.live.start < live.end && live.start < other.live.end;
    let others = page.iter().filter(|&&(_, other)| meets(&intervals[other]));
    first_gap(others.map(|&(start, other)| (start, start + intervals[other].bytes.0)), bytes.0)
}

/// A page that is placed once more on its own, where that is lower.
fn lower_filled(intervals: &[Interval], page: Page) -> Page {
    let lowered = lower(intervals, page.iter().map(|&(_, index)| index).collect());
    if peak(intervals, &lowered) < peak(intervals, &page) { lowered } else { page }
}

/// Some intervals as low as one arena allows.
fn lower(intervals: &[Interval], indices: Vec<usize>) -> Page {
    let part: Vec<Interval> = indices.iter().map(|&index| intervals[index].clone()).collect();
    place(&part).offsets.into_iter().map(|offset| offset.0).zip(indices).collect()
}

fn peak(intervals: &[Interval], page: &Page) -> u64 {
    page.iter().map(|&(offset, index)| offset + intervals[index].bytes.0).max().unwrap_or(0)
}

fn gather(intervals: &[Interval], pages: &[Page], fewest: usize) -> Pages {
    let mut spots = vec![Spot { page: 0, offset: Offset::START }; intervals.len()];
    for (page, filled) in pages.iter().enumerate() {
        filled.iter().for_each(|&(offset, index)| spots[index] = Spot { page, offset: Offset(offset) });
    }
    let used = pages.iter().map(|page| Bytes(peak(intervals, page))).collect();
    Pages { spots, used, fewest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};

    fn rules(size: u64, alignment: u64) -> PageRules {
        PageRules { size: Bytes(size), alignment: Alignment::try_from(alignment).unwrap() }
    }

    fn one(from: u32, until: u32, bytes: u64) -> Interval {
        Interval { live: from..until, bytes: Bytes(bytes) }
    }

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let interval = (0u32..30, 1u32..20, 0u64..300)
            .prop_map(|(start, length, bytes)| one(start, start + length, bytes));
        proptest::collection::vec(interval, 0..40)
    }

    proptest! {
        #[test]
        fn pages_hold_everything(intervals in intervals(), size in 300u64..2000, shift in 0u32..5) {
            let rules = rules(size.next_multiple_of(1 << shift), 1 << shift);
            let pages = place_in_pages(&intervals, rules).unwrap();
            prop_assert_eq!(verify_pages(&intervals, rules, &pages), Ok(()));
            prop_assert!(pages.fewest <= pages.used.len() || intervals.is_empty());
            let largest = place_in_pages(&intervals, PageRules { size: Bytes(1 << 20), ..rules }).unwrap();
            prop_assert!(largest.used.len() <= 1);
        }
    }

    proptest! {
        #[test]
        fn what_lies_above_a_base_crosses_no_page(intervals in intervals(), base in 0u64..2000, size in 300u64..900) {
            let (rules, base) = (rules(size.next_multiple_of(4), 4), Offset(base.next_multiple_of(4)));
            let offsets = place_above(&intervals, rules, base).unwrap();
            let spot = |offset: Offset| Spot {
                page: (offset.0 / rules.size.0) as usize,
                offset: Offset(offset.0 % rules.size.0),
            };
            let spots: Vec<Spot> = offsets.iter().copied().map(spot).collect();
            let count = spots.iter().map(|spot| spot.page + 1).max().unwrap_or(0);
            let pages = Pages { spots, used: vec![rules.size; count], fewest: 1 };
            prop_assert_eq!(verify_pages(&intervals, rules, &pages), Ok(()));
            prop_assert!(offsets.iter().all(|&offset| offset >= base));
        }
    }

    #[test]
    fn what_lives_at_different_times_shares_a_page() {
        let intervals = [one(0, 2, 60), one(0, 2, 60), one(2, 4, 100), one(2, 4, 20)];
        let pages = place_in_pages(&intervals, rules(100, 1)).unwrap();
        assert_eq!((pages.used.len(), pages.fewest), (2, 2));
        assert_ne!(pages.spots[0].page, pages.spots[1].page);
        assert_ne!(pages.spots[2].page, pages.spots[3].page);
    }

    #[test]
    fn what_has_no_bytes_lies_over_nothing() {
        let intervals = [one(0, 2, 64), one(1, 3, 0)];
        let spots = [0, 32].map(|offset| Spot { page: 0, offset: Offset(offset) }).to_vec();
        let pages = Pages { spots, used: vec![Bytes(64)], fewest: 1 };
        assert_eq!(verify_pages(&intervals, rules(100, 32), &pages), Ok(()));
    }

    #[test]
    fn what_is_larger_than_a_page_is_named() {
        let intervals = [one(0, 2, 60), one(0, 2, 101)];
        let error = PagesError::TooLarge { index: 1, bytes: Bytes(101), size: Bytes(100) };
        assert_eq!(place_in_pages(&intervals, rules(100, 1)), Err(error));
        // Of 100 bytes, 96 are whole multiples of 32.
        assert!(place_in_pages(&[one(0, 1, 97)], rules(100, 32)).is_err());
        assert!(place_in_pages(&[one(0, 1, 96)], rules(100, 32)).is_ok());
    }

    #[test]
    fn the_verifier_finds_what_is_wrong() {
        let intervals = [one(0, 2, 64), one(1, 3, 64)];
        let spot = |page, offset| Spot { page, offset: Offset(offset) };
        let verify = |spots: [Spot; 2], used: &[u64]| {
            let used = used.iter().copied().map(Bytes).collect();
            verify_pages(&intervals, rules(128, 64), &Pages { spots: spots.to_vec(), used, fewest: 1 })
        };
        assert_eq!(verify([spot(0, 0), spot(0, 64)], &[128]), Ok(()));
        assert_eq!(verify([spot(0, 0), spot(1, 0)], &[64, 64]), Ok(()));
        let overlap = PagesError::Overlap { first: 0, second: 1, page: 0 };
        assert_eq!(verify([spot(0, 0), spot(0, 0)], &[64]), Err(overlap));
        let misaligned = PagesError::Misaligned { index: 1, offset: Offset(65), alignment: 64 };
        assert_eq!(verify([spot(0, 0), spot(0, 65)], &[129]), Err(misaligned));
        for (second, used) in [(spot(0, 64), [64, 0]), (spot(0, 128), [192, 0]), (spot(7, 0), [64, 64])] {
            let error = verify([spot(0, 0), second], &used);
            assert!(matches!(error, Err(PagesError::Outside { index: 1, .. })), "{error:?}");
        }
    }
}
