"""Small training-like problems: forward tasks, then the backward tasks that mirror them.

A problem is tasks in a fixed order. Each reads values, writes one value and has a cost. A value is an index: first the given
ones (inputs of the step), then one for each task. Everything is an integer, and the same seed gives the same problem.
"""

import random
from dataclasses import dataclass, field


@dataclass
class Problem:
    name: str
    given: list[int]  # bytes of each given value
    tasks: list[tuple[list[int], int, int]] = field(default_factory=list)  # (values read, bytes written, cost)
    turn: int = 0  # the first backward task

    def bytes(self, value):
        return self.given[value] if value < len(self.given) else self.tasks[value - len(self.given)][1]

    def add(self, reads, size, cost):
        self.tasks.append((sorted(set(reads)), size, cost))
        return len(self.given) + len(self.tasks) - 1

    def users(self, value):
        return [task for task, (reads, _, _) in enumerate(self.tasks) if value in reads]

    def least(self):
        """What the most demanding task reads and writes."""
        return max([sum(self.bytes(v) for v in reads) + size for reads, size, _ in self.tasks] + [sum(self.given)])

    def all_held_peak(self):
        last = {v: max(self.users(v), default=-1) for v in range(len(self.given) + len(self.tasks))}
        peak = 0
        for step in range(len(self.tasks)):
            value = len(self.given) + step
            live = [v for v in range(value + 1) if max(last[v], v - len(self.given), 0) >= step]
            peak = max(peak, sum(self.bytes(v) for v in live))
        return peak


# What the gradient of each kind of op reads beside the gradient of its output.
READS = {
    "conv": lambda inputs, output: inputs,
    "norm": lambda inputs, output: inputs,
    "relu": lambda inputs, output: [output],
    "mul": lambda inputs, output: inputs,
    "pool": lambda inputs, output: [inputs[0], output],
    "up": lambda inputs, output: [],
    "concat": lambda inputs, output: [],
    "add": lambda inputs, output: [],
}


class Builder:
    """Writes the forward pass op by op, then the whole backward pass."""

    def __init__(self, name, seed, given):
        self.random = random.Random(seed)
        self.problem = Problem(name, [given])
        self.ops = []

    def op(self, kind, inputs, size, cost=None):
        if cost is None:
            cost = self.random.randint(20, 100) if kind == "conv" else self.random.randint(1, 3)
        output = self.problem.add(inputs, size, cost)
        self.ops.append((kind, list(inputs), output, cost))
        return output

    def size(self, low=4, high=32):
        return self.random.randint(low, high)

    def finish(self, value, weights=False):
        """The loss of a value, and the gradients of everything. With `weights`, those of convolutions are tasks of their own."""
        problem = self.problem
        loss = self.op("norm", [value], 1, 1)
        problem.turn = len(problem.tasks)
        gradient = {loss: None}
        for kind, inputs, output, cost in reversed(self.ops):
            if output not in gradient:
                continue
            above = [gradient[output]] if gradient[output] is not None else []
            saved = READS[kind](inputs, output)
            if weights and kind == "conv":
                problem.add(above + saved, self.random.randint(1, 4), cost)
            for source in dict.fromkeys(inputs):
                self.pass_on(kind, source, above, saved, cost, gradient, weights)
        return problem

    def pass_on(self, kind, source, above, saved, cost, gradient, weights):
        problem = self.problem
        is_given = source < len(problem.given)
        if is_given and (weights or kind != "conv"):
            return
        if kind == "add" and source not in gradient:
            gradient[source] = above[0]  # the sum's gradient is that of each summand
            return
        so_far = [gradient[source]] if source in gradient else []
        size = self.random.randint(1, 4) if is_given else problem.bytes(source)
        cost = cost if kind != "conv" or weights or is_given else 2 * cost
        gradient[source] = problem.add(above + saved + so_far, size, cost)


def chain(seed, length):
    """Expensive ops one behind the other."""
    b = Builder(f"chain-{length}-{seed}", seed, 8)
    value = 0
    for _ in range(length):
        value = b.op("conv", [value], b.size())
    return b.finish(value)


def mixed(seed, length):
    """A convolution, a normalization, an activation, and so on."""
    b = Builder(f"mixed-{length}-{seed}", seed, 8)
    value, kinds = 0, ["conv", "norm", "relu"]
    size = b.size()
    for index in range(length):
        size = b.size() if index % 3 == 0 else size
        value = b.op(kinds[index % 3], [value], size)
    return b.finish(value, weights=seed % 2 == 0)


def residual(seed, blocks):
    """Blocks of a convolution, an activation and a convolution, added to what went in."""
    b = Builder(f"residual-{blocks}-{seed}", seed, 8)
    size = b.size()
    value = b.op("conv", [0], size)
    for _ in range(blocks):
        inner = b.op("relu", [b.op("conv", [value], b.size())], size) if seed % 2 else b.op("conv", [value], b.size())
        value = b.op("add", [b.op("conv", [inner], size), value], size)
    return b.finish(value)


def unet(seed, depth):
    """Down with pooling, up again, each level beside what the way down had there."""
    b = Builder(f"unet-{depth}-{seed}", seed, 8)
    value, skips, size = 0, [], 32
    for _ in range(depth):
        skips.append(b.op("conv", [value], size))
        size //= 2
        value = b.op("pool", [skips[-1]], size)
    value = b.op("conv", [value], size)
    for skip in reversed(skips):
        size *= 2
        value = b.op("up", [value], size)
        value = b.op("conv", [value, skip], size)
    return b.finish(value)


def dense(seed, layers):
    """Each layer reads everything in front of it."""
    b = Builder(f"dense-{layers}-{seed}", seed, 8)
    values = [b.op("conv", [0], b.size())]
    for _ in range(layers):
        inner = b.op("concat", values, sum(b.problem.bytes(v) for v in values)) if seed % 2 else None
        values.append(b.op("conv", [inner] if inner else values, b.size(4, 12)))
    return b.finish(b.op("concat", values, sum(b.problem.bytes(v) for v in values)))


def branches(seed, count):
    """Branches of different lengths that join, as in an inception block."""
    b = Builder(f"branches-{count}-{seed}", seed, 8)
    value = b.op("conv", [0], b.size())
    for _ in range(1 + seed % 2):
        ends = []
        for branch in range(count):
            end = value
            for depth in range(1 + (branch + seed) % 3):
                end = b.op(["conv", "relu", "conv"][depth], [end], b.size(4, 16))
            ends.append(end)
        value = b.op("concat", ends, sum(b.problem.bytes(v) for v in ends))
    return b.finish(value)


def arbitrary(seed, length):
    """Any kind of op reads any one or two of the last few values; what nobody reads is joined at the end."""
    b = Builder(f"random-{length}-{seed}", seed, 8)
    values = [b.op("conv", [0], b.size())]
    for _ in range(length):
        kind = b.random.choice(["conv", "conv", "norm", "relu", "mul", "add"])
        first = b.random.choice(values[-4:])
        others = [v for v in values[-6:] if v != first]
        if kind in ("mul", "add") and others:
            second = b.random.choice(others)
            size = max(b.problem.bytes(first), b.problem.bytes(second))
            values.append(b.op(kind, [first, second], size))
        else:
            kind = "conv" if kind in ("mul", "add") else kind
            values.append(b.op(kind, [first], b.size() if kind == "conv" else b.problem.bytes(first)))
    ends = [v for v in values if not b.problem.users(v)]
    return b.finish(ends[0] if len(ends) == 1 else b.op("concat", ends, sum(b.problem.bytes(v) for v in ends)))


def tiny(seed):
    """Any tasks that read any values: what the check by brute force can still do."""
    r = random.Random(seed)
    problem = Problem(f"tiny-{seed}", [r.randint(1, 4)])
    for task in range(r.randint(4, 7)):
        reads = r.sample(range(task + 1), min(task + 1, r.randint(1, 3)))
        problem.add(reads, r.randint(1, 6), r.randint(1, 9))
    problem.turn = len(problem.tasks) // 2
    return problem


# Each family with its sizes; each size is tried with the seeds that follow.
SUITE = [
    (chain, [(4, 1), (6, 2), (8, 3), (10, 4), (12, 5), (14, 6), (17, 7)]),
    (mixed, [(4, 2), (6, 1), (7, 4), (9, 3), (10, 5), (12, 7), (15, 8), (18, 9)]),
    (residual, [(1, 1), (2, 2), (2, 3), (3, 4), (3, 5), (4, 6), (5, 7), (7, 8)]),
    (unet, [(1, 1), (2, 2), (2, 3), (3, 4), (3, 5), (3, 6), (4, 7)]),
    (dense, [(2, 1), (2, 2), (3, 3), (3, 4), (4, 5), (5, 6)]),
    (branches, [(2, 1), (3, 4), (2, 3), (3, 3), (3, 5), (4, 8)]),
    (arbitrary, [(4, 1), (6, 2), (7, 3), (8, 4), (9, 5), (10, 6), (12, 7), (12, 8), (16, 9)]),
]
