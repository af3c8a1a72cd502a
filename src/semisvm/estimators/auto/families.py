"""Families in one average: two levels of the same stacking.

Members are weighted within their family, and then the families are weighted. The prior is by kind
of structure, so that many kernels in one family do not outweigh the others. Families of texts have
equal prior weights. Those of a table's columns do not, once there are enough labels for forests and
logistic regression, and the prior is then stronger: with 100 labels of noisy classes, leave-one-out
errors say less about families than their results on other tables do. Families are weighted by
crossed scores (`stacking`), so that none gains by having many members to choose from.

    points    one family, the kernels of the rows
    table     kernels of standardized columns | kernels of columns mapped to a normal distribution
              by their ranks | trees without labels | random forest | extra trees | logistic
              regression; and for each text column what texts have
    texts     kernels of words | kernels of characters | latent semantics | naive Bayes

Members from outside (`outside`) are families of their own, with the prior weight that the user
gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from semisvm.columns.views import Views, make_views_of
from semisvm.estimators.auto.members import (
    WEAK_RIDGE,
    FamilyFit,
    FamilyTask,
    FeatureFamily,
    ForestFamily,
    KernelFamily,
    LogisticFamily,
    find_latent_directions,
    train_features,
    train_forest,
    train_kernels,
    train_kernels_of_columns,
    train_logistic,
)
from semisvm.estimators.auto.naive_bayes import NaiveBayesFamily, train_naive_bayes
from semisvm.estimators.auto.outside import GIVEN, OutsideFamily
from semisvm.estimators.auto.stacking import FamilySettings, Stacked, cross, stack
from semisvm.estimators.auto.trees import grow_leaf_shares
from semisvm.estimators.classifier import refuse_undefined
from semisvm.estimators.least_squares import LabeledTarget
from semisvm.estimators.progress import RoundRecord, warn_caller
from semisvm.labels import Labels
from semisvm.sklearn_private import safe_indexing

# Prior weights of the families of columns with few labels, and with LABELS_PER_CLASS of them per
# class on average; chosen on 50 tables that no study uses. The prior is then PULL_OF_TABLES times
# as strong.
BELIEFS = {
    "standardized columns": (1.0, 1.0),
    "quantile columns": (1.0, 1.0),
    "trees without labels": (1.0, 1.0),
    "random forest": (1.0, 3.0),
    "extra trees": (1.0, 3.0),
    "logistic regression": (0.0, 2.0),
}
LABELS_PER_CLASS, PULL_OF_TABLES = 50, 4.0
# Families of texts have equal prior weights: few labels say hardly more about them than that. On 17
# tasks of texts (docstrings, questions by topic, text messages, rated sentences, the SSL book's
# Text, Reuters; six draws) mean average precision with 10, 20, 30, 50, 100 and 200 labels rose from
# .620 .684 .740 .788 .828 .884 to .643 .708 .756 .797 .834 .887. A pull of 16, plain kernels as
# families of their own, and less prior weight of graphs change these by at most .004.
PULL_OF_TEXTS = 8.0
NAIVE_BAYES = "naive Bayes"
ROWS_AT_ONCE = 20_000  # of which the views are held while new rows are scored


@dataclass(frozen=True)
class FamilyAverage:
    """What makes views, the families by name, and their weights."""

    views: Views
    families: dict[
        str,
        KernelFamily
        | FeatureFamily
        | ForestFamily
        | LogisticFamily
        | NaiveBayesFamily
        | OutsideFamily,
    ]
    weights: dict[str, float]

    @np.errstate(all="ignore")  # scores that are not finite are refused
    def scores_of_rows(self, X: Any, given: Any = None) -> np.ndarray:
        """The scores of any rows that were checked, (m, c), a part of them at a time; members from
        outside look at them as they were `given`.
        """
        parts = []
        for start in range(0, max(X.shape[0], 1), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            views = self.views.of(X[part])
            if given is not None:
                views[GIVEN] = safe_indexing(given, part)
            scores = [
                self.weights[name] * self.families[name].scores(views) for name in self.families
            ]
            parts.append(sum(scores))
        return np.concatenate(parts)


@dataclass(frozen=True)
class FamiliesFit:
    """The average, and its results.

    fits       by family
    left_out   (l, c) the leave-one-out scores of the average
    scores     (n, c) its scores of the rows that the kernels were made from
    """

    average: FamilyAverage
    fits: dict[str, FamilyFit]
    left_out: np.ndarray
    scores: np.ndarray
    stacked: Stacked
    was_stopped: bool

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each member; the name of its family comes first where there are several."""
        return {
            member_name(family, member, len(self.fits)): self.average.weights[family] * weight
            for family, fit in self.fits.items()
            for member, weight in fit.members.weights.items()
        }

    @property
    def structure(self) -> dict[str, float]:
        """How much structure the rows have in each view, where it was looked at."""
        ratios: dict[str, float] = {}
        for name, fit in self.fits.items():
            structure = getattr(getattr(fit.family, "library", None), "structure", None)
            if structure is not None:
                of_family = {"components": structure.component_ratio}
                of_family |= {f"graph {k}": ratio for k, ratio in structure.link_ratios.items()}
                for kind, ratio in of_family.items():
                    ratios[member_name(name, kind, len(self.fits))] = ratio
        return ratios

    @property
    def history(self) -> list[RoundRecord]:
        """One record per member, with its weight in the whole."""
        return [
            record.with_details(weight=self.average.weights[family] * record.details["weight"])
            for family, fit in self.fits.items()
            for record in fit.members.history
        ]


@np.errstate(over="ignore", invalid="ignore")  # scores that are not finite are refused
def fit_families(
    X: Any,
    weight: np.ndarray,
    target: LabeledTarget,
    settings: FamilySettings,
    outside: Mapping[str, Callable[[FamilyTask], FamilyFit]] = MappingProxyType({}),
    given: Any = None,
) -> FamiliesFit:
    """Train all families for this kind of rows, and find their weights.

    outside   what trains the members from outside, by name
    given     the rows as the user gave them, for these
    """
    makers, views = make_views_of(X)
    fits: dict[str, FamilyFit] = {}
    trainers = _trainers(views)
    products: dict[str, np.ndarray] = {}
    for name, train in outside.items():
        if name in trainers:
            raise ValueError(
                f"A member can't be named {name!r}: AutoSVC has a family of that name."
            )
        trainers[name] = train
        views[GIVEN] = given
    for name, train in trainers.items():
        title = f"{name}: " if len(trainers) > 1 else ""
        fits[name] = train(FamilyTask(views, weight, target, settings, title, products))
        if fits[name].members.was_stopped:
            break
    left_out = np.stack([fit.members.left_out for fit in fits.values()])
    stacked = weigh_families(fits, target, settings)
    of_members = [fit.members.stacked for fit in fits.values()]
    stacked = replace(
        stacked,
        n_iter=stacked.n_iter * (len(fits) > 1) + sum(weighed.n_iter for weighed in of_members),
        gap=max(stacked.gap, *(weighed.gap for weighed in of_members)),
    )
    weights = dict(zip(fits, stacked.weights.tolist(), strict=True))
    scores = np.tensordot(stacked.weights, np.stack([fit.scores for fit in fits.values()]), 1)
    refuse_undefined(scores, X)
    return FamiliesFit(
        FamilyAverage(makers, {name: fit.family for name, fit in fits.items()}, weights),
        fits,
        np.tensordot(stacked.weights, left_out, 1),
        scores,
        stacked,
        any(fit.members.was_stopped for fit in fits.values()),
    )


def weigh_families(
    fits: dict[str, FamilyFit],
    target: LabeledTarget,
    settings: FamilySettings,
    rows: Any = slice(None),
) -> Stacked:
    """Find the weights of families by the crossed scores of some labeled rows, all by default."""
    share = min(1.0, float(target.weight.sum()) / (LABELS_PER_CLASS * settings.n_classes))
    ours = [name for name, fit in fits.items() if fit.belief is None]
    of_columns = {
        name: few + share * (many - few) for name, (few, many) in BELIEFS.items() if name in ours
    }
    beliefs = dict.fromkeys(fits, 1.0)
    strength = settings.strength
    if of_columns:
        mean = sum(of_columns.values()) / len(of_columns)
        beliefs |= {name: belief / mean for name, belief in of_columns.items()}
        strength *= 1 + share * (PULL_OF_TABLES - 1)
    elif any(name.startswith("words") for name in ours):
        strength *= PULL_OF_TEXTS
    beliefs |= {name: fit.belief for name, fit in fits.items() if fit.belief is not None}
    prior = np.array(list(beliefs.values()))
    crossed = np.stack([fit.members.crossed for fit in fits.values()])
    return stack(
        crossed[:, rows],
        target.Y[rows],
        target.count[rows],
        prior / prior.sum(),
        strength=strength,
    )


def crossed_scores(
    fits: dict[str, FamilyFit], target: LabeledTarget, settings: FamilySettings
) -> np.ndarray:
    """The scores (l, c) of the labeled rows, with weights of members and families that have not
    seen their labels.
    """
    crossed = np.stack([fit.members.crossed for fit in fits.values()])
    return cross(crossed, target, lambda kept: weigh_families(fits, target, settings, kept))


def _trainers(views: dict[str, Any]) -> dict[str, Callable[[FamilyTask], FamilyFit]]:
    """What trains each family for these views."""
    trainers: dict[str, Callable[[FamilyTask], FamilyFit]] = {}
    for view in views:
        if view in ("standardized", "quantile"):
            trainers[f"{view} columns"] = partial(train_kernels_of_columns, view)
        else:
            trainers[view] = partial(train_kernels, view)
    if "standardized" in views:
        both: tuple[str, ...] = ("standardized", "quantile")
        trainers["trees without labels"] = partial(train_features, both, grow_leaf_shares, (1.0,))
        trainers["random forest"] = partial(train_forest, "standardized", False)
        trainers["extra trees"] = partial(train_forest, "standardized", True)
        trainers["logistic regression"] = partial(train_logistic, both)
    for view in views:
        if view.startswith("words"):
            both = (view, view.replace("words", "characters", 1))
            # One word alone has no direction.
            both = tuple(name for name in both if views[name].shape[1] > 1)
            if both:
                trainers[view.replace("words", "latent semantics", 1)] = partial(
                    train_features, both, find_latent_directions, (1.0, WEAK_RIDGE)
                )
            if view in both:
                trainers[view.replace("words", NAIVE_BAYES, 1)] = partial(train_naive_bayes, view)
    return trainers


def member_name(family: str, member: str, n_families: int) -> str:
    """The name of a member in the whole: a family of one member has its name."""
    return family if not member else member if n_families == 1 else f"{family}: {member}"


def choose_rows(labels: Labels, in_use: np.ndarray, max_rows: int, random_state: Any) -> np.ndarray:
    """The rows that kernels are made from, ascending: the labeled ones and a sample of the
    others.
    """
    rows = np.flatnonzero(in_use)
    if len(rows) <= max_rows:
        return rows
    rng = check_random_state(random_state)
    is_labeled = labels.is_labeled[rows]
    labeled = rng.permutation(rows[is_labeled])
    others = rng.permutation(rows[~is_labeled])
    most = max(max_rows // 2, max_rows - len(others), labels.n_classes)
    if len(labeled) > most:
        # One row of each class, whatever is drawn.
        first = np.unique(labels.codes[labeled], return_index=True)[1]
        labeled = np.concatenate([labeled[first], np.delete(labeled, first)])
        message = (
            f"AutoSVC uses a sample of {most} of the {len(labeled)} labeled rows: raise max_rows,"
            " which takes more time and memory, or use SupervisedSVC, which uses all of them."
        )
        warn_caller(UserWarning(message))
        labeled = labeled[:most]
    return np.sort(np.concatenate([labeled, others[: max(max_rows - len(labeled), 0)]]))


# Descriptions of members for the reader, by the beginning of the name of the member or its family.
FROM_ALL_ROWS = {
    "graph": "neighbor graphs (classes along curves and surfaces)",
    "component": "the main directions of all rows (classes that are clusters)",
    "trees without labels": "trees grown without labels (rows that share leaves)",
    "latent semantics": "latent semantics (words that occur together)",
    "naive Bayes": "naive Bayes of all texts (words that go with a class)",
}
FROM_LABELED_ROWS = {
    "random forest": "a random forest",
    "extra trees": "extra trees",
    "logistic regression": "logistic regression",
    "": "ordinary kernels",
}
WORTH_NAMING = 0.05


def explain_weights(weights: dict[str, float], families: dict[str, float]) -> str:
    """Describe the weights of a fitted `AutoSVC`, from its `weights_` and `families_`: which
    members have most of the weight, and how much is on structure in the unlabeled rows.
    """
    words = FROM_ALL_ROWS | FROM_LABELED_ROWS
    kinds: dict[str, float] = {}
    of_kernels: dict[str, float] = {}
    for name, weight in weights.items():
        family = next((f for f in families if name == f or name.startswith(f"{f}: ")), "")
        kind = next((words[start] for start in words if start and family.startswith(start)), None)
        if kind is None and name == family and len(families) > 1:
            kind = f"the member {name!r}"
        elif kind is None:
            member = name.removeprefix(f"{family}: ")
            kind = next(words[start] for start in words if member.startswith(start))
            of_kernels[family] = of_kernels.get(family, 0.0) + weight
        kinds[kind] = kinds.get(kind, 0.0) + weight
    of_all_rows = sum(weight for kind, weight in kinds.items() if kind in FROM_ALL_ROWS.values())
    text = (
        f"The weight of AutoSVC is {_shares(kinds)}. In all, {100 * of_all_rows:.0f}% of it is on"
        f" structure in all rows, labeled or not, and {100 * (1 - of_all_rows):.0f}% on the labeled"
        " rows only."
    )
    if len(of_kernels) > 1 and max(of_kernels.values()) >= WORTH_NAMING:
        text += f" The weight of its kernels is {_shares(of_kernels)}."
    return text


def _shares(weights: dict[str, float]) -> str:
    """The largest shares in words, the largest first."""
    largest = sorted(weights.items(), key=lambda item: -item[1])
    parts = [f"{100 * w:.0f}% on {name}" for name, w in largest if w >= WORTH_NAMING]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
