"""The command's work in Python: comparing methods on rows in memory, and reports of any fitted
classifier.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import semisvm
from semisvm.errors import DataError
from semisvm.model_selection import SemiSupervisedKFold
from semisvm.tables.evaluate import summarize_estimator
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.training import training_of


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.3, random_state=0)
    hidden = y.copy()
    hidden[60:] = -1
    return X, y, hidden


def test_two_classes_are_compared_by_the_area_under_the_roc_curve(moons):
    X, _, hidden = moons
    X = StandardScaler().fit_transform(X)
    found = semisvm.compare(
        X, hidden, methods=["supervised", "self-training"], tune=False, random_state=3
    )
    scores = np.empty(200)
    for train, test in SemiSupervisedKFold(5, shuffle=True, random_state=3).split(X, hidden):
        model = semisvm.SupervisedSVC(kernel="rbf").fit(X[train], hidden[train])
        scores[test] = model.decision_function(X[test])
    labeled = hidden >= 0
    assert found.methods[0].merit.value == pytest.approx(
        roc_auc_score(hidden[labeled], scores[labeled]), abs=0.02
    )
    assert "self-training" in str(found)
    assert found.verdict in str(found)


def test_a_comparison_by_costs_counts_what_errors_cost(moons):
    X, _, hidden = moons
    once, twice = (
        semisvm.compare(X, hidden, methods=["supervised"], tune=False, costs={0: price, 1: price})
        for price in (1, 2)
    )
    assert once.measure == twice.measure == "cost"
    n_errors = -once.methods[0].merit.value * 60
    assert n_errors == pytest.approx(round(n_errors), abs=1e-9)
    assert twice.methods[0].merit.value == pytest.approx(2 * once.methods[0].merit.value)


def test_a_comparison_by_ranking_does_not_depend_on_names_marker_or_positive_class(moons):
    X, _, hidden = moons
    names = np.array(["no", "yes", "none"])[hidden]
    plain = semisvm.compare(X, hidden, methods=["self-training"], tune=False)
    named = semisvm.compare(
        X, names, methods=["self-training"], tune=False, unlabeled="none", pos_label="no"
    )
    for one, other in zip(plain.methods, named.methods, strict=True):
        assert one.merit.value == pytest.approx(other.merit.value, abs=1e-3)


def test_a_comparison_uses_as_many_unlabeled_rows_as_it_may(moons):
    X, _, hidden = moons

    def merits(most):
        found = semisvm.compare(
            X, hidden, methods=["self-training"], tune=False, max_unlabeled=most
        )
        return [one.merit for one in found.methods]

    whole = merits(5000)
    few = merits(20)
    assert merits(140) == whole  # there are no more
    assert few[0] == whole[0]  # the supervised method uses none
    assert few[1] != whole[1]


def test_the_rarer_label_is_positive_and_labels_keep_their_names():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.array(["b"] * 10 + ["a"] * 4 + [""] * 26)
    training = training_of(X, y, unlabeled="")
    assert training.classes.names == ("b", "a")
    assert training.class_counts == {"b": 10, "a": 4}
    assert training_of(X, y, pos_label="b").classes.names == ("a", "b")
    with pytest.raises(ValueError, match="pos_label='c' is not a label"):
        training_of(X, y, pos_label="c")


def test_a_frame_of_mixed_columns_is_compared_as_the_command_would():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=120) + y,
            "color": np.where(rng.random(120) < 0.8, np.array(["red", "blue"])[y], "green"),
            "row": np.arange(1, 121),
        }
    )
    training = training_of(frame, np.where(rng.random(120) < 0.5, y, -1))
    assert [column.type for column in training.columns] == ["number", "category"]
    assert training.left_out == {"row": "numbers the rows"}


@pytest.mark.parametrize(
    "make", [lambda: semisvm.SupervisedSVC(), lambda: LogisticRegression(), lambda: SVC()]
)
def test_the_report_of_any_classifier_has_its_figures(tmp_path, moons, make):
    X, y, _ = moons
    model = make_pipeline(make()).fit(X[:100], y[:100])
    labels = np.where(np.arange(200) < 180, y, -1)
    summary = summarize_estimator(model, X[100:], labels[100:])
    expected = precision_score(y[100:180], model.predict(X[100:180]))
    assert summary.operating_points["1"].precision.value == pytest.approx(expected)
    assert (summary.data.labeled, summary.data.unlabeled) == (80, 20)
    path = semisvm.write_report(model, X[100:], labels[100:], tmp_path / "r.html")
    assert "Looking for: 1" in path.read_text()


def test_the_report_of_rows_with_another_marker_replaces_a_file_only_by_force(tmp_path, moons):
    X, y, _ = moons
    model = semisvm.SupervisedSVC().fit(X[:100], y[:100])
    labels = np.where(np.arange(200) < 180, y, 7)
    with pytest.raises(DataError, match="y holds the label '7', which is not a class of the model"):
        semisvm.write_report(model, X[100:], labels[100:], tmp_path / "r.html")
    path = semisvm.write_report(model, X[100:], labels[100:], tmp_path / "r.html", unlabeled=7)
    first = path.read_text()
    assert "80 labeled rows" in first
    with pytest.raises(DataError, match="the file exists"):
        semisvm.write_report(model, X[100:140], labels[100:140], path, unlabeled=7)
    assert path.read_text() == first
    semisvm.write_report(model, X[100:140], labels[100:140], path, unlabeled=7, force=True)
    assert "40 labeled rows" in path.read_text()


def test_several_classes_and_targets_of_the_fit_are_reported(tmp_path):
    X, y = load_iris(return_X_y=True)
    summary = summarize_estimator(
        LogisticRegression(max_iter=1000).fit(X[::2], y[::2]), X[1::2], y[1::2]
    )
    assert list(summary.operating_points) == ["0", "1", "2"]
    moons, labels = make_moons(300, noise=0.2, random_state=0)
    model = semisvm.PreferenceSVC(min_recall=0.9, random_state=0).fit(moons[:100], labels[:100])
    assert (
        summarize_estimator(model, moons[100:], labels[100:])
        .operating_points["1"]
        .target.min_recall
        == 0.9
    )
    with pytest.raises(DataError, match="y holds the label '7', which is not a class of the model"):
        summarize_estimator(model, moons[:2], np.array([7, 1]))
    with pytest.raises(DataError, match="No row of class '2' has a label"):
        summarize_estimator(LogisticRegression(max_iter=1000).fit(X, y), X, np.where(y == 2, -1, y))


def test_scores_of_unlabeled_rows_are_leads_as_those_of_labeled_rows_are():
    """The line of a class is at 0 for both: a row is above it exactly where the class wins."""
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    labels = np.where(np.arange(75) % 3 == 0, y[1::2], -1)
    summary = summarize_estimator(model, X[1::2], labels)
    won = model.predict(X[1::2][labels < 0])
    for label in range(3):
        assert np.sum(np.array(summary.scores[str(label)].unlabeled) > 0) == np.sum(won == label)


def test_the_report_of_a_table_model_or_a_pipeline_knows_what_was_asked_of_it(moons):
    X, y, hidden = moons
    rows = training_of(pd.DataFrame(X, columns=["a", "b"]), hidden, pos_label=1)
    model = fit_model(rows, Settings(min_recall=0.8), method="preference")
    summary = summarize_estimator(model, pd.DataFrame(X, columns=["a", "b"])[60:], y[60:])
    assert summary.operating_points["1"].target.min_recall == 0.8
    assert summary.audits == model.summary.audits
    pipeline = make_pipeline(
        StandardScaler(), semisvm.PreferenceSVC(min_recall=0.8, random_state=0)
    ).fit(X, hidden)
    summary = summarize_estimator(pipeline, X[60:], y[60:])
    assert summary.operating_points["1"].target.min_recall == 0.8
    assert list(summary.audits["1"]) == list(pipeline[-1].audit_)


@pytest.mark.parametrize("min_recall", [None, 0.8])
def test_a_model_of_positives_only_is_judged_by_labels_of_both_classes(moons, tmp_path, min_recall):
    X, y, _ = moons
    known = np.where((y == 1) & (np.arange(200) < 120), 1, -1)
    model = semisvm.PositiveUnlabeledSVC(min_recall=min_recall, random_state=0).fit(X, known)
    point = summarize_estimator(model, X[120:], y[120:]).operating_points["1"]
    assert point.target.min_recall == min_recall
    assert point.precision.value == pytest.approx(precision_score(y[120:], model.predict(X[120:])))
    semisvm.write_report(model, X[120:], y[120:], tmp_path / "r.html")


@pytest.mark.parametrize("names_it", ["by a label", "by a parameter"])
def test_a_misspelled_label_is_no_negative_where_negatives_have_a_name(moons, names_it):
    X, y, _ = moons
    labels = np.where(y == 1, "fraud", "fine")
    marked = np.where(
        (y == 1) | ((np.arange(len(y)) < 10) & (names_it == "by a label")), labels, ""
    )
    model = semisvm.PositiveUnlabeledSVC(
        negative="fine" if names_it == "by a parameter" else None, unlabeled=""
    )
    with pytest.raises(
        DataError,
        match=r"the label 'frau', which is not a class of the model\. Perhaps 'fraud' is meant",
    ):
        summarize_estimator(
            model.fit(X, marked), X, np.where(labels == "fraud", "frau", labels), unlabeled=""
        )


def test_labels_that_count_as_negative_are_said(moons):
    X, y, _ = moons
    model = semisvm.PositiveUnlabeledSVC(unlabeled="").fit(X, np.where(y == 1, "fraud", ""))
    labels = np.where(y == 1, "fraud", "no fraud").astype(object)
    labels[:3] = "frau"
    notes = summarize_estimator(model, X, labels.astype(str), unlabeled="").notes
    counted = f"'frau' (3 rows), 'no fraud' ({(labels == 'no fraud').sum()} rows)"
    assert f"Labels other than 'fraud' count as 'not fraud': {counted}." in notes


def test_the_report_of_an_average_says_what_carried_the_weight(moons, tmp_path):
    X, y, hidden = moons
    model = semisvm.AutoSVC().fit(X, hidden)
    page = semisvm.write_report(model, X[60:], y[60:], tmp_path / "moons.html").read_text(
        encoding="utf-8"
    )
    assert "The weight of AutoSVC is" in page
    assert "Next: model.predict(X_new)" in page  # the model is in no file that a command reads
    assert "MODEL" not in page
