//! Room to work in: the buffers of one worker, all of them in the account.

use crate::{Account, InputError, Taken};
use fast_image_resize::Resizer;
use plimsoll_trace::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the work on a sample is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading files.
    Read,
    /// Decoding images, parsing text.
    Decode,
    /// Resizing images and turning pixels into numbers.
    Resize,
}

/// The buffers of one worker.
pub struct Room {
    account: Arc<Account>,
    /// What the buffers may come to.
    sizes: Sizes,
    taken: Option<Taken>,
    /// A file, or a piece of one.
    pub(crate) file: Vec<u8>,
    pub(crate) image: ImageRoom,
    /// Which sample of which source the file buffer has, for sources that read a sample once for several columns.
    pub(crate) kept: Option<(usize, usize)>,
    /// Where the fields of a kept row begin and end.
    pub(crate) cells: Vec<(u32, u32)>,
    times: [Duration; 3],
}

/// The buffers that images go through.
#[derive(Default)]
pub(crate) struct ImageRoom {
    /// Decoded pixels.
    pub(crate) pixels: Vec<u8>,
    /// The same with 16 bits a channel.
    pub(crate) wide: Vec<u16>,
    /// Resized pixels.
    pub(crate) resized: Vec<u8>,
    pub(crate) resizer: Resizer,
}

/// How many bytes each buffer of a room takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) file: u64,
    pub(crate) pixels: u64,
    pub(crate) wide: u64,
    pub(crate) resized: u64,
    /// What decoder and resizer take inside.
    pub(crate) inner: u64,
}

impl Sizes {
    pub(crate) fn total(self) -> Bytes {
        let Self { file, pixels, wide, resized, inner } = self;
        Bytes(file.saturating_add(pixels).saturating_add(wide).saturating_add(resized).saturating_add(inner))
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            file: self.file.max(other.file),
            pixels: self.pixels.max(other.pixels),
            wide: self.wide.max(other.wide),
            resized: self.resized.max(other.resized),
            inner: self.inner.max(other.inner),
        }
    }
}

impl Room {
    /// Room in an account; it takes nothing until it is used.
    pub fn new(account: &Arc<Account>) -> Self {
        Self {
            account: account.clone(),
            sizes: Sizes::default(),
            taken: None,
            file: Vec::new(),
            image: ImageRoom::default(),
            kept: None,
            cells: Vec::new(),
            times: [Duration::ZERO; 3],
        }
    }

    /// Makes room for a sample that needs this much, without what is in the file buffer; waits for others where it has
    /// to. Nothing is held meanwhile, so nobody waits for whoever waits.
    pub(crate) fn fit(&mut self, sizes: Sizes, place: &dyn Fn() -> String) -> Result<(), InputError> {
        if self.has(sizes) {
            return Ok(());
        }
        self.rest();
        let taken = self.account.pass("a sample", sizes.total());
        self.taken = Some(taken.map_err(|shortage| InputError::SampleMemory { place: place(), shortage })?);
        self.sizes = sizes;
        Ok(())
    }

    /// Makes room for what was wanted last and more.
    pub(crate) fn fit_more(&mut self, sizes: Sizes, place: &dyn Fn() -> String) -> Result<(), InputError> {
        self.fit(self.sizes.max(sizes), place)
    }

    /// Whether there is room for that much, too, with what is in the buffers now.
    pub(crate) fn has(&mut self, sizes: Sizes) -> bool {
        let wanted = self.sizes.max(sizes);
        let is_there = self.taken.as_ref().is_some_and(|taken| taken.bytes() >= wanted.total());
        if is_there {
            self.sizes = wanted;
        }
        is_there
    }

    /// The file buffer with so many bytes, which [`fit`](Self::fit) has made room for.
    pub(crate) fn file(&mut self, bytes: usize) -> &mut [u8] {
        sized(&mut self.file, bytes)
    }

    /// The first bytes of what a source has read.
    ///
    /// # Panics
    /// If it has read fewer.
    pub fn bytes(&self, length: usize) -> &[u8] {
        &self.file[..length]
    }

    /// Makes room for so many bytes, and gives them to whoever reads a sample; `place` says where it comes from.
    pub fn load(&mut self, length: usize, place: &dyn Fn() -> String) -> Result<&mut [u8], InputError> {
        self.kept = None;
        self.fit(Sizes { file: length as u64, ..Sizes::default() }, place)?;
        Ok(self.file(length))
    }

    /// Frees all buffers and gives back what was taken.
    pub(crate) fn rest(&mut self) {
        (self.file, self.kept, self.cells) = (Vec::new(), None, Vec::new());
        self.image = ImageRoom::default();
        self.sizes = Sizes::default();
        self.taken = None;
    }

    /// Gives back what was taken if somebody waits for it.
    pub(crate) fn rest_if_wanted(&mut self) {
        if self.account.is_wanted() {
            self.rest();
        }
    }

    /// Does something, and notes how long it took.
    pub(crate) fn timed<T>(&mut self, stage: Stage, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let result = work(self);
        self.times[stage as usize] += start.elapsed();
        result
    }

    /// How long each stage took since this was asked last.
    pub(crate) fn take_times(&mut self) -> [Duration; 3] {
        std::mem::take(&mut self.times)
    }
}

/// The first bytes of a buffer, which grows to exactly as many where it has fewer.
pub(crate) fn sized<T: Copy + Default>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.reserve_exact(length - buffer.len());
        buffer.resize(length, T::default());
    }
    &mut buffer[..length]
}
