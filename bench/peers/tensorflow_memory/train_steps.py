#!/usr/bin/env python3
"""Three training steps of one model in TensorFlow, with marks around each for the allocation trace of bfctrace.c."""
import argparse
import ctypes
import os

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--size", type=int, required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--opt", default="adam")
parser.add_argument("--precision", default="float32")
parser.add_argument("--mode", default="graph", choices=["graph", "eager", "keras"])
parser.add_argument("--accum", type=int, default=0)
parser.add_argument("--onednn", type=int, default=0)
parser.add_argument("--threads", type=int, default=1, help="0 leaves it to TensorFlow")
parser.add_argument("--jit", type=int, default=0, help="compile the step by XLA")
args = parser.parse_args()

os.environ["TF_ENABLE_ONEDNN_OPTS"] = str(args.onednn)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import tensorflow as tf
from keras import layers as L

tf.config.threading.set_inter_op_parallelism_threads(args.threads)
tf.config.threading.set_intra_op_parallelism_threads(args.threads)
keras.utils.set_random_seed(0)
keras.mixed_precision.set_global_policy(args.precision)

CLASSES, VOCABULARY = 10, 10000


def application(name, size):
    builders = {
        "resnet50": keras.applications.ResNet50,
        "mobilenetv2": keras.applications.MobileNetV2,
        "mobilenetv3large": keras.applications.MobileNetV3Large,
        "efficientnetb0": keras.applications.EfficientNetB0,
        "densenet121": keras.applications.DenseNet121,
        "vgg16": keras.applications.VGG16,
    }
    return builders[name](input_shape=(size, size, 3), weights=None, classes=CLASSES)


def recurrent(layer, size):
    return keras.Sequential(
        [
            keras.Input((size,), dtype="int32"),
            L.Embedding(VOCABULARY, 128),
            layer,
            L.Dense(64, activation="relu"),
            L.Dense(CLASSES, activation="softmax", dtype="float32"),
        ]
    )


def transformer(size, dropout):
    width, heads = 256, 8
    tokens = keras.Input((size,), dtype="int32")
    x = L.Embedding(VOCABULARY, width)(tokens)
    drop = (lambda y: L.Dropout(dropout)(y)) if dropout else (lambda y: y)
    for _ in range(4):
        y = drop(L.MultiHeadAttention(heads, width // heads, dropout=dropout)(x, x))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        y = L.Dense(1024, activation="relu")(x)
        y = drop(L.Dense(width)(y))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def separable(size):
    x = image = keras.Input((size, size, 3))
    x = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    for filters in (64, 128, 256):
        y = L.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
        y = L.Conv2D(filters, 1, use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        x = L.MaxPooling2D(2)(y)
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(image, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def deep(size):
    layers = [L.Dense(512, activation="relu") for _ in range(6)]
    return keras.Sequential([keras.Input((size,)), *layers, L.Dense(CLASSES, activation="softmax", dtype="float32")])


def gated(size):
    x = image = keras.Input((size, size, 3))
    for filters in (32, 64):
        x = L.Conv2D(filters, 3, padding="same", activation="silu")(x)
        gate = L.GlobalAveragePooling2D(keepdims=True)(x)
        gate = L.Conv2D(filters, 1, activation="sigmoid")(gate)
        x = L.AveragePooling2D(2)(L.Multiply()([x, gate]))
    x = L.Dropout(0.3)(L.Flatten()(x))
    return keras.Model(image, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def sequences(size):
    tokens = keras.Input((size,), dtype="int32")
    x = L.Embedding(VOCABULARY, 64)(tokens)
    x = L.GRU(96, return_sequences=True)(x)
    x = L.GlobalMaxPooling1D()(x)
    return keras.Model(tokens, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def residual(size):
    x = image = keras.Input((size, size, 3))
    x = L.Conv2D(32, 3, padding="same")(x)
    for filters in (32, 64, 128):
        y = L.ReLU()(L.BatchNormalization()(x))
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        y = L.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        x = L.MaxPooling2D(2)(L.Add()([L.Conv2D(filters, 1)(x), y]))
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(image, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def branches(size):
    x = image = keras.Input((size, size, 3))
    x = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    for filters in (32, 48):
        narrow = L.Conv2D(filters, 1, activation="relu")(x)
        wide = L.Conv2D(filters, 5, padding="same", activation="relu")(L.Conv2D(16, 1, activation="relu")(x))
        pooled = L.Conv2D(filters, 1, activation="relu")(L.MaxPooling2D(3, strides=1, padding="same")(x))
        x = L.MaxPooling2D(2)(L.Concatenate()([narrow, wide, pooled]))
    x = L.Dropout(0.4)(L.GlobalAveragePooling2D()(x))
    return keras.Model(image, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def stacked(size):
    tokens = keras.Input((size,), dtype="int32")
    x = L.Embedding(VOCABULARY, 64)(tokens)
    x = L.LSTM(64, return_sequences=True)(x)
    x = L.LSTM(32)(x)
    return keras.Model(tokens, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


def mixer(size):
    tokens = keras.Input((size,), dtype="int32")
    x = L.Embedding(VOCABULARY, 128)(tokens)
    for _ in range(3):
        y = L.Permute((2, 1))(L.LayerNormalization()(x))
        y = L.Dense(size)(L.Dense(64, activation="gelu")(y))
        x = L.Add()([x, L.Permute((2, 1))(y)])
        y = L.Dense(256, activation="gelu")(L.LayerNormalization()(x))
        x = L.Add()([x, L.Dense(128)(y)])
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, L.Dense(CLASSES, activation="softmax", dtype="float32")(x))


CUSTOM = {
    "branches": branches,
    "stacked": stacked,
    "mixer": mixer,
    "lstm": lambda size: recurrent(L.LSTM(128), size),
    "bilstm": lambda size: recurrent(L.Bidirectional(L.LSTM(64)), size),
    "gru": lambda size: recurrent(L.GRU(128), size),
    "transformer": lambda size: transformer(size, 0.0),
    "transformer_drop": lambda size: transformer(size, 0.1),
    "separable": separable,
    "deep": deep,
    "gated": gated,
    "sequences": sequences,
    "residual": residual,
}
TEXT = {"lstm", "bilstm", "gru", "transformer", "transformer_drop", "sequences", "stacked", "mixer"}

recorder = ctypes.CDLL(os.environ["BFCTRACE_SO"]) if os.environ.get("BFCTRACE") else None


def mark(text):
    if recorder:
        recorder.bfctrace_mark(text.encode())


model = CUSTOM[args.model](args.size) if args.model in CUSTOM else application(args.model, args.size)
settings = {"gradient_accumulation_steps": args.accum} if args.accum else {}
O = keras.optimizers
optimizer = {
    "sgd": lambda: O.SGD(0.01, **settings),
    "momentum": lambda: O.SGD(0.01, momentum=0.9, **settings),
    "nesterov": lambda: O.SGD(0.01, momentum=0.9, nesterov=True, **settings),
    "adam": lambda: O.Adam(1e-4, **settings),
    "adamw": lambda: O.AdamW(1e-4, **settings),
    "rmsprop": lambda: O.RMSprop(1e-4, **settings),
}[args.opt]()
if args.mode == "keras":
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", jit_compile=bool(args.jit))
    optimizer = model.optimizer
elif args.precision == "mixed_float16":
    optimizer = O.LossScaleOptimizer(optimizer)
optimizer.build(model.trainable_variables)

if args.model in TEXT:
    x = tf.random.uniform((args.batch, args.size), 0, VOCABULARY, tf.int32)
elif args.model == "deep":
    x = tf.random.normal((args.batch, args.size))
else:
    x = tf.random.normal((args.batch, args.size, args.size, 3))
y = tf.random.uniform((args.batch,), 0, CLASSES, tf.int32)
loss_function = keras.losses.SparseCategoricalCrossentropy()


def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
        scaled = optimizer.scale_loss(loss) if args.precision == "mixed_float16" else loss
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


run = {"graph": tf.function(step, jit_compile=bool(args.jit)), "eager": step, "keras": model.train_on_batch if args.mode == "keras" else None}[args.mode]
for index in range(3):
    mark(f"step {index} begin")
    result = run(x, y)
    float(result[0] if isinstance(result, (list, tuple)) else result)
    mark(f"step {index} end")
os._exit(0)
