//! Dumps of TensorFlow's allocator, of all generations: collects what the lines say, and makes a [`Dump`] of it when
//! the next one begins.
//!
//! What differs between generations: until 1.0 the request stands after the dump; until 1.9 live chunks stand before
//! free ones and regions are not marked; sizes in the statistics are exact until about 2.14 and rounded since.

use super::dump::{Bin, Chunk, Dump, LoggedHolder, SizeCount, Source};
use super::figure::{Figure, address, chunk_size, number, size};
use super::marks::Mark;
use super::pool::{self, Listing};
use super::words::{find, text_until};
use std::collections::HashMap;

/// How many chunks of a dump are kept; more are counted only.
const MOST_CHUNKS: usize = 1 << 20;
/// How many bins are kept; there are 21.
const MOST_BINS: usize = 64;
/// How many names or sizes are kept.
const MOST_NAMES: usize = 1 << 12;

/// What names end with; lines may be quoted.
const NAME_ENDS: &[u8] = b" \\\"";

/// A dump that may go on.
#[derive(Default)]
pub(crate) struct Open {
    dump: Dump,
    listing: Listing,
    limit: Option<Figure>,
    total: Option<Figure>,
    available: Option<Figure>,
    in_use: Option<Figure>,
    free_hint: Option<Figure>,
    /// The holders that are named by chunks.
    names: HashMap<String, usize>,
    stage: Stage,
    /// Whether the line with the request was seen.
    asked: bool,
}

/// How far a dump has come; a line of an earlier stage begins another dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Request,
    Bins,
    Chunks,
    Sizes,
    Totals,
    After,
}

impl Open {
    pub(crate) fn new(line: u64) -> Self {
        Self { dump: Dump { line, ..Dump::default() }, ..Self::default() }
    }

    /// Whether a line belongs to a later dump than this.
    pub(crate) fn ends_before(&self, mark: Mark, rest: &[u8]) -> bool {
        match mark {
            Mark::RanOut => !(is_trailing(rest) && !self.asked && self.stage > Stage::Request),
            Mark::DumpFor | Mark::AsyncFailed => self.stage > Stage::Request,
            Mark::Bin => self.stage > Stage::Bins || self.has_bin(rest),
            Mark::BinFor | Mark::NextRegion | Mark::InUseAt | Mark::FreeAt => self.stage > Stage::Chunks,
            Mark::ChunksOfSize => self.stage > Stage::Sizes,
            Mark::OomShape => {
                self.is_shape_alone() && shape(rest).is_some_and(|(shape, _)| shape != self.dump.shape)
            }
            _ => false,
        }
    }

    fn has_bin(&self, rest: &[u8]) -> bool {
        number(rest).is_some_and(|(smallest, _)| self.dump.bins.iter().any(|bin| bin.smallest == smallest))
    }

    /// Takes what a line says. `before` stands before the mark, `rest` after it.
    pub(crate) fn accept(&mut self, mark: Mark, before: &[u8], rest: &[u8]) -> Option<()> {
        match mark {
            Mark::RanOut => self.request(before, rest)?,
            Mark::AsyncFailed => self.async_request(before, rest)?,
            Mark::DumpFor => self.dump.allocator = Some(text_until(rest, NAME_ENDS)),
            Mark::Bin => self.bin(rest)?,
            Mark::BinFor => self.bin_for(rest),
            Mark::Size => self.free_neighbour(rest)?,
            Mark::NextRegion => self.listing.region(chunk_size(rest)?.0),
            Mark::InUseAt | Mark::FreeAt => self.chunk(mark == Mark::InUseAt, rest)?,
            Mark::ChunksOfSize => self.size_count(before, rest)?,
            Mark::SumTotal => self.in_use = Some(size(rest)?.0.better(self.in_use)),
            Mark::PoolTotal => self.total(rest)?,
            Mark::Limit => self.limit = Some(size(rest)?.0.better(self.limit)),
            Mark::InUse => self.in_use = Some(size(rest)?.0.better(self.in_use)),
            Mark::MaxInUse => self.dump.peak_in_use = Some(size(rest)?.0),
            Mark::NumAllocs => self.dump.allocations = Some(number(rest)?.0),
            Mark::CudaFree => self.cuda(rest)?,
            Mark::OomShape => self.shape(before, rest)?,
            Mark::Node => self.node(rest),
            Mark::CurrentUsage => self.usage_of(rest),
            Mark::From => self.holder(before, rest)?,
            _ => return None,
        }
        self.stage = self.stage.max(stage(mark));
        Some(())
    }

    /// `74.16MiB.  Current allocation summary follows.` or `9.00MiB (rounded to 9437184)requested by op
    /// adam/Square_204`
    fn request(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        self.dump.allocator = allocator(before).or(self.dump.allocator.take());
        let (asked, after) = size(rest)?;
        self.asked = true;
        let rounded = find(after, b"(rounded to ").and_then(number).map(|(bytes, _)| Figure::exact(bytes));
        // What the allocator looks for is the rounded request.
        self.dump.request = rounded.or(Some(asked));
        let op = find(after, b"requested by op ").map(|name| text_until(name, NAME_ENDS));
        self.dump.op = op.filter(|name| !name.is_empty());
        Some(())
    }

    /// `gpu_async_0 cuMemAllocAsync failed to allocate 268435456 bytes: ...`
    fn async_request(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        self.dump.source = Source::TensorFlowAsync;
        self.dump.request = Some(size(rest)?.0);
        let name = before.trim_ascii_end().rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        self.dump.allocator = Some(text_until(name, NAME_ENDS)).filter(|name| !name.is_empty());
        Some(())
    }

    fn cuda(&mut self, rest: &[u8]) -> Option<()> {
        let (free, rest) = number(rest)?;
        let (total, _) = number(rest.strip_prefix(b"/")?)?;
        self.dump.device_free = Some(Figure::exact(free));
        self.dump.capacity = Some(Figure::exact(total));
        Some(())
    }

    /// `256): Total Chunks: 4, Chunks in use: 4. 1.0KiB allocated for chunks. 1.0KiB in use in bin. 520B
    /// client-requested in use in bin.`
    fn bin(&mut self, rest: &[u8]) -> Option<()> {
        let (smallest, rest) = number(rest)?;
        let (chunks, rest) = number(find(rest, b"Total Chunks: ")?)?;
        let (chunks_in_use, rest) = number(find(rest, b"Chunks in use: ")?)?;
        let rest = rest.strip_prefix(b".").unwrap_or(rest);
        let (bytes, _) = size(rest)?;
        let in_use = size(phrase_start(rest, b" in use in bin")?)?.0;
        let requested = size(phrase_start(rest, b" client-requested in use in bin")?)?.0;
        if self.dump.bins.len() < MOST_BINS {
            self.dump.bins.push(Bin { smallest, chunks, chunks_in_use, bytes, in_use, requested });
        }
        Some(())
    }

    fn bin_for(&mut self, rest: &[u8]) {
        if self.dump.request.is_none() {
            self.dump.request = size(rest).map(|(asked, _)| asked);
        }
    }

    /// `66.42MiB | Requested Size: 0B | in_use: 0, prev: ...`: a free chunk of the request's bin.
    fn free_neighbour(&mut self, rest: &[u8]) -> Option<()> {
        let (bytes, rest) = size(rest)?;
        let free = find(rest, b"in_use: ")?.starts_with(b"0");
        if free && self.free_hint.is_none_or(|hint| hint.bytes < bytes.bytes) {
            self.free_hint = Some(bytes);
        }
        Some(())
    }

    /// `0x905a40000 of size 1280` or `7f925a000000 of size 3735552 by op Fill action_count 7 step 0 next 8`
    fn chunk(&mut self, in_use: bool, rest: &[u8]) -> Option<()> {
        let (address, rest) = address(rest)?;
        // Until 2.1 `next 1 of size 1280`, later `of size 1280 next 1`.
        let (bytes, rest) = chunk_size(find(rest, b"of size ")?)?;
        let holder = find(rest, b"by op ").map_or(0, |name| self.named(&text_until(name, NAME_ENDS), bytes));
        let chunk = Chunk { address, bytes, requested: None, in_use, holder };
        self.listing.chunk(chunk, MOST_CHUNKS);
        Some(())
    }

    /// The number of a holder, plus 1, with its bytes counted.
    fn named(&mut self, who: &str, bytes: u64) -> u32 {
        let room = self.dump.holders.len() < MOST_NAMES;
        let index = match self.names.get(who) {
            Some(&index) => index,
            None if room => {
                self.dump.holders.push(LoggedHolder { who: who.to_string(), bytes: Figure::default() });
                self.names.insert(who.to_string(), self.dump.holders.len() - 1);
                self.dump.holders.len() - 1
            }
            None => return 0,
        };
        let held = &mut self.dump.holders[index].bytes;
        *held = held.plus(Figure::exact(bytes));
        index as u32 + 1
    }

    fn size_count(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        let count = trailing_number(before)?;
        let bytes = number(rest)?.0;
        if self.dump.sizes.len() < MOST_NAMES {
            self.dump.sizes.push(SizeCount { bytes, count });
        }
        Some(())
    }

    /// `568350976 memory_limit_: 568351129 available bytes: 153 curr_...` or the same with rounded sizes
    fn total(&mut self, rest: &[u8]) -> Option<()> {
        let (total, rest) = size(rest)?;
        self.total = Some(total);
        if let Some((limit, _)) = find(rest, b"memory_limit_: ").and_then(size) {
            self.limit = Some(limit.better(self.limit));
        }
        let available = find(rest, b"available size: ").or_else(|| find(rest, b"available bytes: "));
        self.available = available.and_then(size).map(|(figure, _)| figure);
        Some(())
    }

    /// Whether the message of a traceback is all there is.
    fn is_shape_alone(&self) -> bool {
        !self.asked && self.stage == Stage::Request && !self.dump.shape.is_empty()
    }

    /// `[128,225,225,3] and type float on /job:localhost/.../device:GPU:0 by allocator GPU_0_bfc [Op:AddV2]`, after
    /// `{{function_node __wrapped__AddV2_device_/job:...}} `
    fn shape(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        let (shape, width) = shape(rest)?;
        let elements = shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent))?;
        let bytes = elements.checked_mul(width)?;
        let rounded = bytes.checked_next_multiple_of(256)?;
        match self.dump.request {
            Some(request) if !request.agrees(bytes) && !request.agrees(rounded) => return None,
            Some(request) if request.is_exact() => {}
            _ => self.dump.request = Some(Figure::exact(rounded)),
        }
        self.dump.shape = shape;
        let allocator = find(rest, b"by allocator ").map(|name| text_until(name, NAME_ENDS));
        self.dump.allocator = self.dump.allocator.take().or(allocator.filter(|name| !name.is_empty()));
        self.dump.op = self.dump.op.take().or_else(|| eager_op(before, rest));
        Some(())
    }

    /// `training/Adam/mul_23 = Mul[...` or `adam/Square}}]]`: whose tensor it was, where the allocator was not told.
    fn node(&mut self, rest: &[u8]) {
        if self.dump.op.is_none() && !self.dump.shape.is_empty() {
            self.dump.op = Some(text_until(rest, b" =}\\\"")).filter(|name| !name.is_empty());
        }
    }

    fn usage_of(&mut self, rest: &[u8]) {
        let name = find(rest, b"allocator: ").map(|name| text_until(name, NAME_ENDS));
        self.dump.allocator = name.or(self.dump.allocator.take());
        self.dump.holders.clear();
        self.names.clear();
    }

    /// `  250.78MiB from network/conv2d_5/Conv2D`
    fn holder(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        let start = before.trim_ascii_end().iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
        let (bytes, after) = size(&before[start..])?;
        if !after.trim_ascii().is_empty() || self.dump.holders.len() >= MOST_NAMES {
            return None;
        }
        self.dump.holders.push(LoggedHolder { who: text_until(rest, NAME_ENDS), bytes });
        Some(())
    }

    /// Whether a request of about so many bytes is this dump's.
    pub(crate) fn asked_for(&self, bytes: Figure) -> bool {
        self.dump.request.is_some_and(|request| request.agrees(bytes.bytes) || bytes.agrees(request.bytes))
    }

    /// The dump as far as it came, for others who have something to add.
    pub(crate) fn dump_mut(&mut self) -> &mut Dump {
        &mut self.dump
    }

    /// The dump with all its figures.
    pub(crate) fn finish(self) -> Dump {
        let Self { mut dump, listing, limit, total, available, in_use, free_hint, .. } = self;
        let said = pool::Said { limit, total, available, in_use, free_hint };
        pool::rebuild(&mut dump, listing, said);
        dump
    }
}

fn is_trailing(rest: &[u8]) -> bool {
    find(rest, b"See logs for memory state").is_some()
}

fn stage(mark: Mark) -> Stage {
    match mark {
        Mark::Bin => Stage::Bins,
        Mark::BinFor | Mark::NextRegion | Mark::InUseAt | Mark::FreeAt => Stage::Chunks,
        Mark::ChunksOfSize => Stage::Sizes,
        Mark::SumTotal | Mark::PoolTotal | Mark::Limit | Mark::InUse | Mark::MaxInUse | Mark::NumAllocs => {
            Stage::Totals
        }
        Mark::CurrentUsage | Mark::From => Stage::After,
        _ => Stage::Request,
    }
}

/// `Allocator (GPU_0_bfc) ` at the end of a line's start.
fn allocator(before: &[u8]) -> Option<String> {
    let name = find(before, b"Allocator (")?;
    Some(text_until(name, b")")).filter(|name| !name.is_empty())
}

/// The size before a phrase.
fn phrase_start<'a>(text: &'a [u8], phrase: &[u8]) -> Option<&'a [u8]> {
    let end = memchr::memmem::find(text, phrase)?;
    let start = text[..end].iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
    Some(&text[start..end])
}

/// The number that some text ends with, before spaces.
fn trailing_number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_end();
    let start = text.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    number(&text[start..]).map(|(value, _)| value)
}

/// The op that an eager call ran; a function that was traced has a name that tells nothing.
fn eager_op(before: &[u8], rest: &[u8]) -> Option<String> {
    let wrapped = find(before, b"__wrapped__").and_then(|name| {
        let end = memchr::memmem::find(name, b"_device_")?;
        Some(text_until(&name[..end], NAME_ENDS))
    });
    let named = || find(rest, b"[Op:").map(|name| text_until(name, b"]"));
    wrapped.or_else(named).filter(|name| !name.is_empty() && !name.starts_with("__inference"))
}

/// Extents, and the bytes of an element.
fn shape(text: &[u8]) -> Option<(Vec<u64>, u64)> {
    let text = text.strip_prefix(b"[")?;
    let end = text.iter().position(|byte| *byte == b']')?;
    let extents: Option<Vec<u64>> = text[..end]
        .split(|byte| *byte == b',')
        .map(|extent| number(extent).map(|(value, _)| value))
        .collect();
    let name = find(&text[end..], b"and type ").map(|name| text_until(name, NAME_ENDS));
    let width = match name.as_deref() {
        Some("double" | "int64" | "uint64" | "complex64") => 8,
        Some("half" | "bfloat16" | "int16" | "uint16") => 2,
        Some("bool" | "int8" | "uint8") => 1,
        Some("complex128") => 16,
        _ => 4,
    };
    Some((extents?, width))
}
