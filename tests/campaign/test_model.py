"""Campaigns of models, and models with a certified threshold."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from campaign_pools import pool, run
from every_estimator import each_case, few_labels
from semisvm import AutoSVC, Campaign, PreferenceSVC, SupervisedSVC, ThresholdClassifier, load, save
from semisvm.campaign.model import calibration_of

# ---- models ----


@each_case()
def test_every_estimator_has_campaigns_and_takes_a_certified_threshold(case):
    X, y, truth = few_labels(n=200, n_labeled=40)
    model = case.make().fit(X, y)
    before = model.predict(X)
    pool_rows = X[y == -1]
    campaign = model.campaign(pool_rows, min_precision=0.6, seed="13")
    verdict = run(campaign, truth[y == -1], most=160, at_once=40)
    assert verdict.certified
    certified = model.with_threshold(verdict.operating_point)
    accepted = certified.predict(pool_rows) == 1
    assert accepted.sum() == verdict.operating_point.sampling.n_accepted
    assert truth[y == -1][accepted].mean() >= 0.6
    assert certified.operating_point_ == verdict.operating_point
    assert_array_equal(model.predict(X), before)  # the model itself stays


@pytest.mark.parametrize(
    "model", [LogisticRegression(), RandomForestClassifier(20, random_state=0)]
)
def test_campaigns_of_scikit_learn_classifiers(model):
    X, y, truth = few_labels(n=400, n_labeled=60)
    labeled = y != -1
    model.fit(X[labeled], y[labeled])
    campaign = Campaign.for_model(
        model, X[~labeled], training=(X[labeled], y[labeled]), min_precision=0.6, seed="14"
    )
    verdict = run(campaign, truth[~labeled])
    assert verdict.certified
    certified = ThresholdClassifier.around(model, verdict.operating_point)
    assert (
        certified.predict(X[~labeled]) == 1
    ).sum() == verdict.operating_point.sampling.n_accepted


@pytest.mark.parametrize("model", [LogisticRegression(), SupervisedSVC()])
def test_the_order_of_categories_turns_no_score_of_training_rows_around(model):
    X, y, _ = few_labels(n=200, n_labeled=60)
    X, y = X[y != -1], y[y != -1]
    by_number = calibration_of(model.fit(X, y), 1, (X, y), "decision_function")
    graded = pd.Series(pd.Categorical.from_codes(y, categories=["low", "high"]))
    by_name = calibration_of(model.fit(X, graded), "high", (X, graded), "decision_function")
    assert_allclose(by_name[0], by_number[0], atol=1e-6)
    assert_array_equal(by_name[1], by_number[1])


def test_one_class_of_several():
    X, y, truth = few_labels(3, n=400, n_labeled=60)
    names = np.array(["ham", "offer", "spam"], dtype=object)
    model = SupervisedSVC(unlabeled="").fit(X, np.where(y == -1, "", names[y]))
    with pytest.raises(ValueError, match="say which one"):
        model.campaign(X, min_precision=0.9)
    with pytest.raises(ValueError, match="'eggs' is not one of the classes"):
        model.campaign(X, min_precision=0.9, pos_label="eggs")
    campaign = model.campaign(X, pos_label="offer", min_precision=0.7, seed="15")
    verdict = run(campaign, names[truth])
    assert verdict.certified
    predicted = model.with_threshold(verdict.operating_point, pos_label="offer").predict(X)
    assert (predicted == "offer").sum() == verdict.operating_point.sampling.n_accepted
    assert (truth[predicted == "offer"] == 1).mean() >= 0.7


def test_the_first_of_two_classes_may_be_the_positive_one():
    X, y, truth = few_labels(n=400, n_labeled=60)
    model = SupervisedSVC().fit(X, y)
    verdict = run(model.campaign(X, pos_label=0, min_precision=0.7, seed="16"), truth)
    certified = model.with_threshold(verdict.operating_point, pos_label=0)
    accepted = certified.predict(X) == 0
    assert accepted.sum() == verdict.operating_point.sampling.n_accepted
    assert (truth[accepted] == 0).mean() >= 0.7


def test_a_model_without_scores_is_refused():
    class Mute:
        classes_ = np.array([0, 1])

    with pytest.raises(TypeError, match="neither decision_function nor predict_proba"):
        Campaign.for_model(Mute(), [[0.0]], min_precision=0.9)


def test_a_point_that_missed_its_target_gives_no_threshold():
    from semisvm.decision import Target, choose

    X, y, _ = few_labels()
    model = SupervisedSVC().fit(X, y)
    point = choose([2.0, 1.0, 0.0], [-1, 1, -1], Target(min_precision=0.9))
    with pytest.raises(ValueError, match="missed its target"):
        model.with_threshold(point)


@pytest.mark.parametrize("target", [{"min_precision": 0.7}, {"min_recall": 0.6}, {"min_f": 0.3}])
@pytest.mark.parametrize("claim", ["pool", "new rows"])
def test_a_promise_does_not_move_to_another_model(target, claim, tmp_path):
    """Refitted with inverted labels in the middle of a campaign, the model accepts the negatives:
    what was certified is refused, in memory and from files.
    """
    X, y, truth = few_labels(n=800, n_labeled=60)
    pool_rows = X[y == -1]
    model = SupervisedSVC().fit(X, y)
    campaign = model.campaign(pool_rows, **target, claim=claim, seed="18")
    verdict = run(campaign, truth[y == -1], most=600, at_once=20)
    assert verdict.certified
    point = verdict.operating_point
    loaded = Campaign.load(campaign.save(tmp_path / "c")).verdict().operating_point
    accepted = model.with_threshold(point).predict(pool_rows) == 1
    assert accepted.sum() >= point.sampling.n_accepted
    for same in (loaded, pickle.loads(pickle.dumps(point))):
        assert same.as_dict() == point.as_dict()
        with pytest.raises(ValueError, match="pass X_pool"):
            model.with_threshold(same)
        certified = model.with_threshold(same, X_pool=pool_rows)
        assert certified.operating_point_.as_dict() == point.as_dict()
    with pytest.raises(ValueError, match="another pos_label"):
        model.with_threshold(point, pos_label=0)
    with pytest.raises(ValueError, match="other rows"):
        model.with_threshold(point, X_pool=pool_rows[1:])
    model.fit(X, np.where(y == -1, -1, 1 - y))
    with pytest.raises(ValueError, match="certified for another model"):
        model.with_threshold(point)
    with pytest.raises(ValueError, match="certified for another model"):
        ThresholdClassifier.around(model, loaded, X_pool=pool_rows)
    assert model.with_threshold(point.threshold).operating_point_ is None


@parametrize_with_checks([ThresholdClassifier(LogisticRegression())])
def test_threshold_classifier_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def test_a_certified_model_can_be_saved(tmp_path):
    scores, truth = pool(200)
    X = scores[:, None]
    model = SupervisedSVC(C=100).fit(X[:60], truth[:60])
    verdict = run(model.campaign(X[60:], min_precision=0.5, seed="17"), truth[60:])
    certified = model.with_threshold(verdict.operating_point)
    loaded = load(save(certified, tmp_path / "m.skops"))
    assert_array_equal(loaded.predict(X), certified.predict(X))
    assert loaded.operating_point_.as_dict() == certified.operating_point_.as_dict()
    assert certified.fit(X, truth).operating_point_ is None  # fitted again, nothing is promised


@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_row_exactly_at_the_threshold_is_not_accepted(pos_label):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = ThresholdClassifier(LogisticRegression(), threshold=0.0, pos_label=pos_label).fit(
        X, [0, 0, 1, 1]
    )
    model.estimator_.coef_[:], model.estimator_.intercept_[:] = 1.0, 0.0
    assert model.decision_function([[0.0]]) == [0.0]
    assert model.predict([[0.0]]) == [1 - pos_label]


def test_what_a_preference_svc_knows_of_its_scores_shows_where_to_look():
    X, y, _ = few_labels(n=600, n_labeled=120)
    model = PreferenceSVC(min_precision=0.8, random_state=0).fit(X, y)
    rest = X[y == -1]
    own = (model.calibration_scores_[1] - model.threshold_[0], model.calibration_sign_[1])
    campaign, told = (
        model.campaign(rest, min_precision=0.8, seed="1b", **known)
        for known in ({}, {"calibration": own})
    )
    blind = Campaign(model.decision_function(rest), min_precision=0.8, seed="1b")
    assert campaign.prices().as_dict() == told.prices().as_dict() != blind.prices().as_dict()


def test_autosvc_plans_with_scores_of_labels_that_were_left_out():
    X, digit = load_digits(return_X_y=True)
    truth = digit % 2
    y = np.where(np.arange(len(X)) % 30 == 0, truth, -1)
    model = AutoSVC().fit(X, y)
    campaign = model.campaign(X, min_precision=0.9, seed="01")
    accepted = Campaign(model.decision_function(X), min_precision=0.9, seed="01").prices()
    # Half of the rows are odd, and nearly all of the model's first 800 rows are.
    predicted = {line.n_accepted: line.predicted["precision"] for line in campaign.prices().table}
    without = {line.n_accepted: line.predicted["precision"] for line in accepted.table}
    assert predicted[435] > 0.95 > without[435]
    sizes = []
    for seed in ("00", "01", "02"):
        campaign = model.campaign(X, min_precision=0.9, seed=seed)
        while campaign.n_labels < 100:
            rows = campaign.draw(10)
            campaign.tell(rows, truth[rows])
        rows = campaign.accepted().rows
        sizes.append(len(rows))
        assert truth[rows].mean() >= 0.9
    assert np.median(sizes) > 600
    of_even = model.campaign(X, pos_label=0, min_precision=0.9, seed="01").prices().table
    assert of_even[0].predicted["precision"] > 0.9
