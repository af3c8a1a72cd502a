"""CS4VM: the published values. Running them waits for LabelMeanSVC."""

from __future__ import annotations

from semisvm.experiments.methods import missing
from semisvm.experiments.published import cs4vm as published
from semisvm.experiments.tasks import Line, Paper, Reference, Table

NOT_YET = "this table is not wired up yet"


def paper() -> Paper:
    """Return the paper; every line says why it can't run."""
    return Paper(
        "cs4vm",
        "Li, Kwok, Zhou (2010), Cost-sensitive semi-supervised support vector machine, AAAI",
        (*_cost_tables(), _table_3()),
        silent=(
            "Which class is positive, how many labelled rows of each class, the scaling of the features.",
            "That always answering positive beats the method on most sets where the cost is large.",
        ),
    )


def _line(table: str, setting: str, method: str, measure: str, reference: Reference) -> Line:
    why = missing("label mean") or NOT_YET
    return Line(table, setting, method, measure, None, reference, why=why, quick=setting == "Heart")


def _cost_tables() -> list[Table]:
    lines: dict[str, list[Line]] = {"table-1": [], "table-2": []}
    for (cost, name), values in published.costs().items():
        table, source = ("table-1", "Table 1") if cost == "U" else ("table-2", "Table 2")
        setting = name if cost == "U" else f"{name}, cost {cost}"
        for method, (mean, spread) in values.items():
            lines[table].append(_line(table, setting, method, "cost", Reference(mean, spread, source=source)))
    return [
        Table("table-1", "Total cost, that of a positive drawn from U[0, 1000]", tuple(lines["table-1"]), 100),
        Table("table-2", "Total cost at 2, 5 and 10 for a positive", tuple(lines["table-2"]), 30),
    ]


def _table_3() -> Table:
    lines = [
        _line("table-3", name, method, "seconds", Reference(mean, spread, "shown", "Table 3"))
        for name, values in published.seconds().items()
        for method, (mean, spread) in values.items()
    ]
    return Table("table-3", "Seconds", tuple(lines), 10)
