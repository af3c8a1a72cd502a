"""The studies with few labels: draws, sets, and pages made from records."""

import json
import sys

import numpy as np
import pytest

from studies.few_labels import __main__ as few_labels
from studies.few_labels import sets
from studies.few_labels.methods import METHODS
from studies.ssl_book import __main__ as ssl_book
from studies.ssl_book.published import CITED
from studies.ssl_book.sets import NAMES


def test_a_draw_has_labels_of_both_classes_and_new_rows_that_were_not_fitted():
    y = (np.arange(400) % 40 == 0).astype(int)
    fit, new = few_labels.draw_rows(y, 50, seed=0)
    assert np.bincount(y[fit[:50]]).min() >= 2
    assert len(fit) == 280
    assert not set(fit) & set(new)


def test_sets_that_were_looked_at_are_not_among_those_that_are_reported():
    assert not set(sets.DEVELOPED_ON) & {*sets.TABLES, *sets.TEXTS}


@pytest.mark.parametrize("name", ["wine (2)", "docstrings: sklearn"])
def test_sets_have_two_classes_and_texts_do_not_name_their_library(name):
    X, y = sets.load_task(name)
    assert X.shape[0] == len(y)
    assert set(y) == {0, 1}
    if name.startswith("docstring"):
        assert not any("sklearn" in text or "scikit-learn" in text for text in X)


def test_every_method_scores_new_rows():
    X, y = sets.load_task("wine (2)")
    fit, new = few_labels.draw_rows(y, 20, seed=0)
    hidden = np.where(np.arange(len(fit)) < 20, y[fit], -1)
    for name, scores in METHODS.items():
        if name != "AutoSVC":  # it has tests of its own
            assert scores(X.iloc[fit], hidden, X.iloc[new]).shape == (len(new),), name


def test_the_page_says_how_often_ours_is_better(tmp_path, capsys, monkeypatch):
    records = [
        {"set": name, "labels": 20, "draw": 0, "method": method, "precision": value, "error": 1 - value}
        for name, ours, theirs in (("german", 0.8, 0.7), ("wdbc", 0.9, 0.95), ("spectf", 0.7, 0.6))
        for method, value in (("AutoSVC", ours), ("random forest", theirs))
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    monkeypatch.setattr(sys, "argv", ["few_labels", "--out", str(path), "--page"])
    few_labels.main()
    told = capsys.readouterr().out
    assert "| 20 | random forest | 0.750 | 2 / 1 | +0.050" in told
    assert "| 20 | AutoSVC | 0.800 |" in told


def test_the_cited_table_has_the_means_that_are_cited():
    """The best of the thirteen methods, chosen for each set: 27.0 and 12.8 on average."""
    for count, mean in ((10, 27.0), (100, 12.8)):
        assert len(CITED[count]) == 13
        columns = [[values[k] for values in CITED[count].values()] for k in range(len(NAMES))]
        best = [min(value for value in column if value is not None) for column in columns]
        assert np.mean(best) == pytest.approx(mean, abs=0.05)


def test_the_book_page_is_made_from_records(tmp_path, capsys, monkeypatch):
    records = [
        {"set": "bci", "labels": 10, "split": split, "method": method, "error": error + split}
        for split in range(2)
        for method, error in (("AutoSVC()", 40.0), ("SupervisedSVC", 41.0))
    ] + [{"set": "secstr", "labels": 100, "split": 0, "method": "AutoSVC()", "error": 43.0}]
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    monkeypatch.setattr(sys, "argv", ["ssl_book", "--out", str(path), "--page"])
    ssl_book.main()
    told = capsys.readouterr().out
    assert "| AutoSVC() | 40.50 |" in told
    assert "| splits won against SupervisedSVC | 2 |" in told
    assert "| SVM, as commonly cited | 49.9 |" in told
    assert "| AutoSVC() | 43.00 |  |  |" in told
