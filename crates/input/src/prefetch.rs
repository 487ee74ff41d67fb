//! Reading ahead: workers make samples ready in the order in which they will be wanted, as many as there is memory for.
//!
//! A worker takes the next position, a free slot, and does everything for that sample. Positions are given out in order
//! and slots come back in order, so the next sample that is wanted is always one that is being worked on: nobody waits
//! for somebody who waits. Which sample stands where follows from its position alone, whoever reads it.

use crate::reading::Values;
use crate::samples::Drawn;
use crate::{Account, Elements, Field, InputError, Reading, Room, Samples, Taken};
use plimsoll_trace::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Samples of a reading that are made ready ahead of time.
pub struct Prefetched {
    reading: Arc<Reading>,
    account: Arc<Account>,
    needs: Needs,
    running: RefCell<Option<Running>>,
    current: RefCell<Current>,
    rates: RefCell<Rates>,
    /// The seed of the last order that was announced.
    seed: Cell<Option<u64>>,
}

/// What reading ahead takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// How many samples wait at most.
    pub slots: usize,
    /// How many threads read.
    pub threads: usize,
    /// What a sample takes when it is ready.
    pub sample: Bytes,
    /// What a thread takes while it works on one, at most, as far as is known.
    pub room: Bytes,
}

/// How fast samples were read, since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// How many.
    pub samples: u64,
    /// How long all threads together read files, decoded, and resized.
    pub stages: [Duration; 3],
    /// How long somebody waited for samples.
    pub waited: Duration,
    /// How many threads read.
    pub threads: usize,
}

impl Rates {
    /// What takes the workers most of their time.
    pub fn limited_by(&self) -> &'static str {
        let names = ["reading files", "decoding", "resizing"];
        let longest = (0..3).max_by_key(|&stage| self.stages[stage]).unwrap_or(0);
        names[longest]
    }
}

impl Needs {
    /// The most slots that help: more than three batches are not wanted before others are free again.
    const BATCHES: usize = 3;

    /// As many threads and slots as some bytes allow: a batch and a thread at least.
    fn within(reading: &Reading, left: Bytes, batch: usize, threads: usize) -> Result<Self, InputError> {
        let (sample, mut room) = (reading.sample_bytes(), reading.room_bytes());
        let least = Bytes(sample.0.saturating_mul(batch as u64));
        if reading.is_checked() {
            // What would take more is not among them.
            room = room.min(left.saturating_sub(least));
        }
        let fits =
            |threads: usize| Bytes(room.0.saturating_mul(threads as u64).saturating_add(least.0)) <= left;
        let Some(threads) = (1..=threads.max(1)).rev().find(|&threads| fits(threads)) else {
            let problem = format!(
                "a batch of {batch} samples takes {least} when it is ready, and the work on a sample {room}: input memory \
                 leaves {left}"
            );
            return Err(InputError::unsuitable(
                problem,
                Some("give input more memory, or make the batch smaller".to_string()),
            ));
        };
        let slots = (left.0 - room.0 * threads as u64) / sample.0.max(1);
        let slots = (slots as usize).clamp(batch, Self::BATCHES * batch);
        Ok(Self { slots, threads, sample, room })
    }

    /// What this comes to.
    pub fn total(&self) -> Bytes {
        Bytes(self.sample.0 * self.slots as u64 + self.room.0 * self.threads as u64)
    }

    /// What would be taken where there is enough.
    pub fn wish(reading: &Reading, batch: usize, threads: usize) -> Self {
        let (sample, room) = (reading.sample_bytes(), reading.room_bytes());
        Self { slots: Self::BATCHES * batch, threads: threads.max(1), sample, room }
    }
}

impl Prefetched {
    /// Samples that are read ahead by so many threads, and wanted in batches of this size at most.
    pub fn new(
        reading: Arc<Reading>,
        account: &Arc<Account>,
        batch: usize,
        threads: usize,
    ) -> Result<Self, InputError> {
        let needs = Needs::within(&reading, account.left(), batch, threads)?;
        Ok(Self {
            reading,
            account: account.clone(),
            needs,
            running: RefCell::new(None),
            current: RefCell::default(),
            rates: RefCell::default(),
            seed: Cell::default(),
        })
    }

    /// What reading ahead takes.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Starts workers for some positions.
    fn start(&self, seed: Option<u64>, positions: Range<u64>) -> Result<Running, InputError> {
        let bytes = Bytes(self.needs.sample.0 * self.needs.slots as u64);
        let taken = self.account.hold("samples that wait", bytes)?;
        let free = (0..self.needs.slots).map(|_| self.reading.values()).collect();
        let state = State { next: positions.start, free, ..State::default() };
        let shared = Shared {
            reading: self.reading.clone(),
            account: self.account.clone(),
            seed,
            end: positions.end,
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        let shared = Arc::new(shared);
        let worker = |_| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.work())
        };
        let workers = (0..self.needs.threads).map(worker).collect();
        Ok(Running { shared, workers, wanted: positions.start, _taken: taken })
    }

    /// Takes samples that were announced, in their order.
    fn take(&self, running: &mut Running, samples: &[usize]) -> Result<(), InputError> {
        let start = Instant::now();
        let mut current = self.current.borrow_mut();
        for &sample in samples {
            let values = running.shared.wait(running.wanted)?;
            running.wanted += 1;
            current.slots.push((sample, values));
        }
        self.rates.borrow_mut().waited += start.elapsed();
        Ok(())
    }

    /// Reads samples that were not announced, one after the other.
    fn read_now(&self, position: u64, samples: &[usize]) -> Result<(), InputError> {
        let mut current = self.current.borrow_mut();
        let bytes = Bytes(self.needs.sample.0 * samples.len() as u64);
        current.taken = Some(self.account.hold("a batch", bytes)?);
        let mut room = Room::new(&self.account);
        let count = self.reading.source().count() as u64;
        for (row, &sample) in samples.iter().enumerate() {
            let mut values = self.reading.values();
            let turn = self.seed.get().map(|seed| (seed, (position + row as u64) / count));
            self.reading.write(Drawn { sample, turn }, &mut room, &mut values)?;
            current.slots.push((sample, values));
        }
        self.rates.borrow_mut().samples += samples.len() as u64;
        Ok(())
    }

    /// Whether samples are those that come next.
    fn is_next(&self, running: &Running, position: u64, samples: &[usize]) -> bool {
        let (seed, count) = (running.shared.seed, self.reading.source().count());
        let drawn = |row: usize| Drawn::at(seed, position + row as u64, count).sample;
        position == running.wanted
            && position + samples.len() as u64 <= running.shared.end
            && samples.len() <= self.needs.slots
            && samples.iter().enumerate().all(|(row, &sample)| drawn(row) == sample)
    }

    /// Frees the slots of the batch before.
    fn recycle(&self, running: Option<&Running>) {
        let Current { slots, taken, .. } = std::mem::take(&mut *self.current.borrow_mut());
        if let (None, Some(running)) = (taken, running) {
            running.shared.free(slots.into_iter().map(|(_, values)| values));
        }
    }

    fn note(&self, running: &Running) {
        let mut state = running.shared.state();
        let mut rates = self.rates.borrow_mut();
        rates.samples += std::mem::take(&mut state.samples);
        let stages = std::mem::take(&mut state.stages);
        rates.stages.iter_mut().zip(stages).for_each(|(all, one)| *all += one);
        rates.threads = self.needs.threads;
    }
}

impl Samples for Prefetched {
    fn count(&self) -> usize {
        self.reading.source().count()
    }

    fn fields(&self) -> &[Field] {
        self.reading.fields()
    }

    fn write(&self, field: usize, sample: usize, into: Elements<'_>) {
        let mut current = self.current.borrow_mut();
        let Current { slots, last, .. } = &mut *current;
        // Rows are written one after the other. That tells a sample from itself, where an epoch ends within a batch and
        // the next begins with the same one.
        let found =
            (1..=slots.len()).map(|ahead| (*last + ahead) % slots.len()).find(|&at| slots[at].0 == sample);
        *last = found.expect("samples are made ready before they are written");
        slots[*last].1[field].copy_to(into);
    }

    fn announce(&self, seed: Option<u64>, positions: Range<u64>) {
        self.rest();
        self.seed.set(seed);
        // Where there is no memory to read ahead, samples are read when they are wanted.
        *self.running.borrow_mut() = self.start(seed, positions).ok();
    }

    fn ready(&self, position: u64, samples: &[usize]) -> Result<(), InputError> {
        if self.current.borrow_mut().has(position, samples) {
            return Ok(());
        }
        let mut running = self.running.borrow_mut();
        self.recycle(running.as_ref());
        match running.as_mut() {
            Some(running) if self.is_next(running, position, samples) => self.take(running, samples)?,
            _ => {
                // Somebody goes their own way: what was read ahead is not wanted.
                running.iter().for_each(|running| self.note(running));
                *running = None;
                self.read_now(position, samples)?;
            }
        }
        let mut current = self.current.borrow_mut();
        (current.position, current.last) = (Some(position), samples.len().saturating_sub(1));
        Ok(())
    }

    fn rest(&self) {
        let running = self.running.borrow_mut().take();
        running.iter().for_each(|running| self.note(running));
        drop(running);
        *self.current.borrow_mut() = Current::default();
    }

    fn rates(&self) -> Option<Rates> {
        self.running.borrow().iter().for_each(|running| self.note(running));
        Some(*self.rates.borrow())
    }
}

/// The samples that can be written now.
#[derive(Default)]
struct Current {
    /// Where the first of them stands; nothing if there are none.
    position: Option<u64>,
    slots: Vec<(usize, Vec<Values>)>,
    /// The one that was written last.
    last: usize,
    /// What they take, where they are none of those that were read ahead.
    taken: Option<Taken>,
}

impl Current {
    /// Whether these samples are here already, perhaps among others; the first of them is written next.
    fn has(&mut self, position: u64, samples: &[usize]) -> bool {
        let ahead = self.position.and_then(|first| position.checked_sub(first));
        let Some(ahead) = ahead.filter(|ahead| *ahead < self.slots.len() as u64) else { return false };
        let ahead = ahead as usize;
        let here = self.slots[ahead..].iter().map(|(sample, _)| sample).take(samples.len());
        let is_there = here.eq(samples);
        if is_there {
            self.last = (ahead + self.slots.len() - 1) % self.slots.len();
        }
        is_there
    }
}

/// Workers, and what they share.
struct Running {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// The next position that will be wanted.
    wanted: u64,
    _taken: Taken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.state().stops = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // Whatever a worker has died of was told by the sample it worked on.
            let _ = worker.join();
        }
    }
}

struct Shared {
    reading: Arc<Reading>,
    account: Arc<Account>,
    seed: Option<u64>,
    end: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The next position that nobody works on.
    next: u64,
    free: Vec<Vec<Values>>,
    ready: HashMap<u64, Result<Vec<Values>, InputError>>,
    stops: bool,
    samples: u64,
    stages: [Duration; 3],
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does, until there is nothing left to do.
    fn work(&self) {
        let mut room = Room::new(&self.account);
        while let Some((position, mut values)) = self.next(&mut room) {
            let drawn = Drawn::at(self.seed, position, self.reading.source().count());
            let read = catch_unwind(AssertUnwindSafe(|| self.reading.write(drawn, &mut room, &mut values)));
            let read = read.unwrap_or_else(|_| {
                room.rest();
                Err(InputError::sample(
                    self.reading.source().place(drawn.sample),
                    "its decoder has broken down",
                ))
            });
            let times = room.take_times();
            let mut state = self.state();
            state.stages.iter_mut().zip(times).for_each(|(all, one)| *all += one);
            state.samples += 1;
            state.ready.insert(position, read.map(|()| values));
            drop(state);
            self.changed.notify_all();
            room.rest_if_wanted();
        }
    }

    /// The next position and a slot for it; waits for one, with nothing in hand.
    fn next(&self, room: &mut Room) -> Option<(u64, Vec<Values>)> {
        let mut state = self.state();
        loop {
            if state.stops || state.next >= self.end {
                return None;
            }
            if let Some(values) = state.free.pop() {
                let position = state.next;
                state.next += 1;
                return Some((position, values));
            }
            room.rest_if_wanted();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The sample at a position, when it is ready.
    fn wait(&self, position: u64) -> Result<Vec<Values>, InputError> {
        let mut state = self.state();
        loop {
            if let Some(read) = state.ready.remove(&position) {
                return read;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn free(&self, slots: impl Iterator<Item = Vec<Values>>) {
        self.state().free.extend(slots);
        self.changed.notify_all();
    }
}
