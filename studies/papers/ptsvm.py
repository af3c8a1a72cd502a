"""PTSVM (Chen, Wang, Dong 2003): Tables 1 and 2, and runs of our notes without randomness.

The paper's ten labeled documents are not known, so Table 2 is run over random draws of five
documents per class and judged by the range of the results. "As printed" labels only one side when
the other has no candidate; "always a pair" then labels one extreme of this side positive and the
other negative, which fits the small rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studies.papers.published import ptsvm as published
from studies.papers.tasks import Line, Paper, Reference, Table, Task

N_TEST = 600
LINEAR: dict[str, Any] = {"kernel": "linear", "C": 1.0}
PAIR = LINEAR | {"one_sided": "pair"}
COSTS = (1.0, 10.0, 100.0)
SMALL = 200  # unlabeled documents that the quick run can afford
PICKED = "our own point set, chosen for this illustration: the paper's was never published"
SINGLE_DRAW = "the paper reports one draw of labeled documents; ours is a range over many"
COLLAPSE = "in rounds with candidates on one side only, one class absorbs the other in many draws"

# unlabeled + and -, method, parameters, kind of expectation, value, tolerance; documents in file
# order
DETERMINISTIC: tuple[tuple[int, int, str, dict[str, Any], str, float, float | None], ...] = (
    (0, 0, "supervised", LINEAR, "tolerance", 94, 1),
    (10, 10, "transductive", LINEAR, "tolerance", 150, 10),
    (20, 10, "transductive", LINEAR, "tolerance", 108, 10),
    (100, 100, "transductive", LINEAR, "tolerance", 78, 10),
    (50, 100, "transductive", LINEAR, "tolerance", 87, 10),
    (995, 500, "transductive", LINEAR, "tolerance", 58, 4),
    (500, 995, "transductive", LINEAR, "tolerance", 66, 4),
    (995, 995, "transductive", LINEAR, "tolerance", 18, 4),
    (10, 10, "progressive", LINEAR, "tolerance", 252, 10),
    (20, 10, "progressive", LINEAR, "tolerance", 91, 10),
    (100, 100, "progressive", LINEAR, "tolerance", 60, 10),
    (50, 100, "progressive", LINEAR, "tolerance", 135, 10),
    (995, 500, "progressive", LINEAR, "tolerance", 40, 10),
    (995, 995, "progressive", LINEAR, "tolerance", 21, 8),
    (500, 995, "progressive", LINEAR, "above", 150, None),
    (20, 10, "progressive", PAIR, "tolerance", 91, 10),
    (100, 100, "progressive", PAIR, "tolerance", 64, 10),
    (995, 995, "progressive", PAIR, "tolerance", 19, 8),
)
# the 600 test documents as unlabeled ones: SVMlight's own example
EXAMPLE: tuple[tuple[str, dict[str, Any], str, float, float | None], ...] = (
    ("transductive", LINEAR, "tolerance", 24, 4),
    ("transductive", LINEAR | {"algorithm": "anneal"}, "tolerance", 21, 4),
    ("progressive", LINEAR, "above", 150, None),
    ("progressive", PAIR, "tolerance", 25, 8),
)
RANDOM_MEDIANS = ((1000, 500, 42, 6), (1000, 1000, 21, 6))


def paper() -> Paper:
    """Return the paper with its tables."""
    return Paper(
        "ptsvm",
        "Chen, Wang, Dong (2003), Learning with progressive transductive support vector machine, "
        "Journal of Software 14(3), in Chinese",
        (table_1(), table_2(), deterministic()),
        holds=(
            (
                "With a wrong share of positives, TSVM makes errors: on the Tutorial set the four"
                " rows that this share forces it to get wrong. PTSVM, which takes no share, labels"
                " them correctly."
            ),
            "On 1000 + 500 unlabeled documents PTSVM makes fewer errors than TSVM in most draws.",
            (
                "The weaknesses that the paper lists itself: retraining is slow, early mistakes"
                " spread."
            ),
        ),
        fails=(
            (
                "PTSVM is unstable: at least 150 errors of 600 in 25 to 80% of random draws, in six"
                " of seven rows. Compared with the rule as printed, TSVM has the lower median in"
                " six of seven rows."
            ),
            (
                "The printed rule does not give the published errors on the small rows (10/10,"
                " 20/10, 50/100). Labeling a pair even when all candidates are on one side does,"
                " but then 1000/500 differs."
            ),
            "Labels are practically never reset when both kinds of rows have the same cost.",
        ),
        silent=(
            (
                "Which ten documents were labeled (not those of SVMlight's example: these give 94"
                " errors, not 165), which were unlabeled, C and the cost of unlabeled rows (equal"
                " costs between 1 and 10 fit)."
            ),
            (
                "What happens in the experiments, as opposed to the text, when one side has no"
                " candidate."
            ),
            (
                "The points of the Tutorial set. Ours was chosen from 3000 seeds to show the"
                " effect, and is no evidence; on average over such sets PTSVM is no better than the"
                " plain inductive SVM."
            ),
        ),
    )


def table_1() -> Table:
    """Return Table 1 on a point set of ours; TSVM's test errors may differ by two, everything
    else is exact.
    """
    lines = []
    for row in published.tutorial():
        method = {"TSVM": "transductive", "PTSVM": "progressive"}[row.method]
        for C in COSTS:
            task = Task("tutorial", method, {}, {"kernel": "linear", "C": C}, seeded=False)
            exact = Reference(row.unlabeled_errors, 0, "tolerance", "Table 1")
            test = Reference(row.errors, 2 if row.method == "TSVM" else 0, "tolerance", "Table 1")
            spent = Reference(row.seconds, kind="shown", source="Table 1")
            for measure, reference in (
                ("unlabeled_errors", exact),
                ("errors", test),
                ("seconds", spent),
            ):
                judged = reference.kind != "shown"
                setting = f"Tutorial, C={C:g}"
                line = Line(
                    "table-1",
                    setting,
                    row.method,
                    measure,
                    task,
                    reference,
                    note=PICKED,
                    quick=judged,
                )
                lines.append(line)
    return Table(
        "table-1", "Tutorial: 20 unlabeled and 100 test points in two dimensions", tuple(lines)
    )


def table_2() -> Table:
    """Return Table 2 over random draws."""
    lines = [line for row in published.reuters() for line in _reuters_lines(row)]
    lines += _claims()
    return Table(
        "table-2", "Reuters: errors on 600 test documents, over random draws", tuple(lines), 20, 10
    )


def _reuters_lines(row: published.Reuters) -> Iterator[Line]:
    setting = f"{row.positive}/{row.negative} unlabeled"
    how = {"draw": "random", "positive": row.positive, "negative": row.negative}
    ways = {
        "TSVM": [("transductive", LINEAR, "")],
        "PTSVM": [("progressive", LINEAR, "as printed"), ("progressive", PAIR, "always a pair")],
    }
    for method, params, mark in ways[row.method]:
        task = Task("reuters", method, how, params)
        small = row.positive + row.negative <= SMALL
        note = COLLAPSE if mark else SINGLE_DRAW
        steady = _is_steady(method, row.positive + row.negative)
        for measure, reference in _references(row):
            quick = small and measure == "errors"
            more: dict[str, Any] = {"quick": quick, "steady": steady}
            yield Line(
                "table-2",
                setting,
                row.method,
                measure,
                task,
                reference,
                mark=mark,
                note=note,
                **more,
            )
        yield Line("table-2", setting, row.method, "collapsed", task, mark=mark)


def _is_steady(method: str, n_unlabeled: int) -> bool:
    """Return false for PTSVM: it labels one extreme pair per round, so rounding that swaps two
    rows changes it.
    """
    return method != "progressive" or n_unlabeled == 0


def _references(row: published.Reuters) -> tuple[tuple[str, Reference], ...]:
    return (
        ("errors", Reference(row.errors, kind="draw", source="Table 2", scale=N_TEST)),
        ("precision", Reference(row.precision, kind="draw", source="Table 2")),
        ("recall", Reference(row.recall, kind="draw", source="Table 2")),
        ("support", Reference(row.support, kind="shown", source="Table 2")),
        ("seconds", Reference(row.seconds, kind="shown", source="Table 2, hardware of 2001")),
    )


def _claims() -> list[Line]:
    """Return the claim that PTSVM makes fewer errors than TSVM if the unlabeled classes are of
    unequal size.
    """
    claim = Reference(0.0, kind="above", source="section 4.2")
    lines = []
    for positive, negative in ((20, 10), (50, 100), (1000, 500), (500, 1000)):
        how = {"draw": "random", "positive": positive, "negative": negative}
        tasks = [Task("reuters", method, how, LINEAR) for method in ("transductive", "progressive")]
        setting = f"{positive}/{negative} unlabeled"
        label = "TSVM minus PTSVM as printed"
        line = Line(
            "table-2", setting, label, "errors", tasks[0], claim, against=tasks[1], note=COLLAPSE
        )
        lines.append(line)
    return lines


def deterministic() -> Table:
    """Return the runs on SVMlight's ten labeled documents, and the medians that our notes expect
    of random draws.
    """
    lines = []
    for positive, negative, method, params, kind, value, tolerance in DETERMINISTIC:
        how = {"draw": "file", "positive": positive, "negative": negative}
        setting = f"{positive}/{negative} unlabeled, file order"
        quick = positive + negative <= SMALL
        lines.append(_expected(setting, how, method, params, kind, value, tolerance, quick))
    for method, params, kind, value, tolerance in EXAMPLE:
        setting = "SVMlight's example, 600 unlabeled"
        lines.append(
            _expected(setting, {"draw": "example"}, method, params, kind, value, tolerance, True)
        )
    for positive, negative, value, tolerance in RANDOM_MEDIANS:
        how = {"draw": "random", "positive": positive, "negative": negative}
        task = Task("reuters", "progressive", how, LINEAR)
        reference = Reference(value, tolerance, "median", "our notes", N_TEST)
        setting = f"{positive}/{negative} unlabeled, random draws"
        lines.append(Line("deterministic", setting, "PTSVM", "errors", task, reference))
    title = "Reuters without randomness, and medians over draws (ours, not the paper's)"
    return Table("deterministic", title, tuple(lines), 20, 1)


def _expected(
    setting: str,
    how: dict[str, Any],
    method: str,
    params: dict[str, Any],
    kind: Any,
    value: float,
    tolerance: float | None,
    quick: bool,
) -> Line:
    label = {"supervised": "SVM", "transductive": "TSVM", "progressive": "PTSVM"}[method]
    mark = "always a pair" if "one_sided" in params else params.get("algorithm", "")
    note = "expected to collapse: more than 150 errors" if kind == "above" else ""
    task = Task("reuters", method, how, params, seeded=False)
    reference = Reference(value, tolerance, kind, "our notes", N_TEST)
    steady = _is_steady(method, SMALL)
    return Line(
        "deterministic",
        setting,
        label,
        "errors",
        task,
        reference,
        mark=mark,
        note=note,
        quick=quick,
        steady=steady,
    )
