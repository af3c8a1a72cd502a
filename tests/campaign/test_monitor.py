"""An alarm when new rows break a promise."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from semisvm import AutoSVC, Campaign, Monitor
from semisvm.decision.alarms import STAKES, alarm_log_evidence

# All of them hold exactly, with nothing to spare, where precision is .8, recall .7, and 30% of the
# rows are accepted: .24 / .7 of all rows are positive.
TARGETS = [
    {"min_precision": 0.8},
    {"min_recall": 0.7},
    {"min_f": 2 * 0.8 * 0.7 / 1.5},
    {"max_cost": 0.3 * 0.2 + 0.24 / 0.7 * 0.3, "costs": (1.0, 1.0)},
    {"min_precision": 0.8, "min_recall": 0.7},
]


def batch(rng, n, precision, recall=0.7, share=0.3):
    """Scores, and truth with the precision and recall of the rows above 0."""
    scores = rng.normal(size=n) + np.where(rng.random(n) < share, 5, -5)
    rate_rejected = precision * share * (1 - recall) / recall / (1 - share)
    rates = np.where(scores > 0, precision, rate_rejected)
    return scores, (rng.random(n) < rates).astype(int)


def has_alarm(rng, target, precisions, n=20, recall=0.7):
    """Whether a monitor of these batches ever raises an alarm, and after how many labels."""
    monitor = Monitor(0.0, **target)
    n_labels = 0
    for precision in precisions:
        scores, truth = batch(rng, 400, precision, recall)
        rows = monitor.draw(scores, n)
        monitor.tell(rows, truth[rows])
        n_labels += len(rows)
        if monitor.verdict().alarm:
            return n_labels
    return None


def test_the_evidence_is_the_sum_of_one_bet_per_batch_and_stake():
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(12) < 0.8, 1.0, -4.0)
    batches = np.repeat([0, 1, 2], 4)
    expected = []
    for t in range(1, 13):
        total = 1 / 4  # the bets on batches 3, 4, ...
        for k in range(3):
            used = gains[:t][batches[:t] >= k]
            wealth = np.mean([np.prod(1 - stake * used) for stake in STAKES])
            total += wealth / ((k + 1) * (k + 2))
        expected.append(math.log(total))
    assert_allclose(alarm_log_evidence(gains, batches, 3), expected, rtol=1e-12)


@pytest.fixture
def scores_are_not_compared(monkeypatch):
    """With those of the first batch: half of the time, and no part of an alarm."""
    monkeypatch.setattr(Monitor, "_compare", lambda self, scores: None)


@pytest.mark.usefixtures("scores_are_not_compared")
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_false_alarms_are_within_the_risk_on_the_boundary(target):
    worlds = [has_alarm(np.random.default_rng(seed), target, [0.8] * 8) for seed in range(150)]
    # At most 5%; 15 of 150 or more would have a chance of .01.
    assert sum(alarm is not None for alarm in worlds) < 15


@pytest.mark.usefixtures("scores_are_not_compared")
def test_small_batches_that_are_labeled_whole_raise_no_more_false_alarms():
    n_false = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        monitor = Monitor(0.0, min_recall=0.8, seed=f"{seed:04x}")
        for _ in range(30):
            scores, truth = batch(rng, 50, 0.9, recall=0.8, share=0.1)
            rows = monitor.draw(scores, 50)
            monitor.tell(rows, truth[rows])
        n_false += monitor.evidence_path().max(initial=0) >= 1 / monitor.risk
    assert n_false < 12  # at most 5%; 12 of 100 or more would have a chance of .005


def test_where_no_row_is_accepted_a_recall_is_still_watched():
    monitor = Monitor(0.0, min_recall=0.8, seed="00")
    for _ in range(6):
        rows = monitor.draw(np.full(400, -1.0), 20)
        assert len(rows) >= 10
        monitor.tell(rows, np.arange(len(rows)) % 3 == 0)
    assert monitor.verdict().alarm


@pytest.mark.usefixtures("scores_are_not_compared")
def test_a_fallen_recall_is_noticed_in_small_batches_of_which_few_rows_are_accepted():
    """Recall falls from 0.85 to 0.5. With 5 rows per batch, as many rejected as accepted ones, most
    monitors would not notice it in 30 batches.
    """
    n_alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        monitor = Monitor(0.0, min_recall=0.8, seed=f"{seed:04x}")
        for recall in [0.85] * 5 + [0.5] * 30:
            scores, truth = batch(rng, 50, 0.7, recall=recall, share=0.05)
            rows = monitor.draw(scores, 50)
            monitor.tell(rows, truth[rows])
        n_alarms += monitor.verdict().alarm
    assert n_alarms >= 20


def test_bets_that_begin_anew_with_the_whole_wealth_raise_false_alarms():
    """Broken on purpose: the shares of the batches are what keeps the risk over all time."""
    n_false = {"right": 0, "broken": 0}
    for seed in range(200):
        positive = np.random.default_rng(seed).random((40, 20)) < 0.8
        gains = (positive - 0.8) / 0.2
        batches = np.repeat(np.arange(40), 20)
        right = alarm_log_evidence(gains.ravel(), batches, 40).max()
        broken = max(alarm_log_evidence(part, np.zeros(20, int), 1).max() for part in gains)
        n_false["right"] += right >= math.log(20)
        n_false["broken"] += broken + math.log(2) >= math.log(20)
    assert n_false["right"] <= 18  # 10 are expected at most; 19 or more have a chance below .01
    assert n_false["broken"] > 40


@pytest.mark.usefixtures("scores_are_not_compared")
def test_a_fall_from_95_to_80_percent_is_noticed_within_60_labels_in_the_median():
    needed = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        labels = has_alarm(rng, {"min_precision": 0.95}, [0.95] * 3 + [0.8] * 20, n=20)
        needed.append(math.inf if labels is None else labels - 60)
    assert np.median([n for n in needed if n > 0]) <= 60


@pytest.mark.parametrize("target", TARGETS[1:4], ids=str)
def test_a_broken_promise_of_each_kind_is_noticed(target):
    rng = np.random.default_rng(1)
    # A recall of .2 breaks all three: F1 is .31, and a row costs .3 * .5 + .6 in missed positives.
    assert has_alarm(rng, target, [0.5] * 40, n=40, recall=0.2) is not None


def test_the_order_of_answers_and_a_saved_file_change_nothing(tmp_path):
    rng = np.random.default_rng(2)
    monitor = Monitor(0.0, min_precision=0.9, classes=["ham", "spam"], pos_label="spam", seed="07")
    other = Monitor(0.0, min_precision=0.9, classes=["ham", "spam"], pos_label="spam", seed="07")
    for _ in range(2):
        scores, truth = batch(rng, 300, 0.7)
        rows = monitor.draw(scores, 15)
        assert other.draw(scores, 15) == rows
        labels = np.where(truth[rows] == 1, "spam", "ham")
        monitor.tell(rows, labels)
        other.tell(rows[::-1], labels[::-1])
        other.save(tmp_path / "watch.json")
        other = Monitor.load(tmp_path / "watch.json")
    assert other.verdict().n_labels == monitor.verdict().n_labels == 30
    assert repr(other) == repr(monitor)
    assert_allclose(other.evidence_path()[-1], monitor.evidence_path()[-1], rtol=1e-12)
    assert monitor.evidence_path().max() == pytest.approx(monitor.verdict().evidence)


def test_answers_that_another_program_saved_are_not_overwritten(tmp_path):
    scores, truth = batch(np.random.default_rng(2), 300, 0.7)
    monitor = Monitor(0.0, min_precision=0.9)
    rows = monitor.draw(scores, 10)
    path = monitor.save(tmp_path / "watch.json")
    other = Monitor.load(path)
    other.tell(rows, truth[rows])
    other.save(path)
    other.save(path)  # its own file is no other program's
    monitor.tell(rows, 1 - truth[rows])
    with pytest.raises(ValueError, match="another program has saved this monitor meanwhile"):
        monitor.save(path)
    assert Monitor.load(path).answers == other.answers
    assert Monitor.load(monitor.save(tmp_path / "elsewhere.json")).answers == monitor.answers


def test_a_batch_counts_up_to_its_first_open_row():
    scores, truth = batch(np.random.default_rng(3), 300, 0.7)
    monitor = Monitor(0.0, min_precision=0.9, seed="01")
    rows = monitor.draw(scores, 10)
    monitor.tell(rows[1:], truth[rows[1:]])
    assert monitor.verdict().n_labels == 0
    assert "9 more answers will count once the rows that were drawn before" in str(
        monitor.verdict()
    )
    assert monitor.open_rows() == rows[:1]
    monitor.tell(rows[0], None)
    assert monitor.verdict().n_labels == 10
    assert "will count" not in str(monitor.verdict())


def test_dont_know_counts_against_the_model_or_not_at_all():
    scores, _ = batch(np.random.default_rng(4), 300, 0.9)
    evidence = {}
    for dont_know in ("bad", "leave out"):
        monitor = Monitor(0.0, min_precision=0.9, seed="01", dont_know=dont_know)
        rows = monitor.draw(scores, 20)
        monitor.tell(rows, [None] * 20)
        evidence[dont_know] = monitor.verdict()
    assert evidence["bad"].alarm
    assert evidence["bad"].precision[0] == 0
    assert evidence["leave out"].evidence == 1
    assert evidence["leave out"].precision is None


def test_scores_that_moved_and_the_share_accepted_are_said():
    rng = np.random.default_rng(5)
    reference = batch(rng, 5000, 0.9)[0]
    monitor = Monitor(0.0, min_precision=0.9, reference=reference, seed="01")
    monitor.draw(batch(rng, 500, 0.9)[0], 5)
    assert not monitor.verdict().scores_moved
    monitor.draw(batch(rng, 500, 0.9, share=0.6)[0], 5)
    verdict = monitor.verdict()
    assert verdict.scores_moved
    assert "The scores have changed: the last batch differs from those rows." in str(verdict)
    assert verdict.reference_share == pytest.approx(0.3, abs=0.03)
    assert verdict.as_dict()["share_accepted"] == pytest.approx(0.6, abs=0.06)


def test_scores_of_new_rows_seldom_move_although_the_model_learned_from_its_pool():
    """AutoSVC's scores of the unlabeled rows that it learned from are not those of new rows: taken
    as the reference they move in most batches. The first batch is a fair one.
    """
    rng = np.random.default_rng(0)
    X, digit = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order], digit[order] % 2
    model = AutoSVC().fit(X[:840], np.where(np.arange(840) < 40, y[:840], -1))
    pool = model.decision_function(X[40:840])
    scores = model.decision_function(X[840:])
    n_moved = {"pool": 0, "first batch": 0}
    for _ in range(100):
        first, second = rng.permutation(scores)[:900].reshape(2, 450)
        beside_pool = Monitor(0.0, min_precision=0.8, reference=pool)
        beside_pool.draw(second, 1)
        monitor = Monitor(0.0, min_precision=0.8)
        monitor.draw(first, 1)
        assert monitor.verdict().reference_share is None
        monitor.draw(second, 1)
        n_moved["pool"] += beside_pool.verdict().scores_moved
        n_moved["first batch"] += monitor.verdict().scores_moved
    assert n_moved["first batch"] <= 5
    assert n_moved["pool"] >= 50  # else there is nothing to see here
    monitor.draw(second + 1, 1)
    assert monitor.verdict().scores_moved


def test_the_promise_of_a_campaign_is_watched():
    rng = np.random.default_rng(6)
    scores, truth = batch(rng, 3000, 0.97)
    campaign = Campaign(scores, min_precision=0.9, seed="02")
    while not campaign.verdict().certified:
        rows = campaign.draw(10)
        campaign.tell(rows, truth[rows])
    monitor = Monitor.for_point(campaign.verdict().operating_point, reference=scores)
    assert monitor.target == campaign.target
    assert "no rows yet" in str(monitor.verdict())
    monitor.draw(scores, 3)
    assert "No alarm" in str(monitor.verdict())


def test_without_an_operating_point_there_is_nothing_to_watch():
    point = Campaign([0.1, 0.9], min_precision=0.9).verdict().operating_point
    with pytest.raises(ValueError, match="no threshold is certified"):
        Monitor.for_point(point)


def test_the_second_of_two_classes_is_the_positive_one():
    """As in a campaign: an alarm that answers of another class raise would be false."""
    monitor = Monitor(0.0, min_precision=0.9, classes=["ham", "spam"])
    rows = monitor.draw(np.ones(50), 20)
    monitor.tell(rows, ["spam"] * 20)
    assert monitor.pos_label == "spam"
    assert not monitor.verdict().alarm
    assert monitor.verdict().precision[0] == 1


def test_a_precision_of_one_is_broken_by_one_negative():
    monitor = Monitor(0.0, min_precision=1.0)
    rows = monitor.draw(np.ones(50), 3)
    monitor.tell(rows, [1, 0, 1])
    assert monitor.verdict().alarm


def test_batches_without_accepted_rows_or_with_few():
    monitor = Monitor(0.0, min_precision=0.9)
    assert monitor.draw(-np.ones(50), 5) == []
    assert len(monitor.draw(np.array([1.0, 1.0, -1.0]), 5)) == 2
    recall = Monitor(0.0, min_recall=0.9)
    assert len(recall.draw(-np.ones(50), 5)) == 5
    assert len(recall.draw(np.ones(50), 5)) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Say what was promised"),
        ({"min_precision": 0.9, "risk": 0}, "risk must be"),
        ({"min_precision": 0.9, "dont_know": "maybe"}, "dont_know must be"),
        ({"min_precision": 0.9, "classes": ["a", "b", "c"]}, "say which one the target is about"),
        ({"min_precision": 0.9, "classes": ["a", "b"], "pos_label": "c"}, "not one of the classes"),
        ({"min_precision": 0.9, "pos_label": "b"}, "pos_label needs classes"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Monitor(0.0, **options)


def test_bad_answers_and_files_are_refused(tmp_path):
    monitor = Monitor(0.0, min_precision=0.9)
    with pytest.raises(ValueError, match="threshold must be a number"):
        Monitor(math.nan, min_precision=0.9)
    for ask in (lambda: monitor.tell([0], [1]), monitor.open_rows):
        with pytest.raises(ValueError, match="There is no batch yet"):
            ask()
    rows = monitor.draw(np.arange(1.0, 9.0), 3)
    for ask in (lambda: monitor.tell(rows, [1, 1, 1], batch=1), lambda: monitor.open_rows(-2)):
        with pytest.raises(ValueError, match="they are numbered 0 to 0"):
            ask()
    stranger = next(row for row in range(8) if row not in rows)
    with pytest.raises(ValueError, match="was not drawn"):
        monitor.tell(stranger, 1)
    with pytest.raises(ValueError, match="one answer per row"):
        monitor.tell(rows, [1])
    with pytest.raises(ValueError, match="n must be"):
        monitor.draw(np.ones(3), 0)
    with pytest.raises(ValueError, match=r"no such file\. Begin it by `semisvm monitor draw`"):
        Monitor.load(tmp_path / "none.json")
    path = monitor.save(tmp_path / "watch.json")
    path.write_text(path.read_text().replace('"risk": 0.05', '"risk": 0.5'))
    with pytest.raises(ValueError, match="damaged or edited"):
        Monitor.load(path)
