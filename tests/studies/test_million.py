"""The study of a million rows, on a few."""

import json

import pytest

from studies.speed import million


def run(monkeypatch, tmp_path, *arguments):
    monkeypatch.setattr(million, "WARM_ROWS", 300)
    out = tmp_path / "million.jsonl"
    assert million.main([*arguments, "--out", str(out)]) == 0
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_each_number_of_rows_is_solved_and_certified(monkeypatch, tmp_path, capsys):
    records = run(monkeypatch, tmp_path, "--rows", "400", "900", "--seconds", "100")
    assert [record["rows"] for record in records] == [400, 900]
    for record in records:
        assert record["gap"] < 1e-3
        assert record["gap_in_float64"] == pytest.approx(record["gap"], abs=1e-4)
        assert 0 < record["n_support"] < record["rows"]
    assert '"rows": 900' in capsys.readouterr().out


def test_a_fit_that_takes_too_long_ends_with_its_gap(monkeypatch, tmp_path):
    (record,) = run(monkeypatch, tmp_path, "--rows", "900", "--seconds", "1e-6")
    assert record["gap"] > 1e-3
