"""Certified sets for a precision: the unlabeled rows of a set with the highest scores, and all rows
found positive.

`semisvm.decision.precision_sets` has the bounds and their proof. Here they are read from the
answers, in the random order of each set.
"""

from __future__ import annotations

import math

import numpy as np

from semisvm.campaign.answers import POSITIVE, UNLABELED
from semisvm.campaign.draws import DrawOrder
from semisvm.campaign.procedure import Procedure, Standing, ThresholdEvidence
from semisvm.campaign.state import CampaignState
from semisvm.decision.betting import perfect_record
from semisvm.decision.climb import plan_climb
from semisvm.decision.precision_sets import (
    PrefixPath,
    SetOutlook,
    corrected_beliefs,
    expected_rates,
    forecast_labels,
    plan_labels,
    random_parts,
    returnable,
)
from semisvm.decision.spent_risk import is_spent, set_bounds

FIRST_AT_RANDOM = 10  # labels: they say how good the predictions are
SOON = 1.5  # times the labels of the first certificate in sight, for a larger one
MOST_FORECAST = 20_000  # labels
# Numbers of labels that are considered: where to label next, and in a forecast for people.
N_PLANNED = 40
N_FORECAST = 80


class PrecisionSets(Procedure):
    """The sets of one campaign, and what the answers prove of them."""

    _may_be_positive = (UNLABELED,)  # "don't know" counts as negative

    def __init__(self, state: CampaignState):
        super().__init__(state)
        assert state.target.min_precision is not None
        self._level = state.target.min_precision
        self._sizes = np.array([planned.n_accepted for planned in state.plan.thresholds])
        self._shares = np.array([planned.share for planned in state.plan.thresholds])
        self._bounds = set_bounds(
            self._sizes, self._level, state.n_planned, is_budget=state.budget is not None
        )
        self._order = DrawOrder(state.plan, state.clock_key())
        self._by_rank = state.plan.top_rows()
        self._paths = [PrefixPath.empty() for _ in self._bounds]
        self.read()

    # ---- what a campaign asks ----

    def read(self) -> None:
        super().read()
        self._outlook_now: SetOutlook | None = None
        self._order.read(self._answers != UNLABELED)
        for k, (bound, path) in enumerate(zip(self._bounds, self._paths, strict=True)):
            rows, _ = self._order.prefix(np.arange(k + 1))
            self._paths[k] = path.read(bound, self._answers[rows] == POSITIVE)

    def fewest_labels(self) -> tuple[int, ...]:
        records = [
            perfect_record(bound.n, self._level, self._state.risk * share) if share > 0 else None
            for bound, share in zip(self._bounds, np.cumsum(self._shares), strict=True)
        ]
        return tuple(
            bound.n if record is None else record
            for bound, record in zip(self._bounds, records, strict=True)
        )

    def next_rows(self, n: int) -> list[int]:
        """Return up to n rows to label: at random in the planned set, then below it from the
        top.
        """
        unlabeled = self._answers == UNLABELED
        if not unlabeled.any():
            return []
        rows: list[int] = []
        for k, n_random in self._where_to_label(n):
            planned = self._order.next_rows(np.arange(k + 1), min(n, n_random + len(rows)))
            taken = set(rows)
            new = [row for row in planned if row not in taken]
            rows += new[: min(n - len(rows), n_random)]
        if len(rows) < n:
            below = self._by_rank[self._sizes[k] :]
            # Below the set, then anywhere, then the rows beyond those whose rank is kept.
            for candidates in (below, self._by_rank, np.arange(len(unlabeled))):
                unlabeled[rows] = False
                rows += candidates[unlabeled[candidates]][: n - len(rows)].tolist()
        return rows

    def _where_to_label(self, n: int) -> list[tuple[int, int]]:
        """The sets to label rows of at random, and how many of them."""
        n_labels = self._state.n_labels
        outlook = self._outlook()
        best, n_returned = self._best_set(outlook.proved[0])
        if self._state.budget is None and best is None:
            # Until the first certificate: the largest set that is proved soon.
            in_sight = self._forecasts(outlook, N_PLANNED)
            forecasts = np.array([math.inf if n is None else n for n in in_sight])
            if np.isfinite(forecasts.min()):
                soon = np.flatnonzero(forecasts <= SOON * forecasts.min())
                return [(int(soon[-1]), n)]
        n_left = max(self._state.n_planned - n_labels, n)
        lengths = self._order.prefix_lengths(outlook.n_sets, random_parts(n_left))
        k, n_random, value = plan_labels(outlook, lengths, n_left, n_returned)
        if is_spent(self._state.n_planned, is_budget=self._state.budget is not None):
            climb = plan_climb(outlook, n_left, n_returned)
            if climb is not None and climb.value > value:
                return list(climb.steps)
        return [(k, max(n_random, FIRST_AT_RANDOM - n_labels))]

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        """Return what is proved, for the sets as they are and for the rows that are returned."""
        outlook = self._outlook()
        lower, levels = outlook.proved
        n_accepted = int(self._is_accepted().sum())
        is_whole = lower >= [bound.whole for bound in self._bounds]
        forecasts: list[int | None] = [None] * len(self._bounds)
        if with_forecasts:
            forecasts = self._forecasts(outlook, N_FORECAST)
        best, _ = self._best_set(lower)
        is_set = best is not None and not is_whole[best]
        if best is None and is_whole.any():
            best = int(np.flatnonzero(is_whole)[-1])
        # Rows that are accepted once a set is proved: those found negative are not among them.
        n_unlabeled = np.cumsum(outlook.unlabeled)[: len(self._bounds)]
        if_proved = (n_unlabeled + outlook.hits.sum()).astype(int)
        if best is not None:
            are_inside = if_proved <= n_accepted
            forecasts = [
                0 if inside else n for inside, n in zip(are_inside, forecasts, strict=True)
            ]
        table = tuple(
            self._line(k, float(levels[k]), bool(is_whole[k]) or k == best, outlook, forecasts[k])
            for k in range(len(self._bounds))
        )
        larger = [
            (forecast, int(n))
            for n, forecast in zip(if_proved, forecasts, strict=True)
            if forecast and n > n_accepted
        ]
        forecast, next_accepted = min(larger, default=(None, None))
        return Standing(
            status=self._status_of_set(best),
            table=table,
            best=best,
            estimates={} if best is None else {"precision": self._estimate(best, lower)},
            n_accepted=n_accepted,
            forecast=forecast,
            next_accepted=next_accepted,
            holds_for_set_only=is_set,
        )

    def _is_accepted(self) -> np.ndarray:
        """The rows that are certified now, and all rows found positive."""
        is_accepted = self._answers == POSITIVE
        is_accepted[self._returned_unlabeled(self._outlook().proved[0])] = True
        return is_accepted

    # ---- what is proved ----

    def _best_set(self, lower: np.ndarray) -> tuple[int | None, int]:
        """Return the set whose bound lets most unlabeled rows be returned, and how many; None
        where rows found positive alone pay for as many.
        """
        found = np.cumsum(self._per_band(self._answers == POSITIVE))
        unlabeled = np.cumsum(self._per_band(self._answers == UNLABELED))
        best = None
        most = returnable(0.0, float(found[-1]), 0.0, self._level)
        for k, L in enumerate(lower):
            n = returnable(float(L), float(found[-1]), float(found[k]), self._level)
            if n >= unlabeled[k] and n > most:
                best, most = k, n
        return best, most

    def _returned_unlabeled(self, lower: np.ndarray) -> np.ndarray:
        """The unlabeled rows that are returned: those of the best set, and more from the top."""
        k, n = self._best_set(lower)
        is_open = self._answers == UNLABELED
        base = np.empty(0, dtype=np.intp)
        start = 0
        if k is not None:
            base = np.flatnonzero(is_open & (self._plan.bands <= k))
            start = int(self._sizes[k])
        candidates = self._by_rank[start:]
        candidates = candidates[is_open[candidates]]
        n_more = n - len(base)
        more = candidates[:n_more]
        if n_more < len(candidates):  # rows tied with the first one that is left out stay out
            ranks = self._plan.ranks
            more = more[ranks[more] < ranks[candidates[n_more]]]
        return np.concatenate([base, more])

    # ---- what is expected ----

    def _outlook(self) -> SetOutlook:
        """What is proved and expected of the sets, computed once for the answers of now."""
        if self._outlook_now is None:
            seen = self._per_band(self._answers != UNLABELED)
            hits = self._per_band(self._answers == POSITIVE)
            beliefs = self._plan.beliefs
            if self._state.budget is not None:  # without one, first certificates came later by it
                beliefs = corrected_beliefs(beliefs, hits, seen)
            rates = expected_rates(beliefs, hits, seen)
            edges = np.concatenate([[0.0], np.cumsum(self._plan.sizes)])
            self._outlook_now = SetOutlook(
                self._bounds, self._shares, self._state.risk, edges, rates, seen, hits, self._paths
            )
        return self._outlook_now

    def _forecasts(self, outlook: SetOutlook, n_numbers: int) -> list[int | None]:
        most = min(int((self._answers == UNLABELED).sum()), MOST_FORECAST)
        if not most:
            return [None] * len(self._bounds)
        labels = np.unique(np.geomspace(1, most, n_numbers).round().astype(int))
        lengths = self._order.prefix_lengths(len(self._bounds), labels)
        return forecast_labels(outlook, lengths, labels)

    def _line(
        self,
        k: int,
        level: float,
        is_certified: bool,
        outlook: SetOutlook,
        forecast: int | None,
    ) -> ThresholdEvidence:
        planned = self._plan.thresholds[k]
        bound = self._bounds[k]
        path = self._paths[k]
        evidence = 0.0
        if len(path):
            late = slice(len(path) // 2, None)
            at_null = bound.log_likelihood(bound.whole - 1, path.pos[late], path.neg[late])
            is_possible = np.isfinite(path.mixture[late])
            gains = path.mixture[late][is_possible] - at_null[is_possible]
            evidence = max(0.0, float(gains.max(initial=0.0)))
        expected = outlook.hits + outlook.unlabeled * outlook.rates
        needed = 1 / (self._state.risk * level) if level > 0 else math.inf
        if is_certified:  # the bounds of a budget are exact, and may need less than this ratio
            needed = min(needed, float(np.exp(evidence)))
        return ThresholdEvidence(
            threshold=planned.threshold,
            n_accepted=planned.n_accepted,
            predicted={"precision": float(expected[: k + 1].sum()) / planned.n_accepted},
            evidence=float(np.exp(evidence)),
            evidence_needed=needed,
            evidence_hoped=needed,
            n_read=len(path),
            positives=int(path.pos[-1]) if len(path) else 0,
            is_certified=is_certified,
            is_known=None,
            forecast=0 if is_certified else forecast,
        )

    def _estimate(self, k: int, lower: np.ndarray) -> float:
        path = self._paths[k]
        return float(path.pos[-1] / len(path)) if len(path) else float(lower[k] / self._sizes[k])
