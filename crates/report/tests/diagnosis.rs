//! Causes and remedies of dumps whose truth is known.

use plimsoll_import::{evidence, oomlog};
use plimsoll_report::diagnosis::{Diagnosis, Kind, PlannedStep, Reason, Remedy, diagnose, html, json, text};
use plimsoll_trace::Bytes;
use std::fs::File;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ours(name: &str) -> Vec<Diagnosis> {
    let path = root().join("crates/import/tests/dumps").join(format!("{name}.stderr.gz"));
    diagnose(oomlog::read(File::open(path).unwrap()).unwrap())
}

/// A log that people posted; none where the folder is not there, which CI does not allow.
fn posted(name: &str) -> Option<Vec<Diagnosis>> {
    let path = root().join("../shared/oomlogs").join(name);
    match File::open(&path) {
        Ok(file) => Some(diagnose(oomlog::read(file).unwrap())),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{}: {error}", path.display());
            println!("skipped: {} is not here", path.display());
            None
        }
    }
}

fn of(text: &str) -> Diagnosis {
    diagnose(oomlog::read(text.as_bytes()).unwrap()).remove(0)
}

fn remedy<'a>(diagnosis: &'a Diagnosis, key: &str) -> &'a Remedy {
    diagnosis
        .remedies
        .iter()
        .find(|remedy| remedy.key == key)
        .unwrap_or_else(|| panic!("no {key} in {:#?}", diagnosis.remedies))
}

fn finding(diagnosis: &Diagnosis, reason: Reason) -> &str {
    let found = diagnosis.findings.iter().find(|finding| finding.reason == reason);
    &found.unwrap_or_else(|| panic!("no {reason:?} in {:#?}", diagnosis.findings)).text
}

#[test]
fn every_cause_agrees_with_the_index() {
    let index = std::fs::read_to_string(root().join("crates/import/tests/dumps/index.csv")).unwrap();
    for row in index.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let diagnosis = &ours(cells[0])[0];
        assert_eq!(diagnosis.kind.name(), cells[2].to_lowercase(), "{row}");
        assert!(diagnosis.cause().starts_with(diagnosis.kind.name()));
        // Compaction is enough just where memory was in pieces.
        let compaction = remedy(diagnosis, "compaction");
        assert_eq!(compaction.enough, Some(diagnosis.kind == Kind::Fragmentation), "{row}");
    }
}

#[test]
fn reasons_go_beyond_the_kind() {
    let cases = [
        ("cnn_small_b128_eager_40MB", Reason::RegionTails),
        ("FRAG_checkerboard_128MB", Reason::Pieces),
        ("mlp4096_b512_adam_230MB", Reason::Surplus),
        ("vgg16_64_init_100MB", Reason::Pieces),
    ];
    for (name, reason) in cases {
        assert_eq!(ours(name)[0].reason, reason, "{name}");
    }
    let mlp = &ours("mlp4096_b512_adam_230MB")[0];
    assert!(
        finding(mlp, Reason::Surplus).contains("36.00 MiB of it in one unsplit chunk"),
        "{}",
        finding(mlp, Reason::Surplus)
    );
    assert!(finding(mlp, Reason::Weights).contains("after only 25 allocations"));
    assert!(finding(&ours("vgg16_64_init_100MB")[0], Reason::Weights).contains("StatelessRandomUniformV2"));
    assert!(
        finding(&ours("ABORT_resnet50_64_b8_onednn_360MB")[0], Reason::Optimizer).contains("adam/Square_204")
    );
    // Every second 4 MiB are free, so one chunk is in the way of 12 MiB.
    let checkers = &ours("FRAG_checkerboard_128MB")[0];
    let window = checkers.findings.iter().find_map(|finding| finding.window.as_ref()).unwrap();
    assert_eq!((window.in_use(), window.bytes), (4 << 20, 12 << 20));
}

#[test]
fn alexnet_is_short_by_its_surplus() {
    let Some(diagnoses) = posted("gh_file_2585193199_alexnet_k40c_tf1.4_complete.log") else { return };
    let alexnet = &diagnoses[0];
    assert_eq!(alexnet.cause(), "exhaustion: surplus in unsplit chunks");
    let answer = alexnet.summary.join("\n");
    for figure in [
        "74.16 MiB",
        "short by 0.66 MiB even if compacted",
        "17.82 MiB of it in one unsplit chunk",
        "115.82 MiB",
        "98.00 MiB",
    ] {
        assert!(answer.contains(figure), "no `{figure}` in\n{answer}");
    }
    assert_eq!(remedy(alexnet, "compaction").enough, Some(false));
    assert_eq!(remedy(alexnet, "planned_layout").enough, Some(true));
    assert_eq!(remedy(alexnet, "less").title, "0.66 MiB less in use");
    assert_eq!(remedy(alexnet, "smaller_batch").title, "a batch of 114 instead of 128");
}

#[test]
fn posted_messages_have_their_causes() {
    let Some(torch) = posted("pytorch_oom_messages.txt") else { return };
    let causes: Vec<(Kind, Reason)> =
        torch.iter().map(|diagnosis| (diagnosis.kind, diagnosis.reason)).collect();
    let (others, pieces) = ((Kind::Exhaustion, Reason::Others), (Kind::Fragmentation, Reason::Pieces));
    assert_eq!(causes, [others, pieces, pieces, pieces, others]);
    assert_eq!(remedy(&torch[1], "expandable_segments").enough, Some(true));
    let Some(growing) = posted("gh_file_10778811985_gt735m_growth_tf2.1_windows_partial.log") else { return };
    assert_eq!((growing[0].kind, growing[0].reason), (Kind::Exhaustion, Reason::Leak));
    let Some(half) = posted("tensorflow_22586_partial.log") else { return };
    assert_eq!(half[0].kind, Kind::Unknown);
    assert!(half[0].summary[1].starts_with("3.77 GiB were not in use"), "{:?}", half[0].summary);
}

#[test]
fn a_device_that_refuses_is_full_of_others() {
    let text = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)requested by op a\nNext region of size 4194304\n\
                InUse at 10000 of size 4194304 next 1\nSum Total of in-use chunks: 4.00MiB\ntotal_region_allocated_bytes_: 4194304 memory_limit_: 8388608 \
                available bytes: 4194304 curr\nStats: \nLimit: 8388608\nInUse: 4194304\n";
    let refused = of(text);
    assert_eq!(refused.reason, Reason::Others);
    assert!(finding(&refused, Reason::Others).contains("the device still refused"));
}

#[test]
fn a_leak_shows_over_several_reports() {
    let message = |gib: u32| {
        format!(
            "CUDA out of memory. Tried to allocate 9.00 GiB (GPU 0; 40.00 GiB total capacity; {gib}.00 GiB already allocated; 0 bytes free; 39.00 GiB \
             reserved in total by PyTorch)\n"
        )
    };
    let log: String = [31, 33, 36].map(message).concat();
    let diagnoses = diagnose(oomlog::read(log.as_bytes()).unwrap());
    assert_eq!(diagnoses.len(), 3);
    assert!(finding(&diagnoses[2], Reason::Leak).contains("from 31.00 GiB to 36.00 GiB over 3 reports"));
    let steady = [31, 36, 33].map(message).concat();
    let diagnoses = diagnose(oomlog::read(steady.as_bytes()).unwrap());
    assert!(
        diagnoses
            .iter()
            .all(|diagnosis| diagnosis.findings.iter().all(|finding| finding.reason != Reason::Leak))
    );
}

#[test]
fn a_program_larger_than_the_device_is_too_big() {
    let tpu = of(
        "Ran out of memory in memory space hbm. Used 18.50G of 15.50G hbm. Exceeded hbm capacity by 3.00G.\n",
    );
    assert_eq!((tpu.kind, tpu.reason), (Kind::Exhaustion, Reason::TooBig));
    assert!(tpu.summary[1].contains("larger than the whole limit of 15.50 GiB"), "{:?}", tpu.summary);
}

#[test]
fn a_snapshot_names_lines_of_the_program() {
    let path = root().join("crates/import/tests/snapshots/snapshot.protocol4.pickle");
    let diagnoses = diagnose(evidence::read(File::open(path).unwrap()).unwrap());
    let first = &diagnoses[0];
    // 10 MiB asked for; 5 and 7 are free with 2 of train.py:12 between them, and 3 more of the device: a segment that
    // can grow would do.
    assert_eq!((first.kind, first.reason), (Kind::Fragmentation, Reason::RegionTails));
    let shown = text::print(first);
    for piece in
        ["train.py:41 forward asked for 10.00 MiB", "2.00 MiB (train.py:12 load)", "expandable_segments:True"]
    {
        assert!(shown.contains(piece), "no `{piece}` in\n{shown}");
    }
}

#[test]
fn a_layout_that_is_enough_is_enough_for_the_request_alone() {
    let alexnet = &ours("cnn_small_b128_graph_40MB")[0];
    assert_eq!(remedy(alexnet, "planned_layout").enough, Some(true));
    assert!(
        remedy(alexnet, "planned_layout")
            .text
            .contains("whether the rest of the step fits is not in the report")
    );
    assert!(
        alexnet.summary[2].starts_with("Each of these would have met this request: "),
        "{:?}",
        alexnet.summary
    );
    let shown = text::print(alexnet);
    assert!(
        shown.contains("a planned layout (enough for this request)") && !shown.contains("(enough)"),
        "{shown}"
    );
    let page = html::print("page", std::slice::from_ref(alexnet));
    assert!(!page.contains("\">enough</em>"), "{page}");
}

#[test]
fn advice_while_weights_are_built_is_about_weights() {
    for name in ["mlp4096_b512_adam_230MB", "vgg16_64_init_100MB"] {
        let diagnosis = &ours(name)[0];
        // The step has not begun: what it needs is not known, and 230 MiB were not enough for this model.
        assert_eq!(remedy(diagnosis, "planned_layout").enough, None, "{name}");
        assert!(remedy(diagnosis, "planned_layout").text.contains("still to come"));
        assert!(diagnosis.summary[2].starts_with("It happened while the weights were being built"), "{name}");
        assert!(diagnosis.summary[2].contains("build the weights on the host"), "{:?}", diagnosis.summary);
        let shown = text::print(diagnosis);
        for wrong in ["mixed_bfloat16", "remat", "a batch of", "gradient_accumulation"] {
            assert!(!shown.contains(wrong), "{name}: `{wrong}` does not help to build weights\n{shown}");
        }
    }
    // One weight of 64 MiB with its gradient and Adam's two slots is 256 MiB.
    let mlp = &ours("mlp4096_b512_adam_230MB")[0];
    let text = &remedy(mlp, "leaner_optimizer").text;
    assert!(
        text.contains("with Adam 256.00 MiB, more than the limit")
            && text.contains("gradient descent 128.00 MiB;"),
        "{text}"
    );
}

#[test]
fn slots_are_told_from_weights() {
    let text = "  in add_variable_from_reference\nResourceExhaustedError: {{function_node __wrapped__Fill_device_/job}} OOM when allocating tensor with \
                shape[4096,4096] and type float on /job:localhost/device:GPU:0 by allocator GPU_0_bfc [Op:Fill]\n";
    let slots = of(text);
    assert!(finding(&slots, Reason::Slots).contains("optimizer's state"));
    assert_eq!(slots.remedies[0].key, "leaner_optimizer");
    assert!(slots.summary[2].contains("the optimizer's state was being built"), "{:?}", slots.summary);
}

#[test]
fn the_plan_of_the_model_decides() {
    let step = |as_written: u64, squeezed: Option<u64>| PlannedStep {
        model: "mlp".to_string(),
        batch: 512,
        as_written: Bytes(as_written << 20),
        squeezed: squeezed.map(|mebibytes| Bytes(mebibytes << 20)),
        limit: Bytes(230 << 20),
    };
    let mlp = || ours("mlp4096_b512_adam_230MB").remove(0);
    let hopeless = mlp().beside(&step(319, None));
    assert_eq!(remedy(&hopeless, "planned_step").enough, Some(false));
    assert!(
        hopeless.remedies.iter().all(|remedy| remedy.key != "planned_layout"),
        "both would contradict each other"
    );
    assert!(
        hopeless.summary[2].contains("needs 319.00 MiB, 89.00 MiB more than 230.00 MiB"),
        "{:?}",
        hopeless.summary
    );
    assert!(hopeless.summary[2].contains("would not be enough"));
    let fits = mlp().beside(&step(319, Some(200)));
    assert_eq!((fits.remedies[0].key, fits.remedies[0].enough), ("planned_step", Some(true)));
    assert!(fits.summary[2].contains("200.00 MiB"), "{:?}", fits.summary);
}

#[test]
fn ended_processes_and_full_devices_are_explained() {
    let kernel = of(
        "Out of memory: Killed process 7 (python) total-vm:12582912kB, anon-rss:8388608kB, file-rss:0kB, shmem-rss:0kB\n",
    );
    assert_eq!((kernel.kind, kernel.reason), (Kind::Exhaustion, Reason::Killed));
    assert!(kernel.summary[0].contains("python (pid 7) was ended") && kernel.summary[0].contains("8.00 GiB"));
    let signal = of("Killed\n");
    assert_eq!((signal.kind, signal.reason), (Kind::Unknown, Reason::Killed));
    assert_eq!(signal.remedies[0].key, "kernel_log");
    let slurm = of("slurmstepd: error: Job 9 exceeded memory limit (8400000 > 8388608), being killed\n");
    assert!(remedy(&slurm, "host_limit").code.to_string().contains("SBATCH_MEM_PER_NODE=16G"));
    let copy = of("in order to run _EagerConst: Dst tensor is not initialized.\n");
    assert_eq!((copy.kind, copy.remedies[0].key), (Kind::Exhaustion, "data_in_batches"));
    let driver = of(
        "failed to allocate 3.95G (4242145280 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
    );
    assert_eq!((driver.kind, driver.reason), (Kind::Exhaustion, Reason::Others));
    for diagnosis in [&kernel, &signal, &slurm, &copy, &driver] {
        assert!(!text::print(diagnosis).contains("  ."), "{}", text::print(diagnosis));
    }
}

#[test]
fn the_same_is_shown_everywhere() {
    let diagnosis = &ours("cnn_small_b128_graph_40MB")[0];
    let object = json::print(diagnosis);
    let figures =
        ["request_bytes", "limit_bytes", "pool_bytes", "in_use_bytes", "free_bytes", "largest_free_bytes"];
    let numbers: Vec<u64> = figures.iter().map(|key| object[key].as_u64().unwrap()).collect();
    assert_eq!(numbers, [5_537_792, 41_943_040, 41_943_040, 36_137_984, 5_805_056, 4_194_304]);
    assert_eq!(object["cause"], diagnosis.cause());
    for list in ["findings", "remedies"] {
        assert!(!object[list].as_array().unwrap().is_empty());
    }
    let page = html::print("a <b>", std::slice::from_ref(diagnosis));
    assert!(page.contains("<title>a &lt;b&gt;</title>") && page.matches("<figure>").count() == 6);
    assert!(
        page.contains("asked for, 5.28 MiB</figcaption>"),
        "what was asked for stands above the five regions"
    );
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains(" src="), "self-contained");
    assert_eq!(page.matches("<script").count(), 1, "only the switch of the theme");
    let shown = text::print(diagnosis);
    assert!(shown.starts_with(&diagnosis.summary.join("\n")), "three lines come first");
    assert_eq!(
        shown.lines().filter(|line| line.contains('█') && line.contains("MiB")).count(),
        5,
        "a row a region"
    );
}
