"""Draws models: lines of Python, each of which Keras has taken."""

import random
import re

import compiling
import sides
from parts import ANY, BY_RANK, MERGES, TO_VECTOR, Draw

import keras
import numpy as np

MOST = 600  # elements of a sample
AVOIDED = set()  # words that are known to be refused, and are drawn seldom


def avoided(text):
    return any(word in AVOIDED for word in re.findall(r"[\w.]+", text))


class Writer:
    """Lines that were tried, and the tensors they made."""

    def __init__(self, d):
        self.d, self.lines, self.count = d, [], 0
        self.space = {"keras": keras, "L": keras.layers, "ops": keras.ops, "np": np}

    def name(self, prefix="x"):
        self.count += 1
        return f"{prefix}{self.count}"

    def shape(self, name):
        return tuple(self.space[name].shape)

    def line(self, text):
        """Adds a line, if Keras takes it."""
        try:
            exec(text, self.space)
        except Exception:
            return False
        self.lines.append(text)
        return True

    def tensor(self, expression, prefix="x"):
        """A line that makes a tensor of a sensible size; gives its name."""
        name = self.name(prefix)
        if AVOIDED and avoided(expression) and not self.d.chance(0.02):
            return None
        try:
            made = eval(expression, self.space)
            shape = made.shape
            if None in shape[1:] or not 1 < len(shape) < 6 or 0 in shape[1:] or np.prod(shape[1:], dtype=int) > MOST or shape[0] is not None or "float" not in str(made.dtype):
                return None
        except Exception:
            return None
        self.lines.append(f"{name} = {expression}")
        self.space[name] = made
        return name

    def input(self, kind=None):
        d, name = self.d, self.name("i")
        kind = kind or d.pick(["vector", "vector", "steps", "steps", "image", "image", "ids", "ids", "video", "pixels", "padded"])
        shape = {"vector": (d.pick([3, 4, 6, 8]),), "steps": (d.pick([4, 6, 7]), d.pick([2, 3, 4])), "padded": (d.pick([4, 6]), 3), "image": (d.pick([6, 8]), d.pick([6, 8]), d.pick([1, 2, 3])), "pixels": (6, 6, 1),
                 "ids": (d.pick([4, 6, 7]),), "video": (3, 4, 4, 2)}[kind]
        called = f"{name}_{kind}" if kind in ["pixels", "padded"] else name
        self.line(f"{name} = L.Input({shape!r}, {'dtype=' + repr('int32') + ', ' if kind == 'ids' else ''}name={called!r})")
        return name, kind

    def start(self, kind=None):
        """An input, and what is made of it at once where it needs that."""
        name, kind = self.input(kind)
        x = name
        if kind == "ids":
            mask = ", mask_zero=True" if self.d.chance(0.5) else ""
            x = self.tensor(f"L.Embedding({self.d.pick([8, 9, 12])}, {self.d.pick([2, 3, 4])}{mask})({name})")
        elif kind == "pixels":
            x = self.tensor(f"L.Rescaling(1 / 255)({name})") if self.d.chance(0.7) else name
        elif kind == "padded":
            x = self.tensor(f"L.Masking()({name})")
        return name, x

    def grow(self, x, steps):
        """Puts so many parts on a tensor."""
        kept = [x]
        for _ in range(steps):
            for _ in range(12):
                y = self.part(x, kept)
                if y:
                    x = y
                    kept.append(x)
                    break
        return x, kept

    def part(self, x, kept):
        d, shape = self.d, self.shape(x)
        if len(kept) > 1 and d.chance(0.12):
            return self.tensor(d.pick(MERGES).format(x=x, y=d.pick(kept)))
        if len(kept) > 1 and d.chance(0.08):
            return self.shared(x, d.pick(kept))
        if d.chance(0.06):
            return self.nested(x)
        rank = BY_RANK.get(len(shape), [])
        table = rank if rank and d.chance(0.72) else ANY
        _, part = d.pick(table)
        extents = {"last": shape[-1], "h": shape[1] if len(shape) > 2 else 1, "w": shape[2] if len(shape) > 3 else 1}
        return self.tensor(part(d).replace("{last}", str(extents["last"])).replace("{h}", str(extents["h"])).replace("{w}", str(extents["w"])).replace("{x}", x))

    def shared(self, x, y):
        """One layer called twice, and what comes of both."""
        if self.shape(x) != self.shape(y):
            return None
        table = BY_RANK.get(len(self.shape(x)), ANY)
        _, part = self.d.pick(table)
        text = part(self.d)
        if text.count("{x}") != 1 or not text.startswith("L.") or not text.endswith("({x})") or "{" in text[:-5]:
            return None
        layer = self.name("layer")
        if not self.line(f"{layer} = {text[:-5]}"):
            return None
        a, b = self.tensor(f"{layer}({x})"), self.tensor(f"{layer}({y})")
        return self.tensor(f"L.Add()([{a}, {b}])") if a and b else None

    def nested(self, x):
        """A model in the model, sometimes frozen, sometimes called twice."""
        d, inner = self.d, self.name("inner")
        i = self.name("j")
        self.line(f"{i} = L.Input({self.shape(x)[1:]!r})")
        y, _ = self.grow(i, d.pick([1, 2, 3]))
        if y == i or not self.line(f"{inner} = keras.Model({i}, {y}, name={inner!r})"):
            return None
        if d.chance(0.2):
            self.line(f"{inner}.trainable = False")
        z = self.tensor(f"{inner}({x})")
        if z and d.chance(0.25) and self.shape(z) == self.shape(x):
            z = self.tensor(f"{inner}({z})")
        return z

    def vector(self, x):
        """The tensor as one vector a sample."""
        rank = len(self.shape(x))
        return x if rank == 2 else self.tensor(self.d.pick(TO_VECTOR[rank]).format(x=x)) or self.tensor(f"L.Flatten()({x})")

    def head(self, x):
        """An output with a loss that suits it."""
        for _ in range(20):
            loss, activation, least = compiling.loss(self.d)
            if not avoided(loss):
                break
        name = self.name("out")
        if len(self.shape(x)) != 3 or self.d.chance(0.5):
            x = self.vector(x)
        units = max(least, self.d.pick([1, 2, 3, 4]))
        ending = "" if activation == "linear" else f", activation={activation!r}"
        y = self.tensor(f"L.Dense({units}{ending}, name={name!r})({x})") if self.d.chance(0.85) or not ending else None
        if y is None:
            y = self.tensor(f"L.Dense({units})({x})")
            y = self.tensor(f"L.Activation({activation!r}, name={name!r})({y})")
        return y, (name, loss)


def drawn(seed, unusual=0.12):
    """A random model: some inputs, parts on each, merged, some outputs."""
    d = Draw(random.Random(seed), unusual)
    keras.backend.clear_session()
    w = Writer(d)
    inputs, ends = [], []
    for _ in range(d.pick([1, 1, 1, 2])):
        name, x = w.start()
        if x is None:
            return None
        x, kept = w.grow(x, d.pick([1, 2, 2, 3, 4, 5]))
        inputs.append(name)
        ends.append(x)
    x = ends[0]
    if len(ends) == 2:
        x = w.tensor(d.pick(MERGES).format(x=ends[0], y=ends[1])) if d.chance(0.3) else None
        x = x or w.tensor(f"L.Concatenate()([{w.vector(ends[0])}, {w.vector(ends[1])}])")
        if x is None:
            return None
        x, kept = w.grow(x, d.pick([0, 1, 2]))
    heads = [w.head(x)]
    if d.chance(0.25):
        heads.append(w.head(d.pick(kept)))
    if any(head is None for head, _ in heads):
        return None
    outputs = ", ".join(head for head, _ in heads)
    w.line(f"model = keras.Model([{', '.join(inputs)}], [{outputs}])" if len(inputs) + len(heads) > 2 or d.chance(0.5) else f"model = keras.Model({inputs[0]}, {outputs})")
    for _ in range(20):
        line = compiling.compile_line(d, [loss for _, loss in heads])
        if not avoided(line) or d.chance(0.02):
            break
    w.line(line)
    return "\n".join(w.lines) if "model" in w.space else None
