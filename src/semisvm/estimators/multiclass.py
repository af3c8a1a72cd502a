"""Many classes by twos: which binary problems there are, and how their scores make a prediction.

One-vs-rest has a problem for each class (one alone when there are two); one-vs-one has a problem for each pair, in
which the rows of other classes take no part and unlabeled rows always do. Where there is a cost matrix, one-sided
regression (`one_sided`) has a problem for each class, whose score is the cost of predicting it.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from semisvm.labels import Labels


@dataclass(frozen=True)
class Pair:
    """One class against another, or against the rest (negative is None); indices into the classes."""

    positive: int
    negative: int | None

    def rows(self, labels: Labels) -> np.ndarray:
        """Which rows take part: all but the rows labeled as a third class."""
        if self.negative is None:
            return np.ones(len(labels.codes), dtype=bool)
        return (labels.codes == self.positive) | (labels.codes == self.negative) | ~labels.is_labeled

    def of_rows(self, rows: np.ndarray) -> "Pair":
        """The same pair on some of the rows."""
        return self

    def name(self, classes) -> str:
        """For people: "spam vs rest", "cat vs dog"."""
        rest = "rest" if self.negative is None else classes[self.negative]
        return f"{classes[self.positive]} vs {rest}"


def pairs(n_classes: int, multi_class: str) -> list[Pair]:
    """The binary problems of a fit; a two-class problem is one problem whatever the scheme."""
    if n_classes == 2:
        return [Pair(1, 0)]
    if multi_class == "ovr":
        return [Pair(k, None) for k in range(n_classes)]
    # As in scikit-learn a positive score of (i, j) speaks for i, the class that comes first.
    return [Pair(i, j) for i, j in combinations(range(n_classes), 2)]


def combine(scores, n_classes: int, scheme: str) -> np.ndarray:
    """Scores of the binary problems, (n, n_problems), to what decision_function returns: (n,) or (n, n_classes)."""
    if n_classes == 2:
        return scores[:, 0]
    if scheme == "ovo":
        return _votes(scores, n_classes)
    return scores if scheme == "ovr" else -scores


def _votes(scores, n_classes: int) -> np.ndarray:
    """Votes of the pairs, and within equal votes the summed scores, squeezed to less than half a vote."""
    votes = np.zeros((len(scores), n_classes))
    strength = np.zeros_like(votes)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first_wins = scores[:, k] > 0
        votes[:, i] += first_wins
        votes[:, j] += ~first_wins
        strength[:, i] += scores[:, k]
        strength[:, j] -= scores[:, k]
    return votes + strength / (3 * (np.abs(strength) + 1))
