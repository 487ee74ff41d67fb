//! Parts of a source: some of its samples, by number.

use crate::{Account, Column, Datum, InputError, Room, Source, Taken};
use plimsoll_graph::philox::{block, unit};
use plimsoll_trace::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// Samples whose classes are looked at, so that all parts have the same share of each; larger sources are split without
/// looking.
const MOST_LOOKED_AT: usize = 1 << 20;

/// How many samples share an entry of the index.
const BLOCK: usize = 512;

/// Some samples of a source: a bit for each that is there, and a count for each block.
pub struct Part {
    source: Arc<dyn Source>,
    bits: Vec<u64>,
    /// How many are there before each block.
    before: Vec<u64>,
    count: usize,
    _taken: Taken,
}

impl Part {
    /// The samples that are kept.
    pub fn new(
        source: &Arc<dyn Source>,
        account: &Arc<Account>,
        mut keeps: impl FnMut(usize) -> bool,
    ) -> Result<Self, InputError> {
        let blocks = source.count().div_ceil(BLOCK);
        let bytes = Bytes((blocks * (BLOCK / 8 + 8)) as u64);
        let taken = account.hold("a list of samples", bytes)?;
        let (mut bits, mut before) = (vec![0u64; blocks * (BLOCK / 64)], Vec::with_capacity(blocks));
        let mut count = 0;
        for sample in 0..source.count() {
            if sample % BLOCK == 0 {
                before.push(count as u64);
            }
            if keeps(sample) {
                bits[sample / 64] |= 1 << (sample % 64);
                count += 1;
            }
        }
        Ok(Self { source: source.clone(), bits, before, count, _taken: taken })
    }

    /// The number that a sample has in the source.
    fn number(&self, sample: usize) -> usize {
        let block = self.before.partition_point(|before| *before <= sample as u64) - 1;
        let mut left = sample - self.before[block] as usize;
        let mut word = block * (BLOCK / 64);
        loop {
            let ones = self.bits[word].count_ones() as usize;
            if left < ones {
                break;
            }
            left -= ones;
            word += 1;
        }
        let bit = (0..left).fold(self.bits[word], |bits, _| bits & (bits - 1)).trailing_zeros();
        word * 64 + bit as usize
    }
}

impl Source for Part {
    fn count(&self) -> usize {
        self.count
    }

    fn columns(&self) -> &[Column] {
        self.source.columns()
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        self.source.read(self.number(sample), column, room)
    }

    fn place(&self, sample: usize) -> String {
        self.source.place(self.number(sample))
    }

    fn class(&self, sample: usize, room: &mut Room) -> Result<Option<usize>, InputError> {
        self.source.class(self.number(sample), room)
    }
}

/// Keeps a share of the samples apart: drawn by the seed, the same share of each class. Gives the rest and the share.
pub fn split(
    source: &Arc<dyn Source>,
    share: f64,
    seed: u64,
    account: &Arc<Account>,
) -> Result<(Part, Part), InputError> {
    let mut room = Room::new(account);
    let is_looked_at = source.count() <= MOST_LOOKED_AT;
    // What cannot be read here is found, and named, when it is wanted.
    let mut class = |sample: usize| match is_looked_at {
        true => source.class(sample, &mut room).ok().flatten(),
        false => None,
    };
    let mut sizes: HashMap<Option<usize>, usize> = HashMap::new();
    for sample in 0..source.count() {
        *sizes.entry(class(sample)).or_default() += 1;
    }
    // Numbers of which nearly each is another are no classes.
    let has_classes = sizes.len() > 1 && sizes.len() * 10 <= source.count();
    if !has_classes {
        sizes = HashMap::from([(None, source.count())]);
    }
    let wanted = |size: usize| (share * size as f64).round() as usize;
    let mut left: HashMap<Option<usize>, (usize, usize)> =
        sizes.into_iter().map(|(class, size)| (class, (wanted(size), size))).collect();
    // Selection sampling: D. Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm S.
    let apart = Part::new(source, account, |sample| {
        let class = if has_classes { class(sample) } else { None };
        let (wanted, size) = left.get_mut(&class).expect("each was counted");
        let word = block(seed ^ 0x7370_6c69_7421, 1 << 63, sample as u64)[0];
        let is_drawn = f64::from(unit(word)) * (*size as f64) < *wanted as f64;
        *size -= 1;
        *wanted -= usize::from(is_drawn);
        is_drawn
    })?;
    let rest = Part::new(source, account, |sample| apart.bits[sample / 64] >> (sample % 64) & 1 == 0)?;
    if apart.count == 0 || rest.count == 0 {
        let problem =
            format!("{} samples are too few to keep a share of {share} of them apart", source.count());
        return Err(InputError::unsuitable(problem, None));
    }
    Ok((rest, apart))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, FieldKind};

    struct Classes(Vec<usize>, [Column; 1]);

    fn classes(count: usize) -> Arc<dyn Source> {
        let names = ["a", "b", "c"].map(str::to_string).to_vec();
        let column = Column::new("class", Some(FieldKind::Target), Content::Class(names));
        // Half of them are a, a third b, the others c.
        let class = |sample: usize| [0, 1, 0, 1, 0, 2][sample % 6];
        Arc::new(Classes((0..count).map(class).collect(), [column]))
    }

    impl Source for Classes {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn columns(&self) -> &[Column] {
            &self.1
        }

        fn read(&self, sample: usize, _: usize, _: &mut Room) -> Result<Datum, InputError> {
            Ok(Datum::Class(self.0[sample]))
        }

        fn place(&self, sample: usize) -> String {
            sample.to_string()
        }
    }

    #[test]
    fn parts_are_apart_and_have_the_same_share_of_each_class() {
        let account = Account::new(Bytes::mib(1));
        for count in [60, 600, 5_000] {
            let source = classes(count);
            let (rest, apart) = split(&source, 0.2, 7, &account).unwrap();
            let places =
                |part: &Part| (0..part.count()).map(|sample| part.number(sample)).collect::<Vec<_>>();
            let mut all = [places(&rest), places(&apart)].concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count), "each sample is in one of them");
            let of = |class: usize| {
                let of_class = |sample: &usize| [0, 1, 0, 1, 0, 2][sample % 6] == class;
                places(&apart).iter().filter(|sample| of_class(sample)).count()
            };
            for (class, size) in [count.div_ceil(2), count / 3, count / 6].into_iter().enumerate() {
                assert!(
                    of(class).abs_diff((0.2 * size as f64).round() as usize) <= 1,
                    "{count} {class}: {}",
                    of(class)
                );
            }
            let other = split(&source, 0.2, 8, &account).unwrap().1;
            assert_ne!(places(&apart), places(&other), "the seed decides");
            assert_eq!(places(&apart), places(&split(&source, 0.2, 7, &account).unwrap().1));
        }
        assert!(split(&classes(2), 0.1, 7, &account).is_err());
        assert_eq!(account.in_use(), Bytes::ZERO);
    }
}
