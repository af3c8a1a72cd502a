"""The line that a model draws: where floors and F1 put it, how likely it is kept, one scale,
honest probabilities.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from semisvm.decision import Target, choose
from semisvm.decision.operating_point import scores_beyond
from semisvm.decision.target import OTHER_RATE
from semisvm.model_selection.calibration import usual_range
from semisvm.model_selection.thresholds import balance, fit_probability
from semisvm.tables.fit import fit_model
from semisvm.tables.methods import Settings
from semisvm.tables.operating import (
    chance_kept,
    place_thresholds,
    undo_beyond,
)
from semisvm.tables.read_training import read_training
from semisvm.tables.sentences import first_screen

CLASSES = ("no", "yes")


def draw(n, seed, share=0.2, gap=1.5):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n) < share, 1, -1)
    return rng.normal(size=n) + gap * (sign > 0), sign


def rates(scores, sign, threshold):
    accepted = scores > threshold
    return (sign[accepted] > 0).mean(), accepted[sign > 0].mean()


@pytest.mark.parametrize("seed", range(5))
def test_a_floor_gives_the_highest_other_rate_that_keeps_it(seed):
    """By brute force over all thresholds."""
    scores, sign = draw(200, seed)
    codes = (sign > 0).astype(int)
    cuts = np.sort(scores)[:-1]
    for name, other in (("min_precision", 1), ("min_recall", 0)):
        point = place_thresholds(scores, codes, Settings(**{name: 0.7}), CLASSES)["yes"]
        found = rates(scores, sign, point.threshold)
        best = max(
            r[other] for r in (rates(scores, sign, cut) for cut in cuts) if r[1 - other] >= 0.7
        )
        assert found[1 - other] >= 0.7
        assert found[other] == pytest.approx(best)
        f1 = place_thresholds(scores, codes, Settings(**{name: 0.7}, best_f1=True), CLASSES)["yes"]
        assert f1.f_score.value >= point.f_score.value
        assert f1.reached


def test_with_both_floors_and_with_none_f1_decides():
    scores, sign = draw(300, 0)
    both = Target(0.3, 0.3, prefer=OTHER_RATE)
    assert choose(scores, sign, both).threshold == choose(scores, sign, Target(0.3, 0.3)).threshold
    with pytest.raises(ValueError, match="prefer must be None or 'other rate'"):
        Target(0.5, prefer="recall")


def test_the_best_f1_of_60_labels_is_near_the_best_f1_of_many_new_rows():
    new, truth = draw(20_000, 10**6)

    def f1(threshold):
        precision, recall = rates(new, truth, threshold)
        return 2 * precision * recall / (precision + recall)

    best = max(map(f1, np.linspace(-1, 3, 81)))
    found = [f1(balance(*draw(60, seed))) for seed in range(60)]
    assert best - np.mean(found) < 0.05


@pytest.mark.parametrize(
    ("target", "gap"),
    [(Target(min_recall=0.8, prefer=OTHER_RATE), 1.5)]
    + [(Target(min_precision=0.8, prefer=OTHER_RATE), gap) for gap in (1.0, 1.8, 2.8)],
    ids=str,
)
def test_the_chance_that_a_floor_is_kept_is_about_how_often_it_is_kept(target, gap):
    new, truth = draw(20_000, 10**6, gap=gap)
    kept = []
    told = []
    for seed in range(150):
        scores, sign = draw(120, seed, gap=gap)
        point = choose(scores, sign, target)
        chance = chance_kept(scores, sign, target, seed)
        if point.reached and chance is not None:
            precision, recall = rates(new, truth, point.threshold)
            kept.append(recall >= 0.8 if target.min_recall else precision >= 0.8)
            told.append(chance)
    assert len(kept) > 60
    assert abs(np.mean(kept) - np.mean(told)) < 0.17, (np.mean(kept), np.mean(told))


def test_no_chance_is_told_where_nothing_is_asked_or_labels_are_few():
    scores, sign = draw(120, 0)
    assert chance_kept(scores, sign, Target()) is None
    assert chance_kept(scores[:10], sign[:10], Target(min_recall=0.5)) is None
    assert (
        chance_kept(-scores, sign, Target(min_recall=0.5)) is None
    )  # scores that fall with the class


@pytest.mark.parametrize("threshold", [0.7, -2.0, np.inf, -np.inf])
def test_scores_that_people_see_are_above_zero_where_rows_are_accepted_and_can_be_turned_back(
    threshold,
):
    scores = np.random.default_rng(0).normal(size=50) * 3
    shown = scores_beyond(scores, threshold)
    assert ((shown > 0) == (scores > threshold)).all()
    assert (np.argsort(shown) == np.argsort(scores)).all()
    for cut in (*shown[:10], *shown[:10] + 1e-9, 0.0, np.inf, -np.inf):
        assert ((scores > undo_beyond(cut, threshold)) == (shown > cut)).all()


class Scores(LogisticRegression):
    """A classifier whose scores are the one feature."""

    def decision_function(self, X):
        return X[:, 0]


def test_probabilities_are_those_of_scikit_learns_sigmoid():
    scores, sign = draw(400, 0)
    ours = fit_probability(scores, sign).of(scores)
    fitted = Scores().fit(scores[:, None], sign)
    theirs = CalibratedClassifierCV(FrozenEstimator(fitted), method="sigmoid", ensemble=False, cv=2)
    assert_allclose(
        ours, theirs.fit(scores[:, None], sign).predict_proba(scores[:, None])[:, 1], atol=0.01
    )


def test_no_probability_is_made_of_few_labels_or_of_scores_that_fall_with_the_class():
    scores, sign = draw(400, 0)
    assert fit_probability(-scores, sign) is None
    assert fit_probability(scores[:9], sign[:9]) is None
    assert fit_probability(np.zeros(400), sign) is None
    separated = fit_probability(np.where(sign > 0, 1.0, -1.0), sign)
    assert (
        0 < separated.of(np.array([-1.0]))[0] < 0.02 < 0.98 < separated.of(np.array([1.0]))[0] < 1
    )


def f1_of(sign, accepted):
    return 2 * (accepted & (sign > 0)).sum() / (accepted.sum() + (sign > 0).sum())


@pytest.mark.parametrize("digits", [0, 1, 6], ids=["few values", "tied", "all different"])
def test_the_threshold_of_the_best_f1_has_the_best_f1_of_its_own_rows(digits):
    """Of all cuts, exactly, the one that accepts every row included; also where no sigmoid fits
    the scores. Of several the best expected F1 decides.
    """
    for seed in range(40):
        scores, sign = draw(40, seed)
        scores = (scores**3 if seed % 2 else -scores if seed % 5 == 0 else scores).round(digits)
        found = balance(scores, sign)
        distinct = np.unique(scores)
        # halfway, so that new rows have room on both sides
        cuts = [*(distinct[:-1] + distinct[1:]) / 2, (3 * distinct[0] - distinct[1]) / 2]
        own = {cut: f1_of(sign, scores > cut) for cut in cuts}
        assert f1_of(sign, scores > found) == max(own.values())
        probability = fit_probability(scores, sign, fewest=1)
        if probability is not None:
            p = probability.of(scores)

            def expected_f1(threshold, scores=scores, p=p):
                return 2 * p[scores > threshold].sum() / ((scores > threshold).sum() + p.sum())

            best = [cut for cut in cuts if own[cut] == max(own.values())]
            assert found == pytest.approx(max(best, key=expected_f1))


def test_one_outlying_score_does_not_flatten_the_probabilities():
    """A score of 18 where the others are below 2."""
    rng = np.random.default_rng(0)
    sign = np.where(rng.random(150) < 0.2, 1, -1)
    scores = 0.5 * rng.normal(size=150) + 0.5 * (sign > 0)
    usual = fit_probability(scores, sign).of(scores)
    scores[np.flatnonzero(sign < 0)[0]] = 18.0
    found = fit_probability(scores, sign).of(scores)
    assert np.ptp(usual) > 0.5
    assert np.ptp(found[scores < 5]) > 0.7 * np.ptp(usual)


def test_without_outliers_the_probabilities_are_platts():
    rng = np.random.default_rng(1)
    sign = np.where(rng.random(300) < 0.1, 1, -1)
    scores = rng.normal(size=300) + 3 * (sign > 0)
    scores[sign < 0] *= 0.1
    weight = np.ones(300)
    low, high = usual_range(scores, sign, weight)
    assert low < scores.min()
    assert high > scores.max()


def test_a_machine_that_calls_every_row_the_same_is_of_no_use_and_has_no_probabilities(tmp_path):
    """Its out-of-fold scores are -1 up to rounding, which a sigmoid would turn into 0 and 1."""
    rng = np.random.default_rng(3)
    is_positive = rng.random(500) < 0.2
    frame = pd.DataFrame(rng.normal(size=(500, 4)) + 0.6 * is_positive[:, None], columns=[*"abcd"])
    frame.loc[np.flatnonzero(~is_positive)[0], [*"abcd"]] = 40.0  # one row far out
    frame["y"] = np.where(np.arange(500) < 300, np.where(is_positive, "yes", "no"), "")
    frame.to_csv(tmp_path / "t.csv", index=False)
    training = read_training([tmp_path / "t.csv"], "y")
    model = fit_model(training, Settings("linear"), method="supervised")
    assert model.probability is None
    first = first_screen(model.summary)
    assert first.is_useless
    assert "it gives all rows the same score, up to rounding" in first.lines[0]
