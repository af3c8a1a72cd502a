"""AutoSVC with a precision or recall to keep, certificates, and probabilities, on rows that were
not fitted.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from semisvm import AutoSVC, load, save
from semisvm.decision import Target, choose
from semisvm.estimators.auto.families import crossed_scores, fit_families
from semisvm.estimators.auto.operating import place_threshold
from semisvm.estimators.auto.stacking import FamilySettings, stack
from semisvm.estimators.equal_rows import content_key
from semisvm.estimators.least_squares import labeled_target
from semisvm.estimators.problem import Costs
from semisvm.labels import Labels


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def hard_task(n=900, n_labeled=150, seed=0):
    """Two overlapping clouds; the last 500 rows are for testing."""
    X, y = make_blobs(n, centers=[[-0.8, 0], [0.8, 0]], cluster_std=1.0, random_state=seed)
    return X[:-500], np.where(np.arange(n - 500) < n_labeled, y[:-500], -1), X[-500:], y[-500:]


SETTINGS = FamilySettings(2)


def trained(n_labeled=40):
    X, y, *_ = hard_task(n_labeled=n_labeled)
    labels = Labels(np.arange(2), y)
    target = labeled_target(X, labels, Costs(np.ones(2)), np.ones(len(y)), np.arange(len(y)))
    return fit_families(X, np.ones(len(y)), target, SETTINGS), target


def test_crossed_scores_are_weighed_without_the_labels_of_their_rows():
    found, target = trained()
    crossed = crossed_scores(found.fits, target, SETTINGS)
    members = next(iter(found.fits.values())).members
    left_out = np.stack([machine.left_out for machine in members.machines.values()])
    belief = np.array([record.details["belief"] for record in members.history])
    fold = np.empty(40, dtype=int)
    X, *_ = hard_task(n_labeled=40)
    fold[np.lexsort((content_key(X[:40]), target.Y[:, 0]))] = np.arange(40) % 20
    assert_array_equal(target.fold, fold)
    for i in (0, 7, 39):
        kept = fold != fold[i]
        weights = stack(
            left_out[:, kept],
            target.Y[kept],
            np.ones(kept.sum()),
            belief / belief.sum(),
            strength=0.5,
        )
        assert_allclose(crossed[i], np.tensordot(weights.weights, left_out[:, i], 1))
    assert np.mean((target.Y - crossed) ** 2) >= np.mean((target.Y - found.left_out) ** 2)


@pytest.mark.parametrize(
    "asked",
    [{"min_precision": 0.95}, {"min_recall": 0.95}, {"min_precision": 0.7, "min_recall": 0.7}],
)
def test_a_target_moves_the_threshold_and_is_kept_on_new_rows(asked):
    X, y, new, truth = hard_task()
    model = AutoSVC(**asked).fit(X, y)
    point = model.operating_point_
    accepted = model.predict(new) == 1
    assert point.level == "cross-fitted"
    assert point.reached
    assert_array_equal(accepted, model.decision_function(new) > 0)
    found = {"min_precision": truth[accepted].mean(), "min_recall": accepted[truth == 1].mean()}
    for name, value in asked.items():
        assert found[name] > value - 0.05
    plain = AutoSVC(threshold="score").fit(X, y)
    assert_allclose(
        model.decision_function(new), plain.decision_function(new) - model.threshold_[0]
    )
    assert_allclose(model.predict_proba(new), plain.predict_proba(new))


@pytest.mark.parametrize("rule", ["share", "f1", "labeled_f1", "score"])
def test_without_a_target_a_rule_sets_the_threshold_and_the_operating_point_says_what_it_gives(
    rule,
):
    X, y, new, truth = hard_task()
    model = AutoSVC(threshold=rule).fit(X, y)
    point = model.operating_point_
    assert point.threshold == model.threshold_[0]
    if rule != "share":  # half of the rows are positive, and have scores above 0
        assert (point.threshold == 0) == (rule == "score")
    accepted = model.predict(new) == 1
    assert_array_equal(accepted, model.decision_function(new) > 0)
    assert point.precision.low - 0.05 <= truth[accepted].mean() <= point.precision.high + 0.05


def test_the_expected_share_of_a_rare_class_is_accepted():
    rng = np.random.default_rng(0)
    truth = (rng.random(1500) < 0.1).astype(int)
    X = rng.normal(size=(1500, 4))
    X[:, 0] += 2 * truth
    y = np.where(np.arange(1500) < 100, truth, -1)
    models = {rule: AutoSVC(threshold=rule).fit(X, y) for rule in ("share", "f1", "score")}
    f1 = {rule: f1_score(truth[100:], m.predict(X[100:])) for rule, m in models.items()}
    assert min(f1["share"], f1["f1"]) > f1["score"] + 0.1
    accepted = models["share"].transduction_[100:].mean()
    assert 0.06 < accepted < 0.16
    assert models["score"].transduction_[100:].mean() < 0.05
    p = models["share"].predict_proba(X)
    assert_array_equal(p, models["score"].predict_proba(X))


def test_the_share_of_the_labels_is_accepted_where_their_scores_do_not_rise_with_the_class():
    """Two rare positives whose scores are the lowest: nothing would be accepted above 0."""
    scores = np.linspace(-1, -0.5, 50)
    sign = np.where(np.arange(50) < 2, 1, -1)
    pool = np.linspace(-1, -0.2, 200)[:, None]
    threshold = place_threshold("share", scores, sign, pool, np.ones(200))
    assert np.sum(pool > threshold) == 8  # 2 of 50
    assert place_threshold("share", scores[1:], sign[1:], pool, np.ones(200)) == 0
    assert place_threshold("share", scores * 0, sign, pool, np.ones(200)) == 0


def test_the_certificate_takes_labels_that_have_no_part_in_the_fit():
    X, y, new, truth = hard_task(n_labeled=300)
    model = AutoSVC(min_precision=0.7, confidence=0.9, random_state=0).fit(X, y)
    point = model.operating_point_
    assert point.level == "certified"
    assert point.reached
    assert truth[model.predict(new) == 1].mean() > 0.7
    kept_apart = np.isnan(model.loo_scores_) & (y >= 0)
    assert kept_apart.sum() == 150
    other = y.copy()
    other[kept_apart] = 1 - other[kept_apart]
    with pytest.warns(UserWarning, match="Class 1"):
        flipped = AutoSVC(min_precision=0.7, confidence=0.9, random_state=0).fit(X, other)
    assert flipped.weights_ == model.weights_
    assert not flipped.operating_point_.reached


def test_labels_that_are_no_random_sample_set_no_threshold():
    X, y, *_ = hard_task(n_labeled=120)
    sample = np.arange(len(y)) < 80
    model = AutoSVC(min_recall=0.9).fit(X, y, random_sample=sample)
    counts = model.operating_point_.counts
    assert counts.tp + counts.fp + counts.fn + counts.tn == 80


def test_probabilities_are_calibrated_on_rows_that_were_not_fitted():
    for n_labeled, tolerance in ((40, 0.12), (150, 0.06)):
        X, y, new, truth = hard_task(n_labeled=n_labeled)
        probability = AutoSVC().fit(X, y).predict_proba(new)
        assert_allclose(probability.sum(axis=1), 1)
        sure = probability.max(axis=1)
        right = probability.argmax(axis=1) == truth
        assert abs(probability[:, 1].mean() - truth.mean()) < tolerance
        assert abs(sure.mean() - right.mean()) < tolerance
        assert right[sure > 0.9].mean() > 0.85


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_predicted_class_is_the_most_probable_one_unless_a_boundary_is_moved_on_purpose(
    n_classes,
):
    X, truth = make_blobs(
        [300, 90, 60][:n_classes], centers=None, n_features=2, cluster_std=4.0, random_state=3
    )
    y = np.where(np.random.default_rng(0).permutation(len(truth)) < 90, truth, -1)
    model = AutoSVC(threshold="score").fit(X, y)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    for asked in (
        {"min_recall": 0.9},
        {"class_weight": "balanced"},
        {"costs": {k: 1 + 9.0 * k for k in range(3)}},
    ):
        asked = (
            {"costs": {k: asked["costs"][k] for k in range(n_classes)}}
            if "costs" in asked
            else asked
        )
        moved = AutoSVC(**asked).fit(X, y)
        assert (moved.predict_proba(X).argmax(axis=1) != moved.predict(X)).any()


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, pd.DataFrame], ids=["dense", "sparse", "table"]
)
def test_in_probabilities_and_thresholds_a_row_of_weight_k_is_k_rows(form):
    X, y, new, _ = hard_task(n_labeled=60)
    X = X[:150]
    y = y[:150]
    new = new[:50]
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    times = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weight))
    for asked in ({}, {"min_recall": 0.8}):
        weighted = AutoSVC(**asked).fit(
            form(X), y, sample_weight=weight, random_sample=np.ones(len(y), dtype=bool)
        )
        repeated = AutoSVC(**asked).fit(
            form(X[times]), y[times], random_sample=np.ones(len(times), dtype=bool)
        )
        assert weighted.operating_point_.counts.rows == repeated.operating_point_.counts.rows
        if form is not pd.DataFrame:  # in trees and in the preparation of columns that is not exact
            assert_allclose(
                weighted.predict_proba(form(new)), repeated.predict_proba(form(new)), atol=1e-6
            )
            assert_allclose(weighted.threshold_, repeated.threshold_, atol=1e-9)


def test_digits_with_targets_by_class_and_a_model_file(tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X[y < 3][:400]
    y = y[y < 3][:400]
    model = AutoSVC(min_precision={2: 0.9}).fit(
        X[:200], np.where(np.random.default_rng(0).permutation(200) < 45, y[:200], -1)
    )
    assert set(model.operating_points_) == {0, 1, 2}
    assert model.predict_proba(X[200:]).shape == (200, 3)
    assert model.score(X[200:], y[200:]) > 0.9
    with pytest.raises(AttributeError, match="only available with two classes"):
        _ = model.operating_point_
    save(model, tmp_path / "model.skops")
    assert_array_equal(
        load(tmp_path / "model.skops").predict_proba(X[200:]), model.predict_proba(X[200:])
    )


def test_the_threshold_is_that_of_the_decision_layer():
    found, target = trained()
    crossed = crossed_scores(found.fits, target, SETTINGS)[:, 0]
    X, y, *_ = hard_task(n_labeled=40)
    model = AutoSVC(min_recall=0.9).fit(X, y)
    assert model.threshold_[0] == choose(crossed, target.Y[:, 0], Target(min_recall=0.9)).threshold


def test_what_can_not_be_asked_is_refused():
    X, y, *_ = hard_task(n_labeled=20)
    with pytest.raises(ValueError, match="needs a minimum to certify"):
        AutoSVC(confidence=0.9).fit(X, y)
    rare = np.where(y == 1, -1, y)
    rare[np.flatnonzero(y == 1)[0]] = 1
    with pytest.raises(ValueError, match="class 1 has 1"):
        AutoSVC(min_recall=0.9).fit(X, rare)
    assert AutoSVC().fit(X, rare).predict_proba(X).shape == (400, 2)
