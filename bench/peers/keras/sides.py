"""The two sides of a comparison: Keras on TensorFlow, and the process that answers for Plimsoll."""

import json
import os
import pathlib
import re
import select
import subprocess
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import tensorflow as tf

tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)
# Rewriting graphs takes longer than running them, and changes only how numbers are rounded.
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
tf.get_logger().setLevel("ERROR")
warnings.simplefilter("ignore")

ROOT = pathlib.Path(__file__).resolve().parents[3]
IDS = 8  # every table of vectors has at least so many rows


class Invalid(Exception):
    """Keras itself cannot do it, or its numbers are not finite."""


def build(source, seed):
    """The model that some lines of Python make, with weights that are nowhere all equal."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    space = {"keras": keras, "L": keras.layers, "ops": keras.ops, "np": np}
    try:
        exec(source, space)
    except Exception as error:
        raise Invalid(f"{type(error).__name__}: {error}"[:300]) from None
    model = space["model"]
    random = np.random.default_rng(seed)
    for variable in model.weights:
        name = variable.path.rsplit("/", 1)[-1]
        if not keras.backend.is_float_dtype(variable.dtype) or name in ["mean", "variance", "count", "vector_u"]:
            continue
        noise = random.uniform(-0.2, 0.2, variable.shape)
        variable.assign(np.array(variable) + (abs(noise) if "variance" in name else noise))
    return model


def functional(model):
    """The functional model inside of a sequential one, which has what is asked for here."""
    return model._functional if isinstance(model, keras.Sequential) else model


def keyed(model):
    """The outputs of a model by name, if it gives a dictionary."""
    said = functional(model)._outputs_struct
    return said if isinstance(said, dict) else None


def names(model):
    """What the outputs are called, in the order in which Keras has them."""
    if keyed(model):
        return sorted(keyed(model))
    called = functional(model).output_names
    return [name if name not in called[:i] else f"{name}_{called[:i].count(name)}" for i, name in enumerate(called)]


def losses(model):
    """For each output the name of its loss in small letters, or nothing."""
    said, called = model._compile_loss._user_loss if model._compile_loss else None, names(model)
    if isinstance(said, dict):
        said = [said.get(name) for name in called]
    elif not isinstance(said, (list, tuple)):
        said = [said] * len(called)
    plain = lambda loss: "" if loss is None else loss if isinstance(loss, str) else getattr(loss, "__name__", None) or type(loss).__name__
    return [plain(loss).lower().replace("_", "") for loss in said]


def target(random, loss, shape, out_of=None):
    if "ctc" in loss:
        labels = random.integers(1, max(2, shape[-1]), (shape[0], max(1, shape[1] // 2)))
        return np.where(np.arange(labels.shape[1]) < random.integers(0, labels.shape[1] + 1, (shape[0], 1)), labels, 0).astype(np.int32)
    if "circle" in loss:
        return random.integers(0, 3, shape[:-1]).astype(np.int32)
    if "sparse" in loss or "generalized" in loss:
        return random.integers(0, shape[-1], shape[:-1]).astype(np.int32)
    if any(word in loss for word in ["categorical", "kl", "dice", "tversky"]):
        if random.integers(2):
            return np.eye(shape[-1], dtype=np.float32)[random.integers(0, shape[-1], shape[:-1])]
        y = random.uniform(0.1, 1, shape)
        return (y / y.sum(-1, keepdims=True)).astype(np.float32)
    if "hinge" in loss:
        return random.choice([-1.0, 1.0], shape).astype(np.float32)
    if "binary" in loss or loss == "bce":
        return random.integers(0, 2, shape).astype(np.float32)
    if any(word in loss for word in ["poisson", "logarithmic", "msle", "percentage", "mape"]):
        return random.uniform(0.2, 2, shape).astype(np.float32)
    return random.uniform(-1, 1, shape).astype(np.float32)


def samples(tensor, batch, random):
    """Numbers for an input: ids with padding, pixels where the name says so, steps that are all zero where it says so."""
    shape = (batch,) + tuple(tensor.shape[1:])
    if "int" in tensor.dtype:
        ids = random.integers(0, IDS, shape).astype(tensor.dtype)
        if len(shape) > 1:
            ids = np.where(np.arange(shape[-1]) < random.integers(0, shape[-1] + 1, shape[:-1] + (1,)), np.maximum(ids, 1), 0).astype(tensor.dtype)
            ids[0] = random.integers(0, IDS, shape[1:])
        return ids
    if tensor.dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if "pixels" in tensor.name:
        return random.integers(0, 256, shape).astype(np.float32)
    x = random.uniform(-1, 1, shape).astype(np.float32)
    if "padded" in tensor.name and len(shape) > 2:
        x[random.uniform(0, 1, shape[:2]) < 0.3] = 0
    return x


class Data:
    """A batch for a model: inputs, targets and weights of samples."""

    def __init__(self, model, batch, seed, weighted):
        random = np.random.default_rng(seed + 1)
        self.batch = batch
        self.x = [samples(tensor, batch, random) for tensor in model.inputs]
        self.fields = [field("input", tensor.name, x) for tensor, x in zip(model.inputs, self.x)]
        outputs = [keyed(model)[name] for name in names(model)] if keyed(model) else model.outputs
        self.y, self.weights = [], [] if weighted else None
        for name, tensor, loss in zip(names(model), outputs, losses(model)):
            y = target(random, loss, (batch,) + tuple(tensor.shape[1:]))
            self.y.append(y)
            if loss:
                self.fields.append(field("target", name, y))
            if weighted:
                w = random.uniform(0.1, 2, batch).astype(np.float32)
                # Keras wants as many axes as losses have; those that add up over axes have few.
                few = any(word in loss for word in ["dice", "tversky", "ctc"])
                self.weights.append(w.reshape((batch,) + (1,) * (0 if few else max(0, len(tensor.shape) - 2))))
                if loss:
                    self.fields.append(field("sample_weight", name, w))
        if keyed(model):
            self.y = dict(zip(names(model), self.y))
            self.weights = dict(zip(names(model), self.weights)) if weighted else None
        elif len(self.y) == 1:
            self.y, self.weights = self.y[0], self.weights[0] if weighted else None

    def inputs(self, model):
        """In the form in which the model takes them."""
        struct = functional(model)._inputs_struct
        if isinstance(struct, dict):
            called = [tensor.name for tensor in model.inputs]
            return {key: self.x[called.index(tensor.name)] for key, tensor in struct.items()}
        return self.x if len(self.x) > 1 else self.x[0]


def field(kind, name, array):
    whole = np.issubdtype(array.dtype, np.integer) or array.dtype == bool
    numbers = [int(x) if whole else float(x) for x in array.ravel()]
    return {"kind": kind, "name": name, "shape": list(array.shape[1:]), "integers" if whole else "floats": numbers}


def flat(outputs):
    return [np.array(output, dtype=np.float64).ravel() for output in keras.tree.flatten(outputs)]


def predictions(model, data):
    return flat(model(data.inputs(model), training=False))


EAGERLY = True  # op by op: the same numbers as those of a graph, without seconds of tracing; what differs is judged again by a graph


def train(model, data, steps):
    """The loss of each step before its update, as `fit` would tell it."""
    model.jit_compile, model.run_eagerly = False, EAGERLY
    told = []
    for _ in range(steps):
        model.reset_metrics()
        logs = model.train_on_batch(data.inputs(model), data.y, sample_weight=data.weights, return_dict=True)
        told.append(float(logs["loss"]))
    return told


def finish(model):
    """What `fit` does at its end: averages of weights become the weights."""
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    if optimizer.use_ema:
        optimizer.finalize_variable_values(model.trainable_variables)


def evaluate(model, data):
    model.jit_compile, model.run_eagerly = False, EAGERLY
    model.reset_metrics()
    return float(model.test_on_batch(data.inputs(model), data.y, sample_weight=data.weights, return_dict=True)["loss"])


def weights(model):
    return {f"{position} {v.path}": np.array(v, dtype=np.float64) for position, v in enumerate(model.weights) if "seed_generator" not in v.path}


def optimizer_variables(model):
    if not model.optimizer or not model.optimizer.built:
        return {}
    # Some have no name but a number that goes on from model to model.
    path = lambda v: re.sub(r"^variable(_\d+)?$", "variable", v.path)
    return {f"{position} {path(v)}": np.array(v, dtype=np.float64) for position, v in enumerate(model.optimizer.variables)}


def counts(model):
    size = lambda variables: int(sum(np.prod(v.shape) for v in variables if "seed_generator" not in v.path))
    return [size(model.trainable_weights), size(model.non_trainable_weights)]


def is_random(model):
    """Whether training draws random numbers."""
    for layer in model._flatten_layers():
        drawn = [getattr(layer, key, 0) for key in ["rate", "stddev", "dropout", "recurrent_dropout", "_dropout", "seed_dropout"]]
        if any(isinstance(x, (int, float)) and x > 0 for x in drawn) or type(layer).__name__.startswith("Random"):
            return True
    return False


class Ours:
    """The process that answers; it is started again when it has died."""

    def __init__(self, program=None, seconds=120):
        self.program = str(program or ROOT / "target/debug/examples/differ")
        self.seconds, self.process = seconds, None

    def ask(self, case):
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.process.stdin.write(json.dumps(case).encode() + b"\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
            line = self.process.stdout.readline() if ready else None
        except BrokenPipeError:
            line = b""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        self.process = None
        what = f"no answer in {self.seconds} s" if line is None else "the process died"
        return {"outcome": "panic", "refused": {"stage": "process", "message": what}, "predictions": [], "losses": [], "notes": [], "ways": {}, "evaluated": None, "counts": None}
