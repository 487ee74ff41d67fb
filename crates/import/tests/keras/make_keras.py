"""Makes the golden data for the Keras importer: configurations, parameter counts, and what Keras computes.

    /path/to/python make_keras.py [applications|families|layers|files|operations ...]
    /path/to/python make_keras.py remake NAME ...     # some of the layers

Weights are not stored: they follow from their path in Keras's weights file by a rule that `rule.rs` repeats.
"""

import gzip
import json
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py
import keras
import numpy as np
import tensorflow as tf
from keras import applications, layers, ops

HERE = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1

APPLICATIONS = """
MobileNet MobileNetV2 MobileNetV3Small MobileNetV3Large EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4
EfficientNetB5 EfficientNetB6 EfficientNetB7 EfficientNetV2B0 EfficientNetV2B1 EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2S
EfficientNetV2M EfficientNetV2L DenseNet121 DenseNet169 DenseNet201 InceptionV3 InceptionResNetV2 Xception ResNet50 ResNet101 ResNet152
ResNet50V2 ResNet101V2 ResNet152V2 VGG16 VGG19 ConvNeXtTiny ConvNeXtSmall ConvNeXtBase ConvNeXtLarge ConvNeXtXLarge NASNetMobile NASNetLarge
""".split()

# One of each family, with the smallest images it takes.
FAMILIES = {
    "MobileNet": 32, "MobileNetV2": 32, "MobileNetV3Small": 32, "EfficientNetB0": 32, "EfficientNetV2B0": 32, "DenseNet121": 32,
    "InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71, "ResNet50": 32, "ResNet50V2": 32, "VGG16": 32, "ConvNeXtTiny": 32,
    "NASNetMobile": 32,
}


def fnv(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def hashes(seed, count):
    """SplitMix64 of the seed and each index."""
    with np.errstate(over="ignore"):
        golden = np.uint64(0x9E3779B97F4A7C15)
        z = (np.uint64(seed) * golden + np.arange(count, dtype=np.uint64)) * golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def units(name, count):
    """Numbers in [-1, 1) that belong to a name."""
    return (hashes(fnv(name), count) >> np.uint64(40)).astype(np.float64) / (1 << 24) * 2 - 1


def rule(path, name, shape, gain=1.0):
    """The contents of a weight; kernels are multiplied by the gain."""
    count = int(np.prod(shape, dtype=np.int64))
    fan = 1
    if len(shape) > 1:
        fan = shape[0] * shape[1] if len(shape) == 4 and shape[3] == 1 else count // shape[-1]
    centre, scale = {
        "gamma": (1.0, 0.2), "scale": (1.0, 0.2), "beta": (0.0, 0.2), "moving_mean": (0.0, 0.1), "moving_variance": (1.0, 0.3), "variance": (1.0, 0.3),
        "mean": (0.0, 0.1), "embeddings": (0.0, 1.0), "alpha": (0.2, 0.1),
    }.get(name, (0.0, gain * (3 / fan) ** 0.5) if len(shape) > 1 and "bias" not in name else (0.0, 0.1))
    return (centre + scale * units(path, count)).reshape(shape).astype(np.float32)


def paths(model):
    """Each variable by its path in a weights file, found by writing numbers into it."""
    variables = model.weights
    before = [np.array(variable) for variable in variables]
    for number, variable in enumerate(variables):
        variable.assign(np.full(variable.shape, number, dtype=variable.dtype))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "t.weights.h5")
        model.save_weights(file)
        with h5py.File(file) as h5:
            def visit(path, item):
                if isinstance(item, h5py.Dataset):
                    found[path] = variables[int(np.ravel(item[...])[0])]
            h5.visititems(visit)
    for variable, contents in zip(variables, before):
        variable.assign(contents)
    return found


def set_weights(model, gain=1.0):
    for path, variable in paths(model).items():
        if variable.dtype == "float32":
            layer, name = variable.path.split("/")[-2:]
            # ConvNeXt's layer scales do not name their weights.
            name = "gamma" if layer.endswith("layer_scale") else name
            variable.assign(rule(path, name, tuple(variable.shape), gain))
    for layer in model.layers:
        if isinstance(layer, layers.Normalization) and layer.input_mean is None:
            # What it computes with follows from its weights when they are loaded.
            layer.finalize_state()


def telling_gain(model, pixels):
    """A gain with which predictions depend on the sample, and are not all 0 and 1."""
    set_weights(model)
    kernels = [v for v in model.weights if len(v.shape) > 1 and "bias" not in v.path.split("/")[-1]]
    base = [np.array(kernel) for kernel in kernels]
    for gain in [0.7, 0.85, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.2, 2.4, 2.6, 3.0, 3.5, 4.0]:
        for kernel, contents in zip(kernels, base):
            kernel.assign(contents * gain)
        first, second = np.array(predictions(model, pixels=pixels)[0]).reshape(2, -1)
        difference, largest = np.abs(first - second).max(), max(first.max(), second.max())
        print("  gain", gain, difference, largest, flush=True)
        if difference > 0.005 and largest < 0.99:
            return gain
    raise ValueError("no gain tells anything")


def samples(position, tensor, batch, pixels=False):
    shape = (batch,) + tuple(tensor.shape[1:])
    name = "x" if position == 0 else f"x{position}"
    count = int(np.prod(shape))
    if "ids" in tensor.name or "int" in tensor.dtype:
        return (hashes(fnv(name), count) % np.uint64(5)).astype(np.int32).reshape(shape)
    numbers = units(name, count).reshape(shape)
    return (numbers * 127.5 + 127.5 if pixels else numbers).astype(np.float32)


def listed(outputs):
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [[float(f"{x:.8g}") for x in np.ravel(np.array(output, dtype=np.float64))] for output in outputs]


def predictions(model, batch=2, pixels=False, training=False):
    inputs = [samples(i, tensor, batch, pixels) for i, tensor in enumerate(model.inputs)]
    return listed(model(inputs if len(inputs) > 1 else inputs[0], training=training))


def store(name, text):
    with gzip.GzipFile(HERE / f"{name}.json.gz", "wb", 9, mtime=0) as file:
        file.write(text.encode())


def counts(model):
    learned = sum(int(np.prod(v.shape)) for v in model.trainable_weights)
    return {"parameters": model.count_params(), "trainable": learned}


def make_applications(golden):
    golden["applications"] = {}
    for name in APPLICATIONS:
        keras.backend.clear_session()
        model = getattr(applications, name)(weights=None)
        store(f"applications/{name}", model.to_json())
        golden["applications"][name] = {**counts(model), "inputs": list(model.inputs[0].shape[1:])}
        print(name, golden["applications"][name], flush=True)


def make_families(golden):
    golden["families"] = {}
    for name, size in FAMILIES.items():
        keras.backend.clear_session()
        model = getattr(applications, name)(weights=None, input_shape=(size, size, 3), classes=10)
        store(f"families/{name}", model.to_json())
        pixels = any(isinstance(layer, (layers.Rescaling, layers.Normalization)) for layer in model.layers)
        gain = telling_gain(model, pixels)
        set_weights(model, gain)
        golden["families"][name] = {**counts(model), "gain": gain, "pixels": pixels, "predictions": predictions(model, pixels=pixels)}
        print(name, golden["families"][name], flush=True)


def gradients(model, pixels=False, batch=2, watched=True):
    """The gradients of the sum of all outputs, each times numbers of its own, in training."""
    inputs = [tf.constant(samples(i, tensor, batch, pixels)) for i, tensor in enumerate(model.inputs)]
    floats = [x for x in inputs if x.dtype.is_floating and watched]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        outputs = model(inputs if len(inputs) > 1 else inputs[0], training=True)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        loss = 0.0
        for number, output in enumerate(outputs):
            factors = units(f"dy{number}", int(np.prod(output.shape))).reshape(output.shape).astype(np.float32)
            loss += tf.reduce_sum(tf.cast(output, "float32") * factors)
    wanted = {("x" if i == 0 else f"x{i}"): x for i, x in enumerate(inputs) if any(x is y for y in floats)}
    learned = {id(variable) for variable in model.trainable_variables}
    wanted.update({path: variable.value for path, variable in paths(model).items() if id(variable) in learned})
    try:
        found = tape.gradient(loss, wanted)
    except LookupError:  # what counts integers has no gradient in TensorFlow
        return gradients(model, pixels, batch, watched=False)
    return {name: listed(tf.convert_to_tensor(gradient))[0] for name, gradient in sorted(found.items()) if gradient is not None}


from make_layers import DIFFERENTIATED, LAYERS, TRAINED  # noqa: E402


def forget(model):
    """Sets what goes on from batch to batch to zeros."""
    for layer in model._flatten_layers():
        if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
            layer.reset_state()


def layer_case(model, differentiated, trained=False):
    set_weights(model)
    pixels = any("pixels" in tensor.name for tensor in model.inputs)
    case = {**counts(model), "predictions": predictions(model, pixels=pixels)}
    if any(getattr(layer, "stateful", False) for layer in model.layers):
        case["next"] = predictions(model, pixels=pixels)
        forget(model)
    if pixels:
        case["pixels"] = True
    if trained:
        case["trained"] = predictions(model, pixels=pixels, training=True)
    if differentiated:
        case["gradients"] = gradients(model, pixels)
    return case


def make_layers(golden, names=()):
    golden.setdefault("layers", {})
    for name, build in {**LAYERS, **DIFFERENTIATED, **TRAINED}.items():
        if names and name not in names:
            continue
        keras.backend.clear_session()
        model = build()
        store(f"layers/{name}", model.to_json())
        golden["layers"][name] = layer_case(model, name in DIFFERENTIATED, name in TRAINED)
        print(name, golden["layers"][name]["parameters"], flush=True)


def remake_layers(names):
    """Only these, into the data that is there: make_keras.py remake NAME ..."""
    golden = {"layers": json.loads((HERE / "layers.json").read_text())}
    make_layers(golden, names)
    order = {name: place for place, name in enumerate({**LAYERS, **DIFFERENTIATED, **TRAINED})}
    golden["layers"] = dict(sorted(golden["layers"].items(), key=lambda case: order[case[0]]))
    (HERE / "layers.json").write_text(json.dumps(golden["layers"], indent=1) + "\n")


def make_random(golden):
    """Layers with settings drawn at random, for `examples/compare_keras.rs`: make_keras.py random FOLDER COUNT SEED [KIND ...]."""
    import random_layers
    folder, count, seed = pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    cases = {}
    for number in range(count):
        keras.backend.clear_session()
        name, model = random_layers.draw(seed * 100_000 + number, sys.argv[5:])
        name = f"{number:04}-{name}"
        (folder / f"{name}.json").write_text(model.to_json())
        cases[name] = layer_case(model, random_layers.differentiable(name))
        # TensorFlow may end the process, and what was made stays useful.
        (folder / "cases.json").write_text(json.dumps(cases))
    print(len(cases), "cases")


def make_files(golden):
    import make_files
    make_files.make(golden, HERE, set_weights, predictions, units, hashes, fnv)


def make_operations():
    import make_operations
    make_operations.make(HERE / "operations.json.gz", set_weights, samples, units)


def main():
    if sys.argv[1:2] == ["random"]:
        return make_random({})
    if sys.argv[1:2] == ["remake"]:
        return remake_layers(sys.argv[2:])
    for kind in sys.argv[1:] or ["applications", "families", "layers", "files", "operations"]:
        if kind == "operations":
            make_operations()
            continue
        (HERE / kind).mkdir(exist_ok=True)
        golden = {}
        globals()[f"make_{kind}"](golden)
        (HERE / f"{kind}.json").write_text(json.dumps(golden[kind], indent=1) + "\n")


if __name__ == "__main__":
    main()
