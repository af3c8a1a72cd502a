"""`semisvm fit` with its defaults beside what a practitioner would use instead, on the same labels.

    python -m studies.practitioner OUT [--draws 10] [--workers 15] [--sets NAME ...]
    python -m studies.practitioner OUT --records FILE ...      (the page of records that are there)

Sets: the tables and texts of `studies.few_labels.sets`, on which nothing had been developed until
version 0.2; many served 0.3 since. Two tables are left out: heart-statlog and house-votes hold the
rows of Heart and House, which an earlier choice saw. Each draw takes N_LABELS labels at random among
at most MOST_ROWS rows; the other labels are hidden. Methods:

    semisvm               `fit_model` with the defaults of the command: tuning, `auto`, best
                          expected F1
    logistic regression   C by cross-validation, balanced; for texts on TF-IDF of words
    SVD + LR              texts: 100 singular vectors of TF-IDF of all rows, then logistic
                          regression
    gradient boosting     scikit-learn's HistGradientBoosting; for texts on the singular vectors
    random forest         500 trees; for texts on the singular vectors

Every other method gets its threshold from cross-validated scores (five folds): the best F1, or the
highest other rate that keeps a floor. Measured on all rows whose label was hidden: average
precision, F1, and whether floors are kept (precision 0.8, recall 0.9), with the chance that
`semisvm` told beforehand.

Writes OUT/records.jsonl (one line per set, draw and method) and OUT/page.md (the tables of
docs/measured/practitioner.md).
"""

from __future__ import annotations

import argparse
import json
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
from studies.harness.pool import run_in_pool
from studies.harness.tables import markdown_table

SEEN = ("heart-statlog", "house-votes")
TABLES = tuple(name for name in sets.TABLES if name not in SEEN)
TEXTS = sets.TEXTS
N_LABELS, MOST_ROWS, N_FOLDS = 100, 1200, 5
FLOORS = {
    "precision 0.8": Target(min_precision=0.8, prefer=OTHER_RATE),
    "recall 0.9": Target(min_recall=0.9, prefer=OTHER_RATE),
}
OURS = "semisvm"


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
            name: chance_kept(scores, sign, target, seed) for name, target in FLOORS.items()
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
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
        scoring="neg_log_loss",
    )
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


def judge(found: dict[str, Any], truth: np.ndarray) -> dict[str, Any]:
    """What the hidden labels say."""
    hidden = found["hidden"]
    predicted = hidden > found["threshold"]
    record: dict[str, Any] = {
        "ap": float(average_precision_score(truth, hidden)),
        "f1": float(f1_score(truth, predicted, zero_division=0.0)),
        "accepted": float(predicted.mean()),
    }
    for name, target in FLOORS.items():
        point = choose(found["labeled"], found["sign"], target)
        accepted = hidden > point.threshold
        precision = float(truth[accepted].mean()) if accepted.any() else 0.0
        recall = float(accepted[truth == 1].mean())
        is_kept = (precision >= 0.8) if target.min_precision is not None else (recall >= 0.9)
        record[name] = {
            "precision": precision,
            "recall": recall,
            "kept": bool(is_kept),
            "reached": point.reached,
        }
    return record


def run_cell(cell: tuple[str, int]) -> dict[str, Any]:
    """All methods on one draw of one set."""
    warnings.simplefilter("ignore")
    name, seed = cell
    X, y, is_labeled = draw(name, seed)
    truth = y[~is_labeled]
    records = []
    began = time.perf_counter()
    found = semisvm_scores(X, y, is_labeled, seed)
    records.append(
        {
            "method": OURS,
            "seconds": time.perf_counter() - began,
            "chosen": found["method"],
            "chances": found["chances"],
        }
        | judge(found, truth)
    )
    for method, (estimator, rows) in rivals(X, seed).items():
        began = time.perf_counter()
        scores = rival_scores(estimator, rows, y, is_labeled, seed)
        records.append(
            {"method": method, "seconds": time.perf_counter() - began} | judge(scores, truth)
        )
    return {"set": name, "draw": seed, "records": records}


def _failed(cell: tuple[str, int], why: str) -> dict[str, Any]:
    return {"set": cell[0], "draw": cell[1], "records": [], "failed": why}


def render(cells: Iterable[dict[str, Any]]) -> str:
    """The tables of the page."""
    frame = pd.DataFrame(
        {"set": cell["set"], "draw": cell["draw"], **record}
        for cell in cells
        for record in cell["records"]
    )
    parts = []
    for measure, title in (
        ("ap", "Average precision"),
        ("f1", "F1 at the threshold that each method sets"),
    ):
        wide = frame.pivot_table(index="set", columns="method", values=measure, aggfunc="mean")
        methods = [OURS, *(name for name in wide.columns if name != OURS)]
        rows = []
        n_good = 0
        for name in [one for one in (*TABLES, *TEXTS) if one in wide.index]:
            own = frame[frame["set"] == name].pivot(index="draw", columns="method", values=measure)
            best = own.drop(columns=OURS).mean().idxmax()
            gap = own[OURS] - own[best]
            error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else 0.0
            is_good = float(gap.mean()) >= -error
            n_good += is_good
            shown = [f"{own[one].mean():.3f}" if one in own else "" for one in methods]
            rows.append(
                [name, *shown, f"{gap.mean():+.3f} ± {error:.3f}", "yes" if is_good else "no"]
            )
        means = [
            f"{frame[frame['method'] == one].groupby('set')[measure].mean().mean():.3f}"
            for one in methods
        ]
        rows.append(["mean", *means, "", f"{n_good} of {len(rows)}"])
        head = ["set", *methods, "beside the best other", "as good within 1 s.e."]
        parts.append(f"## {title}\n\n{markdown_table(head, rows)}")
    parts.append(_render_floors(frame))
    ours = frame[frame["method"] == OURS]
    constant = int(((ours["accepted"] <= 0) | (ours["accepted"] >= 1)).sum())
    chosen = ours["chosen"].value_counts().to_dict()
    parts.append(
        f"Models of semisvm that accept every row or none: {constant} of {len(ours)}. Chosen:"
        f" {chosen}."
    )
    return "\n\n".join(parts) + "\n"


def _render_floors(frame: pd.DataFrame) -> str:
    rows = []
    for floor in FLOORS:
        for method in frame["method"].unique():
            own = frame[frame["method"] == method]
            found = pd.DataFrame(list(own[floor]))
            told = (
                [
                    one[floor]
                    for one in own["chances"]
                    if isinstance(one, dict) and one[floor] is not None
                ]
                if method == OURS
                else []
            )
            rows.append(
                [
                    floor,
                    method,
                    f"{found['precision'].mean():.3f}",
                    f"{found['recall'].mean():.3f}",
                    f"{found['kept'].mean():.2f}",
                    f"{np.mean(told):.2f}" if told else "",
                ]
            )
    head = [
        "asked",
        "method",
        "precision",
        "recall",
        "kept on hidden labels",
        "chance told beforehand",
    ]
    return f"## Floors\n\n{markdown_table(head, rows, n_text=2)}"


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--sets", nargs="*", default=[*TABLES, *TEXTS])
    parser.add_argument(
        "--records", type=Path, nargs="*", default=[], help="make the page of these; run nothing"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.records:
        lines = [
            line
            for path in options.records
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        (options.out / "page.md").write_text(render(map(json.loads, lines)), encoding="utf-8")
        return
    cells = [(name, seed) for seed in range(options.draws) for name in options.sets]
    done = []
    with open(options.out / "records.jsonl", "w", encoding="utf-8") as stream:
        for record in run_in_pool(run_cell, cells, workers=options.workers, failed=_failed):
            done.append(record)
            stream.write(json.dumps(record) + "\n")
            stream.flush()
            (options.out / "page.md").write_text(
                render([one for one in done if one["records"]]), encoding="utf-8"
            )
    print((options.out / "page.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
