"""`python -m studies.papers` through click's runner, on a paper of a few lines."""

import pytest
from click.testing import CliRunner

from studies import papers as registry
from studies.papers import compare
from studies.papers.command import reproduce
from studies.papers.tasks import Line, Paper, Reference, Table, Task

GOOD = Task("iris", "supervised", {"train": 100, "hidden": 0.7}, {"kernel": "linear", "C": 1.0})
BAD = Task("iris", "supervised", {"train": 100, "hidden": 0.7}, {"C": -1.0})
REUTERS = Task("reuters", "supervised", {"draw": "file"}, {"kernel": "linear"}, seeded=False)


def table(name, *tasks, value=0.95, seeds=2):
    lines = [
        Line(name, f"row {i}", "SVM", "accuracy", t, Reference(value), quick=True)
        for i, t in enumerate(tasks)
    ]
    return Table(name, "a table", tuple(lines), seeds=seeds, quick_seeds=1)


@pytest.fixture
def tiny(monkeypatch, tmp_path, cells_run_here):
    """One paper instead of all: a table that runs, one that fails, one without its data, one of
    no method.
    """
    monkeypatch.delenv("SEMISVM_DATA", raising=False)
    never = Line(
        "never",
        "row",
        "PSVM",
        "f1",
        None,
        Reference(0.6),
        why="PreferenceSVC is not in this version",
    )
    paper = Paper(
        "tiny",
        "nobody",
        (
            table("good", GOOD),
            table("bad", BAD),
            table("far", REUTERS),
            Table("never", "none", (never,)),
        ),
    )
    monkeypatch.setattr(registry, "PAPERS", {"tiny": lambda: paper})
    monkeypatch.setattr(compare.read_stored, "__defaults__", (tmp_path / "quick.json",))
    monkeypatch.setattr(compare.store_verdicts, "__defaults__", (tmp_path / "quick.json",))
    registry.find_paper.cache_clear()
    yield tmp_path / "out"
    registry.find_paper.cache_clear()


def invoke(out, *arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(reproduce, [*arguments, "--out", str(out)])


def test_a_table_is_run_printed_and_written(tiny):
    result = invoke(tiny, "tiny", "good", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "reproduced" in result.output
    assert "1 reproduced" in result.output
    page = (tiny / "tiny.md").read_text()
    assert "| row 0 | SVM | accuracy | 0.950 |" in page
    assert len((tiny / "tiny.jsonl").read_text().splitlines()) == 3


def test_the_exit_code_says_that_a_cell_failed_or_could_not_run(tiny):
    failed = invoke(tiny, "tiny", "bad", "--seeds", "1")
    assert failed.exit_code == 1
    assert "not runnable: InvalidParameterError" in failed.output
    far = invoke(tiny, "tiny", "far")
    assert far.exit_code == 1
    assert "SEMISVM_DATA" in far.output
    assert "ptsvm/train.dat.bz2" in far.output
    never = invoke(tiny, "tiny", "never")
    assert never.exit_code == 1
    assert "not runnable: PreferenceSVC is not in this version" in never.output


def test_a_quick_run_skips_what_can_not_run_here_and_fails_when_a_verdict_becomes_worse(
    tiny, monkeypatch
):
    stored = invoke(tiny, "tiny", "good", "--quick", "--store")
    assert stored.exit_code == 0
    assert invoke(tiny, "tiny", "far", "--quick").exit_code == 0
    assert invoke(tiny, "tiny", "good", "--quick").exit_code == 0
    worse = Paper("tiny", "nobody", (table("good", GOOD, value=0.5),))
    monkeypatch.setattr(registry, "PAPERS", {"tiny": lambda: worse})
    registry.find_paper.cache_clear()
    result = invoke(tiny, "tiny", "good", "--quick")
    assert result.exit_code == 1
    assert "Became worse" in result.output


def test_pages_are_written_again_from_the_results_without_the_records(tiny):
    invoke(tiny, "tiny", "good", "--workers", "1")
    page, index = ((tiny / name).read_text() for name in ("tiny.md", "README.md"))
    for name in ("tiny.jsonl", "tiny.md", "README.md"):
        (tiny / name).unlink()
    again = invoke(tiny, "--pages")
    assert again.exit_code == 0, again.output
    assert ((tiny / "tiny.md").read_text(), (tiny / "README.md").read_text()) == (page, index)


def test_papers_and_tables_are_listed(tiny):
    result = invoke(tiny, "--list")
    assert result.exit_code == 0
    assert "good" in result.output
    assert "2 cells" in result.output
    assert not tiny.exists()


def test_unknown_names_come_with_suggestions():
    paper = CliRunner().invoke(reproduce, ["ptsmv"])
    assert paper.exit_code == 2
    assert "Perhaps 'ptsvm'" in paper.output
    unknown = CliRunner().invoke(reproduce, ["cluster-svm", "tabel-1"])
    assert unknown.exit_code == 2
    assert "cluster-svm has no table called 'tabel-1'. Perhaps 'table-1'" in unknown.output


def test_a_data_folder_that_is_not_there_is_refused(tmp_path):
    result = CliRunner().invoke(reproduce, ["ptsvm", "--data", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "does not exist" in result.output
