"""Displays show what an estimator or a summary holds: the curve and the point."""

import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import precision_recall_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from report_summaries import binary_summary, draw_scores, multiclass_summary
from semisvm import PreferenceSVC, SupervisedSVC
from semisvm.decision import Target
from semisvm.report import OperatingPointDisplay
from semisvm.tables.sentences import verdict


@pytest.fixture(autouse=True)
def no_window():
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    y = 1 - y
    y[np.random.default_rng(0).permutation(len(y))[120:]] = -1
    return X, y


@pytest.fixture(scope="module")
def preference(cancer):
    return make_pipeline(StandardScaler(), PreferenceSVC(min_recall=0.95, random_state=0)).fit(
        *cancer
    )


def test_the_curve_is_scikit_learns_precision_recall_curve(ax):
    scores, sign = draw_scores(80, 0.4, 2.0, 0)
    display = OperatingPointDisplay.from_scores(scores, sign, ax=ax)
    precision, recall, _ = precision_recall_curve(sign, scores)
    np.testing.assert_allclose(display.line_.get_xdata()[::-1], recall[:-1])
    np.testing.assert_allclose(display.line_.get_ydata()[::-1], precision[:-1])


def test_the_point_drawn_is_the_estimators_own(preference, ax):
    display = OperatingPointDisplay.from_estimator(preference, ax=ax)
    point = preference[-1].operating_point_
    (drawn,) = display.point_[0].get_xydata()
    np.testing.assert_allclose(drawn, (point.recall.value, point.precision.value))
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert verdict(point).headline in [text.get_text() for text in ax.get_legend().get_texts()]


def test_on_given_rows_the_point_is_what_predict_gives(preference, ax):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[300:]
    y = 1 - y[300:]
    y[:20] = -1  # unlabeled rows are left out
    display = OperatingPointDisplay.from_estimator(preference, X, y, ax=ax)
    known = y != -1
    accepted = preference.predict(X[known]) == 1
    assert display.point.recall.value == pytest.approx(accepted[y[known] == 1].mean())
    assert display.point.precision.value == pytest.approx(y[known][accepted].mean())


def test_the_other_class_is_drawn_with_its_sign_turned(preference, cancer, ax):
    X, y = cancer
    display = OperatingPointDisplay.from_estimator(preference, X, y, pos_label=0, ax=ax)
    known = y != -1
    rejected = preference.predict(X[known]) == 0
    assert display.point.recall.value == pytest.approx(rejected[y[known] == 0].mean())


def test_each_of_many_classes_has_its_own_picture(ax):
    X, y = load_iris(return_X_y=True)
    model = PreferenceSVC(min_precision=0.9, random_state=0).fit(X, y)
    display = OperatingPointDisplay.from_estimator(model, pos_label=2, ax=ax)
    assert display.point is model.operating_points_[2]
    with pytest.raises(ValueError, match="pos_label must name one of the classes"):
        OperatingPointDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="pos_label must name one of the classes"):
        OperatingPointDisplay.from_estimator(model, pos_label="rose")


def test_a_constant_has_no_precision_to_mark(ax):
    scores, sign = draw_scores(30, 0.4, 2.0, 0)
    display = OperatingPointDisplay.from_scores(
        scores, sign, threshold=np.inf, target=Target(), ax=ax
    )
    assert display.point_ is None


def test_a_summary_is_drawn_as_it_is(ax):
    summary = binary_summary()
    point = summary.operating_points["malignant"]
    display = OperatingPointDisplay.from_summary(summary, ax=ax)
    assert display.point is point
    assert len(display.line_.get_xdata()) == len(set(summary.scores["malignant"].labeled))


def test_the_class_of_a_summary_to_draw_is_named_where_there_are_several():
    summary = multiclass_summary()
    display = OperatingPointDisplay.from_summary(summary, pos_label="virginica")
    assert display.point is summary.operating_points["virginica"]
    with pytest.raises(ValueError, match="pos_label must name one of the classes"):
        OperatingPointDisplay.from_summary(summary)
    with pytest.raises(ValueError, match="there is nothing to draw"):
        OperatingPointDisplay.from_summary(replace(summary, scores={}))


def test_what_can_not_be_drawn_is_refused_with_a_sentence(cancer):
    X, y = cancer
    X = scale(X)
    model = SupervisedSVC().fit(X, y)
    with pytest.raises(ValueError, match="keeps no calibration scores"):
        OperatingPointDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="X and y go together"):
        OperatingPointDisplay.from_estimator(model, X)
    with pytest.raises(NotFittedError):
        OperatingPointDisplay.from_estimator(SupervisedSVC(), X, y)


def test_matplotlib_is_imported_when_a_picture_is_drawn_and_not_before():
    code = """
import sys, semisvm.report
from semisvm.report import OperatingPointDisplay
assert "matplotlib" not in sys.modules and "jinja2" not in sys.modules
sys.modules["matplotlib.pyplot"] = None
try:
    OperatingPointDisplay.from_scores([1.0, -1.0], [1, -1])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'pip install "semisvm[plots]"' in done.stdout
