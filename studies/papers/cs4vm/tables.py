"""Tables 1 to 3 of CS4VM, and the same cells compared with what a correct implementation gives."""

from __future__ import annotations

from collections.abc import Iterator

from studies.papers.cs4vm.settings import BY_NAME, METHODS, QUICK_SETS, SELDOM, task
from studies.papers.published import cs4vm as published
from studies.papers.published import cs4vm_expected as prototype
from studies.papers.tasks import Line, Reference, Table

REPEATS = {"table-1": 100, "table-2": 30}  # as in the paper
QUICK_REPEATS = 10
QUICK_COSTS = ("2", "10")
BESIDE = ("guarded CS-SVM", "guarded CS4VM")
CONSTANTS = {
    "always positive": "cost_positive",
    "the cheaper constant, by the labels": "cost_constant",
}
LAPLACIAN = (
    "the paper says nothing about graph or weight, and its column mixes always positive with always"
    " negative in equal shares at every cost, which no SVM with a correct bias gives"
)
REBUILT = "the authors' projected file is not public; ours is rebuilt by principal components"
LOCAL_MINIMA = "TSVM ends in local minima, and another implementation ends in others"
BUSY = (
    "a few milliseconds on a machine that was busy at the time; the lower end of the range is"
    " within the bound"
)
TSVM_SLACK = 0.15
# seconds of a whole fit that were promised: column, sets, bound
PROMISED = (
    ("CS4VM", ("Heart", "Wdbc", "Australian", "Optdigits"), 0.005),
    ("CS4VM", ("Sat", "Krvskp"), 0.15),
    ("Laplacian SVM", ("Sat", "Krvskp"), 0.5),
)


def cost_tables() -> list[Table]:
    """Return Tables 1 and 2, with constants and guarded SVMs to compare with."""
    lines: dict[str, list[Line]] = {"table-1": [], "table-2": []}
    for (cost, name), values in published.costs().items():
        lines[_table(cost)] += _lines(cost, name, values)
    titles = {
        "table-1": "Total cost on the test half, that of a missed positive drawn from U[0, 1000]",
        "table-2": "Total cost on the test half at 2, 5 and 10 for a missed positive",
    }
    return [
        Table(name, titles[name], tuple(lines[name]), REPEATS[name], QUICK_REPEATS)
        for name in titles
    ]


def expected() -> Table:
    """Return the cells of Tables 1 and 2 compared with the means of our prototypes."""
    lines = []
    for (cost, name), values in prototype.expected().items():
        for method, (mean, spread) in values.items():
            slack = TSVM_SLACK * mean if method == "TSVM" else 0.0
            n = prototype.repeats(cost, name, method)
            reference = Reference(mean, spread, "sampled", "our notes", repeats=n, least=slack)
            seeds = REPEATS["table-2"] if cost != "U" or method in SELDOM else None
            lines.append(
                Line(
                    "expected",
                    _setting(cost, name),
                    method,
                    "cost",
                    task(name, cost, method),
                    reference,
                    note=_doubt(name, method),
                    quick=_is_quick(cost, name, method),
                    seeds=seeds,
                )
            )
    title = (
        "The same cells and the means of our prototypes, within three standard errors (ours, not"
        " the paper's)"
    )
    return Table("expected", title, tuple(lines), REPEATS["table-1"], QUICK_REPEATS)


def table_3() -> Table:
    """Return Table 3: the best of three fits at a cost of 10; the paper's machine is of 2010."""
    lines = []
    for name, values in published.seconds().items():
        for method, (mean, spread) in values.items():
            timed = task(name, "10", method, repeats=3)
            theirs = Reference(mean, spread, "shown", "Table 3")
            lines.append(Line("table-3", name, method, "seconds", timed, theirs))
    for method, names, bound in PROMISED:
        for name in names:
            timed = task(name, "10", method, repeats=3)
            reference = Reference(bound, kind="at most", source="our notes")
            mark, steady = "promised", False
            lines.append(
                Line(
                    "table-3",
                    name,
                    method,
                    "seconds",
                    timed,
                    reference,
                    mark=mark,
                    note=BUSY,
                    steady=steady,
                )
            )
    return Table("table-3", "Seconds per fit with ten labels", tuple(lines), 10, 1)


def _table(cost: str) -> str:
    return "table-1" if cost == "U" else "table-2"


def _setting(cost: str, name: str) -> str:
    return f"{name}, cost {cost if cost != 'U' else 'U[0, 1000]'}"


def _is_quick(cost: str, name: str, method: str) -> bool:
    return cost in QUICK_COSTS and name in QUICK_SETS and method != "Laplacian SVM"


def _doubt(name: str, method: str) -> str:
    """Return what may be the reason if a cell differs."""
    if BY_NAME[name].doubt:
        return BY_NAME[name].doubt
    return {"TSVM": LOCAL_MINIMA}.get(method, "")


def _lines(cost: str, name: str, values: dict[str, tuple[float, float]]) -> Iterator[Line]:
    table = _table(cost)
    setting = _setting(cost, name)
    for column in METHODS:
        reference = (
            Reference(*values[column], source=table.replace("-", " ").capitalize())
            if column in values
            else None
        )
        note = (
            LAPLACIAN
            if column == "Laplacian SVM"
            else _doubt(name, column) or (REBUILT if name == "Wdbc" else "")
        )
        seeds = REPEATS["table-2"] if column in SELDOM else None
        quick = _is_quick(cost, name, column)
        cell = task(name, cost, column)
        yield Line(
            table, setting, column, "cost", cell, reference, note=note, quick=quick, seeds=seeds
        )
    for label, measure in CONSTANTS.items():
        quick = _is_quick(cost, name, "CS-SVM")
        yield Line(table, setting, label, measure, task(name, cost, "CS-SVM"), quick=quick)
