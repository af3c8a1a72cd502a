"""Certificates: the arithmetic by a table, and in thousands of simulated worlds the promise.

A world is a population in which precision and recall of every threshold are known. At the boundary
of its promise, a certificate may be wrong in a tenth of the worlds. Procedures that are broken on
purpose must be wrong more often: else the simulation could not tell.
"""

import numpy as np
import pytest
from scipy import stats

from semisvm import certify

N_WORLDS = 1500


def wrong_share(is_wrong):
    """The share of wrong certificates, less three standard errors of a tenth."""
    return np.mean(is_wrong) - 3 * np.sqrt(0.09 / len(is_wrong))


@pytest.mark.parametrize(
    ("measure", "target", "n", "fewest"),
    [
        ("precision", 0.8, 11, 11),  # 0.8^11 <= 0.1 < 0.8^10
        ("precision", 0.9, 22, 22),
        ("precision", 0.95, 45, 45),
        ("recall", 0.8, 20, 19),
        ("recall", 0.8, 50, 45),
        ("recall", 0.8, 1000, 817),
        ("recall", 0.9, 30, 30),
        ("recall", 0.9, 100, 95),
        ("recall", 0.95, 200, 195),
    ],
)
def test_the_fewest_successes_that_prove(measure, target, n, fewest):
    how = {f"min_{measure}": target}
    for successes, proved in ((fewest, True), (fewest - 1, False)):
        good, bad = np.ones(successes, bool), np.zeros(n - successes, bool)
        if measure == "precision":  # n accepted rows, so many of them positive
            accepted, y = np.ones(n, bool), np.append(good, bad)
        else:  # n positives, so many of them accepted
            accepted, y = np.append(good, bad), np.ones(n, bool)
        found = certify(accepted, y, **how)
        assert found.proved == proved
        assert (found.successes, found.trials, found.threshold) == (successes, n, None)
        assert (found.bound >= target) == proved
        assert stats.binomtest(successes, n, alternative="greater").proportion_ci(
            0.9, "exact"
        ).low == pytest.approx(found.bound)


def test_labels_of_every_kind():
    scores = np.linspace(1, -1, 100)
    truth = scores > 0.02
    expected = certify(scores, truth, min_precision=0.9)
    assert expected.proved
    for y in (truth.astype(int), np.where(truth, 1, -1), np.where(truth, "spam", "ham")):
        assert certify(scores, y, min_precision=0.9) == expected
    names = np.where(truth, "apple", np.where(scores > -0.5, "pear", "plum"))
    assert certify(scores, names, min_precision=0.9, pos_label="apple") == expected
    assert certify(scores, ~truth, min_precision=0.9, pos_label=False) == expected
    predicted = certify(scores > 0, truth, min_precision=0.9)
    for labels in (["ham", "spam"], [1, 2], [-1, 1], [1.0, 2.0], [False, True]):
        labels = np.array(labels)
        found = certify(labels[(scores > 0) * 1], labels[truth * 1], min_precision=0.9)
        assert found == predicted


def test_the_sentence_says_what_is_proved_or_needed():
    scores = np.linspace(1, -1, 60)
    y = (scores > 0).astype(int)
    assert str(certify(scores, y, min_precision=0.9)) == (
        "precision is at least 0.9 at threshold 0, with 90% confidence: 30 of 30 accepted rows are"
        " positive."
    )
    assert str(certify(scores, y, min_recall=0.99)).endswith(
        "at least 230 positives are needed, all of them accepted."
    )
    assert certify(scores, y, min_recall=1).needed is None


def test_thresholds_are_tested_in_order_until_one_fails():
    scores = np.repeat([3.0, 2.0, 1.0], 40)
    y = np.concatenate([np.ones(40), np.tile([1, 0], 20), np.ones(40)])
    assert certify(scores, y, min_precision=0.8, thresholds=[2.5, 1.5, 0.5]).threshold == 2.5
    assert not certify(scores, y, min_precision=0.8, thresholds=[1.5, 2.5]).proved
    lenient = certify(scores, y, min_precision=0.7, thresholds=[2.5, 0.5])
    assert (lenient.threshold, lenient.successes, lenient.trials) == (0.5, 100, 120)


def test_the_recall_is_proved_at_the_highest_threshold():
    scores = np.arange(100.0)
    found = certify(scores, np.ones(100), min_recall=0.9)
    assert (scores > found.threshold).sum() == 95
    tied = certify(np.repeat([2.0, 1.0], 50), np.ones(100), min_recall=0.9)
    assert (tied.successes, tied.proved) == (100, True)
    assert not certify(scores[:21], np.ones(21), min_recall=0.9).proved


def precision_worlds(thresholds, seed, n=150):
    """Certificates of precision 0.8, and whether they are wrong; three bands of scores.

    Precision rises as the threshold falls (a model that is wrong about its highest scores), so a
    higher threshold is no safer.
    """
    rng = np.random.default_rng(seed)
    shares, rates = np.array([0.3, 0.3, 0.4]), np.array([0.80, 0.79, 0.83])
    true = np.cumsum(shares * rates) / np.cumsum(shares)
    wrong = []
    for _ in range(N_WORLDS):
        band = rng.choice(3, n, p=shares)
        y = rng.random(n) < rates[band]
        found = certify(2.5 - band, y, min_precision=0.8, thresholds=thresholds)
        # Just at or above a false threshold counts: the first band's 0.80 is made 0.7999.
        is_false = found.proved and true[round(2.0 - found.threshold)] < 0.8 + 1e-9
        wrong.append(is_false)
    return wrong


def test_a_precision_is_wrong_in_a_tenth_of_the_worlds_at_most():
    wrong = precision_worlds([2.0, 1.0, 0.0], seed=0)
    assert wrong_share(wrong) <= 0.1
    assert np.mean(wrong) > 0.03  # the worlds are at the boundary


def test_thresholds_without_an_order_are_caught():
    """Broken on purpose: any of the thresholds may pass, each tested at the full risk."""
    thresholds = np.arange(7.0, -1, -1)

    def wrong_shares(n_worlds):
        rng = np.random.default_rng(1)
        for _ in range(n_worlds):
            band = rng.choice(8, 400)
            y = rng.random(400) < 0.8  # every threshold is just false
            how = {"min_precision": 0.8 + 1e-9}
            ordered = certify(7.5 - band, y, thresholds=thresholds, **how).proved
            alone = any(certify(7.5 - band, y, thresholds=t, **how).proved for t in thresholds)
            yield ordered, alone

    ordered, alone = zip(*wrong_shares(N_WORLDS // 3), strict=True)
    assert wrong_share(ordered) <= 0.1
    assert np.mean(alone) > 0.2


def recall_worlds(n, target, adjust=0):
    """Whether certificates of recall are wrong; scores of positives are uniform, the recall of a
    threshold t in [0, 1] is 1 - t.
    """
    rng = np.random.default_rng(2)
    wrong = []
    for _ in range(N_WORLDS):
        found = certify(rng.random(n), np.ones(n), min_recall=target)
        threshold = found.threshold
        if adjust:  # one more positive is missed than the proof allows
            threshold = threshold + adjust / n
        wrong.append(found.proved and 1 - threshold < target)
    return wrong


@pytest.mark.parametrize(("n", "target"), [(25, 0.8), (100, 0.9)])
def test_a_recall_is_wrong_in_a_tenth_of_the_worlds_at_most(n, target):
    wrong = recall_worlds(n, target)
    assert wrong_share(wrong) <= 0.1
    assert np.mean(wrong) > 0.02
    assert np.mean(recall_worlds(n, target, adjust=3)) > 0.15  # broken on purpose


def test_a_threshold_chosen_on_the_same_rows_is_caught():
    """Broken on purpose: the threshold of the best precision on the rows that certify."""
    rng = np.random.default_rng(3)
    wrong = []
    for _ in range(N_WORLDS // 3):
        scores, y = rng.normal(size=300), rng.random(300) < 0.8 - 1e-9
        order = np.argsort(-scores)
        share = np.cumsum(y[order]) / np.arange(1, 301)
        best = order[30 + np.argmax(share[30:])]
        found = certify(scores, y, min_precision=0.8, thresholds=scores[best] - 1e-9)
        wrong.append(found.proved)
    assert np.mean(wrong) > 0.2


@pytest.mark.parametrize(
    ("scores", "y", "how", "message"),
    [
        ([1.0, 2.0], [0, 1], {}, "Pass min_precision or min_recall, one of them"),
        ([1.0, 2.0], [0, 1], {"min_recall": 0.9, "min_precision": 0.9}, "one of them"),
        ([1.0, 2.0], [0, 1], {"min_recall": 1.1}, r"min_recall must lie in \(0, 1\]"),
        ([1.0, 2.0], [0, 1, 1], {"min_recall": 0.9}, "one entry per row"),
        ([1.0, np.inf], [0, 1], {"min_recall": 0.9}, "finite"),
        ([1.0, 2.0, 0.0], [0, 1, -1], {"min_recall": 0.9}, "leave out rows without a label"),
        ([1.0, 2.0], ["a", "a"], {"min_recall": 0.9}, "'a' alone: pass pos_label"),
        ([1.0, 2.0], [0, 1], {"min_recall": 0.9, "pos_label": 7}, "pos_label=7 is not a label"),
        ([True, False], [0, 1], {"min_precision": 0.9, "thresholds": 0.0}, "booleans"),
        ([1.0, 2.0], [0, 1], {"min_recall": 0.9, "confidence": 0}, "strictly between 0 and 1"),
    ],
)
def test_nonsense_is_refused(scores, y, how, message):
    with pytest.raises(ValueError, match=message):
        certify(scores, y, **how)
