"""Unlabeled rows train where out-of-fold scores say that this helps, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

from preference_data import noisy_clouds
from semisvm import PreferenceSVC, SupervisedSVC
from semisvm import machines as forms
from semisvm.decision import Target, choose
from semisvm.decision.audit import resample, resampled_values
from semisvm.decision.counts import count_all, f_score
from semisvm.decision.target import best_of
from semisvm.dual import Status, solve, solve_many
from semisvm.estimators.class_shares import guess_by_rank, rank_rows
from semisvm.estimators.preference._cross import (
    CANDIDATES,
    SUPERVISED_CANDIDATE,
    Candidate,
    CrossFitted,
    draw_folds,
)
from semisvm.estimators.preference._learner import Learner
from semisvm.kernels import kernel_rows, make_formula
from semisvm.kernels.rows import CachedRows
from semisvm.machines import hinge_problem

TARGETS = [
    Target(),
    Target(beta=2.0),
    Target(min_precision=0.8),
    Target(min_recall=0.9),
    Target(min_precision=0.9, min_recall=0.9),
    Target(costs=(3.0, 1.0)),
]


class NearestMean(Learner):
    """Decision values by the weighted means of the two classes; remembers what it was trained
    with.
    """

    def __init__(self, X):
        self.X = X
        self.calls = []

    def train(self, sign, share, sequence):
        self.calls.append((sequence, sign.copy(), share.copy()))
        up, down = (
            np.average(self.X[sign == s], axis=0, weights=share[sign == s]) for s in (1, -1)
        )
        self.values = self.X @ (up - down) - (up @ up - down @ down) / 2
        return self.values


class Scripted(Learner):
    """Returns the scores prepared for a share, whatever the labels."""

    def __init__(self, by_share):
        self.by_share = by_share

    def train(self, sign, share, sequence):
        soft = share[share < 1].max(initial=0.0)
        return self.by_share.get(soft, self.by_share[0.0])


class Machine(Learner):
    """A C-SVC on all rows."""

    def __init__(self, X, C, gamma):
        self.kernel = kernel_rows(X, make_formula("rbf", X, gamma=gamma))
        self.C = C
        self.n_iter = 0

    def train(self, sign, share, sequence):
        found = solve(hinge_problem(self.kernel, sign, self.C * share))
        self.n_iter += found.n_iter
        return found.decision_values


def settle(learner, sign, n_pool=None, **settings) -> CrossFitted:
    """Make the choice and train accordingly, with the first unlabeled rows only where `n_pool`
    is given.
    """
    choice = CrossFitted(learner, sign, **settings)
    choice.pool = choice.pool[:n_pool]
    choice.run()
    return choice


def records_of(choice):
    """One dictionary per candidate that was tried."""
    return [
        trial.details | {"n_iter": trial.n_iter, "chosen": trial.candidate == choice.chosen}
        for trial in choice.trials
    ]


def scores_of(choice, candidate):
    """The out-of-fold scores of a candidate."""
    return next(trial.scores for trial in choice.trials if trial.candidate == candidate)


def _two_clouds(n_labeled=30, n_unlabeled=60, seed=0, gap=1.0):
    rng = np.random.default_rng(seed)
    truth = np.where(rng.uniform(size=n_labeled + n_unlabeled) < 0.4, 1.0, -1.0)
    X = rng.normal(size=(len(truth), 2)) + gap * truth[:, None]
    return X, truth, np.where(np.arange(len(truth)) < n_labeled, truth, 0.0)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=14).filter(
        lambda rows: len({positive for _, positive in rows}) == 2
    ),
    target=st.sampled_from(TARGETS),
    seed=st.integers(0, 100),
)
def test_the_value_of_a_resample_is_that_of_the_point_chosen_on_its_rows_written_out(
    rows, target, seed
):
    scores = np.array([score for score, _ in rows], float)
    is_positive = np.array([positive for _, positive in rows])
    copies = resample(is_positive, 5, np.random.default_rng(seed))
    got = resampled_values(scores, is_positive, copies, target)
    for value, count in zip(got, copies, strict=True):
        counts = count_all(
            np.repeat(scores, count), np.repeat(np.where(is_positive, 1, -1), count)
        ).counts
        index, reached = best_of(counts, target)
        at = counts.at(index)
        expected = target.objective(at) if reached else -target.shortfall(at)
        assert value == pytest.approx(float(expected), abs=1e-12)


def test_every_resample_has_as_many_rows_of_each_class_as_there_are():
    is_positive = np.array([True] * 3 + [False] * 9)
    copies = resample(is_positive, 40, np.random.default_rng(0))
    assert (copies[:, is_positive].sum(axis=1) == 3).all()
    assert (copies[:, ~is_positive].sum(axis=1) == 9).all()
    assert len(np.unique(copies, axis=0)) > 20


def test_many_resamples_are_valued_as_few_are_when_they_do_not_fit_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=50)
    is_positive = rng.uniform(size=50) < 0.3
    copies = resample(is_positive, 30, rng)
    whole = resampled_values(scores, is_positive, copies, Target())
    monkeypatch.setattr("semisvm.decision.audit._NUMBERS_AT_ONCE", 120)
    assert np.array_equal(resampled_values(scores, is_positive, copies, Target()), whole)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_compiled_pass_over_many_resamples_gives_the_numbers_of_numpy(monkeypatch, beta):
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 20, size=60).astype(float)  # with ties
    is_positive = rng.uniform(size=60) < 0.3
    copies = resample(is_positive, 40, rng)
    by_numpy = resampled_values(scores, is_positive, copies, Target(beta=beta))
    monkeypatch.setattr("semisvm.decision.audit.MANY_COPIES", 1)
    compiled = resampled_values(scores, is_positive, copies, Target(beta=beta))
    assert np.array_equal(compiled, by_numpy)


def test_a_target_that_is_a_number_of_rows_leaves_labels_nothing_to_choose():
    with pytest.raises(ValueError, match="accept sets the threshold"):
        resampled_values(
            np.arange(4.0), np.array([True, False] * 2), np.ones((2, 4), int), Target(accept=2)
        )


def test_guesses_follow_the_rank_and_the_rate_and_the_surer_half_leaves_the_middle_out():
    values = np.array([9.0, 1.0, 5.0, 3.0, -2.0, 0.0, 7.0])
    pool = np.array([1, 2, 3, 4, 5, 6])
    ranked = rank_rows(values, pool)
    assert ranked.tolist() == [6, 2, 3, 1, 5, 4]
    assert guess_by_rank(ranked, 7, 1 / 3, False).tolist() == [0, -1, 1, -1, -1, -1, 1]
    assert guess_by_rank(ranked, 7, 1 / 3, True).tolist() == [0, 0, 0, 0, -1, -1, 1]
    assert guess_by_rank(ranked, 7, 0.0, False).sum() == -4.0  # both classes are always there
    assert guess_by_rank(ranked, 7, 1.0, False).sum() == 4.0


def test_folds_test_every_label_once_per_draw_and_spread_the_classes_evenly():
    sign = np.array([1.0] * 7 + [-1.0] * 19 + [0.0] * 4)
    folds = draw_folds(sign, seed=3)
    assert folds.shape == (3, 30)
    assert not np.array_equal(folds[0], folds[1])
    for fold in folds:
        assert (fold[sign == 0] == -1).all()
        for members in (fold[sign > 0], fold[sign < 0], fold[sign != 0]):
            sizes = np.bincount(members, minlength=5)
            assert sizes.max() - sizes.min() <= 1
    assert draw_folds(np.tile([1.0, -1.0], 200)).shape == (1, 400)
    assert draw_folds(np.array([1.0, 1.0, -1.0, -1.0, -1.0])).max() == 1


def test_a_class_with_one_label_is_refused_with_the_numbers():
    with pytest.raises(
        ValueError,
        match=r"at least 2 labeled rows of each .* the classes have \[1, 3\] labeled rows",
    ):
        draw_folds(np.array([1.0, -1.0, -1.0, -1.0, 0.0]))


def test_no_training_of_a_fold_depends_on_the_labels_that_the_fold_holds_out():
    X, _, sign = _two_clouds()
    folds = draw_folds(sign, seed=1)
    flipped = sign.copy()
    tested = (folds[0] == 2) & (sign != 0)
    flipped[tested] *= -1
    runs = []
    for labels in (sign, flipped):
        learner = NearestMean(X)
        settle(learner, labels, folds=folds, caution=np.inf)
        runs.append([call for call in learner.calls if call[0] == ("fold", 0, 2)])
    assert len(runs[0]) == len(runs[1]) == 1 + len(CANDIDATES)
    for (_, sign_one, share_one), (_, sign_two, share_two) in zip(*runs, strict=True):
        assert np.array_equal(sign_one, sign_two)
        assert np.array_equal(share_one, share_two)
        assert not sign_one[tested].any()
        assert not share_one[tested].any()


def test_the_last_model_of_all_labels_is_the_chosen_one_and_is_described_in_full():
    X, _, sign = _two_clouds(gap=0.3)
    learner = NearestMean(X)
    found = settle(learner, sign, folds=draw_folds(sign), caution=-50.0)
    assert found.chosen.n_rounds == 2
    sequence, last_sign, last_share = learner.calls[-1]
    assert sequence == "all"
    assert np.array_equal(found.values, learner.values)
    assert np.array_equal(last_sign, np.where(found.guess != 0, found.guess, sign))
    assert np.array_equal(last_share[found.guess == 0], np.abs(sign)[found.guess == 0])
    assert np.unique(last_share[found.guess != 0]).tolist() == [found.chosen.share]
    assert not found.guess[sign != 0].any()
    assert sum(record["chosen"] for record in records_of(found)) == 1
    assert records_of(found)[-1]["candidate"] == str(found.chosen)


def test_out_of_fold_scores_are_those_of_models_without_the_fold_averaged_over_the_draws():
    X, _, sign = _two_clouds()
    folds = draw_folds(sign)
    found = settle(NearestMean(X), sign, folds=folds, caution=np.inf)
    expected = np.zeros(folds.shape)
    for draw, fold in enumerate(folds):
        for k in range(5):
            values = NearestMean(X).train(np.where(fold == k, 0.0, sign), np.ones(len(sign)), "any")
            expected[draw, fold == k] = values[fold == k]
    assert found.chosen is SUPERVISED_CANDIDATE
    assert not found.guess.any()
    np.testing.assert_allclose(scores_of(found, found.chosen), expected.mean(axis=0)[sign != 0])


class CountsBatches(NearestMean):
    """Notes how many trainings it is given at a time."""

    def __init__(self, X, *, trains_at_once):
        super().__init__(X)
        self.trains_at_once = trains_at_once
        self.sizes = []

    def train_many(self, trainings):
        self.sizes.append(len(trainings))
        return super().train_many(trainings)


def test_a_learner_that_trains_at_once_is_given_all_candidates_of_a_round_together():
    X, _, sign = _two_clouds(gap=0.3)
    folds = draw_folds(sign)
    learners = [CountsBatches(X, trains_at_once=at_once) for at_once in (False, True)]
    one_by_one, together = (
        settle(learner, sign, folds=folds, caution=np.inf) for learner in learners
    )
    assert learners[0].sizes == [15] * (1 + len(CANDIDATES))
    assert learners[1].sizes == [1 + 15, 15 * len(CANDIDATES)]
    assert records_of(together) == records_of(one_by_one)
    assert together.learner.n_iter == one_by_one.learner.n_iter


def test_candidates_that_change_nothing_leave_the_supervised_model():
    _, truth, sign = _two_clouds()
    found = settle(
        Scripted({0.0: truth + np.linspace(0, 3, len(truth))}), sign, folds=draw_folds(sign)
    )
    assert found.chosen is SUPERVISED_CANDIDATE
    assert [record["gain"] for record in records_of(found)] == [0.0] * 7


def test_without_unlabeled_rows_there_is_one_candidate():
    X, truth, _ = _two_clouds()
    found = settle(NearestMean(X), truth, folds=draw_folds(truth))
    assert found.chosen is SUPERVISED_CANDIDATE
    assert len(records_of(found)) == 1


def test_what_is_asked_decides_between_candidates_of_equal_f1():
    _, truth, sign = _two_clouds(n_labeled=60)
    noise = np.random.default_rng(5).normal(size=len(truth))
    sure_at_the_top = (
        np.where((truth > 0) & (noise > 0.3), 5.0, 0.0) + 0.01 * noise
    )  # high precision at low recall
    complete = (
        np.where((truth > 0) | (noise > 0.9), 5.0, 0.0) + 0.01 * noise
    )  # all positives, some negatives
    learner = Scripted({0.0: complete, 0.3: sure_at_the_top})
    folds = draw_folds(sign)
    assert settle(learner, sign, folds=folds, target=Target(min_precision=0.97)).chosen.share == 0.3
    assert (
        settle(learner, sign, folds=folds, target=Target(min_recall=0.97)).chosen
        is SUPERVISED_CANDIDATE
    )


def test_a_bound_on_the_pool_is_kept_and_the_same_seed_gives_the_same():
    X, _, sign = _two_clouds()
    runs = [
        settle(NearestMean(X), sign, folds=draw_folds(sign), caution=-1.0, n_pool=20, seed=4)
        for _ in range(2)
    ]
    assert len(runs[0].pool) == 20
    assert np.count_nonzero(runs[0].guess) <= 20
    assert set(np.flatnonzero(runs[0].guess)) <= set(runs[0].pool)
    assert np.array_equal(runs[0].values, runs[1].values)
    assert records_of(runs[0]) == records_of(runs[1])


def test_moons_with_a_local_kernel_and_few_labels_gain_from_their_unlabeled_rows():
    X, y = make_moons(420, noise=0.15, random_state=0)
    truth = np.where(y == 1, 1.0, -1.0)
    sign = np.where(np.arange(420) < 20, truth, 0.0)
    found = settle(Machine(X, C=10.0, gamma=20.0), sign, folds=draw_folds(sign))
    labels = sign[sign != 0]
    hidden = sign == 0

    def true_f1(values, scores):
        threshold = choose(scores, labels).threshold
        return f_score(
            count_all(np.where(values[hidden] > threshold, 1.0, 0.0), truth[hidden]).counts.at(1)
        )

    assert found.chosen is not SUPERVISED_CANDIDATE
    chosen = true_f1(found.values, scores_of(found, found.chosen))
    supervised = true_f1(found.supervised[1], scores_of(found, SUPERVISED_CANDIDATE))
    assert chosen > supervised + 0.02
    assert sum(record["n_iter"] for record in records_of(found)) > 0


def test_any_classifier_with_weights_can_be_settled():
    X, truth, sign = _two_clouds(n_labeled=24, n_unlabeled=200, seed=2)

    class Bayes(Learner):
        def train(self, sign, share, sequence):
            rows = sign != 0
            model = GaussianNB().fit(X[rows], sign[rows], sample_weight=share[rows])
            return np.diff(model.predict_joint_log_proba(X), axis=1).ravel()

    found = settle(Bayes(), sign, folds=draw_folds(sign))
    accuracy = np.mean(np.where(found.values > 0, 1, -1) == truth)
    assert accuracy > 0.85
    assert len(records_of(found)) >= 1 + len(CANDIDATES)
    assert all(record["n_iter"] == 0 for record in records_of(found))


def test_candidates_say_what_they_are():
    names = [
        str(candidate)
        for candidate in (SUPERVISED_CANDIDATE, CANDIDATES[0], Candidate(0.3, True, 2))
    ]
    assert names == ["supervised", "all at 0.003", "surer half at 0.3, 2 rounds"]


def count_batches(monkeypatch, change=list):
    """Make kernel rows of the host look like a whole matrix on a device; return the sizes of the
    batches solved.
    """
    sizes = []

    def counted(problems, starts, **limits):
        sizes.append(len(problems))
        return change(solve_many(problems, starts, **limits))

    monkeypatch.setattr(CachedRows, "is_whole", True, raising=False)
    monkeypatch.setattr(forms, "solve_many", counted)
    return sizes


def test_a_fit_on_a_device_is_a_few_batches_and_the_same_model(monkeypatch):
    X, y, _ = noisy_clouds()
    model = PreferenceSVC(C=10, gamma=0.1, tol=1e-6, random_state=0)
    alone = clone(model).fit(X, y)
    sizes = count_batches(monkeypatch)
    together = model.fit(X, y)
    assert sizes[:2] == [1 + 15, 15 * len(CANDIDATES)]
    assert len(sizes) <= 3
    assert [r.details["candidate"] for r in together.history_] == [
        r.details["candidate"] for r in alone.history_
    ]
    np.testing.assert_allclose(together.decision_function(X), alone.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(together.labeled_iter_, alone.labeled_iter_)


def test_a_batch_that_is_cut_off_leaves_the_machine_of_all_labels(monkeypatch):
    X, y, _ = noisy_clouds()

    def without_end(found):
        return [
            *found[:3],
            *(replace(solution, status=Status.TIME_LIMIT) for solution in found[3:]),
        ]

    sizes = count_batches(monkeypatch, without_end)
    with pytest.warns(ConvergenceWarning):
        model = PreferenceSVC(C=10, gamma=0.1, tol=1e-6, random_state=0).fit(X, y)
    assert sizes == [1 + 15]
    assert model.termination_condition_ == "time_limit"
    supervised = SupervisedSVC(C=10, gamma=0.1, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), supervised.decision_function(X), atol=1e-4
    )
