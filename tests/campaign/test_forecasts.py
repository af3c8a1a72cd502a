"""Labels that a campaign forecasts, beside those that campaigns take."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semisvm import Campaign
from semisvm.decision.forecasts import passages, simulate_draws, simulated_bets
from semisvm.decision.linear_claims import BettingState, StratifiedClaim, bet_on

N_CAMPAIGNS = 30


def pool(n=2000, apart=2.5, share=0.2):
    """Calibrated probabilities of rows, from normal scores."""
    rng = np.random.default_rng(0)
    is_positive = rng.random(n) < share
    log_odds = apart * (apart * is_positive + rng.normal(size=n)) - apart**2 / 2
    return 1 / (1 + np.exp(-log_odds - math.log(share / (1 - share))))


@pytest.mark.parametrize(
    "asked",
    [
        {"max_cost": 0.18, "costs": (2, 1)},
        {"min_precision": 0.5, "min_recall": 0.5},
        {"min_recall": 0.7, "claim": "new rows"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("planned_once")
def test_half_of_all_campaigns_take_fewer_labels_than_forecast(asked):
    """Where predictions are right: labels are drawn with the chances predicted."""
    chances = pool()
    n_sooner = 0
    for seed in range(N_CAMPAIGNS):
        truth = (np.random.default_rng(seed).random(len(chances)) < chances).astype(int)
        campaign = Campaign(chances, seed=f"{seed:02x}", **asked)
        forecast = campaign.standing().forecast
        for n_labels in (forecast // 2, forecast):  # the highest evidence so far counts
            rows = campaign.draw(n_labels - campaign.n_labels)
            campaign.tell(rows, truth[rows])
        n_sooner += campaign.standing(with_forecasts=False).is_certified
    assert 0.3 * N_CAMPAIGNS < n_sooner < 0.7 * N_CAMPAIGNS


def test_nothing_is_in_sight_once_the_answers_speak_against_it():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=3000)
    truth = (scores + 0.5 * rng.normal(size=3000) > 0.8).astype(int)
    campaign = Campaign(scores, min_f=0.7, seed="00")  # truly 0.57: it accepts too many
    assert campaign.verdict().forecast is not None
    rows = campaign.draw(300)
    campaign.tell(rows, truth[rows])
    assert campaign.verdict().forecast is None
    assert "No certificate is in sight" in campaign.verdict().reason


def test_bets_on_simulated_steps_are_the_bets_on_their_rows():
    claim = StratifiedClaim(
        sizes=np.array([60.0, 200.0, 740.0]),
        values=np.array([0.3, 0.3, 0.7]),
        total=560.0,
        weights=np.array([0.004, 0.002, 0.0005]),
        experts=np.array([[0.9, 0.6, 0.97], [0.8, 0.4, 0.95]]),
    )
    rng = np.random.default_rng(1)
    strata = rng.choice(3, size=150, p=[0.2, 0.4, 0.4])
    outcomes = (rng.random(150) < np.array([0.9, 0.6, 0.97])[strata]).astype(float)
    _, path = bet_on(claim, strata, outcomes)
    drawn = np.eye(3)[strata]
    good = (drawn * outcomes[:, None])[None]
    start = BettingState.at_start(claim)
    assert_allclose(simulated_bets(claim, start, good, drawn - good)[0], path, atol=0.02)
    steps = [part.reshape(1, 30, 5, 3).sum(axis=2) for part in (good, drawn - good)]
    assert_allclose(simulated_bets(claim, start, *steps)[0], path[4::5], atol=0.1)


def test_simulated_campaigns_draw_every_row_once_and_fast_rows_first():
    left = np.array([50.0, 0.0, 400.0, 30.0])
    drawn = simulate_draws(left, np.array([9.0, 1.0, 1.0, 0.0]), np.full(4, 0.25), unknown=0.1)
    counts = drawn.positive + drawn.negative + drawn.unknown
    assert counts[:, :, [1, 3]].sum() == 0  # no row is left, and no row is drawn
    n_drawn = counts.sum(axis=1)
    assert (n_drawn <= left).all()
    assert n_drawn[:, [0, 2]].mean() > 0.995 * 225
    half = np.cumsum(counts, axis=1)[:, drawn.n_labels(np.arange(4)).mean(axis=0).searchsorted(100)]
    t = 0.1157  # 50 (1 - exp(-9 t)) + 400 (1 - exp(-t)) = 76
    assert 50 * (1 - math.exp(-9 * t)) < half[:, 0].mean() < 50
    assert drawn.positive.sum() / (drawn.positive + drawn.negative).sum() == pytest.approx(
        0.25, abs=0.01
    )
    assert drawn.unknown.sum() / counts.sum() == pytest.approx(0.1, abs=0.01)


def test_passages_between_steps_are_counted():
    """Of random walks, as many pass as where every step is looked at."""
    rng = np.random.default_rng(0)
    walks = np.cumsum(0.1 * rng.normal(size=(20_000, 400)), axis=1)
    seen = walks[:, 39::40]
    n_labels = np.tile(np.arange(40, 401, 40), (len(walks), 1))
    passed = passages(seen, 0.0, 2.0, n_labels)
    every = np.where((walks >= 2).any(axis=1), (walks >= 2).argmax(axis=1) + 1, np.inf)
    for n in (120, 240, 400):
        assert np.mean(passed <= n) == pytest.approx(np.mean(every <= n), abs=0.03)
    assert np.mean(seen.max(axis=1) >= 2) < np.mean(every <= 400) - 0.05  # else there is no need
    known = passages(np.array([[1.0, np.inf], [-np.inf, 1.0]]), 0.0, 9.0, n_labels[:2, :2])
    assert known.tolist() == [60.0, np.inf]
