"""The monitor: false alarms, broken promises, files."""

import numpy as np
import pytest

from semisvm.errors import DataError
from semisvm.evidence import Monitor
from semisvm.evidence import monitor as monitor_module


def watch(seed, precisions, *, risk=0.2, p=0.9, n_labels=20, **options):
    """Watch batches with these precisions; return the number of the first with an alarm, or 0."""
    rng = np.random.default_rng(seed)
    monitor = Monitor(0.0, min_precision=p, risk=risk, random_state=seed, **options)
    for number, precision in enumerate(precisions, 1):
        scores = rng.normal(size=200)
        truth = (rng.random(200) < precision).astype(int)
        rows = monitor.draw(scores, n_labels)
        monitor.tell(rows, truth[rows])
        if monitor.verdict().alarm:
            return number
    return 0


def share_of_alarms(n, precisions, **options):
    return np.mean([watch(seed, precisions, **options) > 0 for seed in range(n)])


def test_false_alarms_are_rare_and_true_ones_come_soon():
    n = 60
    assert share_of_alarms(n, [0.9] * 15) <= 0.2 + 3 * (0.16 / n) ** 0.5
    first = [watch(seed, [0.9] * 3 + [0.5] * 6) for seed in range(10)]
    assert np.median(first) in (4, 5)


def test_a_bet_that_forgets_its_losses_is_caught(monkeypatch):
    honest = Monitor._log_evidence
    monkeypatch.setattr(Monitor, "_log_evidence", lambda *args: 4 * honest(*args))
    assert share_of_alarms(60, [0.9] * 15) > 0.2 + 3 * (0.16 / 60) ** 0.5


def test_evidence_by_hand():
    monitor = Monitor(0.0, min_precision=0.8, random_state=0)
    answers = [1, 0, 0, 1, 0]
    for _ in range(2):
        rows = monitor.draw(np.arange(1.0, 11), 5)
        monitor.tell(rows, answers)
    stakes, total = monitor_module.STAKES, 0.0
    paths = []
    for n_told in range(1, 11):
        told = (answers * 2)[:n_told]
        total = 1 / 3  # for batches that are still to come
        for k in range(2):
            factors = [1 - stakes * (y - 0.8) / 0.2 for i, y in enumerate(told) if i // 5 >= k]
            total += np.mean(np.prod(factors, axis=0) if factors else np.ones(6)) / (
                (k + 1) * (k + 2)
            )
        paths.append(total)
    assert monitor.verdict().evidence == pytest.approx(max(1, *paths), rel=1e-12)


def test_answers_count_in_the_order_of_the_draws():
    monitor = Monitor(0.0, min_precision=0.9, random_state=0)
    rows = monitor.draw(np.ones(50), 6)
    monitor.tell(rows[1:], [0] * 5)
    verdict = monitor.verdict()
    assert (verdict.n_labels, verdict.n_waiting, verdict.alarm) == (0, 5, False)
    assert "5 more answers count when" in str(verdict)
    assert monitor.open_rows() == rows[:1]
    monitor.tell(rows[0], 1)
    assert monitor.verdict().n_labels == 6
    monitor.tell(rows[1], 1)  # a correction
    assert monitor.verdict().last_precision == pytest.approx(2 / 6)


def test_only_accepted_rows_are_drawn_and_moved_scores_are_noticed():
    rng = np.random.default_rng(0)
    monitor = Monitor(0.5, min_precision=0.9, random_state=0)
    scores = rng.random(500)
    assert (scores[monitor.draw(scores, 400)] >= 0.5).all()
    monitor.draw(rng.random(500))
    assert not monitor.verdict().scores_moved
    monitor.draw(rng.random(500) + 0.3)
    verdict = monitor.verdict()
    assert verdict.scores_moved
    assert "The scores have changed" in str(verdict)


def test_classes_files_and_refusals(tmp_path):
    monitor = Monitor(0.0, min_precision=0.9, pos_label="yes", random_state=3)
    rows = monitor.draw(np.ones(60), 10)
    monitor.tell(rows[:8], ["yes", "no", None, "yes", "yes", "no", "no", "no"])
    path = monitor.save(tmp_path / "watch.json")
    loaded = Monitor.load(path)
    assert loaded.verdict() == monitor.verdict()
    assert loaded.open_rows() == rows[8:]
    loaded.tell(rows[8:], ["yes", "yes"])
    loaded.save(path)
    with pytest.raises(DataError, match="another program has written it"):
        monitor.save(path)
    with pytest.raises(ValueError, match="was not drawn"):
        monitor.tell(59 if 59 not in rows else 58, "yes")
    with pytest.raises(ValueError, match="There is no batch 4"):
        monitor.open_rows(4)
    with pytest.raises(ValueError, match="`draw` begins one"):
        Monitor(0.0, min_precision=0.9).tell(0, 1)
    for options, words in [
        ({"threshold": np.nan, "min_precision": 0.9}, "threshold must be a number"),
        ({"threshold": 0, "min_precision": 1.0}, "min_precision must be between 0 and 1"),
        ({"threshold": 0, "min_precision": 0.9, "risk": 0}, "risk must be between 0 and 1"),
    ]:
        with pytest.raises(ValueError, match=words):
            Monitor(**options)
