"""AutoSVC beside the usual classifiers with few labels, on public tables and texts.

    python -m studies.accuracy.few_labels                          # all of it, or the rest of it
    python -m studies.accuracy.few_labels --draws 1 --labels 20 --sets Sonar Glass
    python -m studies.accuracy.few_labels --store                  # ... and keep the means

The sets were listed before the first run, and none was looked at while AutoSVC was developed. A draw
is a permutation of the rows. The first ones are labeled (at least two of each class, or the draw is
made again); 2,000 rows, but at most 70% of the set, are those of the fit; at most 3,000 of the others
are new rows, on which all methods are judged. A set takes part where the labels are at most half of
its rows in the fit.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.metrics import average_precision_score, f1_score

from studies.accuracy import public
from studies.accuracy.classifiers import FOR_TABLES_ONLY, FOR_TEXTS_ONLY, METHODS
from studies.records import OUT, markdown_table, update_record
from studies.running import make_parser, measured, run_study

RECORD = Path(__file__).parent / "records" / "few_labels.json"
LABEL_COUNTS = (20, 50, 100)
MOST_ROWS_OF_FIT, SHARE_OF_FIT, MOST_NEW_ROWS = 2000, 0.7, 3000
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
    """Fit one method on one draw, and measure it on new rows."""
    name, n_labeled, draw, method = cell
    X, y = public.load_task(name)
    fit, new = draw_rows(y, n_labeled, crc32(f"{name} {n_labeled} {draw}".encode()))
    hidden = np.where(np.arange(len(fit)) < n_labeled, y[fit], -1)
    rows, new_rows = (X.iloc[fit], X.iloc[new]) if hasattr(X, "iloc") else (X[fit], X[new])
    took: dict[str, Any] = {}
    with warnings.catch_warnings(), measured(took):
        warnings.simplefilter("ignore")
        scores = METHODS[method](rows, hidden, new_rows)
    return {
        "set": name,
        "labels": n_labeled,
        "method": method,
        "average_precision": float(average_precision_score(y[new], scores)),
        "f1": float(f1_score(y[new], scores > 0, zero_division=0)),
        "error": float(np.mean((scores > 0) != y[new])),
        "seconds": took["cpu_s"],
        "megabytes": took["peak_mib"] - took["before_mib"],
    }


def cells_of(options: Any) -> list[tuple[str, int, int, str]]:
    """All cells that make sense, draw by draw; sets that can't be had are named, and left out."""
    cells = []
    for name in options.sets:
        try:
            n = len(public.load_task(name)[1])
        except (OSError, ImportError, CalledProcessError) as error:
            print(f"{name} is not run: {error}", flush=True)
            continue
        unfit = FOR_TEXTS_ONLY if name in public.TABLES else FOR_TABLES_ONLY
        cells += [
            (name, count, draw, method)
            for count in options.labels
            if 2 * count <= min(MOST_ROWS_OF_FIT, SHARE_OF_FIT * n)
            for draw in range(options.draws)
            for method in options.methods
            if method not in unfit
        ]
    return sorted(cells, key=lambda cell: (cell[2], cell[1], cell[0]))


def means_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One cell per set, number of labels and method: the means over the draws."""
    by_cell: dict[tuple[str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        by_cell[one["set"], one["labels"], one["method"]].append(one)
    return [
        {"set": name, "labels": count, "method": method, "draws": len(draws)}
        | {measure: float(np.mean([draw[measure] for draw in draws])) for measure in MEASURES}
        for (name, count, method), draws in sorted(by_cell.items())
    ]


def tables_of(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Per kind of set and number of labels a table of means over the sets."""
    tables = {}
    for kind, names in (("tables", public.TABLES), ("texts", public.TEXTS)):
        for count in LABEL_COUNTS:
            kept = [cell for cell in cells if cell["set"] in names and cell["labels"] == count]
            if kept:
                n_sets = len({cell["set"] for cell in kept})
                tables[f"{count} labels, {n_sets} {kind}"] = _table_of_means(kept)
    return tables


def _table_of_means(cells: list[dict[str, Any]]) -> str:
    """Means over sets of every method, and on how many sets AutoSVC ranks better than it."""
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
        versus = ["", ""]
        if method != AUTO:
            versus = [f"{np.sum(gain > 0)} / {np.sum(gain < 0)}", _interval(gain)]
        means = [np.mean([cell[m] for cell in theirs.values()]) for m in MEASURES[:4]]
        shown = [f"{mean:.3f}" for mean in means[:3]]
        lines.append([method, *shown, f"{means[3]:.1f}", *versus])
    head = ["method", "average precision", "F1", "error", "CPU s"]
    return markdown_table([*head, "AutoSVC better / worse", "its lead, 90% interval"], lines)


def _interval(gain: np.ndarray) -> str:
    """A 90% interval of the mean difference, by drawing sets with replacement."""
    rng = np.random.default_rng(0)
    means = rng.choice(gain, (2000, len(gain))).mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return f"{low:+.3f} to {high:+.3f}"


def _what(options: Any) -> str:
    """What a run measures that is not all."""
    return f"{', '.join(options.methods)} on {', '.join(options.sets)}"


def main() -> None:
    """Run what is not in the journal yet, and print the tables."""
    parser = make_parser("studies.accuracy.few_labels", __doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--labels", type=int, nargs="*", default=LABEL_COUNTS)
    parser.add_argument("--sets", nargs="*", default=(*public.TABLES, *public.TEXTS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    options = parser.parse_args()
    journal = OUT / "accuracy" / "few_labels.jsonl"
    cells = means_of(run_study(run_cell, cells_of(options), journal, options.workers))
    if options.store:
        update_record(RECORD, cells, ("set", "labels", "method"), _what(options))
    for title, table in tables_of(cells).items():
        print(f"\n{title}\n\n{table}")


if __name__ == "__main__":
    main()
