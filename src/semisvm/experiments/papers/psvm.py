"""PSVM: the published values, and the supervised column. The rest waits for PreferenceSVC."""

from __future__ import annotations

from typing import Any

from semisvm.experiments.methods import missing
from semisvm.experiments.published import psvm as published
from semisvm.experiments.tasks import Line, Paper, Reference, Table, Task

SPLIT = {"labeled": 0.1, "test": 0.1}
PROTEIN = (
    "class 1 is the nearest of the three to the published value (0.18 over seeds; class 2 gives 0.45, class 0 0.62); "
    "1,084 of the 17,766 rows have lost their label in the copy there is and serve as unlabelled ones"
)
NOT_YET = "this table is not wired up yet"


def paper() -> Paper:
    """Return the paper; of Table 5 the supervised column runs, all else says why it can't."""
    return Paper(
        "psvm",
        "PSVM: semi-supervised support vector machines with precision and recall preferences",
        (*_preferences(), _table_5(), _table_6(), *_variants()),
        holds=("The supervised column of Table 5, with the parameters of Table 2.",),
        silent=(
            "Which class is positive (odd digits of MNIST, class 1 of Protein fit).",
            "That a supervised machine with a cross-fitted threshold, and no unlabelled row, is as good.",
        ),
    )


def _waiting() -> str:
    return missing("preference") or NOT_YET


def _line(table: str, setting: str, method: str, measure: str, reference: Reference) -> Line:
    quick = (table, setting) == ("table-5", "adult")
    return Line(table, setting, method, measure, None, reference, why=_waiting(), quick=quick)


def _preferences() -> list[Table]:
    tables = []
    for number, asked, text in ((3, "precision", published.TABLE_3), (4, "recall", published.TABLE_4)):
        name = f"table-{number}"
        lines = [
            _line(name, f"{asked} {level} asked for", "PSVM", measure, Reference(value, source=f"Table {number}"))
            for level, values in published.numbers(text).items()
            for measure, value in zip(("precision", "recall", "f1"), values, strict=True)
        ]
        tables.append(Table(name, f"Adult with a preferred {asked}", tuple(lines), 20))
    return tables


def _table_5() -> Table:
    lines = []
    for name, (psvm, spread, tsvm, ssvm) in published.numbers(published.TABLE_5).items():
        lines.append(_line("table-5", name, "PSVM", "f1", Reference(psvm, spread, source="Table 5")))
        lines.append(_line("table-5", name, "TSVM", "f1", Reference(tsvm, source="Table 5")))
        task = Task(name, "supervised", SPLIT, _kernel(name))
        reference = Reference(ssvm, source="Table 5")
        note = PROTEIN if name == "protein" else ""
        lines.append(Line("table-5", name, "SSVM", "f1", task, reference, note=note, quick=name == "adult"))
    return Table("table-5", "F1 with a tenth of the labels", tuple(lines), 4, 1)


def _kernel(name: str) -> dict[str, Any]:
    C, gamma = published.PARAMS[name]
    return {"kernel": "rbf", "C": C, "gamma": gamma}


def _table_6() -> Table:
    lines = []
    for name, values in published.numbers(published.TABLE_6).items():
        for method, value in zip(("PSVM", "TSVM"), values, strict=True):
            reference = Reference(value, kind="shown", source="Table 6")
            lines.append(_line("table-6", name, method, "steps", reference))
    return Table("table-6", "Steps of the solver in the whole training", tuple(lines), 20)


def _variants() -> list[Table]:
    titles = {7: "Half or all of the labels for calibration", 8: "Soft labels grown or rebuilt", 9: "No adjusting"}
    columns = {
        7: ("PSVM-part", "PSVM-full"),
        8: ("PSVM-inc", "PSVM-rec"),
        9: ("PSVM-part-NA", "PSVM-full-NA"),
    }
    rows = published.numbers(published.TABLES_7_TO_9)
    tables = []
    for at, number in enumerate(titles):
        name = f"table-{number}"
        lines = [
            _line(name, data, method, "f1", Reference(value, source=f"Table {number}"))
            for data, values in rows.items()
            for method, value in zip(columns[number], values[2 * at : 2 * at + 2], strict=True)
        ]
        tables.append(Table(name, titles[number], tuple(lines), 20))
    return tables
