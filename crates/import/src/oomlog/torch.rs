//! PyTorch's messages, of all generations and back ends. A message may be broken over a few lines.

use super::dump::{Dump, Source};
use super::figure::{Figure, size};
use super::words::find;

/// How many more lines a message may take.
const MOST_LINES: usize = 4;

/// A message that may go on.
pub(crate) struct Open {
    line: u64,
    text: Vec<u8>,
    lines: usize,
}

impl Open {
    pub(crate) fn new(line: u64, text: &[u8]) -> Self {
        Self { line, text: text.to_vec(), lines: 0 }
    }

    /// Whether the message has all its figures.
    pub(crate) fn is_whole(&self) -> bool {
        let ends: [&[u8]; 5] =
            [b"but unallocated", b"in total by", b" cached)", b"private pool", b"memory fraction)"];
        self.lines >= MOST_LINES || ends.iter().any(|end| find(&self.text, end).is_some())
    }

    /// Another line of it.
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.lines += 1;
        self.text.push(b' ');
        self.text.extend_from_slice(&line[..line.len().min(2000)]);
    }

    /// What the message says; none where it has no size.
    pub(crate) fn finish(self) -> Option<Dump> {
        let Self { line, text, .. } = self;
        let mut dump = Dump { source: Source::PyTorch, line, repeated: 1, ..Dump::default() };
        let asked: [&[u8]; 3] = [b"Tried to allocate ", b"tried to allocate ", b"Requested"];
        dump.request = Some(asked.iter().find_map(|words| after(&text, words))?);
        read_device(&mut dump, &text);
        read_pool(&mut dump, &text);
        complete(&mut dump);
        Some(dump)
    }
}

/// What the device has: `6.00 GiB total capacity; ... 478.00 MiB free` or
/// `a total capacity of 6.00 GiB of which 0 bytes is free`
fn read_device(dump: &mut Dump, text: &[u8]) {
    dump.allocator = find(text, b"GPU ").and_then(size).map(|(gpu, _)| format!("GPU {}", gpu.bytes));
    dump.capacity = before(text, b" total capacity").or_else(|| after(text, b"total capacity of "));
    // PyTorch 2.1 wrote it so.
    dump.capacity = dump.capacity.or_else(|| after(text, b"total capacty of "));
    dump.capacity = dump.capacity.or_else(|| after(text, b"Device limit"));
    dump.device_free = before(text, b" free;").or_else(|| before(text, b" is free"));
    dump.device_free = dump.device_free.or_else(|| after(text, b"Free (according to CUDA)"));
    let allowed = before(text, b" allowed;").or_else(|| after(text, b"max allowed: "));
    dump.limit = allowed.or(dump.capacity);
    dump.others = after(text, b"other allocations: ");
}

/// What PyTorch has of it.
fn read_pool(dump: &mut Dump, text: &[u8]) {
    dump.in_use = before(text, b" already allocated").or_else(|| before(text, b" is allocated by PyTorch"));
    dump.in_use = dump.in_use.or_else(|| after(text, b"MPS allocated: "));
    dump.in_use = dump.in_use.or_else(|| after(text, b"Currently allocated"));
    let in_total = before(text, b" reserved in total").or_else(|| before(text, b" cached)"));
    let unallocated = before(text, b" is reserved by PyTorch but unallocated");
    dump.pool = match (in_total, dump.in_use, unallocated) {
        (Some(total), ..) => Some(total),
        (None, Some(in_use), Some(rest)) => Some(in_use.plus(rest)),
        _ => None,
    };
    dump.free = unallocated.or_else(|| Some(dump.pool?.minus(dump.in_use?)));
}

/// What follows from the rest, and what does not.
fn complete(dump: &mut Dump) {
    if dump.others.is_none()
        && let (Some(capacity), Some(pool), Some(free)) =
            (dump.capacity, dump.pool.or(dump.in_use), dump.device_free)
    {
        dump.others = Some(capacity.minus(pool).minus(free));
    }
    let absent = [
        (dump.capacity.is_none() && dump.limit.is_none(), "the device's capacity"),
        (dump.in_use.is_none(), "how much is allocated"),
        (dump.pool.is_none(), "how much is reserved"),
        (dump.device_free.is_none(), "how much of the device is free"),
        (
            true,
            "the blocks: a message has sums only; torch.cuda.memory._dump_snapshot(\"oom.pickle\") writes them",
        ),
    ];
    dump.missing.extend(absent.iter().filter(|(absent, _)| *absent).map(|(_, what)| what.to_string()));
}

/// The size after some words, and a colon if there is one.
fn after(text: &[u8], words: &[u8]) -> Option<Figure> {
    let rest = find(text, words)?.trim_ascii_start();
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    size(rest).map(|(figure, _)| figure)
}

/// The size before some words: the last two words before them, or the last one.
fn before(text: &[u8], words: &[u8]) -> Option<Figure> {
    let end = memchr::memmem::find(text, words)?;
    let text = text[..end].trim_ascii_end();
    let start = |text: &[u8]| text.iter().rposition(|byte| b" (;\n".contains(byte)).map_or(0, |at| at + 1);
    let unit = start(text);
    let value = start(text[..unit].trim_ascii_end());
    let whole =
        |from: usize| size(&text[from..]).filter(|(_, rest)| rest.is_empty()).map(|(figure, _)| figure);
    whole(value).or_else(|| whole(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1u64 << 30) as f64;

    fn read(text: &str) -> Dump {
        Open::new(1, text.as_bytes()).finish().unwrap()
    }

    /// Request, limit, pool, in use, free, free of the device, others; in GiB.
    fn figures(dump: &Dump) -> [f64; 7] {
        let of = |figure: Option<Figure>| {
            figure.map_or(-1.0, |figure| (figure.bytes as f64 / GIB * 100.0).round() / 100.0)
        };
        [dump.request, dump.limit, dump.pool, dump.in_use, dump.free, dump.device_free, dump.others].map(of)
    }

    #[test]
    fn every_generation_is_read() {
        let cases = [
            (
                "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 3; 8.00 GiB total capacity; 3.00 GiB already allocated; \
                 1.00 GiB free; 5.00 GiB reserved in total by PyTorch) If reserved",
                [2.0, 8.0, 5.0, 3.0, 2.0, 1.0, 2.0],
            ),
            (
                "Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 3.00 GiB already allocated; 1.00 GiB free; 512.00 MiB cached)",
                [2.0, 8.0, 0.5, 3.0, 0.0, 1.0, 6.5],
            ),
            (
                "Tried to allocate 1.50 GiB. GPU 0 has a total capacty of 6.00 GiB of which 0 bytes is free. Of the allocated memory \
                 2.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.",
                [1.5, 6.0, 5.0, 2.0, 3.0, 0.0, 1.0],
            ),
            (
                "Tried to allocate 1.50 GiB. GPU 1 has a total capacity of 16.00 GiB of which 512.00 MiB is free. 8.00 GiB allowed; Process 5 \
                 has 15.50 GiB memory in use. Of the allocated memory 7.00 GiB is allocated by PyTorch, with 46.00 MiB allocated in private \
                 pools (e.g., CUDA Graphs), and 0.25 GiB is reserved by PyTorch but unallocated.",
                [1.5, 8.0, 7.25, 7.0, 0.25, 0.5, 8.25],
            ),
            (
                "MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 14.75 GB, max allowed: 20.40 GB). Tried to allocate \
                 256.00 MB on private pool.",
                [0.25, 20.4, -1.0, 5.5, -1.0, -1.0, 14.75],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(figures(&read(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_message_may_be_broken_over_lines() {
        let mut open = Open::new(1, b"Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 3.00");
        assert!(!open.is_whole());
        open.push(b"GiB already allocated; 1.00 GiB free;");
        assert!(!open.is_whole());
        open.push(b" 5.00 GiB reserved in total by PyTorch)");
        assert!(open.is_whole());
        assert_eq!(figures(&open.finish().unwrap()), [2.0, 8.0, 5.0, 3.0, 2.0, 1.0, 2.0]);
    }

    #[test]
    fn half_a_message_says_what_is_missing() {
        let dump = read("Tried to allocate 20.00 MiB. GPU 0 has a total");
        assert_eq!(dump.request.unwrap().bytes, 20 << 20);
        assert!(dump.missing.iter().any(|what| what.contains("capacity")), "{:?}", dump.missing);
        assert!(Open::new(1, b"Tried to allocate a lot").finish().is_none());
    }
}
