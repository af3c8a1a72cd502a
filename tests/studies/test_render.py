"""Pages of records made by hand."""

import pytest

from studies.harness.tables import markdown_table
from studies.papers.compare import compare, find_worse, read_stored, store_verdicts
from studies.papers.pages import render_index, render_page
from studies.papers.results import Results, read_results, summarize_paper, write_results
from studies.papers.tasks import Line, Paper, Reference, Table, Task
from study_records import compare_records, done_record

TASK = Task("wdbc", "supervised", {"hidden": 0.9}, {"C": 1.0})
LINES = (
    Line(
        "table-1",
        "WDBC",
        "SVM",
        "accuracy",
        TASK,
        Reference(0.90, 0.01, source="Table 1"),
        mark="as printed",
    ),
    Line("table-1", "WDBC", "SVM", "auc", TASK, Reference(0.5), note="the paper drew one split"),
    Line("table-1", "WDBC", "SVM", "errors", TASK, Reference(57, kind="draw", scale=600)),
    Line(
        "table-1",
        "WDBC",
        "PSVM",
        "f1",
        None,
        Reference(0.63),
        why="PreferenceSVC is not in this version",
    ),
)
PAPER = Paper(
    "tiny",
    "Nobody (1999)",
    (Table("table-1", "a | b", LINES),),
    holds=("It holds.",),
    silent=("C.",),
)


def records(*values):
    curves = [{"roc": [value] * 10} for value in values]
    return [
        done_record(TASK, seed, {"accuracy": value, "auc": 0.98, "errors": 60.0}, curve)
        for seed, (value, curve) in enumerate(zip(values, curves, strict=True))
    ]


def render(paper, made, **how):
    return render_page(paper, summarize_paper(paper, made), **how)


def test_a_page_compares_ours_with_theirs_with_counts_text_and_provenance():
    page = render(PAPER, records(0.90, 0.92))
    assert (
        "| WDBC | SVM (as printed) | accuracy | 0.900 (0.010) | 0.910 (0.014) | 2 | +0.010 |"
        " reproduced |" in page
    )
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


def test_bars_inside_cells_do_not_break_a_table():
    assert markdown_table(["a|b"], [["c|d"]]) == "| a\\|b |\n| --- |\n| c\\|d |"


def test_a_verdict_that_held_and_no_longer_does_is_found(tmp_path):
    stored = tmp_path / "quick.json"
    good = compare_records(LINES[:3], records(0.90))
    store_verdicts("tiny", good, stored)
    held = read_stored(stored)["tiny"]
    assert set(held.values()) == {"reproduced"}
    assert len(held) == 2  # a line that differed is no expectation
    assert find_worse(good, held) == []
    worse = find_worse(compare_records(LINES[:3], records(0.87)), held)
    assert worse == [("table-1 | WDBC | SVM | as printed | accuracy", "reproduced", "close")]
    assert {now for _, _, now in find_worse(compare_records(LINES[:3], []), held)} == {"pending"}


def test_the_luck_of_a_printed_design_is_no_expectation(tmp_path):
    line = Line(
        "t",
        "s",
        "m",
        "accuracy",
        TASK,
        Reference(0.9),
        mark="as printed",
        note="it can't give that",
    )
    store_verdicts("tiny", compare_records([line], records(0.9)), tmp_path / "quick.json")
    assert read_stored(tmp_path / "quick.json") == {"tiny": {}}


def test_what_rounding_may_undo_is_shown_and_not_enforced(tmp_path):
    steady, chaotic, at_the_edge = (
        Line("t", "s", name, "accuracy", TASK, Reference(value), steady=name != "chaotic")
        for name, value in (("steady", 0.9), ("chaotic", 0.9), ("at the edge", 0.919))
    )
    comparisons = compare_records([steady, chaotic, at_the_edge], records(0.9))
    assert {c.verdict for c in comparisons} == {"reproduced"}
    store_verdicts("tiny", comparisons, tmp_path / "quick.json")
    assert read_stored(tmp_path / "quick.json") == {"tiny": {steady.name: "reproduced"}}


def test_the_front_page_has_a_row_for_each_paper_with_results():
    page = render_index([(PAPER, summarize_paper(PAPER, records(0.90, 0.92))), (PAPER, Results())])
    assert page.count("| [tiny](tiny.md) | 2 | 0 | 1 | 0 | 1 | 0 | 2 | 0 |") == 1
    assert page.count("tiny.md") == 1


def test_results_read_from_their_file_are_those_that_were_written(tmp_path):
    made = records(0.90, 0.92, 1 / 3)
    made.append(
        {"task": {"data": "none"}, "seed": 0, "outcome": "failed", "why": "it broke"}
        | {"date": "2026-01-02"}
    )
    results = summarize_paper(PAPER, made)
    assert len(results.summaries) == 3
    assert list(results.reasons.values()) == ["it broke"]
    write_results(results, tmp_path / "tiny.json")
    assert read_results(tmp_path / "tiny.json") == results
    assert read_results(tmp_path / "none.json") == Results()
    (tmp_path / "new.json").write_text('{"version": 99}')
    with pytest.raises(ValueError, match="version 99"):
        read_results(tmp_path / "new.json")


def test_a_table_may_explain_and_judge_what_is_made_from_many_cells():
    def derive(results, quick):
        return [] if quick else compare([LINES[0]], results)

    numbers = (LINES[0].number,)
    table = Table(
        "summary",
        "all in all",
        (),
        numbers=numbers,
        derive=derive,
        explain=lambda results, quick: "" if quick else "Explained.",
    )
    page = render(Paper("tiny", "Nobody", (table,)), records(0.9))
    assert "## summary: all in all\n\nExplained.\n\n| setting |" in page
    assert "summary" not in render(Paper("tiny", "Nobody", (table,)), records(0.9), quick=True)


def test_an_expectation_is_passed_over_where_the_data_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    line = Line("t", "s", "m", "accuracy", Task("tutorial", "supervised"), Reference(1.0))
    blocked = {"task": line.task.as_dict(), "seed": 0, "outcome": "not runnable", "why": "no data"}
    hindered = compare_records([line], [blocked])
    assert find_worse(hindered, {line.name: "reproduced"}) == []
    (tmp_path / "ptsvm").mkdir()
    (tmp_path / "ptsvm" / "tutorial.csv").touch()
    assert len(find_worse(hindered, {line.name: "reproduced"}, tmp_path)) == 1
