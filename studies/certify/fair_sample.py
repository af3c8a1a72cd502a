"""Alarms of the fair-sample check: random labels, and labels that were chosen.

    SEMISVM_DATA=... python -m studies.certify.fair_sample [--runs 60] [--chosen 20] [--jobs 2]
    [--sets krvskp ...]

Checks: that of table fits (`semisvm.tables.fit.check_sample`), and those inside the fits of
`PreferenceSVC`, `PreferenceClassifier` (logistic regression) and `AutoSVC` with a target. At most
1,000 rows of each set, two classes.

    random      so many labels, drawn at random: every alarm is false
    doubt       as many labels that a first model is least sure of join 100 random ones
    marked      the same, with the random ones marked: the table's check compares these; estimators
                take the mask's word
    positives   200 labels, positives five times as likely to be labeled as others
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from semisvm import AutoSVC, PreferenceClassifier, PreferenceSVC, SupervisedSVC
from semisvm.tables.fit import check_sample
from semisvm.tables.methods import Settings
from studies.data import load
from studies.harness.machine import describe_today
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table

N_ROWS = 1_000
SIZES = (20, 50, 200)
# name: the positive class; None: the larger label
PAPERS = {"krvskp": None, "optdigits_full": 8, "sat_full": 4, "adult": None}
ESTIMATORS = {
    "PreferenceSVC": lambda: PreferenceSVC(min_recall=0.7, random_state=0),
    "PreferenceClassifier": lambda: PreferenceClassifier(
        LogisticRegression(), min_recall=0.7, random_state=0
    ),
    "AutoSVC": lambda: AutoSVC(min_recall=0.7, random_state=0),
}
RECORD = Path(__file__).parent / "results" / "fair_sample.json"
CASES = (*(f"random {n}" for n in SIZES), "doubt", "marked", "positives")
CHECKS = ("table", *ESTIMATORS)


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardized rows and whether each is positive."""
    if name in ("digits odd", "digits 8"):
        X, digit = load_digits(return_X_y=True)
        is_positive = digit % 2 == 1 if name == "digits odd" else digit == 8
    elif name == "breast cancer":
        X, kind = load_breast_cancer(return_X_y=True)
        is_positive = kind == 0
    else:
        data = load(name)
        X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        is_positive = data.y == (np.max(data.y) if PAPERS[name] is None else PAPERS[name])
    rows = np.random.default_rng(0).permutation(len(X))[:N_ROWS]
    X = X[rows][:, X[rows].std(axis=0) > 0]
    return scale(X), is_positive[rows].astype(int)


def is_alarm(check: str, X: np.ndarray, codes: np.ndarray, measures: np.ndarray, seed: int) -> bool:
    """Whether a check finds a difference between the labeled rows in `measures` and the others."""
    if check == "table":
        labels = pandas.Categorical.from_codes(codes, ["no", "yes"])
        found = check_sample(X, labels, measures, Settings(kernel="rbf", seed=seed))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = ESTIMATORS[check]().fit(X, codes).fair_sample_
    return found is not None and not found.is_fair


def draw(
    case: str, X: np.ndarray, truth: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return codes, -1 for unlabeled rows, and the labels that are a random sample; None if a
    class is too rare.
    """
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(len(X))
    codes = np.full(len(X), -1)
    if case.startswith("random"):
        rows = order[: int(case.split()[1])]
    elif case == "positives":
        rows = rng.choice(
            len(X), 200, replace=False, p=(w := np.where(truth == 1, 5.0, 1.0)) / w.sum()
        )
    else:
        rows = order[:100]
    codes[rows] = truth[rows]
    is_random = codes >= 0
    if min(np.bincount(truth[rows], minlength=2)) < 2:
        return None
    if case in ("doubt", "marked"):
        doubt = np.where(
            is_random, np.inf, np.abs(SupervisedSVC().fit(X, codes).decision_function(X))
        )
        chosen = np.argsort(doubt)[:100]
        codes[chosen] = truth[chosen]
    return codes, is_random if case == "marked" else codes >= 0


def one_run(check: str, case: str, X: np.ndarray, truth: np.ndarray, seed: int) -> bool | None:
    """Whether one draw of labels gives an alarm; None if a class is too rare in it."""
    drawn = draw(case, X, truth, seed)
    return None if drawn is None else is_alarm(check, X, *drawn, seed)


def table_of(cells: list[dict]) -> str:
    """The alarms as a table, which docs/measured/certify.md shows."""
    found = {
        (cell["check"], cell["case"]): f"{cell['alarms']} of {cell['draws']}" for cell in cells
    }
    checks = dict.fromkeys(cell["check"] for cell in cells)
    lines = [[check, *(found.get((check, case), "") for case in CASES)] for check in checks]
    return markdown_table(["check", *CASES], lines)


def main() -> None:
    """Count alarms, write the record and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--chosen", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--sets", nargs="*", default=["digits odd", "digits 8", "breast cancer", *PAPERS]
    )
    parser.add_argument("--checks", nargs="*", default=list(CHECKS))
    options = parser.parse_args()
    data = {name: read(name) for name in options.sets}
    cells = []
    for check in options.checks:
        for case in CASES:
            if case == "marked" and check != "table":
                continue
            n_runs = options.runs if case.startswith("random") else options.chosen
            calls = [
                delayed(one_run)(check, case, *data[name], seed)
                for name in data
                for seed in range(n_runs)
            ]
            alarms = [alarm for alarm in Parallel(options.jobs)(calls) if alarm is not None]
            cells.append(
                {"check": check, "case": case, "alarms": sum(alarms), "draws": len(alarms)}
            )
            print(cells[-1], flush=True)
    write_cells([describe_today()], cells, RECORD)
    print(table_of(cells))


if __name__ == "__main__":
    main()
