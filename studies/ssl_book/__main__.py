"""The benchmark of the SSL book: all our methods beside the thirteen of the book, and rows without structure.

    python -m studies.ssl_book                                   # everything; hours on one core, minutes on 15
    python -m studies.ssl_book --methods auto --splits 3         # AutoSVC and its like on the first three splits
    python -m studies.ssl_book --only secstr --workers 15
    python -m studies.ssl_book --page                            # print what is on record, run nothing

Errors are in %, on all unlabeled rows of a split. Finished cells are on record in --out and never run again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from studies.harness.pool import run_in_pool
from studies.ssl_book import synthetic
from studies.ssl_book.errors import (
    SETTINGS,
    KernelsOfSet,
    codes_of_all_rows,
    error_on_unlabeled,
    secstr_codes,
)
from studies.ssl_book.published import CITED, SECSTR
from studies.ssl_book.sets import LABEL_COUNTS, NAMES, SECSTR_COUNTS, load_set

ON_KERNEL = "SupervisedSVC(C=10) on UnlabeledKernel()"
AUTOS = ("AutoSVC(safe=False)", ON_KERNEL, "AutoSVC()")
OF_SECSTR = ("SupervisedSVC(C=0.1), linear", "AutoSVC()")
SPARSE_TOO_LARGE = ("ClusterSVC", "LabelMeanSVC")  # for the 11,960 words of Text
Record = dict[str, Any]
Cell = tuple[str, int, int, str]  # set, labels, split (-1: all of them), method ("auto": all of AUTOS)


def run_cell(cell: Cell) -> list[Record]:
    """One method on one split, or `AutoSVC` and its like on all splits of a set, whose kernels they share."""
    name, count, split, method = cell
    book = load_set(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "auto":
            return _run_autos(name, split)
        run = secstr_codes if name == "secstr" else codes_of_all_rows
        labeled = book.labeled[count][split]
        return [_record(name, count, split, method, run(method, book.X, book.codes, labeled), book, labeled)]


def _run_autos(name: str, n_splits: int) -> list[Record]:
    book = load_set(name)
    kernels = {method: KernelsOfSet(book.X, book.codes, is_safe=method == "AutoSVC()") for method in AUTOS[::2]}
    found = []
    for count in LABEL_COUNTS:
        for split, labeled in enumerate(book.labeled[count][:n_splits]):
            predicted = {method: of_set.predict(labeled) for method, of_set in kernels.items()}
            predicted[ON_KERNEL] = kernels["AutoSVC()"].predict_by_svm(labeled)
            found += [_record(name, count, split, method, codes, book, labeled) for method, codes in predicted.items()]
    return found


def _record(name: str, count: int, split: int, method: str, codes: np.ndarray, book: Any, labeled: Any) -> Record:
    error = error_on_unlabeled(codes, book.codes, labeled)
    return {"set": name, "labels": count, "split": split, "method": method, "error": error}


def cells_of(asked: argparse.Namespace) -> list[Cell]:
    """What is asked for; the cells that take longest first."""
    found: list[Cell] = []
    if asked.only in (None, "secstr"):
        for count in SECSTR_COUNTS[::-1]:
            found += [("secstr", count, k, m) for k in range(min(asked.splits, 10)) for m in OF_SECSTR]
    if asked.only in (None, "book"):
        names = (*NAMES, "coil2")
        found += [(name, 0, asked.splits, "auto") for name in names if asked.methods in ("auto", "all")]
        for name in names if asked.methods == "all" else ():
            skipped = SPARSE_TOO_LARGE if sparse.issparse(load_set(name).X) else ()
            methods = [method for method in SETTINGS if method not in skipped]
            found += [(name, c, k, m) for c in LABEL_COUNTS for m in methods for k in range(asked.splits)]
    return found


def print_book(records: list[Record]) -> None:
    """One table per number of labels, the cited methods first."""
    errors: dict[tuple[str, int, str], dict[int, float]] = defaultdict(dict)
    for one in records:
        errors[one["method"], one["labels"], one["set"]][one["split"]] = one["error"]
    for count in LABEL_COUNTS:
        names = [name for name in (*NAMES, "coil2") if errors.get(("AutoSVC()", count, name))]
        if not names:
            continue
        print(f"\n{count} labels, {len(errors['AutoSVC()', count, names[0]])} splits\n")
        print(f"| | {' | '.join(names)} | mean of {len(NAMES)} |\n|---|{'---|' * (len(names) + 1)}")
        for method, values in CITED[count].items():
            by_name = dict(zip(NAMES, values, strict=True))
            print_line(f"{method}, as commonly cited", [by_name.get(name) for name in names])
        for method in (*SETTINGS, *AUTOS):
            means = [_mean(errors.get((method, count, name))) for name in names]
            if any(mean is not None for mean in means):
                print_line(method, means, digits=2)
        pairs = [(errors["AutoSVC()", count, name], errors.get(("SupervisedSVC", count, name), {})) for name in names]
        print_line("AutoSVC(): standard deviation", [float(np.std(list(ours.values()))) for ours, _ in pairs], n_mean=0)
        gains = [[ours[k] - svm[k] for k in ours if k in svm] for ours, svm in pairs]
        if all(gains):
            print_line("splits won against SupervisedSVC", [sum(g < 0 for g in gain) for gain in gains], 0, n_mean=0)
            print_line("worst split against SupervisedSVC", [max(gain) for gain in gains], n_mean=0)


def print_secstr(records: list[Record]) -> None:
    """Errors on SecStr by the number of labels."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in records:
        if one["set"] == "secstr":
            found[one["method"], one["labels"]].append(one["error"])
    if not found:
        return
    print("\nSecStr: 83,679 rows\n")
    print(f"| labels | {' | '.join(f'{count:,}' for count in SECSTR_COUNTS)} |\n|---|{'---|' * len(SECSTR_COUNTS)}")
    for method, values in SECSTR.items():
        print_line(f"{method}, as commonly cited", list(values), n_mean=0)
    for method in OF_SECSTR:
        lines = [found.get((method, count)) for count in SECSTR_COUNTS]
        print_line(method, [None if one is None else float(np.mean(one)) for one in lines], digits=2, n_mean=0)


def _mean(by_split: dict[int, float] | None) -> float | None:
    return float(np.mean(list(by_split.values()))) if by_split else None


def print_line(title: str, values: list[float | None], digits: int = 1, *, n_mean: int = len(NAMES)) -> None:
    """One line of a table; with `n_mean`, the mean of the first so many values at its end, where all are known."""
    cells = ["" if value is None else f"{value:.{digits}f}" for value in values]
    if n_mean:
        first = [value for value in values[:n_mean] if value is not None]
        cells.append(f"{np.mean(first):.{digits}f}" if len(first) == n_mean else "")
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run what is asked and is not on record yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=12, help="how many of the 12 splits")
    parser.add_argument("--draws", type=int, default=20, help="draws of each kind of synthetic rows")
    parser.add_argument("--only", choices=["book", "secstr", "synthetic"])
    parser.add_argument("--methods", choices=["auto", "all"], default="all")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("studies-out/ssl_book.jsonl"))
    parser.add_argument("--page", action="store_true", help="print what is on record")
    asked = parser.parse_args()
    records = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    if not asked.page and asked.only != "synthetic":
        done = {(one["set"], one["labels"], one["split"], one["method"]) for one in records}
        done |= {(one["set"], 0, asked.splits, "auto") for one in records if one["method"] == ON_KERNEL}
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        cells = [cell for cell in cells_of(asked) if cell not in done]
        with asked.out.open("a") as file:
            for found in run_in_pool(_run_safely, cells, workers=asked.workers, failed=_failed):
                print(found.get("why", ""), end="\n" if found.get("why") else "", flush=True)
                for record in found["records"]:
                    file.write(json.dumps(record) + "\n")
                    file.flush()
                    records.append(record)
    print_book(records)
    print_secstr(records)
    if asked.only == "synthetic" or (asked.only is None and not asked.page):
        synthetic.print_table(asked.draws)


def _run_safely(cell: Cell) -> Record:
    try:
        return {"records": run_cell(cell)}
    except ValueError as error:
        return _failed(cell, str(error))


def _failed(cell: Any, why: str) -> Record:
    return {"records": [], "why": f"{cell}: {why}"}


if __name__ == "__main__":
    main()
