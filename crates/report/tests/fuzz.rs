//! Damaged logs: whatever is cut, lost, doubled, shuffled or overwritten, a diagnosis is made and nothing panics.
//!
//! The short run is part of the tests; `cargo test -p plimsoll-report --test fuzz -- --ignored` runs the long one.

use flate2::read::GzDecoder;
use plimsoll_import::oomlog::{Dump, Figure, read};
use plimsoll_report::diagnosis::{Diagnosis, Kind, diagnose, html, json, text};
use std::io::Read;
use std::path::Path;

/// Numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// Real dumps of moderate size, and messages of other frameworks.
fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/dumps");
    let names = [
        "FRAG_checkerboard_128MB",
        "cnn_small_b128_eager_40MB",
        "mlp4096_b512_adam_230MB",
        "vgg16_64_init_100MB",
    ];
    let unpack = |name: &&str| {
        let mut text = Vec::new();
        let file = std::fs::File::open(folder.join(format!("{name}.stderr.gz"))).unwrap();
        GzDecoder::new(file).read_to_end(&mut text).unwrap();
        text
    };
    let mut seeds: Vec<Vec<u8>> = names.iter().map(unpack).collect();
    seeds.push(
        b"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 3; 8.00 GiB total capacity; 3.00 GiB already allocated; 1.00 GiB free; 5.00 GiB reserved in \
          total by PyTorch)\nRan out of memory in memory space hbm. Used 18.50G of 15.50G hbm.\n  1. Size: 4.00G\n     op_name=\"a\"\n"
            .to_vec(),
    );
    seeds.push(
        b"x invoked oom-killer: order=0\nmemory: usage 8388608kB, limit 8388608kB, failcnt 1\n6291456 pages RAM\n[ pid ] uid tgid total_vm rss\n\
          [ 1234] 1000 1234 3145728 2031616 18 0 0 python3\nMemory cgroup out of memory: Killed process 1234 (python3) total-vm:9kB, anon-rss:8kB\n\
          failed to allocate 3.95G (4242145280 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\n_EagerConst: Dst tensor is not initialized.\n\
          exit code 137\nKilled\n\x1b[31mOOM when allocating tensor with shape[64,64] and type float by allocator GPU_0_bfc\n"
            .to_vec(),
    );
    let refusals = [
        r#"{"allocator":{"name":"bfc","reserved_bytes":2097152,"in_use_bytes":1815552,"largest_free_bytes":122880}}"#,
        r#"{"device":{"system":"Cannot allocate memory"}}"#,
        r#"{"budget":{"floor_bytes":200000,"least_bytes":150000}}"#,
    ];
    seeds.extend(refusals.map(|refused_by| {
        let label = r#""value":"b","role":"activation","layer":"a","op":"conv2d""#;
        format!(
            "evidence: {{\"plimsoll_evidence\":1,\"step\":1,\"device\":\"host\",\"asked_by\":{{{label}}},\"requested_bytes\":221184,\
             \"limit_bytes\":2097152,\"refused_by\":{refused_by},\"holders\":[{{{label},\"bytes\":7}}]}}\nerror: x\n"
        )
        .into_bytes()
    }));
    seeds
}

/// One damage.
fn damage(text: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let (first, second) = (random.below(lines.len()), random.below(lines.len()));
    let kept = |keep: &dyn Fn(usize) -> bool| {
        lines
            .iter()
            .enumerate()
            .filter(|(index, _)| keep(*index))
            .flat_map(|(_, line)| line.to_vec())
            .collect()
    };
    *text = match random.below(8) {
        0 => text[..random.below(text.len())].to_vec(),
        1 => text[random.below(text.len())..].to_vec(),
        2 => kept(&|index| index != first),
        3 => kept(&|index| index < first.min(second) || index > first.max(second)),
        4 => {
            let mut lines = lines;
            if !lines.is_empty() {
                lines.swap(first, second);
            }
            lines.concat()
        }
        5 => [text.as_slice(), &others[random.below(others.len())]].concat(),
        6 => {
            let mut text = text.clone();
            for _ in 0..1 + random.below(20) {
                let length = text.len();
                if let Some(byte) = text.get_mut(random.below(length)) {
                    *byte = [b'9', b'0', b'\n', b' ', b'.', 0xff, b'K', b'x'][random.below(8)];
                }
            }
            text
        }
        _ => {
            let at = random.below(text.len());
            let number =
                ["18446744073709551615", "0", "9999999999999", "99999999999999999999999"][random.below(4)];
            [&text[..at], number.as_bytes(), &text[at..]].concat()
        }
    };
}

/// What holds for every dump, however damaged.
fn check(dump: &Dump) {
    let exact = |figure: Option<Figure>| figure.filter(Figure::is_exact).map(|figure| figure.bytes);
    if let (Some(pool), Some(in_use), Some(free)) = (exact(dump.pool), exact(dump.in_use), exact(dump.free)) {
        assert_eq!(in_use + free, pool);
    }
    if let (Some(free), Some(largest)) = (exact(dump.free), exact(dump.largest_free)) {
        assert!(largest <= free, "{largest} of {free}");
    }
    for region in &dump.regions {
        assert!(region.chunks.is_sorted_by_key(|chunk| chunk.address));
    }
}

fn run(seed: u64, rounds: usize) {
    let seeds = seeds();
    let mut random = Random(seed);
    let mut found = 0;
    for _ in 0..rounds {
        let mut text = seeds[random.below(seeds.len())].clone();
        for _ in 0..1 + random.below(4) {
            damage(&mut text, &seeds, &mut random);
        }
        let log = read(&text[..]).unwrap();
        log.dumps.iter().for_each(check);
        let diagnoses: Vec<Diagnosis> = diagnose(log);
        for diagnosis in &diagnoses {
            assert!(!text::print(diagnosis).is_empty());
            assert!(json::print(diagnosis)["cause"].is_string());
            let says = diagnosis.kind != Kind::Unknown || !diagnosis.dump.missing.is_empty();
            assert!(says, "neither a kind nor what is missing: {:?}", diagnosis.dump);
        }
        assert!(html::print("damaged", &diagnoses).ends_with("</html>\n"));
        found += diagnoses.len();
    }
    println!("{found} reports in {rounds} damaged logs");
    assert!(found > rounds / 4);
}

#[test]
fn damaged_logs_are_diagnosed() {
    run(1, 400);
}

#[test]
#[ignore = "takes minutes"]
fn many_damaged_logs_are_diagnosed() {
    (2..30).for_each(|seed| run(seed, 4000));
}
