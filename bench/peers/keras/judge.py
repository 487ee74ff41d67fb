"""Holds one case against Keras: equal, said, refused, different, or a crash.

Tolerances: predictions 2e-5 and losses 3e-5 of the largest number; weights 1e-3 of the largest change of the tensor plus 1e-6 of its largest element, since a
missing term of an update would be lost in the rounding of the weights themselves. What is beyond that is held against Keras itself with weights and inputs
disturbed by 3e-7: up to ten times the distance between it and a run undisturbed is rounding. Where Keras moves by more than 1 % of the change, a case is chaotic, and one step of
plain gradient descent decides.
"""

import dataclasses
import pathlib
import re
import tempfile

import keras
import numpy as np

import sides
from sides import Invalid

SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="differ-"))


@dataclasses.dataclass(frozen=True)
class Case:
    """Lines of Python that make and compile `model`, and what is done with it."""

    source: str
    seed: int = 0
    batch: int = 5
    steps: int = 3
    before: int = 0  # steps that Keras makes before the file is saved
    weighted: bool = False  # whether samples have weights

    def script(self):
        head = "import keras, numpy as np\nfrom keras import layers as L, ops\n\n"
        settings = f"seed={self.seed}, batch={self.batch}, steps={self.steps}, before={self.before}, weighted={self.weighted}"
        return f"{head}{self.source}\n# bench/peers/keras: python differ.py --script THIS_FILE\n# {settings}\n"


@dataclasses.dataclass
class Verdict:
    outcome: str  # equal, said, refused, differs, crash, invalid
    what: str = ""  # what is refused or different, without what changes from case to case
    detail: str = ""
    one_step: bool = False  # chaotic, so judged by one step

    @property
    def key(self):
        return (self.outcome, self.what)


def judge(case, ours, ways=True, quick=False, state=True):
    """The verdict on a case. The quick one does not ask how much is rounding; without the state, what the optimizer remembers is not looked at."""
    sides.EAGERLY = not quick and case.seed % 5 != 0
    try:
        verdict = compare(case, ours, ways, quick, state)
        if verdict.outcome in ["differs", "said"] and sides.EAGERLY:
            sides.EAGERLY = False
            verdict = compare(case, ours, ways, quick, state)
        if quick:
            return verdict
        if verdict.outcome == "differs" and verdict.what.startswith("chaotic"):
            once = dataclasses.replace(case, steps=1, before=0, source=case.source + "\nmodel.compile(optimizer=keras.optimizers.SGD(0.1), loss=model._compile_loss._user_loss, loss_weights=model._compile_loss._user_loss_weights)")
            verdict = compare(once, ours, ways, quick, state)
            verdict.one_step = True
        return verdict
    except Invalid as error:
        return Verdict("invalid", str(error))


def compare(case, ours, ways, quick, state):
    model = sides.build(case.source, case.seed)
    data = sides.Data(model, case.batch, case.seed, case.weighted)
    file, saved = SCRATCH / "case.keras", SCRATCH / "saved.keras"
    saved.unlink(missing_ok=True)
    learns = bool(model.trainable_weights) and model.compiled and model._compile_loss is not None
    with invalid("keras"):
        if case.before and learns:
            sides.train(model, data, case.before)
        model.save(file)
        model = keras.models.load_model(file)
    with invalid("predict"):
        wanted = sides.predictions(model, data)
    numeric = learns and not sides.is_random(model)
    steps = case.steps if learns else 0
    answer = ours.ask({"file": str(file), "batch": case.batch, "fields": data.fields, "steps": steps, "save": str(saved), "ways": ways and numeric})
    if answer["outcome"] == "panic":
        message = answer["refused"]["message"]
        return Verdict("crash", plain(message), message)
    if answer["outcome"] == "refused" and answer["refused"]["stage"] in ["open", "case"]:
        return refused(answer)
    said = bool(answer["notes"])
    check = Check(case, file, data, said)
    check.quick, check.state = quick, state
    verdict = check.counts(sides.counts(model), answer["counts"]) or check.predictions(wanted, answer["predictions"])
    if verdict:
        return verdict
    if answer["outcome"] == "refused" and answer["refused"]["stage"] != "step":
        return refused(answer)
    if numeric:
        verdict = check.training(model, answer, saved)
        if verdict:
            return verdict
    return refused(answer) if answer["outcome"] == "refused" else Verdict("equal")


class invalid:
    """What goes wrong in here is Keras's own."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if kind is not None and issubclass(kind, Exception) and not issubclass(kind, Invalid):
            raise Invalid(f"{self.what}: {kind.__name__}: {error}"[:300]) from None


def refused(answer):
    message = answer["refused"]["message"]
    return Verdict("refused", f"{answer['refused']['stage']}: {plain(message)}", message)


def plain(message):
    """A message without names and numbers."""
    message = re.sub(r"`[^`]*`", "`…`", message.replace("\n", " "))
    message = re.sub(r"layer [\w]+/[\w/]+", "layer …", message)
    return re.sub(r"(?<![A-Za-z_])\d+(\.\d+)?(e-?\d+)?", "#", message)[:160]


class Check:
    """What was found against what was wanted."""

    def __init__(self, case, file, data, said):
        self.case, self.file, self.data, self.said = case, file, data, said

    def differs(self, what, detail):
        return Verdict("said" if self.said else "differs", what, detail)

    def counts(self, wanted, found):
        if wanted != found:
            return self.differs("counts", f"parameters {found}, not {wanted}")

    def predictions(self, wanted, found):
        if [len(x) for x in wanted] != [len(x) for x in found]:
            return self.differs("shapes of predictions", f"{[len(x) for x in found]}, not {[len(x) for x in wanted]}")
        if not all(np.isfinite(x).all() for x in wanted):
            raise Invalid("predictions that are not finite")
        for position, (a, b) in enumerate(zip(wanted, found)):
            b = np.array(b, dtype=np.float64)
            error, largest = worst(a - b), max(1e-3, np.abs(a).max(initial=0))
            if error > 2e-5 * max(1, largest) and error > 10 * self.moved("predictions", position):
                return self.differs("predictions", f"output {position} by {error:.2g} of {largest:.2g}: {few(b)}, not {few(a)}")

    def training(self, model, answer, saved):
        first = sides.weights(model)
        with invalid("train"):
            # Another function to trace, so not always.
            evaluated = sides.evaluate(model, self.data) if self.case.seed % 3 == 0 else answer["evaluated"]
            wanted = sides.train(model, self.data, self.case.steps)
            sides.finish(model)
        if not np.isfinite(wanted + [evaluated or 0]).all():
            raise Invalid("losses that are not finite")
        if answer["evaluated"] is not None and far(answer["evaluated"], evaluated, 3e-5):
            if abs(answer["evaluated"] - evaluated) > 10 * self.moved("evaluated", 0):
                return self.differs("loss of evaluation", f"{answer['evaluated']}, not {evaluated}")
        found = [np.nan if x is None else x for x in answer["losses"]]
        if len(found) < len(wanted):
            message = answer["refused"]["message"]
            return self.differs(f"step: {plain(message)}", message)
        for step, (a, b) in enumerate(zip(wanted, found)):
            if far(b, a, 3e-5) and not abs(a - b) <= 10 * self.moved("losses", step):
                chaotic = "chaotic " if self.moved("losses", step) > 1e-2 * max(abs(a), 1e-3) else ""
                return self.differs(f"{chaotic}loss of step {min(step, 1) + 1}", f"step {step + 1}: {b}, not {a}; all {found}, not {wanted}")
        with invalid("load"):
            loaded = self.load(saved)
        if isinstance(loaded, Verdict):
            return loaded
        return self.weights("weights", first, sides.weights(model), sides.weights(loaded)) or self.ways(answer) or self.optimizer(model, loaded)

    def load(self, saved):
        try:
            return keras.models.load_model(saved)
        except Exception as error:
            return self.differs("Keras does not open the file", str(error)[:500])

    def weights(self, what, first, wanted, found, scale=lambda name: 1e-3):
        if wanted.keys() != found.keys():
            return self.differs(f"names of {what}", f"{list(found)}, not {list(wanted)}")
        for name, a in wanted.items():
            before = first.get(name, np.zeros_like(a))
            change, largest = np.abs(a - before).max(initial=0), np.abs(a).max(initial=0)
            error = worst(a - found[name])
            if error <= 1e-3 * change + 1e-6 * max(largest, scale(name)):
                continue
            moved = self.moved(what, name)
            if error <= 10 * moved:
                continue
            chaotic = "chaotic " if moved > 1e-2 * max(change, 1e-6) else ""
            return self.differs(f"{chaotic}{what}", f"{name} by {error:.2g} where the change is {change:.2g}: {few(found[name])}, not {few(a)}, before {few(before)}")

    def optimizer(self, model, loaded):
        if not self.state:
            return None
        wanted, found = sides.optimizer_variables(model), sides.optimizer_variables(loaded)
        lost = lambda name: name.endswith("/iteration") and found.get(name) == 0
        if wanted and (not found or any(lost(name) for name in wanted)):
            return self.differs("the file has no optimizer state", "")
        # Slots of tiny gradients are rounding: their scale is that of the largest slot of their kind.
        kind = lambda name: name.rsplit("_", 1)[-1]
        scales = {}
        for name, slot in wanted.items():
            scales[kind(name)] = max(scales.get(kind(name), 1e-3), np.abs(slot).max(initial=0))
        return self.weights("optimizer", {}, wanted, found, lambda name: scales[kind(name)])

    def ways(self, answer):
        for name, way in answer["ways"].items():
            if way["refused"]:
                return Verdict("refused", f"{name}: {plain(way['refused'])}", way["refused"])
            # A tight budget may be met by micro-batches, too, which add up in another order.
            limit = 0 if name == "eager" else 1e-4
            wrong = max([abs((a or np.nan) - (b or np.nan)) / max(abs(b or 1), 1e-3) for a, b in zip(way["losses"], answer["losses"])], default=0)
            if not wrong <= limit + 1e-6 and wrong > 10 * self.moved("losses", 0):
                return Verdict("differs", f"{name} from whole: losses", f"{way['losses']}, not {answer['losses']}")
            if way["promise_kept"] is False:
                return Verdict("differs", f"{name}: the peak is not the planned one", "")
            if way["difference"] is None or (way["difference"] > limit + 1e-6 and not self.shaky()):
                return Verdict("differs", f"{name} from whole: weights", f"{way['tensor']} by {way['difference']}")

    def shaky(self):
        return any(np.any(self.moved("weights", name) > 1e-6) for name in (self.disturbed() or {"weights": {}})["weights"])

    def moved(self, what, key):
        """How far Keras's own numbers move when weights and inputs are disturbed a little."""
        runs = None if self.quick else self.disturbed()
        if runs is None:
            return 0
        return runs[what].get(key, 0)

    def disturbed(self):
        if not hasattr(self, "_runs"):
            self._runs = None
            try:
                self._runs = self.spread([self.disturbed_run(seed) for seed in range(2)])
            except Invalid:
                pass
        return self._runs

    def spread(self, runs):
        keys = runs[0].keys()
        return {what: {key: max(worst(run[what][key] - runs[0][what][key]) for run in runs[1:]) for key in runs[0][what]} for what in keys}

    def disturbed_run(self, seed):
        random = np.random.default_rng(seed)
        shake = lambda array: (array * (1 + 3e-7 * random.choice([-1.0, 1.0], array.shape))).astype(array.dtype)
        with invalid("disturbed"):
            model = keras.models.load_model(self.file)
            if seed:
                for variable in model.weights:
                    if keras.backend.is_float_dtype(variable.dtype):
                        variable.assign(shake(np.array(variable)))
            data = self.data
            if seed:
                data = sides.Data.__new__(sides.Data)
                data.__dict__.update(self.data.__dict__)
                data.x = [shake(x) if x.dtype == np.float32 else x for x in self.data.x]
            run = {"predictions": dict(enumerate(sides.predictions(model, data))), "evaluated": {}, "losses": {}, "weights": {}, "optimizer": {}}
            if model.compiled and model._compile_loss is not None and model.trainable_weights:
                run["evaluated"] = {0: np.array(sides.evaluate(model, data) if self.case.seed % 3 == 0 else 0.0)}
                run["losses"] = {step: np.array(loss) for step, loss in enumerate(sides.train(model, data, self.case.steps))}
                sides.finish(model)
                run["weights"], run["optimizer"] = sides.weights(model), sides.optimizer_variables(model)
            return run


def worst(difference):
    return float(np.nan_to_num(np.abs(difference), nan=np.inf).max(initial=0))


def far(found, wanted, tolerance):
    return not abs(found - wanted) <= tolerance * max(abs(wanted), 1e-2)


def few(array):
    return np.array2string(np.ravel(array)[:6], precision=7, separator=", ")
