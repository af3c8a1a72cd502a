"""The two figures of cluster-SVM: computing time against size, and the ROC curve of WDBC, over many splits."""

from __future__ import annotations

from typing import Any

from studies.harness.tasks import Figure, Line, Reference, Table, Task
from studies.papers.cluster_svm.said import say_roc, say_timing
from studies.papers.cluster_svm.settings import (
    ALL_COMPONENTS,
    PLAIN,
    kernel_cluster,
    linear_cluster,
    simulated,
    wdbc,
)

SIZES = tuple(range(100, 1001, 100))
QUICK_SIZES = (200, 1000)
RBF_1 = {"kernel": "rbf", "gamma": "median", "C": 1.0}
TWICE = {"repeats": 2}  # the second fit is free of first calls
ONE_SPLIT = "the published curve is one split; a gain above 0.01 comes up in about one split in four"


def timing() -> Table:
    """Return the timing figure: seconds of a fit for 100 to 1000 rows, nine labels in ten hidden."""
    linear: dict[str, Any] = {"kernel": "linear", "C": 0.01}
    methods: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
        "A1": {
            "SVM": ("supervised", linear),
            "self-training": ("self-training", linear),
            "Gaussian mixture": ("mixture", {"covariance_type": "diag"}),
            "proposed": ("cluster", linear_cluster(5, C=0.01)),
        },
        "B1": {
            "SVM": ("supervised", RBF_1),
            "self-training": ("self-training", RBF_1),
            "Gaussian mixture": ("mixture", {"covariance_type": "diag"}),
            "proposed": ("cluster", kernel_cluster(20)),
        },
    }
    lines = [
        Line(
            "timing",
            f"{model}, {n} rows",
            label,
            "seconds",
            simulated(model, 0.9, method, params | TWICE, n=n),
            quick=n in QUICK_SIZES,
        )
        for model, columns in methods.items()
        for n in SIZES
        for label, (method, params) in columns.items()
    ]
    alt = "Seconds of a fit against the number of rows, both logarithmic, for four methods on A1 and on B1"
    title = "Seconds of a fit against the number of rows (Figure 2)"
    return Table("timing", title, tuple(lines), 10, 1, Figure("seconds", alt, say_timing))


def roc() -> Table:
    """Return the ROC figure as areas under the curve; the curves are in the records."""
    lines = [
        *_roc_lines(
            "standardized, RBF, C=1",
            RBF_1,
            {"k=20": kernel_cluster(20, 1.0, "nearest") | ALL_COMPONENTS},
            standardize=True,
            quick=True,
        ),
        *_roc_lines(
            "standardized, linear, C=0.01",
            {"kernel": "linear", "C": 0.01},
            {"k=2": linear_cluster(2, 0.01, "nearest"), "k=20": linear_cluster(20, 0.01, "nearest")},
            standardize=True,
        ),
        *_roc_lines("raw, linear, C=1", PLAIN, {"k=5": linear_cluster(5, 1.0, "nearest")}, standardize=False),
    ]
    title = "WDBC: area under the test ROC curve over many splits (the paper draws one)"
    alt = "Mean test ROC curves of WDBC with 10-90% bands: oracle, supervised SVM and the proposed method"
    return Table("roc", title, tuple(lines), seeds=100, quick_seeds=10, figure=Figure("roc", alt, say_roc))


def _roc_lines(
    setting: str, svm: dict[str, Any], clusters: dict[str, dict[str, Any]], *, standardize: bool, quick: bool = False
) -> list[Line]:
    """Return the areas of each method, and the paper's claim: the proposed method's is above the supervised one's."""
    supervised = wdbc("supervised", svm, standardize=standardize)
    tasks = {
        "oracle": wdbc("oracle", svm, standardize=standardize),
        "supervised SVM": supervised,
        "self-training": wdbc("self-training", svm, standardize=standardize),
    }
    proposed = {f"proposed, {name}": wdbc("cluster", how, standardize=standardize) for name, how in clusters.items()}
    areas = [Line("roc", setting, name, "auc", task, quick=quick) for name, task in (tasks | proposed).items()]
    return areas + [_claim(setting, name, task, supervised, quick) for name, task in proposed.items()]


def _claim(setting: str, name: str, task: Task, supervised: Task, quick: bool) -> Line:
    claim = Reference(0.0, kind="above", source="section 5.2, 'much-improved'")
    label = f"{name}, less supervised"
    return Line("roc", setting, label, "auc", task, claim, against=supervised, note=ONE_SPLIT, quick=quick)
