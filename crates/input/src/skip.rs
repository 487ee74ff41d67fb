//! Leaving out what cannot be read: all samples are read once, before anything depends on how many there are.

use crate::{Account, InputError, Part, Reading, Room, Source};
use std::sync::Arc;

/// The samples that can be read, and why the others cannot: sample by sample, in their order.
pub fn without_bad_samples(
    reading: &Reading,
    threads: usize,
    account: &Arc<Account>,
) -> Result<(Arc<dyn Source>, Vec<InputError>), InputError> {
    let (count, threads) = (reading.source().count(), threads.max(1));
    let share = count.div_ceil(threads);
    let looked = std::thread::scope(|scope| {
        let parts = (0..threads).map(|part| {
            let samples = part * share..((part + 1) * share).min(count);
            scope.spawn(move || {
                let mut room = Room::new(account);
                let mut values = reading.values();
                let mut bad = Vec::new();
                for sample in samples {
                    match reading.write_plain(sample, &mut room, &mut values) {
                        Err(error) if error.is_of_one_sample() => bad.push((sample, error)),
                        other => other?,
                    }
                    room.rest_if_wanted();
                }
                Ok(bad)
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().map(|part| part.join().expect("reading does not panic")).collect::<Vec<_>>()
    });
    let bad = looked.into_iter().collect::<Result<Vec<_>, InputError>>()?.concat();
    let is_bad = |sample: usize| bad.binary_search_by_key(&sample, |(sample, _)| *sample).is_ok();
    let part = Part::new(reading.source(), account, |sample| !is_bad(sample))?;
    if part.count() == 0 {
        let (_, error) = bad.into_iter().next().expect("all samples are bad");
        return Err(error);
    }
    Ok((Arc::new(part), bad.into_iter().map(|(_, error)| error).collect()))
}
