"""Exact intervals for F-beta and for the expected cost, made of binomial ones.

The rows are n independent draws, so (tp, fp, fn, tn) is multinomial. A bootstrap of F is random, and too
short where rows are few (with no error seen its interval is a point). None is needed:

- Given the m = tp + fp + fn rows that are not true negatives, tp is Bin(m, J) with J = P(tp) / P(not tn), and
  F1 = 2 J / (1 + J) rises with J. So the exact interval of J, carried over, is an exact interval of F1.
- For beta != 1 the kind of error matters too: given e = fp + fn errors, fn is Bin(e, v), and
      F_beta = (1 + beta^2) J / ((1 + beta^2) J + (1 - J) (beta^2 v + 1 - v)),
  monotone in J and in v. An interval for each at half the risk gives one for F_beta (Bonferroni): wider than
  need be, never too short.
- fn and fp are each binomial in n; half the risk for each gives the expected cost an interval, likewise.

All hold for a threshold fixed before these rows were seen. A threshold chosen on the same rows flatters them.
"""

from semisvm.decision.binomial import Estimate, binomial_interval
from semisvm.decision.checks import check_confidence
from semisvm.decision.counts import Counts
from semisvm.decision.measures import expected_cost, f_score


def estimate_f(counts: Counts, beta: float = 1.0, confidence: float = 0.9) -> Estimate:
    """Return F-beta of scalar counts with its interval."""
    errors = counts.fp + counts.fn
    # at beta = 1 the kind of error drops out of F and needs no share of the risk
    each = check_confidence(confidence) if beta == 1 else _half_the_risk(confidence)
    hit_low, hit_high = binomial_interval(counts.tp, counts.tp + errors, each)
    missed = binomial_interval(counts.fn, errors, each)
    # a miss costs beta^2, a false alarm 1
    weights = [beta**2 * share + 1 - share for share in missed]
    low = _f_from_shares(hit_low, max(weights), beta)
    high = _f_from_shares(hit_high, min(weights), beta)
    return Estimate(float(f_score(counts, beta)), low, high)


def estimate_cost(counts: Counts, costs: tuple[float, float], confidence: float = 0.9) -> Estimate:
    """Return the expected cost a row of scalar counts with its interval."""
    each = _half_the_risk(confidence)
    missed = binomial_interval(counts.fn, counts.rows, each)
    false_alarm = binomial_interval(counts.fp, counts.rows, each)
    low, high = (costs[0] * miss + costs[1] * alarm for miss, alarm in zip(missed, false_alarm, strict=True))
    # a row errs in one way at most
    return Estimate(float(expected_cost(counts, costs)), float(low), float(min(high, max(costs))))


def _f_from_shares(hit: float, weight: float, beta: float) -> float:
    gain = (1 + beta**2) * hit
    return float(gain / (gain + (1 - hit) * weight)) if hit > 0 else 0.0


def _half_the_risk(confidence: float) -> float:
    return (1 + check_confidence(confidence)) / 2
