"""Texts by meaning: what does a sentence encoder bring to `AutoSVC`?

    python -m studies.accuracy.texts                                  # without an encoder
    python -m studies.accuracy.texts --encoders wordllama PATH-OF-A-SENTENCE-TRANSFORMER --store

The sets are in the folder `texts` of SEMISVM_DATA; all were used to choose how `AutoSVC` uses an
encoder. 1,500 texts in the fit, some of them labeled, others new; average precision, or its mean
over the classes.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.preprocessing import label_binarize, normalize
from sklearn.semi_supervised import LabelSpreading

from studies.accuracy.few_labels import means_of
from studies.records import OUT, describe_run, markdown_table, write_record
from studies.running import make_parser, measured, run_study

RECORD = Path(__file__).parent / "records" / "texts.json"
SETS = ("bank: card", "packages", "packages: math", "quotes_en", "quotes_es")
LABEL_COUNTS = (20, 50, 100, 300)
N_FIT, N_NEW = 1500, 2500
OURS = ("AutoSVC", "TF-IDF + logistic regression")
WITH_ENCODER = ("AutoSVC", "logistic regression", "LabelSpreading")


@cache
def load_texts(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Texts, and the numbers of their classes."""
    stem, _, positive = name.partition(": ")
    folder = Path(os.environ["SEMISVM_DATA"]) / "texts"
    frame = pd.read_csv(folder / f"{stem}.csv.xz")
    if positive:
        classes = frame["label"].str.contains(positive).to_numpy().astype(int)
    else:
        classes = np.unique(frame["label"], return_inverse=True)[1]
    return frame["text"].to_numpy(dtype=object), classes


@cache
def load_encoder(name: str) -> Any:
    """An object with `encode`."""
    if name == "wordllama":
        import wordllama

        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        model.encode = model.embed
        return model
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(name)


def run_cell(cell: tuple[str, int, int, str, str]) -> dict[str, Any]:
    """Fit one method on one draw, and measure it on new texts."""
    name, n_labeled, draw, method, encoder = cell
    texts, y = load_texts(name)
    rng = np.random.default_rng(crc32(f"{name} {n_labeled} {draw}".encode()))
    n_classes = y.max() + 1
    while True:
        order = rng.permutation(len(y))
        if len(np.unique(y[order[:n_labeled]])) == n_classes or n_classes > 2:
            break
    fit, new = order[:N_FIT], order[N_FIT : N_FIT + N_NEW]
    hidden = np.where(np.arange(len(fit)) < n_labeled, y[fit], -1)
    took: dict[str, Any] = {}
    with warnings.catch_warnings(), measured(took):
        warnings.simplefilter("ignore")
        model, rows, new_rows = _prepare(method, encoder, texts[fit], texts[new])
        model.fit(
            *((rows, hidden) if _takes_all(model) else (rows[:n_labeled], y[fit[:n_labeled]]))
        )
        if hasattr(model, "decision_function"):
            scores = model.decision_function(new_rows)
        else:  # rows that no label reaches by LabelSpreading have no probability
            scores = np.nan_to_num(model.predict_proba(new_rows), nan=1 / len(model.classes_))
    predicted = model.predict(new_rows)
    seen = model.classes_
    truth = label_binarize(y[new], classes=range(n_classes))
    scores = scores[:, 1:] if n_classes == 2 and scores.ndim == 2 else scores.reshape(len(new), -1)
    full = np.full((len(new), truth.shape[1]), scores.min())
    average = "binary" if n_classes == 2 else "macro"
    full[:, 0 if n_classes == 2 else seen] = scores[:, 0] if n_classes == 2 else scores
    return {
        "set": name,
        "labels": n_labeled,
        "method": method + (f", {Path(encoder).name}" if encoder else ""),
        "average_precision": float(average_precision_score(truth, full)),
        "f1": float(f1_score(y[new], predicted, average=average, zero_division=0)),
        "error": float(np.mean(predicted != y[new])),
        "seconds": took["cpu_s"],
        "megabytes": took["peak_mib"] - took["before_mib"],
    }


def _takes_all(model: Any) -> bool:
    return not isinstance(model, LogisticRegression)


def _prepare(method: str, encoder: str, texts: Any, new: Any) -> tuple[Any, Any, Any]:
    """An unfitted model, and the rows as it takes them."""
    from semisvm import AutoSVC

    if method == "AutoSVC":
        more = {"text_encoder": load_encoder(encoder)} if encoder else {}
        return AutoSVC(random_state=0, **more), texts, new
    if not encoder:
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5).fit(texts)
        balanced = LogisticRegression(class_weight="balanced", max_iter=2000, C=10.0)
        return balanced, words.transform(texts), words.transform(new)
    encode = load_encoder(encoder).encode
    rows, new_rows = (normalize(np.asarray(encode(list(some)))) for some in (texts, new))
    if method == "LabelSpreading":
        return LabelSpreading("knn", n_neighbors=15), rows, new_rows
    return LogisticRegression(C=10.0, max_iter=2000), rows, new_rows


def tables_of(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Average precision by method and number of labels, means over the sets."""
    frame = pd.DataFrame(cells)
    by = frame.pivot_table(values="average_precision", index="method", columns="labels")
    seconds = frame.groupby("method")["seconds"].mean()
    lines = [
        [method, *(f"{value:.3f}" for value in by.loc[method]), f"{seconds[method]:.1f}"]
        for method in by.index
    ]
    heading = f"average precision, {frame['set'].nunique()} sets"
    return {heading: markdown_table(["method", *map(str, by.columns), "CPU s"], lines)}


def main() -> None:
    """Run what is not in the journal yet, and print the table."""
    parser = make_parser("studies.accuracy.texts", __doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--labels", type=int, nargs="*", default=LABEL_COUNTS)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--encoders", nargs="*", default=[], help='"wordllama", or a path')
    options = parser.parse_args()
    pairs = [(method, "") for method in OURS]
    pairs += [(method, encoder) for encoder in options.encoders for method in WITH_ENCODER]
    asked = [
        (name, count, draw, method, encoder)
        for draw in range(options.draws)
        for name in options.sets
        for count in options.labels
        for method, encoder in pairs
    ]
    found = run_study(run_cell, asked, OUT / "accuracy" / "texts.jsonl", options.workers)
    cells = means_of(found)
    if options.store:
        write_record([describe_run()], cells, RECORD)
    for title, table in tables_of(cells).items():
        print(f"\n{title}\n\n{table}")


if __name__ == "__main__":
    main()
