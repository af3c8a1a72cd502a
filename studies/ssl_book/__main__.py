"""Print the tables: the book's sets, then rows without structure and two moons."""

from __future__ import annotations

import argparse
import time

import numpy as np

from studies.ssl_book import synthetic
from studies.ssl_book.errors import KernelsOfSet, error_on_unlabeled, supervised_codes
from studies.ssl_book.published import CITED
from studies.ssl_book.sets import LABEL_COUNTS, NAMES, load_set

ON_KERNEL = "SupervisedSVC(C=10) on UnlabeledKernel()"
OURS = ("SupervisedSVC", ON_KERNEL, "AutoSVC(safe=False)", "AutoSVC()")


def errors_of_set(name: str, n_splits: int) -> dict[tuple[str, int], list[float]]:
    """Errors of our methods on the first splits, by method and number of labels."""
    book = load_set(name)
    kernels = {"AutoSVC(safe=False)": KernelsOfSet(book.X, book.codes, is_safe=False)}
    kernels["AutoSVC()"] = KernelsOfSet(book.X, book.codes)
    median = kernels["AutoSVC()"].library.components.median
    found: dict[tuple[str, int], list[float]] = {(method, count): [] for method in OURS for count in LABEL_COUNTS}
    for count in LABEL_COUNTS:
        for labeled in book.labeled[count][:n_splits]:
            predicted = {method: of_set.predict(labeled) for method, of_set in kernels.items()}
            predicted[ON_KERNEL] = kernels["AutoSVC()"].predict_by_svm(labeled)
            predicted["SupervisedSVC"] = supervised_codes(book.X, book.codes, labeled, median)
            for method, codes in predicted.items():
                found[method, count].append(error_on_unlabeled(codes, book.codes, labeled))
    return found


def print_book(n_splits: int) -> None:
    """One table per number of labels, the cited methods first."""
    found = {name: errors_of_set(name, n_splits) for name in NAMES}
    for count in LABEL_COUNTS:
        print(f"\n{count} labels, {n_splits} splits\n")
        print(f"| | {' | '.join(NAMES)} | mean |\n|---|{'---|' * (len(NAMES) + 1)}")
        for method, values in CITED[count].items():
            print_line(f"{method}, as commonly cited", values)
        for method in OURS:
            print_line(method, [float(np.mean(found[name][method, count])) for name in NAMES], digits=2)
        ours, svm = (np.array([found[name][method, count] for name in NAMES]) for method in ("AutoSVC()", OURS[0]))
        print_line("AutoSVC(): standard deviation", list(ours.std(axis=1)))
        print_line("splits won against SupervisedSVC", list((ours < svm).sum(axis=1)), digits=0)
        print_line("worst split against SupervisedSVC", list((ours - svm).max(axis=1)))


def print_line(title, values, digits=1):
    """One line of a table, with the mean of its values."""
    cells = [f"{value:.{digits}f}" for value in (*values, np.mean(values))]
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=12, help="how many of the 12 splits")
    parser.add_argument("--draws", type=int, default=20, help="draws of each kind of synthetic rows")
    parser.add_argument("--only", choices=["book", "synthetic"])
    asked = parser.parse_args()
    began = time.process_time()
    if asked.only != "synthetic":
        print_book(asked.splits)
    if asked.only != "book":
        synthetic.print_table(asked.draws)
    print(f"\n{time.process_time() - began:.0f} s of CPU time")
