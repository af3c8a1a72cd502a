"""The table of docs/scikit-learn.md, line by line: each tool of scikit-learn is right where some
rows have no label, or raises an error, and what the table says to write instead works.
"""

import inspect
from email.message import Message

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFECV, SelectKBest, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    RocCurveDisplay,
    accuracy_score,
    get_scorer,
    make_scorer,
    roc_auc_score,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

import semisvm
from page_tables import cells, page
from semisvm import (
    AutoSVC,
    LaplacianSVC,
    MixtureClassifier,
    PreferenceClassifier,
    PreferenceSVC,
    SemiSupervisedCalibratedClassifierCV,
    SemiSupervisedKFold,
    SupervisedSVC,
    TableEncoder,
    ThresholdClassifier,
    sklearn_private,
)
from semisvm.metrics import make_labeled_scorer
from semisvm.model_selection import cross_fit_scores

COUNTS_MARKER = "counts the marker of unlabeled rows, -1, as a class"
MARKER = (
    f"{COUNTS_MARKER}|-1 marks unlabeled rows"  # the codes of OutputCodeClassifier are -1 and 1
)
RNG = np.random.default_rng(0)
TRUTH = np.arange(120) % 2
X = np.column_stack([3.0 * TRUTH, 0.0 * TRUTH, 0.0 * TRUTH]) + RNG.standard_normal((120, 3))
Y = np.where(np.arange(120) < 40, TRUTH, -1)
IS_LABELED = Y != -1
X_LABELED = X[IS_LABELED]
Y_LABELED = Y[IS_LABELED]
MODEL = SupervisedSVC(kernel="linear")
CV = SemiSupervisedKFold()
FEWEST_RIGHT = 0.85  # of the 40 labeled rows, which a line separates with two errors


def frozen(model=MODEL):
    return FrozenEstimator(semisvm.SupervisedSVC(**model.get_params()).fit(X, Y))


def is_right(model):
    """Whether a fitted tool predicts the classes of all rows, and has no other."""
    assert model.classes_.tolist() == [0, 1]
    return accuracy_score(TRUTH, model.predict(X)) > FEWEST_RIGHT


def refuses(tool, match=COUNTS_MARKER):
    """Check that a tool raises when it is fitted, or, if it fits elsewhere, when it predicts."""
    with pytest.raises(ValueError, match=match):
        tool.fit(X, Y)
    if "n_jobs" in tool.get_params() and match == COUNTS_MARKER:
        # A thread sees as little of its caller as a process does.
        with parallel_config("threading"), pytest.raises(ValueError, match=MARKER):
            tool.set_params(n_jobs=2).fit(X, Y).predict(X)


# ---- one function per line of the table ----


def pipelines():
    step = make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")
    assert is_right(make_pipeline(step, MODEL).fit(X, Y))


def steps_that_look_at_y():
    encoder = make_column_transformer((TargetEncoder(), [0]), remainder="passthrough")
    for step in (SelectKBest(k=1), TargetEncoder(), encoder):
        refuses(make_pipeline(StandardScaler(), step, MODEL))
    chosen = FrozenEstimator(SelectKBest(k=1).fit(X_LABELED, Y_LABELED))
    assert is_right(make_pipeline(chosen, MODEL).fit(X, Y))


def scores_without_scoring():
    assert cross_val_score(MODEL, X, Y).mean() > FEWEST_RIGHT
    assert cross_validate(MODEL, X, Y, cv=CV)["test_score"].mean() > FEWEST_RIGHT


def scoring_by_name():
    for scoring in ("accuracy", "balanced_accuracy", "roc_auc", "f1", "f1_macro"):
        with pytest.raises(ValueError, match=f"scoring {COUNTS_MARKER}"):
            cross_val_score(MODEL, X, Y, scoring=scoring, error_score="raise")
        with pytest.warns(UserWarning, match=f"scoring {COUNTS_MARKER}"):
            assert np.isnan(cross_val_score(make_pipeline(MODEL), X, Y, scoring=scoring)).all()
        on_folds = cross_val_score(MODEL, X, Y, scoring=scoring, cv=CV)
        labeled_scorer = make_labeled_scorer(scoring)
        assert_array_equal(cross_val_score(MODEL, X, Y, scoring=labeled_scorer, cv=CV), on_folds)
        assert cross_val_score(MODEL, X, Y, scoring=labeled_scorer).mean() > FEWEST_RIGHT


def searches():
    for search in (
        GridSearchCV(MODEL, {"C": [0.1, 1]}),
        GridSearchCV(MODEL, {"C": [0.1, 1]}, cv=CV, scoring="roc_auc"),
        RandomizedSearchCV(MODEL, {"C": [0.1, 1]}, n_iter=2, cv=CV, scoring="accuracy"),
    ):
        assert is_right(search.fit(X, Y))
        assert search.best_score_ > FEWEST_RIGHT


def curves():
    _, _, tested = learning_curve(MODEL, X, Y, train_sizes=[0.5, 1.0])
    assert tested[-1].mean() > FEWEST_RIGHT
    C = {"param_name": "C", "param_range": [0.1, 1]}
    assert validation_curve(MODEL, X, Y, **C)[1].mean() > FEWEST_RIGHT
    scoring = make_labeled_scorer("accuracy")
    assert validation_curve(MODEL, X, Y, scoring=scoring, **C)[1].mean() > FEWEST_RIGHT
    with pytest.raises(ValueError, match=f"scoring {COUNTS_MARKER}"):
        validation_curve(MODEL, X, Y, cv=CV, scoring="accuracy", error_score="raise", **C)


def selections():
    for options in ({}, {"cv": CV, "scoring": "accuracy"}):
        chosen = SequentialFeatureSelector(MODEL, n_features_to_select=1, **options).fit(X, Y)
        assert chosen.get_support().tolist() == [True, False, False]


def recursive_elimination():
    refuses(RFECV(MODEL))
    for options in ({"cv": CV}, {"scoring": make_labeled_scorer("accuracy")}):
        assert RFECV(MODEL, **options).fit(X, Y).support_[0]


def importances():
    model = SupervisedSVC().fit(X, Y)
    for options in ({}, {"scoring": make_labeled_scorer("roc_auc")}):
        found = permutation_importance(model, X, Y, random_state=0, **options).importances_mean
        assert found.argmax() == 0
        alone = permutation_importance(
            model,
            X_LABELED,
            Y_LABELED,
            random_state=0,
            **({"scoring": "roc_auc"} if options else {}),
        )
        assert alone.importances_mean.argmax() == 0
    with pytest.raises(ValueError, match=f"scoring {COUNTS_MARKER}"):
        permutation_importance(model, X, Y, scoring="accuracy")


def predictions_of_folds():
    assert accuracy_score(TRUTH, cross_val_predict(MODEL, X, Y)) > FEWEST_RIGHT
    with pytest.raises(ValueError, match=f"cross_val_predict {COUNTS_MARKER}"):
        cross_val_predict(MODEL, X, Y, method="decision_function")
    scores = cross_fit_scores(MODEL, X, Y, cv=CV)
    assert roc_auc_score(Y_LABELED, scores[IS_LABELED]) > FEWEST_RIGHT


def calibrator():
    for cv in (3, CV):
        refuses(CalibratedClassifierCV(MODEL, cv=cv))
    refuses(CalibratedClassifierCV(MODEL, cv=3, ensemble=False))
    model = SemiSupervisedCalibratedClassifierCV(MODEL).fit(X, Y)
    assert is_right(model)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def vote():
    other_models = (
        SupervisedSVC(),
        AutoSVC(),
        MixtureClassifier(),
        PreferenceClassifier(LogisticRegression()),
        ThresholdClassifier(MODEL),
        SemiSupervisedCalibratedClassifierCV(MODEL),
        make_pipeline(StandardScaler(), LaplacianSVC()),
    )
    for model in other_models:
        with pytest.raises(ValueError, match=f"VotingClassifier {COUNTS_MARKER}"):
            VotingClassifier([("model", model)]).fit(X, Y)
    refuses(VotingClassifier([("a", MODEL), ("b", SupervisedSVC())]))
    assert is_right(VotingClassifier([("a", frozen())]).fit(X_LABELED, Y_LABELED))


def stack():
    refuses(StackingClassifier([("a", MODEL), ("b", SupervisedSVC())], cv=3))
    model = StackingClassifier([("a", frozen().estimator)], cv="prefit")
    assert is_right(model.fit(X_LABELED, Y_LABELED))


def ensembles():
    for tool in (BaggingClassifier(MODEL, n_estimators=3), AdaBoostClassifier(MODEL)):
        refuses(tool)
    bag = BaggingClassifier(MODEL, n_estimators=3, random_state=0)
    assert is_right(bag.fit(X_LABELED, Y_LABELED))
    assert is_right(AdaBoostClassifier(MODEL, n_estimators=3).fit(X_LABELED, Y_LABELED))


def several_classes():
    for tool in (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier):
        refuses(tool(MODEL))
    for scheme in ("ovr", "ovo"):
        assert is_right(SupervisedSVC(multi_class=scheme).fit(X, Y))


def thresholds():
    for tool in (TunedThresholdClassifierCV, FixedThresholdClassifier):
        refuses(tool(MODEL), match="Only binary classification is supported")
    assert is_right(PreferenceClassifier(LogisticRegression(), random_state=0).fit(X, Y))
    assert is_right(SupervisedSVC().fit(X, Y).with_threshold(0.1))


def self_training():
    assert is_right(SelfTrainingClassifier(SupervisedSVC(probability=True)).fit(X, Y))
    assert is_right(semisvm.SelfTrainingSVC().fit(X, Y))


def pictures():
    model = SupervisedSVC().fit(X, Y)
    calibrated = SemiSupervisedCalibratedClassifierCV(MODEL).fit(X, Y)
    for display, estimator in (
        (RocCurveDisplay, model),
        (ConfusionMatrixDisplay, model),
        (CalibrationDisplay, calibrated),
    ):
        with pytest.raises(ValueError, match=r"as a class|multiclass"):
            display.from_estimator(estimator, X, Y)
        display.from_estimator(estimator, X_LABELED, Y_LABELED)


LINES = {
    "`Pipeline`, `ColumnTransformer`": pipelines,
    "`SelectKBest`, `TargetEncoder` and other steps that look at y": steps_that_look_at_y,
    "`cross_val_score`, `cross_validate` without `scoring`": scores_without_scoring,
    '`scoring="accuracy"` or any other name': scoring_by_name,
    "`GridSearchCV`, `RandomizedSearchCV`": searches,
    "`learning_curve`, `validation_curve`": curves,
    "`SequentialFeatureSelector`": selections,
    "`RFECV`": recursive_elimination,
    "`permutation_importance`": importances,
    "`cross_val_predict`": predictions_of_folds,
    "`CalibratedClassifierCV`": calibrator,
    "`VotingClassifier`": vote,
    "`StackingClassifier`": stack,
    "`BaggingClassifier`, `AdaBoostClassifier`": ensembles,
    "`OneVsRestClassifier`, `OneVsOneClassifier`, `OutputCodeClassifier`": several_classes,
    "`TunedThresholdClassifierCV`, `FixedThresholdClassifier`": thresholds,
    "`SelfTrainingClassifier`": self_training,
    "`RocCurveDisplay`, `ConfusionMatrixDisplay` and other pictures of predictions": pictures,
}


@pytest.mark.parametrize("tool", LINES)
def test_the_line_of_the_table_is_true(tool):
    LINES[tool]()


def test_every_line_of_the_table_has_a_test():
    lines = [line for line in cells(page("docs/scikit-learn.md")) if len(line) == 3]
    assert [line[0] for line in lines[2:]] == list(LINES)


# ---- the refusal itself ----


def test_another_marker_and_true_classes_are_told_apart():
    marked = np.where(IS_LABELED, Y + 5, 7)
    with pytest.raises(ValueError, match="counts the marker of unlabeled rows, 7, as a class"):
        BaggingClassifier(SupervisedSVC(unlabeled=7)).fit(X, marked)
    # -1 is a class here.
    three = np.arange(120) % 3 - 1
    bag = BaggingClassifier(SupervisedSVC(unlabeled=None), n_estimators=2).fit(X, three)
    assert bag.classes_.tolist() == [-1, 0, 1]


def test_a_function_of_the_user_may_use_a_model_inside_a_tool_for_targets_of_its_own():
    """Only scikit-learn's functions directly above an estimator say what its classes are."""

    def score_anomalies(estimator, X, y):
        inner = SupervisedSVC().fit(X_LABELED, Y_LABELED)
        return accuracy_score(Y_LABELED, inner.predict(X_LABELED))

    outer = VotingClassifier([("a", LogisticRegression())])
    assert cross_val_score(outer, X, Y, scoring=score_anomalies).min() > FEWEST_RIGHT


# ---- scorers ----


def test_a_labeled_scorer_is_the_scorer_of_the_labeled_rows():
    model = MODEL.fit(X, Y)
    names = np.array(["ham", "spam"], dtype=object)[Y]
    weight = np.arange(1.0, 121)
    for scoring in ("accuracy", "roc_auc", make_scorer(accuracy_score), get_scorer("f1")):
        scorer = get_scorer(scoring)
        alone = scorer(model, X_LABELED, Y_LABELED, sample_weight=weight[IS_LABELED])
        assert make_labeled_scorer(scoring)(model, X, Y, sample_weight=weight) == alone
    by_name = SupervisedSVC(kernel="linear").fit(X, np.where(IS_LABELED, names, None))
    scorer = make_labeled_scorer("accuracy", unlabeled=None)
    assert scorer(by_name, X, np.where(IS_LABELED, names, None)) == model.score(X, Y)


def test_a_labeled_scorer_shows_what_it_is_and_refuses_what_is_no_scorer():
    assert repr(make_labeled_scorer("f1")) == "make_labeled_scorer('f1')"
    assert repr(make_labeled_scorer("f1", unlabeled="?")).endswith("unlabeled='?')")
    with pytest.raises(ValueError, match="scoring must be the name of a scorer"):
        make_labeled_scorer(3)
    with pytest.raises(ValueError, match="y has no labeled row"):
        make_labeled_scorer("accuracy")(MODEL.fit(X, Y), X, np.full(120, -1))


def test_every_fit_names_the_page():
    for name in semisvm.__all__:
        public = getattr(semisvm, name)
        if inspect.isclass(public) and hasattr(public, "fit") and name != "TableEncoder":
            assert ":doc:`/scikit-learn`" in public.fit.__doc__, name


def test_the_diagram_of_a_pipeline_says_what_is_known_of_the_threshold():
    model = PreferenceSVC(min_precision=0.7, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    assert "labels)." not in pipeline._repr_html_()
    shown = pipeline.fit(X, Y)._repr_html_()
    assert f"PreferenceSVC ({str(model.operating_point_).partition(chr(10))[0]})" in shown
    inside = make_pipeline(PreferenceClassifier(LogisticRegression(), random_state=0)).fit(X, Y)
    assert "LogisticRegression" in inside._repr_html_()


def test_the_diagram_links_to_the_documentation_that_the_package_names(monkeypatch):
    class OfAUser(SupervisedSVC):
        pass

    package = Message()
    monkeypatch.setattr(sklearn_private, "metadata", lambda name: package)
    assert SupervisedSVC()._get_doc_link() == ""
    package["Project-URL"] = "Documentation, https://docs.invalid/stable/"
    package["Project-URL"] = "Source, https://source.invalid"
    for public in (SupervisedSVC, TableEncoder, ThresholdClassifier):
        page = f"reference/generated/semisvm.{public.__name__}.html"
        model = public(MODEL) if public is ThresholdClassifier else public()
        assert f"https://docs.invalid/stable/{page}" in model._repr_html_()
    assert OfAUser()._get_doc_link() == ""
