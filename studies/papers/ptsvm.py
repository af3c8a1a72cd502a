"""PTSVM (Chen, Wang, Dong 2003): Tables 1 and 2, and runs of our notes without randomness.

The paper's ten labeled documents are not known, so Table 2 is run over random draws of five
documents per class and judged by the range of the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studies.papers.lines import Line, Paper, Reference, Table, Task, read_table

# method | seconds | errors on the 20 unlabeled rows | test errors of 100
TABLE_1 = """
TSVM  | 0.67 | 4 | 15
PTSVM | 0.17 | 0 |  0
"""
# unlabeled positive, negative, method | seconds | support vectors | test errors of 600 | precision
# | recall (%); one draw, one run
TABLE_2 = """
   0    0 TSVM  |   0.01 |  10 | 165 | 64.64 | 99.33
   0    0 PTSVM |   0.01 |  10 | 165 | 64.64 | 99.33
  10   10 TSVM  |   0.77 |  30 | 125 | 71.19 | 98.00
  10   10 PTSVM |   0.30 |  30 |  91 | 77.43 | 98.33
  20   10 TSVM  |   0.82 |  39 |  91 | 90.98 | 77.33
  20   10 PTSVM |   0.35 |  39 |  79 | 89.35 | 83.00
 100  100 TSVM  |   5.17 | 181 |  43 | 89.78 | 96.67
 100  100 PTSVM |   3.62 | 184 |  46 | 87.57 | 98.67
  50  100 TSVM  |   4.19 | 146 | 109 | 73.46 | 99.67
  50  100 PTSVM |   2.40 | 140 |  93 | 76.61 | 99.33
1000  500 TSVM  |  58.87 | 768 |  54 | 97.67 | 84.00
1000  500 PTSVM | 167.60 | 805 |  41 | 97.44 | 88.67
 500 1000 TSVM  | 110.72 | 697 |  87 | 77.66 | 99.67
 500 1000 PTSVM | 175.48 | 770 |  80 | 80.22 | 97.33
1000 1000 TSVM  |  69.96 | 826 |  19 | 95.47 | 98.33
1000 1000 PTSVM | 303.05 | 894 |  36 | 90.74 | 98.00
"""
# What our notes expect: unlabeled + and -, method | kind, errors, tolerance; documents in file order
DETERMINISTIC = """
  0   0 SVM   | tolerance  94  1
 10  10 TSVM  | tolerance 150 10
 20  10 TSVM  | tolerance 108 10
100 100 TSVM  | tolerance  78 10
 50 100 TSVM  | tolerance  87 10
995 500 TSVM  | tolerance  58  4
500 995 TSVM  | tolerance  66  4
995 995 TSVM  | tolerance  18  4
 10  10 PTSVM | tolerance 252 10
 20  10 PTSVM | tolerance  91 10
100 100 PTSVM | tolerance  60 10
 50 100 PTSVM | tolerance 135 10
995 500 PTSVM | tolerance  40 10
995 995 PTSVM | tolerance  21  8
500 995 PTSVM | above     150  0
"""
EXAMPLE = (("TSVM", "tolerance", 24, 4), ("PTSVM", "above", 150, 0))  # the test's own documents
RANDOM_MEDIANS = ((1000, 500, 42, 6), (1000, 1000, 21, 6))

METHODS = {"SVM": "supervised", "TSVM": "transductive", "PTSVM": "progressive"}
LINEAR: dict[str, Any] = {"kernel": "linear", "C": 1.0}
N_TEST = 600
SMALL = 200  # unlabeled documents that the quick run can afford
PICKED = "our own point set, chosen for this illustration: the paper's was never published"
SINGLE_DRAW = "the paper reports one draw of labeled documents; ours is a range over many"
COLLAPSE = "in rounds with candidates on one side only, one class absorbs the other in many draws"
AS_PRINTED = "as printed"


def paper() -> Paper:
    """Return the paper with its tables."""
    return Paper(
        "ptsvm",
        "Chen, Wang, Dong (2003), Learning with progressive transductive support vector machine, "
        "Journal of Software 14(3), in Chinese",
        (
            Table("table-1", "Tutorial: 20 unlabeled and 100 test points", tuple(_tutorial())),
            Table("table-2", "Reuters, over random draws", (*_reuters(), *_claims()), 20, 10),
            Table("deterministic", "Reuters without randomness (ours)", tuple(_expected()), 20, 1),
        ),
        holds=(
            "With a wrong fraction of positives, TSVM makes errors: on the Tutorial set the four"
            " rows that this fraction forces it to get wrong. PTSVM, which takes no fraction,"
            " labels them correctly.",
            "On 1000 + 500 unlabeled documents PTSVM makes fewer errors than TSVM in most draws.",
            "The weaknesses that the paper lists itself: training again and again is slow, and"
            " early mistakes spread.",
        ),
        fails=(
            "PTSVM is unstable: at least 150 errors of 600 in 25 to 80% of random draws, in six of"
            " seven rows of Table 2. TSVM has the lower median in six of seven rows.",
            "The printed rule does not give the published errors on the small rows (10/10, 20/10,"
            " 50/100). Labeling a pair even when all candidates are on one side did, but then"
            " 1000/500 differed.",
            "Labels are practically never reset when both kinds of rows have the same cost.",
        ),
        silent=(
            "Which ten documents were labeled, which were unlabeled, C and the cost of unlabeled"
            " rows.",
            "What happens in the experiments when one side has no candidate.",
            "The points of the Tutorial set. Ours was chosen from 3000 seeds to show the effect,"
            " and is no evidence.",
        ),
    )


def _tutorial() -> Iterator[Line]:
    for method, seconds, unlabeled_errors, errors in read_table(TABLE_1):
        references = {
            "unlabeled_errors": Reference(float(unlabeled_errors), 0, "tolerance"),
            "errors": Reference(float(errors), 2 if method == "TSVM" else 0, "tolerance"),
            "seconds": Reference(float(seconds), kind="shown"),
        }
        for C in (1.0, 10.0, 100.0):
            linear = {"kernel": "linear", "C": C}
            task = Task("tutorial", METHODS[method], {}, linear, seeded=False)
            for measure, theirs in references.items():
                more: dict[str, Any] = {"note": PICKED, "quick": theirs.kind != "shown"}
                yield Line("table-1", f"Tutorial, C={C:g}", method, measure, task, theirs, **more)


def _reuters() -> Iterator[Line]:
    for row in read_table(TABLE_2):
        positive, negative, method = int(row[0]), int(row[1]), row[2]
        seconds, support, errors, precision, recall = map(float, row[3:])
        task = _random(positive, negative, METHODS[method])
        is_printed = method == "PTSVM"
        references = {
            "errors": Reference(errors, kind="draw", scale=N_TEST),
            "precision": Reference(precision / 100, kind="draw"),
            "recall": Reference(recall / 100, kind="draw"),
            "support": Reference(support, kind="shown"),
            "seconds": Reference(seconds, kind="shown"),
            "collapsed": None,
        }
        for measure, theirs in references.items():
            yield Line(
                "table-2",
                f"{positive}/{negative} unlabeled",
                method,
                measure,
                task,
                theirs,
                mark=AS_PRINTED if is_printed else "",
                note=COLLAPSE if is_printed else SINGLE_DRAW,
                quick=positive + negative <= SMALL and measure == "errors",
                # It labels one extreme pair per round: rounding that swaps two rows changes it.
                steady=not is_printed or positive + negative == 0,
            )


def _claims() -> Iterator[Line]:
    """PTSVM makes fewer errors than TSVM if the unlabeled classes are of unequal size."""
    claim = Reference(0.0, kind="above")
    for positive, negative in ((20, 10), (50, 100), (1000, 500), (500, 1000)):
        yield Line(
            "table-2",
            f"{positive}/{negative} unlabeled",
            "TSVM minus PTSVM as printed",
            "errors",
            _random(positive, negative, "transductive"),
            claim,
            against=_random(positive, negative, "progressive"),
            note=COLLAPSE,
        )


def _expected() -> Iterator[Line]:
    for positive, negative, method, kind, errors, tolerance in read_table(DETERMINISTIC):
        how = {"draw": "file", "positive": int(positive), "negative": int(negative)}
        setting = f"{positive}/{negative} unlabeled, file order"
        quick = how["positive"] + how["negative"] <= SMALL
        yield _sure(setting, how, method, kind, float(errors), float(tolerance), quick)
    for method, kind, errors, tolerance in EXAMPLE:
        setting = "SVMlight's example, 600 unlabeled"
        yield _sure(setting, {"draw": "example"}, method, kind, errors, tolerance, True)
    for positive, negative, errors, tolerance in RANDOM_MEDIANS:
        task = _random(positive, negative, "progressive")
        theirs = Reference(errors, tolerance, "median", N_TEST)
        setting = f"{positive}/{negative} unlabeled, random draws"
        yield Line("deterministic", setting, "PTSVM", "errors", task, theirs)


def _sure(
    setting: str,
    how: dict[str, Any],
    method: str,
    kind: Any,
    errors: float,
    tolerance: float,
    quick: bool,
) -> Line:
    task = Task("reuters", METHODS[method], how, LINEAR, seeded=False)
    theirs = Reference(errors, tolerance, kind, N_TEST)
    note = "expected to collapse: more than 150 errors" if kind == "above" else ""
    more: dict[str, Any] = {"note": note, "quick": quick, "steady": method != "PTSVM"}
    return Line("deterministic", setting, method, "errors", task, theirs, **more)


def _random(positive: int, negative: int, method: str) -> Task:
    how = {"draw": "random", "positive": positive, "negative": negative}
    return Task("reuters", method, how, LINEAR)
