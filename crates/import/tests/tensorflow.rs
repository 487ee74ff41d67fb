//! TensorFlow's own traces, replayed: the same addresses, the same chunk sizes, and limits near those at which
//! TensorFlow really runs.

use plimsoll_import::bfctrace::{self, BfcEvent, BfcTrace};
use plimsoll_memory::replay::{Requests, smallest_limit};
use plimsoll_memory::{Address, Allocator, Bfc, BfcOptions, Block, RegionId, Simulated};
use plimsoll_trace::{BlockId, Bytes, LabelId, Offset};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The folder of measurements, which is not part of the repository: `PLIMSOLL_MEASURED`, or beside the repository.
fn measured() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("PLIMSOLL_MEASURED").map_or(beside, PathBuf::from).join("tensorflow");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "CI must have {}", folder.display());
    println!("SKIPPED in part: no {}; only the traces in the repository are replayed", folder.display());
    None
}

/// Traces by name: those in the repository, and all that were measured where they can be had.
fn traces() -> BTreeMap<String, BfcTrace> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders = std::iter::once(own).chain(measured().map(|folder| folder.join("traces")));
    let files = folders.flat_map(|folder| folder.read_dir().unwrap()).map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "gz"));
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().split('.').next().unwrap().to_string();
            let trace =
                bfctrace::read(File::open(&path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, trace)
        })
        .collect()
}

/// Takes and frees as the trace does, and compares every block with TensorFlow's. Gives the number of blocks.
fn compare(name: &str, trace: &BfcTrace) -> usize {
    let regions: Vec<(u64, Bytes)> = trace.regions().collect();
    let bases: Vec<u64> = regions.iter().map(|(base, _)| *base).collect();
    let mut simulated = Simulated::with_bases(Bytes::mib(64 << 10), bases);
    let (mut bfc, mut live) = begin(trace, &regions, &mut simulated);
    let mut blocks = 0;
    for event in &trace.events {
        match event {
            BfcEvent::Take { block, address, requested, chunk, before: false, .. } => {
                let given = bfc.take(*requested, LabelId(0), &mut simulated).unwrap();
                let (base, _) = regions[given.address.region.0 as usize];
                let found = (base + given.address.offset.0, given.bytes);
                assert_eq!(found, (*address, *chunk), "{name}: block {} of {requested:?}", block.0);
                live.insert(*block, given.address);
                blocks += 1;
            }
            BfcEvent::Free { block } => bfc.free(live.remove(block).unwrap(), &mut simulated).unwrap(),
            _ => {}
        }
    }
    let pool: Bytes = regions.iter().map(|(_, bytes)| *bytes).sum();
    assert_eq!(bfc.statistics().reserved, pool, "{name}");
    blocks
}

/// An allocator in which everything is live that was live when the log began, and where that is.
fn begin(
    trace: &BfcTrace,
    regions: &[(u64, Bytes)],
    simulated: &mut Simulated,
) -> (Bfc, BTreeMap<BlockId, Address>) {
    let before = trace.events.iter().filter_map(|event| match event {
        BfcEvent::Take { block, address, chunk, before: true, .. } => {
            let number =
                regions.iter().position(|(base, bytes)| (*base..base + bytes.0).contains(address)).unwrap();
            let address =
                Address { region: RegionId(number as u32), offset: Offset(address - regions[number].0) };
            Some((*block, Block { address, bytes: *chunk }))
        }
        _ => None,
    });
    let before: Vec<(BlockId, Block)> = before.collect();
    if before.is_empty() {
        return (Bfc::new(BfcOptions::default()), BTreeMap::new());
    }
    let sizes: Vec<Bytes> = regions.iter().map(|(_, bytes)| *bytes).collect();
    let blocks: Vec<(Block, LabelId)> = before.iter().map(|(_, block)| (*block, LabelId(0))).collect();
    let bfc = Bfc::resume(BfcOptions::default(), &sizes, &blocks, simulated).unwrap();
    (bfc, before.into_iter().map(|(block, given)| (block, given.address)).collect())
}

#[test]
fn every_address_and_chunk_is_tensorflows() {
    let mut blocks = 0;
    for (name, trace) in traces() {
        blocks += compare(&name, &trace);
    }
    println!("{blocks} blocks are where TensorFlow put them");
    assert!(blocks > 3000);
}

#[test]
fn smallest_limits_are_near_the_measured_ones() {
    // The rows of thresholds.csv whose trace is here: MiB at which three real steps ran.
    let traces = traces();
    let measured = [
        ("cnn_small_32_128_adam", 62),
        ("mlp_4096_0_512_adam", 466),
        ("transformer_128_8_adam", 182),
        ("resnet50_64_8_adam", 378),
    ];
    let mut compared = 0;
    for (name, mib) in measured {
        let Some(trace) = traces.get(name) else { continue };
        let requests = Requests::of(&trace.to_trace()).unwrap();
        let limit = smallest_limit(&requests, || Box::new(Bfc::new(BfcOptions::default()))).unwrap();
        let ratio = limit.0 as f64 / Bytes::mib(mib).0 as f64;
        println!("{name}: {limit} by replay, {mib} MiB measured, ratio {ratio:.3}");
        assert!((ratio - 1.0).abs() < 0.06, "{name}: {limit}, not {mib} MiB");
        compared += 1;
    }
    assert!(compared >= 2);
}
