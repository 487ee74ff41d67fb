"""Writes golden cases for CI: models as drawn, their batches, and Keras's numbers.

    python golden.py FOLDER          # crates/plimsoll/tests/drawn: the cases there and those below, made again
    python golden.py FOLDER 22       # so many new ones, of those that are equal
"""

import itertools
import json
import pathlib
import sys

import h5py
import keras
import numpy as np
import zipfile

import sides
from differ import drawn_cases
from judge import Case, judge

FIRST = 5000  # the seed of the first model that is drawn
# What the tester has found, made small.
TAIL = "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')"
FROZEN = "j = L.Input((6,), name='j')\nh = L.Dense(4, name='c1')(j)\nh = L.BatchNormalization(name='b1')(h)\nh = L.Dense(3, name='c2')(h)\nbase = keras.Model(j, h, name='base')\n"
FOUND = {
    "rms_normalization": f"i = L.Input((8,), name='i')\nx = L.RMSNormalization()(i)\nmodel = keras.Model(i, L.Dense(2)(x))\n{TAIL}",
    "thawed": f"{FROZEN}base.trainable = False\nbase.get_layer('c2').trainable = True\ni = L.Input((6,), name='i')\nmodel = keras.Model(i, L.Dense(2)(base(i)))\n{TAIL}",
    "frozen_wrapper": f"i = L.Input((5, 4), name='i')\nx = L.TimeDistributed(L.Dense(3), trainable=False)(i)\nx = L.Bidirectional(L.GRU(2, return_sequences=True), trainable=False)(x)\nmodel = keras.Model(i, L.Dense(2)(x))\n{TAIL}",
    "frozen_attention": f"i = L.Input((5, 4), name='i')\nx = L.MultiHeadAttention(2, 3, trainable=False)(i, i)\nx = L.LSTM(3, trainable=False)(x)\nmodel = keras.Model(i, L.Dense(2)(x))\n{TAIL}",
}


def short(array):
    return [float(f"{x:.7g}") for x in np.ravel(array)]


def file_weights(path):
    """What a file has, by its place there."""
    with zipfile.ZipFile(path) as archive, archive.open("model.weights.h5") as file, h5py.File(file) as store:
        found = {}
        store.visititems(lambda name, item: found.update({name: np.array(item)}) if isinstance(item, h5py.Dataset) else None)
        return {name: array for name, array in found.items() if name.startswith(("layers/", "_layer")) and array.dtype == np.float32}


def write(name, case, folder):
    """A model's file, and the case with Keras's numbers."""
    model = sides.build(case.source, case.seed)
    data = sides.Data(model, case.batch, case.seed, case.weighted)
    file = folder / f"{name}.keras"
    model.save(file)
    model = keras.models.load_model(file)
    wanted = {"counts": sides.counts(model), "predictions": [short(x) for x in sides.predictions(model, data)]}
    wanted["losses"] = short(sides.train(model, data, case.steps))
    trained = folder / "trained.keras"
    model.save(trained)
    wanted["weights"] = {path: short(array) for path, array in file_weights(trained).items()}
    trained.unlink()
    fields = [{**field, **({"floats": short(field["floats"])} if "floats" in field else {})} for field in data.fields]
    settings = {"seed": case.seed, "batch": case.batch, "steps": case.steps, "weighted": case.weighted}
    return {"name": name, "source": case.source, "settings": settings, "case": {"file": file.name, "batch": case.batch, "fields": fields, "steps": case.steps}, "wanted": wanted}


def known(folder):
    """The cases that are there."""
    path = folder / "cases.json"
    found = json.loads(path.read_text()) if path.exists() else []
    return [(one["name"], Case(one["source"], **one["settings"])) for one in found if one["name"] not in FOUND]


def new(count):
    """Cases as they are drawn, of those that are equal."""
    ours = sides.Ours()
    for case in drawn_cases(FIRST, 10 * count):
        case = Case(case.source, seed=case.seed, batch=case.batch, steps=2, weighted=case.weighted)
        verdict = judge(case, ours, state=False)
        print(case.seed, verdict.key, flush=True)
        if verdict.outcome == "equal" and not verdict.one_step:
            yield f"drawn_{case.seed}", case


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    drawn = list(itertools.islice(new(count), count)) if count else known(folder)
    cases = [(name, Case(source, seed=3, steps=2)) for name, source in FOUND.items()] + drawn
    written = [write(name, case, folder) for name, case in cases]
    (folder / "cases.json").write_text("[\n" + ",\n".join(json.dumps(one) for one in written) + "\n]\n")


if __name__ == "__main__":
    main()
