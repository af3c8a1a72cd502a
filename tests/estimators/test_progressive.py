"""ProgressiveSVC: the paper's loop written out slowly, the published runs, the guards and the
edges.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from histories import InterruptedSolves, records_of
from reuters import errors_on_test, load_reuters, reuters_rows
from semisvm import ProgressiveSVC, SupervisedSVC
from semisvm import machines as forms
from semisvm.estimators import progressive
from semisvm.estimators.progressive import Guesses
from semisvm.kernels.rows import KernelRows
from studies.data import load

MAY_BE_ONE_SIDED = pytest.mark.filterwarnings("ignore:.*one side of the boundary:UserWarning")


def blobs(n=120, n_labeled=10, distance=3.0, seed=0):
    X, t = make_blobs(n, centers=[[0, 0], [distance, distance]], random_state=seed)
    return X, np.where(np.arange(n) < n_labeled, t, -1), t


def naive_progress(X, y, C, gamma, one_sided="single"):
    """The paper's loop with scikit-learn's SVC, trained from nothing in every round; f and the
    number of rounds.
    """
    state = np.where(y == 1, 1, np.where(y == 0, -1, 0))
    n_rounds = 0
    while True:
        used = state != 0
        model = SVC(C=C, gamma=gamma, tol=1e-10).fit(X[used], state[used])
        f = model.decision_function(X)
        if n_rounds:
            state[(state * f < 0) & (y < 0)] = 0
        inside = np.flatnonzero((state == 0) & (np.abs(f) < 1) & (f != 0))
        if len(inside) == 0:
            return f, n_rounds
        positive = inside[f[inside] > 0]
        negative = inside[f[inside] < 0]
        if one_sided == "pair" and len(inside) > 1 and min(len(positive), len(negative)) == 0:
            positive = negative = inside
        if len(positive):
            state[positive[np.argmax(f[positive])]] = 1
        if len(negative):
            state[negative[np.argmin(f[negative])]] = -1
        n_rounds += 1


def rounds_of(model):
    return [record for record in records_of(model) if "candidates" in record]


@MAY_BE_ONE_SIDED
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("one_sided", ["single", "pair"])
def test_it_is_the_papers_loop(monkeypatch, seed, one_sided):
    """With a tight tolerance all the way; the loose one takes other turns on the way to the same
    place.
    """
    monkeypatch.setattr(progressive, "JOINING_TOL", 1e-10)
    X, y, _ = blobs(60, 8, distance=2.0, seed=seed)
    if len(set(y)) < 3:
        y[:8] = [0, 1] * 4
    f, n_rounds = naive_progress(X, y, C=1.5, gamma=0.3, one_sided=one_sided)
    model = ProgressiveSVC(C=1.5, gamma=0.3, one_sided=one_sided, tol=1e-10).fit(X, y)
    assert len(rounds_of(model)) == n_rounds
    assert_allclose(model.decision_function(X), f, atol=1e-5)
    assert model.termination_condition_ == "margin_empty"


def test_choosing_resetting_and_predicting_the_training_rows_evaluate_no_kernel(monkeypatch):
    X, y, _ = blobs(200)
    rows_of_solver = {}
    make = progressive._make_rows

    def counted(kernel: KernelRows, candidates):
        make(kernel, candidates)
        kernel.require(np.arange(kernel.n_rows))
        monkeypatch.setattr(kernel.source, "write", refuse)
        rows_of_solver["kernel"] = kernel

    def refuse(rows, out):
        raise AssertionError("a kernel row was made again")

    monkeypatch.setattr(progressive, "_make_rows", counted)
    model = ProgressiveSVC().fit(X, y)
    assert len(rounds_of(model)) > 5
    assert rows_of_solver["kernel"].n_made == 200


# Published runs.


@pytest.fixture(scope="module")
def reuters(paper_data):
    return load_reuters(paper_data)


@pytest.mark.data
def test_reuters_without_unlabeled_documents(reuters):
    labeled = reuters["induction"]
    assert (
        abs(errors_on_test(ProgressiveSVC(kernel="linear").fit(labeled.X, labeled.y), reuters) - 94)
        <= 1
    )


@pytest.mark.data
@MAY_BE_ONE_SIDED
@pytest.mark.parametrize(
    ("n_positive", "n_negative", "one_sided", "published", "tolerance"),
    [
        (10, 10, "single", 252, 10),
        (20, 10, "single", 91, 10),
        (100, 100, "single", 60, 10),
        (50, 100, "single", 135, 10),
        (995, 500, "single", 40, 8),
        (995, 995, "single", 21, 8),
        (10, 10, "pair", 86, 10),
        (100, 100, "pair", 64, 10),
        (50, 100, "pair", 132, 10),
        (995, 500, "pair", 50, 8),
        (995, 995, "pair", 19, 8),
    ],
)
def test_reuters(reuters, n_positive, n_negative, one_sided, published, tolerance):
    model = ProgressiveSVC(kernel="linear", one_sided=one_sided).fit(
        *reuters_rows(reuters, n_positive, n_negative)
    )
    assert abs(errors_on_test(model, reuters) - published) <= tolerance


@pytest.mark.data
def test_several_pairs_per_round_end_as_one_pair_does_on_many_rows(reuters):
    model = ProgressiveSVC(kernel="linear", pairs_per_round="auto").fit(
        *reuters_rows(reuters, 995, 995)
    )
    assert errors_on_test(model, reuters) == pytest.approx(21, abs=8)
    assert len(rounds_of(model)) < 250


@pytest.mark.data
def test_the_collapse_on_svmlights_example_is_told(reuters):
    """More than 150 errors, and the user hears of it."""
    example = reuters["transduction"]
    with pytest.warns(UserWarning, match=r"of \d+ rounds .* one side of the boundary") as told:
        model = ProgressiveSVC(kernel="linear").fit(example.X, example.y)
    assert errors_on_test(model, reuters) > 150
    assert len(told) == 1
    assert told[0].filename == __file__


@pytest.mark.data
@pytest.mark.parametrize("C", [1, 10, 100])
def test_tutorial(paper_data, C):
    """No error, unlabeled or test, in four rounds."""
    data = load("tutorial", data_home=paper_data)
    rows = np.concatenate([data.split.labeled, data.split.unlabeled])
    y = np.where(np.isin(rows, data.split.labeled), data.y[rows], -1)
    model = ProgressiveSVC(C, kernel="linear").fit(data.X[rows], y)
    assert_array_equal(model.transduction_, data.y[rows])
    assert_array_equal(model.predict(data.X[data.split.test]), data.y[data.split.test])
    assert len(rounds_of(model)) == 4


# The edges.


def test_without_a_candidate_it_is_the_supervised_machine():
    X = np.array([[0.0], [10.0], [-5.0], [15.0], [20.0]])
    y = np.array([0, 1, -1, -1, -1])
    model = ProgressiveSVC(kernel="linear").fit(X, y)
    assert rounds_of(model) == []
    assert model.termination_condition_ == "margin_empty"
    assert_allclose(
        model.decision_function(X),
        SupervisedSVC(kernel="linear").fit(X, y).decision_function(X),
        atol=1e-9,
    )
    assert_array_equal(model.transduction_, [0, 1, 0, 1, 1])
    assert_array_equal(model.labeled_iter_, [0, 0, -1, -1, -1])


def test_without_unlabeled_rows_it_is_the_supervised_machine():
    X, _, t = blobs()
    model = ProgressiveSVC().fit(X, t)
    assert_allclose(
        model.decision_function(X), SupervisedSVC().fit(X, t).decision_function(X), atol=1e-9
    )


ONE_SIDE = np.array([[0.0], [10.0], [6.0], [7.0], [8.0]]), np.array([0, 1, -1, -1, -1])


def test_with_all_candidates_on_one_side_only_that_side_is_labeled_and_the_user_is_told():
    with pytest.warns(UserWarning, match="one side of the boundary"):
        model = ProgressiveSVC(kernel="linear").fit(*ONE_SIDE)
    first = rounds_of(model)[0]
    assert first["one_sided"]
    assert first["labeled"] == 1
    assert model.labeled_iter_[4] == 1  # 8.0, the surest


def test_or_a_pair_all_the_same():
    with pytest.warns(UserWarning, match="one side of the boundary"):
        model = ProgressiveSVC(kernel="linear", one_sided="pair").fit(*ONE_SIDE)
    assert rounds_of(model)[0]["labeled"] == 2
    assert {2, 4} <= set(np.flatnonzero(model.labeled_iter_ == 1)) | set(
        np.flatnonzero(model.labeled_iter_ == -1)
    )


def test_one_candidate_is_never_a_pair():
    X = np.array([[0.0], [10.0], [6.0]])
    y = np.array([0, 1, -1])
    with pytest.warns(UserWarning, match="1 of 1 round of"):
        model = ProgressiveSVC(kernel="linear", one_sided="pair").fit(X, y)
    assert_array_equal(model.transduction_, [0, 1, 1])


def test_a_row_with_f_exactly_0_is_no_candidate_and_ends_on_the_negative_side():
    X = np.array([[-2.0], [2.0], [0.0]])
    y = np.array([0, 1, -1])
    model = ProgressiveSVC(kernel="linear").fit(X, y)
    assert rounds_of(model) == []
    assert model.decision_function(X)[2] == 0
    assert model.transduction_[2] == 0


def test_resets_that_bring_the_same_labels_back_end_in_a_cycle(monkeypatch):
    def reset_all(self, decision_values):
        rows = np.flatnonzero((self.sign != 0) & ~self.is_given)
        self.sign[rows] = 0
        self.n_resets_of[rows] += 1
        return rows

    monkeypatch.setattr(Guesses, "reset_wrong", reset_all)
    X, y, _ = blobs()
    with pytest.warns(ConvergenceWarning, match=r"after 1 round \(cycle\)"):
        model = ProgressiveSVC().fit(X, y)
    assert model.termination_condition_ == "cycle"
    assert (model.labeled_iter_[y < 0] == -1).all()
    assert set(model.transduction_) == {0, 1}


def test_a_row_reset_too_often_is_left_alone():
    guesses = Guesses(np.array([1, -1, 0, 0]))
    f = np.array([1.0, -1.0, 0.5, -0.5])
    for _ in range(3):
        guesses.sign[2:] = 1, -1
        assert_array_equal(
            guesses.reset_wrong(np.array([-1.0, 1.0, -0.1, -0.5])), [2]
        )  # the user's own stay
    assert_array_equal(guesses.sign, [1, -1, 0, -1])
    assert len(guesses.inside_margin(f, max_resets=3)) == 1
    assert len(guesses.inside_margin(f, max_resets=2)) == 0


def test_a_cap_on_rounds_is_kept_and_told():
    X, y, _ = blobs()
    with pytest.warns(ConvergenceWarning, match=r"after 2 rounds \(max_rounds\)") as told:
        model = ProgressiveSVC(max_rounds=2).fit(X, y)
    assert [one.filename for one in told] == [__file__]
    assert len(rounds_of(model)) == 2
    assert model.labeled_iter_.max() == 2
    assert set(model.transduction_) == {0, 1}


@pytest.mark.parametrize(("n_candidates", "n_labeled"), [(49, 2), (99, 2), (100, 4), (520, 20)])
def test_auto_labels_a_pair_for_every_fifty_candidates(n_candidates, n_labeled):
    f = np.linspace(-0.9, 0.9, n_candidates)
    f[f == 0] = 0.01
    positive, negative, one_sided = ProgressiveSVC(pairs_per_round="auto")._choose(
        np.arange(n_candidates), f
    )
    assert len(positive) + len(negative) == n_labeled
    assert not one_sided
    assert f[positive].min() >= np.sort(f)[-len(positive)]
    assert f[negative].max() <= np.sort(f)[len(negative) - 1]


def test_ties_go_to_the_first_row():
    f = np.array([0.9, 0.5, 0.2, 0.5, -0.3, -0.3])
    positive, negative, _ = ProgressiveSVC()._choose(np.arange(1, 6), f)
    assert (positive, negative) == ([1], [4])


def test_growing_the_price_begins_at_the_share_asked_for_and_ends_at_the_whole():
    model = ProgressiveSVC(grow_from=0.1)
    shares = [model._share(n, 200) for n in range(0, 201, 10)]
    assert shares[:5] == [0.1, 0.2, 0.4, 0.8, 1.0]
    assert set(shares[4:]) == {1.0}
    X, y, t = blobs()
    assert (model.fit(X, y).transduction_ == t).mean() > 0.9


# Costs, classes, forms of input.


def test_costs_on_both_parts_are_weights_of_the_given_labels():
    X, y, _ = blobs()
    doubled = ProgressiveSVC(C=1, costs={0: 2, 1: 2}, gamma=0.1, tol=1e-6).fit(X, y)
    plain = ProgressiveSVC(C=2, gamma=0.1, tol=1e-6).fit(X, y)
    assert_allclose(doubled.decision_function(X), plain.decision_function(X), atol=1e-4)


@MAY_BE_ONE_SIDED
def test_string_classes_three_classes_sparse_and_precomputed_all_give_the_same():
    X, t = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[t]
    y = np.where(np.arange(150) % 5 == 0, names, "")
    model = ProgressiveSVC(gamma=0.5, unlabeled="", tol=1e-6)
    expected = model.fit(X, y).decision_function(X)
    assert (model.transduction_ == names).mean() > 0.85
    assert_allclose(
        model.fit(sparse.csr_matrix(X), y).decision_function(sparse.csr_matrix(X)),
        expected,
        atol=1e-4,
    )
    K = rbf_kernel(X, gamma=0.5)
    given = ProgressiveSVC(kernel="precomputed", unlabeled="", tol=1e-6).fit(K, y)
    assert_allclose(given.decision_function(K), expected, atol=1e-4)


def test_minus_one_and_one_train_as_svmlight_has_them():
    X, y, t = blobs()
    svmlight = np.where(y < 0, 0, 2 * y - 1)
    model = ProgressiveSVC(unlabeled=0).fit(X, svmlight)
    assert_array_equal(model.transduction_, 2 * ProgressiveSVC().fit(X, y).transduction_ - 1)
    assert (model.predict(X) == 2 * t - 1).mean() > 0.9


def test_a_small_cache_gives_the_same_model():
    X, y, _ = blobs(400)
    small = ProgressiveSVC(cache_size=0.05, tol=1e-6).fit(X, y)
    assert_allclose(
        small.decision_function(X),
        ProgressiveSVC(tol=1e-6).fit(X, y).decision_function(X),
        atol=1e-4,
    )


# Ending early.


@pytest.mark.parametrize("at_call", [1, 2, 5])
def test_ctrl_c_in_a_solve_keeps_the_last_complete_round(monkeypatch, at_call):
    X, y, _ = blobs()
    solves = InterruptedSolves(at_call)
    monkeypatch.setattr(forms, "solve", solves)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ProgressiveSVC().fit(X, y)
    assert model.termination_condition_ == "interrupted"
    assert model.labeled_iter_.max() == max(at_call - 2, 0)
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("limit", [{"max_iter": 30}, {"time_limit": 1e-9}])
def test_limits_hold_for_all_rounds_together(limit):
    X, y, _ = blobs()
    with pytest.warns(ConvergenceWarning, match=next(iter(limit))):
        model = ProgressiveSVC(**limit).fit(X, y)
    assert model.n_iter_ <= 30


def test_nothing_is_said_when_all_went_well():
    X, y, _ = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ProgressiveSVC().fit(X, y).termination_condition_ == "margin_empty"


@pytest.mark.filterwarnings("ignore:.*one side of the boundary:UserWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(6))
def test_an_unlabeled_row_of_weight_2_is_two_rows_wherever_they_are(kernel, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + 1.2 * y[:, None]
    hidden = np.where(np.arange(60) < 10, y, -1)
    weight = np.where(hidden < 0, rng.integers(1, 3, 60), 1)
    weighted = ProgressiveSVC(kernel=kernel, gamma=0.3).fit(X, hidden, sample_weight=weight)
    rows = rng.permutation(np.repeat(np.arange(60), weight))
    repeated = ProgressiveSVC(kernel=kernel, gamma=0.3).fit(X[rows], hidden[rows])
    assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9
    )
    assert_array_equal(weighted.transduction_[rows], repeated.transduction_)
