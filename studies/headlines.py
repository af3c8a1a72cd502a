"""The numbers that the README and the site's pages of results begin with, from the records.

    python -m studies.headlines            # print them
    python -m studies.headlines --write    # ... and write docs/headlines.json

Each is a sentence with its record, the command that makes the record, and whether the data were
used for choosing. `tests/studies/test_headlines.py` compares the file with the records, and the
pages with the file.
"""

import json
import sys
from pathlib import Path

from scipy.stats import gmean

from studies.certify import violations
from studies.few_labels.public import TABLES
from studies.harness.means import read_cells

REPOSITORY = Path(__file__).resolve().parents[1]
FILE = REPOSITORY / "docs" / "headlines.json"
OF_BOOK = "studies/ssl_book/results.json"
OF_PUBLIC = "studies/few_labels/results.json"
OF_CORES = "studies/speed/results/cores.json"
OF_VIOLATIONS = "studies/certify/results/violations.json"
OF_PAPERS = "docs/results/README.md"
SPEED_SETS = [("adult", "all"), ("ijcnn1", "all"), ("mnist", "10%"), ("protein", "all")]
BOOK_SETS = ("digit1", "usps", "coil", "bci", "g241c", "g241d", "text")


def book_error(method, n_labels):
    """Return the mean error in % of a method over the seven sets of the SSL book."""
    errors = {
        cell["set"]: cell["error"]
        for cell in read_cells(REPOSITORY / OF_BOOK)
        if cell["method"] == method and cell["labels"] == n_labels
    }
    return sum(errors[name] for name in BOOK_SETS) / len(BOOK_SETS)


def public_tables(n_labels):
    """Return the mean average precision of AutoSVC and of the best other method, its name, on how
    many public tables AutoSVC is the best, and how many there are.
    """
    values = {}
    for cell in read_cells(REPOSITORY / OF_PUBLIC):
        is_other_input = cell["method"] == "AutoSVC, array"
        if cell["labels"] == n_labels and cell["set"] in TABLES and not is_other_input:
            values.setdefault(cell["method"], {})[cell["set"]] = cell["average_precision"]
    means = {method: sum(of.values()) / len(of) for method, of in values.items()}
    best = max(means.keys() - {"AutoSVC"}, key=means.get)
    n_first = sum(
        max(values, key=lambda method: values[method][name]) == "AutoSVC"
        for name in values["AutoSVC"]
    )
    return means["AutoSVC"], means[best], best, n_first, len(values["AutoSVC"])


def times_faster(other, cores):
    """Return the seconds of another solver over ours, in geometric mean over four sets."""
    seconds = {
        (cell["set"], cell["size"], cell["solver"]): cell["median"]
        for cell in read_cells(REPOSITORY / OF_CORES)
        if cell["cores"] == cores
    }
    return gmean([seconds[*part, other] / seconds[*part, "ours"] for part in SPEED_SETS])


def false_certificates():
    """Return how many campaigns were ever wrong, and how many there are."""
    cells = json.loads((REPOSITORY / OF_VIOLATIONS).read_text(encoding="utf-8"))["cells"]
    blocks = [n_wrong for cell in cells.values() for n_wrong in cell.values()]
    return sum(blocks), len(blocks) * violations.BLOCK


def verdicts():
    """Return how many values of the four papers are reproduced, close, and different."""
    text = (REPOSITORY / OF_PAPERS).read_text(encoding="utf-8")
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| [")]
    return [sum(int(line[place]) for line in lines) for place in (2, 3, 4)]


def headlines():
    """Return {name: {sentence, record, command, chosen_on}}."""
    few, many = (
        (book_error("AutoSVC()", count), book_error("SupervisedSVC", count)) for count in (10, 100)
    )
    reproduced, close, different = verdicts()
    n_wrong, n_campaigns = false_certificates()
    ours, best, name, n_first, n_tables = public_tables(50)
    return {
        "public tables": {
            "sentence": f"With 50 labels on {n_tables} public tables, `AutoSVC` has a mean average"
            f" precision of {ours:.3f}; {name}, the best of eight other methods, has {best:.3f}."
            f" On {n_tables - n_first} of the tables, at least one of the eight is better. The"
            " tables were listed before the first run.",
            "record": OF_PUBLIC,
            "command": "python -m studies.few_labels",
            "chosen_on": False,
        },
        "few labels": {
            "sentence": f"With 10 labels, the mean error of `AutoSVC` is {few[0]:.1f}% and that of"
            f" an SVM is {few[1]:.1f}%; with 100 labels, {many[0]:.1f}% and {many[1]:.1f}% (seven"
            " data sets of the SSL book). The settings of `AutoSVC` were chosen on these data sets;"
            " on one of them (BCI, 10 labels) it is worse than the SVM.",
            "record": OF_BOOK,
            "command": "python -m studies.ssl_book",
            "chosen_on": True,
        },
        "speed": {
            "sentence": f"Training an RBF SVM on 2 cores is {times_faster('onedal-f32', 2):.1f}"
            " times as fast as with Intel's oneDAL in float32, and"
            f" {times_faster('onedal-f64', 2):.1f} times as fast as in float64 (geometric means"
            " over four data sets).",
            "record": OF_CORES,
            "command": "make bench-cores",
            "chosen_on": True,
        },
        "certificates": {
            "sentence": f"{n_wrong} of {n_campaigns:,} simulated campaigns at the boundary of their"
            " target were ever wrong, although an adversary stops as soon as a certificate is"
            " false; 10% are allowed.",
            "record": OF_VIOLATIONS,
            "command": "python -m studies.certify violations",
            "chosen_on": False,
        },
        "papers": {
            "sentence": f"The tables of four papers were run again: {reproduced:,} values are"
            f" reproduced, {close} are close, and {different} differ.",
            "record": OF_PAPERS,
            "command": "make reproduce",
            "chosen_on": False,
        },
    }


if __name__ == "__main__":
    found = headlines()
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    print(text)
    if "--write" in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
