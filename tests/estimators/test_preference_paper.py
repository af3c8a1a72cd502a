"""The rounds of PSVM: they are those of a plain loop of refits, and keep what they promise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from histories import records_of
from paper_sets import paper_set
from preference_data import overlapping
from semisvm.decision import Target
from semisvm.estimators.equal_rows import EqualRows
from semisvm.estimators.preference._learner import Learner
from semisvm.estimators.preference.paper import PaperPreferenceSVC, PaperRounds, split_labels
from semisvm.kernels.rows import CachedRows
from semisvm.model_selection import hide, split


def counts_at(scores, sign, threshold):
    accepted = scores > threshold
    tp = (accepted & (sign > 0)).sum()
    precision = tp / accepted.sum() if accepted.any() else 0.0
    recall = tp / (sign > 0).sum()
    f1 = 2 * tp / (accepted.sum() + (sign > 0).sum())
    return precision, recall, f1


def cuts(scores):
    distinct = np.unique(scores)
    return [np.inf, *((distinct[1:] + distinct[:-1]) / 2)[::-1], -np.inf]


def naive_adjust(scores, sign, rule, min_precision, min_recall):
    """The adjusting step by trying every threshold, one preference at most."""
    p, r, _ = counts_at(scores, sign, 0.0)
    need_p = min_precision or 0.0
    need_r = min_recall or 0.0
    if p < need_p:
        if not (
            scores > 0
        ).any():  # nothing is accepted: take the fewest rows that give the precision
            enough = [t for t in cuts(scores)[1:] if counts_at(scores, sign, t)[0] >= need_p]
            return (
                enough[0]
                if enough
                else max(cuts(scores), key=lambda t: counts_at(scores, sign, t)[::2])
            )
        rising = [t for t in cuts(scores)[::-1] if (scores > t).sum() <= (scores > 0).sum()]
        enough = [t for t in rising if counts_at(scores, sign, t)[0] >= need_p]
        return enough[0] if enough else max(rising, key=lambda t: counts_at(scores, sign, t)[::2])
    if r < need_r:
        falling = [t for t in cuts(scores) if (scores > t).sum() >= (scores > 0).sum()]
        return next(t for t in falling if counts_at(scores, sign, t)[1] >= need_r)
    if rule == "paper" and p != r and p > 0:
        return naive_adjust(scores, sign, "best", *((r, None) if p < r else (None, p)))
    fits = [
        t
        for t in cuts(scores)
        if counts_at(scores, sign, t)[0] >= need_p and counts_at(scores, sign, t)[1] >= need_r
    ]
    return max(fits, key=lambda t: counts_at(scores, sign, t)[2])


def naive_rounds(
    X,
    sign,
    trains,
    calibrates,
    *,
    pool,
    rule,
    C,
    gamma,
    min_precision=None,
    min_recall=None,
    most=20,
):
    """The paper's loop with refits in each round: the soft labels after each round, and the best
    candidate.
    """
    soft = np.where(trains, sign, 0)
    seen = []
    best = None
    rounds = []
    for _ in range(most):
        used = soft != 0
        f = SVC(C=C, gamma=gamma, tol=1e-10).fit(X[used], soft[used]).decision_function(X)
        scores = f[calibrates]
        truth = sign[calibrates]
        d_plus = d_minus = 0.0
        if rule is not None:
            d_plus = naive_adjust(scores, truth, rule, min_precision, min_recall)
            d_minus = scores[truth < 0].mean()
        for threshold in (0.0, d_plus):
            p, r, f1 = counts_at(scores, truth, threshold)
            lacking = max(0.0, (min_precision or 0) - p) + max(0.0, (min_recall or 0) - r)
            if best is None or (-lacking, f1) > best[0]:
                best = (-lacking, f1), f - threshold
        guess = np.where(f > d_plus, 1, np.where(f < d_minus, -1, 0))
        may_change = (sign == 0) if pool == "rebuild" else (sign == 0) & (soft == 0)
        seen.append(soft)
        soft = np.where(may_change, guess, soft)
        rounds.append(((soft[sign == 0] > 0).sum(), (soft[sign == 0] < 0).sum()))
        if any((soft == before).all() for before in seen):
            break
    return rounds, best[1]


PREFERENCES = [{}, {"min_precision": 0.8}, {"min_recall": 0.85}]


@pytest.mark.filterwarnings("ignore:Class 1.*does not give:UserWarning")
@pytest.mark.parametrize("pool", ["grow", "rebuild"])
@pytest.mark.parametrize("rule", ["best", "paper", None])
@pytest.mark.parametrize("preference", PREFERENCES, ids=str)
def test_it_is_the_loop_of_the_paper(pool, rule, preference):
    for seed in range(3):
        X, y, _ = overlapping(seed)
        sign = np.where(y == 1, 1, np.where(y == 0, -1, 0))
        trains, calibrates = split_labels(sign, 0.5, check_random_state(seed).randint(2**31))
        expected, decision = naive_rounds(
            X, sign, trains, calibrates, pool=pool, rule=rule, C=2, gamma=0.3, **preference
        )
        model = PaperPreferenceSVC(
            C=2,
            gamma=0.3,
            pool=pool,
            adjust=rule,
            tol=1e-10,
            random_state=seed,
            **preference,
        ).fit(X, y)
        assert [
            (record["soft_positive"], record["soft_negative"]) for record in records_of(model)
        ] == expected
        assert_allclose(model.decision_function(X), decision, atol=1e-5)


def test_full_calibration_trains_and_calibrates_on_the_same_labels():
    X, y, _ = overlapping()
    sign = np.where(y == 1, 1, np.where(y == 0, -1, 0))
    expected, decision = naive_rounds(
        X, sign, sign != 0, sign != 0, pool="grow", rule="best", C=2, gamma=0.3
    )
    model = PaperPreferenceSVC(C=2, gamma=0.3, calibration="full", tol=1e-10).fit(X, y)
    assert [
        (record["soft_positive"], record["soft_negative"]) for record in records_of(model)
    ] == expected
    assert_allclose(model.decision_function(X), decision, atol=1e-6)
    assert len(model.calibration_scores_[1]) == (y >= 0).sum()


def test_one_record_per_round_says_what_happened():
    X, y, _ = overlapping()
    model = PaperPreferenceSVC(min_precision=0.7, random_state=0).fit(X, y)
    records = records_of(model)
    first = records[0]
    for name in ("precision", "recall", "f_score"):
        assert 0 <= first[name] <= 1
        assert 0 <= first[f"adjusted_{name}"] <= 1
    assert {"problem", "round", "threshold", "threshold_negative", "n_iter", "seconds"} <= set(
        first
    )
    assert [record["round"] for record in records] == list(range(len(records)))
    labeled = records[-1]["soft_positive"] + records[-1]["soft_negative"]
    assert labeled == (model.labeled_iter_ > 0).sum()
    assert (model.labeled_iter_[y >= 0] == 0).all()


def test_growing_never_takes_a_label_back_and_rebuilding_may():
    X, y, _ = overlapping(3)
    grown = PaperPreferenceSVC(random_state=0).fit(X, y)
    sizes = [record["soft_positive"] + record["soft_negative"] for record in records_of(grown)]
    assert sizes == sorted(sizes)
    assert grown.termination_condition_ == "converged"
    rebuilt = PaperPreferenceSVC(pool="rebuild", max_rounds=40, random_state=0).fit(X, y)
    assert rebuilt.termination_condition_ in ("converged", "cycle")


def test_max_rounds_ends_it_and_says_so():
    X, y, _ = overlapping()
    model = PaperPreferenceSVC(max_rounds=1, random_state=0).fit(X, y)
    assert (len(model.history_), model.termination_condition_) == (1, "max_rounds")


def test_without_adjusting_all_rows_are_labeled_at_once():
    X, y, _ = overlapping()
    model = PaperPreferenceSVC(adjust=None, random_state=0).fit(X, y)
    first = records_of(model)[0]
    assert first["soft_positive"] + first["soft_negative"] == (y < 0).sum()
    assert len(model.history_) == 2


def test_unlabeled_copies_are_one_row_of_their_weight(monkeypatch):
    """Rows that repeat are merged; the same rows, moved apart by next to nothing, are not, and
    give the same model.
    """
    n_merged = []
    merge = EqualRows.merge

    def count(self, problem):
        n_merged.append(len(self.first))
        return merge(self, problem)

    monkeypatch.setattr(EqualRows, "merge", count)
    X, y, _ = overlapping(1, n=160, arranges=False)
    X = np.vstack([X, X[60:], X[60:110]])
    y = np.concatenate([y, np.full(150, -1)])
    apart = X + 1e-9 * np.arange(len(X))[:, None]
    one, other = (
        PaperPreferenceSVC(gamma=0.3, tol=1e-8, random_state=2).fit(Z, y) for Z in (X, apart)
    )
    assert n_merged == [160]  # in the first fit only
    kept = ("soft_positive", "soft_negative", "f_score", "adjusted_f_score")
    assert [[r[k] for k in kept] for r in records_of(one)] == [
        [r[k] for k in kept] for r in records_of(other)
    ]
    assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)
    assert_array_equal(one.labeled_iter_, other.labeled_iter_)


def test_rounds_share_kernel_rows(monkeypatch):
    """No row is made twice, however many rounds there are."""
    made = []
    own = CachedRows._own
    monkeypatch.setattr(
        CachedRows, "_own", lambda self, slots, rows: (made.extend(rows), own(self, slots, rows))[1]
    )
    X, y, _ = overlapping(0, n=600)
    model = PaperPreferenceSVC(random_state=1).fit(X, y)
    assert len(model.history_) > 2
    assert len(made) == len(set(made))


@pytest.mark.data
def test_ijcnn1_gives_about_the_published_f1(paper_data):
    """Published: .65 supervised, .75 with PSVM, means of several draws; one draw is within four
    points of these.
    """
    data = paper_set("ijcnn1", paper_data)
    parts = split(data.y, labeled=0.1, test=0.1, random_state=0)
    model = PaperPreferenceSVC(C=10, gamma=0.125, random_state=0)
    random_sample = np.ones(
        len(parts.train), dtype=bool
    )  # which it is: the check takes this draw for a rare one
    model.fit(
        data.X[parts.train], hide(data.y, parts.labeled)[parts.train], random_sample=random_sample
    )
    assert f1_score(data.y[parts.test], model.predict(data.X[parts.test])) == pytest.approx(
        0.75, abs=0.04
    )
    assert model.audit_["supervised"].f_score.value < 0.65


class _Scripted(Learner):
    """A learner whose decision values are given in advance."""

    def __init__(self, *values):
        self.values = list(values)
        self.n_rounds = 0

    def train(self, sign, share, sequence):
        self.model = self.n_rounds
        return np.asarray(self.values[min(self.model, len(self.values) - 1)], dtype=float)

    def done(self, **details):
        self.n_rounds += 1


def test_the_best_candidate_of_all_rounds_wins_not_the_last():
    sign = np.array([1, 1, -1, -1, 0, 0])
    good = [2, 1, -1, -2, 3, -3]
    bad = [-2, 1, 2, -2, 3, 0.1]
    run = PaperRounds(
        _Scripted(good, bad),
        sign,
        np.ones(6, int),
        sign != 0,
        sign != 0,
        Target(),
        pool="grow",
        rule="best",
        max_rounds=9,
    )
    run.run()
    outcome = run.outcome()
    assert outcome.model == 0
    assert outcome.point.f_score.value == 1


def test_where_no_candidate_meets_the_preference_the_nearest_is_taken():
    sign = np.array([1, 1, -1, -1])
    run = PaperRounds(
        _Scripted([1, -2, 2, -1]),
        sign,
        np.ones(4, int),
        sign != 0,
        sign != 0,
        Target(min_precision=0.9),
        pool="grow",
        rule="best",
        max_rounds=5,
    )
    run.run()
    point = run.outcome().point
    assert not point.reached
    assert point.precision.value == 0.5
    assert "precision 0.9" in point.reason
