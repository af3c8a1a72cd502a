"""PositiveUnlabeledSVC: how often its promises hold, and how it compares on MNIST, Adult and IJCNN1.

    python -m studies.positive_unlabeled worlds    1,000 simulated worlds with known densities
    python -m studies.positive_unlabeled draws     27 draws of three data sets (needs SEMISVM_DATA)
    python -m studies.positive_unlabeled bias      labeled positives that are not a random sample
    python -m studies.positive_unlabeled size      50 positives and 20,000 unlabeled rows

Tables are printed in Markdown; docs/positive-unlabeled.md has them with date and machine.

A world: positives are N(gap, 1), negatives N(0, 1), in one dimension, so that recall, lift and precision of a fitted
machine are integrals on a grid. A draw: `order = default_rng(seed).permutation(n)`; the first min(5000, 0.3 n) rows are
the test rows, the next min(3000, 0.55 of the rest) are unlabeled, and the first positives of what is left are labeled.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from semisvm import PositiveUnlabeledSVC
from semisvm.datasets import load
from semisvm.decision import certify_recall
from semisvm.model_selection import PositiveUnlabeledKFold, pu_auc
from studies.harness.machine import describe_machine, describe_versions

WORLDS = [  # labeled positives, unlabeled rows, prior, gap, recall asked for
    (60, 300, 0.2, 2.0, 0.8),
    (60, 300, 0.5, 1.0, 0.8),
    (100, 500, 0.05, 3.0, 0.9),
    (200, 400, 0.2, 1.0, 0.9),
]
WORLDS_EACH = 250
GRID = np.linspace(-7.0, 11.0, 3601)
SETS = ("mnist", "adult", "ijcnn1")
SEEDS = (10, 11, 12)
PRICES = (0.001, 0.01, 0.1, 0.3, 1.0, 10.0, 100.0)


def make_world(n_positive: int, n_unlabeled: int, prior: float, gap: float, seed: int):
    """Rows and target."""
    rng = np.random.default_rng(seed)
    is_positive = np.concatenate([np.ones(n_positive, bool), rng.random(n_unlabeled) < prior])
    X = rng.standard_normal((len(is_positive), 1)) + gap * is_positive[:, None]
    return X, np.where(np.arange(len(X)) < n_positive, 1, -1)


def judge_world(world: tuple, seed: int) -> list[float]:
    """Whether the recall is certified; which promises are broken; whether the prior's bound holds."""
    n_positive, n_unlabeled, prior, gap, min_recall = world
    X, y = make_world(n_positive, n_unlabeled, prior, gap, seed)
    model = PositiveUnlabeledSVC(prior=prior, min_recall=min_recall, confidence=0.9, random_state=seed)
    cross_fitted = PositiveUnlabeledSVC(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a prior above its bound, positives that can't be told apart
        model.fit(X, y)
        cross_fitted.fit(X, y)
    point = model.operating_point_
    is_accepted = model.decision_function(GRID[:, None]) > 0
    width = GRID[1] - GRID[0]
    recall = width * stats.norm.pdf(GRID - gap)[is_accepted].sum()
    share = prior * recall + (1 - prior) * width * stats.norm.pdf(GRID)[is_accepted].sum()
    return [
        point.status == "certified",
        recall < min_recall,
        recall / share < point.lift.low,
        prior * recall / share < point.precision.low,
        model.prior_bound_ >= prior,
        cross_fitted.prior_bound_ >= prior,
    ]


def run_worlds() -> None:
    """Print the table of simulated worlds."""
    print("| positives | unlabeled | prior | gap | recall asked | certified | recall broken | lift broken | ", end="")
    print("precision broken (prior known) | prior bound holds, held out | prior bound holds, cross-fitted |")
    print("|---" * 11 + "|")
    for number, world in enumerate(WORLDS):
        found = np.mean([judge_world(world, 10_000 * number + seed) for seed in range(WORLDS_EACH)], axis=0)
        print("| " + " | ".join([*map(str, world), *(f"{value:.3f}" for value in found)]) + " |", flush=True)


def draw(name: str, n_positive: int, seed: int):
    """Training rows, target, test rows, their truth, and the true prior."""
    data = load(name)
    X, truth = data.X, data.y == 1
    if name == "mnist":
        X = data.X if data.X.max() <= 1 else data.X / 255
    order = np.random.default_rng(seed).permutation(len(truth))
    n_test = min(5000, int(0.3 * len(truth)))
    n_unlabeled = min(3000, int(0.55 * (len(truth) - n_test)))
    test, unlabeled, rest = np.split(order, [n_test, n_test + n_unlabeled])
    train = np.concatenate([rest[truth[rest]][:n_positive], unlabeled])
    y = np.where(np.arange(len(train)) < len(train) - n_unlabeled, 1, -1)
    dense = [X[rows].toarray() if hasattr(X, "toarray") else X[rows] for rows in (train, test)]
    return dense[0].astype(np.float64), y, dense[1].astype(np.float64), truth[test], truth[unlabeled].mean()


def best_f1(truth: np.ndarray, scores: np.ndarray) -> float:
    """The F1 of the best threshold, by the truth."""
    precision, recall, _ = precision_recall_curve(truth, scores)
    return float(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12)))


def judge_draw(name: str, n_positive: int, seed: int) -> list[float]:
    """Everything that the table says of one draw."""
    X, y, X_test, truth, prior = draw(name, n_positive, seed)
    began = time.process_time()
    model = PositiveUnlabeledSVC(random_state=seed).fit(X, y)
    seconds = time.process_time() - began
    scores = model.decision_function(X_test)
    found = [prior, model.prior_, model.prior_bound_, roc_auc_score(truth, scores)]
    found += [average_precision_score(truth, scores), f1_score(truth, model.predict(X_test) == 1)]
    found += [best_f1(truth, scores), seconds]
    gamma = 1 / (X.shape[1] * X.var())
    K, K_test = rbf_kernel(X, gamma=gamma), rbf_kernel(X_test, X, gamma=gamma)
    machines = {C: SVC(C=C, kernel="precomputed", class_weight="balanced") for C in PRICES}
    folds = PositiveUnlabeledKFold(5, shuffle=True, random_state=seed)
    tuned = max(PRICES, key=lambda C: cross_val_score(machines[C], K, y, scoring=pu_auc, cv=folds).mean())
    for C in (1.0, tuned):
        scores = machines[C].fit(K, y).decision_function(K_test)
        found += [roc_auc_score(truth, scores), average_precision_score(truth, scores)]
    scaler = StandardScaler().fit(X)
    linear = LogisticRegression(class_weight="balanced", max_iter=1000).fit(scaler.transform(X), y)
    scores = linear.decision_function(scaler.transform(X_test))
    return [*found, roc_auc_score(truth, scores), average_precision_score(truth, scores)]


def run_draws(names: tuple[str, ...] = SETS) -> None:
    """Print the table of real draws, means over the seeds."""
    print(
        "| data | positives | true prior | estimate | bound | bound held | AUC / AP / F1 (best F1) | CPU s | ", end=""
    )
    print("SVC balanced C=1 AUC / AP | C tuned by pu_auc | logistic regression |")
    print("|---" * 11 + "|")
    for name in names:
        for n_positive in (50, 200, 1000):
            draws = np.array([judge_draw(name, n_positive, seed) for seed in SEEDS])
            held = int((draws[:, 2] >= draws[:, 0]).sum())
            m = draws.mean(axis=0)
            cells = [name, str(n_positive), f"{m[0]:.3f}", f"{m[1]:.3f}", f"{m[2]:.3f}", f"{held} of {len(SEEDS)}"]
            cells += [f"{m[3]:.3f} / {m[4]:.3f} / {m[5]:.3f} ({m[6]:.3f})", f"{m[7]:.1f}"]
            cells += [f"{m[k]:.3f} / {m[k + 1]:.3f}" for k in (8, 10, 12)]
            print("| " + " | ".join(cells) + " |", flush=True)


def run_bias() -> None:
    """Print how often a certificate of recall 0.8 breaks where the odds of being labeled grow with the score."""
    rng = np.random.default_rng(0)
    print("| slope of the log odds, per standard deviation | certificate broken | mean true recall |")
    print("|---" * 3 + "|")
    for slope in (0.0, 0.5, 1.0, 2.0):
        recalls = []
        for _ in range(1000):
            scores = rng.standard_normal(3000)
            labeled = scores[rng.random(3000) < 1 / (1 + np.exp(-slope * scores))][:100]
            recalls.append(stats.norm.sf(certify_recall(labeled, 0.8)))
        print(f"| {slope} | {np.mean(np.array(recalls) < 0.8):.3f} | {np.mean(recalls):.3f} |")


def run_size() -> None:
    """Print the seconds of a fit to 50 positives and 20,000 unlabeled rows of ten features."""
    rng = np.random.default_rng(0)
    is_positive = np.concatenate([np.ones(50, bool), rng.random(20_000) < 0.05])
    X = rng.standard_normal((len(is_positive), 10))
    X[:, :3] += 1.2 * is_positive[:, None]
    y = np.where(np.arange(len(X)) < 50, 1, -1)
    PositiveUnlabeledSVC().fit(X[:500], y[:500])  # compiles
    began, cpu = time.perf_counter(), time.process_time()
    model = PositiveUnlabeledSVC(random_state=0).fit(X, y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    auc = roc_auc_score(is_positive[50:], model.decision_function(X[50:]))
    print(f"{seconds:.1f} s of the clock, {cpu:.1f} s of CPU; AUC on the unlabeled rows {auc:.3f}, weight ", end="")
    print(f"{model.positive_weight_}, {len(model.support_)} support vectors, {model.n_iter_} steps")


def main() -> None:
    """Run the parts that are asked for."""
    parts = {"worlds": run_worlds, "draws": run_draws, "bias": run_bias, "size": run_size}
    asked = sys.argv[1:2] or list(parts)
    if asked[0] not in parts:
        raise SystemExit(f"Choose one of {', '.join(parts)}.")
    print(describe_machine(), describe_versions())
    for name in asked:
        if name == "draws" and sys.argv[2:]:
            run_draws(tuple(sys.argv[2:]))
        else:
            parts[name]()


if __name__ == "__main__":
    main()
