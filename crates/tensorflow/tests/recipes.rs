//! Recipes for TensorFlow: the search takes the fewest changes, and scripts say what was found.

use plimsoll_model::layer::{BatchNormalization, Dense, Flatten, Merge};
use plimsoll_model::{Builder, Model, zoo};
use plimsoll_tensorflow::{
    Device, Mode, Precision, Recipe, RecipeFile, Search, Setup, largest_batch, predict, script, search,
};
use plimsoll_trace::Bytes;
use plimsoll_train::lever::Home;
use plimsoll_train::{Allowed, Change, Lever, Loss};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn what_fits_as_written_is_left_alone() {
    let found = searched("mlp@64", written(32), Bytes::mib(64), Allowed::EXACT);
    assert_eq!((found.found, found.trials.len()), (Some(0), 1));
    assert!(found.trials[0].changes.is_empty() && found.advice.is_empty());
}

#[test]
fn micro_batches_come_before_changes_of_numbers() {
    let all: Allowed = Lever::ALL.into_iter().collect();
    let whole = needed("transformer@128", written(32));
    let found = searched("transformer@128", written(32), Bytes(whole.0 * 3 / 4), all);
    let (trial, needs) = found.recipe().expect("a part of the batch fits");
    let recipe = trial.recipe;
    assert!(recipe.setup.accumulate > 1 && recipe.batch == 32);
    assert_eq!(
        (recipe.setup.precision, recipe.setup.optimizer),
        (Precision::Float32, written(32).setup.optimizer)
    );
    assert!(needs.total() <= Bytes(whole.0 * 3 / 4) && needs.limit >= needs.live);
    // The fewest parts: what was tried before did not fit.
    assert!(found.trials[..found.trials.len() - 1].iter().all(|trial| !trial.fits(Bytes(whole.0 * 3 / 4))));
}

#[test]
fn batch_statistics_need_permission() {
    let whole = needed("resnet20@32", written(64));
    let budget = Bytes(whole.0 / 2);
    let refused = searched("resnet20@32", written(64), budget, Allowed::EXACT);
    assert_eq!((refused.found, refused.trials.len()), (None, 1));
    assert!(
        refused.advice.iter().any(|advice| advice.lever == Lever::Accumulate && advice.trial.fits(budget))
    );
    let allowed = searched("resnet20@32", written(64), budget, Allowed::EXACT.and(Lever::Accumulate));
    assert!(allowed.recipe().is_some());
}

#[test]
fn every_lever_of_tensorflow_is_reached_and_no_other() {
    let setup = Setup { mode: Mode::Eager, device: Device::Gpu, ..Setup::default() };
    let loose = Recipe { setup, growth: true, ..written(6) };
    let all: Allowed = Lever::ALL.into_iter().collect();
    let found = searched("mlp@64", loose, Bytes(1), all);
    assert!(found.found.is_none() && found.advice.is_empty());
    for lever in Lever::ALL {
        let reached = found.trials.iter().flat_map(|trial| &trial.changes).any(|one| one.lever() == lever);
        assert_eq!(reached, lever.is_of(Home::TensorFlow), "{lever}");
        let without = searched("mlp@64", loose, Bytes(1), all.without(lever));
        assert!(without.trials.iter().flat_map(|trial| &trial.changes).all(|one| one.lever() != lever));
    }
    assert!(found.trials.iter().all(|trial| trial.recipe.is_even()));
    let advised = searched("resnet20@8", loose, Bytes(1), Allowed::EXACT).advice;
    let advised: Vec<Lever> = advised.iter().map(|advice| advice.lever).collect();
    assert_eq!(advised, Lever::to_be_allowed().collect::<Vec<_>>());
}

/// The largest batch that fits when every one is tried.
fn largest_of_all(name: &str, below: usize, budget: Bytes) -> usize {
    (1..below).rev().find(|&batch| needed(name, written(batch)) <= budget).expect("one sample fits")
}

#[test]
fn every_batch_is_a_candidate() {
    let only_batches = Allowed::EXACT.and(Lever::Batch).without(Lever::Accumulate);
    for (name, batch) in [("mlp@64", 60), ("cnn@32", 40), ("resnet20@32", 20)] {
        let [one, all] = [1, batch].map(|batch| needed(name, written(batch)).0);
        for percent in [10, 50, 85] {
            let budget = Bytes(one + (all - one) * percent / 100);
            let largest = largest_of_all(name, batch, budget);
            let found = searched(name, written(batch), budget, only_batches);
            let (trial, _) = found.recipe().expect("a smaller batch fits");
            assert_eq!(
                (trial.recipe.batch, &trial.changes[..]),
                (largest, &[Change::Batch(largest)][..]),
                "{name} {percent}"
            );
            let most = largest_batch(&model(name), &written(1), budget).unwrap();
            assert_eq!(most.recipe().unwrap().0.recipe.batch, largest, "{name} {percent}");
        }
    }
    let none = largest_batch(&model("cnn@32"), &written(1), Bytes(1)).unwrap();
    assert!(none.recipe().is_none() && none.trials.len() == 1);
}

#[test]
fn a_refusal_shows_what_is_nearest() {
    let budget = Bytes(needed("resnet20@32", written(64)).0 * 3 / 4);
    let refused = searched("resnet20@32", written(64), budget, Allowed::EXACT);
    for advice in &refused.advice {
        let trial = &advice.trial;
        match advice.lever {
            // Two halves are enough, 64 single samples would be, too.
            Lever::Accumulate => assert_eq!(trial.recipe.setup.accumulate, 2),
            Lever::Batch => assert_eq!(trial.recipe.batch, largest_of_all("resnet20@32", 64, budget)),
            _ => {}
        }
    }
    let least =
        refused.trials.iter().filter_map(|trial| trial.needs.as_ref()).map(|needs| needs.total()).min();
    assert_eq!(refused.nearest().needs.as_ref().map(|needs| needs.total()), least);
}

#[test]
fn eager_steps_become_a_graph_first() {
    let eager = Recipe { setup: Setup { mode: Mode::Eager, ..Setup::default() }, ..written(64) };
    let (loose, tight) = (needed("cnn@32", eager), needed("cnn@32", written(64)));
    assert!(tight < loose);
    let found = searched("cnn@32", eager, tight, Allowed::EXACT);
    let (trial, _) = found.recipe().unwrap();
    assert_eq!((trial.recipe.setup.mode, &trial.changes[..]), (Mode::Graph, &[Change::Graph][..]));
}

#[test]
fn recipes_come_back_from_disk_or_are_refused() {
    let file = file("mlp@64", written(32));
    let json = serde_json::to_vec(&file).unwrap();
    assert!(RecipeFile::is_one(&json));
    assert_eq!(RecipeFile::parse(&json).unwrap(), file);
    assert!(!RecipeFile::is_one(b"{\"format\": 1}") && !RecipeFile::is_one(b"nonsense"));
    let mut uneven = file.clone();
    uneven.recipe.setup.accumulate = 5;
    let error = RecipeFile::parse(&serde_json::to_vec(&uneven).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "a batch of 32 cannot be cut into 5 equal parts");
    let newer = RecipeFile { format: 99, ..file };
    assert!(RecipeFile::parse(&serde_json::to_vec(&newer).unwrap()).is_err());
}

#[test]
fn scripts_apply_what_was_found() {
    let mut recipe = written(32);
    recipe.setup.accumulate = 4;
    let text = written_script("transformer@32", recipe);
    for line in [
        "LIMIT_MIB = 1024",
        "os.environ[\"TF_CPU_BFC_MEM_LIMIT_IN_MB\"] = str(LIMIT_MIB)",
        "gradient_accumulation_steps=4)",
        "dataset = dataset.batch(8, drop_remainder=True)",
        "return dataset.prefetch(1) if part == \"training\" else dataset",
        "def make_model():\n",
        "def samples(part):\n",
        "def train(model, dataset, steps):\n",
        "if __name__ == \"__main__\":\n",
        "L.MultiHeadAttention(8, 32)(",
        "@tf.function(jit_compile=False)",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    let last = text.rfind("os.environ[").unwrap();
    assert!(last < text.find("import keras").unwrap(), "the limit comes too late");
}

#[test]
fn scripts_for_a_gpu_limit_the_card() {
    let setup = Setup { device: Device::Gpu, precision: Precision::MixedFloat16, ..Setup::default() };
    let text = written_script("resnet50@64", Recipe { setup, growth: false, ..written(8) });
    // The budget without what lies beside the pool: 450 MiB of context and 64 MiB of workspace.
    assert!(text.contains("LIMIT_MIB = 510"), "{text}");
    assert!(text.contains("memory_limit=LIMIT_MIB") && !text.contains("TF_CPU"));
    assert!(
        text.contains("set_global_policy(\"mixed_float16\")") && text.contains("optimizer.scale_loss(loss)")
    );
    assert!(text.contains("keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)"));
    let growing = written_script("resnet50@64", Recipe { setup, growth: true, ..written(8) });
    assert!(growing.contains("set_memory_growth(gpu, True)") && !growing.contains("memory_limit="));
}

#[test]
fn targets_of_scripts_are_what_the_loss_takes() {
    for (loss, target) in [
        ("sparse_categorical_crossentropy", "random.integers(10, size=(), dtype=\"int32\")"),
        ("categorical_crossentropy", "random.dirichlet(np.ones(10), size=())"),
        ("mse", "random.random((10,), dtype=\"float32\")"),
    ] {
        let setup = Setup { loss: Loss::parse(loss).unwrap(), ..Setup::default() };
        let text = written_script("mlp@64", Recipe { setup, ..written(8) });
        assert!(text.contains(target), "{loss}: {text}");
    }
}

/// Inputs by their names, targets as the outputs stand, a loss and metrics for each.
#[test]
fn scripts_have_all_inputs_and_outputs() {
    let mut net = Builder::new("pairs");
    let [left, right] = [net.input([8, 8, 3]), net.input([8, 8, 3])];
    let sum = net.push(Merge::Add, &[left, right]);
    let flat = net.push(Flatten {}, &[sum]);
    let heads = [10, 3].map(|classes| net.push(Dense::new(classes).softmax(), &[flat]));
    let mut model = net.build(heads[0]);
    model.set_outputs([("kind", heads[0]), ("colour", heads[1])]);
    for mode in [Mode::Keras, Mode::Graph] {
        let recipe = Recipe { setup: Setup { mode, ..Setup::default() }, ..written(8) };
        let needs = recipe.needs(&model).unwrap().unwrap();
        let file = RecipeFile::new("pairs.keras", Bytes::mib(64), recipe, needs);
        let text = script(&file, &model).unwrap();
        reads_as_python("pairs", &text);
        let name = &model.inputs[1].name;
        for line in [
            format!("\"{name}\": random.standard_normal((8, 8, 3), dtype=\"float32\"),\n"),
            format!("\"{name}\": tf.TensorSpec((8, 8, 3), tf.float32),\n"),
            "\"colour\": random.integers(3, size=(), dtype=\"int32\"),\n".to_string(),
            "for name in [\"kind\", \"colour\"]".to_string(),
            "A sample has 1536 bytes of inputs and 8 of targets.".to_string(),
            "batches(model, \"training\")".to_string(),
        ] {
            assert!(text.contains(&line), "{line} is missing in\n{text}");
        }
        let losses = "loss=[keras.losses.SparseCategoricalCrossentropy(), keras.losses.SparseCategoricalCrossentropy()], \
                      metrics=[[\"accuracy\"], [\"accuracy\"]]";
        assert_eq!(text.contains(losses), mode == Mode::Keras, "{text}");
    }
}

#[test]
fn fitting_scripts_have_metrics_validation_and_a_file_at_the_end() {
    let setup = Setup { mode: Mode::Keras, ..Setup::default() };
    let text = written_script("cnn@32", Recipe { setup, ..written(8) });
    for line in [
        "metrics=[\"accuracy\"]",
        "validation_data=batches(\"validation\")",
        "callbacks=[keras.callbacks.TerminateOnNaN()]",
        "return model.fit(dataset, steps_per_epoch=steps, **more)",
        "model.save(os.environ.get(\"SAVE\", os.path.join(HERE, \"trained.keras\")))",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    let images = written_script("unet@32", Recipe { setup, ..written(8) });
    assert!(!images.contains("metrics="), "metrics would hold the predictions of every pixel");
}

/// Names a model that Keras loads from its file.
#[test]
fn scripts_load_files() {
    let model = zoo::find("mlp@64").unwrap();
    for (path, line) in [
        (
            "models/my.keras",
            "model = keras.models.load_model(os.path.join(HERE, \"models/my.keras\"), compile=False)",
        ),
        ("my.h5@32", "model = keras.models.load_model(os.path.join(HERE, \"my.h5\"), compile=False)"),
        ("my.json", "model = keras.models.model_from_json(text.read())"),
    ] {
        let file = RecipeFile { model: path.to_string(), ..file("mlp@64", written(32)) };
        assert!(script(&file, &model).unwrap().contains(line));
    }
}

/// Python reads what was written; that TensorFlow runs it is shown by `bench/peers/exported`.
#[test]
fn scripts_of_the_zoo_are_python() {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI needs python3 for this test");
        eprintln!("skipped: there is no python3 to read the scripts");
        return;
    }
    let models = [
        "mlp",
        "cnn",
        "lenet",
        "resnet20",
        "resnet50@64",
        "vgg16@32",
        "densenet121@32",
        "unet@32",
        "lstm@8",
        "bilstm@8",
        "transformer@8",
    ];
    for name in models {
        for mode in [Mode::Graph, Mode::Keras] {
            let recipe = Recipe { setup: Setup { mode, ..Setup::default() }, ..written(2) };
            reads_as_python(name, &written_script(name, recipe));
        }
    }
}

fn reads_as_python(name: &str, text: &str) {
    let mut python = Command::new("python3")
        .args(["-c", "import ast, sys; ast.parse(sys.stdin.read())"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success(), "{name}:\n{text}");
}

fn written(batch: usize) -> Recipe {
    Recipe { batch, setup: Setup::default(), growth: true }
}

fn model(name: &str) -> Model {
    zoo::find(name).unwrap()
}

fn searched(name: &str, recipe: Recipe, budget: Bytes, allowed: Allowed) -> Search {
    search(&model(name), &recipe, budget, allowed).unwrap()
}

fn needed(name: &str, recipe: Recipe) -> Bytes {
    recipe.needs(&model(name)).unwrap().unwrap().total()
}

fn file(name: &str, recipe: Recipe) -> RecipeFile {
    let needs = recipe.needs(&model(name)).unwrap().unwrap();
    RecipeFile::new(name, Bytes::mib(1024), recipe, needs)
}

fn written_script(name: &str, recipe: Recipe) -> String {
    script(&file(name, recipe), &model(name)).unwrap()
}

#[test]
fn a_normalization_that_is_called_twice_is_predicted() {
    let mut net = Builder::new("twice");
    let [a, b] = [net.input([8, 8, 4]), net.input([8, 8, 4])];
    let shared = |net: &mut Builder, x| net.add("norm", BatchNormalization::default(), &[x]);
    let (a, b) = (shared(&mut net, a), shared(&mut net, b));
    let sum = net.push(Merge::Add, &[a, b]);
    let flat = net.push(Flatten {}, &[sum]);
    let y = net.push(Dense::new(10).softmax(), &[flat]);
    let graph = net.build(y).lower(16, plimsoll_model::Mode::Training).unwrap();
    let image = 16 * 8 * 8 * 4 * 4;
    assert!(predict(&graph, &Setup::default()).live_peak().0 > 3 * image);
}

#[test]
fn scripts_take_what_files_were_compiled_with() {
    let model = zoo::find("mlp@64").unwrap();
    for mode in Mode::ALL {
        let setup = Setup { mode, accumulate: 4, ..Setup::default() };
        let recipe = Recipe { setup, ..written(32) };
        let compiled =
            RecipeFile { model: "my.keras".to_string(), as_compiled: true, ..file("mlp@64", recipe) };
        let text = script(&compiled, &model).unwrap();
        assert!(
            text.contains("load_model(os.path.join(HERE, \"my.keras\"))\n")
                && text.contains("get_compile_config()"),
            "{text}"
        );
        assert!(
            text.contains("[\"gradient_accumulation_steps\"] = 4") && !text.contains("learning_rate="),
            "{text}"
        );
        reads_as_python("my.keras", &text);
    }
}
