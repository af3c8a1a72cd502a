"""The pages of results, made from records alone: `make docs` calls this.

python -m studies.pages docs/results
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from studies.papers import PAPERS
from studies.papers.__main__ import record_of
from studies.papers.lines import VERDICTS
from studies.records import markdown_table, read_cells, read_measured, read_summaries

PAPERS_TEXT = """# Results: the four papers

The library began with four papers. Their tables were run again, number by number: **{reproduced:,} values are
reproduced, {close} are close, and {differs} differ.** A value is *reproduced* if it lies within the published standard
deviation (or 0.02 where that is smaller or missing), *close* within twice that. *Measured* values have nothing to be
judged against.

The papers' data are not ours to pass on; `studies/data/catalog.toml` names every set and its source.

    make reproduce                              # a part, in a minute: fails if a verdict became worse
    python -m studies.papers cs4vm              # a whole paper, with every line
    python -m studies.papers cs4vm --show       # the stored lines; nothing runs
"""
ACCURACY_TEXT = """# Results: accuracy

Three studies ask how many errors are left with few labels. The tables hold means; a method that is better on average is
not better on your rows, so compare it with `SupervisedSVC` or logistic regression before you trust it.
"""
BOOK_TEXT = """The benchmark of the book *Semi-Supervised Learning* (Chapelle, Schölkopf and Zien, 2006): seven sets, twelve
splits with 10 or 100 labels, errors in % on all other rows. Lines marked *cited* are the book's. **The settings of
`AutoSVC` were chosen on these sets**, so its lines here are flattered; those of the next section are not.
"""
FEW_TEXT = """Public tables and texts that were listed before the first run and not looked at during development; 20, 50 or
100 labels, up to 2,000 rows in the fit, all methods judged on other rows. *Better / worse* counts sets by average
precision.
"""
TEXTS_TEXT = """Texts whose meaning matters, with and without a sentence encoder. All sets were used to choose how `AutoSVC`
uses an encoder.
"""
SPEED_TEXT = """# Results: speed

Seconds are medians of fits by turns in fresh processes. Every solver gets the rows in the form that it is fastest on.
"""
SPEED = (
    ("training", "Training an RBF SVM", "The sets and settings of the PSVM paper. oneDAL is the solver of scikit-learn-intelex.", "make bench-cores"),
    ("linear", "Training a linear SVM", "Beside LIBLINEAR, at equal objective, on one core.", "python -m studies.speed.linear"),
    ("tuning", "Tuning", "`SVCCV` in one call, beside a grid search and TorchKM.", "make bench-tune"),
    ("gpu", "On a GPU", "An NVIDIA H200 beside 16 cores.", "make bench-gpu"),
    ("start", "Starting", "Imports and whole commands on 20 rows.", "python -m studies.speed.start"),
)  # fmt: skip


def papers_page() -> str:
    """What is reproduced of each paper, what is not, and what the papers left out."""
    total: Counter[str] = Counter()
    rows, parts = [], []
    for name, make in PAPERS.items():
        paper = make()
        counts = Counter(word for _, _, word in paper.judged(read_summaries(record_of(name))))
        total += counts
        rows.append([name, *(f"{counts[word]:,}" for word in VERDICTS[:4])])
        parts.append(f"## {name}\n\n{paper.citation}.")
        for title, sentences in (
            ("What holds", paper.holds),
            ("What does not", paper.fails),
            ("What the paper left out", paper.silent),
        ):
            parts.append(f"**{title}.**\n\n" + "\n".join(f"- {one}" for one in sentences))
    text = PAPERS_TEXT.format(**{word: total[word] for word in VERDICTS})
    return "\n\n".join([text, markdown_table(["paper", *VERDICTS[:4]], rows), *parts])


def accuracy_page() -> str:
    """The SSL book, few labels, and texts."""
    from studies.accuracy import book, few_labels, texts

    parts = [ACCURACY_TEXT]
    for study, title, text, command in (
        (few_labels, "Public tables and texts", FEW_TEXT, "python -m studies.accuracy.few_labels"),
        (book, "The SSL book", BOOK_TEXT, "python -m studies.accuracy.book"),
        (texts, "Texts by meaning", TEXTS_TEXT, "python -m studies.accuracy.texts"),
    ):
        if study.RECORD.exists():
            tables = study.tables_of(read_cells(study.RECORD))
            parts += [f"## {title}", text]
            parts += [f"**{heading}**\n\n{table}" for heading, table in tables.items()]
            parts.append(_origin(study.RECORD, command))
    return "\n\n".join(parts)


def speed_page() -> str:
    """One table for each benchmark that has a record."""
    parts = [SPEED_TEXT]
    for name, title, text, command in SPEED:
        module = import_module(f"studies.speed.{name}")
        record = Path(module.__file__ or "").parent / "records" / f"{name}.json"
        if record.exists():
            parts += [f"## {title}", text, module.table_of(read_cells(record))]
            parts.append(_origin(record, command))
    return "\n\n".join(parts)


def _origin(record: Path, command: str) -> str:
    measured = "; ".join(read_measured(record))
    return f"Measured by `{command}`: {measured}."


def main() -> None:
    """Write all pages into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"papers": papers_page(), "accuracy": accuracy_page(), "speed": speed_page()}
    if find_spec("studies.certificates"):
        pages["certificates"] = import_module("studies.certificates.page").page()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text + "\n":  # Sphinx reads
            path.write_text(text + "\n", encoding="utf-8")  # again what is newer


if __name__ == "__main__":
    main()
