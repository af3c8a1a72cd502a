"""The scores of a fitted classifier: numbers by name, and curves by name.

accuracy, errors         on the test rows; accuracy_100, accuracy_500: on the first 100 and 500 of
                         them
precision, recall, f1    of class 1, where there are two classes
collapsed                1 if at least a quarter of the test rows are wrong, with two classes
auc                      area under the ROC curve, where the classifier gives scores for two classes
unlabeled_errors         wrong labels among the unlabeled training rows, if it labels them
support                  rows with a coefficient
cost                     total on the test rows, where the task has costs, and then nothing of the
                         above; cost_positive: of calling every row positive; cost_constant: of the
                         constant that is cheaper on the labeled rows
guarded                  1 if a guard replaced the classifier by a constant
steps                    of the solver, in all
rounds, one_sided        of a method that works in rounds: how many, and the share of one-sided ones
seconds                  of the fit
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, roc_curve

from studies.papers.samples import Sample

COLLAPSE = 0.25
PREFIXES = (100, 500)
ROC_GRID = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
DRAWN_SETS = ("wdbc",)  # whose ROC curve a figure redraws
# 51 rates, close together where a good curve bends
FINE_GRID = tuple(round(i / 100, 2) for i in (*range(20), *range(20, 40, 2), *range(40, 101, 3)))


def score(
    model: Any, sample: Sample, *, fine: bool = False
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return scores and curves; with `fine` also a ROC curve to draw, `roc_fine` over
    `FINE_GRID`.
    """
    predicted = model.predict(sample.X_test)
    if sample.costs is not None:
        return _costs(predicted, sample, sample.costs) | _guarded(model), {}
    is_right = predicted == sample.y_test
    scores = {"accuracy": float(is_right.mean()), "errors": float(np.count_nonzero(~is_right))}
    scores |= {f"accuracy_{n}": float(is_right[:n].mean()) for n in PREFIXES if n < len(is_right)}
    curves: dict[str, list[float]] = {}
    if len(np.unique(sample.truth[sample.truth >= 0])) == 2:
        scores |= _binary(predicted, sample.y_test)
        if hasattr(model, "decision_function"):
            decision = model.decision_function(sample.X_test)
            scores["auc"], curves["roc"] = _roc(sample.y_test, decision, ROC_GRID)
            if fine:
                curves["roc_fine"] = [
                    round(rate, 4) for rate in _roc(sample.y_test, decision, FINE_GRID)[1]
                ]
    return scores | _of_training(model, sample), curves


def _binary(predicted: NDArray, truth: NDArray) -> dict[str, float]:
    hits = np.count_nonzero((predicted == 1) & (truth == 1))
    called = np.count_nonzero(predicted == 1)
    there = np.count_nonzero(truth == 1)
    return {
        "precision": hits / called if called else 0.0,
        "recall": hits / there if there else 0.0,
        "collapsed": float(np.mean(predicted != truth) >= COLLAPSE),
        "f1": 2 * hits / (called + there) if called + there else 0.0,
    }


def _costs(predicted: NDArray, sample: Sample, costs: tuple[float, float]) -> dict[str, float]:
    positive = sample.y_test == 1
    labeled = sample.y[sample.is_labeled]
    n_positive = np.count_nonzero(positive)
    n_negative = np.count_nonzero(~positive)
    missed = np.count_nonzero(positive & (predicted != 1))
    accepted = np.count_nonzero(~positive & (predicted == 1))
    everywhere = {1: costs[1] * n_negative, 0: costs[0] * n_positive}
    cheaper = int(
        costs[0] * np.count_nonzero(labeled == 1) >= costs[1] * np.count_nonzero(labeled == 0)
    )
    cost = costs[0] * missed + costs[1] * accepted
    return {"cost": cost, "cost_positive": everywhere[1], "cost_constant": everywhere[cheaper]}


def _guarded(model: Any) -> dict[str, float]:
    guard = getattr(model, "guard_", None)
    return {} if guard is None else {"guarded": float(guard["constant"] is not None)}


def _roc(truth: NDArray, decision: NDArray, grid: tuple[float, ...]) -> tuple[float, list[float]]:
    """Return the area under the curve, and the true positive rate at each false positive rate of
    the grid.
    """
    false_rate, true_rate, _ = roc_curve(truth, decision)
    area = float(auc(false_rate, true_rate))
    # at a step of the curve the upper end counts
    at = np.searchsorted(false_rate, grid, side="right") - 1
    return area, [float(true_rate[i]) for i in at]


def _of_training(model: Any, sample: Sample) -> dict[str, float]:
    found: dict[str, float] = {}
    if hasattr(model, "support_"):
        found["support"] = float(len(model.support_))
    if getattr(model, "n_iter_", None) is not None:
        found["steps"] = float(model.n_iter_)
    if hasattr(model, "transduction_"):
        guessed = ~sample.is_labeled & (sample.truth >= 0)
        found["unlabeled_errors"] = float(
            np.count_nonzero((model.transduction_ != sample.truth)[guessed])
        )
    if getattr(model, "labeled_iter_", None) is not None:
        found["rounds"] = float(max(0, np.max(model.labeled_iter_)))
    rounds = [record.details for record in getattr(model, "history_", [])]
    one_sided = [details["one_sided"] for details in rounds if "one_sided" in details]
    if one_sided:
        found["one_sided"] = float(np.mean(one_sided))
    return found
