"""The benchmark of the SSL book: all our methods beside the thirteen of the book, and rows without
structure.

    python -m studies.ssl_book                                   # everything; hours on one core,
    minutes on 15
    python -m studies.ssl_book --methods auto --splits 3         # AutoSVC and its like on the first
    three splits python -m studies.ssl_book --only secstr --workers 15
    python -m studies.ssl_book --page                            # print what is on record, run
    nothing
    python -m studies.ssl_book --write docs/measured/ssl-book.md          # ... and put the tables into the
    page
    python -m studies.ssl_book --means studies/ssl_book/results.json --measured "DATE, MACHINE"
    # ... keep the means

Errors are in %, on all unlabeled rows of a split. Finished cells are on record in --out and never
run again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from studies.harness.machine import describe_today
from studies.harness.means import write_cells
from studies.harness.pool import run_in_pool
from studies.ssl_book import synthetic
from studies.ssl_book.errors import (
    SECSTR_SETTINGS,
    SETTINGS,
    KernelsOfSet,
    codes_of_all_rows,
    error_on_unlabeled,
    secstr_codes,
)
from studies.ssl_book.published import CITED, SECSTR
from studies.ssl_book.sets import LABEL_COUNTS, NAMES, SECSTR_COUNTS, load_set

SYNTHETIC = Path(__file__).parent / "synthetic.json"
IMPOSSIBLE = "can't"  # the method refuses; the record says why
ON_KERNEL = "SupervisedSVC(C=10) on UnlabeledKernel()"
AUTOS = ("AutoSVC(safe=False)", ON_KERNEL, "AutoSVC()")
# Roughly, for 1,500 rows; what is not named takes less.
SECONDS_OF = {
    "auto": 60.0,
    "LaplacianSVC": 4.0,
    "PreferenceSVC": 3.0,
    "ProgressiveSVC": 2.0,
    "LabelMeanSVC": 1.0,
}
Record = dict[str, Any]
Cell = tuple[
    str, int, int, str
]  # set, labels, split (-1: all of them), method ("auto": all of AUTOS)


def run_cell(cell: Cell) -> list[Record]:
    """One method on one split, or `AutoSVC` and its like on all splits of a set, whose kernels
    they share.
    """
    name, count, split, method = cell
    book = load_set(name)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "auto":
            return _run_autos(name, split)
        run = secstr_codes if name == "secstr" else codes_of_all_rows
        labeled = book.labeled[count][split]
        found = _record(
            name, count, split, method, run(method, book.X, book.codes, labeled), book, labeled
        )
        return [found | {"seconds": round(time.process_time() - began, 2)}]


def _run_autos(name: str, n_splits: int) -> list[Record]:
    book = load_set(name)
    kernels = {
        method: KernelsOfSet(book.X, book.codes, is_safe=method == "AutoSVC()")
        for method in AUTOS[::2]
    }
    found = []
    for count in LABEL_COUNTS:
        for split, labeled in enumerate(book.labeled[count][:n_splits]):
            predicted = {method: of_set.predict(labeled) for method, of_set in kernels.items()}
            predicted[ON_KERNEL] = kernels["AutoSVC()"].predict_by_svm(labeled)
            found += [
                _record(name, count, split, method, codes, book, labeled)
                for method, codes in predicted.items()
            ]
    return found


def _record(
    name: str, count: int, split: int, method: str, codes: np.ndarray, book: Any, labeled: Any
) -> Record:
    error = error_on_unlabeled(codes, book.codes, labeled)
    return {"set": name, "labels": count, "split": split, "method": method, "error": error}


def cells_of(asked: argparse.Namespace) -> list[Cell]:
    """What is asked for; the cells that take longest first."""
    found: list[Cell] = []
    if asked.only in (None, "book"):
        for name in (*NAMES, "coil2"):
            found.append((name, 0, asked.splits, "auto"))
            found += [
                (name, c, k, m) for c in LABEL_COUNTS for m in SETTINGS for k in range(asked.splits)
            ]
    if asked.only in (None, "secstr"):
        splits = range(min(asked.splits, 10))
        found += [
            ("secstr", c, k, m) for c in SECSTR_COUNTS for m in SECSTR_SETTINGS for k in splits
        ]
    found = [cell for cell in found if not asked.methods or cell[3] in asked.methods]
    return sorted(found, key=_seconds_of, reverse=True)


def _seconds_of(cell: Cell) -> float:
    """About how long a cell takes."""
    name, _, _, method = cell
    known = next(
        (seconds for start, seconds in SECONDS_OF.items() if method.startswith(start)), 0.5
    )
    return known if name != "secstr" else 25.0 if method == "AutoSVC()" else 12.0 + known


def book_tables(records: list[Record]) -> dict[str, list[str]]:
    """One table per number of labels, by its heading on the page; the cited methods first."""
    errors: dict[tuple[str, int, str], dict[int, float]] = defaultdict(dict)
    for one in records:
        if "error" in one:
            errors[one["method"], one["labels"], one["set"]][one["split"]] = one["error"]
    impossible = {
        (one["method"], one["labels"], one["set"]) for one in records if "why" in one
    } - errors.keys()
    found = {}
    for count in LABEL_COUNTS:
        run = {name for _, n_labels, name in errors if n_labels == count}
        names = [name for name in (*NAMES, "coil2") if name in run]
        if not names:
            continue
        lines = [
            f"| | {' | '.join(names)} | mean of {len(NAMES)} |",
            f"|---|{'---|' * (len(names) + 1)}",
        ]
        for method, values in CITED[count].items():
            by_name = dict(zip(NAMES, values, strict=True))
            lines.append(line_of(method, [by_name.get(name) for name in names]))
        for method in (*SETTINGS, *AUTOS):
            means = [_mean(errors.get((method, count, name))) for name in names]
            if any(mean is not None for mean in means):
                line = line_of(method, means, digits=2).split(" | ")
                for k, name in enumerate(names, 1):
                    line[k] = IMPOSSIBLE if (method, count, name) in impossible else line[k]
                lines.append(" | ".join(line))
        found[f"## {count} labels"] = lines
        pairs = [
            (
                errors.get(("AutoSVC()", count, name), {}),
                errors.get(("SupervisedSVC", count, name), {}),
            )
            for name in names
        ]
        if not all(ours for ours, _ in pairs):
            continue
        spread: list[float | None] = [float(np.std(list(ours.values()))) for ours, _ in pairs]
        lines.append(line_of("AutoSVC(): standard deviation", [*spread, None], n_mean=0))
        gains = [[ours[k] - svm[k] for k in ours if k in svm] for ours, svm in pairs]
        if all(gains):
            won: list[float | None] = [sum(g < 0 for g in gain) for gain in gains]
            worst: list[float | None] = [max(gain) for gain in gains]
            lines.append(line_of("splits won against SupervisedSVC", [*won, None], 0, n_mean=0))
            lines.append(line_of("worst split against SupervisedSVC", [*worst, None], n_mean=0))
    return found


def means_of(records: list[Record]) -> list[Record]:
    """One cell per set, number of labels and method; "won" and "worst" are splits compared with
    the SVM's.
    """
    errors: dict[tuple[str, int, str], dict[int, float]] = defaultdict(dict)
    for one in records:
        if "error" in one:
            errors[one["set"], one["labels"], one["method"]][one["split"]] = one["error"]
    found = []
    for (name, count, method), by_split in sorted(errors.items()):
        values = list(by_split.values())
        cell = {"set": name, "labels": count, "method": method, "splits": len(values)}
        cell |= {"error": float(np.mean(values)), "sd": float(np.std(values))}
        svm = errors.get((name, count, "SupervisedSVC"), {})
        gains = [by_split[split] - svm[split] for split in by_split if split in svm]
        found.append(
            cell | ({"won": sum(gain < 0 for gain in gains), "worst": max(gains)} if gains else {})
        )
    return found


def secstr_table(records: list[Record]) -> dict[str, list[str]]:
    """Errors on SecStr by the number of labels, with the number of splits."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in records:
        if one["set"] == "secstr" and "error" in one:
            found[one["method"], one["labels"]].append(one["error"])
    if not found:
        return {}
    lines = [f"| labels | {' | '.join(f'{count:,}' for count in SECSTR_COUNTS)} | splits |"]
    lines.append(f"|---|{'---|' * (len(SECSTR_COUNTS) + 1)}")
    lines += [line_of(method, [*values, None], n_mean=0) for method, values in SECSTR.items()]
    for method in SECSTR_SETTINGS:
        by_count = [found.get((method, count), []) for count in SECSTR_COUNTS]
        if any(by_count):
            means = [float(np.mean(one)) if one else None for one in by_count]
            splits = dict.fromkeys(len(one) for one in by_count if one)
            lines.append(
                line_of(method, means, 2, n_mean=0)[:-1] + f"| {', '.join(map(str, splits))} |"
            )
    return {"## SecStr": lines}


def with_tables(page: str, tables: dict[str, list[str]]) -> str:
    """The page with the first table after each heading replaced."""
    lines = page.split("\n")
    for heading, table in tables.items():
        start = next(k for k in range(lines.index(heading), len(lines)) if lines[k].startswith("|"))
        end = next(
            k
            for k in range(start, len(lines) + 1)
            if k == len(lines) or not lines[k].startswith("|")
        )
        lines[start:end] = table
    return "\n".join(lines)


def _mean(by_split: dict[int, float] | None) -> float | None:
    return float(np.mean(list(by_split.values()))) if by_split else None


def line_of(
    title: str, values: list[float | None], digits: int = 1, *, n_mean: int = len(NAMES)
) -> str:
    """One line of a table; with `n_mean`, the mean of the first so many values at its end, where
    all are known.
    """
    cells = ["" if value is None else f"{value:.{digits}f}" for value in values]
    if n_mean:
        first = [value for value in values[:n_mean] if value is not None]
        cells.append(f"{np.mean(first):.{digits}f}" if len(first) == n_mean else "")
    return f"| {title} | {' | '.join(cells)} |"


def main() -> None:
    """Run what is asked and is not on record yet, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=12, help="how many of the 12 splits")
    parser.add_argument(
        "--draws", type=int, default=20, help="draws of each kind of synthetic rows"
    )
    parser.add_argument("--only", choices=["book", "secstr", "synthetic"])
    parser.add_argument(
        "--methods", nargs="*", help='names as on the page, "auto" for AutoSVC and its like; all'
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, help="stop after so long; what is finished is kept"
    )
    parser.add_argument("--out", type=Path, default=Path("studies-out/ssl_book.jsonl"))
    parser.add_argument("--page", action="store_true", help="print what is on record")
    parser.add_argument(
        "--write", type=Path, help="a page to put the tables on record into; nothing is run"
    )
    parser.add_argument(
        "--means", type=Path, help="write the means of what is on record; nothing is run"
    )
    parser.add_argument("--measured", nargs="*", default=[], help="when and where, for --means")
    asked = parser.parse_args()
    records = (
        [json.loads(line) for line in asked.out.read_text().splitlines()]
        if asked.out.exists()
        else []
    )
    is_asked_to_run = not (asked.page or asked.write or asked.means)
    if is_asked_to_run and asked.only != "synthetic":
        done = {(one["set"], one["labels"], one["split"], one["method"]) for one in records}
        done |= {
            (one["set"], 0, asked.splits, "auto") for one in records if one["method"] == ON_KERNEL
        }
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        cells = [cell for cell in cells_of(asked) if cell not in done]
        with asked.out.open("a") as file:
            for found in run_in_pool(
                _run_safely, cells, workers=asked.workers, failed=_failed, seconds=asked.seconds
            ):
                for record in found["records"]:
                    print(f"{record}\n" if "why" in record else "", end="", flush=True)
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    records.append(record)
    tables = book_tables(records) | secstr_table(records)
    print(
        "\n".join(line for heading, table in tables.items() for line in ("", heading, "", *table))
    )
    if asked.write:
        asked.write.write_text(
            with_tables(asked.write.read_text(encoding="utf-8"), tables), encoding="utf-8"
        )
    if asked.means:
        write_cells(asked.measured, means_of(records), asked.means)
    if is_asked_to_run and asked.only in ("synthetic", None):
        cells = synthetic.measure(asked.draws)
        write_cells([describe_today()], cells, SYNTHETIC)
        print(f"\n{synthetic.table_of(cells)}")


def _run_safely(cell: Cell) -> Record:
    try:
        return {"records": run_cell(cell)}
    except ValueError as error:
        return _failed(cell, str(error))


def _failed(cell: Any, why: str) -> Record:
    return {
        "records": [
            dict(zip(("set", "labels", "split", "method"), cell, strict=True)) | {"why": why}
        ]
    }


if __name__ == "__main__":
    main()
