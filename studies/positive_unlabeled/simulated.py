"""Simulated worlds, in which the truth is known: promises, labeled positives that are not typical,
rows in groups.

A world: positives are N(gap, 1), negatives N(0, 1), in one dimension, so that recall, lift and
precision of a fitted machine are integrals on a grid. In a world of groups every customer has
several rows: the customer's own place, drawn as above, plus noise of a fifth of its spread.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats

from semisvm import PositiveUnlabeledSVC
from semisvm.decision.without_negatives import certify_recall

WORLDS = [  # labeled positives, unlabeled rows, prior, gap, recall asked for
    (60, 300, 0.2, 2.0, 0.8),
    (60, 300, 0.5, 1.0, 0.8),
    (100, 500, 0.05, 3.0, 0.9),
    (200, 400, 0.2, 1.0, 0.9),
]
GROUP_SIZES = (1, 2, 5)
NOISE_IN_GROUP = 0.2
GRID = np.linspace(-7.0, 11.0, 3601)


def make_world(n_positive: int, n_unlabeled: int, prior: float, gap: float, seed: int):
    """Rows and target."""
    rng = np.random.default_rng(seed)
    is_positive = np.concatenate([np.ones(n_positive, bool), rng.random(n_unlabeled) < prior])
    X = rng.standard_normal((len(is_positive), 1)) + gap * is_positive[:, None]
    return X, np.where(np.arange(len(X)) < n_positive, 1, -1)


def fit_quietly(X: Any, y: np.ndarray, **parameters: Any) -> PositiveUnlabeledSVC:
    """A fit without the warnings of a prior above its bound, or of positives that can't be told
    apart.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return PositiveUnlabeledSVC(**parameters).fit(X, y)


def truth_on_grid(
    model: PositiveUnlabeledSVC, gap: float, prior: float, spread: float = 1.0
) -> tuple[float, float]:
    """The true recall and the true share of accepted rows."""
    is_accepted = model.decision_function(GRID[:, None]) > 0
    width = GRID[1] - GRID[0]
    recall = width * stats.norm.pdf(GRID, gap, spread)[is_accepted].sum()
    others = width * stats.norm.pdf(GRID, 0, spread)[is_accepted].sum()
    return recall, prior * recall + (1 - prior) * others


def judge_world(cell: tuple) -> dict[str, Any]:
    """Whether the recall is certified; which promises are broken; whether the prior's bound
    holds.
    """
    number, seed = cell
    n_positive, n_unlabeled, prior, gap, min_recall = WORLDS[number]
    X, y = make_world(n_positive, n_unlabeled, prior, gap, 10_000 * number + seed)
    model = fit_quietly(X, y, prior=prior, min_recall=min_recall, confidence=0.9, random_state=seed)
    cross_fitted = fit_quietly(X, y, random_state=seed)
    point = model.operating_point_
    recall, share = truth_on_grid(model, gap, prior)
    return {
        "line": number,
        "certified": point.status == "certified",
        "recall broken": recall < min_recall,
        "lift broken": recall / share < point.lift.low,
        "precision broken": prior * recall / share < point.precision.low,
        "bound holds, held out": model.prior_bound_ >= prior,
        "bound holds, cross-fitted": cross_fitted.prior_bound_ >= prior,
    }


def judge_groups(cell: tuple) -> dict[str, Any]:
    """What is said and what is true where every customer has several rows, and where only one of
    them is kept.
    """
    size, seed = cell
    n_positive, n_unlabeled, prior, gap, min_recall = 60, 300, 0.2, 2.0, 0.8  # customers
    rng = np.random.default_rng(seed)
    is_positive = np.concatenate([np.ones(n_positive, bool), rng.random(n_unlabeled) < prior])
    place = rng.standard_normal(len(is_positive)) + gap * is_positive
    customer = np.repeat(np.arange(len(place)), size)
    X = (place[customer] + NOISE_IN_GROUP * rng.standard_normal(len(customer)))[:, None]
    y = np.where(customer < n_positive, 1, -1)
    first = np.append(True, np.diff(customer) > 0)
    found: dict[str, Any] = {"line": size}
    for name, rows in (("all", np.ones(len(y), bool)), ("one", first)):
        certified = fit_quietly(
            X[rows], y[rows], min_recall=min_recall, confidence=0.9, random_state=seed
        )
        plain = fit_quietly(X[rows], y[rows], random_state=seed)
        spread = np.sqrt(1 + NOISE_IN_GROUP**2)
        recall = truth_on_grid(certified, gap, prior, spread)[0]
        found[f"{name}: certified"] = certified.operating_point_.status == "certified"
        found[f"{name}: recall broken"] = recall < min_recall
        found[f"{name}: bound holds, held out"] = certified.prior_bound_ >= prior
        found[f"{name}: recall said - true"] = (
            plain.operating_point_.recall.value - truth_on_grid(plain, gap, prior, spread)[0]
        )
        found[f"{name}: recall outside its interval"] = not (
            plain.operating_point_.recall.low
            <= truth_on_grid(plain, gap, prior, spread)[0]
            <= plain.operating_point_.recall.high
        )
    return found


def tabulate_bias() -> list[list[str]]:
    """How often a certificate of recall 0.8 breaks where the odds of being labeled grow with the
    score.
    """
    rng = np.random.default_rng(0)
    lines = []
    for slope in (0.0, 0.5, 1.0, 2.0):
        recalls = []
        for _ in range(1000):
            scores = rng.standard_normal(3000)
            labeled = scores[rng.random(3000) < 1 / (1 + np.exp(-slope * scores))][:100]
            recalls.append(stats.norm.sf(certify_recall(labeled, 0.8)))
        lines.append(
            [str(slope), f"{np.mean(np.array(recalls) < 0.8):.3f}", f"{np.mean(recalls):.3f}"]
        )
    return lines
