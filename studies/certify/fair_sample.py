"""Alarms of the fair-sample check on bundled data: random labels, and random labels with suggested ones added."""

from __future__ import annotations

import numpy as np
import pandas
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from semisvm import SupervisedSVC
from semisvm.tables.held_out import check_sample
from semisvm.tables.methods import Settings


def is_alarm(X: np.ndarray, codes: np.ndarray, measures: np.ndarray, seed: int) -> bool:
    """Whether the check finds a difference between the rows in `measures` and the others."""
    labels = pandas.Categorical.from_codes(codes, ["no", "yes"])
    found = check_sample(X, labels, measures, Settings(kernel="rbf", seed=seed))
    return found is not None and not found.is_fair


def count_false_alarms(X: np.ndarray, is_positive: np.ndarray, n_labeled: int, n_runs: int) -> int:
    """Alarms where the labels are a random sample."""
    alarms = 0
    for seed in range(n_runs):
        rows = np.random.default_rng(1000 + seed).permutation(len(X))[:n_labeled]
        codes = np.full(len(X), -1)
        codes[rows] = is_positive[rows]
        alarms += is_alarm(X, codes, codes >= 0, seed)
    return alarms


def count_suggested(
    X: np.ndarray, is_positive: np.ndarray, n_random: int, n_suggested: int, n_runs: int
) -> tuple[int, int]:
    """Alarms without and with marks where rows that a first model is least sure of were labeled too."""
    unmarked = marked = 0
    for seed in range(n_runs):
        order = np.random.default_rng(seed).permutation(len(X))
        codes = np.full(len(X), -1)
        codes[order[:n_random]] = is_positive[order[:n_random]]
        is_random = codes >= 0
        doubt = np.where(is_random, np.inf, np.abs(SupervisedSVC().fit(X, codes).decision_function(X)))
        chosen = np.argsort(doubt)[:n_suggested]
        codes[chosen] = is_positive[chosen]
        unmarked += is_alarm(X, codes, codes >= 0, 0)
        marked += is_alarm(X, codes, is_random, 0)
    return unmarked, marked


def main() -> None:
    """Print the table of docs/certify.md."""
    digits, digit = load_digits(return_X_y=True)
    cancer, kind = load_breast_cancer(return_X_y=True)
    sets = {
        "digits (odd)": (scale(digits), digit % 2 == 1, (50, 200), (100, 150)),
        "digits (8)": (scale(digits), digit == 8, (50, 200), (200, 150)),
        "breast cancer": (scale(cancer), kind == 0, (50, 200), (80, 60)),
    }
    for name, (X, is_positive, sizes, suggested) in sets.items():
        for n in sizes:
            print(f"random labels: {name}, {n}: {count_false_alarms(X, is_positive, n, 100)} of 100", flush=True)
        found = count_suggested(X, is_positive, *suggested, 20)
        print(f"{suggested} random and suggested: {name}: unmarked, marked {found} of 20", flush=True)


if __name__ == "__main__":
    main()
