"""Run the cells (set, number of labels, draw, method), and print a page: means, wins and losses.

    python -m studies.few_labels                                   # all of it, or the rest of it
    python -m studies.few_labels --draws 1 --labels 20 --sets Sonar Glass
    python -m studies.few_labels --page                            # print what is there, run nothing
    python -m studies.few_labels --means studies/few_labels/results.json --measured "DATE, MACHINE"

A draw is a permutation of the rows. The first ones are labeled (at least two of each class, or the
draw is made again); 2,000 rows, but at most 70% of the set, are those of the fit; at most 3,000 of
the others are new rows, on which all methods are judged. A set takes part where the labels are at
most half of its rows in the fit.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.metrics import average_precision_score, f1_score

from studies.few_labels import public
from studies.few_labels.methods import METHODS, fits
from studies.harness.fresh_process import measured
from studies.harness.means import write_cells
from studies.harness.pool import run_in_pool
from studies.harness.tables import markdown_table

LABEL_COUNTS = (20, 50, 100)
MOST_ROWS_OF_FIT, SHARE_OF_FIT, MOST_NEW_ROWS = 2000, 0.7, 3000
N_RESAMPLED = 2000
AUTO = "AutoSVC"
MEASURES = ("average_precision", "f1", "error", "seconds", "megabytes")


def draw_rows(y: np.ndarray, n_labeled: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the fit, the labeled ones first, and the new rows."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if np.bincount(y[order[:n_labeled]], minlength=y.max() + 1).min() >= 2:
            break
    n_fit = min(MOST_ROWS_OF_FIT, int(SHARE_OF_FIT * len(y)))
    return order[:n_fit], order[n_fit : n_fit + MOST_NEW_ROWS]


def run_cell(cell: tuple[str, int, int, str]) -> dict[str, Any]:
    """Fit one method on one draw; what is measured, as a record."""
    name, n_labeled, draw, method = cell
    X, y = public.load_task(name)
    fit, new = draw_rows(y, n_labeled, crc32(f"{name} {n_labeled} {draw}".encode()))
    hidden = np.where(np.arange(len(fit)) < n_labeled, y[fit], -1)
    rows, new_rows = (X.iloc[fit], X.iloc[new]) if hasattr(X, "iloc") else (X[fit], X[new])
    took: dict[str, Any] = {}
    with warnings.catch_warnings(), measured(took):
        warnings.simplefilter("ignore")
        try:
            scores = METHODS[method](rows, hidden, new_rows)
        except ValueError as error:  # a classifier of another library that can't take these rows
            return {"why": f"{cell}: {error}"}
    return {
        "set": name,
        "labels": n_labeled,
        "draw": draw,
        "method": method,
        "average_precision": float(average_precision_score(y[new], scores)),
        "f1": float(f1_score(y[new], scores > 0, zero_division=0)),
        "error": float(np.mean((scores > 0) != y[new])),
        "seconds": took["cpu_s"],
        "megabytes": took["rss_peak_mib"] - took["rss_before_mib"],
    }


def cells_of(
    names: Iterable[str], counts: Iterable[int], n_draws: int, methods: Iterable[str]
) -> list[Any]:
    """All cells that make sense, draw by draw; sets that can't be had are named, and left out."""
    cells = []
    for name in names:
        try:
            X, y = public.load_task(name)
        except OSError as error:
            print(f"{name} is not run: {error}", flush=True)
            continue
        cells += [
            (name, count, draw, method)
            for count in counts
            if 2 * count <= min(MOST_ROWS_OF_FIT, SHARE_OF_FIT * len(y))
            for draw in range(n_draws)
            for method in methods
            if fits(method, X)
        ]
    return sorted(cells, key=lambda cell: (cell[2], cell[1], cell[0]))


def means_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One cell per set, number of labels and method: the means over draws that all methods have
    run on.
    """
    methods_of: dict[Any, set[str]] = defaultdict(set)
    for record in records:
        case = record["set"], record["labels"]
        methods_of[case].add(record["method"])
        methods_of[*case, record["draw"]].add(record["method"])
    by_cell: dict[tuple[str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        case = record["set"], record["labels"]
        if methods_of[*case, record["draw"]] == methods_of[case]:
            by_cell[*case, record["method"]].append(record)
    return [
        {"set": name, "labels": count, "method": method, "draws": len(draws)}
        | {measure: float(np.mean([draw[measure] for draw in draws])) for measure in MEASURES}
        for (name, count, method), draws in sorted(by_cell.items())
    ]


def page_of(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Per kind of set a table of means for each number of labels, and one of all losses."""
    tables = {}
    for title, names in (("tables", public.TABLES), ("texts", public.TEXTS)):
        kept = [cell for cell in cells if cell["set"] in names]
        for count in sorted({cell["labels"] for cell in kept}):
            n_sets = len({cell["set"] for cell in kept if cell["labels"] == count})
            heading = f"{count} labels, {n_sets} {title}"
            tables[heading] = _table_of_means([cell for cell in kept if cell["labels"] == count])
        if kept:
            tables[f"{title} on which another method is better"] = _table_of_losses(kept)
    return tables


def _table_of_means(cells: list[dict[str, Any]]) -> str:
    """Means over sets of every method, and how often AutoSVC ranks better than it."""
    by_method: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for cell in cells:
        by_method[cell["method"]][cell["set"]] = cell
    ours = by_method[AUTO]
    lines = []
    for method in METHODS:
        theirs = {name: cell for name, cell in by_method[method].items() if name in ours}
        if not theirs:
            continue
        gain = np.array(
            [
                ours[name]["average_precision"] - cell["average_precision"]
                for name, cell in theirs.items()
            ]
        )
        versus, interval = ["", ""], ""
        if method != AUTO:
            versus = [f"{np.sum(gain > 0)} / {np.sum(gain < 0)}", f"{gain.mean():+.3f}"]
            interval = _interval(gain)
        precision, f1, error, seconds = (
            np.mean([cell[measure] for cell in theirs.values()])
            for measure in ("average_precision", "f1", "error", "seconds")
        )
        megabytes = max(cell["megabytes"] for cell in theirs.values())
        rates = [f"{f1:.3f}", f"{error:.3f}", f"{seconds:.1f}", f"{megabytes:.0f}"]
        lines.append([method, f"{precision:.3f}", *versus, *rates, interval])
    head = ["method", "average precision", "AutoSVC better / worse", "difference"]
    rates = ["F1", "error", "CPU s", "most MB"]
    return markdown_table([*head, *rates, "interval of the difference"], lines)


def _table_of_losses(cells: list[dict[str, Any]]) -> str:
    """Every set on which a method of another kind has a higher average precision, the best one."""
    by_case: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for cell in cells:
        by_case[cell["labels"], cell["set"]][cell["method"]] = cell["average_precision"]
    lines = []
    for (count, name), values in sorted(by_case.items()):
        others = {method: values[method] for method in values if not method.startswith(AUTO)}
        best = max(others, key=lambda method: others[method], default=AUTO)
        if AUTO in values and values[best] > values[AUTO]:
            shown = [f"{values[AUTO]:.3f}", best, f"{values[best]:.3f}"]
            lines.append([str(count), name, *shown])
    return markdown_table(["labels", "set", "AutoSVC", "best other method", "its"], lines)


def _interval(gain: np.ndarray) -> str:
    """A 90% interval of the mean difference, by drawing sets with replacement."""
    rng = np.random.default_rng(0)
    means = rng.choice(gain, (N_RESAMPLED, len(gain))).mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return f"{low:+.3f} to {high:+.3f}"


def main() -> None:
    """Run what is not on record yet."""
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
    parser.add_argument("--sets", nargs="*", default=(*public.TABLES, *public.TEXTS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--page", action="store_true", help="print what is on record; run nothing")
    parser.add_argument(
        "--means", type=Path, help="write the means of what is on record; run nothing"
    )
    parser.add_argument("--measured", nargs="*", default=[], help="when and where, for --means")
    options = parser.parse_args()
    records = []
    if options.out.exists():
        records = [json.loads(line) for line in options.out.read_text().splitlines()]
    if not (options.page or options.means):
        done = {
            tuple(record[key] for key in ("set", "labels", "draw", "method")) for record in records
        }
        cells = cells_of(options.sets, options.labels, options.draws, options.methods)
        waiting = [cell for cell in cells if cell not in done]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("a") as file:
            for record in run_in_pool(
                run_cell, waiting, workers=options.workers, failed=_failed, seconds=options.seconds
            ):
                if "why" in record:
                    print(record["why"], flush=True)
                else:
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    records.append(record)
    cells = means_of(records)
    if options.means:
        write_cells(options.measured, cells, options.means)
    for title, table in page_of(cells).items():
        print(f"\n{title}\n\n{table}")


def _failed(cell: Any, why: str) -> dict[str, Any]:
    return {"why": f"{cell}: {why}"}


if __name__ == "__main__":
    main()
