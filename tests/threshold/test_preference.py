"""A threshold by out-of-fold scores: what is promised, on whatever rows and classifiers."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.semi_supervised import LabelSpreading

from semisvm import PreferenceClassifier, PreferenceSVC, SupervisedSVC, TransductiveSVC
from semisvm.threshold import choose_threshold
from semisvm.threshold.preference import knows_unlabeled
from semisvm.threshold.soft_labels import cross_fit_candidates, with_soft_labels

X, TRUTH = load_breast_cancer(return_X_y=True)
X, TRUTH = scale(X)[:300], TRUTH[:300]
Y = np.where(np.random.default_rng(0).permutation(300) < 120, TRUTH, -1)
CV = StratifiedKFold(3, shuffle=True, random_state=0)
CLASSIFIERS = {
    "SVC": PreferenceSVC(random_state=0),
    "SVM": PreferenceClassifier(SupervisedSVC(), random_state=0),
    "NB": PreferenceClassifier(GaussianNB(), random_state=0),
    "KNN": PreferenceClassifier(KNeighborsClassifier(), random_state=0),
    "TSVM": PreferenceClassifier(TransductiveSVC(), random_state=0),
    "pipeline": PreferenceClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), random_state=0
    ),
    "spreading": PreferenceClassifier(LabelSpreading(kernel="knn"), random_state=0),
}


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("target", [{"min_precision": 0.97}, {"min_recall": 0.98}, {}])
def test_the_operating_point_is_what_the_out_of_fold_scores_give(model, target):
    model = clone(model).set_params(**target).fit(X, Y)
    labeled = Y >= 0
    scores = model.out_of_fold_scores_
    assert np.isnan(scores[~labeled]).all()
    again = choose_threshold(np.nan_to_num(scores), np.where(labeled, 2 * Y - 1, 0), **target)
    assert again.f1 == pytest.approx(model.operating_point_.f1)
    accepted = scores[labeled] > 0
    point = model.operating_point_
    assert point.precision.value == pytest.approx(Y[labeled][accepted].mean())
    assert point.recall.value == pytest.approx(accepted[Y[labeled] == 1].mean())
    assert point.reached
    # The score less the threshold, and accepted where it is above 0.
    found = model.decision_function(X)
    assert model.predict(X).tolist() == (found > 0).astype(int).tolist()
    if model.get_params().get("estimator") is not None and hasattr(
        model.estimator_, "decision_function"
    ):
        own = model.estimator_.decision_function(X)
        np.testing.assert_allclose(own - model.threshold_, found)
    assert model.score(X, Y) == np.mean(model.predict(X)[labeled] == Y[labeled])
    assert model.n_features_in_ == 30


def test_targets_hold_on_new_rows_on_average():
    """Digits 3, 8 and 9 against the rest: the targets are missed by little, on average."""
    rows, digit = load_digits(return_X_y=True)
    truth = np.isin(digit, (3, 8, 9)).astype(int)
    found = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(truth))
        new, y = order[1000:], np.where(np.arange(1000) < 200, truth[order[:1000]], -1)
        for target in ("min_precision", "min_recall"):
            model = PreferenceSVC(random_state=0, **{target: 0.95}).fit(rows[order[:1000]], y)
            accepted = model.predict(rows[new]) == 1
            found.append((truth[new][accepted].mean(), accepted[truth[new] == 1].mean()))
    precision, recall = np.array(found).reshape(4, 2, 2).mean(axis=0)
    assert precision[0] > 0.92
    assert recall[1] > 0.92
    assert precision[1] > 0.8
    assert recall[0] > 0.8


def test_out_of_fold_scores_are_of_fits_without_the_label():
    model = PreferenceClassifier(GaussianNB(), cv=CV).fit(X, Y)
    labeled = np.flatnonzero(Y >= 0)
    for train, test in CV.split(labeled[:, None], Y[labeled]):
        log_p = GaussianNB().fit(X[labeled[train]], Y[labeled[train]]).predict_log_proba(X)
        expected = np.diff(log_p)[labeled[test], 0]
        found = model.out_of_fold_scores_[labeled[test]] + model.threshold_
        expected = np.clip(expected, -690.7, 690.7)  # log-odds of 1e-300
        np.testing.assert_allclose(np.clip(found, -690.7, 690.7), expected, rtol=1e-6)
    svm = PreferenceSVC(cv=CV, tol=1e-8).fit(X, Y)
    other = PreferenceClassifier(SupervisedSVC(gamma=1 / 30, tol=1e-8), cv=CV).fit(X, Y)
    svm = svm.set_params(gamma=1 / 30).fit(X, Y)
    np.testing.assert_allclose(
        svm.out_of_fold_scores_[labeled], other.out_of_fold_scores_[labeled], atol=1e-5
    )


@pytest.mark.parametrize("model", [CLASSIFIERS["SVC"], CLASSIFIERS["SVM"]], ids=["SVC", "SVM"])
@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.asfortranarray(X),
        lambda X: X.copy()[:, ::-1],
        lambda X: csr_matrix(X),
        lambda X: X.astype(object),
    ],
    ids=["Fortran", "columns", "sparse", "object"],
)
def test_the_form_of_the_rows_does_not_matter(model, change):
    expected = clone(model).fit(X, Y).decision_function(X)
    found = clone(model).fit(change(X), Y).decision_function(change(X))
    np.testing.assert_allclose(found, expected, atol=5e-3)  # the solver's tolerance is 1e-3


def test_the_order_of_the_rows_does_not_matter_to_the_svm():
    expected = PreferenceSVC(random_state=0, min_precision=0.97).fit(X, Y)
    order = np.random.default_rng(1).permutation(300)
    found = PreferenceSVC(random_state=0, min_precision=0.97).fit(X[order], Y[order])
    assert found.threshold_ == expected.threshold_
    for ours, theirs in (
        (found.decision_function(X), expected.decision_function(X)),
        (found.out_of_fold_scores_, expected.out_of_fold_scores_[order]),
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_names_of_classes_do_not_matter(model):
    expected = clone(model).fit(X, Y).predict(X)
    names = np.array(["", "ham", "spam"])[Y + 1]
    if "spreading" in repr(model).lower():
        return  # scikit-learn's own knows the marker -1 alone
    found = clone(model).fit(X, names)
    assert found.classes_.tolist() == ["ham", "spam"]
    assert (found.predict(X) == "spam").tolist() == (expected == 1).tolist()


def test_precomputed_kernels_and_texts():
    K = rbf_kernel(X, gamma=1 / 30)
    how = {"min_recall": 0.97, "random_state": 0}
    expected = PreferenceSVC(gamma=1 / 30, **how).fit(X, Y).predict(X)
    assert (
        PreferenceSVC(kernel="precomputed", **how).fit(K, Y).predict(K) == expected
    ).mean() > 0.98
    inside = PreferenceClassifier(TransductiveSVC(kernel="precomputed"), **how).fit(K, Y)
    assert (inside.predict(K) == expected).mean() > 0.9
    with pytest.raises(ValueError, match="precomputed kernel: use PreferenceSVC"):
        PreferenceClassifier(SupervisedSVC(kernel="precomputed"), **how).fit(K, Y)
    texts = [f"{'good fine' if y else 'bad poor'} word{i}" for i, y in enumerate([0, 1] * 20)]
    y = [0, 1] * 10 + [-1] * 20
    model = PreferenceClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    assert model.fit(texts, y).predict(texts[:2]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "make", [PreferenceSVC, lambda **how: PreferenceClassifier(SupervisedSVC(), **how)]
)
def test_weights(make):
    cv = [
        (np.flatnonzero(np.arange(300) % 3 != k), np.flatnonzero(np.arange(300) % 3 == k))
        for k in range(3)
    ]
    rows, y = X[:300], TRUTH[:300]
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    weight[weight == 0] = 1.0
    half = make(cv=cv).fit(rows, y, 0.5 * weight)
    # Half the weight is half of C; the threshold sees proportions alone.
    c = {"C": 2.0} if make is PreferenceSVC else {}
    again = make(cv=cv, **c)
    if not c:
        again.set_params(estimator__C=2.0)
    again.fit(rows, y, 0.25 * weight)
    assert again.threshold_ == pytest.approx(half.threshold_, abs=2e-3)
    weight[:100] = 0  # rows without a weight are as if they were not there
    gone = make(cv=cv).fit(rows, y, weight)
    assert np.isnan(gone.out_of_fold_scores_[:100]).all()
    heavier = make(min_precision=0.9, random_state=0).fit(rows, y, np.where(y == 0, 50.0, 1.0))
    lighter = make(min_precision=0.9, random_state=0).fit(rows, y)
    assert heavier.predict(rows).sum() < lighter.predict(rows).sum()


def test_a_frozen_classifier_is_not_trained():
    fitted = GaussianNB().fit(X[150:], TRUTH[150:])
    y = TRUTH[:150]
    model = PreferenceClassifier(FrozenEstimator(fitted), min_precision=0.9).fit(X[:150], y)
    np.testing.assert_allclose(model.estimator_.predict_proba(X), fitted.predict_proba(X))
    assert model.operating_point_.reached
    with pytest.raises(ValueError, match=r"knows the classes \[0, 1\], and y has \['a', 'b'\]"):
        PreferenceClassifier(FrozenEstimator(fitted)).fit(X[:150], np.array(["a", "b"])[y])


def test_which_classifiers_know_unlabeled_rows():
    for known in (TransductiveSVC(), LabelSpreading(), make_pipeline(TransductiveSVC())):
        assert knows_unlabeled(known)
    for other in (SupervisedSVC(), GaussianNB(), make_pipeline(StandardScaler(), SupervisedSVC())):
        assert not knows_unlabeled(other)


def test_soft_labels_by_hand():
    sign = np.array([1.0, -1, -1, 0, 0, 0, 0, 0, 0])
    values = np.array([0.0, 0, 0, 5, 1, 4, 3, 2, 6])
    learned, share = with_soft_labels(sign, values, np.arange(3, 9))
    # A third of six is two: one of them surer, and the surer two of the four others.
    assert learned.tolist() == [1, -1, -1, 0, -1, 0, 0, -1, 1]
    assert share.tolist() == [1, 1, 1, 0, 0.03, 0, 0, 0.03, 0.03]


@pytest.mark.parametrize("helps", [True, False])
def test_soft_labels_are_used_if_they_help_and_not_otherwise(helps):
    rng = np.random.default_rng(0)
    sign = np.append(rng.choice([-1.0, 1.0], 100), np.zeros(50))
    noise = rng.normal(size=150)

    def train_many(trainings):  # scores that are better, or worse, with soft rows
        is_soft = [bool((share % 1).any()) for _, share in trainings]
        return [sign + noise * (0.2 if soft == helps else 1.0) for soft in is_soft]

    folds = [(np.arange(150), np.arange(k, 100, 5)) for k in range(5)]
    found = cross_fit_candidates(train_many, sign, np.arange(100, 150), [folds], {}, seed=0)
    assert found.uses_soft == helps
    assert (found.gain > 0) == helps
    np.testing.assert_allclose(found.scores[:100], (sign + 0.2 * noise)[:100])
    alone = cross_fit_candidates(train_many, sign, np.empty(0, int), [folds], {}, seed=0)
    assert not alone.uses_soft


def test_folds_guess_without_the_labels_that_they_test():
    """Otherwise the held-out labels would come back through the soft ones."""
    seen = []

    def train_many(trainings):
        seen.extend(trainings)
        return [np.arange(30.0)] * len(trainings)

    sign = np.append(np.tile([1.0, -1.0], 10), np.zeros(10))
    folds = [(np.arange(30), np.arange(k, 20, 4)) for k in range(4)]
    cross_fit_candidates(train_many, sign, np.arange(20, 30), [folds], {}, seed=0)
    for (learned, share), (_, test) in zip(seen, folds + folds, strict=True):
        assert not learned[test].any()
        assert not share[test].any()


@pytest.mark.parametrize(
    "make", [PreferenceSVC, lambda **how: PreferenceClassifier(GaussianNB(), **how)]
)
@pytest.mark.parametrize(
    ("y", "how", "message"),
    [
        (
            np.arange(60) % 3,
            {},
            "multiclass: y has 3 classes. A precision or recall is that of one",
        ),
        ([0] * 58 + [1, -1], {}, "at least 2 labeled rows of each class, and class 1 has 1"),
        ([0, 1] * 30, {"min_precision": 1.5}, "'min_precision' parameter .* in the range"),
        (None, {}, "requires y to be passed"),
    ],
)
def test_what_cannot_work_is_refused(make, y, how, message):
    with pytest.raises(ValueError, match=message):
        make(**how).fit(X[:60], y)


def test_other_refusals_and_the_warning():
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        PreferenceClassifier(KNeighborsClassifier()).fit(X, Y, np.ones(300))
    with pytest.raises(ValueError, match=r"different classes|one class"):
        PreferenceClassifier(GaussianNB(), cv=KFold(2)).fit(X[:60], np.repeat([0, 1], 30))
    y = np.random.default_rng(0).integers(0, 2, 60)
    for model in (PreferenceSVC(), PreferenceClassifier(GaussianNB())):
        model.set_params(min_precision=0.99, min_recall=0.9, random_state=0)
        with pytest.warns(UserWarning, match="threshold is taken: .* no threshold gives") as told:
            model.fit(X[:60], y)
        assert told[0].filename == __file__
        assert not model.operating_point_.reached
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PreferenceSVC(min_precision=0.9, random_state=0).fit(X, Y)


def test_a_fit_that_fails_leaves_the_model_whole():
    model = PreferenceClassifier(GaussianNB(), random_state=0).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=r"infinity|NaN"):
        model.fit(np.full_like(X, np.inf), Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
