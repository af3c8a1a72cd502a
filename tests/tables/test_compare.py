"""Comparing methods: what is measured, what is chosen, what is said, and what Ctrl-C leaves
behind.
"""

from dataclasses import replace

import numpy as np
import pandas
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from semisvm import AutoSVC
from semisvm.columns.encoder import TableEncoder
from semisvm.columns.table import read_table
from semisvm.decision import Estimate, measure
from semisvm.decision.audit import judge
from semisvm.estimators import find_method
from semisvm.tables import held_out
from semisvm.tables.classes import Classes
from semisvm.tables.compare import best_of, compare_methods, judge_trials
from semisvm.tables.fit import fit_model
from semisvm.tables.held_out import MethodTrial, draw_folds, try_method, tune_settings
from semisvm.tables.methods import Settings, lead_per_class
from semisvm.tables.training import Training
from training_rows import training

THREE = ("low", "mid", "high")
TWO = ("no", "yes")


def test_merit_is_scikit_learns_balanced_accuracy_and_the_mean_cost():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 200)
    predicted = rng.integers(0, 3, 200)
    assert judge(predicted, codes, THREE).mean == pytest.approx(
        balanced_accuracy_score(codes, predicted)
    )
    matrix = np.array([[0, 1, 5], [2, 0, 3], [10, 1, 0]])
    assert judge(predicted, codes, THREE, matrix).mean == pytest.approx(
        -matrix[codes, predicted].mean()
    )
    each = judge(predicted, codes, THREE, {"low": 1.0, "mid": 2.0, "high": 3.0}).mean
    assert each == pytest.approx(-np.mean((codes + 1) * (predicted != codes)))


def test_the_interval_of_a_merit_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        codes = (rng.random(120) < 0.3).astype(int)
        right = rng.random(120) < np.where(codes == 1, 0.7, 0.9)
        found = judge(np.where(right, codes, 1 - codes), codes, TWO).estimate()
        inside += found.low <= 0.8 <= found.high
    assert inside / 400 > 0.86


def entry(name, right, codes):
    """A method in a comparison that predicts the rows in `right` right."""
    return MethodTrial(name, right, judge(np.where(right, codes, 1 - codes), codes, TWO), points={})


def test_the_simplest_method_within_one_standard_error_of_the_best_is_chosen():
    codes = np.repeat([0, 1], 100)
    rows = np.arange(200)
    close = [
        entry("supervised", rows % 10 != 0, codes),
        entry("transductive", rows % 12 != 0, codes),
    ]
    assert best_of(close).name == "transductive"
    found = judge_trials(close)
    assert found.chosen == "supervised"
    assert "The labels do not show whether the unlabeled rows help" in found.verdict
    assert "simplest method within one standard error of the best (transductive" in found.why
    far = [
        entry("supervised", rows % 3 != 0, codes),
        entry("transductive", rows % 20 != 0, codes),
    ]
    found = judge_trials(far)
    assert found.chosen == "transductive"
    assert "The unlabeled rows help" in found.verdict
    worse = [
        entry("supervised", rows % 20 != 0, codes),
        entry("transductive", rows % 3 != 0, codes),
    ]
    found = judge_trials(worse)
    assert "The unlabeled rows harm here" in found.verdict
    assert isinstance(found.methods[1].difference, Estimate)


def test_a_best_method_without_errors_on_few_labels_does_not_replace_the_supervised_method():
    """Its own standard error is almost 0; that of the difference is not."""
    codes = np.repeat([0, 1], 6)
    rows = np.arange(12)
    trials = [
        entry("supervised", rows != 11, codes),
        entry("self-training", rows >= 0, codes),
    ]
    best = best_of(trials)
    assert best.merit.mean - best.merit.error > trials[0].merit.mean
    assert judge_trials(trials).chosen == "supervised"


def test_the_audit_has_a_threshold_only_where_the_model_has_one():
    rows = training(300)
    for settings, steps in (
        (Settings(), ["supervised", "supervised + threshold", "with unlabeled"]),
        (Settings(costs={"no": 1.0, "yes": 5.0}), ["supervised", "with unlabeled"]),
        (Settings(min_recall=0.6), ["supervised", "supervised + threshold", "with unlabeled"]),
    ):
        summary = fit_model(rows, settings, method="self-training").summary
        assert list(summary.audits["yes"]) == steps
    alone = fit_model(rows, Settings(), method="supervised").summary
    assert list(alone.audits["yes"]) == ["supervised", "supervised + threshold"]


def test_what_the_comparison_has_said_of_the_chosen_method_is_not_said_again():
    notes = fit_model(training(300), Settings(), method="auto").summary.notes
    asked = fit_model(training(300), Settings(), method="transductive").summary.notes
    assert sum("a gain of" in note for note in notes) == 1
    assert sum("a gain of" in note for note in asked) == 1


def test_what_every_fold_complains_of_with_other_numbers_is_said_once(monkeypatch):
    number = iter(range(100))

    def complain(*_):
        return [f"{next(number)} of 80 rounds collapsed.", "Another complaint."]

    rows = training(300)
    bench = draw_folds(rows)
    fit_quietly = held_out.fit_quietly
    monkeypatch.setattr(held_out, "fit_quietly", lambda *all: fit_quietly(*all) + complain())
    trial = try_method(find_method("supervised"), Settings(kernel="rbf"), bench)
    assert trial.complaints == ("0 of 80 rounds collapsed.", "Another complaint.")


def test_a_certificate_is_given_by_the_method_that_has_one():
    with pytest.raises(ValueError, match="The method 'cluster' does not give certificates"):
        fit_model(training(300), Settings(min_recall=0.5, confidence=0.9), method="cluster")
    summary = fit_model(training(600), Settings(min_recall=0.5, confidence=0.9)).summary
    assert summary.operating_points["yes"].level == "certified"


def test_out_of_fold_scores_never_saw_the_label_of_their_row():
    """Flip one label: the score of its own row stays, because the fits that scored it did not
    see it.
    """
    rows = training(300)
    row = int(np.flatnonzero(rows.codes == 1)[0])
    bench = draw_folds(rows)
    flipped = rows.codes.copy()
    flipped[row] = 0
    method = find_method("supervised")
    one = try_method(method, Settings(kernel="rbf"), bench).scores
    other = try_method(method, Settings(kernel="rbf"), replace(bench, codes=flipped)).scores
    place = list(bench.tested).index(row)
    assert one[place] == other[place]
    assert not np.array_equal(one, other)


def test_a_large_pool_is_sampled_for_the_comparison_and_not_for_the_model():
    rows = training(500)
    fitted = fit_model(rows, Settings(), method="self-training", most_unlabeled=50)
    notes = " ".join(fitted.summary.notes)
    assert f"50 of {rows.n_unlabeled} unlabeled rows" in notes
    assert fitted.summary.scores["yes"].n_unlabeled == rows.n_unlabeled


def test_one_label_of_a_class_is_too_few_to_compare_and_enough_to_fit():
    rows = training(200)
    rows.codes[np.flatnonzero(rows.codes == 1)[1:]] = -1
    fitted = fit_model(rows, Settings(), method="auto")
    assert fitted.method == "supervised"
    assert fitted.summary.operating_points == {}
    assert fitted.summary.reached
    assert not fit_model(
        rows, Settings(min_recall=0.5), method="supervised"
    ).summary.reached  # it was not measured
    assert "has a single labeled row" in fitted.summary.method.why


def test_costs_are_what_auto_lowers():
    rows = training(300)
    bench = draw_folds(rows)
    names = ["supervised", "transductive"]
    costs = {"no": 1.0, "yes": 20.0}  # a miss costs twenty false alarms
    found, priced_trials = compare_methods(bench, Settings(kernel="rbf", costs=costs), names)
    assert found.measure == "cost"
    _, plain_trials = compare_methods(bench, Settings(kernel="rbf"), names)
    for priced, plain in zip(priced_trials.values(), plain_trials.values(), strict=True):
        signs = np.where(rows.codes[rows.codes >= 0] == 1, 1, -1)
        at_zero = measure(plain.scores, signs, 0.0)
        assert priced.points["yes"].counts.fn < at_zero.counts.fn
        assert priced.points["yes"].counts.fp > at_zero.counts.fp


def test_tuning_takes_what_predicts_held_out_labels_best():
    rows = training(300)
    bench = draw_folds(rows)
    tuned = tune_settings(bench, Settings(kernel="rbf"))
    before, after = (
        compare_methods(bench, settings, ["supervised"])[0].methods[0].merit.value
        for settings in (Settings(kernel="rbf"), tuned)
    )
    assert after >= before


def test_views_to_try_are_learned_from_a_sample_of_many_rows(monkeypatch):
    rng = np.random.default_rng(0)
    words = np.array([f"w{j}" for j in range(300)])
    frame = pandas.DataFrame(
        {"note": [" ".join(rng.choice(words, 6)) for _ in range(500)], "n": rng.random(500)}
    )
    codes = np.where(np.arange(500) < 60, rng.integers(0, 2, 500), -1)
    rows = Training("rows", "y", read_table(frame).columns, codes, Classes(TWO, False))
    chosen = np.array([3, 400, 17, 90, 8])
    part = rows.take(chosen, learns=True)
    # the standard view is that of all rows
    assert abs(part.form() - rows.form()[chosen]).max() == 0
    alone = TableEncoder(rows.columns, view="letters").fit(frame.iloc[chosen])
    assert abs(part.form("letters") - alone.transform(frame.iloc[chosen])).max() == 0
    assert (
        abs(part.take(np.array([1, 4])).form("letters") - part.form("letters")[[1, 4]]).max() == 0
    )
    seen = []
    fit_transform = TableEncoder.fit_transform
    monkeypatch.setattr(
        TableEncoder,
        "fit_transform",
        lambda self, X: seen.append((self.view, len(X))) or fit_transform(self, X),
    )
    monkeypatch.setattr(held_out, "MOST_LEARNED", 150)
    tune_settings(draw_folds(replace(rows, forms={})), Settings())
    assert sorted(seen) == [("latent", 150), ("letters", 150), ("standard", 500)]


def test_margins_are_above_zero_exactly_where_a_class_wins():
    scores = np.random.default_rng(0).normal(size=(50, 4))
    assert ((lead_per_class(scores) > 0) == (scores == scores.max(axis=1, keepdims=True))).all()


# ---- Ctrl-C ----


class Patience:
    """A `tell` that presses Ctrl-C after some words have come a number of times."""

    def __init__(self, words, times):
        self.words = words
        self.left = times

    def __call__(self, what, *progress):
        if self.words in what:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def test_ctrl_c_in_the_fit_keeps_the_rounds_so_far():
    rows = training(600)
    fitted = fit_model(rows, Settings(), method="transductive", tell=Patience("Fitting", 6))
    assert fitted.summary.was_stopped
    assert any("best so far" in note for note in fitted.summary.notes)
    assert set(fitted.predict(rows.rows)) == {"no", "yes"}


@pytest.mark.parametrize("times", [1, 4])
def test_ctrl_c_in_the_comparison_takes_the_best_of_the_methods_that_are_done(times):
    fitted = fit_model(
        training(300), Settings(), method="auto", tell=Patience("Fitting autosvc", times)
    )
    assert fitted.summary.was_stopped
    compared = [line.name for line in fitted.summary.comparison.methods]
    assert compared == ["supervised"]
    assert list(fitted.summary.operating_points) == ["yes"]


@pytest.mark.parametrize(
    ("words", "times"), [("Comparing: supervised, fold 1", 1), ("Tuning", 1), ("Tuning", 2)]
)
def test_ctrl_c_before_anything_is_done_leaves_nothing(words, times):
    with pytest.raises(KeyboardInterrupt):
        fit_model(
            training(300),
            Settings(),
            method="auto",
            tune=words == "Tuning",
            tell=Patience(words, times),
        )


def test_ctrl_c_while_the_sample_is_checked_leaves_nothing(monkeypatch):
    monkeypatch.setattr(
        "semisvm.tables.fit.say_nothing", Patience("", 1)
    )  # pressed in a fit of the check
    with pytest.raises(KeyboardInterrupt):
        fit_model(training(300), Settings())


def test_errors_of_huge_costs_are_finite():
    codes = np.array([0, 1] * 6)
    predicted = np.array([0, 1, 1, 0] * 3)
    small, huge = (
        judge(predicted, codes, ("ham", "spam"), {"ham": 1.0 * c, "spam": 2.0 * c})
        for c in (1.0, 1e300)
    )
    best = judge(codes, codes, ("ham", "spam"), {"ham": 1e300, "spam": 2e300})
    assert huge.error == pytest.approx(1e300 * small.error)
    assert np.isfinite(best.minus(huge).low)


# ---- out-of-fold scores that come with a fit ----


@pytest.mark.parametrize("n_classes", [2, 3])
def test_auto_kernel_is_judged_by_the_one_fit_that_becomes_the_model(monkeypatch, n_classes):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, n_classes, 150)
    X = rng.normal(size=(150, 4)) + 3 * np.eye(4)[truth]
    codes = np.where(np.arange(150) < 60, truth, -1)
    names = ("no", "yes", "perhaps")[:n_classes]
    rows = Training(
        "rows",
        "y",
        read_table(pd.DataFrame(X, columns=list("abcd"))).columns,
        codes,
        Classes(names, False),
    )
    seen = []
    fit = AutoSVC.fit

    def spied(self, *arguments, **options):
        seen.append(fit(self, *arguments, **options))
        return seen[-1]

    monkeypatch.setattr(AutoSVC, "fit", spied)
    model = fit_model(rows, Settings(), method="autosvc")
    assert len(seen) == 1
    assert model.estimator is seen[0]
    scores = seen[0].out_of_fold_scores_
    assert_array_equal(np.isnan(scores).reshape(150, -1).any(axis=1), codes < 0)
    for code, name in enumerate(names):
        if name in model.summary.scores:
            shown = np.array(model.summary.scores[name].labeled)
            sign = np.where(codes[codes >= 0] == code, 1, -1)
            assert_array_equal(np.array(model.summary.scores[name].sign), sign)
            own = scores[codes >= 0] if n_classes == 2 else lead_per_class(scores)[codes >= 0, code]
            assert_allclose(np.argsort(np.argsort(shown)), np.argsort(np.argsort(own)))


def test_labels_beyond_the_most_rows_of_a_fit_are_scored_as_new_rows():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3)) + 2 * truth[:, None]
    codes = np.where(np.arange(200) < 120, truth, -1)
    rows = Training(
        "rows",
        "y",
        read_table(pd.DataFrame(X, columns=list("abc"))).columns,
        codes,
        Classes(TWO, False),
    )
    model = fit_model(rows, Settings(max_rows=60), method="autosvc")
    n_learned = np.isfinite(model.estimator.out_of_fold_scores_).sum()
    assert 0 < n_learned < 120
    assert len(model.summary.scores["yes"].labeled) == 120
    assert model.summary.operating_points["yes"].precision.value > 0.9
