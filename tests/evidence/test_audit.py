"""Audits: intervals that hold over whole paths, and how wide they are."""

import numpy as np
import pytest

from semisvm.evidence import Audit
from semisvm.evidence.shares import log_evidence, log_likelihood, log_mixture

N = 1000


def pool(seed, error=0.1, prevalence=0.3):
    rng = np.random.default_rng(seed)
    truth = (rng.random(N) < prevalence).astype(int)
    predicted = np.where(rng.random(N) < 1 - error, truth, 1 - truth)
    sure = np.where(predicted == truth, 0.93, 0.6) + 0.05 * rng.random(N)
    return truth, predicted, np.where(predicted == 1, sure, 1 - sure)


def true_figures(truth, predicted):
    hits = (truth * predicted).sum()
    return {
        "error": (truth != predicted).mean(),
        "prevalence": truth.mean(),
        "precision": hits / predicted.sum(),
        "recall": hits / truth.sum(),
    }


def misses(seed, n_looks=8, at_once=25, with_probabilities=True, **settings):
    """The figures whose interval ever misses the truth, and the last report."""
    truth, predicted, probabilities = pool(seed, **settings)
    q = probabilities if with_probabilities else None
    audit = Audit(predicted, q, pos_label=1, confidence=0.8, random_state=seed)
    wanted, missed = true_figures(truth, predicted), set()
    for look in range(n_looks):
        rows = audit.draw(at_once, ("error", "precision", "recall")[look % 3])
        audit.tell(rows, truth[rows])
        report = audit.report()
        for name, value in wanted.items():
            interval = getattr(report, name)
            if not interval.low - 1e-9 <= value <= interval.high + 1e-9:
                missed.add(name)
    return missed, report


@pytest.mark.parametrize("with_probabilities", [True, False])
def test_intervals_hold_at_all_looks_together(with_probabilities):
    n = 25
    missed = [misses(seed, 6, with_probabilities=with_probabilities)[0] for seed in range(n)]
    for name in ("error", "prevalence", "precision", "recall"):
        assert sum(name in one for one in missed) <= 0.2 * n + 3 * (0.16 * n) ** 0.5


@pytest.mark.nightly
@pytest.mark.parametrize("prevalence", [0.05, 0.5])
def test_intervals_hold_over_many_streams(prevalence):
    n = 300
    missed = [misses(seed, prevalence=prevalence)[0] for seed in range(n)]
    for name in ("error", "prevalence", "precision", "recall"):
        assert sum(name in one for one in missed) <= 0.2 * n + 3 * (0.16 * n) ** 0.5


def test_an_interval_for_one_look_is_caught(monkeypatch):
    """The interval that fits the likelihood at one look misses far too often over all looks."""
    monkeypatch.setattr(
        Audit, "_is_kept", lambda self, evidence, risk: evidence < evidence.min() + 0.1
    )
    n = 25
    missed = [misses(seed, 6)[0] for seed in range(n)]
    assert sum("error" in one for one in missed) > 0.2 * n + 3 * (0.16 * n) ** 0.5


def test_more_labels_and_good_predictions_make_intervals_shorter():
    widths = {}
    for q in (True, False):
        reports = [misses(seed, 16, 50, with_probabilities=q)[1] for seed in range(3)]
        widths[q] = np.mean([report.error.high - report.error.low for report in reports])
        early = [misses(seed, 3, 50, with_probabilities=q)[1] for seed in range(3)]
        assert np.mean([r.error.high - r.error.low for r in early]) > 1.2 * widths[q]
    assert widths[True] < widths[False]


def test_all_rows_answered_are_known():
    truth, predicted, q = pool(0)
    audit = Audit(predicted, q, pos_label=1, random_state=0)
    audit.tell(range(N), truth)
    report = audit.report()
    for name, value in true_figures(truth, predicted).items():
        interval = getattr(report, name)
        assert interval.low <= value <= interval.high
        assert interval.high - interval.low < 0.02
    assert audit.draw(5) == []


def test_the_mixture_is_the_mean_likelihood():
    totals = np.arange(31.0)
    mean = np.exp(log_likelihood(totals, 30, 7, 4)).mean()
    assert np.exp(log_mixture(30, 7, 4)) == pytest.approx(mean, rel=1e-10)


def test_a_cell_is_contradicted_no_more_than_its_totals():
    """The evidence against a cell is a lower bound of that against each total in it."""
    rng = np.random.default_rng(0)
    q = rng.random(60)
    y = rng.random(25) < q[:25]
    ends, evidence = log_evidence(60, y, np.arange(25), q)
    low, high = q.min(), q.max()
    residual = y - q[:25]
    before, left = np.cumsum(residual) - residual, 60 - np.arange(25)
    for M in range(int(y.sum()), 60 - int((~y).sum()) + 1):
        surprise = (residual - (M - q.sum() - before) / left) / (1 + high - low)
        stakes = np.geomspace(0.01, 0.6, 8)
        bets = np.mean([np.prod(1 + s * side * surprise) for s in stakes for side in (1, -1)])
        ratio = np.exp(
            log_mixture(60, y.sum(), (~y).sum())
            - log_likelihood(np.array([float(M)]), 60, y.sum(), (~y).sum())[0]
        )
        exact = np.log((bets + ratio) / 2)
        cells = np.flatnonzero((ends[:-1] <= M) & (M <= ends[1:]))
        assert (evidence[cells] <= exact + 1e-9).all()


def test_labels_of_any_kind_and_refusals():
    predicted = ["bug", "question", "bug", "praise"] * 30
    audit = Audit(predicted, random_state=0)
    audit.tell(audit.draw(10), ["bug"] * 10)
    report = audit.report()
    assert report.precision is None
    assert "each interval holds at any time with 90% confidence" in str(report)
    with pytest.raises(ValueError, match="give pos_label"):
        audit.draw(5, "precision")
    with pytest.raises(ValueError, match="figure must be"):
        audit.draw(5, "f1")
    for arguments, words in [
        (([],), "no predictions"),
        ((["a", None],), "row 1 has no label"),
        ((["a"], [0.1, 0.2]), "2 probabilities for 1 rows"),
        ((["a"], [2.0]), "from 0 to 1"),
    ]:
        with pytest.raises(ValueError, match=words):
            Audit(*arguments)
    with pytest.raises(ValueError, match="No row is predicted 'spam'"):
        Audit(predicted, pos_label="spam")
