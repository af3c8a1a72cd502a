"""PreferenceClassifier: the same rounds around other classifiers."""

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state

from histories import RoundCounter, records_of
from preference_data import overlapping, three_classes
from semisvm import PreferenceClassifier, PreferenceSVC, ThresholdClassifier
from semisvm.decision import Target, certify
from semisvm.estimators.preference import _cross
from semisvm.estimators.preference._learner import ALL_LABELS, ClassifierLearner
from semisvm.estimators.progress import Watch

CLASSIFIERS = [
    GaussianNB(),
    MLPClassifier((4,), solver="lbfgs", alpha=1.0, max_iter=30, random_state=0),
    LogisticRegression(),
    HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, early_stopping=False),
]


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # it is not asked to, for speed
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_any_classifier_is_held_to_a_recall(classifier):
    X, y, truth = overlapping(1, n=240, n_labeled=80, share_positive=0.4)
    model = PreferenceClassifier(classifier, min_recall=0.9, random_state=0).fit(X, y)
    point = model.operating_point_
    assert point.reached
    assert point.recall.value >= 0.9
    assert type(model.estimators_[0]) is type(classifier)
    assert (model.predict(X)[truth == 1] == 1).mean() > 0.75
    assert list(model.audit_) == ["supervised", "supervised + threshold", "with unlabeled"]
    assert model.history_[0].round == 0
    assert (
        model.history_[-1].n_iter <= model.n_iter_ <= model.history_[-1].n_iter + 2
    )  # the chosen one, on all labels
    assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])


def test_around_an_svm_it_is_the_preference_svm(monkeypatch):
    """Both have the same rounds: with scikit-learn's SVC inside, always refitted, the decisions
    are the same.
    """
    X, y, _ = overlapping(0, n=160)
    monkeypatch.setattr(_cross, "N_DRAWS", 1)
    monkeypatch.setattr(
        "semisvm.estimators.preference.classifier.FEW_CANDIDATES", _cross.CANDIDATES
    )
    how = {"random_state": 4, "min_recall": 0.85}
    ours = PreferenceSVC(C=2, gamma=0.3, tol=1e-9, **how).fit(X, y)
    wrapped = PreferenceClassifier(SVC(C=2, gamma=0.3, tol=1e-9), **how).fit(X, y)
    assert_allclose(wrapped.decision_function(X), ours.decision_function(X), atol=1e-5)
    assert [r["soft_positive"] for r in records_of(wrapped)] == [
        r["soft_positive"] for r in records_of(ours)
    ]


def test_probabilities_become_log_odds():
    X, y, _ = overlapping(0, n=100, n_labeled=100)
    model = PreferenceClassifier(GaussianNB()).fit(X, y)
    log_odds = np.diff(model.estimators_[0].predict_log_proba(X), axis=1)[:, 0]
    assert_allclose(model.decision_function(X) + model.threshold_[0], log_odds, rtol=1e-6)


def test_a_share_is_a_weight_or_a_chance():
    """Without weights the same rows take part for the same share, and all labeled rows take
    part.
    """
    X, y, truth = overlapping(0, n=400)
    sign = np.where(truth == 1, 1, -1)
    price = np.ones(400)
    share = np.where(y >= 0, 1.0, 0.25)
    neighbors = ClassifierLearner(
        KNeighborsClassifier(),
        X,
        None,
        price,
        check_random_state(0),
        Watch(None, None, "1 vs 0", verbose=False),
        problem="1 vs 0",
    )
    neighbors.train(sign, share, ALL_LABELS)
    n_rows = neighbors.model.n_samples_fit_
    assert 60 + 55 < n_rows < 60 + 115
    logistic = ClassifierLearner(
        LogisticRegression(),
        X,
        None,
        price,
        check_random_state(0),
        Watch(None, None, "1 vs 0", verbose=False),
        problem="1 vs 0",
    )
    logistic.train(sign, share, ALL_LABELS)
    oracle = LogisticRegression().fit(X, (sign > 0).astype(int), sample_weight=share)
    assert_allclose(logistic.model.coef_, oracle.coef_)


@pytest.mark.parametrize("asked", [{}, {"min_recall": 0.5}])
def test_a_row_of_weight_two_is_two_rows_where_labels_are_compared_with_other_rows(asked):
    X, y, _ = overlapping(0, n=200, n_labeled=60)
    times = np.where(np.arange(200) % 3 == 0, 2, 1)
    model = PreferenceClassifier(GaussianNB(), random_state=0, **asked)
    weighted = clone(model).fit(X, y, sample_weight=times).fair_sample_
    assert weighted == model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).fair_sample_


def test_sample_weights_need_an_estimator_that_takes_them():
    X, y, _ = overlapping(0)
    with pytest.raises(
        ValueError, match="KNeighborsClassifier takes no sample_weight: leave it out"
    ):
        PreferenceClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.full(len(y), 0.5))


def test_several_classes_are_one_against_the_rest():
    X, y, truth = three_classes()
    model = PreferenceClassifier(
        LogisticRegression(), min_precision={"spam": 0.9}, random_state=0
    ).fit(X, y)
    assert len(model.estimators_) == 3
    assert model.operating_points_["spam"].precision.value >= 0.9
    assert model.decision_function(X).shape == (len(X), 3)
    assert (model.predict(X) == truth).mean() > 0.75


def test_a_certificate():
    X, y, _ = overlapping(0, n=600, n_labeled=400)
    model = PreferenceClassifier(GaussianNB(), min_recall=0.7, confidence=0.9, random_state=0).fit(
        X, y
    )
    assert model.operating_point_.level == "certified"
    assert model.operating_point_.reached
    assert model.operating_point_.counts.rows == len(model.calibration_scores_[1]) == 200


def test_a_precision_is_certified_even_if_the_highest_scores_are_not_the_surest():
    """The labels that train say where to start: from the highest score down, the first test
    would fail and end it.
    """
    rng = np.random.default_rng(0)
    x = rng.uniform(size=1000)
    y = (rng.uniform(size=1000) < np.where(x > 0.95, 0.3, np.where(x > 0.6, 0.95, 0.2))).astype(int)
    model = PreferenceClassifier(
        LogisticRegression(),
        min_precision=0.75,
        confidence=0.9,
        random_state=0,
    ).fit(x[:, None], y)
    scores = model.calibration_scores_[1]
    sign = model.calibration_sign_[1]
    assert not certify(scores, sign, Target(min_precision=0.75)).reached
    assert model.operating_point_.reached
    assert model.operating_point_.recall.value > 0.5


def test_it_wraps_a_pipeline_and_clones():
    X, y, _ = overlapping(0)
    model = PreferenceClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), random_state=0
    )
    one = clone(model).fit(X, y)
    other = clone(model).fit(X, y)
    assert_array_equal(one.decision_function(X), other.decision_function(X))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_rounds_are_printed_where_asked(capsys):
    X, y, _ = overlapping(0)
    PreferenceClassifier(GaussianNB(), verbose=True, random_state=0).fit(X, y)
    assert "[1 vs 0] round 0" in capsys.readouterr().out


def test_every_training_is_told(capsys, monkeypatch):
    monkeypatch.setattr("semisvm.estimators.progress.SECONDS_BETWEEN_LINES", 0.0)
    X, y, _ = overlapping(0)
    model = PreferenceClassifier(GaussianNB(), verbose=True, random_state=0)
    counting = RoundCounter(most=10**6, task="look")
    model.set_callbacks(counting).fit(X, y)
    assert counting.n_rounds == model.n_iter_
    told = capsys.readouterr().out
    assert all(f"[PreferenceClassifier] {n + 1} trainings" in told for n in range(model.n_iter_))


def test_a_stop_between_trainings_keeps_the_round_that_is_under_way():
    X, y, _ = overlapping(0)
    model = PreferenceClassifier(GaussianNB(), random_state=0).set_callbacks(
        RoundCounter(most=2, task="look")
    )
    model.fit(X, y)
    assert (model.termination_condition_, len(model.history_)) == ("stopped_by_callback", 1)
    assert set(model.predict(X)) == {0, 1}


@pytest.mark.parametrize("estimator", [StandardScaler(), "GaussianNB"])
def test_what_has_no_scores_is_refused(estimator):
    X, y, _ = overlapping(0)
    with pytest.raises(
        ValueError, match="The 'estimator' parameter of PreferenceClassifier must be"
    ):
        PreferenceClassifier(estimator).fit(X, y)


def test_score_counts_labeled_rows_only():
    X, y, truth = overlapping(0)
    model = PreferenceClassifier(GaussianNB(), random_state=0).fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X[y >= 0]) == y[y >= 0])
    assert model.score(X, truth) == np.mean(model.predict(X) == truth)


def test_warnings_point_at_the_line_that_called_fit():
    X, y, _ = overlapping(1)
    with pytest.warns(UserWarning, match="No threshold gives") as told:
        PreferenceClassifier(GaussianNB(), min_precision=0.99, min_recall=0.99, random_state=0).fit(
            X, y
        )
    assert told[0].filename == __file__


def test_folds_in_parallel_give_the_same_model_with_few_trainings():
    X, y, _ = overlapping(0, n=160)
    one, two = (
        PreferenceClassifier(
            LogisticRegression(), min_recall=0.85, random_state=0, n_jobs=n_jobs
        ).fit(X, y)
        for n_jobs in (None, 2)
    )
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert one.n_iter_ == two.n_iter_ <= 18


def test_callbacks_see_every_round_and_may_stop_the_fit():
    X, y, _ = overlapping(1, n=300, n_labeled=120)
    counting = RoundCounter(most=10**6)
    model = PreferenceClassifier(LogisticRegression(), random_state=0)
    whole = clone(model).set_callbacks(counting).fit(X, y)
    assert counting.n_rounds == len(whole.history_) > 1
    plain = clone(model).fit(X, y)
    assert whole.operating_point_ == plain.operating_point_
    stopped = clone(model).set_callbacks(RoundCounter(most=1)).fit(X, y)
    assert stopped.termination_condition_ == "stopped_by_callback"
    assert len(stopped.history_) == 1
    assert set(stopped.predict(X)) == {0, 1}


def test_a_stop_leaves_every_class_with_its_first_round():
    X, y, _ = three_classes()
    model = PreferenceClassifier(LogisticRegression(), unlabeled="", random_state=0)
    stopped = model.set_callbacks(RoundCounter(most=1)).fit(X, y)
    assert [record.problem for record in stopped.history_] == [
        f"{name} vs rest" for name in stopped.classes_
    ]
    assert (stopped.termination_condition_, len(stopped.estimators_)) == ("stopped_by_callback", 3)


def test_rows_without_a_score_are_refused_and_warn_of_nothing():
    X, y, _ = overlapping(0)
    model = PreferenceClassifier(LogisticRegression(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Row 1 has no score"):
        model.predict(
            np.where(np.arange(len(X))[:, None] == 1, [[1.7e308] * X.shape[1]], X) * np.sign(X)
        )


def test_numbers_in_an_array_of_objects_are_the_same_rows():
    X, y, _ = overlapping(2, n=200, n_labeled=80)
    plain, objects = (
        PreferenceClassifier(GaussianNB(), min_recall=0.8, random_state=0).fit(rows, y)
        for rows in (X, X.astype(object))
    )
    assert objects.operating_point_ == plain.operating_point_
    assert objects.fair_sample_ == plain.fair_sample_
    assert_array_equal(objects.decision_function(X), plain.decision_function(X))


# ---- beside TunedThresholdClassifierCV ----


@pytest.mark.parametrize("to_frame", [pd.DataFrame, polars.DataFrame])
def test_a_classifier_that_knows_columns_by_name_gets_the_frame(to_frame):
    X, y, _ = overlapping(1, n=240, n_labeled=80)
    frame = to_frame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v"), "b": X[:, 1]})
    array = np.column_stack([X[:, 0], np.where(X[:, 1] > 0, "u", "v"), X[:, 1]]).astype(object)
    array[:, [0, 2]] = X[:, :2]
    try:
        make_column_transformer((StandardScaler(), ["a"])).fit(frame)
    except AttributeError:
        pytest.skip("scikit-learn 1.6 can't select columns of polars 2")

    def fitted(names, rows):
        numbers, words = (StandardScaler(), names[:2]), (OneHotEncoder(), names[2:])
        columns = make_column_transformer(numbers, words)
        classifier = make_pipeline(columns, LogisticRegression())
        return PreferenceClassifier(classifier, min_recall=0.8, random_state=0).fit(rows, y)

    of_names = fitted(["a", "b", "kind"], frame)
    of_places = fitted([0, 2, 1], array)
    assert_allclose(of_names.decision_function(frame), of_places.decision_function(array))
    assert of_names.feature_names_in_.tolist() == ["a", "kind", "b"]
    with pytest.raises(ValueError, match="yet now missing:\n- b"):
        of_names.predict(frame[["a", "kind"]])
    frozen = PreferenceClassifier(FrozenEstimator(of_names.estimator_), min_recall=0.8)
    assert frozen.fit(frame, y).operating_point_.recall.value >= 0.8


@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_texts_reach_a_classifier_of_texts(form):
    X, y, truth = overlapping(1, n=240, n_labeled=80)
    texts = form(
        [f"{'up' if a > 0 else 'down'} {'left' if b > 0 else 'right'}" for a, b in X[:, :2]]
    )
    classifier = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = PreferenceClassifier(classifier, min_recall=0.8, random_state=0).fit(texts, y)
    assert model.operating_point_.recall.value >= 0.8
    assert_array_equal(model.predict(texts)[y < 0], model.transduction_[y < 0])
    assert np.mean(model.predict(texts)[truth == 1] == 1) > 0.7


def test_the_attributes_of_tuned_thresholds_have_their_names():
    X, y = make_classification(400, n_informative=4, class_sep=1.5, random_state=0)
    model = PreferenceClassifier(LogisticRegression(), min_precision=0.8, random_state=0).fit(X, y)
    tuned = TunedThresholdClassifierCV(LogisticRegression()).fit(X, y)
    for name in ("estimator_", "best_threshold_", "classes_"):
        assert isinstance(getattr(tuned, name), type(getattr(model, name)))
    scores = model.estimator_.decision_function(X)
    assert_array_equal(model.predict(X), (scores > model.best_threshold_).astype(int))
    results = model.cv_results_
    held_out = model.calibration_scores_[1]
    is_positive = model.calibration_sign_[1] > 0
    for k in range(0, len(results["thresholds"]) - 1, 40):
        accepted = held_out > results["thresholds"][k]
        assert results["recall"][k] == pytest.approx(accepted[is_positive].mean())
        if accepted.any():
            assert results["precision"][k] == pytest.approx(is_positive[accepted].mean())
    X, y = make_blobs(90, centers=3, random_state=0)
    many = PreferenceClassifier(LogisticRegression(), random_state=0).fit(X, y)
    for name in ("estimator_", "best_threshold_", "cv_results_"):
        assert not hasattr(many, name)


def test_a_fitted_classifier_gets_a_threshold_and_is_not_trained():
    X, y = make_classification(600, n_informative=4, class_sep=1.5, random_state=0)
    fitted = LogisticRegression().fit(X[:200], y[:200])
    coef = fitted.coef_.copy()
    model = PreferenceClassifier(FrozenEstimator(fitted), min_precision=0.9, random_state=0)
    model.fit(X[200:], y[200:])
    assert_array_equal(fitted.coef_, coef)
    assert_array_equal(
        model.decision_function(X), fitted.decision_function(X) - model.best_threshold_
    )
    accepted = model.predict(X[200:]) == 1
    assert y[200:][accepted].mean() >= 0.9
    with pytest.raises(ValueError, match="must have the two classes of y"):
        model.fit(X[200:], np.where(y[200:] > 0, "spam", "ham"))


def test_a_threshold_passes_the_probabilities_on():
    X, y = make_classification(200, random_state=0)
    inner = LogisticRegression().fit(X, y)
    model = ThresholdClassifier.around(FrozenEstimator(inner), 1.0)
    assert_array_equal(model.predict_proba(X), inner.predict_proba(X))
    assert_array_equal(model.predict_log_proba(X), inner.predict_log_proba(X))
    assert model.fit(X[:50], y[:50]).predict(X).sum() < inner.predict(X).sum()
    assert not hasattr(ThresholdClassifier(LinearSVC()), "predict_proba")
