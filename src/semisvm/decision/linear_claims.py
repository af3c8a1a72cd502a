"""Targets as linear claims about a pool, and bets on them with rows that are drawn at different
speeds.

**Claims.** With g_i = 1 where row i is decided right ("good": an accepted row that is positive, a
rejected one that is negative) and 0 where it is not, every target reads

    sum_i (value_i g_i - due_i) >= 0

    target           value accepted       value rejected   due accepted   due rejected
    precision >= p   1                    0                p              0
    recall >= r      1 - r                r                0              r
    F_beta >= f      1 + b2 - f b2        f b2             f              f b2            (b2 =
                     beta^2)
    cost <= k        cost of an accepted negative,         their costs - k
                     cost of a missed positive

    claim     sum_i c_i g_i >= K over the rows of the pool: c_i the value of row i, K the sum of the
              dues
    null      sum_i c_i g_i <= K, with K a little below: the claim is false
    q_i       the chance that row i is drawn next: w_i / sum of w over the rows that are left

**One bet.** Choose numbers rho_i >= 0 beforehand. Drawing row i with outcome g multiplies the
wealth by

    f_i(g) = c_i (g + rho_i) / (D q_i),      D = K + sum_j c_j rho_j over the rows that are left

whose mean is sum_i c_i (g_i + rho_i) / D <= 1 under the null. K is what the null still allows: the
good weight that was found is subtracted. If it falls below 0 the null is impossible and the
evidence infinite. If row i is good with chance pi_i, the best rho for given draws is

    tau_i = q_i D / c_i,   rho_i = ((tau_i - 1) + sqrt((tau_i - 1)^2 + 4 tau_i (1 - pi_i))) / 2,

where D solves D = K + sum c rho(D). Nobody knows pi, so several experts (beliefs about the pool)
bet side by side on the same draws; the evidence is the mean of their wealths. Rows come in strata
with equal c, w and pi, which makes the sums short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from semisvm.decision.betting import CLAIM_ROUNDING
from semisvm.decision.checks import Floats
from semisvm.decision.logarithms import expit, log_sum_exp, logit
from semisvm.decision.target import Target

Measure = Literal["precision", "recall", "f", "cost"]

LEAST_DOUBT = 0.0005  # probabilities of experts stay this far from 0 and 1
# Of the experts' log-odds.
ACCEPTED_SHIFTS = (-0.7, 0.0, 0.7)
REJECTED_SHIFTS = (-1.5, -0.75, 0.0, 0.75)
SHARE_EXPERTS = (0.2, 0.5, 0.8, 0.97)  # experts for a precision: from the target (0) to 1
MOST_RHO_STEPS = 60
# Newton's method for the root D: from the left it takes 4 to 12 steps. A bet is fair whatever the
# accuracy of the root.
MOST_NEWTON_STEPS, NEWTON_TOLERANCE = 40, 1e-9
LEAST_SLOPE = 1e-12  # where the expert hardly believes the claim, the root is nearly infinite
GROWTH_BISECTIONS = 50  # of the log growth, between 1e-12 and 50: to 3e-14
STEPS_AT_ONCE = 256  # draws that are computed together
N_SIMULATED = 41  # campaigns of a forecast
MOST_SIMULATED = 600  # labels of each


# ---- claims ----


class LinearForm(NamedTuple):
    """A target as a linear claim: what a good row is worth and what each row owes, for accepted
    and rejected rows.
    """

    measure: Measure
    level: float
    value_accepted: float
    value_rejected: float
    due_accepted: float
    due_rejected: float

    def values(self, is_accepted: np.ndarray) -> Floats:
        """Return what a good row is worth."""
        return np.where(is_accepted, self.value_accepted, self.value_rejected)

    def dues(self, is_accepted: np.ndarray) -> Floats:
        """Return what each row owes."""
        return np.where(is_accepted, self.due_accepted, self.due_rejected)

    def neutral(self, is_accepted: np.ndarray) -> Floats:
        """Return the outcome with which a row counts for nothing: the outcome of a row that is
        left out.
        """
        values = self.values(is_accepted)
        return np.divide(
            self.dues(is_accepted), values, out=np.zeros(len(values)), where=values > 0
        )


def linear_forms(target: Target) -> tuple[LinearForm, ...]:
    """Return the claims that a target consists of; all of them have to hold."""
    forms = []
    if target.min_precision is not None:
        p = target.min_precision
        forms.append(LinearForm("precision", p, 1.0, 0.0, p, 0.0))
    if target.min_recall is not None:
        r = target.min_recall
        forms.append(LinearForm("recall", r, 1 - r, r, 0.0, r))
    if target.min_f is not None:
        f = target.min_f
        b2 = target.beta**2
        forms.append(LinearForm("f", f, 1 + b2 - f * b2, f * b2, f, f * b2))
    if target.max_cost is not None:
        assert target.costs is not None
        missed, accepted = target.costs
        k = target.max_cost
        forms.append(LinearForm("cost", k, accepted, missed, accepted - k, missed - k))
    return tuple(forms)


@dataclass(frozen=True)
class StratifiedClaim:
    """A claim about a pool in strata, and the beliefs that bet on it.

    `sizes`, `values` and `weights`, of shape (n_strata,), are the rows per stratum, what a good row
    is worth (c, above 0) and how fast rows are drawn (w, above 0). `total` is what the null allows
    (K). `experts`, of shape (n_experts, n_strata), are the chances that a row is good, by expert.
    """

    sizes: Floats
    values: Floats
    total: float
    weights: Floats
    experts: Floats


def stratified(
    sizes: Floats,
    beliefs: Floats,
    speeds: Floats,
    form: LinearForm,
    n_accepting: int,
    *,
    whole_outcomes: bool = True,
) -> tuple[StratifiedClaim, np.ndarray]:
    """Return the claim of one target at one threshold, and the bands that it is about (those that
    are worth something).

    The claim's one expert is the belief itself: `with_experts` gives it the others. With
    `whole_outcomes` every row is good or not, nothing between.
    """
    is_accepted = np.arange(len(sizes)) < n_accepting
    values = form.values(is_accepted)
    bands = np.flatnonzero((values > 0) & (sizes > 0))
    total = float((form.dues(is_accepted) * sizes).sum())
    kinds = np.unique(values[bands])
    if (
        len(kinds) == 1 and whole_outcomes
    ):  # only multiples of one value occur: the null's largest total is one of them
        total = float(kinds[0] * (math.ceil(total / kinds[0] - CLAIM_ROUNDING) - 1))
    else:
        total -= CLAIM_ROUNDING
    good = np.where(is_accepted, beliefs, 1 - beliefs)
    return (
        StratifiedClaim(sizes[bands], values[bands], total, speeds[bands], good[bands][None]),
        bands,
    )


def with_experts(
    claim: StratifiedClaim, bands: np.ndarray, form: LinearForm, n_accepting: int
) -> StratifiedClaim:
    """Give a claim the beliefs that bet on it: the prediction with its log-odds shifted, as far
    as they believe it.
    """
    is_accepted = bands < n_accepting
    log_odds = logit(claim.experts[0])
    shifts = [(a, b) for a in ACCEPTED_SHIFTS for b in REJECTED_SHIFTS]
    # The shift is of being positive, and a rejected row is good where it is negative.
    experts = [expit(log_odds + np.where(is_accepted, a, -b)) for a, b in shifts]
    if form.measure == "precision":
        experts += [
            np.full(len(bands), form.level + (1 - form.level) * part) for part in SHARE_EXPERTS
        ]
    kept = np.unique(np.clip(experts, LEAST_DOUBT, 1 - LEAST_DOUBT), axis=0)
    worth = claim.sizes * claim.values
    believing = kept[(worth * kept).sum(axis=1) > claim.total]
    shift = 0.5
    while not len(believing):
        hopeful = np.clip(expit(log_odds + shift), LEAST_DOUBT, 1 - LEAST_DOUBT)[None]
        room = claim.total + 0.2 * (worth.sum() - claim.total)
        believing = hopeful if (worth * hopeful).sum() > room or shift > 20 else believing
        shift += 0.5
    return StratifiedClaim(claim.sizes, claim.values, claim.total, claim.weights, believing)


# ---- bets ----


@dataclass(frozen=True)
class BettingState:
    """Where a bet stands: rows left per stratum, what the null still allows, the log wealths,
    the highest evidence.
    """

    sizes: Floats
    total: float
    log_wealths: Floats
    log_evidence: float
    highest: float

    @classmethod
    def at_start(cls, claim: StratifiedClaim) -> BettingState:
        """Return the state before the first draw."""
        log_wealths = np.full(len(claim.experts), -math.log(len(claim.experts)))
        first = math.inf if claim.total < 0 else 0.0
        return cls(claim.sizes.astype(float), claim.total, log_wealths, first, first)


def bet_on(
    claim: StratifiedClaim,
    strata: ArrayLike,
    outcomes: ArrayLike,
    state: BettingState | None = None,
) -> tuple[BettingState, Floats]:
    """Bet on rows in the order in which they were drawn: the stratum of each, and how good it was,
    in [0, 1].

    Return where the bet stands afterward, and the logarithm of the evidence after each row.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.decision.linear_claims import StratifiedClaim, bet_on
    >>> claim = StratifiedClaim(
    ...     np.array([100, 900]),
    ...     np.array([0.2, 0.8]),
    ...     720.0,
    ...     np.array([0.004, 0.6 / 900]),
    ...     np.array([[0.9, 0.99]]),
    ... )
    >>> state, path = bet_on(claim, [0, 1, 1], [1, 1, 1])
    >>> bool(path[-1] > path[0] > 0)
    True
    """
    state = BettingState.at_start(claim) if state is None else state
    where = np.asarray(strata, dtype=np.intp)
    good = np.asarray(outcomes, dtype=float)
    path = []
    for start in range(0, len(where), STEPS_AT_ONCE):
        part = slice(start, start + STEPS_AT_ONCE)
        state, evidence = _bet_on_part(claim, where[part], good[part], state)
        path.append(evidence)
    return state, np.concatenate([np.empty(0), *path])


def _bet_on_part(
    claim: StratifiedClaim, where: np.ndarray, good: Floats, state: BettingState
) -> tuple[BettingState, Floats]:
    """All draws at once: the bets depend on what was drawn before, not on the wealth."""
    drawn = np.zeros((len(where) + 1, len(claim.sizes)))
    drawn[np.arange(1, len(where) + 1), where] = 1
    sizes = state.sizes - np.cumsum(drawn, axis=0)
    totals = np.cumsum(np.concatenate([[state.total], -claim.values[where] * good]))
    bets = place_bets(
        claim.values, sizes[:-1], totals[:-1], claim.weights, claim.experts[None], where, good
    )
    steps = np.concatenate([state.log_wealths[None], bets.log_factors()])
    log_wealths = np.cumsum(steps, axis=0)
    evidence = np.where(
        totals[1:] < -CLAIM_ROUNDING / 10, np.inf, log_sum_exp(log_wealths[1:], axis=1)
    )
    highest = max(state.highest, float(evidence.max())) if len(evidence) else state.highest
    last = float(evidence[-1]) if len(evidence) else state.log_evidence
    return BettingState(sizes[-1], float(totals[-1]), log_wealths[-1], last, highest), evidence


class Bets(NamedTuple):
    """Bets of experts (columns) on draws (rows): log of c (g + rho) / q, and D; D is NaN where an
    expert does not bet.
    """

    log_payments: Floats
    D: Floats

    def log_factors(self, found: float = 0.0) -> Floats:
        """Return by how much each bet changes the log wealth, with D less what was found."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_D = np.log(np.maximum(self.D - found, 1e-300))
        return np.where(np.isnan(self.D), 0.0, self.log_payments - log_D)


def place_bets(
    values: Floats,
    sizes: Floats,
    totals: Floats,
    weights: Floats,
    beliefs: Floats,
    where: np.ndarray,
    good: Floats,
) -> Bets:
    """Bet on draws of the strata `where` with the outcomes `good`.

    Before each draw, `sizes` (n_draws, n_strata) rows are left and the null allows `totals`.
    `beliefs` has the shape (n_draws or 1, n_experts, n_strata), `weights` (n_draws or 1, n_strata)
    or (n_strata,).
    """
    n_draws = len(where)
    beliefs = np.broadcast_to(beliefs, (n_draws, *beliefs.shape[1:]))
    chances = weights / (sizes * weights).sum(axis=1, keepdims=True)  # of one row, per stratum
    believed = (sizes[:, None, :] * values * beliefs).sum(axis=2)
    is_placed = (totals[:, None] > CLAIM_ROUNDING) & (believed > totals[:, None])
    log_payments = np.zeros(is_placed.shape)
    all_D = np.full(is_placed.shape, np.nan)
    step, expert = np.nonzero(is_placed)
    D, rho = solve_bets(values, sizes[step], totals[step], chances[step], beliefs[step, expert])
    at = where[step]
    paid = values[at] * (good[step] + rho[np.arange(len(step)), at])
    with np.errstate(divide="ignore"):
        log_payments[step, expert] = np.log(paid / chances[step, at])
    all_D[step, expert] = D
    return Bets(log_payments, all_D)


def next_gains(
    values: Floats, sizes: Floats, total: float, weights: Floats, beliefs: Floats
) -> tuple[Floats, Floats]:
    """Return how the log wealth of each expert changes with the next row, (n_experts, 2,
    n_strata): if it is good, and if it is not; 0 where the expert does not bet. And the chance
    that the row is of each stratum.
    """
    gains = np.zeros((len(beliefs), 2, len(values)))
    chances = weights / (sizes * weights).sum()
    believed = (sizes * values * beliefs).sum(axis=1)
    bets = np.flatnonzero((believed > total) & (total > CLAIM_ROUNDING))
    ones = np.ones((len(bets), 1))
    D, rho = solve_bets(
        values, ones * sizes, np.full(len(bets), total), ones * chances, beliefs[bets]
    )
    unit = (values / (D[:, None] * chances))[:, None]
    gains[bets] = np.log(unit * np.stack([1 + rho, np.maximum(rho, 1e-300)], axis=1))
    return gains, sizes * chances


def solve_bets(
    values: Floats, sizes: Floats, totals: Floats, chances: Floats, beliefs: Floats
) -> tuple[Floats, Floats]:
    """Return D and rho of the best bets, for many states (rows) at once; strata are columns.

    The bet is fair whatever the accuracy of the root, since D is computed again from rho.
    """
    worth = sizes * values
    shares = chances / values
    D = totals
    is_open = np.ones(len(totals), dtype=bool)
    for _ in range(MOST_NEWTON_STEPS):
        rho, slope = _rho_and_slope(shares * D[:, None], beliefs)
        excess = totals + (worth * rho).sum(axis=1) - D
        # Convex and decreasing in D: Newton's steps from the left never pass the root.
        step = excess / np.maximum(1 - (worth * shares * slope).sum(axis=1), LEAST_SLOPE)
        # Each state stops by itself, so that it does not matter which others are computed with it.
        is_open &= step > NEWTON_TOLERANCE * D
        D = np.where(is_open, D + step, D)
        if not is_open.any():
            break
    rho, _ = _rho_and_slope(shares * D[:, None], beliefs)
    return totals + (worth * rho).sum(axis=1), rho


def _rho_and_slope(tau: Floats, beliefs: Floats) -> tuple[Floats, Floats]:
    """Return the best rho for tau = q D / c where rows are good with the chances `beliefs`, and its
    derivative in tau.
    """
    ahead = tau - 1
    doubt = 1 - beliefs
    root = np.sqrt(ahead**2 + 4 * tau * doubt)
    # For tau < 1 the sum of two numbers of opposite sign would lose all digits.
    below = np.where(ahead < 0, root - ahead, 1.0)
    rho = np.where(ahead < 0, 2 * tau * doubt / below, (ahead + root) / 2)
    return rho, (1 + (ahead + 2 * doubt) / root) / 2


def median_labels(gains: Floats, draws: Floats, log_wealths: Floats, log_wanted: float) -> float:
    """Return after how many more labels half of all campaigns have the evidence that is wanted;
    infinite where it is not expected to grow.

    gains        (n_experts, 2, n_strata) how the log wealths change, from `next_gains`
    draws        (2, n_strata) the chance of a good row of each stratum, and of one that is not
    log_wealths  (n_experts,) whose exponentials sum to the evidence now

    Most draws gain a little and a few lose much, so that the median is far from the mean: it is
    taken from simulated draws, with the bets as they would be placed now.
    """
    growths = (gains * draws).sum(axis=(1, 2))
    if not growths.max() > 0:
        return math.inf
    expected = float((log_wanted - log_wealths).max() / growths.max())
    horizon = int(np.clip(2 * expected, 2, MOST_SIMULATED))
    rng = np.random.default_rng(0)
    chosen = rng.choice(draws.size, size=(N_SIMULATED, horizon), p=draws.ravel() / draws.sum())
    steps = gains.reshape(len(gains), -1)[:, chosen]
    paths = log_sum_exp(log_wealths[:, None, None] + np.cumsum(steps, axis=2), axis=0)
    has_enough = paths >= log_wanted
    passages = np.where(has_enough.any(axis=1), has_enough.argmax(axis=1) + 1.0, np.inf)
    median = float(np.median(passages))
    if math.isinf(median):  # the evidence goes on to grow as in the later half
        half = horizon // 2
        middle, end = np.median(paths[:, [half, -1]], axis=0)
        growth = max((end - middle) / (horizon - half), growths.max() / 2)
        median = horizon + max(log_wanted - end, 0.0) / growth
    return median


def best_draws(
    sizes: Floats, values: Floats, total: float, beliefs: Floats
) -> tuple[Floats, float]:
    """Return the chances of drawing a row, by stratum, with which evidence grows fastest, and that
    growth per label.

    `beliefs` are the chances that a row is good. The growth is 0 where they do not support the
    claim.
    """
    worth = sizes * values
    if not (worth * beliefs).sum() > total > 0:
        return values / worth.sum(), 0.0
    beliefs = np.clip(beliefs, 1e-9, 1 - 1e-9)

    def surplus(log_growth: float) -> float:
        rho = _rho_of(log_mu := math.exp(log_growth), beliefs)
        power = rho * (np.expm1(beliefs * np.log1p(1 / rho)))  # (1 + rho)^pi rho^(1 - pi) - rho
        return float(
            (worth * power).sum()
            - math.expm1(log_mu) * (worth * rho).sum()
            - math.exp(log_mu) * total
        )

    low = math.log(1e-12)
    high = math.log(50.0)
    for _ in range(GROWTH_BISECTIONS if surplus(low) > 0 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    growth = math.exp(low)
    rho = _rho_of(growth, beliefs)
    chances = values * np.exp(beliefs * np.log1p(rho) + (1 - beliefs) * np.log(rho))
    return chances / (sizes * chances).sum(), growth


def _rho_of(log_mu: float, beliefs: Floats) -> Floats:
    """Solve log of (1 + rho)^(pi - 1) rho^(-pi) (rho + 1 - pi) = log mu, by stratum."""
    # u is log rho; the log of the left side is concave in it, which suits Newton's method.
    u = np.zeros(len(beliefs))
    for _ in range(MOST_RHO_STEPS):
        s = 1 / (1 + np.exp(u))
        curve = beliefs * (1 - beliefs) * s**2
        slack = np.log1p(-beliefs * s) + beliefs * np.log1p(np.exp(-u))
        slack = np.maximum(slack, curve / 2)  # it is at least that, exactly
        before = u
        u = np.clip(u + slack * (1 - beliefs * s) / curve * np.log(slack / log_mu), -40.0, 20.0)
        if np.abs(u - before).max() < 1e-8:  # the digits double with each step
            break
    return np.exp(u)
