"""PSVM (Wen, Zhang, Ramamohanarao 2014): Tables 3 to 9 and Figures 6 and 7, by both readings of its
rule, beside a column that the paper does not have: the supervised SVM with a chosen threshold.

Where the paper does not say: the adjusting step takes the threshold with the best F1 ("best F1"),
which reproduces every set; its own rule, in its literal reading, raises the smaller of precision
and recall to the larger ("literal rule"). Lines by the literal rule are not steady: a threshold that
overshoots changes other soft labels, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studies.papers.lines import Line, Paper, Reference, Table, Task, read_table

# asked for | precision, recall, F1 on Adult; means of 20 runs
TABLE_3_AND_4 = """
precision 0.55 | 0.549 0.736 0.628
precision 0.60 | 0.633 0.503 0.558
precision 0.65 | 0.666 0.391 0.491
precision 0.70 | 0.672 0.370 0.475
recall    0.5  | 0.603 0.572 0.587
recall    0.6  | 0.573 0.675 0.619
recall    0.7  | 0.552 0.734 0.630
recall    0.8  | 0.535 0.770 0.630
"""
# set: C, gamma (Table 2) | PSVM and its spread, TSVM, SSVM (Table 5) | iterations of PSVM, of TSVM
# (Table 6) | part, full (Table 7) | grow, rebuild (Table 8) | part and full, not adjusted (Table 9)
TABLES = """
adult   | 100 0.5   | 0.63 0.015 0.61 0.51 |  37976 151018 | 0.63 0.61 | 0.63 0.63 | 0.51 0.51
ijcnn1  |  10 0.125 | 0.75 0.01  0.76 0.65 |  20913 278098 | 0.75 0.79 | 0.75 0.74 | 0.68 0.66
mnist   |  10 0.125 | 0.94 0.01  0.93 0.84 | 224368 652377 | 0.94 0.84 | 0.94 0.94 | 0.78 0.83
protein |  10 0.25  | 0.51 0.02  0.51 0.24 |  83262 190096 | 0.51 0.24 | 0.51 0.50 | 0.25 0.24
"""
# What a correct implementation gives: means of four seeds, measured with a prototype (ours).
# variant | F1 on adult, ijcnn1, mnist, protein
EXPECTED = """
supervised         | 0.517 0.665 0.838 0.181
thresholded        | 0.632 0.792 0.952 0.532
part-grow-best     | 0.628 0.761 0.949 0.508
part-grow-paper    | 0.632 0.682 0.944 0.442
part-rebuild-best  | 0.628 0.761 0.949 0.509
part-rebuild-paper | 0.626 0.749 0.944 0.502
full-grow-best     | 0.458 0.796 0.838 0.181
full-grow-paper    | 0.598 0.757 0.838 0.181
part-grow-None     | 0.460 0.553 0.783 0.057
full-grow-None     | 0.517 0.665 0.838 0.181
"""
EXPECTED_PREFERENCES = """
precision 0.55 | 0.568 0.686 0.619
precision 0.60 | 0.611 0.459 0.523
precision 0.65 | 0.648 0.381 0.480
precision 0.70 | 0.671 0.340 0.450
recall    0.5  | 0.581 0.629 0.604
recall    0.6  | 0.560 0.706 0.624
recall    0.7  | 0.534 0.774 0.631
recall    0.8  | 0.496 0.824 0.618
"""
PUBLISHED = {name: [float(word) for word in words] for name, *words in read_table(TABLES)}
SETS = tuple(PUBLISHED)
MEASURES = ("precision", "recall", "f1")
BEST, LITERAL, NOT_ADJUSTED = "best F1", "literal rule", "no adjusting"
RULES = {BEST: "best", LITERAL: "paper", NOT_ADJUSTED: None}
SEEDS, TSVM_SEEDS, FIGURE_SEEDS, QUICK_SEEDS, QUICK_SET = 10, 4, 4, 3, "ijcnn1"
FEWER = {"adult": 4, "mnist": 4}  # where a fit takes ten seconds, or a minute and gigabytes
MNIST_FIGURE_SEEDS = 2
SHARES, MNIST_SHARES = (0.05, 0.075, 0.10, 0.125, 0.15), (0.05, 0.10, 0.15)
SAID_SECONDS = {("mnist", "PSVM"): 8 * 60.0, ("mnist", "TSVM"): 20 * 3600.0}  # section 5.3
# on MNIST: minutes per fit, for no table of the paper
NOT_ON_MNIST = ("part-rebuild-paper", "full-grow-paper")

PROTEIN = (
    "of the three classes, class 1 is nearest to the published value (0.18 over seeds; class 2"
    " gives 0.45, class 0 0.62); 1,084 of the 17,766 rows have lost their label in our copy"
)
OVERSHOOTS = (
    "the literal rule overshoots where precision and recall are far apart; the best F1 does not"
)
FLATTERED = (
    "the threshold is chosen on the rows that the SVM was trained on, so the result depends on the"
    " rule: both readings were tried, and neither fits all four sets"
)
AT_ZERO = (
    "there is no rule to vary: threshold 0, all unlabeled rows labeled at once, as the paper says;"
    " an independent prototype is as far below the published values or further"
)
STEEP = (
    "a small change of the threshold changes precision and recall a lot here; the means of an"
    " independent prototype differ from the paper's in the same direction"
)
THE_THRESHOLDS = (
    "the gain over SSVM comes from the threshold: the supervised SVM of all labels, with its"
    " threshold chosen by cross-fitting and without unlabeled rows, has it too"
)
FOUR_SEEDS = "the expectation is itself a mean of four seeds, and this variant varies between seeds"
FIRST_KEPT = (
    "of two rounds the answer is the one with the better F1 on the calibration rows, on Protein"
    " always the first; the prototype's value is near that of the second"
)
TSVM_NOTE = "TSVM fixes the fraction of positives among the unlabeled rows to that of the labels"
THRESHOLDED = "SSVM, cross-fitted threshold"
# table: title, and where its two columns are; each with what it changes and the note
VARIANTS: dict[int, tuple[str, int, tuple[tuple[str, dict[str, Any], str], ...]]] = {
    7: (
        "Half or all of the labels for calibration",
        8,
        (("PSVM-part", {}, OVERSHOOTS), ("PSVM-full", {"calibration": "full"}, FLATTERED)),
    ),
    8: (
        "Soft labels grown or rebuilt",
        10,
        (("PSVM-inc", {}, OVERSHOOTS), ("PSVM-rec", {"pool": "rebuild"}, OVERSHOOTS)),
    ),
    9: (
        "No adjusting",
        12,
        (
            ("PSVM-part-NA", {"adjust": None}, AT_ZERO),
            ("PSVM-full-NA", {"adjust": None, "calibration": "full"}, AT_ZERO),
        ),
    ),
}


def paper() -> Paper:
    """Return the paper with its tables."""
    return Paper(
        "psvm",
        "Wen, Zhang, Ramamohanarao (2014), Enabling precision/recall preferences for"
        " semi-supervised SVM training, CIKM",
        (
            Table("table-3", "Adult, a preferred precision", tuple(_preferences(3)), 4),
            Table("table-4", "Adult, a preferred recall", tuple(_preferences(4)), 4),
            Table(
                "table-5", "F1 with a tenth of the labels", tuple(_table_5()), SEEDS, QUICK_SEEDS
            ),
            Table("table-6", "Steps of the solver", tuple(_table_6()), SEEDS),
            *(
                Table(f"table-{k}", VARIANTS[k][0], tuple(_variants(k)), SEEDS, QUICK_SEEDS)
                for k in VARIANTS
            ),
            Table("figure-6", "Seconds per fit", tuple(_figure_6()), SEEDS),
            Table("figure-7", "The gain over SSVM", tuple(_figure_7()), FIGURE_SEEDS),
            Table(
                "expected",
                "The same cells and the means of our prototype",
                (*_expected_variants(), *_expected_preferences()),
                SEEDS,
                QUICK_SEEDS,
            ),
        ),
        holds=(
            "Table 5: PSVM is far above the supervised SVM at threshold 0 on all four sets, and"
            " about as good as TSVM, if the adjusting step takes the threshold with the best F1.",
            "Tables 3 and 4: precision or recall follows the preference, within what Adult allows.",
            "Growing and rebuilding soft labels give the same result (Table 8); adjusting is what"
            " matters (Table 9).",
        ),
        fails=(
            "That the unlabeled rows cause the gain. The supervised SVM of all labels, with its"
            " threshold chosen by five-fold cross-fitting, is as good as PSVM or better.",
            "The adjusting rule in its literal reading, on IJCNN1 and Protein.",
            "Table 9 on three sets: without adjusting ours is worse than published.",
            "Three orders of magnitude over TSVM (Figure 6): they come from the GPU and from"
            " SVMlight. On one core, with one solver, PSVM is faster by a small factor.",
        ),
        silent=(
            "Which class is positive (odd digits of MNIST, class 1 of Protein fit).",
            "Of which rows 10% are labeled.",
            "How the threshold moves once the preference is met: best F1 reproduces the tables.",
            "What happens when both a precision and a recall are required.",
        ),
    )


def task(name: str, method: str, labeled: float = 0.1, **more: Any) -> Task:
    """Return a task on one of the four sets: a tenth to test on, a fraction labeled."""
    C, gamma = PUBLISHED[name][:2]
    params = {"kernel": "rbf", "C": C, "gamma": gamma} | more
    return Task(name, method, {"labeled": labeled, "test": 0.1}, params)


def psvm(name: str, rule: str = BEST, labeled: float = 0.1, **more: Any) -> Task:
    """Return PSVM as the paper recommends it, except for `more`."""
    how = {"calibration": "part", "pool": "grow", "adjust": RULES[rule]} | more
    return task(name, "preference", labeled, **how)


def _tsvm(table: str, name: str, measure: str, theirs: Reference | None) -> Line:
    cell = task(name, "transductive")
    return Line(table, name, "TSVM", measure, cell, theirs, note=TSVM_NOTE, seeds=TSVM_SEEDS)


def _preferring(asked: str, level: str) -> Task:
    return psvm("adult", LITERAL, **{f"min_{asked}": float(level)})


def _preferences(number: int) -> Iterator[Line]:
    for asked, level, *values in read_table(TABLE_3_AND_4):
        if asked != {3: "precision", 4: "recall"}[number]:
            continue
        for measure, value in zip(MEASURES, values, strict=True):
            yield Line(
                f"table-{number}",
                f"{asked} {level} asked for",
                "PSVM",
                measure,
                _preferring(asked, level),
                Reference(float(value)),
                mark=LITERAL,
                note=STEEP,
                quick=(number, level) == (3, "0.55"),
                steady=False,
            )


def _by_both_rules(
    table: str, name: str, label: str, changed: dict[str, Any], theirs: Reference, note: str
) -> Iterator[Line]:
    """Only one reading is run without adjusting, and of MNIST's slow variants."""
    is_one = "adjust" in changed or (name == "mnist" and bool(changed))
    for rule in (BEST,) if is_one else (BEST, LITERAL):
        yield Line(
            table,
            name,
            label,
            "f1",
            psvm(name, rule, **changed),
            theirs,
            mark="" if "adjust" in changed else rule,
            note=note,
            quick=name == QUICK_SET,
            seeds=FEWER.get(name),
        )


def _table_5() -> Iterator[Line]:
    claim = Reference(0.0, kind="above")
    for name in SETS:
        ours, spread, tsvm, ssvm = PUBLISHED[name][2:6]
        more: dict[str, Any] = {"quick": name == QUICK_SET, "seeds": FEWER.get(name)}
        yield from _by_both_rules("table-5", name, "PSVM", {}, Reference(ours, spread), OVERSHOOTS)
        yield _tsvm("table-5", name, "f1", Reference(tsvm))
        supervised, thresholded = task(name, "supervised"), task(name, "thresholded")
        note = PROTEIN if name == "protein" else ""
        yield Line("table-5", name, "SSVM", "f1", supervised, Reference(ssvm), note=note, **more)
        beside = "for comparison"
        yield Line("table-5", name, THRESHOLDED, "f1", thresholded, mark=beside, **more)
        label = "PSVM minus SSVM with a cross-fitted threshold"
        how: dict[str, Any] = {"against": thresholded, "note": THE_THRESHOLDS, **more}
        yield Line("table-5", name, label, "f1", psvm(name), claim, **how)


def _table_6() -> Iterator[Line]:
    for name in SETS:
        ours, tsvm = (Reference(steps, kind="shown") for steps in PUBLISHED[name][6:8])
        more: dict[str, Any] = {"mark": BEST, "seeds": FEWER.get(name)}
        yield Line("table-6", name, "PSVM", "steps", psvm(name), ours, **more)
        yield Line("table-6", name, "PSVM", "rounds", psvm(name), **more)
        yield _tsvm("table-6", name, "steps", tsvm)


def _variants(number: int) -> Iterator[Line]:
    _, first, columns = VARIANTS[number]
    for name in SETS:
        for at, (label, changed, note) in enumerate(columns):
            theirs = Reference(PUBLISHED[name][first + at])
            yield from _by_both_rules(f"table-{number}", name, label, changed, theirs, note)


def _figure_6() -> Iterator[Line]:
    for name in SETS:
        ours, tsvm = (
            Reference(SAID_SECONDS[name, method], kind="shown")
            if (name, method) in SAID_SECONDS
            else None
            for method in ("PSVM", "TSVM")
        )
        more: dict[str, Any] = {"mark": BEST, "seeds": FEWER.get(name)}
        yield Line("figure-6", name, "PSVM", "seconds", psvm(name), ours, **more)
        yield _tsvm("figure-6", name, "seconds", tsvm)


def _figure_7() -> Iterator[Line]:
    for name in SETS:
        seeds = MNIST_FIGURE_SEEDS if name == "mnist" else FEWER.get(name)
        for share in MNIST_SHARES if name == "mnist" else SHARES:
            supervised = task(name, "supervised", share)
            setting, cell = f"{100 * share:g}% labeled", psvm(name, labeled=share)
            yield Line("figure-7", setting, name, "f1", cell, against=supervised, seeds=seeds)


def _expected_variants() -> Iterator[Line]:
    names = {parameter: rule for rule, parameter in RULES.items()}
    for variant, *values in read_table(EXPECTED):
        for name, value in zip(SETS, values, strict=True):
            if name == "mnist" and variant in NOT_ON_MNIST:
                continue
            label, mark = {"supervised": "SSVM", "thresholded": THRESHOLDED}.get(variant, ""), ""
            if label:
                cell = task(name, variant)
            else:
                calibration, pool, rule = variant.split("-")
                label, mark = (
                    f"PSVM, {calibration}, {pool}",
                    names[None if rule == "None" else rule],
                )
                cell = psvm(name, mark, calibration=calibration, pool=pool)
            yield Line(
                "expected",
                name,
                label,
                "f1",
                cell,
                Reference(float(value), 0.02, "tolerance"),
                mark=mark,
                note=FIRST_KEPT if mark == NOT_ADJUSTED else FOUR_SEEDS,
                quick=name == QUICK_SET,
                steady=mark != LITERAL,
                seeds=FEWER.get(name),
            )


def _expected_preferences() -> Iterator[Line]:
    for asked, level, *values in read_table(EXPECTED_PREFERENCES):
        for measure, value in zip(MEASURES, values, strict=True):
            theirs = Reference(float(value), 0.02, "tolerance")
            setting = f"adult, {asked} {level} asked for"
            how: dict[str, Any] = {"mark": LITERAL, "note": FOUR_SEEDS, "seeds": FEWER["adult"]}
            cell = _preferring(asked, level)
            yield Line("expected", setting, "PSVM", measure, cell, theirs, **how)
