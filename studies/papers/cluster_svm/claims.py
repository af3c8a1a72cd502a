"""What cluster-SVM claims in words, as differences seed by seed: the proposed method minus
another one.
"""

from __future__ import annotations

from typing import Any

from studies.papers.cluster_svm.settings import (
    ALL_COMPONENTS,
    HIDDEN,
    LINEAR,
    RBF,
    kernel_cluster,
    linear_cluster,
    simulated,
)
from studies.papers.tasks import Line, Reference, Table

OUTPERFORMS = Reference(0.0, kind="above", source="sections 4.1 and 4.2, 'outperforms'")
BY_STATISTIC = Reference(
    0.0, kind="above", source="section 3, 'outperforms the eigenvalue-based one'"
)
FIVE = linear_cluster(5)
TWENTY = kernel_cluster(20) | ALL_COMPONENTS
THREE = kernel_cluster(3) | ALL_COMPONENTS
FIFTY = kernel_cluster(50, 10.0, "nearest") | ALL_COMPONENTS
NOT_CLUSTERS = "an RBF SVM of the labeled rows alone is as good where the classes are not clusters"
LESS_HIDDEN = "with a fifth of the labels shown there is little left to gain"

# model, design, what is compared, proposed parameters, the other method and its parameters, note
COMPARED: tuple[
    tuple[str, dict[str, float], str, dict[str, Any], str, dict[str, Any], str], ...
] = (
    ("A1", {}, "proposed (k=5) minus SVM", FIVE, "supervised", LINEAR, LESS_HIDDEN),
    ("A1", {}, "proposed (k=5) minus self-training", FIVE, "self-training", LINEAR, LESS_HIDDEN),
    ("A2", {"variance": 2.0}, "proposed (k=5) minus SVM", FIVE, "supervised", LINEAR, LESS_HIDDEN),
    (
        "A2",
        {"variance": 2.0},
        "proposed (k=5) minus self-training",
        FIVE,
        "self-training",
        LINEAR,
        LESS_HIDDEN,
    ),
    ("B1", {}, "proposed (k=20) minus SVM, RBF", TWENTY, "supervised", RBF, NOT_CLUSTERS),
    ("B2", {}, "proposed (k=50) minus SVM, RBF", FIFTY, "supervised", RBF, NOT_CLUSTERS),
    (
        "B2",
        {"noise": 1.0},
        "proposed (k=20) minus SVM, RBF",
        TWENTY,
        "supervised",
        RBF,
        NOT_CLUSTERS,
    ),
)


def claims() -> Table:
    """Return the claims as lines; most use cells that the tables run as well."""
    lines = [
        Line(
            "claims",
            _setting(model, design, hidden),
            label,
            "accuracy",
            simulated(model, hidden, "cluster", proposed, **design),
            OUTPERFORMS,
            against=simulated(model, hidden, method, params, **design),
            note=note,
        )
        for model, design, label, proposed, method, params, note in COMPARED
        for hidden in HIDDEN
    ]
    lines += [_components(hidden) for hidden in HIDDEN]
    return Table(
        "claims", "What the paper claims in words, as differences in accuracy", tuple(lines), 100
    )


def _components(hidden: float) -> Line:
    return Line(
        "claims",
        _setting("B2", {}, hidden),
        "proposed (k=3), components by F minus by eigenvalue",
        "accuracy",
        simulated("B2", hidden, "cluster", THREE),
        BY_STATISTIC,
        against=simulated("B2", hidden, "cluster", THREE | {"components": "eigenvalue"}),
    )


def _setting(model: str, design: dict[str, float], hidden: float) -> str:
    return (
        model
        + "".join(f", {name} {value:g}" for name, value in design.items())
        + f", {hidden:.2f} hidden"
    )
