#!/usr/bin/env python3
"""What recomputation saves in TensorFlow: python recompute.py FOLDER > recompute_measured.csv

Each model is trained for three steps as it is written and cut into parts each of which is computed again
(`keras.remat`). FOLDER gets the configuration of each model. One process a line, as `measure.py` does it: BFC
allocator, every allocation written down, one thread, oneDNN off.
"""
import csv, ctypes, gzip, math, os, subprocess, sys, tempfile

from measure import HERE, analyse, build_shim

CASES = [(model, size, batch, way) for model, size, batch in [
    ("convolutions", 32, 32), ("attention", 32, 16), ("blocks", 32, 32), ("groups", 32, 16), ("wide", 512, 2048)]
    for way in ["0", "2", "3", "4", "6"]]


def make(name, size, keras):
    L = keras.layers
    if name == "attention":
        tokens = x = keras.Input((size,), dtype="int32")
        x = L.Embedding(10000, 256)(x)
        for _ in range(4):
            x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.MultiHeadAttention(8, 32)(x, x)]))
            y = L.Dense(256)(L.Dense(1024, activation="relu")(x))
            x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        return keras.Model(tokens, L.Dense(10, activation="softmax")(L.GlobalAveragePooling1D()(x)))
    if name == "blocks":
        tokens = x = keras.Input((size,), dtype="int32")
        x = L.Embedding(10000, 128)(x)
        for _ in range(3):
            y = L.Permute((2, 1))(L.LayerNormalization()(x))
            x = L.Add()([x, L.Permute((2, 1))(L.Dense(size)(L.Dense(64, activation="gelu")(y)))])
            x = L.Add()([x, L.Dense(128)(L.Dense(256, activation="gelu")(L.LayerNormalization()(x)))])
        return keras.Model(tokens, L.Dense(10, activation="softmax")(L.GlobalAveragePooling1D()(x)))
    if name == "wide":
        x = i = keras.Input((size,))
        for _ in range(12):
            x = L.Dense(512, activation="gelu")(x)
        return keras.Model(i, L.Dense(10, activation="softmax")(x))
    x = i = keras.Input((size, size, 3))
    for n in range(12):
        x = L.Conv2D(32, 3, padding="same", activation="relu" if name == "convolutions" else None)(x)
        if name == "groups":
            x = L.Activation("relu")(L.GroupNormalization(8)(x))
    return keras.Model(i, L.Dense(10, activation="softmax")(L.GlobalAveragePooling2D()(x)))


def parted(model, count, keras):
    """The same layers in parts: only what goes from one to the next is kept."""
    class Recomputed(keras.layers.Layer):
        def __init__(self, part):
            super().__init__()
            self.part, self.again = part, keras.remat(part)

        def call(self, x):
            return self.again(x)

    layers = model.layers[1:]
    last = {id(t): n for n, l in enumerate(layers) for t in (l.input if isinstance(l.input, list) else [l.input])}
    sizes = [math.prod(l.output.shape[1:]) for l in layers]
    narrow = [n for n in range(len(layers) - 1)
              if [m for m in range(n + 1) if last.get(id(layers[m].output), -1) > n] == [n]
              and last.get(id(model.input), -1) <= n]
    # As evenly apart as can be, as Plimsoll cuts.
    off = lambda n, part: abs(sum(sizes[:n + 1]) * count - sum(sizes) * part)
    cuts = sorted({min(narrow, key=lambda n: off(n, part)) for part in range(1, count)})
    begin, x = model.input, model.input
    for n in cuts:
        end = layers[n].output
        x = Recomputed(keras.Model(begin, end))(x)
        begin = end
    return keras.Model(model.input, keras.Model(begin, model.output)(x))


def steps(name, size, batch, way, mode, folder):
    import keras, numpy as np, tensorflow as tf
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    keras.utils.set_random_seed(0)
    model = make(name, size, keras)
    with gzip.open(os.path.join(folder, f"{name}_{size}.json.gz"), "wt") as file:
        file.write(model.to_json())
    if way != "0":
        model = parted(model, int(way), keras)
    shim = ctypes.CDLL(os.environ["BFCTRACE_SO"])
    shape = (batch,) + tuple(model.input.shape[1:])
    r = np.random.default_rng(0)
    x = r.integers(10000, size=shape, dtype="int32") if model.input.dtype == "int32" else r.random(shape, "float32")
    x, y = tf.constant(x), tf.constant(r.integers(10, size=batch, dtype="int32"))
    opt, loss = keras.optimizers.Adam(1e-4), keras.losses.SparseCategoricalCrossentropy()
    if mode == "keras":
        model.compile(optimizer=opt, loss=loss, jit_compile=False)
    opt.build(model.trainable_variables)

    @tf.function(jit_compile=False)
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        opt.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    run = model.train_on_batch if mode == "keras" else step
    for n in range(3):
        shim.bfctrace_mark(b"step begin")
        value = float(run(x, y))
        shim.bfctrace_mark(b"step end")
    print(value, flush=True)
    os._exit(0)


def main():
    if sys.argv[1:2] == ["--one"]:
        name, size, batch, way, mode, folder = sys.argv[2:]
        return steps(name, int(size), int(batch), way, mode, folder)
    shim = build_shim()
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["model", "size", "batch", "opt", "precision", "mode", "recompute", "loss", "t_req0", "t_req_peak",
                   "t_chk_peak"])
    for name, size, batch, way in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.txt")
            environment = dict(os.environ, BFCTRACE=path, BFCTRACE_SO=str(shim), LD_PRELOAD=str(shim),
                               TF_CPU_ALLOCATOR_USE_BFC="1", TF_CPU_BFC_MEM_LIMIT_IN_MB="12000",
                               TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
            mode = "graph"
            one = [sys.executable, os.path.abspath(__file__), "--one", name, str(size), str(batch), way, mode, sys.argv[1]]
            done = subprocess.run(one, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                print(name, way, done.stderr.strip().splitlines()[-1:], file=sys.stderr, flush=True)
                continue
            rows.writerow([name, size, batch, "adam", "float32", mode, way, done.stdout.strip(), *analyse(path).values()])
            sys.stdout.flush()


main()
