"""A model held against other rows: what was asked is what is measured, and the report says whose figures are whose."""

import numpy as np
import pandas as pd
import pytest

from semisvm.report import render_page
from semisvm.tables.evaluate import evaluate_file
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.summary import FitSummary
from semisvm.tables.training import read_training
from semisvm.tables.update import facts_on


def write_three(path, n_rows, seed, share_labeled):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 3)) + 1.5 * np.eye(3)[codes]
    labels = np.where(rng.random(n_rows) < share_labeled, np.array(["red", "green", "blue"])[codes], "")
    pd.DataFrame(X, columns=list("abc")).assign(y=labels).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    rows = write_three(folder / "fit.csv", 200, 0, 0.5)
    model = fit_model(read_training([rows], "y"), Settings(min_precision=0.8)).model
    return model, write_three(folder / "held-out.csv", 400, 1, 0.8)


def test_of_several_classes_what_was_asked_is_measured_on_the_rows_above_each_threshold(three):
    """A row above no threshold has a label all the same, and counts for no class's precision."""
    model, path = three
    frame = pd.read_csv(path, keep_default_na=False)
    frame = frame[frame["y"] != ""]
    scores = model.decision_function(frame)
    found = evaluate_file(model, path)
    for code, name in enumerate(model.classes.names):
        is_above = scores[:, code] > 0
        assert found.points[code].counts.accepted == is_above.sum()
        assert found.points[code].counts.tp == (is_above & (frame["y"] == name)).sum()
    assert found.below_all == (scores.max(axis=1) < 0).sum() > 0
    assert found.confusion.sum() == len(frame)
    assert "A row that is above none still has the label of the nearest class" in " ".join(model.facts["notes"])


def test_a_report_on_other_rows_says_which_figures_are_of_the_fit(three):
    model, path = three
    facts = facts_on(model, path)
    assert facts["title"] == "y in held-out.csv, by a model of fit.csv"
    assert facts["data"] == model.facts["data"]
    first, *rest = facts["notes"]
    assert first.startswith(f"Operating point and scores are measured on the {evaluate_file(model, path).rows} labeled")
    assert "the audit, the method and the model card are those of the fit" in first
    assert all(note.startswith("Of the fit: ") for note in rest)


def test_ways_that_were_tried_are_not_told_as_rounds(three):
    model, _ = three
    assert all("candidate" in record for record in model.facts["rounds"])
    page = render_page(FitSummary.from_dict(model.facts))
    assert "Ways to use the unlabeled rows" in page
    assert "What each round did" not in page
    assert '"rounds":[]' in page  # no line is drawn from one way to the next
    records = [{"round": 0, "loss": 2.0}, {"round": 1, "loss": 1.0}]
    rounds = render_page(FitSummary.from_dict(model.facts | {"rounds": records}))
    assert "What each round did" in rounds
