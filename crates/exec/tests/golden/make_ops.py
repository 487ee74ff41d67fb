"""Writes ops.json: what TensorFlow and Keras compute for small inputs of every op, and their gradients.

    python3 -m venv .venv && .venv/bin/pip install tensorflow-cpu==2.21.0 keras==3.15.1
    .venv/bin/python crates/exec/tests/golden/make_ops.py

A case is a chain of ops in Plimsoll's JSON form: the first takes all inputs, each other one the first output
before it. `gradients` are those of sum(output * weights) with respect to each input, null where there is none.
"""

import json
import os
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
# The plain kernels of TensorFlow, not those of another library, so that the numbers do not depend on the processor.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import keras
import numpy as np
import tensorflow as tf

RANDOM = np.random.default_rng(20)
CASES = []
UPDATES = []


def uniform(*shape, low=-1.0, high=1.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def rounded(values):
    """Nine significant digits name a float32 exactly."""
    return [float(f"{value:.9g}") for value in np.asarray(values, np.float64).ravel()]


def tensor(array):
    array = np.asarray(array)
    if array.dtype == np.int32:
        return {"shape": list(array.shape), "element": "i32", "values": array.ravel().tolist()}
    assert array.dtype == np.float32 and np.isfinite(array).all(), array
    assert array.size <= 200, array.shape
    return {"shape": list(array.shape), "element": "f32", "values": rounded(array)}


def case(test, ops, function, *inputs, fixed=()):
    """Adds a case: `function` of the inputs is what the ops compute; inputs at `fixed` positions carry no gradient."""
    ops = ops if isinstance(ops, list) else [ops]
    variables = [tf.constant(array) for array in inputs]
    watched = [i for i, array in enumerate(inputs) if array.dtype == np.float32 and i not in fixed]
    with tf.GradientTape() as tape:
        for i in watched:
            tape.watch(variables[i])
        output = function(*variables)
        weights = uniform(*output.shape)
        loss = tf.reduce_sum(output * weights)
    found = tape.gradient(loss, [variables[i] for i in watched])
    gradients = [None] * len(inputs)
    for i, gradient in zip(watched, found):
        gradients[i] = tensor(tf.convert_to_tensor(gradient).numpy())
    CASES.append({
        "test": test,
        "ops": ops,
        "inputs": [tensor(array) for array in inputs],
        "output": tensor(output.numpy()),
        "weights": tensor(weights),
        "gradients": gradients,
    })


def sliding(strides=(1, 1), dilation=(1, 1), padding="valid"):
    return {"strides": list(strides), "dilation": list(dilation), "padding": padding}


def conv2d():
    def grouped(x, filters, groups, **how):
        # TensorFlow has no gradient of grouped convolutions on CPU; this is their definition.
        parts = zip(tf.split(x, groups, -1), tf.split(filters, groups, -1))
        return tf.concat([tf.nn.conv2d(x, part, **how) for x, part in parts], -1)

    def dilated(x, filters, dilation, padding):
        # Nor one of dilated convolutions: a filter with zeros in between is the same.
        rows, columns = (np.eye((k - 1) * d + 1, dtype=np.float32)[::d] for k, d in zip(filters.shape[:2], dilation))
        return tf.nn.conv2d(x, tf.einsum("kr,ls,klcf->rscf", rows, columns, filters), 1, padding)

    image = uniform(1, 5, 6, 2)
    for padding in ("valid", "same"):
        for strides in ((1, 1), (2, 3)):
            op = {"conv2d": {"sliding": sliding(strides, padding=padding), "groups": 1}}
            case("conv2d", op,
                 lambda x, f: tf.nn.conv2d(x, f, strides, padding.upper()), image, uniform(3, 2, 2, 3))
        dilation, filters = (2, 3), uniform(2, 2, 2, 2)
        op = {"conv2d": {"sliding": sliding(dilation=dilation, padding=padding), "groups": 1}}
        forward = tf.nn.conv2d(image, filters, 1, padding.upper(), dilations=dilation)
        assert np.allclose(forward, dilated(image, filters, dilation, padding.upper()), atol=1e-5)
        case("conv2d", op, lambda x, f: dilated(x, f, dilation, padding.upper()), image, filters)
    image = uniform(1, 4, 4, 4)
    for groups, filters in ((2, 6), (4, 4)):
        op = {"conv2d": {"sliding": sliding((2, 2), padding="same"), "groups": groups}}
        case("conv2d", op, lambda x, f: grouped(x, f, groups, strides=2, padding="SAME"),
             image, uniform(3, 3, 4 // groups, filters))
    before, after = [2, 1], [0, 3]
    padding = {"explicit": {"before": before, "after": after}}
    case("conv2d", {"conv2d": {"sliding": sliding((2, 2), padding=padding), "groups": 1}},
         lambda x, f: tf.nn.conv2d(x, f, 2, [[0, 0], *map(list, zip(before, after)), [0, 0]]),
         image, uniform(3, 3, 4, 2))


def depthwise_conv2d():
    image = uniform(1, 5, 5, 2)
    for multiplier in (1, 2):
        for strides, padding in ((1, "valid"), (1, "same"), (2, "same")):
            op = {"depthwise_conv2d": {"sliding": sliding((strides, strides), padding=padding)}}
            case("depthwise_conv2d", op,
                 lambda x, f: tf.nn.depthwise_conv2d(x, f, [1, strides, strides, 1], padding.upper()),
                 image, uniform(3, 3, 2, multiplier))


def transposed_conv2d():
    for strides, padding, size in (((1, 1), "valid", (5, 4)), ((2, 2), "same", (6, 4)), ((2, 2), "same", (5, 3)),
                                   ((2, 3), "valid", (7, 7))):
        window = (3, 2)
        reach = [s - k for s, k in zip(size, window)]
        small = [-(-s // d) if padding == "same" else r // d + 1 for s, d, r in zip(size, strides, reach)]
        conv = {"sliding": sliding(strides, padding=padding), "groups": 1}
        case("transposed_conv2d", {"transposed_conv2d": {"conv": conv, "size": list(size)}},
             lambda x, f: tf.nn.conv2d_transpose(x, f, (2, *size, 2), strides, padding.upper()),
             uniform(2, *small, 3), uniform(*window, 2, 3))


def matmul():
    for a, b in (((4, 3), (3, 5)), ((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (4, 5))):
        for transpose_a, transpose_b in ((False, False), (False, True), (True, False), (True, True)):
            if transpose_a and len(a) != len(b):
                continue
            turned = [(*shape[:-2], shape[-1], shape[-2]) if turn else shape
                      for shape, turn in ((a, transpose_a), (b, transpose_b))]
            op = {"matmul": {"transpose_a": transpose_a, "transpose_b": transpose_b}}
            case("matmul", op,
                 lambda a, b: tf.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b),
                 uniform(*turned[0]), uniform(*turned[1]))


def pool2d():
    for pool, function in (("max", tf.nn.max_pool2d), ("average", tf.nn.avg_pool2d)):
        for window, strides, padding in (((2, 2), (2, 2), "valid"), ((3, 3), (2, 2), "same"), ((2, 3), (1, 2), "same")):
            op = {"pool2d": {"pool": pool, "window": list(window), "sliding": sliding(strides, padding=padding)}}
            case("pool2d", op, lambda x: function(x, window, strides, padding.upper()), uniform(1, 5, 6, 2))


def with_weights(layer, weights, call):
    """Calls a layer with tensors in place of its weights."""
    scope = keras.StatelessScope(state_mapping=list(zip(layer.weights, weights, strict=True)))
    with scope:
        return call()


def batch_norm():
    for shape in ((3, 2, 3, 4), (12, 3)):
        channels = shape[-1]
        layer = keras.layers.BatchNormalization(epsilon=1e-3)
        layer.build(shape)
        x = uniform(*shape, low=-2, high=3)
        scale, shift = uniform(channels, low=0.5, high=2), uniform(channels)
        mean, variance = uniform(channels), uniform(channels, low=0.5, high=2)

        def normalize(training, x, gamma, beta, mean, variance):
            weights = [gamma, beta, mean, variance]
            return with_weights(layer, weights, lambda: layer(x, training=training))

        case("batch_norm", {"batch_norm": {"epsilon": 1e-3}},
             lambda x, gamma, beta: normalize(True, x, gamma, beta, mean, variance), x, scale, shift)
        case("batch_norm", {"batch_norm_inference": {"epsilon": 1e-3}},
             lambda *inputs: normalize(False, *inputs), x, scale, shift, mean, variance, fixed=(3, 4))


def layer_norm():
    for shape in ((4, 6), (2, 3, 5)):
        layer = keras.layers.LayerNormalization(epsilon=1e-3)
        layer.build(shape)
        case("layer_norm", {"layer_norm": {"epsilon": 1e-3}},
             lambda x, gamma, beta: with_weights(layer, [gamma, beta], lambda: layer(x)),
             uniform(*shape, low=-2, high=3), uniform(shape[-1], low=0.5, high=2), uniform(shape[-1]))


def unary():
    activations, math = keras.activations, tf.math
    anywhere = {
        "relu": activations.relu, "relu6": activations.relu6, "sigmoid": activations.sigmoid,
        "hard_sigmoid": activations.hard_sigmoid, "tanh": activations.tanh, "swish": activations.silu,
        "hard_swish": activations.hard_silu, "gelu": activations.gelu,
        "gelu_tanh": lambda x: activations.gelu(x, approximate=True),
        "exp": math.exp, "square": math.square, "abs": math.abs, "negate": math.negative,
    }
    positive = {"log": math.log, "sqrt": math.sqrt, "rsqrt": math.rsqrt}
    scalars = [
        ("leaky_relu", 0.2, lambda x: activations.leaky_relu(x, negative_slope=0.2)),
        ("elu", 1.0, activations.elu), ("elu", 0.5, lambda x: activations.elu(x, alpha=0.5)),
        ("add_scalar", 1.5, lambda x: x + 1.5), ("multiply_scalar", -2.5, lambda x: x * -2.5),
        ("maximum_scalar", 0.75, lambda x: tf.maximum(x, 0.75)), ("power_scalar", 3.0, lambda x: tf.pow(x, 3.0)),
        ("huber", 1.5, lambda x: keras.losses.huber(tf.zeros_like(x)[..., None], x[..., None], delta=1.5)),
    ]
    wide = uniform(3, 7, low=-8, high=8)
    for name, function in anywhere.items():
        case("unary", {"unary": name}, function, np.minimum(wide, 3) if name == "exp" else wide)
    for name, function in positive.items():
        case("unary", {"unary": name}, function, uniform(3, 5, low=0.1, high=5))
    for name, scalar, function in scalars:
        case("unary", {"unary": {name: scalar}}, function, np.clip(wide, -3, 3) if name == "power_scalar" else wide)
    case("unary", {"unary": {"power_scalar": -0.5}}, lambda x: tf.pow(x, -0.5), uniform(3, 5, low=0.1, high=5))


def softmax():
    for shape in ((3, 5), (2, 2, 4)):
        x = uniform(*shape, low=-5, high=5)
        case("softmax", {"softmax": {}}, tf.nn.softmax, x)
        case("softmax", {"log_softmax": {}}, tf.nn.log_softmax, x)


def upsample2d():
    for interpolation in ("nearest", "bilinear"):
        for factor in ((2, 2), (2, 3)):
            layer = keras.layers.UpSampling2D(factor, interpolation=interpolation)
            case("upsample2d", {"upsample2d": {"interpolation": interpolation, "factor": list(factor)}},
                 layer, uniform(1, 3, 4, 2))


def embedding():
    ids = np.array([[1, 4, 1], [0, 4, 1]], np.int32)
    case("embedding", {"embedding": {}}, tf.nn.embedding_lookup, uniform(6, 4), ids)


MASK = np.array([[1, 1, 0, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0]], np.float32)


def lstm():
    """The layer's kernel is the identity and its bias 0, so its input is what Plimsoll calls the projection."""
    units = 3
    for backwards in (False, True):
        layer = keras.layers.LSTM(units, return_sequences=True, go_backwards=backwards)
        layer.build((3, 5, 4 * units))

        def run(projected, recurrent, mask=None):
            weights = [tf.eye(4 * units), recurrent, tf.zeros(4 * units)]
            seen = None if mask is None else mask != 0
            h = with_weights(layer, weights, lambda: layer(projected, mask=seen))
            # Keras gives results in the order of time, Plimsoll at the positions they belong to.
            return tf.reverse(h, [1]) if backwards else h

        inputs = uniform(3, 5, 4 * units, low=-2, high=2), uniform(units, 4 * units)
        case("lstm", {"lstm": {"reverse": backwards}}, run, *inputs)
        case("lstm", {"lstm": {"reverse": backwards}}, run, *inputs, MASK, fixed=(2,))


def gru():
    """As for the LSTM; the first row of Keras's bias belongs to the projection, the second is the recurrent bias."""
    units = 3
    for backwards in (False, True):
        layer = keras.layers.GRU(units, return_sequences=True, go_backwards=backwards, reset_after=True)
        layer.build((3, 5, 3 * units))

        def run(projected, recurrent, bias, mask=None):
            weights = [tf.eye(3 * units), recurrent, tf.stack([tf.zeros(3 * units), bias])]
            seen = None if mask is None else mask != 0
            h = with_weights(layer, weights, lambda: layer(projected, mask=seen))
            return tf.reverse(h, [1]) if backwards else h

        inputs = uniform(3, 5, 3 * units, low=-2, high=2), uniform(units, 3 * units), uniform(3 * units)
        case("gru", {"gru": {"reverse": backwards}}, run, *inputs)
        case("gru", {"gru": {"reverse": backwards}}, run, *inputs, MASK, fixed=(3,))


def attention():
    def attend(causal, scale, q, k, v, mask=None):
        seen = None if mask is None else mask[:, None, None, :] != 0
        if causal and seen is not None:
            seen = seen & (tf.range(q.shape[1])[:, None] >= tf.range(k.shape[1])[None])
        return keras.ops.dot_product_attention(
            q, k, v, mask=seen, scale=scale, is_causal=causal and seen is None, flash_attention=False)

    mask = np.array([[1, 0, 1, 1], [1, 1, 1, 0]], np.float32)
    for t, causal in ((3, False), (4, False), (4, True)):
        scale = 0.6
        inputs = uniform(2, t, 2, 3, low=-2, high=2), uniform(2, 4, 2, 3, low=-2, high=2), uniform(2, 4, 2, 4)
        op = {"attention": {"scale": scale, "causal": causal}}
        case("attention", op, lambda *inputs: attend(causal, scale, *inputs), *inputs)
        case("attention", op, lambda *inputs: attend(causal, scale, *inputs), *inputs, mask, fixed=(3,))


def cross_entropy():
    rows, classes = 6, 5
    logits = uniform(rows, classes, low=-4, high=4)
    probabilities = tf.nn.softmax(logits).numpy()
    unnormalized = uniform(rows, classes, low=0.05, high=0.95)
    clipped = probabilities.copy()
    clipped[0], clipped[1, :2] = [0, 1, 0, 0, 0], 0
    ids = np.array([1, 0, 4, 2, 2, 3], np.int32)
    one_hot = np.eye(classes, dtype=np.float32)[ids]
    soft = tf.nn.softmax(uniform(rows, classes, low=-2, high=2)).numpy()
    yes_no = RANDOM.integers(0, 2, (rows, classes)).astype(np.float32)
    losses = keras.losses
    for predictions, from_logits in ((logits, True), (probabilities, False), (unnormalized, False), (clipped, False)):
        for targets, function, truths in (("sparse", losses.sparse_categorical_crossentropy, [ids]),
                                          ("categorical", losses.categorical_crossentropy, [one_hot, soft]),
                                          ("binary", losses.binary_crossentropy, [yes_no, soft])):
            if targets == "binary" and predictions is clipped:
                # In float32 1 - (1 - 1e-7) is 1.2e-7, and so would be the loss: not the formula but its rounding.
                predictions = np.minimum(clipped, np.float32(0.9))
            for truth in truths:
                case("cross_entropy", {"cross_entropy": {"targets": targets, "from_logits": from_logits}},
                     lambda p, t: function(t, p, from_logits=from_logits), predictions, truth, fixed=(1,))


def distances():
    """Losses that are several ops."""
    mean = {"reduce": {"reduction": "mean", "axes": [1], "keep_axes": False}}
    losses = keras.losses
    for name, function in (("square", losses.mean_squared_error), ("abs", losses.mean_absolute_error),
                           ({"huber": 0.7}, lambda t, p: losses.huber(t, p, delta=0.7))):
        case("distances", [{"binary": "subtract"}, {"unary": name}, mean],
             lambda p, t: function(t, p), uniform(4, 5, low=-2, high=2), uniform(4, 5, low=-2, high=2), fixed=(1,))


def update():
    """Three steps of each optimizer on one vector."""
    optimizers, rate = keras.optimizers, 0.05
    moving = lambda nesterov: {"rule": {"momentum": {"momentum": 0.9, "nesterov": nesterov}}}
    rms_prop = {"rho": 0.9, "epsilon": 1e-7, "momentum": 0.0, "centered": False}
    adam = {"rule": {"adam": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7, "amsgrad": False}}}
    for update, optimizer in (
        ({"rule": "sgd"}, optimizers.SGD(rate)),
        (moving(False), optimizers.SGD(rate, momentum=0.9)),
        (moving(True), optimizers.SGD(rate, momentum=0.9, nesterov=True)),
        ({"rule": {"rms_prop": rms_prop}}, optimizers.RMSprop(rate, rho=0.9)),
        (adam, optimizers.Adam(rate)),
        ({**adam, "weight_decay": 0.04}, optimizers.AdamW(rate, weight_decay=0.04)),
    ):
        start, gradients = uniform(7, low=-2, high=2), [uniform(7) for _ in range(3)]
        variable = keras.Variable(start)
        optimizer.build([variable])
        after = []
        for gradient in gradients:
            optimizer.apply([tf.constant(gradient)])
            after.append(tensor(variable.numpy()))
        UPDATES.append({
            "op": {"update": update},
            "learning_rate": rate,
            "parameter": tensor(start),
            "gradients": [tensor(gradient) for gradient in gradients],
            "after": after,
        })


def main():
    for add in (conv2d, depthwise_conv2d, transposed_conv2d, matmul, pool2d, batch_norm, layer_norm, unary, softmax,
                upsample2d, embedding, lstm, gru, attention, cross_entropy, distances, update):
        add()
    lines = lambda items: ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)
    text = (f'{{"tensorflow":"{tf.__version__}","keras":"{keras.__version__}",\n'
            f'"cases":[\n{lines(CASES)}\n],\n"updates":[\n{lines(UPDATES)}\n]}}\n')
    path = Path(__file__).with_name("ops.json")
    path.write_text(text)
    print(f"{path}: {len(CASES)} cases, {len(UPDATES)} updates, {len(text)} bytes")


main()
