"""Tables 3 to 9 of PSVM: each published number and ours, and a column that the paper does not
have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studies.papers.psvm.settings import (
    BEST,
    FEWER,
    LITERAL,
    QUICK_SEEDS,
    QUICK_SET,
    SEEDS,
    SETS,
    psvm,
    seeds,
    task,
    tsvm_line,
)
from studies.papers.published import psvm as published
from studies.papers.tasks import Line, Reference, Table, Task

PROTEIN = (
    "of the three classes, class 1 is nearest to the published value (0.18 over seeds; class 2"
    " gives 0.45, class 0 0.62); 1,084 of the 17,766 rows have lost their label in the available"
    " copy and serve as unlabeled ones"
)
# lines by the literal rule are not steady: a threshold that overshoots changes other soft labels,
# round by round
OVERSHOOTS = (
    "the literal rule overshoots where precision and recall are far apart; the best F1 does not"
)
FLATTERED = (
    "the threshold is chosen on the rows that the SVM was trained on, so the result depends on the"
    " rule: both readings were tried, and neither fits all four sets"
)
AT_ZERO = (
    "there is no rule to vary: threshold 0, all unlabeled rows labeled at once, as the paper says;"
    " an independent prototype is as far below the published values or further (see the table of"
    " expectations)"
)
STEEP = (
    "a small change of the threshold changes precision and recall a lot here; the means of an"
    " independent prototype, in the table of expectations, differ from the paper's in the same"
    " direction"
)
THE_THRESHOLDS = (
    "the gain over SSVM in Table 5 comes from the threshold: the supervised SVM of all labels, with"
    " its threshold chosen by cross-fitting and without unlabeled rows, has it too"
)
THRESHOLDED = "SSVM, cross-fitted threshold"
MEASURES = ("precision", "recall", "f1")
# table: title, its two columns with what they change and the note
VARIANTS: dict[int, tuple[str, tuple[tuple[str, dict[str, Any], str], ...]]] = {
    7: (
        "Half or all of the labels for calibration",
        (("PSVM-part", {}, OVERSHOOTS), ("PSVM-full", {"calibration": "full"}, FLATTERED)),
    ),
    8: (
        "Soft labels grown or rebuilt",
        (("PSVM-inc", {}, OVERSHOOTS), ("PSVM-rec", {"pool": "rebuild"}, OVERSHOOTS)),
    ),
    9: (
        "No adjusting",
        (
            ("PSVM-part-NA", {"adjust": None}, AT_ZERO),
            ("PSVM-full-NA", {"adjust": None, "calibration": "full"}, AT_ZERO),
        ),
    ),
}


def preferences() -> list[Table]:
    """Return Tables 3 and 4: Adult with a required precision or recall, by the literal rule."""
    tables = []
    for number, asked, text in (
        (3, "precision", published.TABLE_3),
        (4, "recall", published.TABLE_4),
    ):
        name = f"table-{number}"
        lines = [
            Line(
                name,
                f"{asked} {level} asked for",
                "PSVM",
                measure,
                preferring(asked, float(level)),
                Reference(value, source=f"Table {number}"),
                mark=LITERAL,
                note=STEEP,
                quick=(number, level) == (3, "0.55"),
                steady=False,
            )
            for level, values in published.numbers(text).items()
            for measure, value in zip(MEASURES, values, strict=True)
        ]
        tables.append(Table(name, f"Adult with a preferred {asked}", tuple(lines), FEWER["adult"]))
    return tables


def preferring(asked: str, level: float) -> Task:
    """Return PSVM on Adult with a target, by the literal rule."""
    return psvm("adult", LITERAL, **{f"min_{asked}": level})


def table_5() -> Table:
    """Return Table 5, with both readings of the rule, and the supervised SVM with a threshold."""
    lines: list[Line] = []
    for name, (value, spread, tsvm, ssvm) in published.numbers(published.TABLE_5).items():
        theirs = Reference(value, spread, source="Table 5")
        lines += _by_both_rules("table-5", name, "PSVM", {}, theirs, OVERSHOOTS)
        lines.append(tsvm_line("table-5", name, "f1", Reference(tsvm, source="Table 5")))
        supervised = task(name, "supervised")
        thresholded = task(name, "thresholded")
        reference = Reference(ssvm, source="Table 5")
        note = PROTEIN if name == "protein" else ""
        more: dict[str, Any] = {"quick": name == QUICK_SET, "seeds": seeds(name)}
        lines.append(Line("table-5", name, "SSVM", "f1", supervised, reference, note=note, **more))
        lines.append(
            Line("table-5", name, THRESHOLDED, "f1", thresholded, mark="for comparison", **more)
        )
        label = "PSVM minus SSVM with a cross-fitted threshold"
        claim = Reference(0.0, kind="above", source="section 5.2, the use of unlabeled rows")
        lines.append(
            Line(
                "table-5",
                name,
                label,
                "f1",
                psvm(name),
                claim,
                against=thresholded,
                note=THE_THRESHOLDS,
                **more,
            )
        )
    return Table("table-5", "F1 with a tenth of the labels", tuple(lines), SEEDS, QUICK_SEEDS)


def table_6() -> Table:
    """Return Table 6: steps of the solver; ours is another solver, so the numbers are shown and
    not judged.
    """
    lines: list[Line] = []
    for name, (theirs, tsvm) in published.numbers(published.TABLE_6).items():
        reference = Reference(theirs, kind="shown", source="Table 6")
        lines.append(
            Line(
                "table-6",
                name,
                "PSVM",
                "steps",
                psvm(name),
                reference,
                mark=BEST,
                seeds=seeds(name),
            )
        )
        rounds = Line("table-6", name, "PSVM", "rounds", psvm(name), mark=BEST, seeds=seeds(name))
        lines.append(rounds)
        lines.append(
            tsvm_line("table-6", name, "steps", Reference(tsvm, kind="shown", source="Table 6"))
        )
    return Table("table-6", "Steps of the solver in the whole training", tuple(lines), SEEDS)


def variants() -> list[Table]:
    """Return Tables 7, 8 and 9, each variant by both rules if a rule matters."""
    rows = published.numbers(published.TABLES_7_TO_9)
    tables = []
    for at, (number, (title, columns)) in enumerate(VARIANTS.items()):
        lines: list[Line] = []
        for name in SETS:
            for column, value in zip(columns, rows[name][2 * at : 2 * at + 2], strict=True):
                label, changed, note = column
                reference = Reference(value, source=f"Table {number}")
                lines += _by_both_rules(f"table-{number}", name, label, changed, reference, note)
        tables.append(Table(f"table-{number}", title, tuple(lines), SEEDS, QUICK_SEEDS))
    return tables


def rules(name: str, changed: dict[str, Any]) -> tuple[str, ...]:
    """Return the readings of the rule that are run: only one without adjusting and for MNIST's
    slow variants.
    """
    is_long = name == "mnist" and bool(changed)
    return (BEST,) if is_long or "adjust" in changed else (BEST, LITERAL)


def _by_both_rules(
    table: str, name: str, label: str, changed: dict[str, Any], reference: Reference, note: str
) -> Iterator[Line]:
    for rule in rules(name, changed):
        mark = "" if "adjust" in changed else rule
        cell = psvm(name, rule, **changed)
        yield Line(
            table,
            name,
            label,
            "f1",
            cell,
            reference,
            mark=mark,
            note=note,
            quick=name == QUICK_SET,
            seeds=seeds(name),
        )
