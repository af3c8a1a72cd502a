"""What the cells of Tables 1 and 2 say together: how near the paper, who beats whom, and how
constants compare.

Over the 15 faithful sets and the four costs each column has a ratio, our mean over the published
one, and a z: the difference of the means over its standard error, which counts both samples. Pure
sampling noise has mean |z| 0.80.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.harness.means import summarize
from studies.harness.tables import markdown_table
from studies.papers.compare import Comparison
from studies.papers.cs4vm.settings import COSTS, QUICK_SETS, SETS, task
from studies.papers.cs4vm.tables import QUICK_COSTS, REPEATS
from studies.papers.cs4vm.wins import cost_of, count_wins, difference
from studies.papers.published import cs4vm as published
from studies.papers.results import Results
from studies.papers.tasks import Line, Number, Reference, Table
from studies.papers.verdicts import judge

SOURCE = "our notes"
FAITHFUL = tuple(entry.name for entry in SETS if entry.is_faithful)
ALL = tuple(entry.name for entry in SETS)
RATIO_NAME = "median ratio to the paper"
RATIO = Reference(1.01, 0.06, "tolerance", SOURCE)
# column: most that mean |z| may be, least share of |z| below 2
JUDGED = {
    "CS-SVM": (1.2, 0.85),
    "CS4VM": (1.2, 0.85),
    "ground truth CS-SVM": (1.2, 0.85),
    "TSVM": (1.5, 0.80),
}
LEAST_WINS = {"2": 9, "5": 11, "10": 11, "U": 11}
MOST_LOSSES = {"2": 3, "5": 4, "10": 4, "U": 4}
# its name, the column that ran it, and which of that column's scores
OPPONENTS: tuple[tuple[str, str, str], ...] = (
    ("CS-SVM", "CS-SVM", "cost"),
    ("TSVM", "TSVM", "cost"),
    ("Laplacian SVM", "Laplacian SVM", "cost"),
    ("guarded CS-SVM", "guarded CS-SVM", "cost"),
    ("guarded CS4VM", "guarded CS4VM", "cost"),
    ("always positive", "CS-SVM", "cost_positive"),
    ("the cheaper constant, by the labels", "CS-SVM", "cost_constant"),
)


def summary() -> Table:
    """Return the summary: judged lines, and the tables of wins in its text."""
    title = "Over all sets: how near the paper, and who beats whom"
    return Table("summary", title, (), derive=derive, explain=explain, numbers=tuple(_numbers()))


def derive(results: Results, quick: bool) -> list[Comparison]:
    """Return the judged numbers; those whose cells are not all there are left out."""
    names, costs = (QUICK_SETS, QUICK_COSTS) if quick else (FAITHFUL, COSTS)
    near = list(_nearness(results, names, costs))
    if quick:  # with few repetitions only the ratio says anything
        return [comparison for comparison in near if comparison.line.measure == RATIO_NAME]
    return [*near, *_wins(results)]


def explain(results: Results, quick: bool) -> str:
    """Return wins, ties and losses of CS4VM at each cost by both tests, and the paper's; "" if
    quick.
    """
    rows = []
    for label, column, measure in OPPONENTS:
        for test, corrected in (("paired t", False), ("Nadeau-Bengio", True)):
            counts = [
                count_wins(results, ALL, c, "CS4VM", column, measure, corrected=corrected)
                for c in COSTS
            ]
            rows.append([label, test, *("" if count is None else str(count) for count in counts)])
        paper = [published.WINS.get(cost, {}).get(label) for cost in COSTS]
        if any(paper):
            rows.append(
                [label, "the paper, 20 sets", *("/".join(map(str, w)) if w else "-" for w in paper)]
            )
    if quick or all(
        cell == "" for row in rows for cell in row[2:] if row[1] != "the paper, 20 sets"
    ):
        return ""
    head = [
        "CS4VM against",
        "test",
        *(f"cost {cost if cost != 'U' else 'U[0, 1000]'}" for cost in COSTS),
    ]
    text = f"Wins/ties/losses of CS4VM over {len(ALL)} sets, at 95%.\n\n" + markdown_table(
        head, rows
    )
    return text + "\n\n" + _relative(results)


def _relative(results: Results) -> str:
    """Return the cost of every column relative to CS-SVM, as a geometric mean over the sets."""
    rows = []
    for label, column, measure in _relative_columns():
        ratios = [_ratio_to_supervised(results, cost, column, measure) for cost in COSTS]
        rows.append([label, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)])
    head = [
        "cost relative to CS-SVM",
        *(f"cost {cost if cost != 'U' else 'U[0, 1000]'}" for cost in COSTS),
    ]
    return f"Geometric means over the {len(ALL)} sets, of mean cost + 1:\n\n" + markdown_table(
        head, rows
    )


def _relative_columns() -> list[tuple[str, str, str]]:
    columns = dict.fromkeys(
        ["CS4VM", "ground truth CS-SVM", *(column for _, column, _ in OPPONENTS[1:5])]
    )
    return [(column, column, "cost") for column in columns] + list(OPPONENTS[5:])


def _numbers() -> Iterator[Number]:
    """Yield the differences that wins and ratios are made of."""
    for name in ALL:
        for cost in COSTS:
            for _, column, measure in OPPONENTS:
                yield difference(name, cost, "CS4VM", column, measure)
            for _, column, measure in _relative_columns():
                yield _excess(name, cost, column, measure)


def _excess(name: str, cost: str, column: str, measure: str) -> Number:
    """Return the number "a measure of a column minus the cost of CS-SVM", on a set."""
    return Number(task(name, cost, column), measure, task(name, cost, "CS-SVM"), "cost")


def _ratio_to_supervised(results: Results, cost: str, column: str, measure: str) -> float | None:
    """Return the geometric mean of ratios, each over the seeds of the column, all of which
    CS-SVM must have.
    """
    logs = []
    for name in ALL:
        ours = cost_of(results, name, cost, column, measure)
        excess = results.summary(_excess(name, cost, column, measure))
        if ours is None or excess is None or excess.n < ours.n:
            return None
        logs.append(np.log((ours.mean + 1) / (ours.mean - excess.mean + 1)))
    return float(np.exp(np.mean(logs)))


def _nearness(
    results: Results, names: tuple[str, ...], costs: tuple[str, ...]
) -> Iterator[Comparison]:
    theirs = published.costs()
    setting = f"{len(names)} sets, cost {', '.join(costs)}"
    for column, (most_z, least_share) in JUDGED.items():
        ratios = []
        z = []
        for name in names:
            for cost in costs:
                ours = cost_of(results, name, cost, column)
                if ours is None or ours.n < 2 or column not in theirs[cost, name]:
                    continue
                mean, spread = theirs[cost, name][column]
                repeats = REPEATS["table-1" if cost == "U" else "table-2"]
                error = np.sqrt(ours.sd**2 / ours.n + spread**2 / repeats)
                ratios.append(ours.mean / mean)
                z.append(abs(ours.mean - mean) / error)
        if len(ratios) < len(names) * len(costs):
            continue
        yield _judged(setting, column, RATIO_NAME, float(np.median(ratios)), RATIO)
        at_most = Reference(most_z, kind="at most", source=SOURCE)
        yield _judged(setting, column, "mean |z| against the paper", float(np.mean(z)), at_most)
        at_least = Reference(least_share, kind="at least", source=SOURCE)
        yield _judged(
            setting, column, "share of |z| below 2", float(np.mean(np.array(z) < 2)), at_least
        )


def _wins(results: Results) -> Iterator[Comparison]:
    for cost in COSTS:
        count = count_wins(results, ALL, cost, "CS4VM", "CS-SVM")
        setting = f"{len(ALL)} sets, cost {cost}"
        if count is not None:
            least = Reference(LEAST_WINS[cost], kind="at least", source=SOURCE)
            most = Reference(MOST_LOSSES[cost], kind="at most", source=SOURCE)
            yield _judged(setting, "CS4VM against CS-SVM", "wins", count.wins, least)
            yield _judged(setting, "CS4VM against CS-SVM", "losses", count.losses, most)
    count = count_wins(results, ALL, "U", "CS4VM", "guarded CS-SVM")
    if count is not None:
        none = Reference(0, kind="at most", source=SOURCE)
        yield _judged(
            f"{len(ALL)} sets, cost U", "CS4VM against guarded CS-SVM", "wins", count.wins, none
        )


def _judged(
    setting: str, method: str, measure: str, value: float, reference: Reference
) -> Comparison:
    """Return a comparison of one number that is made from many cells."""
    line = Line("summary", setting, method, measure, None, reference, quick=True)
    made = summarize([value])
    verdict, why = judge(made, reference)
    return Comparison(line, made, verdict, why)
