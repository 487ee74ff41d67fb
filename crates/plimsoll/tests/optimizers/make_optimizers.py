"""Writes what Keras's optimizers do, setting by setting, and files that a run can go on from.

    python make_optimizers.py                 cases.json and files/*.keras here
    python make_optimizers.py --random 300    cases drawn at random, to standard output
"""

import json
import random
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers
from keras import optimizers as O

HERE = Path(__file__).parent
STEPS = 6
rng = np.random.RandomState(5)
# Ids occur twice in a batch: rows of one id are added up, but squared one by one.
IDS = rng.randint(0, 6, (2, 4, 3)).astype("int32")
TARGETS = rng.randn(2, 4, 2).astype("float32")


def model(table=None, kernel=None, bias=None):
    keras.utils.set_random_seed(3)
    ids = keras.Input((3,), dtype="int32", name="ids")
    x = layers.Embedding(6, 4, name="embedding", embeddings_constraint=table)(ids)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(5, activation="tanh", name="hidden", kernel_constraint=kernel, bias_constraint=bias)(x)
    x = layers.Dense(2, name="out")(x)
    return keras.Model(ids, x, name="small")


WEIGHTS = [w + 0.1 * np.sin(np.arange(w.size)).reshape(w.shape) for w in model().get_weights()]
WEIGHTS = [w.astype("float32") for w in WEIGHTS]


def numbers(array):
    return [float(f"{x:.9g}") for x in np.asarray(array, "float32").ravel()]


def weights(m):
    return {v.path: numbers(v.numpy()) for v in m.trainable_variables}


def train(m, first, steps):
    losses = []
    for step in range(first, first + steps):
        losses.append(float(m.train_on_batch(IDS[step % 2], TARGETS[step % 2])))
    return losses


def case(name, optimizer):
    m = model()
    m.set_weights(WEIGHTS)
    config = keras.saving.serialize_keras_object(optimizer)
    m.compile(optimizer=optimizer, loss="mse")
    losses = train(m, 0, STEPS)
    return {"name": name, "optimizer": config, "losses": losses, "weights": weights(m)}


S = O.schedules
EACH = {
    "sgd": lambda **k: O.SGD(0.1, **k),
    "momentum": lambda **k: O.SGD(0.1, momentum=0.8, **k),
    "nesterov": lambda **k: O.SGD(0.1, momentum=0.8, nesterov=True, **k),
    "rmsprop": lambda **k: O.RMSprop(0.02, **k),
    "rmsprop_all": lambda **k: O.RMSprop(0.02, rho=0.8, momentum=0.5, centered=True, epsilon=1e-3, **k),
    "adam": lambda **k: O.Adam(0.05, **k),
    "adamw": lambda **k: O.AdamW(0.05, **{"weight_decay": 0.1, **k}),
    "nadam": lambda **k: O.Nadam(0.05, **k),
    "adamax": lambda **k: O.Adamax(0.05, **k),
    "adagrad": lambda **k: O.Adagrad(0.1, **k),
    "adadelta": lambda **k: O.Adadelta(1.0, **k),
    "ftrl": lambda **k: O.Ftrl(0.1, **k),
    "lion": lambda **k: O.Lion(0.01, **k),
    "adafactor": lambda **k: O.Adafactor(0.1, **k),
    "lamb": lambda **k: O.Lamb(0.05, **k),
    "muon": lambda **k: O.Muon(0.05, **k),
    "schedule_free": lambda **k: O.ScheduleFreeAdamW(0.05, **k),
}
SETTINGS = {
    "plain": {},
    "clipnorm": {"clipnorm": 0.2},
    "clipvalue": {"clipvalue": 0.05},
    "global_clipnorm": {"global_clipnorm": 0.3},
    "decay": {"weight_decay": 0.2},
    "gather": {"gradient_accumulation_steps": 2},
    "ema": {"use_ema": True, "ema_momentum": 0.7, "ema_overwrite_frequency": 2},
}
SPECIAL = {
    "adam amsgrad": lambda: O.Adam(0.05, amsgrad=True, beta_2=0.6),
    "rmsprop momentum": lambda: O.RMSprop(0.02, momentum=0.5),
    "rmsprop centered": lambda: O.RMSprop(0.02, centered=True),
    "ftrl all": lambda: O.Ftrl(0.1, -0.4, 0.2, 0.01, 0.02, 0.03, 0.5),
    "adafactor fixed": lambda: O.Adafactor(0.1, relative_step=False, clip_threshold=0.5, beta_2_decay=-0.5),
    "muon tables": lambda: O.Muon(0.05, exclude_embeddings=False, nesterov=False, rms_rate=None),
    "muon words": lambda: O.Muon(0.05, exclude_layers=["hidden"], adam_lr_ratio=0.5, ns_steps=3, weight_decay=None),
    "schedule free warm-up": lambda: O.ScheduleFreeAdamW(0.05, warmup_steps=4, weight_decay=0.1),
    "ema without overwriting": lambda: O.Adam(0.05, use_ema=True, ema_momentum=0.9),
    "ema of gathered": lambda: O.SGD(0.1, momentum=0.5, use_ema=True, ema_momentum=0.6, ema_overwrite_frequency=2,
                                     gradient_accumulation_steps=3, clipnorm=0.3),
    "loss scale": lambda: O.LossScaleOptimizer(O.Adam(0.05), initial_scale=8.0, dynamic_growth_steps=2),
    "loss scale overflow": lambda: O.LossScaleOptimizer(O.SGD(0.1, momentum=0.9), initial_scale=2.0**126,
                                                        dynamic_growth_steps=3),
    "exponential": lambda: O.SGD(S.ExponentialDecay(0.2, 2, 0.7)),
    "exponential staircase": lambda: O.Adam(S.ExponentialDecay(0.1, 2, 0.7, staircase=True)),
    "inverse time": lambda: O.SGD(S.InverseTimeDecay(0.2, 2, 0.7)),
    "piecewise": lambda: O.SGD(S.PiecewiseConstantDecay([1, 3], [0.3, 0.2, 0.1])),
    "polynomial": lambda: O.SGD(S.PolynomialDecay(0.2, 4, 0.01, power=2.0)),
    "polynomial cycle": lambda: O.SGD(S.PolynomialDecay(0.2, 3, 0.01, power=0.5, cycle=True)),
    "cosine": lambda: O.SGD(S.CosineDecay(0.2, 4, alpha=0.1)),
    "cosine warm-up": lambda: O.SGD(S.CosineDecay(0.01, 4, warmup_target=0.2, warmup_steps=3)),
    "cosine restarts": lambda: O.SGD(S.CosineDecayRestarts(0.2, 2, t_mul=2.0, m_mul=0.5, alpha=0.1)),
    "cosine restarts even": lambda: O.SGD(S.CosineDecayRestarts(0.2, 3, t_mul=1.0)),
    "schedule with gathering": lambda: O.SGD(S.ExponentialDecay(0.2, 2, 0.7), gradient_accumulation_steps=2),
}


def all_cases():
    for name, make in EACH.items():
        for setting, arguments in SETTINGS.items():
            yield case(f"{name} {setting}", make(**arguments))
    for name, make in SPECIAL.items():
        yield case(name, make())


def draw(seed):
    dice = random.Random(seed)
    rate = 10 ** dice.uniform(-2.5, -0.7)
    arguments = {}
    clip = dice.choice([None, None, "clipnorm", "clipvalue", "global_clipnorm"])
    if clip:
        arguments[clip] = 10 ** dice.uniform(-2, 0.5)
    if dice.random() < 0.3:
        arguments["weight_decay"] = 10 ** dice.uniform(-3, -0.5)
    if dice.random() < 0.3:
        arguments.update(use_ema=True, ema_momentum=dice.uniform(0.2, 0.99))
        arguments["ema_overwrite_frequency"] = dice.choice([None, 1, 2, 3])
    if dice.random() < 0.25:
        arguments["gradient_accumulation_steps"] = dice.choice([2, 3, 4])
    name = dice.choice(["SGD", "RMSprop", "Adam", "AdamW", "Nadam", "Adamax", "Adagrad", "Adadelta", "Ftrl", "Lion",
                        "Adafactor", "Lamb", "Muon", "ScheduleFreeAdamW"])
    own = {
        "SGD": {"momentum": dice.choice([0.0, dice.uniform(0.1, 0.95)]), "nesterov": dice.random() < 0.5},
        "RMSprop": {"rho": dice.uniform(0.5, 0.99), "momentum": dice.choice([0.0, 0.6]),
                    "centered": dice.random() < 0.5, "epsilon": dice.choice([1e-7, 1e-3])},
        "Adadelta": {"rho": dice.uniform(0.5, 0.99)},
        "Adagrad": {"initial_accumulator_value": dice.uniform(0.0, 0.5)},
        "Ftrl": {"l1_regularization_strength": dice.choice([0.0, 0.01]), "beta": dice.choice([0.0, 0.3]),
                 "l2_regularization_strength": dice.choice([0.0, 0.1]),
                 "learning_rate_power": dice.choice([-0.5, -0.3])},
        "Lion": {"beta_1": dice.uniform(0.5, 0.99), "beta_2": dice.uniform(0.5, 0.99)},
        "Adafactor": {"clip_threshold": dice.choice([0.3, 1.0]), "beta_2_decay": dice.uniform(-1, -0.3)},
        "Muon": {"nesterov": dice.random() < 0.5, "exclude_embeddings": dice.random() < 0.5,
                 "ns_steps": dice.choice([1, 3, 5]), "momentum": dice.uniform(0.5, 0.95)},
    }.get(name, {"beta_1": dice.uniform(0.5, 0.95), "beta_2": dice.uniform(0.7, 0.999)})
    if name == "Adam":
        own["amsgrad"] = dice.random() < 0.5
    schedule = dice.choice([None, None, S.CosineDecay(rate, 5, 0.1), S.ExponentialDecay(rate, 3, 0.5),
                            S.CosineDecayRestarts(rate, 2)])
    optimizer = getattr(O, name)(schedule or rate, **own, **arguments)
    if dice.random() < 0.15:
        scale = 2.0 ** dice.choice([3, 15, 125])
        optimizer = O.LossScaleOptimizer(optimizer, initial_scale=scale, dynamic_growth_steps=dice.choice([2, 2000]))
    return case(f"random {seed}", optimizer)


RESUMED = {
    "adam": lambda: O.Adam(0.05),
    "amsgrad": lambda: O.AdamW(0.05, amsgrad=True),
    "rmsprop": lambda: O.RMSprop(0.02, momentum=0.5, centered=True),
    "gathered": lambda: O.SGD(S.CosineDecay(0.1, 10), momentum=0.9, use_ema=True, ema_momentum=0.8,
                              gradient_accumulation_steps=2),
    "nadam": lambda: O.Nadam(0.05),
    "scaled": lambda: O.LossScaleOptimizer(O.Nadam(0.05), dynamic_growth_steps=2),
    "adafactor": lambda: O.Adafactor(0.1),
    "muon": lambda: O.Muon(0.05),
    "ftrl": lambda: O.Ftrl(0.1),
}


def resumed(name, make):
    m = model()
    m.set_weights(WEIGHTS)
    m.compile(optimizer=make(), loss=keras.losses.MeanSquaredError())
    train(m, 0, 3)
    path = HERE / "files" / f"{name}.keras"
    path.parent.mkdir(exist_ok=True)
    m.save(path)
    if name == "adam":
        m.save(HERE / "files" / "adam.h5")
    again = keras.models.load_model(path)
    losses = train(again, 3, 3)
    return {"file": f"{name}.keras", "losses": losses, "weights": weights(again)}


C = keras.constraints
CONSTRAINED = [
    lambda: model(C.MaxNorm(0.3, axis=1), C.MaxNorm(0.4), C.NonNeg()),
    lambda: model(C.UnitNorm(axis=[0, 1]), C.UnitNorm(axis=-1), C.UnitNorm()),
    lambda: model(C.NonNeg(), C.MinMaxNorm(0.5, 0.7, rate=0.6, axis=0), C.MinMaxNorm(0.1, 0.2)),
]


def constrained(make):
    m = make()
    config = json.loads(m.to_json())
    m.set_weights(WEIGHTS)
    m.compile(optimizer=O.SGD(0.1, momentum=0.5, nesterov=True), loss="mse")
    return {"model": config, "losses": train(m, 0, STEPS), "weights": weights(m)}


def main():
    if sys.argv[1:2] == ["--random"]:
        cases, files = [draw(seed) for seed in range(int(sys.argv[2]))], []
    else:
        cases, files = list(all_cases()), [resumed(name, make) for name, make in RESUMED.items()]
    config = json.loads(model().to_json())
    result = {
        "model": config,
        "ids": IDS.tolist(),
        "targets": [numbers(t) for t in TARGETS],
        "weights": {v.path: numbers(w) for v, w in zip(model().trainable_variables, WEIGHTS)},
        "cases": cases,
        "resumed": files,
        "constrained": [constrained(make) for make in CONSTRAINED] if files else [],
    }
    text = json.dumps(result)
    if files:
        (HERE / "cases.json").write_text(text)
    else:
        print(text)


main()
