"""Other ways to spend the same labels, each a function (pool, level, risk, budget, seed) -> rows.

    SUPG       Kang, Gan, Bailis, Hashimoto, Zaharia (VLDB 2020): importance sampling and normal
               approximations, from a clone of stanford-futuredata/supg. Its bounds hold for many labels
               only.
    BARGAIN    Zeighami, Shankar, Parameswaran (2025): thresholds in a fixed sequence, betting bounds;
               from a clone of ucbepic/BARGAIN. Recall with beta = 0, whose promise is unconditional.
    0.2        campaigns of version 0.2, from a clone of its source: certified thresholds
    top        labels the rows with the highest scores and returns the positives among them
    random     labels of simple random rows, and exact binomial tests (Clopper and Pearson) once, at the
               end: fixed sequence, from strict to loose for a precision and the reverse for a recall

Nothing of theirs is copied: the study takes the paths of the reader's clones.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import numpy as np

from semisvm.decision.binomial import tail
from studies.certify.pools import Pool

# Packages that the clones import for other purposes (language models, progress bars, files).
NOT_NEEDED = ("openai", "pydantic", "tqdm", "feather")
BATCHES = 15  # that a campaign's labels come in
N_QUANTILES = 50  # thresholds of "random"


def import_clone(folder: Path, package: str):
    """Import a package from a clone; packages that it does not need here may be missing."""
    for name in NOT_NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = _StandIn(name)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(package)


class _StandIn(types.ModuleType):
    """A module whose classes do nothing and whose progress bar shows nothing."""

    def __getattr__(self, name: str):
        return (lambda rows, **_: rows) if name == "tqdm" else object


def supg(folder: Path, measure: str):
    """Return SUPG's selection for a precision or a recall."""
    import_clone(folder, "supg")
    from supg.datasource import RealtimeDataSource
    from supg.sampler import ImportanceSampler
    from supg.selector import (
        ApproxQuery,
        ImportancePrecisionTwoStageSelector,
        RecallSelector,
    )

    def select(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
        source = RealtimeDataSource(pool.scores, pool.truth, seed=seed)
        sampler = ImportanceSampler(seed=seed)
        query = ApproxQuery(min_precision=level, min_recall=level, delta=risk, budget=budget)
        kinds = {"precision": ImportancePrecisionTwoStageSelector, "recall": RecallSelector}
        return np.unique(np.asarray(kinds[measure](query, source, sampler).select(), dtype=int))

    return select


def bargain(folder: Path, measure: str):
    """Return BARGAIN's selection for a precision or a recall."""
    package = import_clone(folder, "BARGAIN")

    class Scores(package.Proxy):
        def __init__(self, pool: Pool):
            super().__init__(verbose=False)
            self.pool = pool

        def proxy_func(self, record):
            return True, self.pool.scores[int(record)]

    class Truth(package.Oracle):
        def __init__(self, pool: Pool):
            super().__init__(verbose=False)
            self.pool = pool

        def oracle_func(self, record, proxy_output):
            label = bool(self.pool.truth[int(record)])
            return label == proxy_output, label

    def select(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
        kind = package.BARGAIN_P if measure == "precision" else package.BARGAIN_R
        method = kind(Scores(pool), Truth(pool), delta=risk, target=level, budget=budget, seed=seed)
        return np.asarray(method.process(list(range(len(pool.scores)))), dtype=int)

    return select


def earlier(folder: Path, measure: str):
    """Return the selection of a campaign of version 0.2, from a clone of its source: the rows above
    the threshold that is certified.
    """
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ours(name)}
    sys.path.insert(0, str(folder / "src"))
    campaign_type = importlib.import_module("semisvm.campaign").Campaign
    sys.path.remove(str(folder / "src"))
    for name in filter(_is_ours, list(sys.modules)):
        del sys.modules[name]
    sys.modules.update(ours)

    def select(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
        asked = {f"min_{measure}": level}
        campaign = campaign_type(pool.scores, confidence=1 - risk, seed=f"{seed:04x}", **asked)
        at_once = max(10, budget // BATCHES)
        n_labels = 0
        while n_labels < budget and (rows := campaign.draw(min(at_once, budget - n_labels))):
            campaign.tell(rows, pool.truth[rows])
            n_labels += len(rows)
        point = campaign.verdict().operating_point
        if point is not None:
            return np.flatnonzero(pool.scores > point.threshold)
        return np.arange(0 if measure == "precision" else len(pool.scores))

    return select


def _is_ours(module: str) -> bool:
    return module == "semisvm" or module.startswith("semisvm.")


def top(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
    """Label the highest scores and return the positives."""
    rows = np.argsort(-pool.scores, kind="stable")[:budget]
    return rows[pool.truth[rows] == 1]


def random_precision(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
    """Return the largest set that exact binomial tests of random labels prove, and the positives
    found.
    """
    order = np.argsort(-pool.scores, kind="stable")
    drawn = np.random.default_rng(seed).permutation(len(order))[:budget]  # ranks
    labels = pool.truth[order[drawn]]
    best = 0
    for n in np.unique(np.geomspace(20, len(order), N_QUANTILES).astype(int)):
        inside = labels[drawn < n]
        if tail(len(inside), len(inside), level) > risk:
            continue  # too few labels for any answers: where rows lie is known beforehand
        if tail(inside.sum(), len(inside), level) > risk:
            break
        best = n
    return np.union1d(order[:best], order[drawn[labels == 1]])


def random_recall(pool: Pool, level: float, risk: float, budget: int, seed: int) -> np.ndarray:
    """Return the smallest set that exact binomial tests of the random positives prove, and the
    positives found.
    """
    order = np.argsort(-pool.scores, kind="stable")
    drawn = np.random.default_rng(seed).permutation(len(order))[:budget]
    positives = drawn[pool.truth[order[drawn]] == 1]
    best = len(order)
    for n in np.unique(np.geomspace(1, len(order), 4 * N_QUANTILES).astype(int))[::-1]:
        if tail((positives < n).sum(), len(positives), level) > risk:
            break
        best = n
    return np.union1d(order[:best], order[positives])
