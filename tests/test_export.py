"""Exported models give the scores and labels of the originals; notebooks show the operating
points.
"""

import math
from itertools import combinations

import numpy as np
import onnxruntime
import pytest
import skl2onnx
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC

import semisvm
from semisvm import (
    SVCCV,
    AutoSVC,
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    MixtureClassifier,
    PositiveUnlabeledSVC,
    PreferenceClassifier,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SemiSupervisedKFold,
    SupervisedSVC,
    TransductiveSVC,
    UnlabeledKernel,
)
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.export import register_converters, to_onnx


def cancer(n=250, n_labeled=80):
    """Rows and labels of two classes; 0 for those that have none."""
    X, truth = load_breast_cancer(return_X_y=True)
    y = np.where(np.random.default_rng(0).permutation(n) < n_labeled, truth[:n], -1)
    return scale(X[:n]), y


def flowers():
    """Rows of three classes with names, two thirds without a label."""
    X, codes = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[codes]
    return X, np.where(np.arange(len(X)) % 3 == 0, names, "")


def run(graph, X, outputs=("label", "scores")):
    """Labels and scores by onnxruntime, or other outputs."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(list(outputs), {"X": X})


def check_same(model, X):
    graph = to_onnx(model, X)
    label, scores = run(graph, X)
    expected = model.decision_function(X)
    assert scores.shape == expected.shape
    np.testing.assert_allclose(scores, expected, atol=1e-5, rtol=1e-5)
    is_tie = (
        np.isclose(expected, 0, atol=1e-5) if expected.ndim == 1 else np.zeros(len(X), dtype=bool)
    )
    assert (label == model.predict(X))[~is_tie].all()
    has_probabilities = "probabilities" in {output.name for output in graph.graph.output}
    assert has_probabilities == hasattr(model, "predict_proba")
    if has_probabilities:
        [probabilities] = run(graph, X, outputs=["probabilities"])
        np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-6)


def test_the_version_of_operators_can_be_chosen():
    X, y = cancer()
    model = SupervisedSVC().fit(X, y)
    newer = to_onnx(model, dtype=np.float64, opset=20)
    assert [one.version for one in newer.opset_import if one.domain == ""] == [20]
    np.testing.assert_array_equal(run(newer, X)[0], run(to_onnx(model, dtype=np.float64), X)[0])
    with pytest.raises(ValueError, match="opset must be 18 or newer, got 17"):
        to_onnx(model, opset=17)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_every_kernel_that_onnx_has_gives_the_same_scores(kernel):
    X, y = cancer()
    check_same(SupervisedSVC(kernel=kernel, gamma=0.02, coef0=0.5, degree=2).fit(X, y), X)


def test_rows_far_from_the_origin():
    X, y = cancer()
    model = SupervisedSVC().fit(X + 2.0**30, y)
    check_same(model, X + 2.0**30)
    np.testing.assert_array_equal(model.predict(X + 2.0**30), SupervisedSVC().fit(X, y).predict(X))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_that_was_stopped_before_its_first_step():
    X, y = cancer()
    model = TransductiveSVC(time_limit=1e-9).fit(X, y)
    assert len(model.support_) == 0
    check_same(model, X)


def test_a_linear_machine_of_the_primal_form():
    X, y = cancer()
    check_same(SupervisedSVC(kernel="linear", solver="primal").fit(X, y), X)


@pytest.mark.parametrize(
    "estimator",
    [
        PreferenceSVC(min_precision=0.95, random_state=0),
        PaperPreferenceSVC(min_recall=0.9, random_state=0),
        LabelMeanSVC(),
        LaplacianSVC(),
        ClusterSVC(random_state=0),
        TransductiveSVC(),
        ProgressiveSVC(),
        SelfTrainingSVC(),
        SupervisedSVC(costs={0: 1, 1: 500}, guard=True),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_svm_is_exported_with_its_thresholds(estimator):
    X, y = cancer()
    check_same(estimator.fit(X, y), X)


def test_positives_and_unlabeled_rows():
    X, y = cancer()
    check_same(
        PositiveUnlabeledSVC(min_recall=0.8, random_state=0).fit(X, np.where(y == 1, 1, -1)), X
    )
    for kernel in ("rbf", "linear"):
        model = PositiveUnlabeledSVC(kernel=kernel, scale=True, random_state=0)
        check_same(model.fit(X, np.where(y == 1, 1, -1)), X)


@pytest.mark.parametrize(
    "parameters",
    [{"multi_class": "ovo"}, {"multi_class": "ovr"}, {"costs": [[0, 1, 5], [1, 0, 1], [2, 1, 0]]}],
    ids=["ovo", "ovr", "cost matrix"],
)
def test_several_classes_with_names(parameters):
    X, y = flowers()
    check_same(SupervisedSVC(**parameters).fit(X, y), X)


@pytest.mark.parametrize("pos_label", [0, 1])
def test_a_certified_threshold_is_part_of_the_graph(pos_label):
    X, y = cancer()
    check_same(SupervisedSVC().fit(X, y).with_threshold(0.3, pos_label=pos_label), X)


def test_a_threshold_for_one_of_three_classes():
    X, y = flowers()
    model = SupervisedSVC(multi_class="ovr").fit(X, y)
    check_same(model.with_threshold(0.2, pos_label="virginica"), X)


def test_a_threshold_that_accepts_nothing_stays_finite():
    X, y = cancer()
    model = PreferenceSVC(random_state=0).fit(X, y)
    model.threshold_ = np.array([np.inf])
    check_same(model, X)


@pytest.mark.parametrize(
    "estimator",
    [
        SupervisedSVC(probability=True),
        SupervisedSVC(probability=True, multi_class="ovr", kernel="linear"),
        SVCCV([1, 10], gammas=[0.05], probability=True),
        PreferenceSVC(probability=True, random_state=0),
        PreferenceClassifier(LogisticRegression(), probability=True, random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [cancer, flowers])
@pytest.mark.filterwarnings("ignore::semisvm.FairSampleWarning")
def test_probabilities_are_an_output(estimator, data):
    X, y = data()
    model = clone(estimator).fit(X, y)
    check_same(model, X)
    if data is cancer:
        check_same(model.with_threshold(0.3), X)


def test_skl2onnx_converts_pipelines_once_the_converters_are_registered():
    X, y = cancer()
    pipeline = make_pipeline(StandardScaler(), SupervisedSVC(probability=True)).fit(X, y)
    register_converters()
    graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=18)
    label, probabilities = run(graph, X, outputs=["label", "probabilities"])
    assert (label == pipeline.predict(X)).all()
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(X), atol=1e-6)


def test_a_pipeline_and_single_precision():
    X, y = cancer()
    raw = np.ascontiguousarray(X, dtype=np.float32)
    model = make_pipeline(StandardScaler(), SupervisedSVC()).fit(raw, y)
    label, scores = run(to_onnx(model), raw)
    np.testing.assert_allclose(scores, model.decision_function(raw), atol=1e-5)
    assert (label == model.predict(raw)).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"covariance_type": "full", "n_components": 2, "random_state": 0, "reg_covar": 0.1},
        {"covariance_type": "tied", "costs": {0: 1, 1: 7}},
        {"covariance_type": "spherical"},
    ],
    ids=["diagonal", "two full components", "tied with costs", "spherical"],
)
def test_mixtures_of_two_classes(parameters):
    X, y = cancer()
    check_same(MixtureClassifier(**parameters).fit(X, y), X)


@pytest.mark.parametrize("costs", [None, [[0, 1, 5], [1, 0, 1], [2, 1, 0]]])
def test_mixtures_of_three_classes(costs):
    X, y = flowers()
    check_same(MixtureClassifier(n_components=2, costs=costs, random_state=0).fit(X, y), X)


@pytest.mark.parametrize(
    "inner",
    [
        GaussianNB(),
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
        SupervisedSVC(),
        make_pipeline(StandardScaler(), SupervisedSVC()),
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())),
        LinearSVC(),
        SVC(),
        SVC(probability=True),
    ],
    ids=lambda inner: type(inner).__name__,
)
@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated")
@pytest.mark.filterwarnings("ignore:Attribute `prob[AB]_` was deprecated")
def test_preferences_around_other_classifiers(inner):
    X, y = cancer()
    model = PreferenceClassifier(inner, min_recall=0.9, random_state=0).fit(X, y)
    assert (model.threshold_ != 0).any()
    check_same(model, X)


def test_preferences_for_three_classes_and_a_certified_threshold():
    X, y = flowers()
    model = PreferenceClassifier(LogisticRegression(), random_state=0).fit(X, y)
    check_same(model, X)
    check_same(model.with_threshold(0.2, pos_label="virginica"), X)


def test_what_onnx_lacks_is_refused_in_words():
    X, y = cancer()
    with pytest.raises(TypeError, match="AutoSVC can't be exported to ONNX: export one of"):
        to_onnx(AutoSVC().fit(X[:100], y[:100]))
    with pytest.raises(
        TypeError, match=r"SVC can't be exported to ONNX: export one of SupervisedSVC"
    ):
        to_onnx(SVC().fit(X[:80], y[:80]))
    with pytest.raises(TypeError, match="ONNX has no kernel 'callable': fit with one of linear"):
        to_onnx(SupervisedSVC(kernel=lambda a, b: a @ b.T).fit(X, y))
    inner = make_pipeline(StandardScaler(), SupervisedSVC(kernel=lambda a, b: a @ b.T))
    model = PreferenceClassifier(inner, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="ONNX has no kernel 'callable'"):
        to_onnx(model)
    model = PreferenceClassifier(QuadraticDiscriminantAnalysis(), random_state=0).fit(X[:, :4], y)
    with pytest.raises(TypeError, match="skl2onnx has no scores of QuadraticDiscriminantAnalysis"):
        to_onnx(model)
    with pytest.raises(ValueError, match=r"dtype must be numpy\.float32 or numpy\.float64"):
        to_onnx(SupervisedSVC().fit(X, y), dtype=np.int8)


def test_shapley_values_of_a_linear_machine_are_its_weights_times_the_distance_from_the_mean():
    X, y = cancer()
    X = X[:, :5]
    model = SupervisedSVC(kernel="linear").fit(X, y)
    row = X[7]
    features = range(5)

    def worth(present):
        """The mean score of rows that have these features of the row, and the others of a row of
        X.
        """
        mixed = X.copy()
        mixed[:, list(present)] = row[list(present)]
        return model.decision_function(mixed).mean()

    for j in features:
        others = [k for k in features if k != j]
        value = 0.0
        for size in range(5):
            share = 1 / (5 * math.comb(4, size))
            value += share * sum(
                worth((*some, j)) - worth(some) for some in combinations(others, size)
            )
        assert value == pytest.approx(model.coef_[0, j] * (row[j] - X[:, j].mean()), abs=1e-9)


# ---- notebooks ----


def test_a_notebook_shows_the_operating_point():
    X, y = cancer()
    model = PreferenceSVC(min_recall=0.9, random_state=0)
    assert "Operating point" not in model._repr_html_()
    assert "Operating point of class 1</b><pre>Recall at least 0.9" in model.fit(X, y)._repr_html_()
    assert "Operating point" not in SupervisedSVC().fit(X, y).with_threshold(0.1)._repr_html_()


# ---- the tools of scikit-learn ----


def test_all_estimators_are_listed_by_type():
    names = [name for name, _ in semisvm.all_estimators()]
    assert {"AutoSVC", "PreferenceClassifier", "ThresholdClassifier", "UnlabeledKernel"} <= set(
        names
    )
    assert names == sorted(names)
    assert "UnlabeledKernel" not in dict(semisvm.all_estimators("classifier"))
    with pytest.raises(ValueError, match="type_filter must be"):
        semisvm.all_estimators("regressor")


def test_weights_and_costs_are_routed_through_pipelines_and_searches():
    X, y = cancer()
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, len(X))
    cost = rng.uniform(1, 3, len(X))
    plain = SupervisedSVC().fit(X, y, sample_weight=weight, sample_cost=cost).decision_function(X)
    with sklearn.config_context(enable_metadata_routing=True):
        svm = (
            SupervisedSVC()
            .set_fit_request(sample_weight=True, sample_cost=True)
            .set_score_request(sample_weight=False)
        )
        pipeline = make_pipeline(
            StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False),
            svm,
        )
        pipeline.fit(X, y, sample_weight=weight, sample_cost=cost)
        np.testing.assert_allclose(pipeline.decision_function(X), plain, atol=1e-6)
        search = GridSearchCV(svm, {"C": [1.0]}, cv=SemiSupervisedKFold(3))
        search.fit(X, y, sample_weight=weight, sample_cost=cost)
        np.testing.assert_allclose(search.decision_function(X), plain, atol=1e-6)


def test_the_kernel_of_unlabeled_rows_can_be_a_frame():
    X, y = cancer(100, 40)
    kernel = UnlabeledKernel().set_output(transform="pandas").fit(X, y)
    frame = kernel.transform(X)
    assert list(frame.columns) == list(kernel.get_feature_names_out())
    assert frame.shape == (100, 100)
