"""Writes a small model for every public layer, initializer, activation, loss, optimizer, schedule, regularizer and constraint of Keras, for the table in `docs/keras-coverage.md`.

    python coverage.py      # writes crates/import/tests/keras/coverage.json.gz

The names are Keras's own lists, so nothing is forgotten: what cannot be written is in the file with the reason. `PLIMSOLL_BLESS=1 cargo nextest run -p plimsoll-import --test operations`
then writes the table; without it the test checks that the table says what the importer does. The functions of `keras.ops` have cases of their own
(`crates/import/tests/keras/make_operations.py`).
"""

import gzip
import inspect
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
from keras import layers as L

OUT = pathlib.Path(__file__).parents[3] / "crates/import/tests/keras/coverage.json.gz"

# How layers are made that need arguments, and what they are called with where that is not an image, a sequence or a row.
ARGUMENTS = {
    "Activation": "'relu'", "Dense": "3", "EinsumDense": "'abc,cd->abd', output_shape=(None, 3)", "Embedding": "7, 3", "Conv1D": "3, 2", "Conv2D": "3, 2", "Conv3D": "3, 2", "Conv1DTranspose": "3, 2",
    "Conv2DTranspose": "3, 2", "Conv3DTranspose": "3, 2", "SeparableConv1D": "3, 2", "SeparableConv2D": "3, 2", "DepthwiseConv1D": "2", "DepthwiseConv2D": "2", "LSTM": "3", "GRU": "3", "SimpleRNN": "3",
    "ConvLSTM1D": "3, 2", "ConvLSTM2D": "3, 2", "ConvLSTM3D": "3, 2", "Bidirectional": "L.LSTM(3)", "TimeDistributed": "L.Dense(3)", "RNN": "L.LSTMCell(3)", "StackedRNNCells": "[L.LSTMCell(3)]",
    "MultiHeadAttention": "2, 3", "GroupedQueryAttention": "3, 2, 1", "Dropout": "0.2", "SpatialDropout1D": "0.2", "SpatialDropout2D": "0.2", "SpatialDropout3D": "0.2",
    "GaussianNoise": "0.2", "GaussianDropout": "0.2", "AlphaDropout": "0.2", "Reshape": "(-1, 2)", "Permute": "(2, 1)", "RepeatVector": "3", "Rescaling": "0.5", "Resizing": "4, 4", "CenterCrop": "4, 4",
    "RandomCrop": "4, 4", "Lambda": "lambda x: 2 * x", "Dot": "axes=1", "Discretization": "bin_boundaries=[0.0, 1.0]", "CategoryEncoding": "num_tokens=5, output_mode='multi_hot'", "Hashing": "num_bins=3",
    "IntegerLookup": "vocabulary=[1, 2, 3]", "Normalization": "mean=0.5, variance=2.0", "RandomBrightness": "0.2", "RandomContrast": "0.2", "RandomRotation": "0.2", "RandomTranslation": "0.2, 0.2",
    "RandomZoom": "0.2", "RandomHue": "0.2", "RandomColorDegeneration": "0.2", "RandomSharpness": "0.2", "Pipeline": "[L.Rescaling(0.5)]", "RandomSaturation": "0.2", "RandomColorJitter": "0.2", "RandomShear": "0.2, 0.2", "RandomPosterization": "4", "Solarization": "0.2", "AdaptiveAveragePooling1D": "2", "AdaptiveAveragePooling2D": "2",
    "AdaptiveAveragePooling3D": "2", "AdaptiveMaxPooling1D": "2", "AdaptiveMaxPooling2D": "2", "AdaptiveMaxPooling3D": "2", "SpectralNormalization": "L.Dense(3)", "MaxNumBoundingBoxes": "3",
    "AveragePooling1D": "2", "AveragePooling2D": "2", "AveragePooling3D": "2", "MaxPooling1D": "2", "MaxPooling2D": "2", "MaxPooling3D": "2", "GroupNormalization": "2", "HashedCrossing": "3", "UpSampling3D": "2", "ReversibleEmbedding": "7, 3",
}
SCHEDULES = {
    "CosineDecay": "0.1, 10", "CosineDecayRestarts": "0.1, 10", "ExponentialDecay": "0.1, 10, 0.9", "InverseTimeDecay": "0.1, 10, 0.9", "PiecewiseConstantDecay": "[1], [0.1, 0.2]",
    "PolynomialDecay": "0.1, 10",
}
ROW, SEQUENCE, IMAGE, VOLUME = (4,), (6, 4), (6, 6, 4), (4, 6, 6, 4)


def inputs(name):
    if name.startswith("Embedding") or name == "ReversibleEmbedding" or name in ("CategoryEncoding", "IntegerLookup", "Hashing"):
        return [L.Input((6,), dtype="int32")]
    if name in ("Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract"):
        return [L.Input(ROW), L.Input(ROW)]
    if name in ("Attention", "AdditiveAttention", "MultiHeadAttention", "GroupedQueryAttention"):
        return [L.Input(SEQUENCE), L.Input(SEQUENCE)]
    if name == "ConvLSTM1D":
        return [L.Input((3, 6, 4))]
    if name == "ConvLSTM2D":
        return [L.Input((3, 6, 6, 4))]
    if name == "ConvLSTM3D":
        return [L.Input((3, 4, 6, 6, 4))]
    if name == "RepeatVector":
        return [L.Input(ROW)]
    if "3D" in name:
        return [L.Input(VOLUME)]
    if "1D" in name or name in ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "TimeDistributed", "EinsumDense", "Permute", "Reshape", "Masking", "StackedRNNCells"):
        return [L.Input(SEQUENCE)]
    if "2D" in name or name.startswith("Random") or name in ("Resizing", "CenterCrop", "AugMix", "AutoContrast", "CutMix", "Equalization", "MixUp", "RandAugment", "Solarization", "GroupNormalization"):
        return [L.Input((6, 6, 3) if "2D" not in name and name != "GroupNormalization" else IMAGE)]
    return [L.Input(ROW)]


def layer_model(name):
    # A class may have two names; what it is made with is listed under its own.
    made = getattr(L, name)
    name = made.__name__
    given = inputs(name)
    layer = eval(f"made({ARGUMENTS.get(name, '')})", {"L": L, "made": made})
    if name in ("MultiHeadAttention", "GroupedQueryAttention"):
        result = layer(*given)
    else:
        result = layer(given if len(given) > 1 else given[0])
    return keras.Model(given, result)


def compiled(optimizer, loss):
    row = L.Input(ROW)
    model = keras.Model(row, L.Dense(3)(row))
    model.compile(optimizer, loss)
    return model


def public(module, base):
    """The classes of a module's public list; two names of one class are both there."""
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if inspect.isclass(value) and issubclass(value, base) and value is not base and not name.startswith("_"):
            yield name, value


def entries():
    for name, _ in public(L, L.Layer):
        yield "layers", name, lambda: layer_model(name)
    for name, value in public(keras.initializers, keras.initializers.Initializer):
        yield "initializers", name, lambda: keras.Sequential([L.Input(ROW), L.Dense(4, kernel_initializer=value())])
    for name in sorted(dir(keras.activations)):
        value = getattr(keras.activations, name)
        if inspect.isfunction(value) and name not in ("get", "serialize", "deserialize"):
            yield "activations", name, lambda: keras.Sequential([L.Input(ROW), L.Dense(4, activation=value)])
    for name, value in public(keras.losses, keras.losses.Loss):
        yield "losses", name, lambda: compiled("sgd", value())
    for name, value in public(keras.optimizers, keras.optimizers.Optimizer):
        inner = {"LossScaleOptimizer": lambda: [keras.optimizers.SGD()], "MultiOptimizer": lambda: [keras.optimizers.OptimizerMap(keras.optimizers.SGD())]}.get(name, list)
        yield "optimizers", name, lambda: compiled(value(*inner()), "mse")
    schedules = keras.optimizers.schedules
    for name, value in public(schedules, schedules.LearningRateSchedule):
        yield "schedules", name, lambda: compiled(keras.optimizers.SGD(eval(f"value({SCHEDULES[name]})", {"value": value})), "mse")
    for name, value in public(keras.regularizers, keras.regularizers.Regularizer):
        yield "regularizers", name, lambda: keras.Sequential([L.Input(ROW), L.Dense(4, kernel_regularizer=value())])
    for name, value in public(keras.constraints, keras.constraints.Constraint):
        yield "constraints", name, lambda: keras.Sequential([L.Input(ROW), L.Dense(4, kernel_constraint=value())])


def main():
    found = []
    for kind, name, build in entries():
        keras.backend.clear_session()
        try:
            model = build()
            config = json.loads(model.to_json())
        except Exception as error:  # noqa: BLE001 (whatever Keras says)
            found.append({"kind": kind, "name": name, "config": None, "why": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:100]}"})
            print(kind, name, found[-1]["why"])
            continue
        found.append({"kind": kind, "name": name, "config": config})
    OUT.write_bytes(gzip.compress(json.dumps(found).encode(), 9, mtime=0))
    print(len(found), OUT.stat().st_size)


if __name__ == "__main__":
    main()
