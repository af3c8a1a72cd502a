"""Run the cells (set, number of labels, draw, method), and print a page: means, wins, losses and
intervals.

    python -m studies.few_labels --out records.jsonl --workers 15 --seconds 300    # stop then; what
    is finished is kept
    python -m studies.few_labels --out records.jsonl --page         # print what is there, run
    nothing python -m studies.few_labels --out records.jsonl --means studies/few_labels/results.json
    --measured "DATE, MACHINE"

A draw is a permutation of the rows. The first ones are labeled (at least two of each class, or the
draw is made again); 2,000 rows, but at most 70% of the set, are those of the fit; at most 3,000 of
the others are new rows, on which all methods are judged: by average precision, and by the share of
wrong classes.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.metrics import average_precision_score

from studies.few_labels import sets
from studies.few_labels.methods import METHODS, NOT_FOR_TEXT
from studies.harness.means import write_cells
from studies.harness.pool import run_in_pool
from studies.harness.tables import markdown_table

LABEL_COUNTS = (20, 50, 100, 300)
MOST_ROWS_OF_FIT, SHARE_OF_FIT, MOST_NEW_ROWS = 2000, 0.7, 3000
N_RESAMPLED = 2000
AUTO = "AutoSVC"
MEASURES = {"precision": "average precision", "error": "share of wrong classes"}


def draw_rows(y: np.ndarray, n_labeled: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the fit, the labeled ones first, and the new rows."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if np.bincount(y[order[:n_labeled]], minlength=2).min() >= 2:
            break
    n_fit = min(MOST_ROWS_OF_FIT, int(SHARE_OF_FIT * len(y)))
    return order[:n_fit], order[n_fit : n_fit + MOST_NEW_ROWS]


def run_cell(cell: tuple[str, int, int, str]) -> dict[str, Any]:
    """Fit one method on one draw; what is measured, as a record."""
    name, n_labeled, draw, method = cell
    X, y = sets.load_task(name)
    fit, new = draw_rows(y, n_labeled, crc32(f"{name} {n_labeled} {draw}".encode()))
    hidden = np.where(np.arange(len(fit)) < n_labeled, y[fit], -1)
    rows = (X.iloc[fit], X.iloc[new]) if hasattr(X, "iloc") else (X[fit], X[new])
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = METHODS[method](rows[0], hidden, rows[1])
        except ValueError as error:  # a classifier of another library that can't take these rows
            return {"why": f"{cell}: {error}"}
    cut = 0.0 if scores.min() < 0 else 0.5
    return {
        "set": name,
        "labels": n_labeled,
        "draw": draw,
        "method": method,
        "precision": float(average_precision_score(y[new], scores)),
        "error": float(np.mean((scores > cut) != y[new])),
        "seconds": time.process_time() - began,
    }


def cells_of(
    names: Iterable[str], counts: Iterable[int], n_draws: int, methods: Iterable[str]
) -> list[Any]:
    """All cells that make sense, labels for at most half of the rows of the fit; draw by draw."""
    found = []
    for name in names:
        _, y = sets.load_task(name)
        for count in counts:
            if 2 * count <= min(MOST_ROWS_OF_FIT, SHARE_OF_FIT * len(y)):
                found += [
                    (name, count, draw, method) for draw in range(n_draws) for method in methods
                ]
    found = [
        cell for cell in found if not (cell[0].startswith("docstring") and cell[3] in NOT_FOR_TEXT)
    ]
    return sorted(found, key=lambda cell: (cell[2], cell[1], cell[0]))


def of_whole_draws(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of draws on which all methods have run that were run on this set with so many
    labels.
    """
    of_case: dict[Any, set[str]] = defaultdict(set)
    of_draw: dict[Any, set[str]] = defaultdict(set)
    for one in records:
        of_case[one["set"], one["labels"]].add(one["method"])
        of_draw[one["set"], one["labels"], one["draw"]].add(one["method"])
    whole = {key for key, methods in of_draw.items() if methods == of_case[key[:2]]}
    return [one for one in records if (one["set"], one["labels"], one["draw"]) in whole]


def means_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One cell per set, number of labels and method: the means over whole draws."""
    by_cell: dict[tuple[str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for one in of_whole_draws(records):
        by_cell[one["set"], one["labels"], one["method"]].append(one)
    return [
        {"set": name, "labels": count, "method": method, "draws": len(found)}
        | {measure: float(np.mean([one[measure] for one in found])) for measure in MEASURES}
        for (name, count, method), found in sorted(by_cell.items())
    ]


def page_of(cells: list[dict[str, Any]], *, measure: str) -> dict[str, str]:
    """One table per kind of set: means over sets, wins of AutoSVC, and an interval for the
    difference.
    """
    found = {}
    for title, is_text in (("tables", False), ("texts", True)):
        kept = [one for one in cells if one["set"].startswith("docstring") == is_text]
        by_set: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
        for one in kept:
            by_set[one["labels"], one["method"]][one["set"]] = one[measure]
        lines = []
        for count in sorted({one["labels"] for one in kept}):
            ours = by_set[count, AUTO]
            for method in METHODS:
                theirs = {
                    name: value for name, value in by_set[count, method].items() if name in ours
                }
                if not theirs:
                    continue
                gain = np.array([ours[name] - value for name, value in theirs.items()])
                better = gain > 0 if measure == "precision" else gain < 0
                worse = gain < 0 if measure == "precision" else gain > 0
                versus = (
                    [f"{better.sum()} / {worse.sum()}", _interval(gain)]
                    if method != AUTO
                    else ["", ""]
                )
                lines.append(
                    [
                        str(count),
                        method,
                        f"{np.mean(list(theirs.values())):.3f}",
                        *versus,
                        str(len(theirs)),
                    ]
                )
        if lines:
            head = ["labels", "method", "mean", "AutoSVC better / worse", "difference", "sets"]
            found[f"{title}, mean {MEASURES[measure]}"] = markdown_table(head, lines)
    return found


def _interval(gain: np.ndarray) -> str:
    """The mean difference over sets, and a 90% interval by drawing sets with replacement."""
    rng = np.random.default_rng(0)
    means = rng.choice(gain, (N_RESAMPLED, len(gain))).mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return f"{gain.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    """Run what is asked and is not on record yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("studies-out/few_labels.jsonl"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, help="stop after so long; what is finished is kept"
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--labels", type=int, nargs="*", default=LABEL_COUNTS)
    parser.add_argument("--sets", nargs="*", default=(*sets.TABLES, *sets.TEXTS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument(
        "--developed-on", action="store_true", help="the sets that were looked at before"
    )
    parser.add_argument("--page", action="store_true", help="print what is on record; run nothing")
    parser.add_argument(
        "--means", type=Path, help="write the means of what is on record; run nothing"
    )
    parser.add_argument("--measured", nargs="*", default=[], help="when and where, for --means")
    asked = parser.parse_args()
    records = (
        [json.loads(line) for line in asked.out.read_text().splitlines()]
        if asked.out.exists()
        else []
    )
    if not (asked.page or asked.means):
        names = sets.DEVELOPED_ON if asked.developed_on else asked.sets
        done = {(one["set"], one["labels"], one["draw"], one["method"]) for one in records}
        waiting = [
            cell
            for cell in cells_of(names, asked.labels, asked.draws, asked.methods)
            if cell not in done
        ]
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        with asked.out.open("a") as file:
            for record in run_in_pool(
                run_cell, waiting, workers=asked.workers, failed=_failed, seconds=asked.seconds
            ):
                if "why" in record:
                    print(record["why"], flush=True)
                else:
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    records.append(record)
    cells = means_of(records)
    if asked.means:
        write_cells(asked.measured, cells, asked.means)
    for measure in MEASURES:
        for title, table in page_of(cells, measure=measure).items():
            print(f"\n{title}\n\n{table}")


def _failed(cell: Any, why: str) -> dict[str, Any]:
    return {"why": f"{cell}: {why}"}


if __name__ == "__main__":
    main()
