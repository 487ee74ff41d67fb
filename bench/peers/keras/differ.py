"""Draws Keras models and holds Plimsoll against Keras on TensorFlow.

    python differ.py --count 200 --seed 0 --folder FOUND      # random models and tutorial styles; failing ones are made small
    python differ.py --sweep --folder FOUND                    # every part of the catalogue alone
    python differ.py --script FILE                             # one case, as a finding has it
    python differ.py --count 1000 --record RECORD.md           # with a table at the end

`cargo build -p plimsoll --example differ` first.
"""

import argparse
import ast
import collections
import dataclasses
import json
import pathlib
import random
import re
import time

import sides
from judge import Case, Verdict, judge
from shrink import shrink

import draw
import styles
from sweep import sweep


def drawn_cases(first, count):
    """Half of them random, half in the style of tutorials."""
    seed = first
    while count:
        chance = random.Random(seed * 7919)
        source = styles.drawn(seed) if chance.random() < 0.45 else draw.drawn(seed)
        if source:
            settings = dict(batch=chance.choice([5, 5, 7]), steps=3, before=chance.choice([0, 0, 0, 2]), weighted=chance.random() < 0.15)
            yield Case(source, seed=seed, **settings)
            count -= 1
        seed += 1


def from_script(path):
    text = pathlib.Path(path).read_text()
    found = re.search(r"^# (seed=.*)$", text, re.M)
    return Case(text, **eval(f"dict({found.group(1)})" if found else "{}"))


def features(source):
    """The layers, ops, losses and optimizers of a source, and the options they are given."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "compile":
                found |= {f"loss {c.value}" for k in node.keywords if k.arg == "loss" for c in ast.walk(k.value) if isinstance(c, ast.Constant) and isinstance(c.value, str) and not c.value.startswith("out")}
            if name == "Input":
                continue
            of = ast.unparse(node.func.value)
            prefix = "ops." if of == "ops" else "" if of == "L" else of.split(".")[-1] + "." if of.startswith("keras") else None
            if prefix is None:
                continue
            found.add(prefix + name)
            found |= {f"{prefix}{name}.{k.arg}" for k in node.keywords if k.arg not in ["name", "loss", "optimizer"]}
    return found


def plain_compile(source):
    """The same model with a plain optimizer and loss, so that what differs is a layer or how layers are put together."""
    return re.sub(r"model\.compile\(.*", "model.compile(optimizer=keras.optimizers.SGD(0.1), loss='mse')", source)


class Tally:
    """What came of all cases."""

    def __init__(self):
        self.outcomes, self.refused, self.different = collections.Counter(), collections.Counter(), collections.Counter()
        self.by_feature = collections.defaultdict(collections.Counter)
        self.one_step, self.invalid, self.examples = 0, collections.Counter(), {}

    def add(self, case, verdict):
        self.outcomes[verdict.outcome] += 1
        self.one_step += verdict.one_step
        if verdict.outcome == "invalid":
            self.invalid[verdict.what[:80]] += 1
            return
        for feature in features(case.source):
            self.by_feature[feature][verdict.outcome] += 1
        if verdict.outcome == "refused":
            self.refused[verdict.what] += 1
        elif verdict.outcome != "equal":
            self.different[f"{verdict.outcome}: {verdict.what}"] += 1
        self.examples.setdefault(verdict.key, verdict.detail)

    def text(self):
        judged = sum(self.outcomes.values()) - self.outcomes["invalid"]
        lines = [f"{judged} models: " + ", ".join(f"{self.outcomes[o]} {o}" for o in ["equal", "said", "refused", "differs", "crash"]) + f"; {self.one_step} of them judged by one step; {self.outcomes['invalid']} more that Keras itself does not take", ""]
        lines += ["## Different", "", "| models | what |", "|---|---|"] + [f"| {count} | {what} |" for what, count in self.different.most_common()] + [""]
        lines += ["## Refused", "", "| models | what |", "|---|---|"] + [f"| {count} | {what} |" for what, count in self.refused.most_common(80)] + [""]
        lines += ["## By layer and option", "", "| | equal | said | refused | differs | crash |", "|---|---|---|---|---|---|"]
        for feature in sorted(self.by_feature):
            row = self.by_feature[feature]
            lines.append(f"| {feature} | " + " | ".join(str(row[o]) for o in ["equal", "said", "refused", "differs", "crash"]) + " |")
        return "\n".join(lines) + "\n"


def small(case, verdict, ours, tries, state):
    """The case made small, and its verdict."""
    ways = " whole" in verdict.what or "planned" in verdict.what
    chaotic = verdict.what.startswith("chaotic") or verdict.one_step
    def fails(candidate):
        return judge(candidate, ours, ways, quick=not chaotic, state=state).key == verdict.key
    found = shrink(case, fails, tries)
    return found, judge(found, ours, state=state)


def report(folder, case, verdict, shrunk, of):
    """Writes what was found, one file for each kind of failure and place."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{verdict.outcome}-{re.sub('[^a-z]+', '-', verdict.what.lower())[:40].strip('-')}-{case.seed}.md"
    text = f"# {verdict.outcome}: {verdict.what}\n\n{of.detail}\n\n```python\n{shrunk.script()}```\n\nAs drawn (seed {case.seed}, {verdict.detail}):\n\n```python\n{case.source}\n```\n"
    (folder / name).write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--only", default="", help="of the sweep, what contains this")
    parser.add_argument("--script")
    parser.add_argument("--folder", type=pathlib.Path, help="where failing cases are written")
    parser.add_argument("--record", type=pathlib.Path, help="where the table is written")
    parser.add_argument("--shrink", type=int, default=100, help="tries to make a failing case small")
    parser.add_argument("--each", type=int, default=2, help="how many of one kind of failure are made small")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--avoid", type=pathlib.Path, help="words that are drawn seldom, because they are refused")
    parser.add_argument("--plain", action="store_true", help="mean squared errors and gradient descent for all, optimizer state left out")
    parser.add_argument("--stateless", action="store_true", help="optimizer state is left out")
    parser.add_argument("--program", help="the process that answers")
    options = parser.parse_args()
    ours, tally, began = sides.Ours(options.program), Tally(), time.time()
    if options.avoid:
        draw.AVOIDED.update(options.avoid.read_text().split())
    if options.script:
        verdict = judge(from_script(options.script), ours)
        return print(json.dumps(verdict.__dict__, indent=1))
    cases = sweep(options.only) if options.sweep else drawn_cases(options.seed, options.count)
    told, stateless = collections.Counter(), options.plain or options.stateless
    for number, case in enumerate(cases):
        if options.plain:
            case = dataclasses.replace(case, source=plain_compile(case.source))
        if stateless:
            case = dataclasses.replace(case, before=0)
        try:
            verdict = judge(case, ours, state=not stateless)
        except Exception as error:  # the tester's own: it must not end a long run, nor pass for equal
            verdict = Verdict("invalid", f"tester: {type(error).__name__}: {error}")
        tally.add(case, verdict)
        if verdict.outcome not in ["equal"]:
            print(f"{time.time() - began:6.0f}s #{number} seed {case.seed} {verdict.outcome}: {verdict.what} | {verdict.detail[:200]}", flush=True)
        bad = verdict.outcome in ["differs", "crash", "said"] and "optimizer" not in verdict.what
        if bad and options.folder and told[verdict.key] < options.each:
            told[verdict.key] += 1
            shrunk, of = small(case, verdict, ours, options.shrink, not stateless)
            print(shrunk.source, flush=True)
            report(options.folder, case, verdict, shrunk, of)
        if options.record:
            options.record.write_text(f"{time.time() - began:.0f} s\n\n{tally.text()}")
        if time.time() - began > 60 * options.minutes:
            break
    print(tally.text().split("## By layer")[0])


if __name__ == "__main__":
    main()
