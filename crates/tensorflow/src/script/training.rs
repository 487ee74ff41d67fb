//! The part of a script that trains: `model.fit`, or a loop of its own where a step is asked for that Keras does not
//! make.

use super::data::Sample;
use super::{indented, loss, optimizer};
use crate::recipe::RecipeFile;
use crate::setup::Mode;
use plimsoll_train::{Loss, Precision};

/// The function that trains, and what the script does when it is started.
pub(super) fn code(file: &RecipeFile, sample: &Sample) -> String {
    let setup = &file.recipe.setup;
    let is_fit = setup.mode == Mode::Keras;
    let start = match (is_fit, file.as_compiled) {
        (true, true) => compiled(file),
        (false, true) => compiled_optimizer(file),
        (_, false) => optimizer(file),
    };
    let (more, body) = match is_fit {
        true => (", **more", fit(file, sample)),
        false => ("", custom_loop(file, sample)),
    };
    format!(
        "\ndef train(model, dataset, steps{more}):\n    \"\"\"Trains a model like the one above on batches of {}.\"\"\"\n{}\n{}\n\n\n{}",
        file.recipe.rows(),
        indented(&start),
        indented(&body),
        main(file, sample)
    )
}

/// Training is a call of `fit`, with everything that it takes.
fn fit(file: &RecipeFile, sample: &Sample) -> String {
    let compile = match file.as_compiled {
        true => String::new(),
        false => format!(
            "# Compiling with XLA would plan memory in another way than was predicted.\n\
             model.compile(optimizer=optimizer, loss={}{}, jit_compile=False)\n",
            losses(file, sample),
            metrics(file, sample)
        ),
    };
    format!(
        "{compile}# Callbacks, validation data and the like go in here; what they hold counts, too.\n\
         return model.fit(dataset, steps_per_epoch=steps, **more)"
    )
}

/// One loss for each output.
fn losses(file: &RecipeFile, sample: &Sample) -> String {
    let one = loss(file.recipe.setup.loss);
    match sample.has_several_targets() {
        true => format!("[{}]", vec![one; sample.targets()].join(", ")),
        false => one,
    }
}

/// Metrics keep the predictions of a step: they are left out where these are images or sequences.
fn metrics(file: &RecipeFile, sample: &Sample) -> String {
    let name = match file.recipe.setup.loss {
        Loss::CategoricalCrossEntropy { .. }
        | Loss::SparseCategoricalCrossEntropy { .. }
        | Loss::BinaryCrossEntropy { .. } => "[\"accuracy\"]",
        _ => "[\"mae\"]",
    };
    match (sample.has_small_targets(), sample.has_several_targets()) {
        (false, _) => String::new(),
        (true, false) => format!(", metrics={name}"),
        (true, true) => format!(", metrics=[{}]", vec![name; sample.targets()].join(", ")),
    }
}

fn main(file: &RecipeFile, sample: &Sample) -> String {
    let model = if sample.has_several_targets() { "model, " } else { "" };
    let (counts, more) = match file.recipe.setup.mode {
        Mode::Keras => (
            "    epochs = int(os.environ.get(\"EPOCHS\", \"1\"))\n",
            format!(
                "        epochs=epochs,\n        validation_data=batches({model}\"validation\"),\n        \
                 validation_steps=max(1, steps // 10),\n        callbacks=[keras.callbacks.TerminateOnNaN()],\n"
            ),
        ),
        Mode::Graph | Mode::Eager => ("", String::new()),
    };
    let trained = if file.recipe.setup.recompute == 0 { "model" } else { "in_parts(model)" };
    format!(
        "if __name__ == \"__main__\":\n    model = make_model()\n    steps = int(os.environ.get(\"STEPS\", \"100\"))\n{counts}    \
         train(\n        {trained},\n        batches({model}\"training\"),\n        steps,\n{more}    )\n    \
         model.save(os.environ.get(\"SAVE\", os.path.join(HERE, \"trained.keras\")))"
    )
}

/// Compiles a model again as its file says, but for what the recipe changes.
fn compiled(file: &RecipeFile) -> String {
    let accumulate = match file.recipe.setup.accumulate {
        0 | 1 => String::new(),
        parts => format!(
            "# {parts} steps of {} samples make one update of {}: activations of a part only, the mean gradient of all.\n\
             compiled[\"optimizer\"][\"config\"][\"gradient_accumulation_steps\"] = {parts}\n",
            file.recipe.rows(),
            file.recipe.batch
        ),
    };
    format!(
        "# As the file was compiled: its losses and metrics, its optimizer with learning rate, decay and schedule.\n\
         compiled = model.get_compile_config()\n{accumulate}\
         # Compiling with XLA would plan memory in another way than was predicted.\n\
         compiled[\"jit_compile\"] = False\n\
         model.compile_from_config(compiled)"
    )
}

/// The optimizer that a file was compiled with, for a loop of one's own.
fn compiled_optimizer(file: &RecipeFile) -> String {
    let accumulate = match file.recipe.setup.accumulate {
        0 | 1 => String::new(),
        parts => format!("settings[\"config\"][\"gradient_accumulation_steps\"] = {parts}\n"),
    };
    let scaled = match file.recipe.setup.precision {
        Precision::MixedFloat16 => "\noptimizer = keras.optimizers.LossScaleOptimizer(optimizer)",
        _ => "",
    };
    format!(
        "# As the file was compiled, with its learning rate, decay and schedule.\n\
         settings = model.get_compile_config()[\"optimizer\"]\n{accumulate}\
         optimizer = keras.optimizers.deserialize(settings){scaled}"
    )
}

fn custom_loop(file: &RecipeFile, sample: &Sample) -> String {
    let setup = &file.recipe.setup;
    let scaled = setup.precision == Precision::MixedFloat16;
    let (scale, minimized) = match scaled {
        true => ("        scaled = optimizer.scale_loss(loss)\n", "scaled"),
        false => ("", "loss"),
    };
    let decorator = match setup.mode {
        Mode::Graph => {
            "@tf.function(jit_compile=False)  # a graph frees each tensor after its last use; eager steps hold them longer\n"
        }
        _ => "",
    };
    let value = match sample.has_several_targets() {
        false => "        loss = loss_function(y, model(x, training=True))\n",
        true => {
            "        predictions = keras.tree.flatten(model(x, training=True))\n        \
             loss = sum(loss_function(*pair) for pair in zip(keras.tree.flatten(y), predictions))\n"
        }
    };
    format!(
        "loss_function = {}\noptimizer.build(model.trainable_variables)\n\n\
         {decorator}def step(x, y):\n    with tf.GradientTape() as tape:\n{value}        \
         for penalty in model.losses:  # of regularizers\n            loss += penalty\n\
         {scale}    gradients = tape.gradient({minimized}, model.trainable_variables)\n    \
         optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n    return loss\n\n\
         for number, (x, y) in enumerate(dataset.take(steps), 1):\n    print(f\"step {{number}} loss {{float(step(x, y)):.4f}}\")",
        loss(setup.loss)
    )
}
