//! The command line as a person uses it: good input, bad input, exit codes, what goes to which stream.

use serde_json::Value;
use std::process::{Command, Output};

fn plimsoll(arguments: &str) -> Output {
    let words = arguments.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(words).output().expect("the binary runs")
}

fn json(arguments: &str) -> Value {
    let output = plimsoll(&format!("{arguments} --json"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// A failure: exit code, nothing on stdout, and every expected piece of text on stderr.
fn fails(arguments: &str, code: i32, expected: &[&str]) {
    let output = plimsoll(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    for piece in expected {
        assert!(stderr.contains(piece), "{arguments}: no `{piece}` in\n{stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn training_on_digits_keeps_its_promise_and_learns() {
    let outcome = json("train cnn --data digits --memory 8MiB --epochs 12");
    let number = |key: &str| outcome[key].as_f64().unwrap_or_else(|| panic!("no {key} in {outcome:#}"));
    assert_eq!(number("planned_peak_bytes"), number("measured_peak_bytes"));
    assert!(number("planned_peak_bytes") <= f64::from(8 << 20));
    assert!(number("accuracy") >= 0.97, "{outcome:#}");
    assert_eq!(number("steps"), f64::from(1437u32 * 12).div_euclid(32.0) + 1.0);
    assert!(number("loss").is_finite() && number("seconds_per_step") > 0.0 && number("peak_rss_bytes") > 0.0);
}

#[test]
fn a_run_is_the_same_every_time_and_with_any_number_of_threads() {
    let loss = |more: &str| json(&format!("train lenet --data digits --steps 20 {more}"))["loss"].clone();
    let first = loss("--threads 1");
    assert_eq!(first, loss("--threads 1"));
    assert_eq!(first, loss("--threads 3"));
    assert_eq!(first, loss("--threads 2 --poison"));
    assert_ne!(first, loss("--seed 1"));
}

#[test]
fn eager_runs_give_the_planned_numbers_and_say_what_they_took() {
    let planned = json("train cnn --data digits --steps 12");
    assert_eq!((&planned["mode"], &planned["allocator"]), (&Value::from("graph"), &Value::Null));
    for more in ["", "--growth off --memory 16MiB", "--allocator torch", "--allocator best-fit --poison"] {
        let eager = json(&format!("train cnn --data digits --steps 12 --mode eager {more}"));
        for key in ["loss", "accuracy", "planned_peak_bytes", "steps"] {
            assert_eq!(eager[key], planned[key], "{key} with `{more}`");
        }
        let number = |key: &str| eager[key].as_f64().unwrap_or_else(|| panic!("no {key} in {eager:#}"));
        assert_eq!(eager["mode"], "eager");
        assert!(number("peak_in_use_bytes") > number("planned_peak_bytes"), "a plan shares storage");
        assert!(number("peak_reserved_bytes") >= number("peak_in_use_bytes"));
        assert!((0.0..=1.0).contains(&number("worst_fragmentation")));
        assert_eq!(number("shrunk_steps"), 0.0);
        assert!(number("seconds_per_step") > 0.0 && number("peak_rss_bytes") > 0.0);
    }
}

#[test]
fn eager_out_of_memory_is_explained_or_survived() {
    let little = "train cnn --data digits --mode eager --memory 2MiB --steps 4";
    let pieces =
        ["step 1: host is out of memory", "of layer `", "held", "bfc:", "largest free block", "hint:"];
    fails(little, 1, &pieces);
    let whole = json("train cnn --data digits --mode eager --memory 16MiB --steps 4");
    let shrunk = json(&format!("{little} --on-oom shrink"));
    assert_eq!(shrunk["shrunk_steps"], 4);
    assert!(shrunk["peak_reserved_bytes"].as_f64().unwrap() <= f64::from(2 << 20));
    let loss = |run: &Value| run["loss"].as_f64().unwrap();
    assert!((loss(&whole) - loss(&shrunk)).abs() < 1e-4, "{whole:#} {shrunk:#}");
}

#[test]
fn batch_statistics_are_warned_about_once() {
    let words = "train resnet20@16 --data synthetic --batch 8 --optimizer sgd --mode eager --memory 5MiB --steps 3 --on-oom shrink";
    let output = plimsoll(words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr.matches("sees all samples of a batch").count(), 1, "{stderr}");
}

#[test]
fn lengths_cost_the_longest_when_planned_and_more_when_eager() {
    let words = "train lstm,vocab=100 --data synthetic --batch 4 --lengths 16,40,24 --steps 6";
    let (planned, eager) = (json(words), json(&format!("{words} --mode eager")));
    assert_eq!(planned["loss"], eager["loss"]);
    assert_eq!(planned["measured_peak_bytes"], planned["planned_peak_bytes"]);
    assert_eq!(eager["planned_peak_bytes"], planned["planned_peak_bytes"]);
    assert!(eager["peak_reserved_bytes"].as_u64() > planned["planned_peak_bytes"].as_u64());
}

#[test]
fn options_without_an_effect_are_refused() {
    fails("train cnn --allocator bfc", 2, &["--allocator has no meaning", "hint: add --mode eager"]);
    fails("train cnn --on-oom shrink", 2, &["--on-oom has no meaning"]);
    fails("train cnn --mode eager --allocator torch --growth off", 2, &["torch does not know growth"]);
    fails("train cnn --mode eager --allocator bcf", 2, &["bcf", "torch-expandable"]);
    fails("train cnn --mode lazy", 2, &["lazy", "eager"]);
    fails("train lstm --lengths 8,9", 2, &["only synthetic samples", "hint:"]);
    fails("train cnn@8 --data synthetic --lengths 8,9", 2, &["takes no sequences"]);
    fails("train lstm --data synthetic --lengths 8,0", 2, &["0"]);
}

#[test]
fn inspecting_gives_figures_that_add_up() {
    let report = json("inspect resnet50@64 --batch 4");
    let roles = report["by_role"].as_object().unwrap().values();
    assert_eq!(
        roles.map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(),
        report["floor_bytes"].as_u64().unwrap()
    );
    assert!(report["floor_bytes"].as_u64() <= report["peak_bytes"].as_u64());
    assert_eq!(report["parameters"], 23_608_202);
    assert_eq!(report["trainable_parameters"], 23_555_082);
    let layers = report["layers"].as_array().unwrap();
    let sum: u64 = layers.iter().map(|layer| layer["parameters"].as_u64().unwrap()).sum();
    assert_eq!(sum, 23_608_202);
}

/// The promise at full size: the planned peak is below what TensorFlow needs (969 MiB of live tensors, measured with
/// Adam in float32), a real step runs at exactly that peak, and the whole process takes at most 64 MiB more.
#[test]
fn a_step_of_resnet50_runs_at_its_planned_peak() {
    let planned = json("inspect resnet50@224 --batch 8")["peak_bytes"].as_u64().unwrap();
    assert!(planned < 969 << 20, "{planned}");
    let outcome =
        json(&format!("train resnet50@224 --data synthetic --batch 8 --steps 1 --memory {planned}"));
    assert_eq!(outcome["planned_peak_bytes"], planned);
    assert_eq!(outcome["measured_peak_bytes"], planned);
    let resident = outcome["peak_rss_bytes"].as_u64().unwrap();
    assert!(resident <= planned + (64 << 20), "{resident} for {planned}");
}

#[test]
fn the_text_of_inspect_names_what_people_look_for() {
    let output = plimsoll("inspect cnn --batch 8");
    let text = String::from_utf8(output.stdout).unwrap();
    for piece in
        ["as written", "+ in place", "floor", "activations", "optimizer state", "largest layers", "conv2d"]
    {
        assert!(text.contains(piece), "no `{piece}` in\n{text}");
    }
}

#[test]
fn devices_have_limits_that_add_up() {
    let report = json("devices");
    let (device, host) = (&report["devices"][0], &report["host"]);
    assert_eq!((&device["name"], &device["kind"]), (&Value::from("host"), &Value::from("host")));
    assert_eq!(device["limit_bytes"], host["automatic_limit_bytes"]);
    let bytes = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{report:#}"));
    let left = bytes(&host["automatic_limit_bytes"]) + bytes(&host["reserve_bytes"]);
    assert!(
        left <= bytes(&host["available_bytes"]) && left <= bytes(&device["capacity_bytes"]),
        "{report:#}"
    );

    let report = json("devices --split 3MiB,spare=1MiB --memory 4MiB");
    let parts = report["devices"].as_array().unwrap();
    let part = |index: usize| (parts[index]["name"].as_str(), parts[index]["largest_free_bytes"].as_u64());
    assert_eq!((part(0), part(1)), ((Some("host:0"), Some(3 << 20)), (Some("spare"), Some(1 << 20))));

    let output = plimsoll("devices --split 3MiB,2MiB --memory 8MiB");
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("host:1")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words.join(" "), "host:1 host 8.00 MiB 2.00 MiB 0 B 0 B 2.00 MiB 0 %");
    for piece in
        ["largest free block", "fragmentation", "available", "cgroup", "automatic limit", "unassigned"]
    {
        assert!(text.contains(piece), "no `{piece}` in\n{text}");
    }
}

#[test]
fn devices_that_cannot_be_are_refused_with_figures() {
    fails(
        "devices --memory 4MiB --split 3MiB,2MiB",
        2,
        &[
            "host:1 cannot have 2.00 MiB: of the 4.00 MiB of host, 3.00 MiB are assigned",
            "host:0",
            "1.00 MiB are left",
        ],
    );
    fails("devices --split 1MiB,8000TiB", 2, &["host:1 cannot have", "hint:"]);
    fails("devices --memory 8000TiB", 2, &["host cannot have", "are left"]);
    fails("devices --split 1MiB,0", 2, &["host:1 cannot have a limit of 0 bytes"]);
    fails("devices --memory 0", 2, &["host cannot have a limit of 0 bytes"]);
    fails("devices --split a=1MiB,a=2MiB", 2, &["two devices called `a`"]);
    fails("devices --split 1MiB,host:0=2MiB,host:0=1MiB", 2, &["two devices called `host:0`"]);
    fails("devices --split 1MiB,2bananas", 2, &["`bananas` is no unit of memory"]);
    fails("devices --split 1MiB,,2MiB", 2, &["does not begin with a number"]);
    fails("devices --split =1MiB", 2, &["a name is missing"]);
    fails("train cnn --device gpu", 2, &["there is no device `gpu`", "hint: the devices are host"]);
    fails("train cnn --memory 8000TiB", 2, &["host cannot have", "are left"]);
    fails("train cnn --memory 0", 2, &["limit of 0 bytes"]);
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_budget_the_automatic_limit_holds() {
    let output = plimsoll("train mlp --data digits --steps 1 --device host");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("(automatic limit)"), "{stderr}");
    fails(
        "train resnet20@32 --data synthetic --batch 10000000 --threads 1",
        1,
        &["needs", "the budget of", "hint:"],
    );
    fails("train mlp@64 --data synthetic --batch 20000000000", 2, &["a number up to 16777216"]);
}

#[test]
fn the_zoo_lists_what_can_be_named() {
    let models = json("zoo");
    let names: Vec<&str> =
        models["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    for name in ["mlp", "cnn", "lenet", "resnet20", "resnet50", "vgg16", "mobilenet_v2", "mobilenet_v3_large"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    for name in ["efficientnet_b0", "densenet121", "unet", "lstm", "bilstm", "transformer"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(String::from_utf8(plimsoll("zoo").stdout).unwrap().contains("23,608,202"));
}

#[test]
fn unknown_words_are_answered_with_known_ones() {
    fails("inspect resnet51", 2, &["there is no model `resnet51`", "resnet50"]);
    fails("inspect resnet50@224,colour=3", 2, &["no option `colour`", "classes"]);
    fails("inspect cnn --optimizer adma", 2, &["no optimizer `adma`", "adam"]);
    fails("inspect cnn --loss least", 2, &["no loss `least`"]);
    fails("train cnn --data digit", 2, &["no data set `digit`", "hint:", "digits"]);
}

/// What failed is one JSON object on stdout, whatever the command; stderr still has the words.
#[test]
fn failures_have_one_json_form() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("cnn.plan.json");
    let cases = [
        (format!("fit cnn@32 --batch 64 --memory 1MiB -o {}", plan.display()), 1, true),
        ("train cnn --data digits --memory 64KiB".to_string(), 1, true),
        ("inspect cnn@32 --memory 64KiB".to_string(), 1, true),
        ("inspect resnet51".to_string(), 2, false),
        ("devices --memory 0".to_string(), 2, false),
    ];
    for (arguments, code, over_budget) in cases {
        let output = plimsoll(&format!("{arguments} --json"));
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        let failure: Value = serde_json::from_slice(&output.stdout).expect("stdout is one JSON object");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&format!("error: {}", failure["error"].as_str().unwrap())), "{stderr}");
        assert!(stderr.contains(&format!("hint: {}", failure["hint"].as_str().unwrap())), "{stderr}");
        assert_eq!(failure["evidence"]["refused_by"]["budget"].is_object(), over_budget, "{failure:#}");
        assert!(!failure["remedy"].is_null(), "{failure:#}");
    }
    assert!(!plan.exists());
}

#[test]
fn impossible_requests_are_refused_with_the_reason() {
    fails("inspect resnet50@0", 2, &["size"]);
    fails("inspect cnn --batch 0", 2, &["at least one sample"]);
    fails("inspect cnn@60000 --batch 16000000", 2, &["more elements than any device can hold"]);
    fails("inspect cnn --batch many", 2, &["many"]);
    fails("train cnn --memory 8bananas", 2, &["`bananas` is no unit of memory", "512MiB"]);
    fails("train cnn --epochs 0", 2, &["0 epochs"]);
    fails("train cnn --learning-rate -1", 2, &["no learning rate"]);
    fails("train cnn --threads 0", 2, &["threads"]);
    fails("inspect", 2, &["MODEL"]);
}

#[test]
fn data_that_does_not_fit_the_model_is_refused() {
    fails(
        "train cnn@32 --data digits",
        2,
        &["input `x` of f32[32,32,3]", "f32[8,8,1]", "hint:", "cnn@8,channels=1"],
    );
    fails("train cnn@8,channels=1,classes=4 --data digits", 2, &["10 classes", "predicts 4"]);
    fails("train lstm --data digits", 2, &["input `x` of i32[64]"]);
}

#[test]
fn a_budget_below_the_floor_says_what_is_live_and_what_helps() {
    fails("train mlp --data digits --memory 100KiB", 1, &["the floor", "live at the floor", "hint:"]);
    fails(
        "train resnet20@8,channels=1 --data synthetic --batch 512 --memory 6MiB",
        1,
        &["the budget of 6.00 MiB", "live at the floor", "these fit: --batch"],
    );
}

#[test]
fn without_growth_the_device_takes_its_limit_at_once() {
    let outcome = json("train cnn --data digits --steps 2 --memory 64MiB --growth off");
    assert_eq!(outcome["planned_peak_bytes"], outcome["measured_peak_bytes"]);
    assert!(outcome["peak_rss_bytes"].as_u64().unwrap() > 64 << 20);
}

#[test]
fn training_on_a_part_of_the_host() {
    let outcome = json("train cnn --data digits --steps 3 --split 1GiB,4MiB --device host:1");
    assert_eq!(outcome["planned_peak_bytes"], outcome["measured_peak_bytes"]);
    fails(
        "train cnn --data digits --steps 3 --split 1GiB,1MiB --device host:1",
        1,
        &["the budget of 1.00 MiB"],
    );
    fails("train cnn --data digits --split 1GiB,1MiB --device host:7", 2, &["`host:7`", "host:0, host:1"]);
    fails("train cnn --data digits --split 1GiB,bananas", 2, &["bananas"]);
}

#[test]
fn a_loss_that_explodes_stops_the_run_and_names_the_first_bad_value() {
    for mode in ["graph", "eager"] {
        fails(
            &format!("train mlp --data digits --optimizer sgd --learning-rate 1e38 --mode {mode}"),
            1,
            &["step ", "not finite", "hint:"],
        );
    }
}

const TENSORFLOW: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/data/mlp_4096_0_512_adam.txt.gz");

#[test]
fn replaying_compares_allocators() {
    let report =
        json(&format!("replay {TENSORFLOW} --allocator bfc,torch,torch-expandable,best-fit,bump,planned"));
    let floor = report["floor_bytes"].as_u64().unwrap();
    assert_eq!(report["events"], 1096 + 1040);
    let rows = report["allocators"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["allocator"].as_str().unwrap()).collect();
    assert_eq!(names, ["bfc", "torch", "torch-expandable", "best-fit", "bump", "planned"]);
    for row in rows {
        let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("no {key} in {row:#}"));
        assert!(
            floor <= number("peak_in_use_bytes")
                && number("peak_in_use_bytes") <= number("peak_reserved_bytes")
        );
        assert!(floor <= number("smallest_limit_bytes") && row["out_of_memory"].is_null(), "{row:#}");
        assert!((0.0..=1.0).contains(&row["worst_fragmentation"].as_f64().unwrap()));
    }
    // What TensorFlow itself reported as its peak, and what its regions had, for the same three steps.
    assert_eq!(rows[0]["peak_in_use_bytes"], 484_051_200);
    assert_eq!(rows[0]["peak_reserved_bytes"], 538_968_064);
}

#[test]
fn replaying_shows_what_was_recorded_and_takes_settings_of_pytorch() {
    let report = json(&format!("replay {TENSORFLOW} --allocator bfc,torch"));
    // A log from the very start: TensorFlow's allocator is reproduced to the byte.
    assert_eq!(report["as_recorded"]["peak_in_use_bytes"], report["allocators"][0]["peak_in_use_bytes"]);
    assert_eq!(report["as_recorded"]["peak_reserved_bytes"], report["allocators"][0]["peak_reserved_bytes"]);
    assert_eq!(report["as_recorded"]["blocks_before"], 0);
    let shown = plimsoll(&format!("replay {TENSORFLOW} --allocator bfc"));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("as recorded"));
    let rounded =
        json(&format!("replay {TENSORFLOW} --allocator torch --torch-conf roundup_power2_divisions:1"));
    let coarse =
        json(&format!("replay {TENSORFLOW} --allocator torch --torch-conf roundup_power2_divisions:2"));
    let peak = |report: &Value| report["allocators"][0]["peak_in_use_bytes"].as_u64().unwrap();
    assert!(peak(&coarse) > peak(&rounded) && peak(&rounded) == report["allocators"][1]["peak_in_use_bytes"]);
    for (settings, expected) in [
        ("max_split:9", "`max_split` is not among the settings"),
        ("backend:cudaMallocAsync", "not simulated"),
        ("max_split_size_mb:1", "above 20"),
    ] {
        fails(&format!("replay {TENSORFLOW} --torch-conf {settings}"), 2, &[expected, "hint:"]);
    }
    let eager = "train cnn --data digits --steps 1 --memory 64MiB";
    assert!(
        plimsoll(&format!("{eager} --mode eager --allocator torch --torch-conf max_split_size_mb:32"))
            .status
            .success()
    );
    fails(&format!("{eager} --torch-conf max_split_size_mb:32"), 2, &["--torch-conf", "--mode eager"]);
    fails(&format!("{eager} --mode eager --torch-conf max_split_size_mb:32"), 2, &["only torch does"]);
    fails(&format!("{eager} --mode eager --allocator torch-expandable"), 2, &["reserved addresses"]);
}

#[test]
fn replaying_within_a_limit_says_where_it_ends() {
    let arguments = format!("replay {TENSORFLOW} --allocator bfc,planned --limit 440MiB");
    let output = plimsoll(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("at event") && text.contains("64.0 MiB for "), "{text}");
    let output = plimsoll(&format!("{arguments} --growth off --json"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["allocators"][0]["peak_reserved_bytes"], 440 << 20, "the whole limit at once");
    assert_eq!(plimsoll(&format!("replay {TENSORFLOW} --limit 0")).status.code(), Some(1));
}

#[test]
fn replaying_bad_traces_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let whole = std::fs::read(TENSORFLOW).unwrap();
    let cut = file("cut.gz", &whole[..whole.len() / 2]);
    fails(
        &format!("replay {cut}"),
        2,
        &["cut.gz: line ", "the input ends or breaks here", "hint: a trace is"],
    );
    let twice = file("twice", b"# bfctrace v1\nA 1000 1 256 0 a b 1\nF 1000 0\nF 1000 0\n");
    fails(&format!("replay {twice}"), 2, &["line 4: a second free of 1000"]);
    let ours = file("ours", b"trace 1\n0 free 7\n");
    fails(&format!("replay {ours}"), 2, &["line 2: block 7 is freed, which is not live"]);
    let other = file("other", b"hello\n");
    fails(&format!("replay {other}"), 2, &["it is no trace: its first line is `hello`", "hint:"]);
    fails("replay no-such-file", 2, &["cannot open no-such-file"]);
    fails(
        &format!("replay {ours} --allocator bfc,bcf"),
        2,
        &["there is no allocator `bcf`", "torch-expandable"],
    );
    fails(&format!("replay {ours} --limit 8bananas"), 2, &["`bananas` is no unit of memory"]);
    fails(&format!("replay {ours} --growth maybe"), 2, &["maybe"]);
}

#[test]
fn replaying_reads_standard_input_and_our_own_traces() {
    let text = "trace 1\nlabel \"w\" \"parameter\" \"\" \"\"\n0 take 3 at 0 bytes 5000 label 0\n1 take 4 at 5000 bytes 0 label 0\n2 free 3\n";
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["replay", "-", "--json", "--limit", "4KiB", "--allocator", "best-fit"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let shortage = &report["allocators"][0]["out_of_memory"];
    assert_eq!(
        (&shortage["event"], &shortage["op"], &shortage["requested_bytes"]),
        (&0.into(), &"w".into(), &5000.into())
    );
    assert_eq!(report["allocators"][0]["smallest_limit_bytes"], 8192);
}

#[test]
fn a_layout_problem_is_placed_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("problem.csv");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    let command = format!("place {}", path.display());
    write("id,lower,upper,size\na,0,2,1024\nb,1,3,2048\nc,2,3,1024\n");
    let answer = json(&command);
    assert_eq!((&answer["peak_bytes"], &answer["floor_bytes"]), (&Value::from(3072), &Value::from(3072)));
    assert_eq!((&answer["fits"], &answer["nodes"]), (&Value::from(true), &Value::from(0)));
    assert_eq!(answer["offsets"]["a"], answer["offsets"]["c"]);
    let offsets = plimsoll(&format!("{command} --offsets"));
    assert!(String::from_utf8_lossy(&offsets.stdout).starts_with("id,lower,upper,size,offset\na,0,2,1024,"));
    for (capacity, code, verdict) in
        [("3KiB", 0, "\nfits 3.00 KiB"), ("2KiB", 1, "\ndoes not fit 2.00 KiB: the floor")]
    {
        let output = plimsoll(&format!("{command} --capacity {capacity}"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(
            text.contains(verdict) && text.contains("fragmentation") && text.contains("       0 B +---"),
            "{text}"
        );
    }
    write("id,lower,upper,size\na,0,2,1024\nb,3,3,2048\n");
    fails(&command, 2, &["problem.csv, line 3", "upper must be above lower", "hint:"]);
    write("");
    fails(&command, 2, &["line 1", "empty"]);
    fails("place nowhere.csv", 2, &["cannot read nowhere.csv"]);
}

#[test]
fn a_layout_problem_is_placed_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("problem.csv");
    std::fs::write(&path, "id,lower,upper,size\na,0,2,1000\nb,1,3,2000\nc,2,3,1000\n").unwrap();
    let command = format!("place {}", path.display());
    let answer = json(&format!("{command} --page-size 2KiB --alignment 256"));
    assert_eq!(answer["fewest_pages"], 2);
    assert_eq!(answer["total_bytes"], 3000);
    assert_eq!(answer["pages"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["offsets"]["a"], answer["offsets"]["c"]);
    assert_ne!(answer["offsets"]["a"]["page"], answer["offsets"]["b"]["page"]);
    let text = plimsoll(&format!("{command} --page-size 4KiB --alignment 256"));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("in 1 page of 4.00 KiB") && text.contains("of the page"), "{text}");
    let offsets = plimsoll(&format!("{command} --page-size 4KiB --alignment 256 --offsets"));
    let rows = String::from_utf8_lossy(&offsets.stdout).into_owned();
    assert!(rows.starts_with("id,lower,upper,size,page,offset\na,0,2,1000,0,"), "{rows}");
    for row in rows.lines().skip(1) {
        let offset: u64 = row.rsplit(',').next().unwrap().parse().unwrap();
        assert_eq!(offset % 256, 0, "{row}");
    }
    fails(&format!("{command} --page-size 1KiB"), 1, &["buffer `b`", "a page of 1.00 KiB", "hint:"]);
    fails(&format!("{command} --page-size 4KiB --alignment 3"), 2, &["power of two"]);
    fails(&format!("{command} --alignment 256"), 2, &["--page-size"]);
    fails(&format!("{command} --page-size 4KiB --capacity 4KiB"), 2, &["cannot be used with"]);
}

#[test]
fn calibrating_asks_for_a_place_before_it_measures() {
    let calibrate = |home: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["calibrate", "--threads", "1"]).env("XDG_CACHE_HOME", home).output().unwrap()
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let refused = calibrate(file.path().to_str().unwrap());
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("cannot write to") && told.contains("hint: XDG_CACHE_HOME"), "{told}");
    assert!(!told.contains("measuring"), "{told}");
}

#[test]
fn tensorflow_is_predicted() {
    let predicted = |more: &str| json(&format!("inspect cnn --batch 64 --as tensorflow {more}"));
    let bytes =
        |report: &Value, key: &str| report[key].as_u64().unwrap_or_else(|| panic!("no {key} in {report:#}"));
    let plain = predicted("");
    let live = bytes(&plain, "live_peak_bytes");
    let roles: u64 =
        plain["by_role"].as_object().unwrap().values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(roles, live);
    assert!(live <= bytes(&plain, "reported_peak_bytes"));
    assert!(live <= bytes(&plain, "smallest_limit_bytes"));
    assert_eq!(plain["plimsoll_peak_bytes"], json("inspect cnn --batch 64")["peak_bytes"]);
    assert!(bytes(&predicted("--mode eager"), "live_peak_bytes") > live);
    assert!(bytes(&predicted("--precision mixed_bfloat16"), "live_peak_bytes") < live);
    assert!(bytes(&predicted("--optimizer sgd"), "live_peak_bytes") < live);
    let gpu = predicted("--device gpu");
    assert!(bytes(&gpu, "live_peak_bytes") < live, "no scratch of the CPU's convolutions");
    assert!(gpu["allowances_not_measured"]["CUDA context"].as_u64().unwrap() > 0);
    assert!(bytes(&predicted("--growth off"), "smallest_limit_bytes") >= live);
    assert!(
        bytes(&predicted("--accumulate 4"), "live_peak_bytes") > live,
        "accumulators are held beside the weights"
    );
}

#[test]
fn the_text_of_a_prediction_says_what_was_not_measured() {
    let output = plimsoll("inspect mlp --batch 8 --as tensorflow --device gpu --mode keras");
    let text = String::from_utf8_lossy(&output.stdout);
    for piece in [
        "keras mode",
        "live peak",
        "reported peak",
        "smallest limit",
        "CUDA context",
        "not measured here",
        "Plimsoll",
    ] {
        assert!(text.contains(piece), "no `{piece}` in\n{text}");
    }
    let tight = plimsoll("inspect mlp --batch 8 --as tensorflow --memory 1MiB");
    assert_eq!(tight.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&tight.stdout).contains("does not fit 1.00 MiB"));
}

#[test]
fn options_of_another_framework_need_one() {
    for option in
        ["--mode eager", "--precision mixed_float16", "--accumulate 2", "--growth on", "--device gpu"]
    {
        let name = option.split(' ').next().unwrap();
        fails(&format!("inspect cnn {option}"), 2, &[name, "hint:", "--as tensorflow"]);
    }
    fails("inspect cnn --as tensorflow --threads 2", 2, &["--threads", "hint:"]);
    fails("inspect cnn --as tensorflow --mode lazy", 2, &["no mode `lazy`", "graph, eager, keras"]);
    fails("inspect cnn --as tensorflow --precision half", 2, &["no precision `half`", "mixed_float16"]);
    fails("inspect cnn --as pytorch", 2, &["pytorch", "tensorflow"]);
}

#[test]
fn a_recipe_for_tensorflow_is_written_as_a_script_and_not_run_here() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, script) = (folder.path().join("mlp.plan.json"), folder.path().join("train.py"));
    let (plan, script) = (plan.display(), script.display());
    let found = json(&format!("fit transformer@32 --batch 16 --memory 300MiB --as tensorflow -o {plan}"));
    assert_eq!((&found["fits"], &found["found"]["accumulate"]), (&true.into(), &1.into()));
    assert!(found["found"]["needed_bytes"].as_u64() <= found["budget_bytes"].as_u64());
    assert!(plimsoll(&format!("export {plan} --to tensorflow -o {script}")).status.success());
    let text = std::fs::read_to_string(script.to_string()).unwrap();
    assert!(text.contains("LIMIT_MIB = 300") && text.contains("L.MultiHeadAttention(8, 32)"), "{text}");
    fails(&format!("train --plan {plan}"), 2, &["a plan for TensorFlow", "--to tensorflow"]);
}

#[test]
fn a_plan_of_our_own_is_translated_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("cnn.plan.json").display().to_string();
    json(&format!("fit cnn@32 --batch 64 --memory 200MiB -o {plan}"));
    let output = plimsoll(&format!("export {plan} --to tensorflow -o -"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("LIMIT_MIB = 200") && text.contains("dataset.batch(64"), "{text}");
    json(&format!("fit resnet20@32 --batch 64 --memory 60MiB -o {plan}"));
    fails(&format!("export {plan} --to tensorflow -o -"), 1, &["no way", "--allow accumulate,precision"]);
}

#[test]
fn inspect_and_fit_agree_on_what_tensorflow_needs() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json").display().to_string();
    for options in ["", "--device gpu", "--accumulate 4", "--mode eager"] {
        let inspected = json(&format!("inspect cnn@32 --batch 30 --as tensorflow {options}"));
        let fitted =
            json(&format!("fit cnn@32 --batch 30 --memory 8GiB --as tensorflow -o {plan} {options}"));
        assert_eq!(inspected["needed_bytes"], fitted["trials"][0]["needed_bytes"], "{options}");
        let needed = inspected["needed_bytes"].as_u64().unwrap();
        for (memory, fits) in [(needed, true), (needed - 1, false)] {
            let step = format!("cnn@32 --batch 30 --memory {memory} --as tensorflow {options}");
            let report: Value =
                serde_json::from_slice(&plimsoll(&format!("inspect {step} --json")).stdout).unwrap();
            assert_eq!(report["fits"], fits, "inspect {step}");
            let report: Value =
                serde_json::from_slice(&plimsoll(&format!("fit {step} -o {plan} --json")).stdout).unwrap();
            assert_eq!(report["trials"][0]["fits"], fits, "fit {step}");
        }
    }
    let largest = json(&format!("fit cnn@32 --maximize batch --memory 40MiB --as tensorflow -o {plan}"));
    let batch = largest["found"]["batch"].as_u64().unwrap();
    assert!(batch > 1 && !batch.is_power_of_two(), "{largest:#}");
    let refused = plimsoll(&format!("fit resnet20@32 --batch 64 --memory 30MiB --as tensorflow -o {plan}"));
    let shown = String::from_utf8_lossy(&refused.stdout);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        shown.contains("the nearest is as written:") && shown.contains("--allow accumulate: "),
        "{shown}"
    );
}

#[test]
fn what_tensorflow_cannot_be_told_is_refused() {
    let step = "fit cnn@32 --batch 30 --memory 64MiB --as tensorflow";
    let most = "fit cnn@32 --maximize batch --memory 64MiB --as tensorflow";
    fails(&format!("{most} --slowdown 10"), 2, &["--slowdown", "hint:"]);
    fails(&format!("{step} --micro-batches 2"), 2, &["--accumulate"]);
    fails("fit cnn@32 --batch 30 --memory 64MiB --growth on", 2, &["--as tensorflow"]);
    fails("fit cnn@32 --batch 30 --memory 64MiB --allow precision", 2, &["float32"]);
}
