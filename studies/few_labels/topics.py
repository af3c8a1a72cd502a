"""Texts of several classes: sayings by their topic, descriptions of packages by their section.

    python -m studies.few_labels.topics --means studies/few_labels/topics.json --measured "DATE, MACHINE"

2,000 texts in the fit, of which 100 or 400 are labeled, and 3,000 new ones, as in the study of few
labels; several draws. Sayings are those of Debian's `fortunes`. Descriptions are those of the
packages that this system's `apt-cache` knows: other ones after the next release.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import SelfTrainingClassifier

from semisvm import AutoSVC, TransductiveSVC
from studies.few_labels import public
from studies.few_labels.__main__ import draw_rows
from studies.few_labels.methods import BALANCED_LOGISTIC, as_matrices, tuned
from studies.harness.fresh_process import measured
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table

LABEL_COUNTS = (100, 400)
MEASURES = ("accuracy", "accuracy_unlabeled", "seconds", "megabytes")
Labels = tuple[np.ndarray, np.ndarray]  # of the unlabeled texts of the fit, and of new ones


def descriptions() -> Iterator[tuple[str, str]]:
    """Descriptions of Debian's packages, and their sections."""
    command = ["apt-cache", "dumpavail"]
    packages = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for package in packages.split("\n\n"):
        section = re.search(r"^Section: (\S+)", package, re.MULTILINE)
        text = re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", package, re.MULTILINE)
        if section and text:
            yield text[1], section[1]


SETS: dict[str, tuple[Callable[[], Iterator[tuple[str, str]]], int]] = {
    "fortunes": (public.sayings, 8),
    "packages": (descriptions, 12),
}


@cache
def load_topics(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Texts, each once, of the most frequent classes, and the numbers of these."""
    read, n_classes = SETS[name]
    topics: dict[str, str] = {}
    for text, topic in read():
        if text:
            topics.setdefault(text, topic)
    kept = [topic for topic, _ in Counter(topics.values()).most_common(n_classes)]
    texts = [text for text, topic in topics.items() if topic in kept]
    return np.array(texts, dtype=object), np.array([kept.index(topics[text]) for text in texts])


def auto_svc(texts: np.ndarray, y: np.ndarray, new: np.ndarray) -> Labels:
    """Ours."""
    model = AutoSVC(random_state=0).fit(texts, y)
    return model.predict(texts[y < 0]), model.predict(new)


def _on_words(make: Callable[[int], Any], *directions: Any) -> Callable[..., Labels]:
    """A classifier on TF-IDF, which is given the number of labels of the rarest class."""

    def labels(texts: np.ndarray, y: np.ndarray, new: np.ndarray) -> Labels:
        rows, new_rows = as_matrices(texts, new)
        if directions:
            encoder = make_pipeline(*directions).fit(rows)
            rows, new_rows = encoder.transform(rows), encoder.transform(new_rows)
        model = make(int(np.bincount(y[y >= 0]).min()))
        if isinstance(model, SelfTrainingClassifier | TransductiveSVC):
            model.fit(rows, y)
        else:
            model.fit(rows[y >= 0], y[y >= 0])
        return model.predict(rows[y < 0]), model.predict(new_rows)

    return labels


LOGISTIC = tuned(BALANCED_LOGISTIC, scoring="accuracy")
METHODS: dict[str, Callable[..., Labels]] = {
    "AutoSVC": auto_svc,
    # as in scikit-learn's example of self-training on texts
    "SelfTrainingClassifier": _on_words(
        lambda _: SelfTrainingClassifier(SGDClassifier(loss="log_loss", alpha=1e-5, random_state=0))
    ),
    "TransductiveSVC": _on_words(lambda _: TransductiveSVC(kernel="linear")),
    "logistic regression": _on_words(LOGISTIC),
    "SVD + logistic regression": _on_words(LOGISTIC, TruncatedSVD(100, random_state=0)),
}


def run_set(name: str, n_draws: int, methods: list[str]) -> list[dict[str, Any]]:
    """One cell per number of labels and method: means over the draws."""
    texts, y = load_topics(name)
    measures: dict[tuple[int, str], list[tuple[float, ...]]] = defaultdict(list)
    for count in LABEL_COUNTS:
        for draw in range(n_draws):
            fit, new = draw_rows(y, count, crc32(f"{name} {count} {draw}".encode()))
            hidden = np.where(np.arange(len(fit)) < count, y[fit], -1)
            for method in methods:
                took: dict[str, Any] = {}
                with warnings.catch_warnings(), measured(took):
                    warnings.simplefilter("ignore")
                    of_unlabeled, of_new = METHODS[method](texts[fit], hidden, texts[new])
                right = np.mean(of_new == y[new]), np.mean(of_unlabeled == y[fit[count:]])
                spent = took["cpu_s"], took["rss_peak_mib"] - took["rss_before_mib"]
                measures[count, method].append((*right, *spent))
    of_set = {"set": name, "texts": len(texts), "classes": int(y.max()) + 1, "draws": n_draws}
    return [
        of_set
        | {"labels": count, "method": method}
        | dict(zip(MEASURES, np.mean(values, axis=0).tolist(), strict=True))
        for (count, method), values in measures.items()
    ]


def page_of(cells: list[dict[str, Any]]) -> str:
    """A line per set, number of labels and method."""
    head = ["texts", "labels", "method", "accuracy: new", "unlabeled", "CPU s", "MB"]
    return markdown_table(
        head,
        [
            [
                f"{cell['set']}, {cell['classes']} classes",
                str(cell["labels"]),
                cell["method"],
                f"{cell['accuracy']:.3f}",
                f"{cell['accuracy_unlabeled']:.3f}",
                f"{cell['seconds']:.1f}",
                f"{cell['megabytes']:.0f}",
            ]
            for cell in cells
        ],
    )


def main() -> None:
    """Run all sets, and print accuracies."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--means", type=Path, help="write the means to a file")
    parser.add_argument("--measured", nargs="*", default=[], help="when and where, for --means")
    options = parser.parse_args()
    cells = [
        cell for name in options.sets for cell in run_set(name, options.draws, options.methods)
    ]
    if options.means:
        write_cells(options.measured, cells, options.means)
    print(page_of(cells))


if __name__ == "__main__":
    main()
