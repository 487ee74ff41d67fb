//! Reports of every generation, written by the test in the form that each framework prints, with figures of our own,
//! and buried in other lines.

use plimsoll_import::oomlog::{Activity, Dump, Figure, Log, Source, read};
use plimsoll_trace::evidence::{Evidence, Holder, RefusedBy, VERSION};
use plimsoll_trace::{Bytes, Label};

fn one(text: &str) -> Dump {
    let Log { mut dumps, .. } = read(text.as_bytes()).unwrap();
    assert_eq!(dumps.len(), 1, "{text}\n{dumps:#?}");
    dumps.remove(0)
}

fn bytes(figure: Option<Figure>) -> Option<u64> {
    figure.map(|figure| figure.bytes)
}

/// Request, limit, pool, in use, free, largest free.
fn figures(dump: &Dump) -> [Option<u64>; 6] {
    [dump.request, dump.limit, dump.pool, dump.in_use, dump.free, dump.largest_free].map(bytes)
}

const KIB: u64 = 1 << 10;

/// The bins of the little pool below: 4 KiB in use for 3.9 KiB, 2 KiB and 8 KiB free.
fn bins(old: bool) -> String {
    let line = |smallest: u64, chunks: u64, used: u64, bytes: &str, in_use: &str, asked: &str| match old {
        true => format!(
            "Bin ({smallest}): \tTotal Chunks: {chunks}, Chunks in use: {used} {bytes} allocated for chunks. {asked} client-requested for chunks. \
             {in_use} in use in bin. {asked} client-requested in use in bin."
        ),
        false => format!(
            "Bin ({smallest}): \tTotal Chunks: {chunks}, Chunks in use: {used}. {bytes} allocated for chunks. {in_use} in use in bin. \
             {asked} client-requested in use in bin."
        ),
    };
    let bin = |power: u32| match power {
        3 => line(2048, 1, 0, "2.0KiB", "0B", "0B"),
        4 => line(4096, 1, 1, "4.0KiB", "4.0KiB", "3.9KiB"),
        5 => line(8192, 1, 0, "8.0KiB", "0B", "0B"),
        _ => line(256 << power, 0, 0, "0B", "0B", "0B"),
    };
    (0..21).map(bin).collect::<Vec<_>>().join("\n")
}

const EXACT_STATS: &str = "Stats: \nLimit:                   16384\nInUse:                    4096\nMaxInUse:                 8192\nNumAllocs:                  77\nMaxAllocSize:             4096\n";

/// TensorFlow 0.9: no regions, live chunks first, the request at the end.
fn ancient() -> String {
    let body = format!(
        "{}\nBin for 12.0KiB was 8.0KiB, Chunk State: \nChunk at 0x10800 of size 4096\nFree at 0x10000 of size 2048\nFree at 0x11800 of size 8192\n     \
         Summary of in-use Chunks by size: \n1 Chunks of size 4096 totalling 4.0KiB\nSum Total of in-use chunks: 4.0KiB\n{EXACT_STATS}\n____********____\nRan out of \
         memory trying to allocate 12.0KiB.  See logs for memory state.\nResource exhausted: OOM when allocating tensor with shape[3,1024]\n",
        bins(true)
    );
    prefixed(&body, "I tensorflow/core/common_runtime/bfc_allocator.cc:692] ")
}

/// TensorFlow 1.10: chunks by address, the request first, rounded.
fn middle() -> String {
    let body = format!(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 12.0KiB.  Current allocation summary follows.\n{}\nBin for 12.0KiB was 8.0KiB, Chunk \
         State: \nFree  at 0x10000 of size 2048\nChunk at 0x10800 of size 4096\nFree  at 0x11800 of size 8192\n     Summary of in-use Chunks by size: \n1 \
         Chunks of size 4096 totalling 4.0KiB\nSum Total of in-use chunks: 4.0KiB\n{EXACT_STATS}\n____********____\n",
        bins(false)
    );
    prefixed(&body, "2018-09-27 22:58:41.991399: W tensorflow/core/common_runtime/bfc_allocator.cc:275] ")
}

/// TensorFlow 2.21: regions, rounded statistics, the request to the byte.
fn newest(request: u64) -> String {
    let body = format!(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 12.0KiB (rounded to {request})requested by op model/conv/Conv2D\nIf the cause is memory \
         fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. \nCurrent allocation summary \
         follows.\nCurrent allocation summary follows.\nBFCAllocator dump for GPU_0_bfc\n{}\nBin for 12.0KiB was 8.0KiB, Chunk State: \nNext region of size \
         6144\nFree  at 10000 of size 2048 next 2\nInUse at 10800 of size 4096 by op Fill action_count 7 step 0 next 18446744073709551615\nNext region of size \
         8192\nFree  at f0000 of size 8192 next 18446744073709551615\n     Summary of in-use Chunks by size: \n1 Chunks of size 4096 totalling 4.0KiB\nSum Total \
         of in-use chunks: 4.0KiB\nTotal size in pool: 14.0KiB memory_limit_: 16.0KiB available size: 2.0KiB curr_region_allocation_bytes_: 32.0KiB\nStats: \n\
         Limit:                        16.0KiB\nInUse:                         4.0KiB\nMaxInUse:                      8.0KiB\nNumAllocs:                          77\n\
         LargestFreeBlock:                   0B\n\n****____________\n",
        bins(false)
    );
    prefixed(&body, "W0000 00:00:1794770573.112103   21772 bfc_allocator.cc:502] ")
}

/// Every line that TensorFlow logs gets the prefix; those inside of a message do not.
fn prefixed(body: &str, prefix: &str) -> String {
    let bare = [
        "Limit:",
        "InUse:",
        "MaxInUse:",
        "NumAllocs:",
        "MaxAllocSize:",
        "LargestFreeBlock:",
        "If the",
        "Current",
    ];
    let line = |line: &str| match bare.iter().any(|start| line.starts_with(start)) || line.is_empty() {
        true => format!("{line}\n"),
        false => format!("{prefix}{line}\n"),
    };
    body.lines().map(line).collect()
}

#[test]
fn generations_of_tensorflow_say_the_same() {
    let pool = Some(14 * KIB);
    let expected =
        |request: u64| [Some(request), Some(16 * KIB), pool, Some(4 * KIB), Some(10 * KIB), Some(8 * KIB)];
    assert_eq!(figures(&one(&ancient())), expected(12 * KIB));
    assert_eq!(figures(&one(&middle())), expected(12 * KIB));
    let newest = one(&newest(12_288));
    assert_eq!(figures(&newest), expected(12 * KIB));
    assert_eq!(newest.op.as_deref(), Some("model/conv/Conv2D"));
    assert_eq!(newest.holders[0].who, "Fill");
    assert_eq!((newest.regions.len(), newest.allocations), (2, Some(77)));
    assert!(newest.missing.is_empty(), "{:?}", newest.missing);
}

#[test]
fn prefixes_and_line_ends_do_not_matter() {
    let plain = one(&newest(12_288));
    let same = |text: String| {
        let mut dump = one(&text);
        dump.line = plain.line;
        assert_eq!(dump, plain, "{text}");
    };
    let text = newest(12_288);
    same(text.replace('\n', "\r\n"));
    let each = |before: &str| text.lines().map(|line| format!("{before}{line}\n")).collect::<String>();
    same(each("2026-11-15T20:01:02.000000003Z stderr F "));
    same(each("trainer-0  | "));
    same(each("> "));
    same(each("\u{1b}[36m(Worker pid=489)\u{1b}[0m "));
    same(text.replace('\n', "\nEpoch 3: 41/900 [===>....] - ETA: 2:11 - loss: 0.3141\rEpoch 3: 42/900\n"));
    same(text.lines().map(|line| format!("{{\"log\":\"{line}\\n\",\"stream\":\"stderr\"}}\n")).collect());
}

#[test]
fn powershell_writes_utf_16() {
    let text = newest(12_288).replace('\n', "\r\n");
    let wide = |order: fn(u16) -> [u8; 2]| {
        format!("\u{feff}{text}").encode_utf16().flat_map(order).collect::<Vec<u8>>()
    };
    for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
        assert_eq!(read(&bytes[..]).unwrap().dumps, [one(&text)]);
    }
}

#[test]
fn dumps_of_two_threads_may_interleave() {
    let (first, second) = (newest(12_288), newest(12_544).replace("21772", "9").replace("GPU_0", "GPU_1"));
    // Lines without a prefix belong to the thread of the line before, so each takes its message along.
    let messages = |text: &str| {
        let mut messages: Vec<String> = Vec::new();
        for line in text.lines() {
            match messages.last_mut() {
                Some(last) if !line.starts_with("W0000") => *last += &format!("\n{line}"),
                _ => messages.push(line.to_string()),
            }
        }
        messages
    };
    let pairs = messages(&first).into_iter().zip(messages(&second));
    let mixed: String = pairs.map(|(left, right)| format!("{left}\n{right}\n")).collect();
    let log = read(mixed.as_bytes()).unwrap();
    assert_eq!(log.dumps.len(), 2);
    assert_eq!(figures(&log.dumps[0]), figures(&one(&first)));
    assert_eq!(bytes(log.dumps[1].request), Some(12_544));
    assert_eq!(figures(&log.dumps[1])[1..], figures(&one(&first))[1..]);
}

#[test]
fn several_dumps_in_one_log_keep_apart() {
    let log =
        read(format!("{}noise\n{}{}{}", newest(12_288), middle(), newest(12_544), ancient()).as_bytes())
            .unwrap();
    let requests: Vec<Option<u64>> = log.dumps.iter().map(|dump| bytes(dump.request)).collect();
    assert_eq!(requests, [12_288, 12 * KIB, 12_544, 12 * KIB].map(Some));
    let many = read(newest(12_288).repeat(300).as_bytes()).unwrap();
    assert_eq!((many.dumps.len(), many.skipped), (128, 172));
}

#[test]
fn a_cut_dump_says_what_is_missing() {
    let text = newest(12_288);
    let upto = |mark: &str| &text[..text.find(mark).unwrap()];
    let cut = one(upto("Free  at f0000"));
    assert_eq!(bytes(cut.request), Some(12_288));
    assert_eq!(bytes(cut.in_use), Some(4 * KIB));
    assert!(!cut.missing.is_empty() && cut.limit.is_none());
    let tail = one(&text[text.find("Summary of").unwrap()..]);
    assert_eq!(figures(&tail)[1..4], [Some(16 * KIB), Some(14 * KIB), Some(4 * KIB)]);
    assert!(tail.missing.iter().any(|what| what.contains("asked for")), "{:?}", tail.missing);
    // One chunk's line is gone: the figures come from the summary, and the gap is named.
    let gap: String =
        text.lines().filter(|line| !line.contains("InUse at")).map(|line| format!("{line}\n")).collect();
    let gap = one(&gap);
    assert_eq!(bytes(gap.in_use), Some(4 * KIB));
    assert!(gap.missing.iter().any(|what| what.contains("4.00 KiB")), "{:?}", gap.missing);
}

#[test]
fn the_traceback_names_the_op_that_the_dump_does_not() {
    let old = format!(
        "{}\t [[Node: training/Adam/mul_23 = Mul[T=DT_FLOAT, _device=\"/device:GPU:0\"](a, b)]]\n",
        ancient()
    );
    assert_eq!(one(&old).op.as_deref(), Some("training/Adam/mul_23"));
    let shaped = "OOM when allocating tensor with shape[3,1024] and type float on GPU:0\n\t [[{{node adam/Square}}]]\n";
    let dump = one(&(shaped.repeat(3) + "Hint: nothing\n"));
    assert_eq!((dump.op.as_deref(), bytes(dump.request)), (Some("adam/Square"), Some(12 * KIB)));
}

#[test]
fn warnings_are_no_reports() {
    let warning = "W tensorflow/core/common_runtime/bfc_allocator.cc:243] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.29GiB with \
                   freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could be performance gains if more \
                   memory were available.\n";
    let log = read(warning.repeat(3).as_bytes()).unwrap();
    assert_eq!((log.dumps.len(), log.did_without), (0, 3));
    assert_eq!(read(&b"Epoch 1\nloss: 3 from here\nThe Limit: 5 apples\n"[..]).unwrap().dumps, []);
}

#[test]
fn cudas_own_pool_reports_sums() {
    let dump = one(
        "E tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc:288] gpu_async_0 cuMemAllocAsync failed to allocate 268435456 bytes: CUDA \
         error: out of memory (CUDA_ERROR_OUT_OF_MEMORY)\n Reported by CUDA: Free memory/Total memory: 1048576/8589934592\nE tensorflow/core/gpu/x.cc:293] \
         Stats: Limit:                      6442450944\nInUse:                      6400000000\nMaxInUse:                   6400000000\nNumAllocs: 9\n",
    );
    assert_eq!(dump.source, Source::TensorFlowAsync);
    assert_eq!(dump.allocator.as_deref(), Some("gpu_async_0"));
    assert_eq!(figures(&dump)[..4], [Some(268_435_456), Some(6_442_450_944), None, Some(6_400_000_000)]);
    assert_eq!(bytes(dump.capacity), Some(8_589_934_592));
}

#[test]
fn xla_programs_and_their_buffers() {
    let tpu = one(
        "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 18.50G of 15.50G hbm. Exceeded hbm capacity by 3.00G.\n\n\
         Total hbm usage >= 19.00G:\n    reserved 512.00M\n\n  Largest program allocations in hbm:\n\n  1. Size: 4.00G\n     Operator: \
         op_name=\"jit(step)/mul\" source_line=3\n     Shape: f32[1024,1024]\n     XLA label: fusion.1 = f32[4]\n     Allocation type: HLO temp\n  2. Size: \
         2.00G\n     XLA label: copy.7 = f32[4]\n",
    );
    assert_eq!(tpu.source, Source::Xla);
    assert_eq!([tpu.request, tpu.limit].map(bytes), [Some(37 << 29), Some(31 << 29)]);
    let holders: Vec<(&str, u64)> =
        tpu.holders.iter().map(|held| (held.who.as_str(), held.bytes.bytes >> 30)).collect();
    assert_eq!(holders, [("jit(step)/mul", 4), ("copy.7", 2)]);

    let full = one(
        "Attempting to reserve 4.00G at the bottom of memory. That was not possible. There are 1.50G free, 0B reserved, and 1.00G reservable.",
    );
    assert_eq!(
        [full.request, full.free, full.largest_free].map(bytes),
        [Some(4 << 30), Some(3 << 29), Some(1 << 30)]
    );

    let gpu = one(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter \
         allocation:    6.00MiB\n     preallocated temp allocation:    2.00MiB\n                 total allocation:   12.00MiB\nPeak buffers:\n\tBuffer 1:\n\t\tSize: \
         6.00MiB\n\t\tOperator: op_name=\"jit(f)/dot\"\n\t\tXLA Label: fusion\n\t\tShape: f32[4]\n\t\t====\n",
    );
    assert_eq!(bytes(gpu.request), Some(6_291_456));
    assert_eq!(gpu.holders.last().unwrap().who, "jit(f)/dot");
}

#[test]
fn torch_repeats_itself_and_tells_where_it_was() {
    let message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free. \
                   Including non-PyTorch memory, this process has 7.00 GiB memory in use. Of the allocated memory 5.00 GiB is allocated by PyTorch, and 1.00 \
                   GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large\n";
    let dump =
        one(&format!("  File \"x/torch/optim/adamw.py\", line 3, in step\n{message}INFO retry\n{message}"));
    assert_eq!((dump.repeated, dump.activity, dump.line), (2, Some(Activity::Optimizer), 2));
    assert_eq!([dump.request, dump.pool, dump.free].map(|figure| figure.unwrap().bytes >> 30), [2, 6, 1]);
}

fn evidence(layer: &str, holders: usize) -> Evidence {
    let label = |value: String, role: &str| {
        let (role, layer, op) = (role.to_string(), layer.to_string(), "conv2d_filter_gradient".to_string());
        Label { value, role, layer, op, again: false }
    };
    let (reserved, in_use, largest_free) = (Bytes(2048 << 10), Bytes(1773 << 10), Bytes(120 << 10));
    let holder = |number: usize| Holder {
        label: label(format!("conv2d_{number}/unary"), "activation"),
        bytes: Bytes(900),
    };
    Evidence {
        version: VERSION,
        step: Some(1),
        device: Some("host".to_string()),
        asked_by: label("scratch of x".to_string(), "workspace"),
        requested: Bytes(216 << 10),
        limit: Bytes(2048 << 10),
        refused_by: RefusedBy::Allocator { name: "bfc".to_string(), reserved, in_use, largest_free },
        holders: (0..holders).map(holder).collect(),
    }
}

#[test]
fn our_own_evidence_is_read_whatever_layers_are_called() {
    let names = [
        "conv2d_1",
        "x asked for 12 GiB",
        "host is out of memory: a asked for 3 GiB",
        "}{\"",
        "ran out of memory trying to allocate 9GiB",
    ];
    for name in names {
        let line = evidence(name, 3).print();
        let dump = one(&format!("planned peak 1.62 MiB\n 12:01 | evidence: {line}\nerror: step 1: ...\n"));
        assert_eq!((dump.source, dump.line), (Source::Plimsoll, 2));
        assert_eq!(
            [dump.request, dump.limit, dump.pool, dump.largest_free].map(bytes),
            [216, 2048, 2048, 120].map(|kib| Some(kib << 10))
        );
        assert!(dump.op.unwrap().contains(name), "{name}");
        let who: Vec<&str> = dump.holders.iter().map(|held| held.who.as_str()).collect();
        assert_eq!(
            who,
            ["conv2d_0/unary (activation)", "conv2d_1/unary (activation)", "conv2d_2/unary (activation)"]
        );
    }
}

#[test]
fn all_holders_are_read_however_long_the_line_is() {
    let line = evidence("x", 5000).print();
    assert!(line.len() > 4 * (64 << 10));
    assert_eq!(one(&format!("a\n{line} and so on\n")).holders.len(), 5000);
    let two = read(format!("{line}{line}\n").as_bytes()).unwrap();
    assert_eq!(two.dumps.len(), 2);
}

#[test]
fn evidence_that_cannot_be_read_is_said_to_be_there() {
    let line = evidence("x", 3).print();
    let newer = line.replacen(":1,", ":2,", 1);
    for (text, reason) in [(&line[..line.len() / 2], "not whole"), (&newer, "version 2")] {
        let log = read(format!("{text}\nnext line\n").as_bytes()).unwrap();
        assert!(log.dumps.is_empty() && log.unread.unwrap().contains(reason), "{reason}");
    }
    let older = "error: step 1: host is out of memory: conv2d of layer `a` (for `b`) asked for 216 KiB, but of its 2.00 MiB only 75.0 KiB are free\n";
    let log = read(older.as_bytes()).unwrap();
    assert_eq!((log.dumps.len(), log.sentences), (0, 1));
}
