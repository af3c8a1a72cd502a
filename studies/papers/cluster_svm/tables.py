"""Tables 1 to 3 of cluster-SVM, column by column, as printed and as reproduced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from studies.papers.cluster_svm.settings import (
    ALL_COMPONENTS,
    LINEAR,
    PLAIN,
    RBF,
    iris,
    kernel_cluster,
    linear_cluster,
    simulated,
)
from studies.papers.published import cluster_svm as published
from studies.papers.simulate import bayes_rate
from studies.papers.tasks import Kind, Line, Reference, Table, Task

SLACK = 0.01  # a mean over few test rows may be a little above the Bayes rate
# Means over 100 and 500 test rows of one population can't differ as much as the printed ones of A2.
NO_TARGET = (("A2", 100),)
QUICK_ROWS = (0.80, 0.95)


@dataclass(frozen=True)
class Column:
    """How one published column is run: `column` names the published one, None for what is only
    shown.
    """

    label: str
    column: str | None
    method: str
    params: dict[str, Any]
    mark: str = ""
    design: tuple[tuple[str, float], ...] = ()
    note: str = ""


TOO_WIDE = (
    "the printed covariance 4I has a Bayes rate of 0.824, below the printed accuracies; 2I"
    " reproduces them"
)
NO_NOISE = (
    "without noise a supervised RBF SVM is much better than printed; N(0, 1) noise reproduces the"
    " baselines"
)
AT_CHANCE = "the printed baselines are at chance, as a linear SVM is; an RBF SVM is not"

PACKAGE: tuple[str, dict[str, Any]] = ("package mixture", {})
A1 = (
    Column("SVM", "SVM", "supervised", LINEAR),
    Column("self-training", "self-training", "self-training", LINEAR),
    Column("generative, as the R package", "generative", *PACKAGE),
    Column("proposed, k=5", "proposed", "cluster", linear_cluster(5)),
    Column("proposed, k=2", None, "cluster", linear_cluster(2, C=0.01), "for comparison"),
    Column("Gaussian mixture", None, "mixture", {"covariance_type": "diag"}, "for comparison"),
)


def _a2(mark: str, variance: float, note: str = "") -> tuple[Column, ...]:
    design = (("variance", variance),)
    return (
        Column("SVM", "SVM", "supervised", LINEAR, mark, design, note),
        Column("self-training", "self-training", "self-training", LINEAR, mark, design, note),
        Column("generative, as the R package", "generative", *PACKAGE, mark, design, note),
        Column("proposed, k=5", "proposed", "cluster", linear_cluster(5), mark, design, note),
        Column(
            "proposed, k=3", None, "cluster", linear_cluster(3), f"for comparison, {mark}", design
        ),
        Column(
            "Gaussian mixture",
            None,
            "mixture",
            {"covariance_type": "diag"},
            f"for comparison, {mark}",
            design,
        ),
    )


B1 = (
    Column("SVM, linear", "SVM", "supervised", PLAIN, "as reproduced"),
    Column("self-training, linear", "self-training", "self-training", PLAIN, "as reproduced"),
    Column("generative, as the R package", "generative", *PACKAGE),
    Column("proposed, k=20", "proposed", "cluster", kernel_cluster(20) | ALL_COMPONENTS),
    Column("SVM, RBF", "SVM", "supervised", RBF, "as printed", note=AT_CHANCE),
    Column(
        "self-training, RBF", "self-training", "self-training", RBF, "as printed", note=AT_CHANCE
    ),
    Column("Gaussian mixture", None, "mixture", {"covariance_type": "diag"}, "for comparison"),
)
NOISY = (("noise", 1.0),)
B2 = (
    Column("SVM, RBF", "SVM", "supervised", RBF, "as printed", note=NO_NOISE),
    Column(
        "self-training, RBF", "self-training", "self-training", RBF, "as printed", note=NO_NOISE
    ),
    Column("generative, as the R package", "generative", *PACKAGE, "as printed", note=NO_NOISE),
    Column(
        "proposed, k=3", "proposed", "cluster", kernel_cluster(3) | ALL_COMPONENTS, "as printed"
    ),
    Column("SVM, RBF", "SVM", "supervised", RBF, "as reproduced", NOISY),
    Column("self-training, RBF", "self-training", "self-training", RBF, "as reproduced", NOISY),
    Column("generative, as the R package", "generative", *PACKAGE, "as reproduced", NOISY),
    Column(
        "proposed, k=20",
        "proposed",
        "cluster",
        kernel_cluster(20) | ALL_COMPONENTS,
        "with the baselines' noise",
        NOISY,
        "the proposed column fits data without noise, its baselines data with noise: they can't be"
        " one design",
    ),
)
IRIS = (
    Column("SVM", "SVM", "supervised", PLAIN),
    Column("self-training", "self-training", "self-training", PLAIN),
    Column("generative, as the R package", "generative", *PACKAGE),
    Column(
        "proposed, k=12, nearest",
        "proposed",
        "cluster",
        linear_cluster(12, 1.0, "nearest"),
        "as reproduced",
    ),
    Column(
        "proposed, k=12, random",
        "proposed",
        "cluster",
        linear_cluster(12, 1.0, "random"),
        "as printed",
        note=(
            "a random class for clusters without labels gives bad results; the class of the nearest"
            " cluster does not"
        ),
    ),
    Column(
        "Gaussian mixture, tied",
        None,
        "mixture",
        {"covariance_type": "tied", "reg_covar": 1e-2},
        "for comparison",
    ),
)


def table_1() -> Table:
    """Return Table 1, linear models."""
    columns = {"A1": A1, "A2": _a2("as printed", 4.0, TOO_WIDE) + _a2("as reproduced", 2.0)}
    lines = tuple(_simulated_lines("table-1", "Table 1", published.TABLE_1, columns))
    return Table(
        "table-1", "Linear models A1 and A2, test accuracy", lines, seeds=100, quick_seeds=10
    )


def table_2() -> Table:
    """Return Table 2, nonlinear models."""
    lines = tuple(_simulated_lines("table-2", "Table 2", published.TABLE_2, {"B1": B1, "B2": B2}))
    return Table(
        "table-2", "Nonlinear models B1 and B2, test accuracy", lines, seeds=100, quick_seeds=10
    )


def table_3() -> Table:
    """Return Table 3, iris."""
    lines = []
    for (train, test, hidden), values in published.accuracies(published.TABLE_3).items():
        for column in IRIS:
            task = iris(int(train), hidden, column.method, column.params)
            setting = f"{train}:{test}, {hidden:.1f} hidden"
            quick = train == "100" and column.mark != "for comparison"
            lines.append(
                _line("table-3", setting, column, "accuracy", task, values, "Table 3", quick)
            )
    return Table("table-3", "Iris, test accuracy", tuple(lines), seeds=100, quick_seeds=10)


def _simulated_lines(
    table: str, source: str, text: str, columns: dict[str, tuple[Column, ...]]
) -> Iterator[Line]:
    for (model, n, hidden), values in published.accuracies(text).items():
        for column in columns[model]:
            if column.column is None and n != 1000:
                continue
            task = simulated(model, hidden, column.method, column.params, **dict(column.design))
            measure = "accuracy" if n == 1000 else f"accuracy_{n}"
            quick = (
                n == 1000 and hidden in QUICK_ROWS and not column.mark.startswith("for comparison")
            )
            bound = bayes_rate(model, **dict(column.design)) + SLACK if n == 1000 else None
            setting = f"{model}, n={n}, {hidden:.2f} hidden"
            kind: Kind = "shown" if (model, n) in NO_TARGET else "mean"
            yield _line(table, setting, column, measure, task, values, source, quick, bound, kind)


def _line(
    table: str,
    setting: str,
    column: Column,
    measure: str,
    task: Task,
    values: dict[str, tuple[float, float]],
    source: str,
    quick: bool,
    bound: float | None = None,
    kind: Kind = "mean",
) -> Line:
    reference = (
        Reference(*values[column.column], kind=kind, source=source) if column.column else None
    )
    return Line(
        table,
        setting,
        column.label,
        measure,
        task,
        reference,
        bound=bound,
        mark=column.mark,
        note=column.note,
        quick=quick,
    )
