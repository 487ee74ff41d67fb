"""Writes what Keras's regularizers add to losses: losses of steps and of an evaluation, and the weights afterwards.

    python make_regularizers.py                 cases.json here
    python make_regularizers.py --random 300    models drawn at random, to standard output
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import h5py
import keras
import numpy as np
from keras import layers as L
from keras import regularizers as R

BATCH, SAMPLES, STEPS = 4, 6, 4


def numbers(array):
    return [float(f"{x:.9g}") for x in np.asarray(array, "float64").ravel()]


def weights(model):
    """Every weight by its place in a weights file."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.weights.h5"
        model.save_weights(path)
        with h5py.File(path) as file:
            def look(name, item):
                if isinstance(item, h5py.Dataset) and "seed_generator" not in name and item.dtype.kind == "f":
                    found[name] = numbers(item[()])
            file.visititems(look)
    return found


def case(name, model, whole=False, loss_weights=None, seed=0):
    rng = np.random.RandomState(seed)
    for variable in model.weights:
        if variable.dtype == "float32":
            kind = variable.path.rsplit("/", 1)[-1]
            if kind == "moving_variance":
                continue
            variable.assign(variable + 0.1 * rng.randn(*variable.shape))
    inputs = {}
    for tensor in model.inputs:
        shape = (SAMPLES, *tensor.shape[1:])
        ids = tensor.dtype == "int32"
        inputs[tensor.name] = rng.randint(0, 7, shape).astype("int32") if ids else rng.randn(*shape).astype("float32")
    targets = [rng.randn(SAMPLES, *output.shape[1:]).astype("float32") for output in model.outputs]
    config, before = json.loads(model.to_json()), weights(model)
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.5), loss=["mse"] * len(targets) if len(targets) > 1 else "mse",
                  loss_weights=loss_weights)
    x = [inputs[tensor.name] for tensor in model.inputs]
    y = targets if len(targets) > 1 else targets[0]
    first = lambda values: [value[:BATCH] for value in values]
    some = first(y) if len(targets) > 1 else y[:BATCH]
    losses = []
    for _ in range(STEPS):
        result = model.train_on_batch(first(x), some)
        losses.append(float(result[0] if isinstance(result, list) else result))
    result = model.evaluate(x, y, batch_size=BATCH, verbose=0)
    return {
        "name": name, "model": config, "whole": whole, "loss_weights": loss_weights,
        "inputs": [{"name": key, "shape": list(value.shape[1:]), "ids": value.dtype == np.int32,
                    "values": numbers(value)} for key, value in inputs.items()],
        "targets": [{"name": name, "shape": list(value.shape[1:]), "values": numbers(value)}
                    for name, value in zip(model.output_names, targets)],
        "before": before, "losses": losses, "after": weights(model),
        "evaluated": float(result[0] if isinstance(result, list) else result),
    }


def dense():
    x = inputs = keras.Input((5,), name="x")
    x = L.Dense(6, activation="tanh", kernel_regularizer=R.L1(0.02), bias_regularizer="l2",
                activity_regularizer=R.L1L2(0.01, 0.03))(x)
    x = L.ActivityRegularization(l1=0.02, l2=0.01)(x)
    x = L.Dense(4, kernel_regularizer="l1", bias_regularizer="l1l2")(x)
    x = L.PReLU(alpha_regularizer=R.L2(0.1))(x)
    return case("dense", keras.Model(inputs, L.Dense(2, kernel_regularizer="l2", name="out")(x)))


def orthogonal():
    x = inputs = keras.Input((5,), name="x")
    x = L.Dense(6, activation="tanh", kernel_regularizer=R.OrthogonalRegularizer(0.5))(x)
    x = L.Dense(4, kernel_regularizer=R.OrthogonalRegularizer(0.3, "columns"))(x)
    return case("orthogonal", keras.Model(inputs, L.Dense(2, name="out")(x)))


def images():
    x = inputs = keras.Input((6, 6, 2), name="x")
    x = L.Conv2D(3, 3, padding="same", kernel_regularizer=R.L2(0.02), bias_regularizer=R.L1(0.1),
                 activity_regularizer=R.L2(0.01))(x)
    x = L.DepthwiseConv2D(3, depthwise_regularizer=R.L1(0.02))(x)
    x = L.SeparableConv2D(4, 2, depthwise_regularizer=R.L2(0.1), pointwise_regularizer=R.L1(0.05))(x)
    x = L.Conv2DTranspose(3, 2, kernel_regularizer=R.L1L2(0.01, 0.02))(x)
    x = L.GroupNormalization(3, gamma_regularizer=R.L2(0.05), beta_regularizer=R.L1(0.05))(x)
    x = L.GlobalAveragePooling2D(activity_regularizer=R.L1(0.1))(x)
    return case("images", keras.Model(inputs, L.Dense(2, name="out")(x)))


def normalized():
    x = inputs = keras.Input((5,), name="x")
    x = L.Dense(6, kernel_regularizer=R.L2(0.02))(x)
    x = L.BatchNormalization(gamma_regularizer=R.L2(0.1), beta_regularizer=R.L1(0.1))(x)
    x = L.LayerNormalization(gamma_regularizer=R.L1(0.1), beta_regularizer=R.L2(0.1))(x)
    return case("normalized", keras.Model(inputs, L.Dense(2, name="out")(x)), whole=True)


def sequences():
    inputs = keras.Input((5,), dtype="int32", name="x")
    x = L.Embedding(7, 4, embeddings_regularizer=R.L2(0.05), activity_regularizer=R.L1(0.01))(inputs)
    x = L.LSTM(3, return_sequences=True, kernel_regularizer=R.L1(0.02), recurrent_regularizer=R.L2(0.03),
               bias_regularizer=R.L2(0.01), activity_regularizer=R.L2(0.05))(x)
    x = L.GRU(3, return_sequences=True, recurrent_regularizer=R.L1(0.02), activity_regularizer=R.L1(0.02))(x)
    x = L.RNN([L.LSTMCell(3, kernel_regularizer=R.L2(0.1)), L.LSTMCell(2, recurrent_regularizer=R.L1(0.1))],
              return_sequences=True)(x)
    x = L.RNN(L.GRUCell(3, bias_regularizer=R.L1(0.1)), return_sequences=True)(x)
    x = L.SimpleRNN(3, kernel_regularizer=R.L2(0.1))(x)
    return case("sequences", keras.Model(inputs, L.Dense(2, name="out")(x)))


def states():
    x = inputs = keras.Input((5, 3), name="x")
    x, h, c = L.LSTM(3, return_state=True, activity_regularizer=R.L2(0.05))(x)
    return case("states", keras.Model(inputs, L.Dense(2, name="out")(L.Concatenate()([x, h, c]))))


def directions():
    x = inputs = keras.Input((5, 3), name="x")
    x = L.Bidirectional(L.LSTM(3, return_sequences=True, kernel_regularizer=R.L1(0.02),
                               activity_regularizer=R.L2(0.05)))(x)
    x = L.Bidirectional(L.GRU(2, return_sequences=True, kernel_regularizer=R.L1(0.02)),
                        backward_layer=L.GRU(2, return_sequences=True, go_backwards=True,
                                             recurrent_regularizer=R.L2(0.1)),
                        merge_mode="sum", activity_regularizer=R.L1(0.03))(x)
    x = L.TimeDistributed(L.Dense(3, kernel_regularizer=R.L2(0.1), activity_regularizer=R.L2(9.0)),
                          activity_regularizer=R.L1(0.01))(x)
    return case("directions", keras.Model(inputs, L.Dense(2, name="out")(L.Flatten()(x))))


def shared():
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    both = L.Dense(3, kernel_regularizer=R.L2(0.1), activity_regularizer=R.L1(0.05), name="both")
    frozen = L.Dense(3, kernel_regularizer=R.L2(0.7), activity_regularizer=R.L2(0.05), name="frozen", trainable=False)
    x = L.Add()([both(left), both(right)])
    return case("shared", keras.Model([left, right], L.Dense(2, name="out")(frozen(x))))


def nested():
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, kernel_regularizer=R.L2(0.1), name="first",
                                                         activity_regularizer=R.L2(0.1)), L.Dense(3)], name="inner")
    step = keras.Sequential([keras.Input((3,)), L.Dense(4, kernel_regularizer=R.L1(0.1),
                                                        activity_regularizer=R.L1(0.1)),
                             L.Dense(2, bias_regularizer=R.L1(0.1))], name="step")
    x = inputs = keras.Input((5, 3), name="x")
    x = L.TimeDistributed(step)(x)
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    return case("nested", keras.Model([inputs, left, right], L.Dense(2, name="out")(
        L.Concatenate()([L.Flatten()(x), inner(left), inner(right)]))))


def attention():
    x = inputs = keras.Input((5, 4), name="x")
    x = L.MultiHeadAttention(2, 3, kernel_regularizer=R.L2(0.05), bias_regularizer=R.L1(0.1))(x, x)
    x = L.EinsumDense("abc,cd->abd", (5, 3), bias_axes="d", kernel_regularizer=R.L1(0.05),
                      bias_regularizer=R.L2(0.1), activity_regularizer=R.L2(0.1))(x)
    return case("attention", keras.Model(inputs, L.Dense(2, name="out")(L.Flatten()(x))))


def heads():
    inputs = keras.Input((4,), name="x")
    x = L.Dense(5, activation="relu", kernel_regularizer=R.L2(0.1), activity_regularizer=R.L1(0.02))(inputs)
    outputs = [L.Dense(2, name="one", activity_regularizer=R.L2(0.1))(x), L.Dense(1, name="two")(x)]
    return case("heads", keras.Model(inputs, outputs), loss_weights=[0.3, 2.0])


def volumes():
    x = inputs = keras.Input((3, 4, 4, 2), name="x")
    x = L.ConvLSTM2D(2, 2, kernel_regularizer=R.L2(0.1), recurrent_regularizer=R.L1(0.05),
                     activity_regularizer=R.L1(0.03))(x)
    return case("volumes", keras.Model(inputs, L.Dense(2, name="out")(L.Flatten()(x))))


ALL = [dense, orthogonal, images, normalized, sequences, states, directions, shared, nested, attention, heads, volumes]


def draw(seed):
    """A stack of layers, each with regularizers of everything that it has, or of some of it."""
    keras.utils.set_random_seed(seed)
    dice = random.Random(seed)

    def regularizer(matrix=False):
        factor = lambda: 10 ** dice.uniform(-2.5, -0.5)
        kinds = [None, None, "l1", "l2", lambda: R.L1(factor()), lambda: R.L2(factor()),
                 lambda: R.L1L2(factor(), factor())]
        if matrix:
            kinds.append(lambda: R.OrthogonalRegularizer(factor(), dice.choice(["rows", "columns"])))
        kind = dice.choice(kinds)
        return kind() if callable(kind) else kind

    def of(*names, **matrices):
        return {f"{name}_regularizer": regularizer(matrices.get(name, False)) for name in names}

    inputs = keras.Input((5,), dtype="int32", name="x")
    x = L.Embedding(7, 4, mask_zero=dice.random() < 0.3, **of("embeddings", "activity"))(inputs)
    for _ in range(dice.randint(1, 4)):
        trainable = dice.random() > 0.2
        units = dice.randint(2, 4)
        recurrent = of("kernel", "recurrent", "bias", "activity", kernel=True, recurrent=True)
        layer = dice.choice([
            lambda: L.Dense(units, trainable=trainable, **of("kernel", "bias", "activity", kernel=True)),
            lambda: L.LSTM(units, return_sequences=True, trainable=trainable, **recurrent),
            lambda: L.GRU(units, return_sequences=True, trainable=trainable, **recurrent),
            lambda: L.Bidirectional(L.LSTM(units, return_sequences=True, **recurrent)),
            lambda: L.TimeDistributed(L.Dense(units, **of("kernel", "bias", "activity"))),
            lambda: L.Conv1D(units, 2, padding="same", **of("kernel", "bias", "activity")),
            lambda: L.SeparableConv1D(units, 2, padding="same", **of("depthwise", "pointwise", "bias", "activity")),
            lambda: L.LayerNormalization(**of("beta", "gamma")),
            lambda: L.ActivityRegularization(dice.choice([0.0, 0.02]), dice.choice([0.0, 0.05])),
        ])()
        x = layer(x)
        if dice.random() < 0.2 and x.shape[-1] == units and not isinstance(layer, L.ActivityRegularization):
            try:
                x = layer(x)
            except ValueError:
                pass
    x = L.GlobalMaxPooling1D(**of("activity"))(x)
    return case(f"random {seed}", keras.Model(inputs, L.Dense(2, name="out", **of("kernel", "bias"))(x)), seed=seed)


def main():
    if sys.argv[1:2] == ["--random"]:
        json.dump([draw(seed) for seed in range(int(sys.argv[2]))], sys.stdout)
        return
    keras.utils.set_random_seed(3)
    Path(__file__).with_name("cases.json").write_text(json.dumps([make() for make in ALL]))


main()
