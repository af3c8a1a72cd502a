"""Every parameter of public functions and methods is passed by a test; here are those that no
other test passes.
"""

import ast
import importlib
import inspect
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from report_summaries import binary_summary, draw_scores
from semisvm import (
    Campaign,
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedShuffleSplit,
    SupervisedSVC,
    ThresholdClassifier,
    check_fair_sample,
    decision,
)
from semisvm.decision import Target
from semisvm.decision.operating_point import judge_without_negatives
from semisvm.decision.without_negatives import AcceptedCounts, bound_lift, bound_prior
from semisvm.kernels import make_formula
from semisvm.report import OperatingPointDisplay, write_page


def two_clouds(n=80, n_labeled=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 1.5 * truth[:, None]
    return X, np.where(np.arange(n) < n_labeled, truth, -1), truth


# ---- campaigns ----


@pytest.fixture(scope="module")
def words():
    """A classifier of "a" and "b", and the rows that it was fitted to."""
    X, _, truth = two_clouds()
    return LogisticRegression().fit(X, np.array(["a", "b"])[truth]), X


def test_a_campaign_about_the_first_class_takes_its_scores_and_a_given_calibration(words):
    model, X = words
    known = (-model.decision_function(X[:40]), np.where(model.predict(X[:40]) == "a", 1, -1))
    options = {"min_precision": 0.7, "seed": "01"}
    found = Campaign.for_model(model, X, pos_label="a", calibration=known, **options)
    expected = Campaign(
        -model.decision_function(X), calibration=known, classes=["a", "b"], pos_label="a", **options
    )
    assert found.draw(20) == expected.draw(20)
    assert found.as_dict()["plan"] == expected.as_dict()["plan"]
    other = (np.linspace(-1, 1, 40), np.repeat([-1, 1], 20))
    assert (
        Campaign.for_model(model, X, pos_label="a", calibration=other, **options).as_dict()["plan"]
        != (expected.as_dict()["plan"])
    )


def test_a_threshold_may_be_that_of_the_first_class(words):
    model, X = words
    found = ThresholdClassifier.around(model, 0.5, pos_label="a").predict(X)
    assert_array_equal(found, np.where(-model.decision_function(X) > 0.5, "a", "b"))


# ---- splitters and checks ----


@pytest.mark.parametrize(
    "splitter",
    [SemiSupervisedKFold, SemiSupervisedGroupKFold, SemiSupervisedShuffleSplit],
    ids=lambda one: one.__name__,
)
def test_splitters_know_another_marker_of_unlabeled_rows(splitter):
    X, y, _ = two_clouds()
    groups = np.arange(80) // 4 if splitter is SemiSupervisedGroupKFold else None
    drawn = {"random_state": 0} if splitter is SemiSupervisedShuffleSplit else {}
    marked = splitter(4, unlabeled=7, **drawn)
    expected = list(splitter(4, **drawn).split(X, y, groups))
    for (train, test), other in zip(
        marked.split(X, np.where(y == -1, 7, y), groups), expected, strict=True
    ):
        assert_array_equal(train, other[0])
        assert_array_equal(test, other[1])
    assert marked.get_n_splits(X, y, groups) == len(expected) == 4


def test_the_accuracy_leaves_out_rows_with_another_marker():
    X, y, truth = two_clouds()
    marked = np.where(y == -1, 7, truth)
    model = SupervisedSVC(unlabeled=7).fit(X, np.where(y == -1, 7, y))
    assert model.score(X, marked) == np.mean(model.predict(X[:60]) == truth[:60])


def test_the_level_of_the_check_is_compared_with_its_p_values():
    X, y, _ = two_clouds()
    p = check_fair_sample(X, y, n_permutations=39, random_state=0).p_value
    assert 0.02 < p < 0.9
    for level in (0.9 * p, 1.1 * p):
        assert check_fair_sample(X, y, n_permutations=39, random_state=0, level=level).is_fair == (
            level < p
        )


# ---- decisions ----


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_bounds_without_negatives_are_those_of_their_confidence(confidence):
    each = (1 - confidence) / 2
    found = bound_lift(86, 100, 400, 3000, confidence)
    half = (
        decision.binomial_interval(86, 100, confidence)[0]
        / decision.binomial_interval(400, 3000, confidence)[1]
    )
    assert beta.ppf(each, 86, 15) / beta.ppf(1 - each, 401, 2600) == pytest.approx(half)
    assert abs(found / half - 1) < 0.1  # the two risks are not halves
    assert found > bound_lift(86, 100, 400, 3000, confidence + 0.04)
    rng = np.random.default_rng(0)
    positive = rng.normal(2, 1, 60)
    unlabeled = np.append(rng.normal(0, 1, 400), rng.normal(2, 1, 100))
    bounds = [
        bound_prior(positive, unlabeled, confidence=one).bound
        for one in (confidence, confidence + 0.04)
    ]
    assert 0.2 < bounds[0] < bounds[1]


def test_a_share_of_rows_to_accept_counts_the_reference():
    scores, sign = draw_scores(200, 0.4, 2.5, 0)
    reference = draw_scores(300, 0.4, 2.5, 2)[0]
    by_rank = decision.choose(scores, sign, Target(accept=0.25), reference=reference)
    assert np.mean(reference > by_rank.threshold) == pytest.approx(0.25, abs=1 / 300)


def test_a_point_without_negatives_says_what_was_asked_and_whether_it_was_reached():
    counts = AcceptedCounts(45, 50, 300, 3000)
    missed = judge_without_negatives(
        0.3,
        counts,
        Target(min_recall=0.95),
        level="empirical",
        confidence=0.8,
        reached=False,
    )
    assert (missed.asked, missed.level, missed.status) == (
        "recall at least 0.95",
        "empirical",
        "missed",
    )
    low, high = decision.binomial_interval(45, 50, 0.8)
    assert (missed.recall.low, missed.recall.high) == pytest.approx((low, high))


def test_weights_count_in_the_variance_that_sets_gamma():
    X = np.random.default_rng(0).normal(size=(30, 3))
    weight = 1.0 + np.arange(30) % 3
    found = make_formula("rbf", X, gamma="scale", weight=weight).gamma
    assert found == pytest.approx(1 / (3 * np.repeat(X, weight.astype(int), axis=0).var()))
    assert make_formula("rbf", X, gamma="auto", weight=weight).gamma == pytest.approx(1 / 3)


# ---- displays ----


@pytest.fixture
def figure():
    mpl.use("Agg")
    return Figure()


def test_the_display_of_a_point_takes_the_point_its_confidence_and_a_name(figure):
    scores, sign = draw_scores(80, 0.4, 2.0, 0)
    point = decision.choose(scores, sign, decision.Target(min_recall=0.9))
    axes = figure.subplots(1, 3)
    given = OperatingPointDisplay.from_scores(scores, sign, point=point, name="mine", ax=axes[0])
    assert given.point is point
    assert "mine" in " ".join(text.get_text() for text in axes[0].get_legend().get_texts())
    given.plot(axes[1], name="yours")
    assert "yours" in " ".join(text.get_text() for text in axes[1].get_legend().get_texts())
    narrow = OperatingPointDisplay.from_scores(scores, sign, confidence=0.5, ax=axes[2])
    assert narrow.point.confidence == 0.5
    assert np.all(narrow.high - narrow.low < given.high - given.low)


def test_the_page_names_the_model_file_in_the_commands_it_tells_to_run(tmp_path):
    text = write_page(binary_summary(), tmp_path / "page.html", model="mine.skops").read_text(
        encoding="utf-8"
    )
    assert "mine.skops" in text
    assert "mine.skops" not in write_page(binary_summary(), tmp_path / "other.html").read_text(
        encoding="utf-8"
    )


# ---- all of them ----

PACKAGES = (
    "decision",
    "dual",
    "primal",
    "kernels",
    "model_selection",
    "report",
    "export",
)


def calls_in_tests():
    """Of each function or method that a test calls by name: most arguments by place, and names;
    None stands for **.
    """
    found = {}
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                n_places, names = found.get(name, (0, set()))
                found[name] = (
                    max(n_places, len(node.args)),
                    names | {keyword.arg for keyword in node.keywords},
                )
    return found


def public_callables():
    """(name, signature) of public functions, and of the methods that public classes define."""
    for package in ("semisvm", *(f"semisvm.{name}" for name in PACKAGES)):
        module = importlib.import_module(package)
        for value in (getattr(module, name) for name in module.__all__):
            if inspect.isfunction(value):
                yield value.__name__, inspect.signature(value)
            elif inspect.isclass(value):
                for name, method in inspect.getmembers(value, inspect.isroutine):
                    home = str(getattr(inspect.unwrap(method), "__module__", ""))
                    if (
                        not name.startswith("_")
                        and not name.endswith("_request")
                        and home.startswith("semisvm")
                    ):
                        yield name, inspect.signature(method)


def test_every_parameter_with_a_default_is_passed_by_a_test():
    """Calls that pass a dictionary (**) may pass any name; they are in tests with a list of
    cases.
    """
    calls = calls_in_tests()
    missing = set()
    for name, signature in public_callables():
        n_places, names = calls.get(name, (0, {None}))
        parameters = [
            one for one in signature.parameters.values() if one.name not in ("self", "cls")
        ]
        for place, one in enumerate(parameters):
            is_passed = {one.name, None} & names or (
                one.kind is not one.KEYWORD_ONLY and place < n_places
            )
            if one.default is not one.empty and not is_passed:
                missing.add((name, one.name))
    assert not missing
