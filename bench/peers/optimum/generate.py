"""Writes problems with their proven optima at several budgets.

usage: python generate.py FOLDER [seconds for each solve] [workers]
"""

import json
import multiprocessing
import pathlib
import sys
import time

import problems
from program import optimum

# Budgets beside the smallest one: parts of the way from there to the peak with everything held.
PARTS = [0.08, 0.2, 0.4, 0.7]


def solve(job):
    build, size, seed, seconds = job
    problem = build(seed, size)
    peak, answers, began = problem.all_held_peak(), {}, time.time()

    def ask(budget):
        if budget not in answers:
            answers[budget] = optimum(problem, budget, seconds)
        return answers[budget]

    smallest = close_in(ask, problem.least(), peak)
    for part in PARTS:
        ask(smallest + max(1, round(part * (peak - smallest))))
    optima = sorted((b, a) for b, a in answers.items() if isinstance(a, int))
    infeasible = sorted(b for b, a in answers.items() if a is None)
    unknown = len(answers) - len(optima) - len(infeasible)
    # Of the budgets without a schedule, only the largest says something.
    proven = [(b, None) for b in infeasible[-1:]] + optima
    return build.__name__, problem, proven, unknown, time.time() - began


def close_in(ask, least, peak):
    """The smallest budget for which a schedule is known, to a thirtieth of the way: there it is hard."""
    without, smallest = least - 1, peak
    middle = least + (peak - least) // 5
    while smallest - without > 1 + (peak - least) // 30:
        answer = ask(middle)
        if isinstance(answer, int):
            smallest = middle
        else:
            without = middle
        middle = (smallest + without) // 2
    return smallest


def document(problem, proven):
    return {
        "name": problem.name,
        "given": problem.given,
        "turn": problem.turn,
        "tasks": problem.tasks,
        "optima": proven,
    }


def main(folder, seconds=100, workers=2):
    jobs = [(build, size, seed, seconds) for build, cases in problems.SUITE for size, seed in cases]
    jobs.sort(key=lambda job: len(job[0](job[2], job[1]).tasks))
    families = {}
    with multiprocessing.Pool(workers) as pool:
        for family, problem, proven, unknown, took in pool.imap_unordered(solve, jobs):
            feasible = sum(answer is not None for _, answer in proven)
            print(f"{problem.name}: {len(problem.tasks)} tasks, {feasible} optima, {len(proven) - feasible} infeasible, "
                  f"{unknown} unknown, {took:.0f} s", flush=True)
            families.setdefault(family, []).append(document(problem, proven))
            for name, documents in families.items():
                documents.sort(key=lambda document: (len(document["tasks"]), document["name"]))
                lines = ",\n".join(json.dumps(d, separators=(",", ":")) for d in documents)
                pathlib.Path(folder, f"{name}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
