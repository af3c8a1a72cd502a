"""How each labeled row came to be labeled: the column "drawn" of a table, and the check of what it claims.

    at random     a random sample of all rows, as labels without such a cell are taken to be
    by doubt      `suggest` chose the row because the model was unsure of it
    by campaign   a campaign drew the row: at random, but mostly among rows that the model accepts

Only rows drawn at random set thresholds and enter intervals, audits, comparisons and held-out certificates; the others
train. The column is never a feature. `check_sample` asks whether the rows drawn at random look like the others.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import fault
from semisvm.estimators.registry import find_method
from semisvm.model_selection.fair_sample import FairSampleCheck, check_fair_sample, labeled_fold_scores
from semisvm.tables.methods import Settings, Tell, fit_quietly, make_estimator, say_nothing, score_rows, shape_for

DRAWN_COLUMNS = ("drawn", "how_drawn", "semisvm_drawn")  # `suggest` writes the first that is no feature
AT_RANDOM, BY_DOUBT, BY_CAMPAIGN = "at random", "by doubt", "by campaign"
WAYS = (AT_RANDOM, BY_DOUBT, BY_CAMPAIGN)
REFUSED = (
    "No certificate is given: it would rest on labeled rows that do not look like a random sample. If you know that "
    "they are one, say so (`trust_labels`)."
)
INSISTED = (
    "The certificate was asked for all the same. It rests on your word that the labeled rows are a random sample of "
    "the pool, which the check contradicts."
)


def name_drawn_column(features: Collection[str]) -> str:
    """Return the name of the column to write, one that no feature has."""
    return next((name for name in DRAWN_COLUMNS if name not in features), DRAWN_COLUMNS[-1] + "_")


def read_ways(path: Path, column: str, texts: list[str], *, must_be: bool) -> np.ndarray | None:
    """Return which rows are drawn at random; None where the column says something else.

    Parameters
    ----------
    path, column : Path, str
        The file and the name of the column, for messages.
    texts : list of str
        The cells; an empty one means "at random".
    must_be : bool
        Whether another word is an error, because the user named the column.
    """
    for row, words in enumerate(texts):
        if words and words not in WAYS:
            if not must_be:
                return None
            spelled = ", ".join(map(repr, WAYS))
            reason = f"row {row + 1}: {words!r} in column {column!r} does not say how the row was drawn"
            raise fault(path, reason, f"Write one of {spelled}, or leave the cell empty (at random)")
    return np.array([words in ("", AT_RANDOM) for words in texts], dtype=bool)


def check_sample(
    X: Any, labels: Any, measures: np.ndarray, settings: Settings, tell: Tell = say_nothing
) -> FairSampleCheck | None:
    """Check whether the rows that count as a random sample look like all others.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        The encoded rows.
    labels : pandas Categorical of length n
        The classes, missing where a row is unlabeled.
    measures : ndarray of bool of shape (n,)
        The labeled rows that count as a random sample.
    settings : Settings
        Kernel and parameters of the supervised method that scores the rows.
    tell : callable
        Called with the progress.

    Returns
    -------
    FairSampleCheck or None
        None if there are no unlabeled rows to compare with.
    """
    codes = np.asarray(labels.codes, dtype=np.intp)
    if not (codes < 0).any() or not measures.any():
        return None
    tell("Checking whether the labeled rows are a random sample")
    baseline = find_method("supervised")
    rows = shape_for(baseline, X)

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        estimator = make_estimator(baseline, settings)
        fit_quietly(estimator, rows[train], labels[train], say_nothing, "")
        return score_rows(estimator, rows[test])

    # Rows chosen by doubt belong to the others: they were in the pool that the random sample was drawn from. For the
    # same reason they do not train here, so that they are scored as the other rows are.
    scores = labeled_fold_scores(fit_and_score, codes, measures, random_state=settings.seed)
    return check_fair_sample(X, measures, scores, random_state=settings.seed)


def may_certify(found: FairSampleCheck | None, settings: Settings) -> tuple[bool, list[str]]:
    """Return whether a held-out certificate may be given, and notes that say what the check found."""
    if found is None or found.is_fair:
        return True, []
    if settings.confidence is None:
        return True, [found.sentence]
    return settings.trust_labels, [found.sentence, INSISTED if settings.trust_labels else REFUSED]
