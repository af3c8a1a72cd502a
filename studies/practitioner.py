"""`semisvm fit` with its defaults beside what a practitioner would use instead, on the same labels.

    python -m studies.practitioner [--draws 10] [--workers 15] [--sets NAME ...] [--out FILE]
    python -m studies.practitioner --show      (the tables of the record; runs nothing)

Sets: the tables and texts of `studies.few_labels.sets`; many served the development of version 0.3.
Two tables are left out: heart-statlog and house-votes hold the rows of Heart and House, which an
earlier choice saw. Each draw takes N_LABELS labels at random among at most MOST_ROWS rows; the other
labels are hidden. Methods:

    semisvm               `fit_model` with the defaults of the command: tuning, `auto`, best
                          expected F1
    logistic regression   C by cross-validation, balanced; for texts on TF-IDF of words
    SVD + LR              texts: 100 singular vectors of TF-IDF of all rows, then logistic
                          regression
    gradient boosting     scikit-learn's HistGradientBoosting; for texts on the singular vectors
    random forest         500 trees; for texts on the singular vectors

Every other method gets its threshold from cross-validated scores (five folds): the best F1, or the
highest other rate that meets a target. Measured on all rows whose label was hidden: average
precision, F1, and whether the targets are met (precision 0.8, recall 0.9), with the probability
that `semisvm` stated beforehand.

Writes one cell per set, draw and method to `studies/practitioner.json`, or FILE, and prints the
tables of docs/measured/practitioner.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semisvm.columns.table import read_table
from semisvm.decision import Target, choose
from semisvm.decision.target import OTHER_RATE
from semisvm.tables.classes import Classes
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.operating import chance_kept
from semisvm.tables.training import Training
from studies.few_labels import sets
from studies.harness.machine import describe_today
from studies.harness.means import read_cells, write_cells
from studies.harness.pool import run_in_pool
from studies.harness.tables import markdown_table

SEEN = ("heart-statlog", "house-votes")
TABLES = tuple(name for name in sets.TABLES if name not in SEEN)
TEXTS = sets.TEXTS
N_LABELS, MOST_ROWS, N_FOLDS = 100, 1200, 5
TARGETS = {
    "precision 0.8": Target(min_precision=0.8, prefer=OTHER_RATE),
    "recall 0.9": Target(min_recall=0.9, prefer=OTHER_RATE),
}
OURS = "semisvm"
RECORD = Path(__file__).with_name("practitioner.json")


def draw(
    name: str, seed: int, n_labels: int = N_LABELS, most_rows: int = MOST_ROWS
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows, their classes (1 is the rarer), and which of them are labeled: at least five of
    each class.
    """
    X, y = sets.load_task(name)
    y = np.asarray(y) if np.mean(y) <= 0.5 else 1 - np.asarray(y)
    random = np.random.default_rng([seed, 20])
    rows = random.permutation(len(y))[:most_rows]
    X = X.iloc[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else np.asarray(X)[rows]
    y = y[rows]
    order = random.permutation(len(y))
    sure = np.concatenate([order[y[order] == code][:5] for code in (0, 1)])
    rest = order[~np.isin(order, sure)][: n_labels - len(sure)]
    is_labeled = np.zeros(len(y), dtype=bool)
    is_labeled[np.concatenate([sure, rest])] = True
    return X, y, is_labeled


def semisvm_scores(X: Any, y: np.ndarray, is_labeled: np.ndarray, seed: int) -> dict[str, Any]:
    """Scores of the hidden rows, out-of-fold scores of the labeled ones, the threshold, by the
    command's defaults.
    """
    frame = (
        X
        if isinstance(X, pd.DataFrame)
        else pd.DataFrame({"text": pd.Series(list(X), dtype="str")})
    )
    frame = frame.rename(columns=str)
    rows = read_table(frame, {"text": "text"} if "text" in frame else {}).columns
    codes = np.where(is_labeled, y, -1)
    training = Training("rows", "y", rows, codes, Classes(("no", "yes"), False))
    model = fit_model(training, Settings(seed=seed), tune=True)
    sample = model.summary.scores["yes"]
    scores = np.array(sample.labeled)
    sign = np.array(sample.sign)
    return {
        "hidden": model.decision_function(rows[~is_labeled]),
        "labeled": scores,
        "sign": sign,
        "threshold": 0.0,
        "chances": {
            name: chance_kept(scores, sign, target, seed) for name, target in TARGETS.items()
        },
        "method": model.method,
    }


def rivals(X: Any, seed: int) -> dict[str, tuple[Any, Any]]:
    """The other methods: (estimator, rows as it takes them). Everything about rows is learned
    from all of them.
    """
    logistic = LogisticRegressionCV(
        Cs=np.logspace(-2, 2, 5),
        cv=3,
        class_weight="balanced",
        max_iter=2000,
        scoring="neg_log_loss",
    )
    if "use_legacy_attributes" in logistic.get_params():  # from scikit-learn 1.8 on
        logistic.set_params(l1_ratios=(0.0,), use_legacy_attributes=False)
    boosting = HistGradientBoostingClassifier(min_samples_leaf=5, random_state=seed)
    forest = RandomForestClassifier(500, min_samples_leaf=2, random_state=seed)
    if isinstance(X, pd.DataFrame):
        rows = X.to_numpy(dtype=float)
        return {
            "logistic regression": (make_pipeline(StandardScaler(), logistic), rows),
            "gradient boosting": (boosting, rows),
            "random forest": (forest, rows),
        }
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(X)
    latent = TruncatedSVD(min(100, words.shape[1] - 1), random_state=seed).fit_transform(words)
    return {
        "logistic regression": (logistic, words),
        "SVD + LR": (make_pipeline(StandardScaler(), clone(logistic)), latent),
        "gradient boosting": (boosting, latent),
        "random forest": (forest, latent),
    }


def rival_scores(
    estimator: Any, rows: Any, y: np.ndarray, is_labeled: np.ndarray, seed: int
) -> dict[str, Any]:
    """The same for another method, with the threshold of the best F1 on cross-validated scores."""
    own = rows[is_labeled]
    labels = y[is_labeled]
    folds = StratifiedKFold(
        min(N_FOLDS, int(np.bincount(labels).min())), shuffle=True, random_state=seed
    )
    scores = cross_val_predict(estimator, own, labels, cv=folds, method="predict_proba")[:, 1]
    fitted = clone(estimator).fit(own, labels)
    sign = np.where(labels == 1, 1, -1)
    return {
        "hidden": fitted.predict_proba(rows[~is_labeled])[:, 1],
        "labeled": scores,
        "sign": sign,
        "threshold": choose(scores, sign, Target()).threshold,
    }


def judge(scored: dict[str, Any], truth: np.ndarray) -> dict[str, Any]:
    """What the hidden labels say."""
    hidden = scored["hidden"]
    predicted = hidden > scored["threshold"]
    cell: dict[str, Any] = {
        "ap": float(average_precision_score(truth, hidden)),
        "f1": float(f1_score(truth, predicted, zero_division=0.0)),
        "accepted": float(predicted.mean()),
    }
    for name, target in TARGETS.items():
        point = choose(scored["labeled"], scored["sign"], target)
        accepted = hidden > point.threshold
        precision = float(truth[accepted].mean()) if accepted.any() else 0.0
        recall = float(accepted[truth == 1].mean())
        is_met = (precision >= 0.8) if target.min_precision is not None else (recall >= 0.9)
        cell |= {
            f"{name}: precision": precision,
            f"{name}: recall": recall,
            f"{name}: met": bool(is_met),
        }
    return cell


def run_draw(task: tuple[str, int]) -> list[dict[str, Any]]:
    """All methods on one draw of one set, one cell each."""
    warnings.simplefilter("ignore")
    name, seed = task
    X, y, is_labeled = draw(name, seed)
    truth = y[~is_labeled]
    began = time.process_time()
    scored = semisvm_scores(X, y, is_labeled, seed)
    seconds = time.process_time() - began
    chances = {f"{target}: chance": chance for target, chance in scored["chances"].items()}
    ours = {"method": OURS, "seconds": seconds, "chosen": scored["method"]} | chances
    cells = [ours | judge(scored, truth)]
    for method, (estimator, rows) in rivals(X, seed).items():
        began = time.process_time()
        scored = rival_scores(estimator, rows, y, is_labeled, seed)
        seconds = time.process_time() - began
        cells.append({"method": method, "seconds": seconds} | judge(scored, truth))
    return [{"set": name, "draw": seed} | cell for cell in cells]


def failed(task: tuple[str, int], why: str) -> list[dict[str, Any]]:
    """Say which draw failed; it has no cells."""
    print(f"{task[0]}, draw {task[1]}: {why}", file=sys.stderr)
    return []


def tables_of(cells: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return {title: table} of the page."""
    frame = pd.DataFrame(cells)
    return {
        "Average precision": measure_table(frame, "ap"),
        "F1 at the threshold that each method sets": measure_table(frame, "f1"),
        "Targets": target_table(frame),
    }


def measure_table(frame: pd.DataFrame, measure: str) -> str:
    """One measure of all methods on all sets, and the lead over the best other method."""
    methods = [OURS, *sorted(set(frame["method"]) - {OURS})]
    means = frame.groupby(["set", "method"])[measure].mean().unstack()
    means = means.reindex([name for name in (*TABLES, *TEXTS) if name in means.index])
    lead = means[OURS] - means.drop(columns=OURS).max(axis=1)
    rows = [
        [name, *("" if np.isnan(of[one]) else f"{of[one]:.3f}" for one in methods), f"{gap:+.3f}"]
        for (name, of), gap in zip(means.iterrows(), lead, strict=True)
    ]
    ahead = f"ahead on {(lead > 0).sum()} of {len(lead)}"
    rows.append(["mean", *(f"{means[one].mean():.3f}" for one in methods), ahead])
    return markdown_table(["set", *methods, "beside the best other"], rows)


def target_table(frame: pd.DataFrame) -> str:
    """Precision and recall at thresholds chosen for a target, and how often it was met."""
    rows = []
    for target in TARGETS:
        for method in frame["method"].unique():
            cells = frame[frame["method"] == method]
            chance = cells[f"{target}: chance"].mean()
            rates = [f"{cells[f'{target}: {rate}'].mean():.3f}" for rate in ("precision", "recall")]
            met = f"{cells[f'{target}: met'].mean():.2f}"
            rows.append([target, method, *rates, met, "" if np.isnan(chance) else f"{chance:.2f}"])
    head = ["target", "method", "precision", "recall", "met on hidden labels", "stated chance"]
    return markdown_table(head, rows, n_text=2)


def main() -> None:
    """Run the study, or show its record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--sets", nargs="*", default=[*TABLES, *TEXTS])
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--show", action="store_true", help="print the tables; run nothing")
    options = parser.parse_args()
    if not options.show:
        tasks = [(name, seed) for seed in range(options.draws) for name in options.sets]
        done = run_in_pool(run_draw, tasks, workers=options.workers, failed=failed)
        cells = sorted(
            (cell for of_draw in done for cell in of_draw),
            key=lambda cell: (options.sets.index(cell["set"]), cell["draw"]),
        )
        write_cells([describe_today()], cells, options.out)
    for title, table in tables_of(read_cells(options.out)).items():
        print(f"## {title}\n\n{table}\n")


if __name__ == "__main__":
    main()
