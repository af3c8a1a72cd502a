"""Labels that are not a random sample train, and measure nothing: `random_sample` of the
preference estimators.
"""

from functools import partial

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from preference_data import overlapping, preference_svc, three_classes
from semisvm import (
    AutoSVC,
    FairSampleWarning,
    PreferenceClassifier,
    PreferenceSVC,
    check_fair_sample,
)
from semisvm.estimators.preference._cross import draw_folds
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.model_selection.cross_fit import list_folds
from semisvm.model_selection.fair_sample import random_fold_scores


def chosen_by_doubt(y, n_random, seed=0):
    """Call `n_random` of the labeled rows a random sample, and the other labels chosen by doubt."""
    labeled = np.flatnonzero(y != -1)
    mask = np.zeros(len(y), dtype=bool)
    mask[np.random.default_rng(seed).choice(labeled, n_random, replace=False)] = True
    return mask


def test_chosen_labels_train_in_every_fold_and_only_random_ones_are_scored():
    """Oracle: scikit-learn's SVC without each fold, the chosen labels always among its training
    rows.
    """
    X, y, _ = overlapping(0, n=80, n_labeled=80)
    mask = chosen_by_doubt(y, 50)
    model = preference_svc(C=2, gamma=0.3, tol=1e-8, random_state=5).fit(X, y, random_sample=mask)
    sign = np.where(y == 1, 1, -1)
    folds = draw_folds(np.where(mask, sign, 0), seed=check_random_state(5).randint(2**31))
    scores = np.zeros(folds.shape)
    for draw, fold in enumerate(folds):
        for k in range(fold.max() + 1):
            rest = SVC(C=2, gamma=0.3, tol=1e-8).fit(X[fold != k], y[fold != k])
            scores[draw, fold == k] = rest.decision_function(X[fold == k])
    assert_allclose(model.calibration_scores_[1], scores.mean(axis=0)[mask], atol=1e-5)
    assert_array_equal(model.calibration_sign_[1], sign[mask])
    assert {point.counts.rows for point in model.audit_.values()} == {50}
    machine = SVC(C=2, gamma=0.3, tol=1e-8).fit(X, y)  # all labels train
    assert_allclose(
        model.decision_function(X) + model.threshold_[0], machine.decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("calibration", ["cross", "part", "full"])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_mask_of_all_labels_changes_nothing(calibration, confidence):
    X, y, _ = overlapping(1)
    asked = {
        "calibration": calibration,
        "confidence": confidence,
        "min_recall": 0.6,
        "random_state": 0,
    }
    plain = preference_svc(**asked).fit(X, y)
    masked = preference_svc(**asked).fit(X, y, random_sample=np.ones(len(y), dtype=bool))
    assert masked.operating_point_ == plain.operating_point_
    assert_array_equal(masked.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("calibration", ["cross", "part", "full"])
def test_no_chosen_label_sets_a_threshold(calibration):
    X, y, _ = overlapping(1, n=300, n_labeled=120)
    mask = chosen_by_doubt(y, 60)
    model = preference_svc(calibration=calibration, random_state=0).fit(X, y, random_sample=mask)
    n = 30 if calibration == "part" else 60
    assert abs(model.operating_point_.counts.rows - n) <= 1
    assert {point.counts.rows for point in model.audit_.values()} == {
        model.operating_point_.counts.rows
    }


@pytest.mark.parametrize("calibration", ["cross", "part", "full"])
def test_a_certificate_rests_on_random_labels_only(calibration):
    """Wrong signs of the chosen labels, flipped after the fit was planned, do not reach the
    certificate's rows.
    """
    X, y, _ = overlapping(0, n=600, n_labeled=400)
    mask = chosen_by_doubt(y, 300)
    asked = {"calibration": calibration, "min_recall": 0.7, "confidence": 0.9, "random_state": 0}
    model = preference_svc(**asked).fit(X, y, random_sample=mask)
    assert abs(model.operating_point_.counts.rows - 150) <= 1
    scores = model.decision_function(X) + model.threshold_[0]
    kept = [np.argmin(np.abs(scores - one)) for one in model.calibration_scores_[1]]
    assert_allclose(scores[kept], model.calibration_scores_[1], atol=1e-6)
    assert mask[kept].all()


def test_rows_of_weight_zero_take_their_entry_of_the_mask_with_them():
    X, y, _ = overlapping(1, n=300, n_labeled=120)
    mask = chosen_by_doubt(y, 60)
    weight = np.ones(len(y))
    weight[np.flatnonzero(mask)[:10]] = 0
    model = PreferenceSVC(random_state=0).fit(X, y, sample_weight=weight, random_sample=mask)
    alone = PreferenceSVC(random_state=0).fit(
        X[weight > 0], y[weight > 0], random_sample=mask[weight > 0]
    )
    assert model.operating_point_ == alone.operating_point_
    assert model.operating_point_.counts.rows == 50


def test_several_classes_and_any_classifier():
    X, y, _ = three_classes()
    mask = (y != "") & (np.arange(len(y)) % 3 > 0)
    model = preference_svc(random_state=0).fit(X, y, random_sample=mask)
    assert {point.counts.rows for point in model.operating_points_.values()} == {mask.sum()}
    X, y, _ = overlapping(1, n=300, n_labeled=120)
    mask = chosen_by_doubt(y, 60)
    around = PreferenceClassifier(LogisticRegression(), random_state=0)
    assert abs(around.fit(X, y, random_sample=mask).operating_point_.counts.rows - 60) <= 1


def test_guessed_labels_follow_the_share_of_positives_among_random_labels():
    """All chosen labels are positive: soft labels by the share among all labels would be
    positive far too often.
    """
    X, y, truth = overlapping(3, n=400, n_labeled=60)
    random = y != -1
    chosen = np.flatnonzero((y == -1) & (truth == 1))[:60]
    y = y.copy()
    y[chosen] = 1
    model = PreferenceSVC(random_state=0).fit(X, y, random_sample=random)
    soft = [
        record.details for record in model.history_ if record.details["candidate"] == "all at 0.3"
    ]
    share = soft[0]["soft_positive"] / (soft[0]["soft_positive"] + soft[0]["soft_negative"])
    assert share == pytest.approx(np.mean(y[random] == 1), abs=0.05)


@pytest.mark.parametrize(
    "make",
    [
        PreferenceSVC,
        partial(PaperPreferenceSVC, calibration="part"),
        partial(PaperPreferenceSVC, calibration="full"),
        partial(PreferenceClassifier, LogisticRegression()),
    ],
)
def test_a_mask_that_can_not_be_used_is_refused(make):
    X, y, _ = overlapping(1)
    for wrong in (np.ones(3, dtype=bool), np.arange(len(y))):
        with pytest.raises(ValueError, match="boolean mask with one entry"):
            make().fit(X, y, random_sample=wrong)
    with pytest.raises(
        ValueError, match=r"random_sample leaves 0 of class .* label more rows drawn at random"
    ):
        make().fit(X, y, random_sample=y == 1)


# ---- the check of what the default claims ----


def labels_chosen_by_score(seed=0):
    """300 rows of which the 80 farthest to the right are labeled: anything but a random sample."""
    X, y, truth = overlapping(seed, n=300, n_labeled=300)
    rows = np.argsort(X[:, 0])[-80:]
    chosen = np.full(len(y), -1)
    chosen[rows] = truth[rows]
    return X, chosen


ALL = pytest.mark.parametrize(
    "make",
    [PreferenceSVC, lambda **asked: PreferenceClassifier(LogisticRegression(), **asked), AutoSVC],
    ids=["svc", "classifier", "auto"],
)


@ALL
def test_labels_that_are_no_random_sample_get_no_certificate_unless_one_insists(make):
    X, y = labels_chosen_by_score()
    asked = {"min_recall": 0.5, "confidence": 0.9, "random_state": 0}
    with pytest.warns(
        FairSampleWarning, match="do not look like a random sample.*No certificate is given"
    ):
        model = make(**asked).fit(X, y)
    assert not model.fair_sample_.is_fair
    assert model.operating_point_.level == "cross-fitted"
    insisted = make(**asked).fit(X, y, random_sample=np.ones(len(y), dtype=bool))
    assert insisted.fair_sample_ is None
    assert insisted.operating_point_.level == "certified"


@ALL
def test_figures_without_a_certificate_are_warned_about_too(make):
    X, y = labels_chosen_by_score()
    with pytest.warns(FairSampleWarning, match="figures measured on them may not hold") as caught:
        model = make(min_recall=0.5, random_state=0).fit(X, y)
    (ours,) = [one for one in caught if one.category is FairSampleWarning]
    assert "certificate" not in str(ours.message)
    assert not model.fair_sample_.is_fair
    assert ours.filename == __file__


@pytest.mark.parametrize(
    "make",
    [
        PreferenceSVC,
        partial(PaperPreferenceSVC, calibration="part"),
        partial(PaperPreferenceSVC, calibration="full"),
        partial(PreferenceClassifier, LogisticRegression()),
    ],
)
def test_random_labels_pass_both_tests(make):
    X, y, _ = overlapping(3, n=300, n_labeled=120)
    asked = {"min_recall": 0.5, "random_state": 0}
    model = make(confidence=0.9, **asked).fit(X, y)
    assert model.fair_sample_.is_fair
    assert (model.fair_sample_.n_labeled, model.operating_point_.level) == (120, "certified")
    plain = make(**asked).fit(X, y).fair_sample_
    assert plain.is_fair
    assert plain.kernel_p is not None
    # With "full" the scores are those of training rows.
    is_full = getattr(make(), "calibration", "") == "full"
    assert (plain.ks_p is None) == is_full
    everything = make(confidence=0.9, **asked).fit(X[y != -1], y[y != -1])
    assert everything.fair_sample_ is None  # there is nothing to compare with


def test_scores_are_compared_where_rows_are_a_kernel_matrix():
    X, y = labels_chosen_by_score()
    with pytest.warns(FairSampleWarning):
        model = PreferenceSVC(kernel="precomputed", random_state=0).fit(rbf_kernel(X), y)
    assert model.fair_sample_.kernel_p is None
    assert model.fair_sample_.ks_p < 0.005


def test_the_scores_are_those_of_the_supervised_machines_out_of_fold():
    """Oracle: scikit-learn's SVC without each fold of the first draw; the unlabeled rows are
    dealt to the folds.
    """
    X, y, _ = overlapping(4, n=200, n_labeled=60)
    model = PreferenceSVC(C=2, gamma=0.3, tol=1e-8, random_state=5).fit(X, y)
    sign = np.where(y == 1, 1, np.where(y == 0, -1, 0))
    fold = draw_folds(sign, seed=check_random_state(5).randint(2**31))[0]

    def fit_and_score(train, rows):
        train = train[sign[train] != 0]
        return SVC(C=2, gamma=0.3, tol=1e-8).fit(X[train], sign[train]).decision_function(X[rows])

    scores = random_fold_scores(
        fit_and_score, list_folds(fold), np.flatnonzero(sign == 0), len(y), random_state=0
    )
    expected = check_fair_sample(X, sign != 0, scores, random_state=0)
    assert model.fair_sample_.kernel_p == expected.kernel_p
    assert model.fair_sample_.ks_p == pytest.approx(expected.ks_p, rel=1e-6)


def test_every_class_against_the_rest_is_compared():
    X, y, _ = three_classes()
    found = PreferenceSVC(random_state=0).fit(X, y).fair_sample_
    assert found.is_fair
    assert found.ks_p <= 1


def test_auto_checks_where_a_target_is_asked_for():
    X, y, _ = overlapping(3, n=300, n_labeled=120)
    found = AutoSVC(min_recall=0.5).fit(X, y).fair_sample_
    assert found.is_fair
    assert None not in (found.kernel_p, found.ks_p)
    assert AutoSVC().fit(X, y).fair_sample_ is None
    chosen = labels_chosen_by_score()
    assert AutoSVC().fit(*chosen).fair_sample_ is None  # nothing is promised: no warning


def test_auto_compares_the_first_view_of_a_table():
    X, y = labels_chosen_by_score()
    table = pandas.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    with pytest.warns(FairSampleWarning):
        model = AutoSVC(min_recall=0.5).fit(table, y)
    assert model.fair_sample_.kernel_p <= 0.005
