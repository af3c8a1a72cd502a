"""One-sided regression of labeled and unlabeled rows: the label-mean machine's answer to a cost matrix.

    1.  the machines of the labeled rows (`labeling.OneSided`): f_k(x) estimates what predicting class k costs
    2.  one class for every unlabeled row, u_k rows of class k:  maximize -sum_i f_{class of i}(x_i)   (`assign`)
    3.  the machines of all rows, the guessed ones at C_unlabeled

For two classes 2 is the sort of the supervised scores. u_k is the share of class k times the number of unlabeled
rows, whatever their weights: no assignment of whole rows need have the share of the weight. Nothing is iterated: where
the label-mean machine searches on for two classes, its search was measured to change nothing.
"""

import heapq
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np

from semisvm.dual import Status
from semisvm.estimators.binary import ENDED_BY_USER, BinaryFit
from semisvm.estimators.class_shares import PositiveShare, settle_share
from semisvm.estimators.labeling import Labeler
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import RoundRecord
from semisvm.kernels import KernelRows
from semisvm.labels import Labels

ROUNDS_OF_PRICES = 20  # a few suffice; what they leave undone the moves do


def assign(score: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The class of each row, (n,), so many rows for each class, and the sum of scores as large as it can be.

        score   (n, K)  what it is worth to give row i class k
        count   (K,)    how many rows each class is to have; they sum to n

        maximize  sum_i score[i, class of i]     over all assignments with these counts

    This is the transportation problem with n sources of one unit and K sinks. For two classes the answer is a sort. In
    general: set a price on each class such that about the right number of rows find it best, score less price. Whatever
    the prices, that is optimal for the counts that come of it. Then move one row at a time from a class with too many
    to a class with too few, by the cheapest chain a -> b -> c of moves between classes (a row of a goes to b, a row of
    b to c). Shortest chains keep the assignment optimal for its counts at every move, so it is optimal when the counts
    are right. A chain is found on K nodes, and the cheapest row for a move a -> b waits at the top of a heap:
    O(moves (K^3 + K log n)), in memory for n K numbers. Of rows that tie the first is moved.
    """
    score, count = np.asarray(score, dtype=np.float64), np.asarray(count)
    n_rows, n_classes = score.shape
    if count.shape != (n_classes,) or (count < 0).any() or count.sum() != n_rows:
        raise ValueError(f"count must hold {n_classes} numbers of rows that sum to {n_rows}, got {count.tolist()}.")
    given = _best_at_fair_prices(score, count)
    excess = np.bincount(given, minlength=n_classes) - count
    moves = _Moves(score, given)
    while (excess > 0).any():
        chain = _cheapest_chain(moves.prices(), excess)
        # Rows are taken before any is put down: a chain moves one row per link, each from where it was.
        taken = [moves.cheapest(a, b) for a, b in pairwise(chain)]
        for row, b in zip(taken, chain[1:], strict=True):
            moves.put(row, b)
        excess[chain[0]] -= 1
        excess[chain[-1]] += 1
    return moves.given


def counts_of(share: np.ndarray, n_rows: int) -> np.ndarray:
    """Whole numbers of rows in these shares, (K,), that sum to n_rows: at least one each, if there are so many."""
    share = np.asarray(share, dtype=np.float64)
    wanted = n_rows * share / share.sum()
    count = np.floor(wanted + 1e-9).astype(np.intp)
    most_lacking = np.argsort(count - wanted, kind="stable")
    count[most_lacking[: n_rows - count.sum()]] += 1
    while n_rows >= len(share) and (count == 0).any():
        count[count.argmax()] -= 1
        count[count.argmin()] += 1
    return count


def _best_at_fair_prices(score: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The best class of each row once the prices of the classes are settled, one after the other, round by round."""
    n_rows, n_classes = score.shape
    price = np.zeros(n_classes)
    best = score.argmax(axis=1)
    for _ in range(ROUNDS_OF_PRICES):
        if n_rows == 0 or (np.bincount(best, minlength=n_classes) == count).all():
            break
        for k in range(n_classes):
            lead = np.sort(score[:, k] - np.delete(score - price, k, axis=1).max(axis=1))
            # As many rows as class k is to have are to lead by more than its price.
            below, above = max(n_rows - count[k] - 1, 0), min(n_rows - count[k], n_rows - 1)
            price[k] = (lead[below] + lead[above]) / 2
        best = (score - price).argmax(axis=1)
    return best


class _Moves:
    """What it costs to move the cheapest row of a class to another: a heap for each pair, stale entries skipped."""

    def __init__(self, score: np.ndarray, given: np.ndarray):
        self.score, self.given = score, given.copy()
        classes = range(score.shape[1])
        self.heaps = {(a, b): self._heap(a, b) for a in classes for b in classes if a != b}

    def _heap(self, a: int, b: int) -> list[tuple[float, int]]:
        rows = np.flatnonzero(self.given == a)
        price = self.score[rows, a] - self.score[rows, b]
        order = np.lexsort((rows, price))  # sorted is a heap already
        return list(zip(price[order].tolist(), rows[order].tolist(), strict=True))

    def cheapest(self, a: int, b: int) -> int:
        return self.heaps[a, b][0][1]

    def put(self, row: int, b: int) -> None:
        self.given[row] = b
        for c in range(self.score.shape[1]):
            if c != b:
                heapq.heappush(self.heaps[b, c], (self.score[row, b] - self.score[row, c], int(row)))

    def prices(self) -> np.ndarray:
        """(K, K), infinite where there is no row to move."""
        price = np.full((self.score.shape[1],) * 2, np.inf)
        for (a, b), heap in self.heaps.items():
            while heap and self.given[heap[0][1]] != a:
                heapq.heappop(heap)
            if heap:
                price[a, b] = heap[0][0]
        return price


def _cheapest_chain(price: np.ndarray, excess: np.ndarray) -> list[int]:
    """From a class with too many rows to one with too few (Bellman and Ford: a move back may have a negative price)."""
    distance = np.where(excess > 0, 0.0, np.inf)
    before = np.full(len(price), -1)
    for _ in range(len(price) - 1):
        through = distance[:, None] + price
        best = through.argmin(axis=0)
        shorter = through[best, np.arange(len(price))]
        # Less than rounding is no shorter: two classes would else take turns to come before each other.
        improved = shorter < distance - 1e-12 * np.maximum(1, np.abs(shorter))
        distance = np.where(improved, shorter, distance)
        before = np.where(improved, best, before)
    chain = [int(np.where(excess < 0, distance, np.inf).argmin())]
    while before[chain[-1]] >= 0 and len(chain) <= len(price):
        chain.append(int(before[chain[-1]]))
    return chain[::-1]


def fit_cost_matrix(
    problem: TrainingProblem,
    kernel: KernelRows,
    C: float,
    C_unlabeled: float,
    positive_fraction: str | float,
    known: list[PositiveShare] | None = None,
) -> list[BinaryFit]:
    """Steps 1 to 3; `known` are the shares of the classes, settled here if not given; each is its fit's outcome."""
    labels, weight = problem.labels, problem.weight
    with problem.progress.whole_fit("one-sided regression") as watch:
        began = time.perf_counter()
        labeler = Labeler(problem, kernel, watch)
        box = C * weight * problem.costs.price(labels.codes)
        labeler.solve(labels.codes, box)  # step 1
        estimates = labeler.scores
        shares = known or settle_shares(positive_fraction, labels, estimates, weight)
        unlabeled = np.flatnonzero(~labels.is_labeled)
        guess, given_in = labels.codes.copy(), np.where(labels.is_labeled, 0, -1)
        first = RoundRecord("one-sided regression", details={"shares": [share.value for share in shares]})
        stop = watch.round_done(first)
        if len(unlabeled) and not stop and labeler.status not in ENDED_BY_USER:
            count = counts_of(np.array([share.value for share in shares]), len(unlabeled))
            guess[unlabeled] = assign(-estimates[unlabeled], count)  # step 2
            given_in[unlabeled] = 1
            box[unlabeled] = (C_unlabeled * weight * problem.costs.price(guess))[unlabeled]
            labeler.solve(guess, box)  # step 3
        if stop:
            labeler.end(Status.STOPPED)
    seconds = time.perf_counter() - began
    told = [
        replace(
            record, seconds=seconds, details={"positive_fraction": share.value, "interval": (share.low, share.high)}
        )
        for record, share in zip(labeler.records(), shares, strict=True)
    ]
    return [
        replace(fit, history=[record], outcome=share)
        for fit, record, share in zip(labeler.fits([], given_in), told, shares, strict=True)
    ]


def settle_shares(asked: str | float, labels: Labels, estimates: np.ndarray, weight: np.ndarray) -> list[PositiveShare]:
    """How many of the unlabeled rows are of each class: as `settle_share` has it of the class against the rest."""
    margin = np.stack([np.delete(estimates, k, axis=1).min(axis=1) - estimates[:, k] for k in range(labels.n_classes)])
    return [settle_share(asked, labels.sign(k), margin[k], weight) for k in range(labels.n_classes)]
