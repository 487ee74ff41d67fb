//! Jobs put together in the library, as a door would: nothing here knows the command line.

use plimsoll::hint::{Call, Setting};
use plimsoll::memory::TorchOptions;
use plimsoll::plan::place::pages::PageRules;
use plimsoll::reports::{DevicesReport, FailureReport, PredictRequest};
use plimsoll::tensorflow::{Device, Mode, Precision};
use plimsoll::trace::Alignment;
use plimsoll::trace::evidence::RefusedBy;
use plimsoll::{
    Allowed, Bytes, DeviceRequest, EagerRequest, FitRequest, Goal, Happening, Hint, JobRequest, MemoryUse,
    Note, OnShortage, PartRequest, PlaceRequest, Placed, RequestError, RunLength, Space, StepSource,
    TrainRequest,
};

fn digits(memory: Bytes) -> TrainRequest {
    let request = TrainRequest::of(JobRequest { threads: Some(1), ..JobRequest::of("cnn") }, "digits");
    let device = DeviceRequest { memory: Some(memory), ..DeviceRequest::default() };
    TrainRequest { device, length: RunLength::Steps(3), ..request }
}

#[test]
fn a_run_tells_what_happens_and_keeps_its_promise() {
    let run = digits(Bytes::mib(4)).open().unwrap();
    let planned = run.planned_peak();
    assert!(planned <= run.device().limit() && run.notes().is_empty());
    let mut steps = Vec::new();
    let report = run
        .train(|happening| match happening {
            Happening::Step(progress) => steps.push(progress.step),
            other => panic!("{other:?}"),
        })
        .unwrap();
    assert_eq!(steps, [1, 2, 3]);
    assert_eq!((report.planned_peak_bytes, report.measured_peak_bytes), (planned, planned));
}

/// Less than the step as written takes, more than its smallest plan.
const BUDGET: Bytes = Bytes(1_400_000);

#[test]
fn a_plan_that_was_fitted_is_trained_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let output = Some(folder.path().join("cnn.plan.json"));
    let job = JobRequest { threads: Some(1), ..JobRequest::of("cnn@8,channels=1") };
    let goal = Goal::Fastest(Allowed::EXACT);
    let report = FitRequest { job, memory: BUDGET, goal, output }.run().unwrap();
    assert!(report.peak_bytes <= BUDGET && report.as_written_peak_bytes > BUDGET);
    let request = TrainRequest { step: StepSource::Plan(report.plan), ..digits(BUDGET) };
    let outcome = request.open().unwrap().train(|_| {}).unwrap();
    assert_eq!(outcome.measured_peak_bytes, report.peak_bytes);
    let tight = TrainRequest {
        device: DeviceRequest { memory: Some(Bytes(1 << 16)), ..DeviceRequest::default() },
        ..request
    };
    let Err(refused @ RequestError::PlanTooLarge { .. }) = tight.open() else { panic!("it does not fit") };
    assert!(refused.is_problem() && matches!(refused.hint(), Some(Hint::Call(Call::Fit { batch: 32, .. }))));
}

#[test]
fn a_budget_that_no_plan_fits_is_a_failure_with_evidence() {
    let Err(refused) = digits(Bytes(1 << 18)).open() else { panic!("it does not fit") };
    let report = FailureReport::of(&refused);
    assert!(report.is_problem && report.hint.is_none(), "a door words the hint");
    let evidence = report.evidence.unwrap();
    assert!(matches!(evidence.refused_by, RefusedBy::Budget { .. }));
    assert!(evidence.requested > evidence.limit && evidence.held() > evidence.limit);
}

#[test]
fn an_eager_run_that_runs_out_names_settings() {
    let eager = |on_shortage| MemoryUse::Eager(EagerRequest { on_shortage, ..EagerRequest::default() });
    let request = TrainRequest { memory_use: eager(OnShortage::Stop), ..digits(Bytes::mib(2)) };
    let refused = request.open().unwrap().train(|_| {}).unwrap_err();
    let Some(Hint::Set { settings, .. }) = refused.hint() else { panic!("{refused}") };
    assert!(settings.contains(&Setting::OnShortage(OnShortage::Shrink)), "{settings:?}");
    assert_eq!(refused.evidence().unwrap().step, Some(1));
    let request = TrainRequest { memory_use: eager(OnShortage::Shrink), ..request };
    let mut parts = 0;
    let report = request.open().unwrap().train(|happening| {
        if let Happening::Parts { parts: count, .. } = happening {
            parts = count;
        }
    });
    assert!(report.unwrap().shrunk_steps == Some(3) && parts > 1);
}

#[test]
fn requests_that_make_no_sense_are_values() {
    let job = |request: JobRequest| request.open().err().expect("it makes no sense");
    let cut = job(JobRequest { batch: 2, micro_batches: Some(3), ..JobRequest::of("cnn") });
    assert!(matches!(cut, RequestError::MicroBatches { batch: 2, micro_batches: 3 }));
    assert_eq!(job(JobRequest::of("resnet51")).hint(), Some(Hint::Call(Call::Zoo)));
    let train = |change: &dyn Fn(&mut TrainRequest)| {
        let mut request = digits(Bytes::mib(4));
        change(&mut request);
        let error = request.open().err().expect("it makes no sense");
        assert!(!error.is_problem(), "{error}");
        error
    };
    assert!(matches!(
        train(&|r| r.length = RunLength::Steps(0)),
        RequestError::NothingToDo { unit: "steps" }
    ));
    assert!(matches!(train(&|r| r.learning_rate = Some(-1.0)), RequestError::LearningRate { .. }));
    assert!(matches!(train(&|r| r.lengths = vec![3]), RequestError::Lengths));
    assert!(matches!(train(&|r| r.save = Some("out.keras".into())), RequestError::NothingToSave));
    let torch =
        EagerRequest { allocator: "torch".to_string(), growth: Some(false), ..EagerRequest::default() };
    assert!(matches!(
        train(&|r| r.memory_use = MemoryUse::Eager(torch.clone())),
        RequestError::Growth { .. }
    ));
    let expandable = EagerRequest { allocator: "torch-expandable".to_string(), ..EagerRequest::default() };
    assert!(matches!(
        train(&|r| r.memory_use = MemoryUse::Eager(expandable.clone())),
        RequestError::Expandable
    ));
    let torch = Some(TorchOptions::parse("expandable_segments:True").unwrap());
    for (allocator, refused) in [("torch", "segments that expand"), ("bfc", "bfc does not know settings")] {
        let eager = EagerRequest { allocator: allocator.to_string(), torch, ..EagerRequest::default() };
        let error = train(&|r| r.memory_use = MemoryUse::Eager(eager.clone())).to_string();
        assert!(error.contains(refused), "{error}");
    }
    let none = EagerRequest { allocator: "bcf".to_string(), ..EagerRequest::default() };
    assert!(matches!(
        train(&|r| r.memory_use = MemoryUse::Eager(none.clone())),
        RequestError::Allocator { .. }
    ));
}

#[test]
fn devices_are_made_as_they_are_asked_for() {
    let part =
        |name: Option<&str>, mib| PartRequest { name: name.map(str::to_string), limit: Bytes::mib(mib) };
    let split = vec![part(None, 3), part(Some("spare"), 1)];
    let request = DeviceRequest { memory: Some(Bytes::mib(4)), split, ..DeviceRequest::default() };
    let limit = |name: &str| {
        DeviceRequest { name: name.to_string(), ..request.clone() }.open().map(|device| device.limit())
    };
    assert_eq!(
        [limit("host"), limit("host:0"), limit("spare")].map(Result::unwrap),
        [3, 3, 1].map(Bytes::mib)
    );
    assert!(limit("host:7").unwrap_err().to_string().contains("host:7"));
    let report = DevicesReport::of(&request).unwrap();
    assert_eq!((report.devices.len(), report.notes.len()), (2, 0));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["devices"][1]["limit_bytes"], 1 << 20);
    assert!(matches!(Note::File("x".to_string()).to_string().as_str(), "x"));
}

/// The place of the result is there before the run and gone after it: the result is somewhere all the same.
#[test]
fn a_run_that_has_ended_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("gone");
    std::fs::create_dir(&place).unwrap();
    let save = Some(place.join("half.safetensors"));
    let run = TrainRequest { save, ..digits(Bytes::mib(4)) }.open().unwrap();
    let ended = run.train(|happening| {
        if matches!(happening, Happening::Step(progress) if progress.step == 3) {
            std::fs::remove_dir(&place).unwrap();
        }
    });
    let error = ended.unwrap_err();
    let RequestError::SavedElsewhere { elsewhere, .. } = &error else { panic!("{error}") };
    assert!(error.is_problem() && error.hint().is_some());
    let on =
        TrainRequest { from: Some(elsewhere.clone()), length: RunLength::Steps(5), ..digits(Bytes::mib(4)) };
    let whole = TrainRequest { length: RunLength::Steps(5), ..digits(Bytes::mib(4)) };
    let [on, whole] = [on, whole].map(|request| request.open().unwrap().train(|_| ()).unwrap());
    assert_eq!(on.loss.to_bits(), whole.loss.to_bits(), "it goes on from there");
    std::fs::remove_dir_all(elsewhere.parent().unwrap()).unwrap();
}

#[test]
fn threads_beyond_reason_are_refused_with_what_the_machine_has() {
    let job = JobRequest { threads: Some(4096), ..JobRequest::of("cnn@8,channels=1") };
    let Err(error) = job.open() else { panic!("4096 threads") };
    assert!(
        matches!(error.hint(), Some(Hint::Set { settings, .. }) if matches!(settings[..], [Setting::Threads(_)]))
    );
}

/// Two Dense layers under a mixed policy, the second with the policy of its own that Keras advises for outputs.
fn mixed_model(folder: &std::path::Path) -> String {
    let dense = |name: &str, units: usize, policy: &str| {
        format!(
            r#"{{"module": "keras.layers", "class_name": "Dense", "config": {{"name": "{name}", "trainable": true, "dtype": {{"module": "keras",
            "class_name": "DTypePolicy", "config": {{"name": "{policy}"}}, "registered_name": null}}, "units": {units}, "activation": "softmax"}},
            "registered_name": null, "build_config": {{"input_shape": [null, 64]}}}}"#
        )
    };
    let input = r#"{"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 64], "dtype": "float32",
        "sparse": false, "name": "in"}, "registered_name": null}"#;
    let (first, second) = (dense("first", 512, "mixed_bfloat16"), dense("second", 10, "float32"));
    let model = format!(
        r#"{{"module": "keras", "class_name": "Sequential", "config": {{"name": "mixed", "trainable": true, "dtype": "mixed_bfloat16",
        "layers": [{input}, {first}, {second}]}}, "registered_name": null}}"#
    );
    let path = folder.join("mixed.json");
    std::fs::write(&path, model).unwrap();
    path.display().to_string()
}

#[test]
fn tensorflow_is_predicted_with_the_policy_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let job = JobRequest { batch: 256, ..JobRequest::of(mixed_model(folder.path())) };
    let request = |precision| PredictRequest {
        job: job.clone(),
        mode: Mode::Graph,
        precision,
        accumulate: 1,
        device: Device::Cpu,
        growth: None,
        memory: None,
    };
    let as_saved = request(None).run().unwrap();
    let [plain, mixed] =
        [Precision::Float32, Precision::MixedBfloat16].map(|one| request(Some(one)).run().unwrap());
    assert_eq!(as_saved.precision, "mixed_bfloat16");
    assert_eq!(as_saved.live_peak_bytes, mixed.live_peak_bytes);
    assert_ne!(plain.live_peak_bytes, mixed.live_peak_bytes);
    let said: Vec<String> = as_saved.notes.iter().map(Note::to_string).collect();
    assert!(
        said.iter().any(|note| note.contains("float32 in the file") && note.ends_with(": second")),
        "{said:?}"
    );
    assert!(!said.iter().any(|note| note.contains("here it computes in float32")), "{said:?}");
}

#[test]
fn buffers_are_placed_and_what_cannot_be_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let problem = folder.path().join("problem.csv");
    std::fs::write(&problem, "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,4\n").unwrap();
    let request = |into| PlaceRequest { problem: problem.clone(), into };
    let one_piece = |capacity| request(Space::OnePiece { capacity: Some(Bytes(capacity)), nodes: 100 });
    let Placed::OnePiece(placed) = one_piece(8).run().unwrap() else { panic!("one piece was asked for") };
    assert!(placed.fits && placed.peak_bytes == Bytes(8) && placed.offsets.len() == 3);
    let Placed::OnePiece(placed) = one_piece(7).run().unwrap() else { panic!("one piece was asked for") };
    assert!(!placed.fits);
    let pages = |size| {
        request(Space::Pages(PageRules { size: Bytes(size), alignment: Alignment::try_from(1).unwrap() }))
    };
    let Placed::Pages(placed) = pages(4).run().unwrap() else { panic!("pages were asked for") };
    assert_eq!((placed.total_bytes, placed.fewest_pages), (Bytes(8), 2));
    assert!(placed.csv().lines().nth(1).unwrap().starts_with("a,0,2,4,"));
    let refused = pages(3).run().unwrap_err();
    assert!(refused.is_problem() && refused.to_string().contains("more than a page of 3 B"), "{refused}");
    let missing =
        PlaceRequest { problem: folder.path().join("none"), into: one_piece(8).into }.run().unwrap_err();
    assert!(matches!(missing.hint(), Some(Hint::Say(text)) if text.contains("look at the path")));
}

#[test]
fn the_peak_that_is_promised_is_that_of_the_lengths_that_run() {
    let request = TrainRequest::of(JobRequest { batch: 4, ..JobRequest::of("lstm,vocab=50") }, "synthetic");
    let request = TrainRequest { length: RunLength::Steps(2), lengths: vec![8, 12, 40], ..request };
    let run = request.open().unwrap();
    let planned = run.planned_peak();
    assert_eq!(run.train(|_| {}).unwrap().planned_peak_bytes, planned);
}
