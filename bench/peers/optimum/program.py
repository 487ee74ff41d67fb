"""The cheapest schedule of a problem under a budget, as a mixed-integer program solved by HiGHS.

After Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization" (MLSys 2020). Stage t ends with the
first run of task t; in front of it earlier tasks may run again, in their order.

  R[t,i]    task i runs in stage t                         R[t,t] = 1
  S[t,v]    value v is kept from stage t-1 into stage t    S[t,v] <= S[t-1,v] + R[t-1,v]
            a task finds what it reads                     R[t,k] <= S[t,v] + R[t,v] for each v that k reads
  L[t,v,k]  v is live while k runs in stage t
            computed by now: as long as it is needed       L >= R[t,k], R[t,later user of v], S[t+1,v]
            not yet computed in this stage: if kept        L = S[t,v]
            bytes                                          sum over v of bytes(v) L[t,v,k] <= budget

A value counts from the run that writes it to the last run that reads it, both included; given values count from the beginning.
Checkmate counts bytes differently, as a running sum with a variable for each release. Both have the same whole solutions, but
this relaxation is much tighter: most problems here are solved at the root, where the other took a hundred nodes and minutes.
"""

import highspy
import numpy as np


class Program:
    """Columns and rows, collected one by one."""

    def __init__(self):
        self.lower, self.upper, self.cost, self.integral = [], [], [], []
        self.starts, self.index, self.value, self.row_lower, self.row_upper = [0], [], [], [], []

    def column(self, lower, upper, cost=0.0, integral=True):
        self.lower.append(lower)
        self.upper.append(upper)
        self.cost.append(cost)
        self.integral.append(integral)
        return len(self.lower) - 1

    def row(self, terms, lower=-np.inf, upper=0.0):
        for column, factor in terms:
            if column is not None:
                self.index.append(column)
                self.value.append(factor)
        self.starts.append(len(self.index))
        self.row_lower.append(lower)
        self.row_upper.append(upper)

    def solver(self, seconds, seed=0):
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.lower), len(self.row_lower)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = map(np.array, (self.cost, self.lower, self.upper))
        lp.row_lower_, lp.row_upper_ = np.array(self.row_lower), np.array(self.row_upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = np.array(self.starts), np.array(self.index)
        lp.a_matrix_.value_ = np.array(self.value, dtype=float)
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if integral else kinds.kContinuous for integral in self.integral]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", float(seconds))
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 0.999)  # costs are whole numbers
        solver.setOptionValue("random_seed", seed)
        solver.passModel(lp)
        return solver


def build(problem, budget):
    """The program of a problem, and its R columns by (stage, task)."""
    given, count = len(problem.given), len(problem.tasks)
    users = [problem.users(value) for value in range(given + count)]
    program, runs, kept = Program(), {}, {}
    for stage in range(count):
        for task in range(stage + 1):
            runs[stage, task] = program.column(int(task == stage), 1, problem.tasks[task][2])
        for value in range(given + stage):
            kept[stage, value] = program.column(int(stage == 0), 1)

    def run(stage, value):
        return runs.get((stage, value - given)) if value >= given else None

    for stage in range(count):
        for value in range(given + stage):
            now, then, again = kept[stage, value], kept.get((stage + 1, value)), run(stage, value)
            later = [(runs[stage, user], -1) for user in users[value] if user <= stage] + [(then, -1)]
            if stage > 0:
                program.row([(now, 1), (kept.get((stage - 1, value)), -1), (run(stage - 1, value), -1)])
                # Neither kept nor computed in vain, nor both: this costs no optimum and helps the solver.
                program.row([(now, 1)] + later)
            if again is not None:
                program.row([(again, 1)] + later)
                program.row([(now, 1), (again, 1)], upper=1.0)
        for task in range(stage + 1):
            for value in problem.tasks[task][0]:
                program.row([(runs[stage, task], 1), (kept.get((stage, value)), -1), (run(stage, value), -1)])
        count_bytes(problem, program, stage, runs, kept, budget)
    return program, runs


def count_bytes(problem, program, stage, runs, kept, budget):
    """One row for each position of a stage, from the last to the first: what is needed there, is needed in front of it too."""
    given = len(problem.given)
    needed = {value: kept.get((stage + 1, value)) for value in range(given + stage + 1)}
    always = set(range(given)) if stage == 0 else set()
    for task in range(stage, -1, -1):
        used = problem.tasks[task][0] + [given + task]
        if task == stage:
            always.update(used)
        terms, constant = [], 0
        for value in range(given + stage + 1):
            if value > given + task:
                terms.append((kept.get((stage, value)), problem.bytes(value)))
            elif value in always:
                constant += problem.bytes(value)
            else:
                if value in used:
                    needed[value] = at_least(program, runs[stage, task], needed[value])
                terms.append((needed[value], problem.bytes(value)))
        program.row(terms, upper=budget - constant)


def at_least(program, *columns):
    """A column that is no less than each of some others."""
    largest = program.column(0, 1, integral=False)
    for column in columns:
        program.row([(column, 1), (largest, -1)])
    return largest


def optimum(problem, budget, seconds):
    """The least cost of all runs; `None` if no schedule exists; "unknown" if neither was proved in time."""
    program, _ = build(problem, budget)
    solver = program.solver(seconds)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status == highspy.HighsModelStatus.kOptimal:
        return round(solver.getInfo().objective_function_value)
    return "unknown"
