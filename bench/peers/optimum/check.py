"""Holds the mixed-integer program against brute force on tiny problems.

The brute force walks through states (tasks done, last run of the stage, values in memory), cheapest first, and drops any value
at any time. It shares nothing with the program but the problem. Without the rule that a stage runs its tasks in their order, each
once, it may be cheaper; how often that is so is printed.
"""

import heapq
import sys

import problems
from program import optimum


def brute_force(problem, budget, in_order=True):
    given, count = len(problem.given), len(problem.tasks)
    size = lambda live: sum(problem.bytes(value) for value in live)
    beginning = (0, -1, frozenset(range(given)))
    if size(beginning[2]) > budget:
        return None
    queue, best, ticket = [(0, 0, beginning)], {beginning: 0}, 1
    while queue:
        cost, _, state = heapq.heappop(queue)
        if cost > best[state]:
            continue
        done, last, live = state
        if done == count:
            return cost
        following = [(cost, (done, last, live - {value})) for value in live]
        for task in range(last + 1 if in_order else 0, done + 1):
            reads, _, price = problem.tasks[task]
            after = live | {given + task}
            if live.issuperset(reads) and size(after) <= budget:
                following.append((cost + price, (done + 1, -1, after) if task == done else (done, task if in_order else -1, after)))
        for price, state in following:
            if price < best.get(state, price + 1):
                best[state] = price
                heapq.heappush(queue, (price, ticket, state))
                ticket += 1
    return None


def main(count):
    checked = infeasible = cheaper = 0
    for seed in range(count):
        problem = problems.tiny(seed)
        low, high = problem.least() - 1, problem.all_held_peak()
        for budget in range(low, high + 1, max(1, (high - low) // 5)):
            expected = brute_force(problem, budget)
            found = optimum(problem, budget, 60)
            assert found == expected, f"{problem} at {budget}: program {found}, brute force {expected}"
            checked += 1
            infeasible += expected is None
            free = brute_force(problem, budget, in_order=False)
            cheaper += free != expected
    print(f"{checked} problems and budgets agree, {infeasible} of them infeasible; {cheaper} would be cheaper with any order within a stage")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
