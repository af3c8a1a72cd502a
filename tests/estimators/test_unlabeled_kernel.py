"""UnlabeledKernel: one kernel from all rows, for any estimator with a precomputed kernel."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from semisvm import AutoSVC, LabelMeanSVC, PreferenceSVC, SupervisedSVC, TransductiveSVC, UnlabeledKernel, load, save
from semisvm.estimators import preference as preference_module
from semisvm.estimators.auto import kernel as kernel_module
from semisvm.estimators.auto.families import crossed_scores, fit_families, labeled_target
from semisvm.estimators.auto.kernel import settle_kernel
from semisvm.estimators.auto.preparation import read_rows
from semisvm.estimators.auto.stacking import FamilySettings
from semisvm.estimators.problem import Costs, KernelParameters, Limits, TrainingProblem
from semisvm.estimators.progress import Progress
from semisvm.labels import Labels, encode


def moons(n=160, n_labeled=12):
    X, y = make_moons(n, noise=0.08, random_state=0)
    return X, np.where(np.arange(n) < n_labeled, y, -1), y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["auto", "euclidean", "cosine"])
def test_it_is_a_kernel_with_the_weights_of_auto_svc(form, metric):
    X, hidden, _ = moons()
    X = np.column_stack([X, X[::-1]])
    kernel = UnlabeledKernel(metric=metric)
    K = kernel.fit_transform(form(X), hidden)
    assert K.shape == (160, 160)
    assert_allclose(K, K.T, atol=1e-8)
    assert np.linalg.eigvalsh(K).min() > -1e-7
    assert np.trace(K) == pytest.approx(160)
    assert kernel.weights_ == AutoSVC(metric=metric).fit(form(X), hidden).weights_
    assert kernel.transform(form(X[:7] + 0.01)).shape == (7, 160)


def test_copies_of_a_row_have_its_kernel_values():
    X, hidden, _ = moons()
    twice = np.concatenate([X, X[:30]])
    K = UnlabeledKernel().fit_transform(twice, np.append(hidden, np.full(30, -1)))
    assert_allclose(K[160:], K[:30], atol=1e-12)
    assert_allclose(K[:, 160:], K[:, :30], atol=1e-12)


@pytest.mark.parametrize(
    "machine",
    [
        SupervisedSVC(C=10, kernel="precomputed"),
        SupervisedSVC(C=10, kernel="precomputed", costs={0: 1, 1: 3}),
        TransductiveSVC(C=10, kernel="precomputed"),
        LabelMeanSVC(kernel="precomputed"),
        PreferenceSVC(C=10, kernel="precomputed", min_recall=0.9, random_state=0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_every_machine_can_stand_on_it(machine):
    X, hidden, y = moons(n_labeled=24)
    model = make_pipeline(UnlabeledKernel(), machine).fit(X[:140], hidden[:140])
    assert np.mean(model.predict(X[:140]) == y[:140]) > 0.9
    assert np.mean(model.predict(X[140:]) == y[140:]) >= 0.8


def test_an_svm_on_it_is_nearly_as_good_as_the_average_of_machines():
    """Digits, two labels per class: an SVM on its own kernel has 23% errors, `AutoSVC` 6%."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:2] for c in range(10)])
    hidden = np.full(len(y), -1)
    hidden[rows] = y[rows]
    model = make_pipeline(UnlabeledKernel(), SupervisedSVC(C=10, kernel="precomputed")).fit(X, hidden)
    assert model.score(X, y) > 0.9


def test_too_many_rows_and_missing_labels_are_refused():
    with pytest.raises(ValueError, match="5000"):
        UnlabeledKernel().fit(np.zeros((5001, 1)), np.arange(5001) % 2)
    with pytest.raises(ValueError, match="target y is None"):
        UnlabeledKernel().fit(np.zeros((4, 1)), None)
    with pytest.raises(ValueError, match="different integers"):
        UnlabeledKernel((1, 1)).fit(np.arange(4.0)[:, None], [0, 1, -1, -1])


# ---- tables and texts ----


def customers(n=150, n_labeled=40):
    """A table with an empty cell and a category, and what is to be found in it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 12 * y, 6),
            "income": rng.lognormal(3 + 0.5 * y, 0.4),
            "city": np.where(rng.random(n) < 0.3 + 0.4 * y, "north", "south"),
        }
    )
    frame.loc[3, "age"] = np.nan
    return frame, np.where(np.arange(n) < n_labeled, y, -1), y


def messages(n=150, n_labeled=40):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    words = np.array([["rain", "wind", "cold", "storm", "day"], ["goal", "match", "team", "win", "day"]])
    return [" ".join(rng.choice(words[k], 6)) for k in y], np.where(np.arange(n) < n_labeled, y, -1), y


@pytest.mark.parametrize("make", [customers, messages])
def test_on_tables_and_texts_it_is_the_sum_over_the_families_that_are_kernels(make):
    X, hidden, _ = make()
    kernel = UnlabeledKernel()
    K = kernel.fit_transform(X, hidden)
    assert K.shape == (150, 150)
    assert_allclose(K, K.T, atol=1e-8)
    assert np.linalg.eigvalsh(K).min() > -1e-7
    assert np.trace(K) == pytest.approx(150)
    assert sum(kernel.weights_.values()) == pytest.approx(1)
    assert not [name for name in kernel.weights_ if "forest" in name or "extra" in name or "logistic" in name]
    families = {name.partition(":")[0] for name in kernel.weights_}
    assert len(families) == 3
    expected = 0
    for name, family in kernel._kernel.average.families.items():
        part = kernel._kernel._of_family(name, kernel._kernel.average.views.of(read_rows(kernel, X, reset=False)))
        assert np.trace(part) == pytest.approx(150), (name, family)
        expected = expected + kernel._kernel.average.weights[name] * part
    assert_allclose(K, expected)


@pytest.mark.parametrize("make", [customers, messages])
@pytest.mark.parametrize(
    "machine",
    [
        TransductiveSVC(C=10, kernel="precomputed"),
        LabelMeanSVC(kernel="precomputed", costs={0: 1, 1: 3}),
        PreferenceSVC(C=10, kernel="precomputed", min_precision=0.8, random_state=0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_machines_stand_on_it_with_tables_and_texts(make, machine):
    X, hidden, y = make()
    part = X[:120] if isinstance(X, list) else X.iloc[:120]
    rest = X[120:] if isinstance(X, list) else X.iloc[120:]
    model = make_pipeline(UnlabeledKernel(), machine).fit(part, hidden[:120])
    assert np.mean(model.predict(rest) == y[120:]) >= 0.7


@pytest.mark.parametrize("make", [customers, messages])
def test_a_pipeline_on_tables_and_texts_is_saved_and_loaded(make, tmp_path):
    X, hidden, _ = make(80, 20)
    model = make_pipeline(UnlabeledKernel(), SupervisedSVC(kernel="precomputed")).fit(X, hidden)
    save(model, tmp_path / "model.skops")
    assert_allclose(load(tmp_path / "model.skops").decision_function(X), model.decision_function(X))


def test_columns_of_a_table_may_be_named():
    frame, hidden, _ = customers()
    named = UnlabeledKernel(columns={"number": ["income"]}).fit_transform(frame, hidden)
    alone = UnlabeledKernel(columns="table").fit_transform(frame[["income"]].to_numpy(), hidden)
    assert_allclose(named, alone)
    points = UnlabeledKernel(columns="points").fit_transform(frame[["income"]], hidden)
    assert_allclose(points, UnlabeledKernel().fit_transform(frame[["income"]].to_numpy(), hidden))


# ---- PreferenceSVC on it ----


def test_a_preference_svc_on_the_kernel_is_the_one_on_its_matrix():
    X, hidden, _ = moons(n_labeled=40)
    told = {"C": 10, "min_recall": 0.9, "probability": True, "random_state": 0}
    own = PreferenceSVC(kernel="unlabeled", **told).fit(X, hidden)
    K = UnlabeledKernel().fit_transform(X, hidden)
    other = PreferenceSVC(kernel="precomputed", **told).fit((K + K.T) / 2, hidden)
    assert_allclose(own._raw_scores(X), other._raw_scores(K), atol=1e-6)  # thresholds depend on the draw of folds
    assert own.operating_point_.reached
    assert_allclose(own.predict_proba(X[:20]).sum(axis=1), 1)
    new = X[:5] + 0.01
    kernel = UnlabeledKernel().fit(X, hidden)
    assert_allclose(own._raw_scores(new), other._raw_scores(kernel.transform(new)), atol=1e-6)


def test_rows_that_certify_have_no_part_in_the_kernel(monkeypatch):
    given = []

    def spy(problem):
        given.append(problem)
        return settle_kernel(problem)

    monkeypatch.setattr(preference_module, "settle_kernel", spy)
    X, y = make_moons(300, noise=0.1, random_state=0)
    hidden = np.where(np.random.default_rng(0).random(300) < 0.5, y, -1)
    model = PreferenceSVC(C=10, kernel="unlabeled", min_precision=0.8, confidence=0.8, random_state=0)
    model.fit(X, hidden)
    assert model.operating_point_.level == "certified"
    [part] = given
    n_labels = np.count_nonzero(hidden >= 0)
    n_certifying = n_labels - np.count_nonzero(part.labels.is_labeled)
    assert n_certifying == pytest.approx(n_labels / 2, abs=2)
    assert part.n_rows == 300 - n_certifying
    assert len(model._formula.function.average.library.geometry.mass) == part.n_rows  # nor in the one for new rows
    outside = np.isin(X[:, 0], part.X[:, 0], invert=True)
    assert np.mean(model.predict(X[outside]) == y[outside]) > 0.9


@pytest.mark.parametrize("seed", [0, 1, 3, 6])
def test_auto_takes_the_kernel_with_the_smaller_leave_one_out_error(seed):
    """The errors by hand: the average with weights from other folds, and a machine on the plain kernel refitted."""
    rng = np.random.default_rng(seed)
    X, y = make_moons(150, noise=0.1, random_state=seed) if seed % 2 else (rng.standard_normal((150, 3)), None)
    y = (np.abs(X[:, 0]) > 0.7).astype(int) if y is None else y
    labeled = rng.permutation(150)[:24]
    hidden = np.full(150, -1)
    hidden[labeled] = y[labeled]
    labeled.sort()
    Y = 2.0 * y[labeled] - 1
    K = rbf_kernel(X[labeled], gamma=1 / (X.shape[1] * X.var()))
    alone = 0.0
    for i in range(24):
        rest = np.delete(np.arange(24), i)
        system = np.ones((24, 24))
        system[:-1, :-1], system[-1, -1] = K[np.ix_(rest, rest)] + 0.1 * np.eye(23), 0
        a = np.linalg.solve(system, np.append(Y[rest], 0))
        alone += (Y[i] - K[i, rest] @ a[:-1] - a[-1]) ** 2
    auto = AutoSVC().fit(X, hidden)
    crossed = crossed_of(X, hidden)
    assert_allclose(auto.loo_scores_[labeled], crossed, atol=1.0)  # not the same: weights come from other folds
    expected = "callable" if ((Y - crossed) ** 2).sum() < alone else "rbf"
    model = PreferenceSVC(kernel="auto", random_state=0).fit(X, hidden, random_sample=np.ones(150, bool))
    assert model._formula.name == expected
    assert expected == ("callable" if seed % 2 else "rbf")


def crossed_of(X, hidden):
    """The crossed scores of the labeled rows."""
    labels = encode(hidden, unlabeled=-1, n_rows=len(X))
    target = labeled_target(X, labels, Costs(np.ones(2)), np.ones(len(X)), np.arange(len(X)))
    settings = FamilySettings(2)
    return crossed_scores(fit_families(X, np.ones(len(X)), target, settings).fits, target, settings)[:, 0]


def test_auto_stays_with_rbf_where_there_are_too_many_rows(monkeypatch):
    monkeypatch.setattr(kernel_module, "MOST_KERNEL_ROWS", 100)
    X, hidden, _ = moons(n_labeled=40)
    assert PreferenceSVC(kernel="auto", random_state=0).fit(X, hidden)._formula.name == "rbf"
    with pytest.raises(ValueError, match='kernel="unlabeled" keeps a kernel matrix of all rows, and takes at most 100'):
        PreferenceSVC(kernel="unlabeled").fit(X, hidden)


def test_a_preference_svc_on_the_kernel_is_saved_and_loaded(tmp_path):
    X, hidden, y = moons(n_labeled=40)
    model = PreferenceSVC(C=10, kernel="unlabeled", random_state=0).fit(X, hidden)
    assert np.mean(model.predict(X) == y) > 0.9
    save(model, tmp_path / "model.skops")
    assert_allclose(load(tmp_path / "model.skops").decision_function(X + 0.01), model.decision_function(X + 0.01))


def test_weights_are_repetitions_in_the_kernel_of_a_preference_svc():
    X, hidden, _ = moons(n_labeled=30)
    weight = np.where(np.arange(160) % 3 == 0, 2.0, 1.0)
    times = np.repeat(np.arange(160), weight.astype(int))
    one, other = (
        settle_kernel(problem_of(rows, codes, own))[1].function
        for rows, codes, own in ((X, hidden, weight), (X[times], hidden[times], np.ones(len(times))))
    )
    assert_allclose(one(X + 0.01, X), other(X + 0.01, X), atol=1e-8)
    with pytest.raises(ValueError, match="must be rows that it was made from"):
        one(X, X + 0.01)


def problem_of(X, codes, weight):
    limits, kernel = Limits(1e-3), KernelParameters("unlabeled", "scale", 0.0, 3)
    labels = Labels(np.arange(2), codes)
    return TrainingProblem("test", X, labels, weight, Costs(np.ones(2)), kernel, "ovr", limits, Progress())


@pytest.mark.parametrize("scale", [1e-160, 1e-300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_tiny_rows_have_the_kernel_and_scores_of_others(scale, metric):
    """Of numbers of 1e-160 the squares are lost: the largest of them becomes the unit."""
    X, hidden, _ = moons(n_labeled=12)
    small = X * scale
    one, other = (UnlabeledKernel(metric=metric).fit_transform(rows, hidden) for rows in (small / scale, small))
    assert_allclose(one, other, atol=1e-7)
    one, other = (AutoSVC(metric=metric).fit(rows, hidden).decision_function(rows) for rows in (small / scale, small))
    assert_allclose(one, other, atol=1e-6)


def test_rows_without_kernel_values_are_refused():
    X, hidden, _ = moons(n_labeled=12)
    with pytest.raises(ValueError, match="Row 1 has no score"):
        UnlabeledKernel().fit(X, hidden).transform(np.array([[0.0, 0.0], [1e308, 1e308]]))
