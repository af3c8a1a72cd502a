"""A class for each of many rows, so many rows for each class, and the sum of scores as large as it can be.

    score   (n, K)  what it is worth to give row i class k
    count   (K,)    how many rows each class is to have; they sum to n

    maximize  sum_i score[i, class of i]     over all assignments with these counts

This is the transportation problem with n sources of one unit and K sinks. For two classes the answer is a sort. In
general: set a price on each class such that about the right number of rows find it best, score less price. Whatever
the prices, that is optimal for the counts that come of it. Then move one row at a time from a class with too many to a
class with too few, by the cheapest chain a -> b -> c of moves between classes (a row of a goes to b, a row of b to c).
Shortest chains keep the assignment optimal for its counts at every move, so it is optimal when the counts are right. A
chain is found on K nodes, and the cheapest row for a move a -> b waits at the top of a heap: O(moves (K^3 + K log n)),
in memory for n K numbers; one matrix of n^2 would be needed to have it from an assignment problem with a column for
each place.
"""

import heapq
from itertools import pairwise

import numpy as np

ROUNDS_OF_PRICES = 20  # a few suffice; what they leave undone the moves do


def assign(score: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The class of each row, (n,); of rows that tie the first is moved."""
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
