"""Makes the golden data for models with several inputs and outputs: files as Keras saves them, batches, and the losses of training on them.

    python make_heads.py              # the models below, beside this script
    python make_heads.py FOLDER 20    # so many random models, for a comparison outside of CI (see heads.rs)
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import numpy as np
from keras import layers as L

HERE = pathlib.Path(__file__).parent
STEPS = 6
IDS = 7


def classes_and_ages():
    """An image and words; a class by its number and a number, by name."""
    pixels, words = L.Input((8, 8, 1), name="pixels"), L.Input((6,), dtype="int32", name="words")
    image = L.Flatten()(L.MaxPooling2D()(L.Conv2D(4, 3, activation="relu")(pixels)))
    text = L.GlobalAveragePooling1D()(L.Embedding(IDS, 5)(words))
    x = L.Dense(12, activation="tanh")(L.Concatenate()([image, text]))
    outputs = [L.Dense(5, activation="softmax", name="class")(x), L.Dense(1, name="age")(x)]
    model = keras.Model([pixels, words], outputs, name="classes_and_ages")
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), {"class": "sparse_categorical_crossentropy", "age": "MSE"}, loss_weights={"class": 0.7, "age": 1.5})
    return model


def listed():
    """Losses in the order of the outputs; the one in the middle has none, and its weights stay as they are. (Keras does not save the delta of Huber.)"""
    i = L.Input((9,), name="measured")
    x = L.Dense(8, activation="relu")(i)
    outputs = [L.Dense(4, name="logits")(x), L.Dense(3, name="idle")(x), L.Dense(2, name="place")(x)]
    model = keras.Model(i, outputs, name="listed")
    model.compile(keras.optimizers.Adam(0.01), [keras.losses.CategoricalCrossentropy(from_logits=True), None, keras.losses.Huber()], loss_weights=[1.0, 1.0, 0.25])
    return model


def keyed():
    """Outputs in a dictionary, whose keys are not the names of layers; one of them a loss for each position."""
    a, b = L.Input((4, 3), name="first"), L.Input((3,), name="second")
    x = L.Add()([a, L.RepeatVector(4)(b)])
    x = L.Dense(6, activation="tanh")(x)
    outputs = {"zones": L.Dense(5, activation="softmax")(x), "alarm": L.Dense(2, activation="sigmoid")(L.Flatten()(x))}
    model = keras.Model([a, b], outputs, name="keyed")
    model.compile(keras.optimizers.SGD(0.5), {"zones": "sparse_categorical_crossentropy", "alarm": keras.losses.BinaryCrossentropy()}, loss_weights={"zones": 2.0, "alarm": 0.5})
    return model


def same():
    """One loss and one weight for all outputs; one layer gives both."""
    a, b = L.Input((5,), name="left"), L.Input((5,), name="right")
    shared = L.Dense(3, name="shared")
    model = keras.Model([a, b], [shared(a), shared(b)], name="same")
    model.compile(keras.optimizers.RMSprop(0.01), keras.losses.mean_absolute_error, loss_weights=0.5)
    return model


def behind():
    """Outputs so far from 0 and 1 that only their logits can be learned from; Keras finds these where a softmax or a sigmoid is the last thing that was done, whichever of them it is."""
    i = L.Input((9,), name="measured")
    x = L.Rescaling(30.0)(L.Dense(8, activation="tanh")(i))
    dense, steps = lambda units: L.Dense(units)(x), lambda units: L.Reshape((4, units))(L.Dense(4 * units)(x))
    crossentropies = keras.losses.SparseCategoricalCrossentropy, keras.losses.CategoricalCrossentropy, keras.losses.BinaryCrossentropy
    sparse, categorical, binary = crossentropies
    heads = {
        "softmax": (L.Dense(5, activation="softmax", name="softmax")(x), sparse()),
        "repaired": (L.Dense(5, activation="softmax", name="repaired")(x), sparse(from_logits=True)),
        "layer": (L.Softmax(name="layer")(dense(4)), categorical()),
        "steps": (L.Activation("softmax", name="steps")(steps(3)), sparse()),
        "other_axis": (L.Softmax(axis=1, name="other_axis")(steps(3)), categorical()),
        "sigmoid": (L.Dense(3, activation="sigmoid", name="sigmoid")(x), binary()),
        "also_repaired": (L.Activation("sigmoid", name="also_repaired")(steps(1)), binary(from_logits=True)),
        "not_exclusive": (L.Dense(4, activation="sigmoid", name="not_exclusive")(x), categorical()),
        "exclusive": (L.Dense(4, activation="softmax", name="exclusive")(x), binary()),
        "passed": (L.Activation("linear", name="passed")(L.Dropout(0.0)(L.Dense(4, activation="softmax")(x))), categorical()),
        # Another tensor, whose logits are not known.
        "reshaped": (L.Reshape((4,), name="reshaped")(L.Dense(4, activation="softmax")(x)), categorical()),
        "flat": (L.Flatten(name="flat")(L.Dense(2, activation="sigmoid")(x)), binary()),
        "scored": (L.TimeDistributed(L.Dense(4, activation="softmax"), name="scored")(L.Reshape((2, 4))(x)), sparse()),
        "last": (L.SimpleRNN(3, activation="softmax", name="last")(L.Reshape((2, 4))(x)), categorical()),
    }
    model = keras.Model(i, [output for output, _ in heads.values()], name="behind")
    model.compile(keras.optimizers.SGD(0.001), {name: loss for name, (_, loss) in heads.items()})
    return model


def masks():
    """Padding from tables and `Masking`, and what layers, merges and losses make of it; every output has layers of its own."""
    words, others, pages = L.Input((6,), dtype="int32", name="words"), L.Input((6,), dtype="int32", name="others"), L.Input((3, 4), dtype="int32", name="pages")
    padded = L.Input((5, 3), name="padded")
    table = lambda ids: L.Embedding(IDS, 4, mask_zero=True)(ids)
    tags = lambda x, name, units=3: L.Dense(units, activation="softmax", name=name)(x)
    sparse, mse, binary = "sparse_categorical_crossentropy", "mse", "binary_crossentropy"
    a, b, c = table(words), table(others), L.Embedding(IDS, 4)(others)
    query, other = table(words), table(others)
    block = L.LayerNormalization()(L.Add()([query, L.MultiHeadAttention(2, 3)(query, query)]))
    gru = L.GRU(3, return_sequences=True)(table(words))
    heads = {
        "tags": (tags(L.LSTM(5, return_sequences=True)(a), "tags"), sparse),
        "both": (tags(L.Bidirectional(L.LSTM(3, return_sequences=True))(table(words)), "both"), sparse),
        "product": (tags(L.Multiply()([table(words), b]), "product"), sparse),
        "sum": (L.Dense(2, name="sum")(L.Add()([table(words), c])), mse),
        "higher": (tags(L.Maximum()([table(words), table(others), c]), "higher"), sparse),
        "lower": (tags(L.Minimum()([table(words), table(others)]), "lower"), sparse),
        "longer": (tags(L.Concatenate(axis=1)([table(words), c]), "longer"), sparse),
        "wider": (tags(L.Concatenate()([table(words), table(others)]), "wider"), sparse),
        "everywhere": (tags(L.Concatenate()([table(words), c]), "everywhere"), sparse),
        "steps": (L.Dense(1, activation="sigmoid", name="steps")(table(others)), binary),
        "squares": (L.Dense(3, name="squares")(gru), mse),
        "flat": (L.Dense(2, name="flat")(L.Flatten()(L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum")(table(words)))), mse),
        "windows": (L.Dense(2, name="windows")(L.Conv1D(3, 2)(L.Bidirectional(L.SimpleRNN(3, return_sequences=True))(table(words)))), mse),
        "largest": (L.Dense(2, name="largest")(L.GlobalMaxPooling1D()(L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="mul")(table(others)))), mse),
        "last": (L.Dense(2, name="last")(L.Bidirectional(L.LSTM(3))(table(others))), mse),
        "mean": (L.Dense(2, name="mean")(L.GlobalAveragePooling1D()(L.GRU(4, return_sequences=True, go_backwards=True)(table(words)))), mse),
        "block": (L.Dense(2, name="block")(L.GlobalAveragePooling1D()(block)), mse),
        "block_tags": (tags(L.Activation("tanh")(block), "block_tags"), sparse),
        "attended": (tags(L.MultiHeadAttention(2, 3)(table(words), table(others)), "attended"), sparse),
        "causal": (tags(L.MultiHeadAttention(1, 3)(other, other, use_causal_mask=True), "causal"), sparse),
        "later": (tags(L.LSTM(3, return_sequences=True)(L.Dense(3)(other)), "later"), sparse),
        "padded_tags": (tags(L.LSTM(4, return_sequences=True)(L.Masking(0.0)(padded)), "padded_tags"), sparse),
        "dropped": (tags(L.RMSNormalization()(table(words)), "dropped"), sparse),
        "computed": (tags(table(words) * 2.0, "computed"), sparse),
        "normalized": (tags(L.BatchNormalization()(table(words)), "normalized"), sparse),
        "stepwise": (L.Dense(2, name="stepwise")(L.TimeDistributed(L.BatchNormalization(momentum=0.8))(L.Dense(3)(padded))), mse),
        "stepwise_masked": (L.Dense(2, name="stepwise_masked")(L.TimeDistributed(L.BatchNormalization())(table(words))), mse),
        "pages_read": (L.Dense(2, name="pages_read")(L.TimeDistributed(L.LSTM(3))(L.Embedding(IDS, 4, mask_zero=True)(pages))[:, 0]), mse),
    }
    model = keras.Model([words, others, pages, padded], [output for output, _ in heads.values()], name="masks")
    model.compile(keras.optimizers.SGD(0.05), {name: loss for name, (_, loss) in heads.items()})
    return model


def all_losses():
    """Every loss that is one number a row, with settings of its own where Keras saves them."""
    i = L.Input((9,), name="measured")
    x = L.Dense(8, activation="tanh")(i)
    K = keras.losses
    dense = lambda name, activation=None, units=4: L.Dense(units, activation=activation, name=name)(x)
    steps = lambda name, activation: L.Activation(activation, name=name)(L.Reshape((3, 4))(L.Dense(12)(x)))
    heads = {
        "categorical_smooth": (dense("categorical_smooth", "softmax"), K.CategoricalCrossentropy(label_smoothing=0.1)),
        "categorical_steps": (steps("categorical_steps", "softmax"), K.CategoricalCrossentropy(label_smoothing=0.3)),
        "binary_smooth": (dense("binary_smooth"), K.BinaryCrossentropy(from_logits=True, label_smoothing=0.2)),
        "sparse_ignoring": (steps("sparse_ignoring", "softmax"), K.SparseCategoricalCrossentropy(ignore_class=1)),
        "sparse_ignoring_logits": (steps("sparse_ignoring_logits", "linear"), K.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)),
        "binary_focal": (dense("binary_focal", "sigmoid"), K.BinaryFocalCrossentropy(gamma=1.5)),
        "binary_focal_balanced": (dense("binary_focal_balanced"), K.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.3, from_logits=True, label_smoothing=0.1)),
        "binary_focal_flat": (L.Flatten(name="binary_focal_flat")(L.Dense(3, activation="sigmoid")(x)), K.BinaryFocalCrossentropy()),
        "categorical_focal": (dense("categorical_focal", "softmax"), K.CategoricalFocalCrossentropy(alpha=0.5, gamma=3.0)),
        "categorical_focal_logits": (dense("categorical_focal_logits"), K.CategoricalFocalCrossentropy(from_logits=True, label_smoothing=0.1)),
        "categorical_kld": (dense("categorical_kld", "softmax"), "kld"),
        "categorical_kl": (steps("categorical_kl", "softmax"), K.KLDivergence()),
        "counts": (dense("counts", "exponential"), "poisson"),
        "percentage": (dense("percentage"), "MAPE"),
        "logarithms": (dense("logarithms", "softplus"), "mean_squared_logarithmic_error"),
        "cosine": (steps("cosine", "linear"), K.CosineSimilarity()),
        "cosh": (dense("cosh"), "log_cosh"),
        "binary_hinge": (dense("binary_hinge"), "hinge"),
        "signs": (dense("signs"), K.SquaredHinge()),
        "categorical_hinge": (dense("categorical_hinge"), K.CategoricalHinge()),
    }
    model = keras.Model(i, [output for output, _ in heads.values()], name="all_losses")
    model.compile(keras.optimizers.SGD(0.01), {name: loss for name, (_, loss) in heads.items()})
    return model


def whole():
    """Losses in which the samples of a batch meet, sums and means by weights, and losses that look along another axis; every output has layers of its own."""
    x, words = L.Input((9,), name="measured"), L.Input((6,), dtype="int32", name="words")
    K = keras.losses
    image = lambda name, activation, classes=2: L.Activation(activation, name=name)(L.Reshape((4, 3, classes))(L.Dense(12 * classes)(x)))
    steps = lambda name, activation: L.Activation(activation, name=name)(L.Reshape((3, 4))(L.Dense(12)(x)))
    dense = lambda name, activation=None, units=4: L.Dense(units, activation=activation, name=name)(x)
    tags = lambda name: L.Dense(3, activation="softmax", name=name)(L.Embedding(IDS, 4, mask_zero=True)(words))
    heads = {
        "dice": (image("dice", "sigmoid"), K.Dice()),
        "dice_each": (image("dice_each", "softmax", 3), K.Dice(axis=(1, 2, 3))),
        "dice_classes": (image("dice_classes", "sigmoid"), K.Dice(axis=[1, 2])),
        "tversky": (image("tversky", "sigmoid"), K.Tversky(alpha=0.3, beta=0.7)),
        "tversky_each": (image("tversky_each", "sigmoid"), K.Tversky(alpha=0.8, beta=0.4, axis=[1, 2, -1])),
        "dice_sum": (dense("dice_sum", "sigmoid"), K.Dice(reduction="sum")),
        "circle": (L.UnitNormalization(name="circle")(dense("embedded")), K.Circle()),
        "circle_all": (dense("circle_all", "tanh"), K.Circle(gamma=20.0, margin=0.2, remove_diagonal=False)),
        "circle_sum": (dense("circle_sum", "tanh"), K.Circle(gamma=10.0, reduction="sum")),
        "ctc": (L.Reshape((7, 4), name="ctc")(L.Dense(28)(x)), K.CTC()),
        "ctc_sum": (L.Reshape((3, 5), name="ctc_sum")(L.Dense(15)(x)), K.CTC(reduction="sum")),
        "generalized": (dense("generalized", "softmax"), K.CategoricalGeneralizedCrossEntropy(q=0.7)),
        "squares_sum": (dense("squares_sum"), K.MeanSquaredError(reduction="sum")),
        "sparse_sum": (steps("sparse_sum", "softmax"), K.SparseCategoricalCrossentropy(reduction="sum")),
        "sizes_by_weight": (dense("sizes_by_weight"), K.MeanAbsoluteError(reduction="mean_with_sample_weight")),
        "categorical_by_weight": (steps("categorical_by_weight", "softmax"), K.CategoricalCrossentropy(reduction="mean_with_sample_weight")),
        "categorical_along": (L.Softmax(axis=1, name="categorical_along")(steps("logits", "linear")), K.CategoricalCrossentropy(axis=1)),
        "categorical_logits_along": (steps("categorical_logits_along", "linear"), K.CategoricalCrossentropy(from_logits=True, axis=1)),
        "categorical_focal_along": (steps("categorical_focal_along", "softmax"), K.CategoricalFocalCrossentropy(axis=-2)),
        "binary_along": (steps("binary_along", "sigmoid"), K.BinaryCrossentropy(axis=1, label_smoothing=0.0)),
        "binary_focal_along": (steps("binary_focal_along", "sigmoid"), K.BinaryFocalCrossentropy(axis=1)),
        "sparse_masked_sum": (tags("sparse_masked_sum"), K.SparseCategoricalCrossentropy(reduction="sum")),
        "sparse_masked_by_weight": (tags("sparse_masked_by_weight"), K.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight")),
    }
    model = keras.Model([x, words], [output for output, _ in heads.values()], name="whole")
    model.compile(keras.optimizers.SGD(0.001), {name: loss for name, (_, loss) in heads.items()})
    return model


def several():
    """Several numbers for a whole batch, which cannot be weighed by samples."""
    i = L.Input((9,), name="measured")
    image = lambda name: L.Activation("sigmoid", name=name)(L.Reshape((2, 3, 2))(L.Dense(12)(i)))
    model = keras.Model(i, [image("dice_classes"), image("dice_sum"), image("tversky_rows")], name="several")
    model.compile(keras.optimizers.SGD(0.1), [keras.losses.Dice(axis=(0, 1, 2)), keras.losses.Dice(axis=[0, -1], reduction="sum"), keras.losses.Tversky(axis=0)])
    return model


LOSSES = {
    "sparse": lambda logits: keras.losses.SparseCategoricalCrossentropy(from_logits=logits),
    "categorical": lambda logits: keras.losses.CategoricalCrossentropy(from_logits=logits),
    "binary": lambda logits: keras.losses.BinaryCrossentropy(from_logits=logits),
    "mse": lambda _: "mse",
    "mae": lambda _: "mean_absolute_error",
    "huber": lambda _: keras.losses.Huber(),
}


def drawn(random, number):
    """A random model of this kind."""
    inputs, parts = [], []
    for position in range(random.integers(1, 4)):
        kind = random.choice(["numbers", "image", "ids"])
        name = f"{kind}_{position}"
        if kind == "numbers":
            inputs.append(L.Input((int(random.integers(1, 9)),), name=name))
            parts.append(inputs[-1])
        elif kind == "image":
            inputs.append(L.Input((6, 5, int(random.integers(1, 4))), name=name))
            parts.append(L.Flatten()(L.Conv2D(int(random.integers(1, 5)), 3, activation="relu")(inputs[-1])))
        else:
            inputs.append(L.Input((int(random.integers(2, 7)),), dtype="int32", name=name))
            parts.append(L.GlobalAveragePooling1D()(L.Embedding(IDS, int(random.integers(2, 6)))(inputs[-1])))
    x = parts[0] if len(parts) == 1 else L.Concatenate()(parts)
    x = L.Dense(int(random.integers(3, 12)), activation=str(random.choice(["tanh", "relu", "gelu"])))(x)
    outputs, losses, weights = [], {}, {}
    for position in range(random.integers(2, 4)):
        kind, logits = str(random.choice(list(LOSSES))), bool(random.integers(2))
        name, positions = f"{kind}_{position}", int(random.integers(1, 4))
        units = int(random.integers(2 if kind in ["sparse", "categorical"] else 1, 6))
        activation = None if logits or kind in ["mse", "mae", "huber"] else "sigmoid" if kind == "binary" else "softmax"
        if positions > 1:
            y = L.Reshape((positions, units))(L.Dense(positions * units)(x))
            outputs.append(L.Activation(activation or "linear", name=name)(y))
        else:
            outputs.append(L.Dense(units, activation=activation, name=name)(x))
        losses[name], weights[name] = LOSSES[kind](logits), float(np.float32(random.uniform(0.1, 2.0)))
    model = keras.Model(inputs, outputs, name=f"drawn_{number}")
    # Not Adam: see make_files.py of the importer's tests.
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), losses, loss_weights=weights)
    return model


def loss_of(model, name, position):
    said = model._compile_loss._user_loss
    said = said.get(name) if isinstance(said, dict) else said[position] if isinstance(said, list) else said
    if said == "kld" or isinstance(said, keras.losses.KLDivergence):
        return "categorical"
    return "" if said is None else keras.losses.get(said).__class__.__name__ + str(getattr(said, "name", said))


def losses_rank(model, name, position, rank):
    """How many axes the losses of an output have before they become one number; weights have as many."""
    said = model._compile_loss._user_loss
    said = said.get(name) if isinstance(said, dict) else None
    if isinstance(said, keras.losses.CTC):
        return 1
    if not isinstance(said, (keras.losses.Dice, keras.losses.Tversky)):
        return rank - 1
    axes = said.axis if isinstance(said.axis, (list, tuple)) else [said.axis]
    return max(1, rank - len(axes)) if said.axis is not None else 1


def target(random, loss, shape):
    if "CTC" in loss:
        # Labels from 1 on, twice the same among them, filled up with 0; fewer than there are steps.
        labels = random.integers(1, shape[-1], (shape[0], shape[1] // 2 + 1))
        return np.where(np.arange(labels.shape[1]) < random.integers(0, shape[1] // 2 + 1, (shape[0], 1)), labels, 0).astype(np.int32)
    if "ircle" in loss:
        return random.integers(0, 3, shape[:-1]).astype(np.int32)
    if "Dice" in loss or "Tversky" in loss:
        return random.integers(0, 2, shape).astype(np.float32)
    if "parse" in loss or "Generalized" in loss:
        return random.integers(0, shape[-1], shape[:-1]).astype(np.int32)
    if "ategorical" in loss:
        y = random.uniform(0.1, 1, shape)
        return (y / y.sum(-1, keepdims=True)).astype(np.float32)
    if "inary" in loss:
        return random.integers(0, 2, shape).astype(np.float32)
    return random.uniform(-1, 1, shape).astype(np.float32)


def field(kind, name, array):
    whole = np.issubdtype(array.dtype, np.integer)
    numbers = [int(x) if whole else float(f"{x:.9g}") for x in array.ravel()]
    return {"kind": kind, "name": name, "shape": list(array.shape[1:]), "integers" if whole else "floats": numbers}


def names(model):
    return sorted(model.output) if isinstance(model.output, dict) else unique(model.output_names)


def unique(names):
    return [name if name not in names[:i] else f"{name}_{names[:i].count(name)}" for i, name in enumerate(names)]


def run(model, file, weighted, batch, random):
    """Trains on one batch; every step's total loss and the loss of each output, before its update."""
    fields, x = [], []
    for tensor in model.inputs:
        shape = (batch,) + tuple(tensor.shape[1:])
        ids = tensor.dtype == "int32"
        x.append(random.integers(0, IDS, shape).astype(np.int32) if ids else random.uniform(-1, 1, shape).astype(np.float32))
        if tensor.name == "padded":
            x[-1][random.uniform(size=shape[:2]) < 0.4] = 0
        fields.append(field("input", tensor.name, x[-1]))
    outputs = [model.output[name] for name in sorted(model.output)] if isinstance(model.output, dict) else model.outputs
    y, weights = [], []
    for position, (name, tensor) in enumerate(zip(names(model), outputs)):
        loss = loss_of(model, name, position)
        y.append(target(random, loss, (batch,) + tuple(tensor.shape[1:])))
        w = random.uniform(0.1, 2, batch).astype(np.float32)
        # Keras wants as many axes as losses have.
        weights.append(w.reshape((batch,) + (1,) * (losses_rank(model, name, position, len(tensor.shape)) - 1)))
        if loss:
            fields.append(field("target", name, y[-1]))
            if weighted:
                fields.append(field("sample_weight", name, w))
    if isinstance(model.output, dict):
        y, weights = dict(zip(names(model), y)), dict(zip(names(model), weights))
    steps = []
    for _ in range(STEPS):
        model.reset_metrics()
        logs = model.train_on_batch(x if len(x) > 1 else x[0], y, sample_weight=weights if weighted else None, return_dict=True)
        steps.append({name: float(value) for name, value in logs.items()})
    return {"file": file, "weighted": weighted, "batch": batch, "fields": fields, "steps": steps}


def make(models, folder):
    cases = []
    for number, (build, ends) in enumerate(models):
        for end in ends:
            for weighted in [False] if build is several else [False, True]:
                # The same model again; Keras 3.15 cannot load all that it saves as HDF5.
                keras.backend.clear_session()
                keras.utils.set_random_seed(number)
                model = build()
                file = f"{model.name}.{end}"
                model.save(folder / file)
                random = np.random.default_rng(number)
                cases.append(run(model, file, weighted, int(random.integers(4, 9)), random))
                print(file, "weighted" if weighted else "", cases[-1]["steps"][-1], flush=True)
    (folder / "cases.json").write_text(json.dumps(cases) + "\n")


def main():
    if len(sys.argv) == 3:
        folder = pathlib.Path(sys.argv[1])
        folder.mkdir(exist_ok=True)
        return make([(lambda number=number: drawn(np.random.default_rng(number), number), ["keras"]) for number in range(int(sys.argv[2]))], folder)
    make([(classes_and_ages, ["keras", "h5"]), (listed, ["keras", "h5"]), (keyed, ["keras"]), (same, ["keras"]), (behind, ["keras"]), (masks, ["keras"]), (all_losses, ["keras"]), (whole, ["keras"]), (several, ["keras"])], HERE)


if __name__ == "__main__":
    main()
