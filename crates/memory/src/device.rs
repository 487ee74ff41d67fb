//! A logical device: memory with a limit, and the list of who holds how much of it.
//!
//! Equations, checked at every request: `in_use = sum(holders) <= limit`, and `in_use <= reserved <= limit` (without
//! growth, the last up to the page or so that rounds each piece). Everything the device holds for anybody counts:
//! arenas and the regions of allocators.

use crate::books::{Books, Entry, Figures, Ticket};
use crate::physical::ShareId;
use crate::piece::{Page, Piece, page_lengths};
use crate::reserve::Reserve;
use crate::{
    Arena, DeviceError, FreeBlocks, Host, Mapping, OutOfMemory, PhysicalDevice, Reservation, Share,
    Statistics, process,
};
use plimsoll_trace::{Bytes, Offset};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether a device takes memory as it is needed, or its whole limit at once. The limit holds either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// Each arena and region is mapped when it is asked for and given back when it is dropped.
    #[default]
    On,
    /// The whole limit is one region that is reserved before the first request.
    Off,
}

/// Memory with a limit, cut from a physical device. Clones are the same device.
#[derive(Clone, Debug)]
pub struct Device {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    name: String,
    growth: Growth,
    physical: PhysicalDevice,
    share: ShareId,
    books: Mutex<Books>,
}

impl Device {
    /// The host's memory, of which no more than `limit` is used, whatever the host has.
    pub fn host(limit: Bytes) -> Self {
        let physical = PhysicalDevice::new(Host::of(limit));
        let share = physical.admit(Share { name: "host".to_string(), limit });
        let share = share.expect("a host of this capacity has room for this limit");
        Self::new(physical, share, "host", limit, Growth::On).expect("nothing is reserved yet")
    }

    /// The device of a share; without growth, its memory is reserved here.
    pub(crate) fn new(
        physical: PhysicalDevice,
        share: ShareId,
        name: &str,
        limit: Bytes,
        growth: Growth,
    ) -> Result<Self, DeviceError> {
        let books = Mutex::new(Books::new(limit));
        let state = State { name: name.to_string(), growth, physical, share, books };
        let device = Self { state: Arc::new(state) };
        if growth == Growth::Off {
            device.reserve(&mut device.books(), limit)?;
        }
        Ok(device)
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The physical device it was cut from.
    pub fn physical(&self) -> &PhysicalDevice {
        &self.state.physical
    }

    /// Whether it takes memory as it is needed.
    pub fn growth(&self) -> Growth {
        self.state.growth
    }

    /// What it may hold in all.
    pub fn limit(&self) -> Bytes {
        self.books().limit
    }

    /// What arenas and regions hold of it now.
    pub fn in_use(&self) -> Bytes {
        self.books().in_use()
    }

    /// What it has from the physical device now.
    pub fn reserved(&self) -> Bytes {
        self.figures().reserved
    }

    /// Who holds what of it now.
    pub fn holders(&self) -> Vec<Reservation> {
        self.books().holders()
    }

    /// How things stand, all of one moment.
    pub fn figures(&self) -> Figures {
        self.books().figures(self.growth())
    }

    /// An arena of exactly this capacity for somebody, in pages of this size if there is one; or why there is none.
    ///
    /// # Panics
    /// If the page size is zero.
    pub fn arena(&self, who: &str, capacity: Bytes, page: Option<Bytes>) -> Result<Arena, OutOfMemory> {
        self.take(who, capacity, page).map(Arena::new)
    }

    /// Whether its memory is the host's and has addresses; it is asked by mapping nothing.
    pub fn is_host(&self) -> bool {
        self.take("nobody", Bytes::ZERO, None).is_ok_and(|piece| piece.is_host())
    }

    /// Gives it another limit, also while it is in use: more if the physical device leaves it, less if it holds no more
    /// than that.
    pub fn resize(&self, limit: Bytes) -> Result<(), DeviceError> {
        let mut books = self.books();
        let in_use = books.in_use();
        if limit == Bytes::ZERO {
            return Err(DeviceError::Empty { name: self.state.name.clone() });
        }
        if limit < in_use {
            let (device, holders) = (self.state.name.clone(), books.holders());
            return Err(DeviceError::Held { device, limit, in_use, holders });
        }
        let old = books.limit;
        self.state.physical.resize(self.state.share, limit)?;
        books.limit = limit;
        let fitted = if self.growth() == Growth::Off { self.fit_reserves(&mut books) } else { Ok(()) };
        if fitted.is_err() {
            books.limit = old;
            self.state.physical.resize(self.state.share, old).expect("it had this share before");
        }
        Ok(fitted?)
    }

    /// Gives everything that is reserved but not in use back to the operating system, and says how much that was. It is
    /// reserved again when it is needed.
    pub fn release(&self) -> Bytes {
        self.books().release()
    }

    /// A refusal with the device's evidence, and that of the allocator that could not meet the request, if one stands
    /// in between.
    pub fn out_of_memory(&self, who: &str, requested: Bytes, allocator: Option<&Statistics>) -> OutOfMemory {
        let mut refusal = self.refuse(&self.books(), who, requested, None);
        if let Some(statistics) = allocator {
            let (free, largest) = (statistics.free(), statistics.largest_free);
            refusal.blocks = Some(Box::new(FreeBlocks { free, largest }));
        }
        refusal
    }

    /// So many bytes for somebody, if the limit leaves them.
    pub(crate) fn take(&self, who: &str, bytes: Bytes, page: Option<Bytes>) -> Result<Piece, OutOfMemory> {
        let page = page.unwrap_or(Bytes(u64::MAX));
        assert!(page > Bytes::ZERO, "a page has bytes");
        let mut books = self.books();
        if bytes > books.limit.saturating_sub(books.in_use()) {
            return Err(self.refuse(&books, who, bytes, None));
        }
        let (pages, place) = match self.growth() {
            Growth::On => (self.map(&books, who, bytes, page)?, None),
            Growth::Off => {
                let place = self.cut(&mut books, who, bytes)?;
                (pages_of(&place, bytes, page), Some(place))
            }
        };
        let ticket = books.enter(Entry { holder: Reservation { who: who.to_string(), bytes }, place });
        Ok(Piece { pages, page, bytes, device: self.clone(), ticket })
    }

    pub(crate) fn give_back(&self, ticket: Ticket) {
        let mut books = self.books();
        let entry = books.holders.remove(&ticket);
        if let Some((mapping, start)) = entry.and_then(|entry| entry.place) {
            let reserve = books.reserves.iter_mut().find(|reserve| reserve.is_of(&mapping));
            reserve.expect("a reserve outlives its pieces").give_back(start);
        }
    }

    /// A mapping for each page; all or none.
    fn map(&self, books: &Books, who: &str, bytes: Bytes, page: Bytes) -> Result<Vec<Page>, OutOfMemory> {
        let map = |length: Bytes| {
            let mapping = self.state.physical.hardware().map(length);
            let mapping =
                mapping.map_err(|error| self.refuse(books, who, bytes, Some(refusal(&error, bytes))))?;
            Ok(Page { mapping: Arc::new(mapping), start: Offset::START })
        };
        page_lengths(bytes, page).map(map).collect()
    }

    /// A part of what is reserved.
    fn cut(&self, books: &mut Books, who: &str, bytes: Bytes) -> Result<(Arc<Mapping>, Offset), OutOfMemory> {
        if books.reserves.is_empty() {
            self.reserve(books, books.limit)?;
        }
        let place = books.reserves.iter_mut().find_map(|reserve| reserve.take(bytes));
        let place = place.ok_or_else(|| self.refuse(books, who, bytes, None))?;
        if books.reserved(Growth::Off) > books.limit {
            // After a shrink the mapping is longer than the limit; what is free of it must not stay.
            books.reserves.iter_mut().for_each(|reserve| _ = reserve.release());
        }
        Ok(place)
    }

    /// Makes what is reserved agree with the limit.
    fn fit_reserves(&self, books: &mut Books) -> Result<(), OutOfMemory> {
        let mapped: u64 = books.reserves.iter().map(Reserve::length).sum();
        if books.holders.is_empty() {
            books.reserves.clear();
            return self.reserve(books, books.limit);
        }
        match books.limit.0.checked_sub(mapped) {
            Some(0) => Ok(()),
            Some(more) => self.reserve(books, Bytes(more)),
            None => {
                books.release();
                Ok(())
            }
        }
    }

    /// Reserves more memory at once. The system would end the process rather than refuse pages it does not have, so it
    /// is asked first.
    fn reserve(&self, books: &mut Books, bytes: Bytes) -> Result<(), OutOfMemory> {
        let hardware = self.state.physical.hardware();
        let refuse = |said: String| self.refuse(books, "the reserve", bytes, Some(said));
        let available = hardware.available();
        if bytes > available {
            return Err(refuse(format!("only {available} are available")));
        }
        let mapping = hardware.commit(bytes).map_err(|error| refuse(refusal(&error, bytes)))?;
        books.reserves.push(Reserve::new(mapping));
        Ok(())
    }

    fn refuse(&self, books: &Books, who: &str, requested: Bytes, system: Option<String>) -> OutOfMemory {
        let figures = books.figures(self.growth());
        let blocks = FreeBlocks { free: figures.limit - figures.in_use, largest: figures.largest_free };
        let pooled = self.growth() == Growth::Off && !books.reserves.is_empty();
        OutOfMemory {
            device: self.state.name.clone(),
            who: who.to_string(),
            requested,
            limit: books.limit,
            holders: books.holders(),
            blocks: pooled.then(|| Box::new(blocks)),
            system,
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // A panic elsewhere cannot leave the books half written: nothing that changes them can panic in between.
        self.state.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the operating system said, and which of its limits that may be.
fn refusal(error: &std::io::Error, wanted: Bytes) -> String {
    std::iter::once(error.to_string()).chain(process::tight_limits(wanted)).collect::<Vec<_>>().join("; ")
}

/// The pages of a part of a reserve, one after another.
fn pages_of((mapping, start): &(Arc<Mapping>, Offset), bytes: Bytes, page: Bytes) -> Vec<Page> {
    let mut next = *start;
    let cut = |length: Bytes| {
        let start = next;
        next = next + length;
        Page { mapping: mapping.clone(), start }
    };
    page_lengths(bytes, page).map(cut).collect()
}

impl Drop for State {
    fn drop(&mut self) {
        // Unmapped first: the physical device must not promise to somebody else what is still here.
        self.books.get_mut().unwrap_or_else(PoisonError::into_inner).reserves.clear();
        self.physical.give_back(self.share);
    }
}
