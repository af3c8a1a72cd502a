"""The two figures of cluster-SVM: computing time against size, and the ROC curve of WDBC, over many
splits.

`say_roc` and `say_timing` say in one sentence which claims of the paper the figures support. Its
text claims, about time (section 4.3): all times grow linearly in the number of rows; the supervised
SVM is the fastest; with a linear kernel (A1) the proposed method is faster than the mixture and
comparable to self-training; with an RBF kernel (B1) it becomes slow. About WDBC (section 5.2): a
"much-improved" ROC curve. It prints no numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from studies.papers.cluster_svm.settings import (
    ALL_COMPONENTS,
    PLAIN,
    kernel_cluster,
    linear_cluster,
    simulated,
    wdbc,
)
from studies.papers.compare import Comparison
from studies.papers.tasks import Figure, Line, Reference, Table, Task

SIZES = tuple(range(100, 1001, 100))
QUICK_SIZES = (200, 1000)
RBF_1 = {"kernel": "rbf", "gamma": "median", "C": 1.0}
TWICE = {"repeats": 2}  # the second fit is not slowed down by first calls
ALIKE = 2.0  # times within this factor are comparable
LINEAR = 0.25  # growth is linear if its exponent is this near to 1
Times = dict[tuple[str, str], dict[int, float]]  # mean seconds by set and method, then by rows
ONE_SPLIT = "the published curve is one split; a gain above 0.01 occurs in about one of four splits"


def timing() -> Table:
    """Return the timing figure: seconds per fit for 100 to 1000 rows, nine labels in ten hidden."""
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
    alt = (
        "Seconds per fit against the number of rows, both logarithmic, for four methods on A1 and"
        " on B1"
    )
    title = "Seconds per fit against the number of rows (Figure 2)"
    return Table("timing", title, tuple(lines), 10, 1, Figure("seconds", alt, say_timing))


def roc() -> Table:
    """Return the ROC figure as areas under the curve; the curves are in the results."""
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
            {
                "k=2": linear_cluster(2, 0.01, "nearest"),
                "k=20": linear_cluster(20, 0.01, "nearest"),
            },
            standardize=True,
        ),
        *_roc_lines(
            "raw, linear, C=1", PLAIN, {"k=5": linear_cluster(5, 1.0, "nearest")}, standardize=False
        ),
    ]
    title = "WDBC: area under the test ROC curve over many splits (the paper draws one)"
    alt = (
        "Mean test ROC curves of WDBC with 10-90% bands: oracle, supervised SVM and the proposed"
        " method"
    )
    return Table(
        "roc", title, tuple(lines), seeds=100, quick_seeds=10, figure=Figure("roc", alt, say_roc)
    )


def _roc_lines(
    setting: str,
    svm: dict[str, Any],
    clusters: dict[str, dict[str, Any]],
    *,
    standardize: bool,
    quick: bool = False,
) -> list[Line]:
    """Return the areas of each method, and the paper's claim: the proposed method's is above the
    supervised one's.
    """
    supervised = wdbc("supervised", svm, standardize=standardize)
    tasks = {
        "oracle": wdbc("oracle", svm, standardize=standardize),
        "supervised SVM": supervised,
        "self-training": wdbc("self-training", svm, standardize=standardize),
    }
    proposed = {
        f"proposed, {name}": wdbc("cluster", how, standardize=standardize)
        for name, how in clusters.items()
    }
    areas = [
        Line("roc", setting, name, "auc", task, quick=quick)
        for name, task in (tasks | proposed).items()
    ]
    return areas + [
        _claim(setting, name, task, supervised, quick) for name, task in proposed.items()
    ]


def _claim(setting: str, name: str, task: Task, supervised: Task, quick: bool) -> Line:
    claim = Reference(0.0, kind="above", source="section 5.2, 'much-improved'")
    label = f"{name}, minus supervised"
    return Line(
        "roc", setting, label, "auc", task, claim, against=supervised, note=ONE_SPLIT, quick=quick
    )


def say_roc(comparisons: Sequence[Comparison]) -> str:
    """Return what the mean areas say about "much-improved"; "" if nothing has run."""
    claims = [
        (c, c.summary) for c in comparisons if c.line.against is not None and c.summary is not None
    ]
    if not claims:
        return ""
    count = Counter(c.verdict for c, _ in claims)
    splits = sorted({summary.n for _, summary in claims})
    shares = sorted(summary.above for _, summary in claims)
    gains = [
        f"{summary.mean:+.3f} ({c.line.setting}; {c.line.method.split(', ')[1]})"
        for c, summary in claims
    ]
    return (
        f'The paper calls the proposed curve "much-improved" over the supervised one, after one'
        f" split. Over "
        f"{_range([str(n) for n in splits])} splits the difference of mean areas is"
        f" {', '.join(gains)}. This supports "
        f"the claim in {count['reproduced']} of {len(claims)} settings, contradicts it in"
        f" {count['differs']} and "
        f"leaves it undecided in {count['close']}; the proposed area is the larger one in "
        f"{_range([f'{100 * share:.0f}%' for share in shares])} of the splits."
    )


def say_timing(comparisons: Sequence[Comparison]) -> str:
    """Return which claims of section 4.3 our times support at the largest size; "" if methods
    are missing.
    """
    times: Times = defaultdict(dict)
    for c in comparisons:
        if c.summary is not None and c.line.task is not None:
            times[c.line.task.data, c.line.method][c.line.task.split["n"]] = c.summary.mean
    needed = [
        (data, m)
        for data in ("A1", "B1")
        for m in ("SVM", "self-training", "Gaussian mixture", "proposed")
    ]
    common = set.intersection(*(set(times.get(key, ())) for key in needed))
    if len(common) < 2:
        return ""
    judged = list(_timing_claims(times, needed, sorted(common)))
    sides = [
        f"{word} that {', that '.join(claim for claim, holds in judged if holds is wanted)}"
        for word, wanted in (("support", True), ("contradict", False))
        if any(holds is wanted for _, holds in judged)
    ]
    return (
        f"At {max(common)} rows our times {'; they '.join(sides)}. The paper prints no times to"
        " compare with."
    )


def _timing_claims(
    times: Times, needed: list[tuple[str, str]], sizes: list[int]
) -> Iterator[tuple[str, bool]]:
    last = {key: times[key][sizes[-1]] for key in needed}
    yield (
        "the supervised SVM is the fastest",
        all(last[data, "SVM"] <= last[data, method] for data, method in needed),
    )
    ours, mixture, rival = (
        last["A1", method] for method in ("proposed", "Gaussian mixture", "self-training")
    )
    yield (
        f"proposed is faster than the mixture on A1 ({ours:.2g} s, {mixture:.2g} s)",
        ours < mixture,
    )
    alike = max(ours, rival) <= ALIKE * min(ours, rival)
    yield f"proposed is comparable to self-training on A1 ({ours:.2g} s, {rival:.2g} s)", alike
    ours = last["B1", "proposed"]
    others = max(last[key] for key in needed if key[0] == "B1" and key[1] != "proposed")
    yield (
        f"proposed becomes slow on B1 ({ours:.2g} s, the others at most {others:.2g} s)",
        ours > others,
    )
    powers = sorted(
        np.polyfit(np.log(sizes), np.log([times[key][n] for n in sizes]), 1)[0] for key in needed
    )
    linear = all(abs(power - 1) <= LINEAR for power in powers)
    yield (
        f"all times grow linearly (as rows to the power {powers[0]:.1f} to {powers[-1]:.1f})",
        linear,
    )


def _range(ordered: list[str]) -> str:
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"
