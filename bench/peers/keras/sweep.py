"""Every part of the catalogue alone: what is refused, and what differs, without anything else around it."""

import random

from compiling import CLIPS, LOSSES, OPTIMIZERS, RARE_LOSSES, SCHEDULES
from judge import Case
from parts import ACTIVATIONS, ANY, BY_RANK, CONSTRAINTS, MERGES, REGULARIZERS, UNARY, Draw

INPUTS = {2: ["i = L.Input((6,), name='i')"], 3: ["i = L.Input((6, 4), name='i')"], 4: ["i = L.Input((6, 6, 2), name='i')"], 5: ["i = L.Input((3, 4, 4, 2), name='i')"]}
MASKED = ["ids = L.Input((6,), dtype='int32', name='ids')", "i = L.Embedding(8, 4, mask_zero=True)(ids)"]


def sources():
    """Pairs of what is tried and the lines that try it."""
    d = Draw(random.Random(1), unusual=0)
    for rank, table in BY_RANK.items():
        for name, part in dict(table).items():
            yield f"{name} of rank {rank}", model(INPUTS[rank], part(d), rank)
    for rank in [2, 3, 4]:
        for name, part in dict(ANY).items():
            yield f"{name} of rank {rank}", model(INPUTS[rank], part(d), rank)
    for name, part in list(dict(BY_RANK[3]).items()) + list(dict(ANY).items()):
        yield f"masked {name}", model(MASKED, part(d), 3, "ids")
        if name in dict(BY_RANK[3]):
            yield f"masked {name}, mask kept", sequence(MASKED, part(d))
    for op in UNARY:
        yield f"ops.{op}", model(INPUTS[2], f"ops.{op}({{x}} * {{x}} + 0.1)", 2)
    for activation in ACTIVATIONS:
        yield f"activation {activation}", model(INPUTS[2], f"L.Dense(4, activation={activation!r})({{x}})", 2)
    for merge in MERGES:
        for rank in [2, 3]:
            yield f"{merge} of rank {rank}", model(INPUTS[rank] + ["j = L.Dense({last})(i)"], merge.replace("{y}", "j"), rank)
    for loss, activation, units in LOSSES + RARE_LOSSES:
        for rank in [2, 3]:
            yield f"loss {loss} after {activation} of rank {rank}", compiled(INPUTS[rank], f"L.Dense({max(units, 3)}, activation={activation!r})(i)", loss)
        yield f"loss {loss} after {activation}, masked", compiled(MASKED, f"L.Dense({max(units, 3)}, activation={activation!r})(i)", loss, inputs="ids")
    for name, own in OPTIMIZERS.items():
        for option in [""] + own + CLIPS + ["weight_decay=0.05", "use_ema=True, ema_momentum=0.9", "use_ema=True, ema_overwrite_frequency=2", "gradient_accumulation_steps=2", "loss_scale_factor=8.0"]:
            yield f"{name}({option})", compiled(INPUTS[2], "L.Dense(3)(i)", "'mse'", f"keras.optimizers.{name}({', '.join(['0.01'] + [option] * bool(option))})")
        yield f"{name} of an embedding", compiled(MASKED, "L.Dense(3)(L.Flatten()(i))", "'mse'", f"keras.optimizers.{name}(0.01)", inputs="ids")
    for schedule in SCHEDULES:
        for name in ["SGD", "Adam"]:
            yield f"{name} {schedule}", compiled(INPUTS[2], "L.Dense(3)(i)", "'mse'", f"keras.optimizers.{name}({schedule})")
    for key, values in {"regularizer": REGULARIZERS, "constraint": CONSTRAINTS}.items():
        for value in values:
            yield f"kernel_{key} {value}", model(INPUTS[2], f"L.Dense(4, kernel_{key}={value})({{x}})", 2)
            yield f"bias_{key} {value}", model(INPUTS[2], f"L.Dense(4, bias_{key}={value})({{x}})", 2)
            yield f"conv {key} {value}", model(INPUTS[4], f"L.Conv2D(4, 2, kernel_{key}={value})({{x}})", 4)
            yield f"embeddings_{key} {value}", compiled(["ids = L.Input((6,), dtype='int32', name='ids')", f"i = L.Embedding(8, 4, embeddings_{key}={value})(ids)"], "L.Dense(3)(L.Flatten()(i))", "'mse'", inputs="ids")
    for value in REGULARIZERS[:5]:
        yield f"activity_regularizer {value}", model(INPUTS[2], f"L.Dense(4, activity_regularizer={value})({{x}})", 2)
        yield f"recurrent_regularizer {value}", model(INPUTS[3], f"L.LSTM(3, recurrent_regularizer={value})({{x}})", 3)


LAST = {2: 6, 3: 4, 4: 2, 5: 2}


def model(first, part, rank, inputs="i"):
    fill = lambda text: text.replace("{x}", "i").replace("{last}", str(LAST[rank])).replace("{h}", "6").replace("{w}", "6")
    lines = [line.replace("{last}", str(LAST[rank])) for line in first] + [f"x = {fill(part)}", "y = L.Dense(3, name='out')(L.Flatten()(x) if len(x.shape) > 1 else x)"]
    return "\n".join(lines + [f"model = keras.Model({inputs}, y)", "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')"])


def sequence(first, part):
    """Where the mask goes on to the loss, or to a layer that uses it."""
    lines = first + [f"x = {part.replace('{x}', 'i').replace('{last}', '4')}", "y = L.Dense(3, name='out')(x)"]
    return "\n".join(lines + ["model = keras.Model(ids, y)", "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')"])


def compiled(first, last, loss, optimizer="keras.optimizers.SGD(0.1)", inputs="i"):
    lines = first + [f"x = L.Dense(4, activation='tanh')(i)" if "Embedding" not in first[-1] else "x = i", f"y = {last.replace('(i)', '(x)')}"]
    return "\n".join(lines + [f"model = keras.Model({inputs}, y)", f"model.compile(optimizer={optimizer}, loss={loss})"])


def sweep(only=""):
    for position, (name, source) in enumerate(sources()):
        if only in name:
            yield Case(source, seed=position, before=2 if "(" in name and "SGD(0.1)" not in source else 0, weighted=name.startswith("loss") and position % 2 == 0)
