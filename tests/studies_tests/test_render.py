"""The page, as a pure function of records made by hand."""

from studies.harness.compare import compare
from studies.harness.expectation import broken, read_expectation, store_expectation
from studies.harness.index import render_index
from studies.harness.records import Journal
from studies.harness.render import markdown_table, render
from studies.harness.tasks import Line, Paper, Reference, Table, Task
from studies.harness.wording import cells, number

TASK = Task("wdbc", "supervised", {"hidden": 0.9}, {"C": 1.0})
LINES = (
    Line("table-1", "WDBC", "SVM", "accuracy", TASK, Reference(0.90, 0.01, source="Table 1"), mark="as printed"),
    Line("table-1", "WDBC", "SVM", "auc", TASK, Reference(0.5), note="the paper drew one split"),
    Line("table-1", "WDBC", "SVM", "errors", TASK, Reference(57, kind="draw", scale=600)),
    Line("table-1", "WDBC", "PSVM", "f1", None, Reference(0.63), why="PreferenceSVC is not in this version"),
)
PAPER = Paper("tiny", "Nobody (1999)", (Table("table-1", "a | b", LINES),), holds=("It holds.",), silent=("C.",))


def records(*values):
    task = {"data": TASK.data, "split": TASK.split, "method": TASK.method, "params": TASK.params}
    return [
        {
            "task": task,
            "seed": seed,
            "outcome": "done",
            "seconds": 1.0,
            "date": "2026-01-02T00:00:00",
            "scores": {"accuracy": value, "auc": 0.98, "errors": 60.0},
            "curves": {"roc": [value] * 10},
            "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 4.0, "system": "Linux"},
            "versions": {"python": "3.12"},
            "commit": "abc",
            "source": "def",
        }
        for seed, value in enumerate(values)
    ]


def test_a_page_sets_ours_beside_theirs_with_counts_text_and_provenance():
    page = render(PAPER, records(0.90, 0.92))
    assert "| WDBC | SVM (as printed) | accuracy | 0.900 (0.010) | 0.910 (0.014) | 2 | +0.010 | reproduced |" in page
    assert "| WDBC | SVM | errors | 57 | 60 [60, 60] | 2 | +3 | reproduced |" in page
    assert "not runnable: PreferenceSVC is not in this version |" in page
    assert "| all | 2 | 1 | 1 |" in page
    assert "1 line differs (SVM): the paper drew one split." in page
    assert "What holds" in page
    assert "What does not" not in page
    assert "2 finished cells" in page
    assert "a processor, 2 cores" in page
    assert "| WDBC: SVM | 0.910 |" in page  # the mean curve


def test_a_page_without_records_says_so():
    page = render(PAPER, [])
    assert "pending" in page
    assert "No cell has run." in page


def test_a_figure_without_published_numbers_has_a_column_a_method():
    lines = tuple(Line("timing", "100 rows", name, "accuracy", TASK) for name in ("SVM", "proposed"))
    page = render(Paper("tiny", "Nobody", (Table("timing", "seconds", lines),)), records(0.9))
    assert "| accuracy | SVM | proposed |\n| --- | --- | --- |\n| 100 rows | 0.900 | 0.900 |" in page


def test_bars_inside_cells_do_not_break_a_table():
    assert markdown_table(["a|b"], [["c|d"]]) == "| a\\|b |\n| --- |\n| c\\|d |"


def test_numbers_read_as_their_measure_does():
    assert number(0.12345, "accuracy") == "0.123"
    assert number(60.0, "errors") == "60"
    assert number(60.25, "errors") == "60.2"
    assert number(0.00123456, "seconds") == "0.00123"
    (one,) = compare(LINES[:1], records(0.9))
    assert cells(one)[4] == "0.900"  # one seed has no spread


def test_a_verdict_that_held_and_no_longer_does_is_found(tmp_path):
    stored = tmp_path / "quick.json"
    good = compare(LINES[:3], records(0.90))
    store_expectation("tiny", good, stored)
    held = read_expectation(stored)["tiny"]
    assert set(held.values()) == {"reproduced"}
    assert len(held) == 2  # a line that differed is no expectation
    assert broken(good, held) == []
    worse = broken(compare(LINES[:3], records(0.87)), held)
    assert worse == [("table-1 | WDBC | SVM | as printed | accuracy", "reproduced", "close")]
    assert {now for _, _, now in broken(compare(LINES[:3], []), held)} == {"pending"}


def test_the_luck_of_a_printed_design_is_no_expectation(tmp_path):
    line = Line("t", "s", "m", "accuracy", TASK, Reference(0.9), mark="as printed", note="it can't give that")
    store_expectation("tiny", compare([line], records(0.9)), tmp_path / "quick.json")
    assert read_expectation(tmp_path / "quick.json") == {"tiny": {}}


def test_what_rounding_may_undo_is_shown_and_not_enforced(tmp_path):
    steady, chaotic, at_the_edge = (
        Line("t", "s", name, "accuracy", TASK, Reference(value), steady=name != "chaotic")
        for name, value in (("steady", 0.9), ("chaotic", 0.9), ("at the edge", 0.919))
    )
    comparisons = compare([steady, chaotic, at_the_edge], records(0.9))
    assert {c.verdict for c in comparisons} == {"reproduced"}
    store_expectation("tiny", comparisons, tmp_path / "quick.json")
    assert read_expectation(tmp_path / "quick.json") == {"tiny": {steady.name: "reproduced"}}


def test_the_front_page_has_a_row_for_each_paper_with_records(tmp_path):
    other = Paper("other", "Nobody", PAPER.tables)
    with Journal(tmp_path / "tiny.jsonl", {}) as journal:
        for record in records(0.90, 0.92):
            journal.append(record)
    page = render_index([PAPER, other], tmp_path)
    assert "| [tiny](tiny.md) | 2 | 0 | 1 | 0 | 1 | 0 | 2 | 0 |" in page
    assert "other" not in page


def test_a_table_may_tell_and_judge_what_is_made_from_many_cells():
    def derive(results, quick):
        return [] if quick else compare([LINES[0]], results)

    table = Table("summary", "all in all", (), derive=derive, tell=lambda results, quick: "" if quick else "Told.")
    page = render(Paper("tiny", "Nobody", (table,)), records(0.9))
    assert "## summary: all in all\n\nTold.\n\n| setting |" in page
    assert "summary" not in render(Paper("tiny", "Nobody", (table,)), records(0.9), quick=True)


def test_an_expectation_is_passed_over_where_the_data_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    line = Line("t", "s", "m", "accuracy", Task("tutorial", "supervised"), Reference(1.0))
    told = {"data": "tutorial", "split": {}, "method": "supervised", "params": {}}
    hindered = compare([line], [{"task": told, "seed": 0, "outcome": "not runnable", "why": "no data"}])
    assert broken(hindered, {line.name: "reproduced"}) == []
    (tmp_path / "ptsvm").mkdir()
    (tmp_path / "ptsvm" / "tutorial.csv").touch()
    assert len(broken(hindered, {line.name: "reproduced"}, tmp_path)) == 1
