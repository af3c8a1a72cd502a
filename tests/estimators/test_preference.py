"""PreferenceSVC: thresholds and what is known about them, certificates, several classes, and bad
input.
"""

import traceback
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import check_classifiers_train

from histories import records_of
from preference_data import noisy_clouds, overlapping, preference_svc, three_classes
from semisvm import PreferenceClassifier, PreferenceSVC, dual
from semisvm import machines as forms
from semisvm.decision import choose
from semisvm.decision.operating_point import scores_beyond
from semisvm.estimators.preference import _decision
from semisvm.estimators.preference._cross import draw_folds
from semisvm.estimators.targets import OperatingPointsMixin, draw_certificate_rows
from semisvm.labels import Labels, encode


def test_without_unlabeled_rows_it_is_the_svm_with_a_cross_fitted_threshold():
    """Oracle: scikit-learn's SVC, refitted without each fold, and the best F1 over all
    thresholds.
    """
    X, y, _ = overlapping(0, n=80, n_labeled=80)
    model = PreferenceSVC(C=2, gamma=0.3, tol=1e-8, random_state=5).fit(X, y)
    sign = np.where(y == 1, 1, -1)
    folds = draw_folds(sign, seed=check_random_state(5).randint(2**31))
    scores = np.zeros(folds.shape)
    for draw, fold in enumerate(folds):
        for k in range(fold.max() + 1):
            rest = SVC(C=2, gamma=0.3, tol=1e-8).fit(X[fold != k], y[fold != k])
            scores[draw, fold == k] = rest.decision_function(X[fold == k])
    assert_allclose(model.calibration_scores_[1], scores.mean(axis=0), atol=1e-5)
    point = choose(scores.mean(axis=0), sign, level="cross-fitted")
    machine = SVC(C=2, gamma=0.3, tol=1e-8).fit(X, y)
    assert_allclose(
        model.decision_function(X), machine.decision_function(X) - point.threshold, atol=1e-5
    )
    assert model.operating_point_.counts == point.counts
    assert model.operating_point_.level == "cross-fitted"


@pytest.mark.parametrize("calibration", ["cross", "part", "full"])
@pytest.mark.parametrize("target", [{"min_precision": 0.8}, {"min_recall": 0.9}, {}])
def test_the_calibration_rows_keep_what_was_asked(calibration, target):
    X, y, _ = overlapping(1)
    model = preference_svc(calibration=calibration, random_state=0, **target).fit(X, y)
    point = model.operating_point_
    assert point.reached
    accepted = model.calibration_scores_[1] > point.threshold
    positive = model.calibration_sign_[1] > 0
    assert (accepted & positive).sum() >= target.get("min_precision", 0) * accepted.sum()
    assert (accepted & positive).sum() >= target.get("min_recall", 0) * positive.sum()
    assert point.level == ("cross-fitted" if calibration == "cross" else "empirical")


@pytest.mark.parametrize("calibration", ["cross", "part"])
def test_the_audit_sets_three_steps_side_by_side(calibration):
    X, y, _ = overlapping(2)
    model = preference_svc(calibration=calibration, random_state=0).fit(X, y)
    assert list(model.audit_) == ["supervised", "supervised + threshold", "with unlabeled"]
    alone, threshold, unlabeled = model.audit_.values()
    assert alone.threshold == 0
    assert alone.f_score.value <= threshold.f_score.value
    assert unlabeled == model.operating_point_
    assert len({point.counts.rows for point in model.audit_.values()}) == 1
    assert len({point.level for point in model.audit_.values()}) == 1
    assert model.audits_ == {1: model.audit_}
    assert model.operating_points_ == {1: model.operating_point_}
    for point in model.audit_.values():
        assert point.f_score.low <= point.f_score.value <= point.f_score.high


def test_predict_accepts_what_is_above_the_threshold():
    X, y, _ = overlapping(0)
    model = PreferenceSVC(min_recall=0.95, random_state=0).fit(X, y)
    assert model.threshold_[0] == model.operating_point_.threshold != 0
    machine = (
        rbf_kernel(X, model.support_vectors_, gamma=model._formula.gamma) @ model.dual_coef_[0]
    )
    assert_allclose(
        model.decision_function(X), machine + model.intercept_[0] - model.threshold_[0], atol=1e-5
    )
    assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])
    assert_array_equal(model.transduction_[y >= 0], y[y >= 0])


def test_a_constant_keeps_the_order_of_scores_and_stays_finite():
    scores = np.array([-5.0, 0.0, 3.0, 1e6])
    for threshold, accepts in ((-np.inf, True), (np.inf, False)):
        decision = scores_beyond(scores, threshold)
        assert np.isfinite(decision).all()
        assert ((decision > 0) == accepts).all()
        assert (np.diff(decision) > 0).all()


@pytest.mark.parametrize("calibration", ["cross", "part"])
def test_the_same_random_state_gives_the_same_model(calibration):
    X, y, _ = overlapping(0)
    model = preference_svc(calibration=calibration, random_state=3)
    one, other = (clone(model).fit(X, y) for _ in range(2))
    assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.operating_point_ == other.operating_point_


def test_soft_labels_join_where_they_help():
    X, y, truth = noisy_clouds()
    model = PreferenceSVC(C=10, gamma=0.1, random_state=0).fit(X, y)
    records = records_of(model)
    chosen = [record for record in records if record["chosen"]]
    assert len(chosen) == 1
    assert chosen[0]["share"] > 0
    assert records[0]["candidate"] == "supervised"
    assert (model.labeled_iter_ > 0).sum() == chosen[0]["soft_positive"] + chosen[0][
        "soft_negative"
    ]
    assert (
        model.audit_["with unlabeled"].f_score.value
        > model.audit_["supervised + threshold"].f_score.value
    )
    alone = PreferenceSVC(C=10, gamma=0.1, random_state=0).fit(X[y >= 0], y[y >= 0])
    assert (model.predict(X) == truth).mean() > (alone.predict(X) == truth).mean() + 0.05


def test_a_limit_that_comes_during_the_choice_leaves_the_supervised_machine_with_its_threshold():
    X, y, _ = noisy_clouds()
    whole = PreferenceSVC(C=10, gamma=0.1, random_state=0).fit(X, y)
    limited = PreferenceSVC(C=10, gamma=0.1, max_iter=whole.history_[0].n_iter + 1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        limited.fit(X, y)
    assert limited.operating_point_ == whole.audit_["supervised + threshold"]
    assert limited.operating_point_.level == "cross-fitted"
    assert limited.threshold_[0] != 0
    assert [record["chosen"] for record in records_of(limited)] == [True]


# certificates


def rows_of_certificate(model, y):
    """The rows that a fitted model kept for its certificate."""
    plan = OperatingPointsMixin._make_plan(model, encode(y), None, model.calibration_size)
    return np.flatnonzero(plan.certifies)


@pytest.mark.parametrize("costs", [None, {0: 1.0, 1: 3.0}])
def test_a_certificate_is_made_on_labels_that_do_not_train(costs):
    """Without these rows the machine is the same: neither their labels nor their features have a
    part in it.
    """
    X, y, _ = overlapping(0, n=600, n_labeled=400)
    asked = {"calibration": "full", "min_recall": 0.7, "costs": costs}
    model = preference_svc(**asked, confidence=0.9, random_state=0).fit(X, y)
    kept = rows_of_certificate(model, y)
    assert abs(len(kept) - 200) <= 1
    assert model.operating_point_.level == "certified"
    assert model.operating_point_.counts.rows == len(kept)
    without = np.delete(np.arange(len(y)), kept)
    alone = preference_svc(**asked, gamma=model._formula.gamma).fit(X[without], y[without])
    machine = alone.decision_function(X) + alone.threshold_[0]
    assert_allclose(model.decision_function(X) + model.threshold_[0], machine, atol=1e-6)
    assert_allclose(model.calibration_scores_[1], machine[kept], atol=1e-6)
    assert_array_equal(model.calibration_sign_[1], np.where(y[kept] == 1, 1, -1))


def test_certificate_rows_are_drawn_without_looking_at_the_classes():
    """The number of positives is then hypergeometric, as in any random half; a rare class keeps
    what it needs.
    """
    codes = np.repeat([0, 1, -1], [60, 40, 100])
    masks = [
        draw_certificate_rows(Labels(np.arange(2), codes), 0.5, check_random_state(seed))
        for seed in range(400)
    ]
    assert {mask.sum() for mask in masks} == {50}
    assert not any(mask[codes < 0].any() for mask in masks)
    positives = np.array([mask[codes == 1].sum() for mask in masks])
    assert abs(positives.mean() - 20) < 0.5
    assert abs(positives.var() - 50 * 0.4 * 0.6 * 50 / 99) < 1.5
    rare = np.repeat([0, 1], [60, 3])
    for seed in range(50):
        mask = draw_certificate_rows(Labels(np.arange(2), rare), 0.5, check_random_state(seed))
        assert mask[rare == 1].sum() == 1


@pytest.mark.parametrize(
    ("n", "rate", "share", "size_of_rest"), [(50, 0.9, 0.8, 50), (150, 0.8, 0.5, 3)]
)
def test_a_rare_class_keeps_its_labels_and_certificates_stay_true(n, rate, share, size_of_rest):
    """Most labels are of class 0, the others of one class, or of classes with three or four each.
    That all rows have exactly this precision is certified in a tenth of the draws, up to chance;
    if rare rows were moved out of the certificate, it would be in a quarter.
    """
    rng = np.random.default_rng(0)
    certified = 0
    n_draws = 600
    for _ in range(n_draws):
        n_rest = max(3, rng.binomial(n, 1 - rate))
        n_classes = max(1, n_rest // size_of_rest)
        codes = np.where(np.arange(n) < n_rest, 1 + np.arange(n) % n_classes, 0)
        names = np.arange(n_classes + 1)
        random = check_random_state(rng.integers(10**9))
        mask = draw_certificate_rows(Labels(names, codes), share, random)
        assert np.bincount(codes[~mask]).min() >= 2
        assert set(codes[mask]) == set(names)
        certified += stats.binom.sf((codes[mask] == 0).sum() - 1, mask.sum(), rate) <= 0.1
    assert certified <= 0.1 * n_draws + 3 * np.sqrt(0.09 * n_draws)


def test_certified_targets_hold_in_the_promised_share_of_worlds():
    """60 small worlds at 80% confidence: the target breaks in at most a fifth of them, up to
    chance (12 + 2 * 3.1).
    """
    broken = reached = 0
    for seed in range(60):
        X, y, truth = overlapping(seed, n=1600, n_labeled=200, share_positive=0.4, arranges=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = preference_svc(
                kernel="linear", C=0.1, calibration="full", adjust=None, max_rounds=1, min_precision=0.75,
                confidence=0.8, random_state=0,
            ).fit(X[:200], y[:200])  # fmt: skip
        if not model.operating_point_.reached:
            continue
        reached += 1
        accepted = model.predict(X[200:]) == 1
        broken += truth[200:][accepted].mean() < 0.75
    assert reached > 20
    assert broken <= 18


@pytest.mark.parametrize(
    "model",
    [
        PreferenceSVC(min_precision=0.8, confidence=0.9, random_state=0),
        PreferenceClassifier(GaussianNB(), min_precision=0.8, confidence=0.9, random_state=0),
    ],
)
def test_copies_of_a_row_are_no_evidence_of_their_own_for_a_certificate(model):
    """40 worlds of noise in which 79% of the rows are positive: every certificate is false. At
    90% confidence at most 4 are expected, and up to chance 10; copies would certify most.
    """
    false = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 2)), (rng.random(80) < 0.79).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = clone(model).fit(X, y, sample_weight=np.full(80, 5))
        assert fitted.operating_point_.counts.rows == 40
        false += fitted.operating_point_.reached
    assert false <= 10


def test_what_cannot_be_certified_says_how_many_labels_it_would_take():
    X, y, _ = overlapping(0, n=200, n_labeled=30)
    with pytest.warns(
        UserWarning,
        match="can't be certified at 90% confidence from 15 labels.*perfect record needs 45",
    ):
        model = PreferenceSVC(min_precision=0.95, confidence=0.9, random_state=0).fit(X, y)
    assert model.operating_point_.level == "certified"
    assert not model.operating_point_.reached


# several classes


def test_several_classes_have_targets_of_their_own():
    X, y, truth = three_classes()
    model = PreferenceSVC(
        min_precision={"spam": 0.95}, min_recall={"offer": 0.9}, random_state=0
    ).fit(X, y)
    points = model.operating_points_
    assert list(points) == ["ham", "offer", "spam"]
    assert points["spam"].target.min_precision == 0.95
    assert points["spam"].target.min_recall is None
    assert points["offer"].target.min_recall == 0.9
    assert not points["ham"].target.is_constrained
    assert points["spam"].precision.value >= 0.95
    assert points["offer"].recall.value >= 0.9
    for learned in (model.audits_, model.calibration_scores_, model.calibration_sign_):
        assert list(learned) == ["ham", "offer", "spam"]
    for name in ("operating_point_", "audit_"):
        with pytest.raises(AttributeError, match=f"{name} is only available with two classes"):
            getattr(model, name)
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    assert (model.predict(X) == truth).mean() > 0.75


def test_one_number_is_asked_of_every_class():
    X, y, _ = three_classes()
    model = preference_svc(min_recall=0.8, calibration="part", random_state=0).fit(X, y)
    assert {point.target.min_recall for point in model.operating_points_.values()} == {0.8}
    assert {record.problem for record in model.history_} == {
        "ham vs rest",
        "offer vs rest",
        "spam vs rest",
    }


def test_a_certificate_for_the_classes_that_have_a_target():
    X, y, _ = three_classes(n=900, n_labeled=600)
    model = preference_svc(
        min_recall={"spam": 0.7}, confidence=0.9, calibration="full", random_state=0
    ).fit(X, y)
    assert [point.level for point in model.operating_points_.values()] == [
        "empirical",
        "empirical",
        "certified",
    ]


def test_both_targets_at_once():
    X, y, _ = overlapping(1)
    model = PreferenceSVC(min_precision=0.5, min_recall=0.6, random_state=0).fit(X, y)
    point = model.operating_point_
    assert point.reached
    assert point.precision.value >= 0.5
    assert point.recall.value >= 0.6


def test_targets_that_are_impossible_together_say_so_and_give_the_nearest():
    X, y, _ = overlapping(1)
    with pytest.warns(
        UserWarning, match=r"Class 1: No threshold gives precision 0.99 and recall 0.99 on these 60"
    ):
        model = PreferenceSVC(min_precision=0.99, min_recall=0.99, random_state=0).fit(X, y)
    assert not model.operating_point_.reached
    assert set(model.predict(X)) == {0, 1}


# other forms of input


@pytest.mark.parametrize("calibration", ["cross", "part"])
def test_sparse_rows_and_kernel_matrices_give_the_same(calibration):
    X, y, _ = overlapping(0, n=150)
    how = {"calibration": calibration, "tol": 1e-8, "random_state": 0}
    dense = preference_svc(gamma=0.3, **how).fit(X, y)
    loose = preference_svc(gamma=0.3, **how).fit(sparse.csr_matrix(X), y)
    K = rbf_kernel(X, gamma=0.3)
    given = preference_svc(kernel="precomputed", **how).fit(K, y)
    assert_allclose(
        loose.decision_function(sparse.csr_matrix(X)), dense.decision_function(X), atol=1e-5
    )
    assert_allclose(given.decision_function(K), dense.decision_function(X), atol=1e-5)


def test_a_certificate_from_a_kernel_matrix():
    X, y, _ = overlapping(0, n=300, n_labeled=200)
    how = {
        "min_recall": 0.7,
        "confidence": 0.9,
        "calibration": "full",
        "tol": 1e-8,
        "random_state": 0,
    }
    K = rbf_kernel(X, gamma=0.3)
    given = preference_svc(kernel="precomputed", **how).fit(K, y)
    rows = preference_svc(gamma=0.3, **how).fit(X, y)
    assert_allclose(given.calibration_scores_[1], rows.calibration_scores_[1], atol=1e-5)
    assert_allclose(given.decision_function(K), rows.decision_function(X), atol=1e-5)


def test_a_row_without_weight_has_no_part_not_even_in_the_certificate():
    X, y, _ = overlapping(0, n=300, n_labeled=200)
    weight = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    asked = PreferenceSVC(min_recall=0.7, confidence=0.9, gamma=0.3, random_state=0)
    model = clone(asked).fit(X, y, sample_weight=weight)
    without = clone(asked).fit(X[weight > 0], y[weight > 0])
    assert (weight[model.support_] > 0).all()
    assert_array_equal(model.calibration_scores_[1], without.calibration_scores_[1])
    assert model.operating_point_ == without.operating_point_


def test_more_unlabeled_rows_than_the_choice_can_afford_are_labeled_all_the_same(monkeypatch):
    monkeypatch.setattr(_decision, "POOL_SIZE", 50)
    X, y, _ = overlapping(0)
    model = PreferenceSVC(random_state=0).fit(X, y)
    assert (
        max(record["soft_positive"] + record["soft_negative"] for record in records_of(model)) == 50
    )
    assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])


@pytest.mark.parametrize("calibration", ["cross", "part"])
@pytest.mark.parametrize("max_iter", [1, 40, 200])
def test_a_limit_leaves_a_usable_model(calibration, max_iter):
    X, y, _ = overlapping(0)
    model = preference_svc(calibration=calibration, C=10, max_iter=max_iter, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    assert model.termination_condition_ == "max_iter"
    assert np.isfinite(model.decision_function(X)).all()
    assert model.operating_point_ is not None


def test_costs_and_C_unlabeled_are_prices():
    """A positive row that costs three times as much is three rows; with a soft price near 0,
    soft labels do nothing.
    """
    X, y, _ = overlapping(0)
    how = {"calibration": "full", "adjust": None, "tol": 1e-8, "gamma": 0.3}
    costly = preference_svc(costs={0: 1.0, 1: 3.0}, C_unlabeled=1e-9, **how).fit(X, y)
    oracle = SVC(class_weight={1: 3.0}, gamma=0.3, tol=1e-8).fit(X[y >= 0], y[y >= 0])
    assert_allclose(costly.decision_function(X), oracle.decision_function(X), atol=1e-4)


# bad input: one clear sentence each

BAD = [
    ({"min_precision": 0.0}, "min_precision"),
    ({"min_precision": 1.2}, "min_precision"),
    ({"min_recall": -0.1}, "min_recall"),
    ({"min_recall": {1: 1.5}}, r"min_recall must lie in \(0, 1\], got 1.5"),
    ({"min_precision": {7: 0.5}}, r"min_precision names the class 7, but the classes are \[0, 1\]"),
    ({"min_precision": {0: 0.5}}, "with two classes the targets are those of the second one, 1"),
    (
        {"confidence": 0.9},
        "confidence=0.9 needs a minimum to certify",
    ),
    ({"confidence": 1.0, "min_recall": 0.5}, "confidence"),
    ({"calibration": "half"}, "calibration"),
    ({"calibration": "part", "pool": "shrink"}, "pool"),
    ({"calibration": "part", "adjust": "worst"}, "adjust"),
    ({"calibration_size": 1.0}, "calibration_size"),
    ({"C_unlabeled": 0}, "C_unlabeled"),
    ({"calibration": "part", "max_rounds": 0}, "max_rounds"),
]


@pytest.mark.parametrize(("parameters", "sentence"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_bad_parameters_are_refused_in_one_sentence(parameters, sentence):
    X, y, _ = overlapping(0)
    with pytest.raises(ValueError, match=sentence):
        preference_svc(**parameters).fit(X, y)


@pytest.mark.parametrize("calibration", ["cross", "part"])
def test_a_class_with_a_single_label_is_refused(calibration):
    X, y, truth = overlapping(0)
    y = np.full(len(y), -1)
    y[np.flatnonzero(truth == 0)[:20]] = 0
    y[np.flatnonzero(truth == 1)[0]] = 1
    with pytest.raises(
        ValueError,
        match=r"needs at least 2 labeled rows.*class 1 has 1.*: label more rows of it",
    ):
        preference_svc(calibration=calibration).fit(X, y)
    with pytest.raises(ValueError, match="each class needs at least two, and class 1 has 1"):
        preference_svc(calibration=calibration, confidence=0.9, min_recall=0.5).fit(X, y)


def test_too_few_labels_beside_those_of_the_certificate_are_refused():
    X, y, truth = overlapping(0)
    y = np.full(len(y), -1)
    y[np.flatnonzero(truth == 0)[:20]] = 0
    y[np.flatnonzero(truth == 1)[:2]] = 1
    with pytest.raises(ValueError, match="class 1 has 1 without those of the certificate"):
        PreferenceSVC(confidence=0.9, min_recall=0.5).fit(X, y)


def test_it_works_on_iris_with_names_of_flowers():
    iris = load_iris()
    names = iris.target_names[iris.target].astype(object)
    names[np.arange(150) % 5 != 0] = None
    model = PreferenceSVC(random_state=0).fit(iris.data, names)
    assert (model.predict(iris.data) == iris.target_names[iris.target]).mean() > 0.9


def test_costs_of_single_rows_are_not_a_parameter():
    X, y, _ = overlapping(0)
    with pytest.raises(TypeError, match="sample_cost"):
        PreferenceSVC().fit(X, y, sample_cost=np.ones(len(y)))


def test_warnings_point_at_the_line_that_called_fit():
    X, y, _ = overlapping(1)
    with pytest.warns(
        (UserWarning, ConvergenceWarning), match="No threshold gives|ended early"
    ) as told:
        PreferenceSVC(min_precision=0.99, min_recall=0.99, max_iter=300, random_state=0).fit(X, y)
    assert len(told) == 2
    assert {warning.filename for warning in told} == {__file__}


def test_score_counts_labeled_rows_only():
    X, y, truth = overlapping(0)
    model = PreferenceSVC(random_state=0).fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X[y >= 0]) == y[y >= 0])
    assert model.score(X, truth) == np.mean(model.predict(X) == truth)


@pytest.mark.parametrize("calibration", ["cross", "part"])
def test_the_solver_is_at_most_the_eighth_frame_below_fit_where_soft_rows_train(
    calibration, monkeypatch
):
    depths = []

    def count(*arguments, solver, **settings):
        names = [
            frame.name
            for frame in traceback.extract_stack()
            if "/semisvm/estimators/" in frame.filename
        ]
        depths.append(len(names) - 1 - names.index("fit"))
        return solver(*arguments, **settings)

    monkeypatch.setattr(forms, "solve", partial(count, solver=dual.solve))
    monkeypatch.setattr(forms, "solve_many", partial(count, solver=dual.solve_many))
    X, y, _ = noisy_clouds()
    preference_svc(C=10, gamma=0.1, calibration=calibration, random_state=0).fit(X, y)
    assert max(depths) <= 7


def test_the_rest_of_the_contract_of_training_holds_without_probabilities():
    """With probabilities scikit-learn expects predict to give the most probable class;
    thresholds are for another.
    """
    check_classifiers_train("PaperPreferenceSVC", preference_svc(calibration="full"))
