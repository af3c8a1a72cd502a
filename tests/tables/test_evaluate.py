"""A model on other rows: the target of the fit is what is measured, and the report says which
figures are whose.
"""

import numpy as np
import pandas as pd
import pytest

from semisvm import SelfTrainingSVC
from semisvm.decision.audit import judge
from semisvm.report import render_page
from semisvm.tables.evaluate import evaluate_file, summarize_estimator, summary_on
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.read_training import read_training
from semisvm.tables.sentences import SEEN, first_screen


def write_three(path, n_rows, seed, share_labeled):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 3)) + 1.5 * np.eye(3)[codes]
    labels = np.where(
        rng.random(n_rows) < share_labeled, np.array(["red", "green", "blue"])[codes], ""
    )
    pd.DataFrame(X, columns=list("abc")).assign(y=labels).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    rows = write_three(folder / "fit.csv", 200, 0, 0.5)
    model = fit_model(read_training([rows], "y"), Settings(min_precision=0.8))
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
        assert found.points[name].counts.accepted == is_above.sum()
        assert found.points[name].counts.tp == (is_above & (frame["y"] == name)).sum()
    assert found.below_all == (scores.max(axis=1) < 0).sum() > 0
    assert found.confusion.sum() == len(frame)
    notes = " ".join(model.summary.notes)
    assert (scores > 0).sum(axis=1).max() > 1
    assert "A row that is above several counts for each of them" in notes
    assert "A row that is above none still gets the label of the nearest class" in notes


def test_figures_on_the_file_of_the_fit_are_said_to_be_too_good(three):
    model, path = three
    assert not evaluate_file(model, path).was_seen
    assert evaluate_file(model, path.with_name("fit.csv")).was_seen
    assert summary_on(model, path.with_name("fit.csv")).notes[0].startswith(SEEN)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A model of 120 labels, with a target that its labels show, and 2,000 other rows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 2_300)
    X = rng.normal(size=(2_300, 2)) + 1.5 * codes[:, None]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.array(["ham", "spam"])[codes])
    folder = tmp_path_factory.mktemp("two")
    labels = frame["y"].where(frame.index < 120, "")
    frame.assign(y=labels)[:300].to_csv(folder / "fit.csv", index=False)
    frame[300:].to_csv(folder / "held-out.csv", index=False)
    training = read_training([folder / "fit.csv"], "y", positive="spam")
    return fit_model(training, Settings(min_precision=0.8), method="laplacian"), folder


def test_of_other_rows_the_answer_says_what_these_show_and_nothing_of_the_fit(two):
    model, folder = two
    of_fit = " ".join(first_screen(model.summary).lines)
    assert "On new rows: met with a probability of" in of_fit
    held_out = summary_on(model, folder / "held-out.csv")
    point = held_out.operating_points["spam"]
    assert point.counts.rows == 2_000
    for said in (" ".join(first_screen(held_out).lines), render_page(held_out)):
        assert f"On your labels: met ({point.precision.value:.0%} of what it accepts" in said
        assert "On new rows" not in said
        assert "chosen on the same rows" not in said


def test_labels_of_given_rows_are_not_called_unseen_nor_all_that_the_model_learned_from(two):
    _, folder = two
    X, y = (pd.read_csv(folder / "fit.csv")[names] for names in (["a", "b"], "y"))
    model = SelfTrainingSVC(unlabeled=None).fit(X, y)
    seen = summarize_estimator(model, X[:120], y[:120])
    assert seen.operating_points["spam"].counts.rows == 120
    said = " ".join(first_screen(seen).lines)
    assert "On the given labels: " in said
    assert "had not seen" not in said
    assert "learned from the labels alone" not in said


def test_the_answer_on_the_file_of_the_fit_warns(two):
    model, folder = two
    for path, is_seen in ((folder / "fit.csv", True), (folder / "held-out.csv", False)):
        said = first_screen(summary_on(model, path)).lines
        assert any(SEEN in line for line in said) == is_seen


def test_nothing_is_measured_on_rows_that_were_not_drawn_at_random(three, tmp_path):
    model, path = three
    frame = pd.read_csv(path, keep_default_na=False)
    chosen = np.arange(len(frame)) % 3 == 0
    marked = frame.assign(
        drawn=np.where(chosen, np.where(chosen.cumsum() % 2, "by doubt", "by campaign"), "")
    )
    marked.to_csv(tmp_path / "marked.csv", index=False)
    frame[~chosen].to_csv(tmp_path / "random.csv", index=False)
    found = evaluate_file(model, tmp_path / "marked.csv")
    fair = evaluate_file(model, tmp_path / "random.csv")
    assert found.points == fair.points
    assert found.not_at_random == (chosen & (frame["y"] != "")).sum()
    assert len(found.pool) == (frame["y"] == "").sum()
    told = summary_on(model, tmp_path / "marked.csv").notes[0]
    assert f"(not on {found.not_at_random} more that were not drawn at random)" in told
    marked.assign(drawn="left").to_csv(
        tmp_path / "other.csv", index=False
    )  # another meaning: the column is ignored
    assert evaluate_file(model, tmp_path / "other.csv").points == evaluate_file(model, path).points


def test_a_report_on_other_rows_says_which_figures_are_of_the_fit(three):
    model, path = three
    summary = summary_on(model, path)
    assert summary.title == "y in held-out.csv, by a model of fit.csv"
    assert summary.data == model.summary.data
    assert summary.audits == model.summary.audits
    first, *rest = summary.notes
    seen = evaluate_file(model, path)
    assert first.startswith(
        f"The operating point and the scores are measured on the {len(seen.codes)} labeled rows"
    )
    assert "the audit, the method and the model card are those of the fit" in first
    assert all(note.startswith("About the fit: ") for note in rest)
    assert summary.operating_points == seen.points
    assert len(summary.scores["red"].labeled) == len(seen.codes)


def test_a_share_is_never_above_1():
    """Weights of 1 / (2 * 3) and 1 / (2 * 49) add up to 1.0000000000000002."""
    sizes = [(a, b) for a in range(1, 60) for b in range(1, 60)]
    found = []
    for a, b in sizes:
        codes = np.repeat([0, 1], [a, b])
        merit = judge(codes, codes, ("no", "yes"))
        found.append(merit.mean)
        assert merit.estimate().value == pytest.approx(1)
        assert all(0 <= end <= 1 for end in merit.estimate())
    assert max(found) > 1  # what is cut
