"""One cell from start to end: draw the sample, choose the parameters, fit (timed), and score.

accuracy, errors         on the test rows; accuracy_100, accuracy_500: on the first 100 and 500
precision, recall, f1    of class 1, where there are two classes
collapsed                1 if at least a quarter of the test rows are wrong, with two classes
auc                      area under the ROC curve, where there are scores for two classes
unlabeled_errors         wrong labels among the unlabeled training rows, if they get one
support                  rows with a coefficient
cost                     total on the test rows, where the task has costs, and then nothing of the
                         above; cost_positive: of calling every row positive; cost_constant: of the
                         constant that is cheaper on the labeled rows
steps, rounds            of the solver; of a method that labels in rounds
seconds                  of the fit
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from studies.papers.lines import Task
from studies.papers.methods import fit_method
from studies.papers.samples import Sample, draw_sample


def run_cell(cell: tuple[Task, int]) -> dict[str, float]:
    """Return the scores of a task with a seed."""
    task, seed = cell
    params = dict(task.params)
    repeats = params.pop("repeats", 1)  # a first fit is slower than others
    sample = draw_sample(task.data, task.split, seed)
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_method(task.method, sample, params, seed)
        for _ in range(repeats):
            began = time.perf_counter()
            model = fit()
            seconds.append(time.perf_counter() - began)
    found = score(model, sample) | {"seconds": min(seconds)}
    strange = {name: value for name, value in found.items() if not math.isfinite(value)}
    if strange:
        raise ValueError(f"Scores that are not finite numbers: {strange}.")
    return found


def score(model: Any, sample: Sample) -> dict[str, float]:
    """Return the scores of a fitted classifier."""
    predicted, truth = model.predict(sample.X_test), sample.y_test
    if sample.costs is not None:
        return _costs(predicted, sample, *sample.costs)
    is_right = predicted == truth
    found = {"accuracy": is_right.mean(), "errors": (~is_right).sum()}
    found |= {f"accuracy_{n}": is_right[:n].mean() for n in (100, 500) if n < len(is_right)}
    if len(np.unique(sample.truth[sample.truth >= 0])) == 2:
        rates = precision_recall_fscore_support(
            truth, predicted, average="binary", zero_division=0.0
        )
        found |= dict(zip(("precision", "recall", "f1"), rates[:3], strict=True))
        found["collapsed"] = is_right.mean() <= 0.75
        if hasattr(model, "decision_function"):
            found["auc"] = roc_auc_score(truth, model.decision_function(sample.X_test))
    if hasattr(model, "support_"):
        found["support"] = len(model.support_)
    if hasattr(model, "n_iter_"):
        found["steps"] = np.sum(model.n_iter_)
    if hasattr(model, "transduction_"):
        guessed = ~sample.is_labeled & (sample.truth >= 0)
        found["unlabeled_errors"] = (model.transduction_ != sample.truth)[guessed].sum()
    found["rounds"] = len(getattr(model, "history_", ()))
    return {name: float(value) for name, value in found.items()}


def _costs(predicted: Any, sample: Sample, of_missed: float, of_false: float) -> dict[str, float]:
    positive, labels = sample.y_test == 1, sample.y[sample.is_labeled]
    n_positive, n_negative = positive.sum(), (~positive).sum()
    missed, false = (positive & (predicted != 1)).sum(), (~positive & (predicted == 1)).sum()
    is_positive_cheaper = of_missed * (labels == 1).sum() >= of_false * (labels == 0).sum()
    all_positive, all_negative = of_false * n_negative, of_missed * n_positive
    return {
        "cost": float(of_missed * missed + of_false * false),
        "cost_positive": float(all_positive),
        "cost_constant": float(all_positive if is_positive_cheaper else all_negative),
    }
