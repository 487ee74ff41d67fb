"""Writes special.json: what TensorFlow makes of NaN and the infinities, forward.

    .venv/bin/python crates/exec/tests/golden/make_special.py

The environment is that of make_ops.py. A case is an op in Plimsoll's JSON form, its inputs and its output; numbers
that JSON has no word for are strings.
"""

import json
import os
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import keras
import numpy as np
import tensorflow as tf

NAN, INF = float("nan"), float("inf")
# More than one vector of every processor, so that both ends of a loop are met.
NUMBERS = np.tile(np.array([NAN, INF, -INF, 0.0, -1.0, 2.0], np.float32), 7)
ROWS = np.array([[NAN, 1, 2], [1, NAN, 2], [1, 2, NAN], [INF, 1, 2], [1, -INF, 2], [-INF, -INF, -INF]], np.float32)
CASES = []


def number(value):
    return float(f"{value:.9g}") if np.isfinite(value) else str(value)


def tensor(array):
    array = np.asarray(array)
    return {"shape": list(array.shape), "element": "f32", "values": [number(value) for value in array.ravel()]}


def case(op, function, *inputs):
    output = function(*[tf.constant(array) for array in inputs])
    CASES.append({"op": op, "inputs": [tensor(array) for array in inputs], "output": tensor(tf.cast(output, tf.float32))})


def main():
    activations, math = keras.activations, tf.math
    for name, function in {
        "relu": activations.relu, "relu6": activations.relu6, "sigmoid": activations.sigmoid,
        "hard_sigmoid": activations.hard_sigmoid, "tanh": activations.tanh, "swish": activations.silu,
        "hard_swish": activations.hard_silu, "gelu": activations.gelu, "softplus": activations.softplus,
        "gelu_tanh": lambda x: activations.gelu(x, approximate=True),
        "exp": math.exp, "square": math.square, "abs": math.abs, "negate": math.negative,
        "log": math.log, "sqrt": math.sqrt, "rsqrt": math.rsqrt,
    }.items():
        case({"unary": name}, function, NUMBERS)
    for name, scalar, function in (
        ("leaky_relu", 0.2, lambda x: activations.leaky_relu(x, negative_slope=0.2)),
        ("elu", 1.0, activations.elu), ("add_scalar", 1.5, lambda x: x + 1.5),
        ("multiply_scalar", -2.5, lambda x: x * -2.5), ("maximum_scalar", 0.75, lambda x: tf.maximum(x, 0.75)),
        ("power_scalar", 3.0, lambda x: tf.pow(x, 3.0)),
    ):
        case({"unary": {name: scalar}}, function, NUMBERS)
    for name, function in {
        "add": math.add, "subtract": math.subtract, "multiply": math.multiply, "divide": math.divide,
        "maximum": math.maximum, "minimum": math.minimum, "greater_equal": math.greater_equal, "less": math.less,
    }.items():
        case({"binary": name}, function, NUMBERS, np.roll(NUMBERS, 1))
        case({"binary": name}, function, np.roll(NUMBERS, 2), NUMBERS)
    for name, function in {"sum": tf.reduce_sum, "mean": tf.reduce_mean, "max": tf.reduce_max}.items():
        for axis in (0, 1):
            op = {"reduce": {"reduction": name, "axes": [axis], "keep_axes": False}}
            case(op, lambda x, f=function, a=axis: f(x, axis=a), ROWS)
    case({"softmax": {}}, tf.nn.softmax, ROWS)
    case({"log_softmax": {}}, tf.nn.log_softmax, ROWS)
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in CASES)
    path = Path(__file__).with_name("special.json")
    path.write_text(f'{{"tensorflow":"{tf.__version__}","keras":"{keras.__version__}",\n"cases":[\n{lines}\n]}}\n')
    print(f"{path.name}: {len(CASES)} cases")


main()
