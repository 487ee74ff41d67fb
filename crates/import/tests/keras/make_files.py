"""Whole files as Keras writes them, with weights and the way they were compiled, and what training does with them."""

import zipfile

import keras
import numpy as np
from keras import layers as L


def classifier():
    """A small convolutional network, compiled for classes."""
    i = L.Input((8, 8, 1), name="pixels")
    x = L.Conv2D(4, 3, padding="same", activation="relu")(i)
    x = L.BatchNormalization()(x)
    x = L.MaxPooling2D()(x)
    x = L.Flatten()(x)
    model = keras.Model(i, L.Dense(10, activation="softmax")(x), name="classifier")
    model.compile(keras.optimizers.Adam(0.002, beta_1=0.8), keras.losses.SparseCategoricalCrossentropy())
    return model


def logits():
    """A sequential model, compiled for logits with AdamW."""
    model = keras.Sequential([L.Input((8, 8, 1)), L.Flatten(), L.Dense(12, activation="tanh"), L.Dense(10)], name="logits")
    model.compile(keras.optimizers.AdamW(0.01, weight_decay=0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def transfer():
    """A frozen nested model, called twice, under a new head."""
    inner_input = L.Input((8, 8, 1))
    x = L.Conv2D(3, 3, strides=2, padding="same", name="conv")(inner_input)
    x = L.BatchNormalization(name="norm")(x)
    inner = keras.Model(inner_input, L.GlobalAveragePooling2D(name="pool")(x), name="backbone")
    inner.trainable = False
    i = L.Input((8, 8, 1))
    a, b = inner(i), inner(L.Rescaling(0.5)(i))
    normal = L.Normalization(name="adapted")
    normal.adapt(np.arange(12.0).reshape(2, 6))
    x = normal(L.Concatenate()([a, b]))
    model = keras.Model(i, L.Dense(10, activation="softmax")(L.Dropout(0.0)(x)), name="transfer")
    model.compile("rmsprop", "sparse_categorical_crossentropy")
    return model


def sequence():
    """Recurrence and attention with padding."""
    i = L.Input((6,), dtype="int32", name="ids")
    x = L.Embedding(5, 8, mask_zero=True)(i)
    x = L.Bidirectional(L.LSTM(4, return_sequences=True))(x)
    y = L.MultiHeadAttention(2, 4)(x, x)
    x = L.LayerNormalization()(L.Add()([x, y]))
    x = L.TimeDistributed(L.Dense(5, activation="relu"))(x)
    model = keras.Model(i, L.Dense(10, activation="softmax")(L.GRU(4)(x)), name="sequence")
    # Not Adam: Keras 3.15 squares the gradients of a table's row before it adds up those of equal ids, which Adam does not say.
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy")
    return model


def batch(model, units, hashes, fnv, count=4):
    shape = (count,) + tuple(model.inputs[0].shape[1:])
    size = int(np.prod(shape))
    x = (hashes(fnv("x"), size) % np.uint64(5)).astype(np.int32) if "ids" in model.inputs[0].name else units("x", size).astype(np.float32)
    y = (hashes(fnv("y"), count) % np.uint64(10)).astype(np.int32)
    return x.reshape(shape), y


def make(golden, here, set_weights, predictions, units, hashes, fnv):
    golden["files"] = {}
    for build in [classifier, logits, transfer, sequence]:
        name = build.__name__
        for end in ["keras", "h5"]:
            keras.backend.clear_session()
            keras.utils.set_random_seed(1)
            model = build()
            adapted = [np.array(v) for v in model.weights if "adapted" in v.path]
            set_weights(model)
            for variable, contents in zip([v for v in model.weights if "adapted" in v.path], adapted):
                variable.assign(contents)
            for layer in model.layers:
                if isinstance(layer, L.Normalization):
                    layer.finalize_state()
            model.save(here / "files" / f"{name}.{end}")
            before = predictions(model)
            x, y = batch(model, units, hashes, fnv)
            losses = [float(model.train_on_batch(x, y)) for _ in range(4)]
            golden["files"][f"{name}.{end}"] = {"predictions": before, "losses": losses, "after": predictions(model)}
            print(name, end, losses, flush=True)
    with zipfile.ZipFile(here / "files" / "classifier.keras") as source:
        with zipfile.ZipFile(here / "files" / "packed.keras", "w", zipfile.ZIP_DEFLATED) as target:
            for info in source.infolist():
                target.writestr(info.filename, source.read(info.filename))
    golden["files"]["packed.keras"] = golden["files"]["classifier.keras"]
