#!/usr/bin/env python3
"""Draws Keras models at random from many layers and measures a training step of each in TensorFlow.

    python random_models.py FOLDER COUNT [FIRST_SEED]

FOLDER gets `measured.csv`, one row a model with the columns that `tensorflow_table` reads, and `models/`, the
configuration of each. A model is a process of its own, with TensorFlow's BFC allocator in charge of the CPU's tensors
and every allocation written down by `bfctrace.so`, which must lie beside this script
(`gcc -O2 -shared -fPIC bfctrace.c -o bfctrace.so -ldl`). One thread, oneDNN off.
"""
import csv, gzip, json, os, random, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ["model", "size", "batch", "opt", "precision", "mode", "accum", "t_req0", "t_req_peak", "t_chk_peak"]
ACTIVATIONS = ["relu", "relu6", "swish", "gelu", "elu", "leaky_relu", "tanh", "sigmoid", "softplus", "selu",
               "hard_sigmoid", "hard_swish", "softsign", "exponential", "mish"]


def activation(r, L, x):
    name = r.choice(ACTIVATIONS[:4] * 3 + ACTIVATIONS)
    return L.PReLU()(x) if r.random() < 0.05 else L.Activation(name)(x)


def normalized(r, L, x):
    kind = r.choice(["batch", "batch", "layer", "group", "none", "none", "none"])
    if kind == "group" and len(x.shape) == 4 and x.shape[-1] % 4 == 0:
        return L.GroupNormalization(4)(x)
    return {"batch": L.BatchNormalization, "layer": L.LayerNormalization}.get(kind, lambda: lambda y: y)()(x)


def convolution(r, L, x):
    c, k = x.shape[-1], r.choice([1, 3, 3, 5])
    f = r.choice([16, 24, 32, 48, 64])
    kind = r.choice(["conv"] * 5 + ["dilated", "grouped", "depthwise", "separable", "transpose"])
    if kind == "dilated":
        return L.Conv2D(f, 3, padding=r.choice(["same", "same", "valid"]) if x.shape[1] > 8 else "same",
                        dilation_rate=2)(x)
    if kind == "grouped" and c % 4 == 0:
        return L.Conv2D(c if r.random() < 0.5 else f // 4 * 4, k, padding="same",
                        groups=r.choice([2, 4]) if r.random() < 0.6 or f % c else 4)(x)
    if kind == "depthwise":
        return L.DepthwiseConv2D(k, padding="same")(x)
    if kind == "separable":
        return L.SeparableConv2D(f, k, padding="same")(x)
    if kind == "transpose" and x.shape[1] <= 16:
        return L.Conv2DTranspose(f, 3, strides=2, padding="same")(x)
    return L.Conv2D(f, k, padding="same", use_bias=r.random() < 0.7)(x)


def image(r, L):
    size = r.choice([24, 32, 40])
    i = x = L.Input((size, size, 3))
    x = L.Conv2D(r.choice([16, 32]), 3, strides=r.choice([1, 2]), padding="same")(x)
    for _ in range(r.randint(2, 5)):
        y = activation(r, L, normalized(r, L, convolution(r, L, x)))
        choice = r.choice(["plain", "plain", "add", "concat", "gate", "pool", "pool", "up", "drop"])
        if choice == "add" and y.shape == x.shape:
            y = L.Add()([x, y])
        elif choice == "concat" and y.shape[1:3] == x.shape[1:3]:
            y = L.Concatenate()([x, y])
        elif choice == "gate":
            g = L.GlobalAveragePooling2D(keepdims=True)(y)
            y = L.Multiply()([y, L.Conv2D(y.shape[-1], 1, activation="sigmoid")(g)])
        elif choice == "pool" and y.shape[1] >= 8:
            y = r.choice([L.MaxPooling2D, L.AveragePooling2D])(2)(y)
        elif choice == "up" and y.shape[1] <= 12:
            y = L.UpSampling2D(2, interpolation=r.choice(["nearest", "bilinear"]))(y)
        elif choice == "drop":
            y = r.choice([L.Dropout, L.SpatialDropout2D])(0.2)(y)
        x = y
    x = r.choice([L.GlobalAveragePooling2D, L.GlobalMaxPooling2D, L.Flatten])()(x)
    return i, x


def sequence(r, L):
    length = r.choice([16, 24, 40])
    if r.random() < 0.5:
        i = L.Input((length,), dtype="int32")
        x = L.Embedding(2000, r.choice([32, 64]))(i)
    else:
        i = x = L.Input((length, 16))
    for n in range(r.randint(1, 3)):
        units = r.choice([32, 48, 64])
        kind = r.choice(["lstm", "gru", "rnn", "bi", "conv", "conv", "attention", "td", "dense"])
        if kind in ("lstm", "gru", "rnn"):
            x = {"lstm": L.LSTM, "gru": L.GRU, "rnn": L.SimpleRNN}[kind](units, return_sequences=True)(x)
        elif kind == "bi":
            x = L.Bidirectional(L.LSTM(units, return_sequences=True))(x)
        elif kind == "conv":
            x = activation(r, L, L.Conv1D(units, 3, padding="same", dilation_rate=r.choice([1, 1, 2]))(x))
        elif kind == "attention":
            x = L.Add()([x, L.MultiHeadAttention(2, 16)(x, x)])
        elif kind == "td":
            x = L.TimeDistributed(L.Dense(units, activation="relu"))(x)
        else:
            x = L.Dense(units, activation=r.choice(["relu", "gelu"]))(x)
        if r.random() < 0.3:
            x = L.LayerNormalization()(x)
    return i, r.choice([L.GlobalAveragePooling1D, L.GlobalMaxPooling1D, L.Flatten])()(x)


def vector(r, L):
    i = x = L.Input((r.choice([64, 256]),))
    for _ in range(r.randint(2, 5)):
        y = L.Dense(r.choice([128, 256, 512]))(x)
        y = activation(r, L, normalized(r, L, y))
        if r.random() < 0.3:
            y = L.Dropout(0.3)(y)
        x = L.Add()([x, y]) if y.shape == x.shape and r.random() < 0.5 else y
    return i, x


def volume(r, L):
    size = r.choice([8, 12])
    i = x = L.Input((size, size, size, 2))
    for _ in range(r.randint(1, 3)):
        kind = r.choice(["conv", "conv", "transpose", "pool"])
        f = r.choice([8, 16, 24])
        if kind == "pool" and x.shape[1] >= 6:
            x = r.choice([L.MaxPooling3D, L.AveragePooling3D])(2)(x)
        elif kind == "transpose" and x.shape[1] <= 8:
            x = L.Conv3DTranspose(f, 3, strides=r.choice([1, 2]), padding="same")(x)
        else:
            x = L.Conv3D(f, 3, padding="same", strides=r.choice([1, 1, 2]))(x)
        x = activation(r, L, normalized(r, L, x))
    return i, r.choice([L.GlobalAveragePooling3D, L.GlobalMaxPooling3D, L.Flatten])()(x)


def frames(r, L):
    size, length = r.choice([8, 12, 16]), r.choice([4, 8])
    i = x = L.Input((length, size, size, 3))
    x = L.ConvLSTM2D(r.choice([4, 8, 16]), 3, padding="same", return_sequences=r.random() < 0.5)(x)
    x = activation(r, L, x)
    if len(x.shape) == 5 and r.random() < 0.5:
        x = L.TimeDistributed(L.Conv2D(8, 3, padding="same"))(x)
    return i, L.Flatten()(x)


def prepared(r, L):
    """Layers before the first that learns, then a small network."""
    size = r.choice([24, 32])
    i = x = L.Input((size, size, 3))
    for _ in range(r.randint(1, 3)):
        x = r.choice([lambda: L.Rescaling(1 / 255), lambda: L.Normalization(mean=0.5, variance=2.0),
                      lambda: L.Resizing(20, 28), lambda: L.CenterCrop(18, 18), lambda: L.RandomFlip("horizontal"),
                      lambda: L.RandomTranslation(0.1, 0.1), lambda: L.RandomRotation(0.1), lambda: L.RandomZoom(0.2),
                      lambda: L.RandomContrast(0.3), lambda: L.GaussianNoise(0.1), lambda: L.ZeroPadding2D(2),
                      lambda: L.RandomBrightness(0.2)])()(x)
    x = activation(r, L, L.Conv2D(r.choice([16, 32]), 3, padding="same")(x))
    x = activation(r, L, L.Conv2D(32, 3, strides=2, padding="same")(x))
    return i, r.choice([L.GlobalAveragePooling2D, L.Flatten])()(x)


def operations(r, L):
    from keras import ops
    i = x = L.Input((r.choice([16, 24]), 48))
    for _ in range(r.randint(2, 4)):
        y = L.Dense(48)(x)
        y = r.choice([lambda: ops.softmax(y), lambda: y * ops.sigmoid(x), lambda: ops.tanh(y) + x,
                      lambda: ops.maximum(x, y), lambda: ops.exp(-ops.square(y)), lambda: ops.log(1.0 + ops.abs(y)),
                      lambda: y - ops.mean(y, axis=1, keepdims=True), lambda: ops.concatenate([y, x], axis=1),
                      lambda: y / (1.0 + ops.abs(x)), lambda: ops.where(x > 0, x, y), lambda: ops.cumsum(y, axis=1),
                      lambda: ops.transpose(y, (0, 2, 1)), lambda: ops.einsum("bij,bkj->bik", x, y),
                      lambda: ops.matmul(y, ops.transpose(x, (0, 2, 1))), lambda: ops.clip(y, -1.0, 1.0),
                      lambda: ops.sqrt(1.0 + ops.square(y)), lambda: ops.sin(y), lambda: ops.relu(y)])()
        x = y
    return i, L.Flatten()(x)


def attending(r, L):
    length = r.choice([16, 24])
    i = L.Input((length,), dtype="int32")
    x = L.Embedding(500, 32)(i)
    for _ in range(r.randint(1, 2)):
        kind = r.choice(["dot", "additive", "grouped", "cross", "causal", "dropped"])
        q = L.Dense(32)(x)
        y = {"dot": lambda: L.Attention(use_scale=r.random() < 0.5)([q, x]),
             "additive": lambda: L.AdditiveAttention()([q, x]),
             "grouped": lambda: L.GroupQueryAttention(8, 4, 2)(q, x),
             "cross": lambda: L.MultiHeadAttention(2, 16, value_dim=8)(q, x),
             "causal": lambda: L.MultiHeadAttention(4, 8)(x, x, use_causal_mask=True),
             "dropped": lambda: L.MultiHeadAttention(2, 16, dropout=0.2)(x, x)}[kind]()
        x = L.LayerNormalization()(L.Add()([x, y]))
    return i, L.GlobalAveragePooling1D()(x)


# What seeds from 1000 on draw from; those before know no other than the first six.
KINDS = [image, image, image, sequence, sequence, vector, volume, volume, frames, prepared, prepared, operations,
         operations, attending, attending]


def settings(seed):
    r = random.Random(seed)
    mode = r.choice(["graph"] * 7 + ["eager"] * 2 + ["keras"])
    precision = r.choice(["float32"] * 6 + ["mixed_bfloat16"]) if mode == "graph" else "float32"
    opt = r.choice(["adam", "adam", "sgd", "sgd", "momentum", "rmsprop"])
    return dict(seed=seed, mode=mode, precision=precision, opt=opt, batch=r.choice([8, 16, 32]))


def measure(seed, folder):
    """In a process of its own."""
    import ctypes
    s = settings(seed)
    import keras, tensorflow as tf
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    shim = ctypes.CDLL(os.environ["BFCTRACE_SO"])
    keras.utils.set_random_seed(seed)
    keras.mixed_precision.set_dtype_policy(s["precision"])
    r, L = random.Random(seed + 1), keras.layers
    i, x = r.choice(KINDS[:6] if seed < 1000 else KINDS)(r, L)
    model = keras.Model(i, L.Dense(10, activation="softmax", dtype="float32")(x))
    with gzip.open(os.path.join(folder, "models", f"random{seed}_0.json.gz"), "wt") as f:
        f.write(model.to_json())
    O = keras.optimizers
    opt = {"sgd": lambda: O.SGD(0.01), "momentum": lambda: O.SGD(0.01, momentum=0.9), "adam": lambda: O.Adam(1e-4),
           "rmsprop": lambda: O.RMSprop(1e-4)}[s["opt"]]()
    loss = keras.losses.SparseCategoricalCrossentropy()
    if s["mode"] == "keras":
        model.compile(optimizer=opt, loss=loss, jit_compile=False)
    opt.build(model.trainable_variables)
    shape = (s["batch"],) + tuple(i.shape[1:])
    x = tf.random.uniform(shape, 0, 2000, tf.int32) if i.dtype == "int32" else tf.random.normal(shape)
    y = tf.random.uniform((s["batch"],), 0, 10, tf.int32)

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        opt.apply_gradients(zip(tape.gradient(value, model.trainable_variables), model.trainable_variables))
        return value

    run = {"graph": tf.function(step, jit_compile=False), "eager": step, "keras": model.train_on_batch}[s["mode"]]
    for n in range(3):
        shim.bfctrace_mark(b"step begin")
        run(x, y)
        shim.bfctrace_mark(b"step end")
    os._exit(0)


def peaks(trace):
    """Bytes before the last step, and the most requested and chunk bytes live in it."""
    live, asked, chunks, before, peak, most, inside = {}, 0, 0, 0, 0, 0, False
    for line in open(trace):
        w = line.split()
        if w[:1] == ["M"]:
            inside = w[2] == "begin"
            if inside:
                before, peak, most = asked, asked, chunks
        elif w[:1] == ["A"] and w[1] != "0":
            live[w[1]] = (int(w[2]), int(w[3]))
            asked, chunks = asked + int(w[2]), chunks + int(w[3])
            if inside:
                peak, most = max(peak, asked), max(most, chunks)
        elif w[:1] == ["F"] and w[1] in live:
            a, c = live.pop(w[1])
            asked, chunks = asked - a, chunks - c
    return before, peak, most


def main():
    if sys.argv[1] == "--one":
        return measure(int(sys.argv[2]), sys.argv[3])
    folder, count = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    os.makedirs(os.path.join(folder, "models"), exist_ok=True)
    shim = os.path.join(HERE, "bfctrace.so")
    trace = os.path.join(folder, "trace.txt")
    environment = dict(os.environ, TF_CPU_ALLOCATOR_USE_BFC="1", TF_CPU_BFC_MEM_LIMIT_IN_MB="8192",
                       TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", BFCTRACE=trace,
                       BFCTRACE_SO=shim, LD_PRELOAD=shim)
    new = not os.path.exists(os.path.join(folder, "measured.csv"))
    with open(os.path.join(folder, "measured.csv"), "a", newline="") as out:
        rows = csv.writer(out)
        if new:
            rows.writerow(COLUMNS)
        for seed in range(first, first + count):
            done = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", str(seed), folder],
                                  env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                print(f"seed {seed} left out: {done.stderr.strip().splitlines()[-1:]}", flush=True)
                continue
            s = settings(seed)
            rows.writerow([f"random{seed}", 0, s["batch"], s["opt"], s["precision"], s["mode"], 0, *peaks(trace)])
            out.flush()


main()
