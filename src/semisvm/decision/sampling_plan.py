"""Which thresholds to test on a pool, in which order, and how fast to draw which rows: everything
that is frozen.

Rows are put in bands by score, the highest first; a threshold accepts the first few bands. Nothing
here affects whether a promise is true, only how many labels it takes: the plan may use scores,
out-of-fold estimates and beliefs of any quality, but no label of the pool.

The threshold test. Precision alone: twelve sizes, geometric, strict to loose, equal draws.
Everything else: 24 bands, draws weighted by what each row is worth to the claims, thresholds that
are predicted to do.

Certified sets. Precision: twenty nested sets, with most of the risk where most positives are
expected to be returned, and bands below them. Recall: fifty bands, with a threshold at every end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from semisvm.decision.betting import CLAIM_ROUNDING
from semisvm.decision.checks import Floats
from semisvm.decision.climb import best_start
from semisvm.decision.counts import Counts, f_score, precision, recall
from semisvm.decision.linear_claims import (
    LEAST_DOUBT,
    LinearForm,
    StratifiedClaim,
    best_draws,
    linear_forms,
    stratified,
    with_experts,
)
from semisvm.decision.precision_sets import (
    PrefixPath,
    SetOutlook,
    decreasing,
    plan_labels,
    random_parts,
)
from semisvm.decision.spent_risk import is_spent, set_bounds
from semisvm.decision.target import Target

N_SIZES = 12
N_STRATA = 24
# Of the risk, at the first threshold, a third and two thirds of the way.
START_SHARES = (0.6, 0.2, 0.2)
SIZE_FACTOR = 1.5  # rows of the widest set, for each that the target's own threshold accepts
SIZE_RANGE = 64  # how many times larger it is than the strictest
RECALL_ROOM = (0.9, 0.75, 0.5)  # predicted recall, from the target (0) to 1
UNIFORM_SHARE = 0.2  # of every design of draws
# Certified sets for precision: 12 sets returned .58 of the positives where 20 returned .67, 30 were
# no better.
N_SETS = 20
# Shares of the risk fall by this factor from the set that looks best outward. To spread a fifth of
# it evenly over all sets returned less on most of five pools. With .5 or .7 at the first set to be
# proved and little above it, six synthetic pools returned more, and public tables as much.
SHARE_DECAY = 0.6
# Labels that a plan counts on where no budget is given, and as a share of a small pool.
DEFAULT_BUDGET = 200
DEFAULT_BUDGET_SHARE = 0.2
N_TAIL_BANDS = 6  # below the widest set
MOST_RANKED = 1 << 17  # rows whose order is kept: nobody labels more from the top
N_RECALL_BANDS = 50
TIE = 1e-9  # scores that differ by less, relative to their range, are equal


@dataclass(frozen=True)
class PlannedThreshold:
    """A threshold that may be certified."""

    threshold: float  # rows with a higher score are accepted:
    n_bands: int  # so many bands, from the top,
    n_accepted: int  # and so many rows of the pool
    share: float  # of the risk, that its test has from the start


PlanKind = Literal["thresholds", "precision sets", "recall sets", "one look"]


@dataclass(frozen=True)
class SamplingPlan:
    """What is frozen when a campaign begins.

    `bands`, of shape (n_rows,), is the band of each row, 0 with the highest scores. The number of
    bands stands for rows that no threshold accepts and no claim is about, one more for rows that
    only set the thresholds; neither are drawn.
    """

    bands: np.ndarray
    sizes: Floats  # rows per band
    speeds: Floats  # how fast rows of each band are drawn; 0: not at all
    beliefs: Floats  # the predicted share of positives in each band
    thresholds: tuple[PlannedThreshold, ...]  # in the order of the tests
    kind: PlanKind = "thresholds"  # which procedure it is for
    # (n_rows,) for precision sets, the place of each score from the top, equal for equal scores;
    # rows beyond the first MOST_RANKED share the last one.
    ranks: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def top_rows(self) -> np.ndarray:
        """Return the rows whose order is kept, the highest score first."""
        if not len(self.ranks):
            return np.empty(0, dtype=np.intp)
        is_kept = self.ranks < MOST_RANKED
        rows = np.flatnonzero(is_kept)
        return rows[np.argsort(self.ranks[rows], kind="stable")]

    @property
    def n_rows(self) -> int:
        """The rows that claims are about: those in a band."""
        return int(self.sizes.sum())


def plan_sampling(
    scores: Floats,
    probabilities: Floats,
    target: Target,
    risk: float,
    *,
    n_base: int,
    thresholds: Floats | None = None,
    equal_draws: bool = False,
    aside: np.ndarray | None = None,
) -> SamplingPlan:
    """Choose thresholds, order, bands and draws for a pool; ValueError if no threshold accepts a
    row.

    probabilities  (n_rows,) the predicted chance that each row is positive
    n_base         how many of the rows that set the thresholds the target's own threshold is
                   expected to accept (precision alone)
    thresholds     those to test, in this order; by default they are chosen here
    equal_draws    draw every row with the same chance
    aside          (n_rows,) rows whose scores set the thresholds and which then take no part:
                   claims about new rows
    """
    forms = linear_forms(target)
    looked_at = scores if aside is None else scores[aside]
    part = len(looked_at) / len(scores)
    ordered = np.sort(looked_at)[::-1]
    is_precision = all(form.measure == "precision" for form in forms)
    order = np.argsort(-looked_at, kind="stable")
    chances = (probabilities if aside is None else probabilities[aside])[order]
    if thresholds is not None:
        cuts = np.asarray(thresholds, float)
        shares = _start_shares(len(thresholds))
        edges = np.unique(cuts)[::-1]
        if not is_precision:
            edges = np.unique(np.concatenate([edges, _cut_values(ordered, _strata(ordered))]))[::-1]
    elif is_precision:
        assert target.min_precision is not None
        ends = _precision_ends(ordered, target.min_precision, risk, max(1, n_base), part)
        cuts = edges = _cut_values(ordered, ends)
        shares = _start_shares(len(cuts))
    else:
        ends = _strata(ordered)
        edges = _cut_values(ordered, ends)
        chosen, shares = _promising(ends, chances, forms, target)
        cuts = edges[chosen]
    return _assemble(
        scores, probabilities, forms, edges, cuts, shares, is_precision or equal_draws, aside
    )


def planned_labels(budget: int | None, n_rows: int) -> int:
    """Return how many labels a plan counts on."""
    if budget is not None:
        return budget
    return int(np.clip(DEFAULT_BUDGET_SHARE * n_rows, 1, DEFAULT_BUDGET))


def plan_precision_sets(
    scores: Floats,
    probabilities: Floats,
    level: float,
    risk: float,
    n_planned: int,
    *,
    is_budget: bool = False,
) -> SamplingPlan:
    """Choose nested sets, their shares of the risk and the bands below them.

    The widest set has half as many rows again as are predicted to be positive, or as labels can be
    given. Most of the risk is near the set that looks best beforehand.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    n = len(ordered)
    n_likely = int((probabilities > 0.5).sum())
    widest = min(n, max(1.5 * n_likely, n_planned, 40))
    smallest = min(max(20, n_planned / 10, widest / 128), widest)
    set_ends = _at_changes(ordered, np.geomspace(smallest, widest, N_SETS))
    ends = set_ends
    if set_ends[-1] < n:
        tail = np.geomspace(set_ends[-1], n, N_TAIL_BANDS + 2)[1:]
        ends = np.unique(np.concatenate([set_ends, _at_changes(ordered, tail)]))
    bands, sizes, beliefs = _bands_of(order, ends, probabilities)
    bounds = set_bounds(set_ends, level, n_planned, is_budget=is_budget)
    equal = np.full(len(bounds), 1 / len(bounds))
    nothing = np.zeros(len(sizes))
    outlook = SetOutlook(
        bounds=bounds,
        shares=equal,
        risk=risk,
        edges=np.concatenate([[0.0], np.cumsum(sizes)]),
        rates=decreasing(beliefs, np.ones(len(beliefs))),
        seen=nothing,
        hits=nothing,
        paths=[PrefixPath.empty() for _ in bounds],
    )
    if is_spent(n_planned, is_budget=is_budget):
        shares = np.eye(len(bounds))[best_start(outlook, n_planned)]
    else:
        lengths = np.minimum(random_parts(n_planned)[:, None].astype(float), outlook.sizes)
        center = max(plan_labels(outlook, lengths, n_planned)[0] - 1, 0)
        shares = SHARE_DECAY ** np.abs(np.arange(len(bounds)) - center)
        shares /= shares.sum()
    cuts = _cut_values(ordered, set_ends)
    planned = tuple(
        PlannedThreshold(float(cut), k + 1, int(end), float(share))
        for k, (cut, end, share) in enumerate(zip(cuts, set_ends, shares, strict=True))
    )
    ranks = np.empty(n, dtype=np.int32)
    changes = _score_changes(ordered)
    ranks[order] = np.searchsorted(changes, np.arange(n), side="right")
    ranks[order[MOST_RANKED:]] = MOST_RANKED
    return SamplingPlan(
        bands, sizes, np.ones(len(sizes)), beliefs, planned, "precision sets", ranks
    )


def plan_recall_sets(scores: Floats, probabilities: Floats) -> SamplingPlan | None:
    """Choose fifty bands, half geometric from the top and half equal; every end but the last is a
    threshold, from loose to strict. None where all scores are equal.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    ends = _strata(ordered, N_RECALL_BANDS, 1000)
    if len(ends) < 2:
        return None
    bands, sizes, beliefs = _bands_of(order, ends, probabilities)
    cuts = _cut_values(ordered, ends)
    planned = tuple(
        PlannedThreshold(float(cuts[k]), k + 1, int(ends[k]), float(k == len(ends) - 2))
        for k in range(len(ends) - 2, -1, -1)
    )
    return SamplingPlan(bands, sizes, np.ones(len(sizes)), beliefs, planned, "recall sets")


def _bands_of(
    order: np.ndarray, ends: np.ndarray, probabilities: Floats
) -> tuple[np.ndarray, Floats, Floats]:
    """Return the band of each row, the rows per band and the mean probability per band."""
    bands = np.empty(len(order), dtype=np.uint8)
    bands[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    sizes = np.diff(ends, prepend=0).astype(float)
    beliefs = np.bincount(bands, weights=probabilities, minlength=len(sizes)) / sizes
    return bands, sizes, np.clip(beliefs, LEAST_DOUBT, 1 - LEAST_DOUBT)


def _assemble(
    scores, probabilities, forms, edges, cuts, shares, equal_draws, aside
) -> SamplingPlan:
    """Count bands, and drop thresholds that accept the same rows as one before them, or none."""
    is_precision = all(form.measure == "precision" for form in forms)
    # The code of a row is that of the first edge below its score.
    codes = np.searchsorted(-edges, -scores, side="right").astype(np.uint8)
    # A precision is not about rows below every edge.
    n_bands = len(edges) if is_precision else len(edges) + 1
    if aside is not None:
        codes = np.where(aside, n_bands + 1, codes).astype(np.uint8)
    sizes = np.bincount(codes, minlength=n_bands)[:n_bands].astype(float)
    sums = np.bincount(codes, weights=probabilities, minlength=n_bands)[:n_bands]
    beliefs = np.clip(
        np.divide(sums, sizes, out=np.full(n_bands, 0.5), where=sizes > 0),
        LEAST_DOUBT,
        1 - LEAST_DOUBT,
    )
    # Thresholds that accept the same rows are one. Where rows are set aside these alone decide it:
    # a claim about new rows needs thresholds that the other rows have no part in.
    looked_at = scores if aside is None else scores[aside]
    distinct: dict[int, float] = {}
    for cut in cuts:
        distinct.setdefault(int((looked_at > cut).sum()), float(cut))
    distinct.pop(0, None)
    if distinct and len(distinct) < len(cuts):
        shares = _start_shares(len(distinct))
    planned: list[PlannedThreshold] = []
    for cut, share in zip(distinct.values(), shares[: len(distinct)], strict=True):
        n_accepting = int(np.searchsorted(-edges, -cut, side="right"))
        n_accepted = int(sizes[:n_accepting].sum())
        if n_accepted:
            planned.append(PlannedThreshold(cut, n_accepting, n_accepted, float(share)))
    if not planned:
        raise ValueError(
            "No threshold accepts a row of the pool, so there is nothing to certify. Give a larger"
            " pool, or thresholds below the highest score."
        )
    speeds = np.ones(n_bands) if equal_draws else _mean_of_designs(sizes, beliefs, forms, planned)
    return SamplingPlan(codes, sizes, speeds, beliefs, tuple(planned))


def _start_shares(n: int) -> list[float]:
    shares = [0.0] * n
    for place, share in zip((0, n // 3, 2 * n // 3), START_SHARES, strict=True):
        shares[place] += share
    return shares


# ---- thresholds ----


def _score_changes(ordered: Floats) -> np.ndarray:
    """Return the numbers of rows after which the score changes, in descending order of scores;
    the last is all rows.
    """
    tolerance = TIE * float(ordered[0] - ordered[-1])
    return np.append(np.flatnonzero(ordered[:-1] - ordered[1:] > tolerance) + 1, len(ordered))


def _at_changes(ordered: Floats, ends: Floats) -> np.ndarray:
    """Move each end down to where the score changes: equal scores are on one side of every
    threshold.
    """
    changes = _score_changes(ordered)
    wanted = np.clip(np.round(ends).astype(np.intp), 1, len(ordered))
    return np.unique(changes[np.searchsorted(changes, wanted)])


def _cut_values(ordered: Floats, ends: np.ndarray) -> Floats:
    """Return the thresholds that accept so many rows: midpoints; below the last row a little
    less than its score.
    """
    below = np.append(ordered[1:], ordered[-1] - 2e-6 * max(float(np.ptp(ordered)), 1e-6))
    return ordered[ends - 1] / 2 + below[ends - 1] / 2


def _precision_ends(
    ordered: Floats, level: float, risk: float, n_base: int, part: float
) -> np.ndarray:
    """Return geometric sizes; `part` of the pool's rows is looked at.

    The strictest set is four times a perfect record that proves the claim, so that it can hold some
    errors; where fewer rows are expected to do than that, half of these, or one perfect record.
    """
    perfect = part * (math.ceil(math.log(risk) / math.log(level)) if level < 1 else 3)
    widest = min(len(ordered), max(SIZE_FACTOR * n_base, 4 * perfect))
    smallest = 4 * perfect if n_base >= 4 * perfect else max(perfect, n_base / 2)
    strictest = min(widest, max(smallest, widest / SIZE_RANGE))
    return _at_changes(ordered, np.geomspace(max(strictest, 1), widest, N_SIZES))


def _strata(ordered: Floats, n_strata: int = N_STRATA, span: int = 2000) -> np.ndarray:
    """Return the ends of strata: half geometric from the top, the first a part 1 / `span` of all
    rows, half equal.
    """
    n = len(ordered)
    half = n_strata // 2
    top = np.geomspace(max(1, n / span), n, half + 1)[:half]
    return _at_changes(ordered, np.concatenate([top, np.linspace(n / half, n, half)]))


def _promising(
    ends: np.ndarray, chances: Floats, forms: tuple[LinearForm, ...], target: Target
) -> tuple[list[int], list[float]]:
    """Return which ends to test, in order, and their shares of the risk."""
    if len(forms) == 1 and target.min_recall is not None:
        positives = np.cumsum(chances)
        recalls = positives[ends - 1] / max(positives[-1], 1e-300)
        wanted = [target.min_recall + (1 - target.min_recall) * room for room in RECALL_ROOM]
        last = max(len(ends) - 2, 0)  # the last end accepts every row
        places = np.searchsorted(recalls, np.array(wanted) - CLAIM_ROUNDING)
        chosen = list(dict.fromkeys(np.minimum(places, last).tolist()))
        return chosen, [1.0] + [0.0] * (len(chosen) - 1)
    starts = np.concatenate([[0], ends[:-1]])
    sizes = (ends - starts).astype(float)
    sums = np.concatenate([[0.0], np.cumsum(chances)])
    beliefs = np.clip((sums[ends] - sums[starts]) / sizes, LEAST_DOUBT, 1 - LEAST_DOUBT)
    merits = []
    for k in range(len(ends)):
        claims = [stratified(sizes, beliefs, np.ones(len(sizes)), form, k + 1)[0] for form in forms]
        grows = [best_draws(c.sizes, c.values, c.total, c.experts[0])[1] for c in claims]
        rooms = [_room(claim) for claim in claims]
        merits.append((min(grows), min(rooms)))
    best = max(range(len(ends)), key=lambda k: merits[k])
    chosen = [k for k in (best, best + 1, best - 1) if 0 <= k < len(ends)]
    later = list(START_SHARES[1 : len(chosen)])
    return chosen, [1 - sum(later), *later]


def _mean_of_designs(
    sizes: Floats, beliefs: Floats, forms: tuple[LinearForm, ...], planned: list[PlannedThreshold]
) -> Floats:
    """Return the mean of the best draws of all claims: draws that suit one threshold alone
    starve the others.
    """
    speeds = np.zeros(len(sizes))
    for threshold in planned:
        for form in forms:
            plain, bands = stratified(sizes, beliefs, np.ones(len(sizes)), form, threshold.n_bands)
            if not len(bands):
                continue
            claim = with_experts(plain, bands, form, threshold.n_bands)
            believed = claim.experts[
                np.argmin(np.abs(claim.experts - plain.experts[0]).sum(axis=1))
            ]
            chances, _ = best_draws(claim.sizes, claim.values, claim.total, believed)
            by_value = claim.values / (claim.sizes * claim.values).sum()
            speeds[bands] += (1 - UNIFORM_SHARE) * chances + UNIFORM_SHARE * by_value
    return speeds / max(float((speeds * sizes).sum()), 1e-300)


def fewest_for_recall(plan: SamplingPlan, n_accepting: int, level: float, risk: float) -> int:
    """Return how many labels a recall takes at least: the elusion bound, for no positive row among
    the rejected ones that are drawn.
    """
    hits = float((plan.sizes[:n_accepting] * plan.beliefs[:n_accepting]).sum())
    n_rejected = float(plan.sizes[n_accepting:].sum())
    worth = max((1 - level) * hits, 1e-300)
    return math.ceil(min(-math.log(risk) * level * n_rejected / worth, plan.n_rows))


def predicted_value(
    plan: SamplingPlan, form: LinearForm, n_accepting: int, target: Target
) -> float:
    """Return what the beliefs predict for a measure at a threshold."""
    accepted = plan.sizes[:n_accepting]
    rejected = plan.sizes[n_accepting:]
    tp = float((accepted * plan.beliefs[:n_accepting]).sum())
    fn = float((rejected * plan.beliefs[n_accepting:]).sum())
    return measure_of(tp, float(accepted.sum()) - tp, fn, plan.n_rows, form, target)


def measure_of(
    tp: float, fp: float, fn: float, n_rows: int, form: LinearForm, target: Target
) -> float:
    """Return a measure from totals; NaN where it is undefined."""
    if form.measure == "cost":
        missed, accepted = target.costs or (0.0, 0.0)
        return (missed * fn + accepted * fp) / n_rows if n_rows else math.nan
    counts = Counts(tp, fp, fn, 0)
    if form.measure == "f":
        return float(f_score(counts, target.beta))
    return float(precision(counts) if form.measure == "precision" else recall(counts))


def _room(claim: StratifiedClaim) -> float:
    """How much more good weight is predicted than the null allows, as a share of all; where no
    row counts, 1 or -1.
    """
    worth = claim.sizes * claim.values
    if not worth.sum() > 0:  # recall 1 where every row is accepted: true of itself
        return 1.0 if claim.total < 0 else -1.0
    return float(((worth * claim.experts[0]).sum() - claim.total) / worth.sum())
