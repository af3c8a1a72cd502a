"""The blocks of an average: kernels of a view, trees grown without labels, and classifiers.

A classifier is anything with `fit` and `predict_proba`: forests, logistic regression, naive Bayes
of all texts, and what the user brings. Its scores are 2 p - 1, on the scale of the others. Labels
are left out by its out-of-bag samples, or by folds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomTreesEmbedding
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches
from sklearn.utils.validation import has_fit_parameter

from semisvm.auto.kernels import Places, ViewKernels
from semisvm.auto.stacking import Block, Target
from semisvm.auto.threshold import most_likely_slope
from semisvm.sklearn_private import safe_indexing

N_TREES = 100
LEAF_TREES, LEAF_DEPTH = 200, 7
LOGISTIC_C = (10.0, 1.0, 0.1, 0.01)
MOST_PER_CUT = 60  # columns that a cut of a random forest looks at
CHUNK_NUMBERS = 4_000_000  # kernel values held at a time while new rows are scored
RIDGE = 0.1  # as a multiple of the mean diagonal of the kernel
# The ordinary kernels of dense rows have three, which share the prior weight: where a class is a
# linear function of codes, as in games, the weak one finds it.
RIDGES = {"": RIDGE, ", weak ridge": RIDGE / 10, ", strong ridge": RIDGE * 10}
RIDGES_OF = {"rbf": RIDGES, "linear": RIDGES, "latent": {"": RIDGE * 3}}
ALL_ROWS_FROM = 0.75  # weight of graphs from which the kernels of columns are made from all rows


# ---- least-squares SVMs on kernels ----


@dataclass(frozen=True)
class LeastSquares:
    """Coefficients (l, c), bias (c,), and scores (l, c) of each label left out."""

    coef: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray


def fit_least_squares(
    K: np.ndarray, Y: np.ndarray, count: np.ndarray, ridge: float = RIDGE
) -> LeastSquares:
    """minimize sum_i count_i |Y_i - f(x_i)|^2 + r |w|^2,  f(x) = K(x, .) a + bias, r = ridge times
    the mean diagonal.

    Left-out scores are Y_i - a_i / H_ii, H the inverse of [[K + diag(r / count), 1], [1', 0]]:
    exact, since nothing in K depends on a label.
    """
    r = ridge * (float(count @ np.diagonal(K) / count.sum()) or 1.0)
    inverse = cho_solve(cho_factor((K + K.T) / 2 + np.diag(r / count)), np.eye(len(K)))
    sums = inverse.sum(axis=1)
    bias = sums @ Y / sums.sum()
    coef = inverse @ (Y - bias)
    h = np.diagonal(inverse) - sums**2 / sums.sum()
    h = np.maximum(h, np.finfo(float).eps * np.diagonal(inverse))
    return LeastSquares(coef, bias, Y - coef / h[:, None])


@dataclass(frozen=True)
class KernelModel:
    """SVMs on the kernels of one view, by the name of the kernel and ", weak ridge" and so on."""

    view: str
    kernels: ViewKernels
    labeled: np.ndarray
    svms: dict[str, LeastSquares]

    def scores(self, views: dict[str, Any], weights: np.ndarray) -> np.ndarray:
        """The weighted scores of any rows, (m, c), a part of them at a time."""
        X = views[self.view]
        parts = gen_batches(X.shape[0], max(1, CHUNK_NUMBERS // len(self.kernels.squares)))
        scored = [self.scores_at(self.kernels.place(X[part]), weights) for part in parts]
        return np.concatenate(scored)

    def scores_at(self, at: Places, weights: np.ndarray) -> np.ndarray:
        """The weighted scores of rows that were placed."""
        coef, bias = self.combined(weights)
        matrices = self.kernels.matrices(at, self.labeled)
        return bias + sum(K @ coef[name] for name, K in matrices if name in coef)

    def combined(self, weights: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The weighted coefficients (l, c) of each kernel in use, and the weighted bias (c,)."""
        coef: dict[str, np.ndarray] = {}
        bias = np.zeros(next(iter(self.svms.values())).bias.shape)
        for (member, svm), weight in zip(self.svms.items(), weights.tolist(), strict=True):
            if weight > 0:
                kernel = member.partition(",")[0]
                coef[kernel] = coef.get(kernel, 0) + weight * svm.coef
                bias += weight * svm.bias
        return coef, bias


def kernel_block(
    name: str, view: str, X: Any, position: np.ndarray, target: Target, n_functions: int
) -> Block:
    """Train SVMs on the kernels of a view; the labeled rows are at these positions of X."""
    kernels = ViewKernels(X, target.n_classes, n_functions)
    node = kernels.node[position]
    priors = kernels.priors(node)
    svms, prior = {}, []
    for kernel, K in kernels.matrices(kernels.own.of(node), node):
        ridges = RIDGES_OF.get(kernel, {"": RIDGE}) if kernel in priors else {}
        for suffix, ridge in ridges.items():
            svms[kernel + suffix] = fit_least_squares(K, target.Y, target.count, ridge)
            prior.append(priors[kernel] / len(ridges))
    kernels.release()
    left_out = np.stack([svm.left_out for svm in svms.values()])
    model = KernelModel(view, kernels, node, svms)
    return Block(name, model, list(svms), np.array(prior), left_out)


def column_kernels(
    view: str,
    X: np.ndarray,
    target: Target,
    most_rows: int,
    n_functions: int,
    weigh: Callable[[Block], np.ndarray],
) -> Block:
    """The kernels of a table's columns from a sample of the rows, or from all of them where graphs,
    which need many rows, have most of the weight.
    """
    name = f"{view} columns"
    others = np.setdiff1d(np.arange(len(X)), target.position)
    n_labeled = len(target.position)
    n_others = min(max(most_rows - n_labeled, n_labeled), len(others))
    sample = np.random.default_rng(0).choice(others, n_others, replace=False)
    rows = np.sort(np.append(target.position, sample))
    position = np.searchsorted(rows, target.position)
    block = kernel_block(name, view, X[rows], position, target, n_functions)
    pairs = zip(weigh(block), block.members, strict=True)
    of_graphs = sum(weight for weight, member in pairs if member.startswith("graph"))
    if len(rows) < len(X) and of_graphs > ALL_ROWS_FROM:
        return kernel_block(name, view, X, target.position, target, n_functions)
    return block


# ---- trees without labels ----


@dataclass(frozen=True)
class LeafModel:
    """An SVM whose kernel is the share of random trees, grown without labels, in which two rows
    share a leaf. Its scores are sums over trees: `slopes` has a line for each leaf.
    """

    view: str
    trees: RandomTreesEmbedding
    slopes: np.ndarray
    bias: np.ndarray

    def scores(self, views: dict[str, Any], weights: np.ndarray) -> np.ndarray:
        """The weighted scores of any rows, (m, c)."""
        return weights[0] * (self.trees.transform(views[self.view]) @ self.slopes + self.bias)


def leaf_block(view: str, X: np.ndarray, target: Target) -> Block:
    """Grow trees on all rows, and train an SVM on their leaves."""
    trees = RandomTreesEmbedding(LEAF_TREES, max_depth=LEAF_DEPTH, random_state=0).fit(X)
    Z = trees.transform(X[target.position]) / LEAF_TREES**0.5
    svm = fit_least_squares((Z @ Z.T).toarray(), target.Y, target.count)
    model = LeafModel(view, trees, Z.T @ svm.coef / LEAF_TREES**0.5, svm.bias)
    return Block("trees without labels", model, [""], np.ones(1), svm.left_out[None])


# ---- classifiers ----


def as_scores(p: np.ndarray) -> np.ndarray:
    """From probabilities to scores: one column for two classes, +1 being the second."""
    return 2 * (p[:, 1:] if p.shape[1] == 2 else p) - 1


def probabilities(classifier: Any, rows: Any, classes: np.ndarray) -> np.ndarray:
    """Of these classes, (m, C); one that a fold has not seen gets none."""
    given = np.asarray(classifier.predict_proba(rows), dtype=np.float64)
    number = {name: j for j, name in enumerate(np.asarray(classifier.classes_).tolist())}
    p = np.zeros((len(given), len(classes)))
    for k, name in enumerate(classes.tolist()):
        if name in number:
            p[:, k] = given[:, number[name]]
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=np.full_like(p, 1 / len(classes)), where=total > 0)


@dataclass(frozen=True)
class ClassifierModel:
    """Fitted classifiers, each with its view."""

    fitted: list[tuple[str, Any]]
    classes: np.ndarray

    def scores(self, views: dict[str, Any], weights: np.ndarray) -> np.ndarray:
        """The weighted scores of any rows, (m, c)."""
        pairs = [pair for pair in zip(self.fitted, weights, strict=True) if pair[1] > 0]
        parts = [
            weight * as_scores(probabilities(classifier, views[view], self.classes))
            for (view, classifier), weight in pairs
        ]
        return np.sum(parts, axis=0)


def classifier_block(
    name: str,
    members: dict[str, tuple[str, Any]],
    views: dict[str, Any],
    target: Target,
    prior_weight: float = 1.0,
) -> Block:
    """Fit classifiers, given by name with the view that each looks at."""
    trained = [(view, *_train(one, views[view], target)) for view, one in members.values()]
    model = ClassifierModel([(view, fitted) for view, fitted, _ in trained], target.classes)
    left_out = np.stack([as_scores(p) for *_, p in trained])
    return Block(name, model, list(members), np.ones(len(members)), left_out, prior_weight)


def _train(classifier: Any, rows: Any, target: Target) -> tuple[Any, np.ndarray]:
    """A classifier fitted on the labeled rows, and probabilities (l, C) of the labels left out: by
    the bootstrap samples of a forest, else by folds. One with `fit_all` is fitted on all rows.
    """
    labeled = safe_indexing(rows, target.position)
    every = np.ones(len(target.codes), dtype=bool)
    folds = [target.fold == fold for fold in range(target.fold.max() + 1)]
    if hasattr(classifier, "fit_all"):
        model = clone(classifier).fit_all(rows, target, every)
        log_p = np.empty((len(every), target.n_classes))
        for out in folds:
            fitted = clone(classifier).fit_all(rows, target, ~out)
            log_p[out] = fitted.log_probabilities(safe_indexing(labeled, np.flatnonzero(out)))
        return model, model.calibrate(log_p, target)
    model = _fit(classifier, labeled, target, every)
    if getattr(classifier, "oob_score", False):  # rows that no tree has left out get the shares
        p = np.nan_to_num(model.oob_decision_function_)
        share = np.bincount(target.codes, target.count, target.n_classes) / target.count.sum()
        return model, np.where(p.sum(axis=1, keepdims=True) > 0, p, share)
    p = np.full((len(every), target.n_classes), 1 / target.n_classes)
    for out in folds:
        if len(np.unique(target.codes[~out])) > 1:  # of one class nothing can be learned
            fitted = _fit(classifier, labeled, target, ~out)
            rows_out = safe_indexing(labeled, np.flatnonzero(out))
            p[out] = probabilities(fitted, rows_out, target.classes)
    return model, p


def _fit(classifier: Any, rows: Any, target: Target, is_kept: np.ndarray) -> Any:
    weights, kept = {}, np.flatnonzero(is_kept)
    if (target.count != target.count[0]).any() and has_fit_parameter(classifier, "sample_weight"):
        weights["sample_weight"] = target.count[kept]
    return clone(classifier).fit(safe_indexing(rows, kept), target.y[kept], **weights)


def forests(d: int) -> dict[str, Any]:
    """A random forest whose cuts look at half of d columns, good where few columns say all, and
    extra trees whose cuts look at the root, good where many say a little.
    """
    few, half = max(1, int(d**0.5)), min((d + 1) // 2, MOST_PER_CUT)
    how = {"bootstrap": True, "oob_score": True, "min_samples_leaf": 2, "random_state": 0}
    return {
        "random forest": RandomForestClassifier(N_TREES, max_features=max(few, half), **how),
        "extra trees": ExtraTreesClassifier(N_TREES, max_features=few, **how),
    }


def logistic_members(views: tuple[str, ...]) -> dict[str, tuple[str, Any]]:
    """Logistic regressions of several strengths on each of these views."""
    return {
        f"{view}, C={C:g}": (view, OneVsRestLogistic(C=C)) for view in views for C in LOGISTIC_C
    }


class OneVsRestLogistic(BaseEstimator):
    """One logistic regression per class, each against the others; of two classes, one alone. In an
    average of several classes it gave more rows the right class than the multinomial one.
    """

    def __init__(self, C: float = 1.0):
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> OneVsRestLogistic:
        """Fit the regressions."""
        self.classes_ = np.unique(y)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        one = LogisticRegression(C=self.C, max_iter=500)
        fitted = [clone(one).fit(X, y == name, sample_weight) for name in positives]
        self.coef_ = np.vstack([each.coef_ for each in fitted])
        self.intercept_ = np.concatenate([each.intercept_ for each in fitted])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        p = expit(X @ self.coef_.T + self.intercept_)
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p / p.sum(axis=1, keepdims=True)


class NaiveBayes(BaseEstimator):
    """Naive Bayes with EM on TF-IDF rows of words, which learns from all texts which words go with
    a class.

    theta_c = log of (SMOOTHING + sum over labeled Z R_c + UNLABELED sum over the others Z R_c),
    normalized to sum 1; R_other = softmax(5 Z theta' + prior), in ROUNDS that begin with the labels
    alone; p = softmax(power (3 Z theta' + prior)), the power of the largest likelihood on labels
    left out: these probabilities are too sure. (K. Nigam, A. McCallum, S. Thrun and T. Mitchell,
    Machine Learning 39, 2000.)
    """

    SMOOTHING, UNLABELED, ROUNDS, SHARP_IN_EM, SHARP = 0.05, 0.2, 8, 5.0, 3.0
    power = 1.0

    def fit_all(self, Z: Any, target: Target, is_kept: np.ndarray) -> NaiveBayes:
        """Learn from all rows and the kept labels."""
        self.classes_ = target.classes
        given, is_open, self.prior = labels_and_prior(Z.shape[0], target, is_kept)
        R = given
        for step in range(self.ROUNDS + 1):
            total = self.SMOOTHING + (Z.T @ R).T
            self.theta = np.log(total / total.sum(axis=1, keepdims=True))
            if step < self.ROUNDS:
                p = np.exp(self.log_probabilities(Z, self.SHARP_IN_EM))
                R = given + self.UNLABELED * is_open[:, None] * p
        return self

    def log_probabilities(self, Z: Any, sharp: float = SHARP) -> np.ndarray:
        return log_softmax(sharp * (Z @ self.theta.T) + self.prior, axis=1)

    def calibrate(self, log_p: np.ndarray, target: Target) -> np.ndarray:
        """Find the power on log probabilities of labels left out; give their probabilities."""
        self.power = most_likely_slope(log_p, target.codes, target.count, (0.01, 2.0))
        return np.exp(log_softmax(self.power * log_p, axis=1))

    def predict_proba(self, Z: Any) -> np.ndarray:
        return np.exp(log_softmax(self.power * self.log_probabilities(Z), axis=1))


class Centroids(BaseEstimator):
    """Centroids with EM, for rows of length 1: as naive Bayes for words, it learns from all rows.

    Z = rows minus their mean, of length 1 again;  mu_c = sum_i R_ic z_i / (SHRINK + sum_i R_ic)
    log p = log_softmax(SHARP z'mu_c + log prior_c)
    R = given labels + UNLABELED p on the other rows, in ROUNDS that begin with the labels alone.
    """

    SHARP, UNLABELED, SHRINK, ROUNDS = 15.0, 0.2, 1.0, 8
    power = 1.0

    def fit_all(self, rows: np.ndarray, target: Target, is_kept: np.ndarray) -> Centroids:
        """Learn from all rows and the kept labels."""
        self.classes_ = target.classes
        self.mean = rows.mean(axis=0)
        Z = normalize(rows - self.mean)
        given, is_open, self.prior = labels_and_prior(len(Z), target, is_kept)
        R = given
        for step in range(self.ROUNDS + 1):
            self.centroids = R.T @ Z / (R.sum(axis=0) + self.SHRINK)[:, None]
            if step < self.ROUNDS:
                p = np.exp(self._log_probabilities(Z))
                R = given + self.UNLABELED * is_open[:, None] * p
        return self

    def _log_probabilities(self, Z: np.ndarray) -> np.ndarray:
        return log_softmax(self.SHARP * (Z @ self.centroids.T) + self.prior, axis=1)

    def log_probabilities(self, rows: np.ndarray) -> np.ndarray:
        return self._log_probabilities(normalize(rows - self.mean))

    calibrate = NaiveBayes.calibrate
    predict_proba = NaiveBayes.predict_proba


def labels_and_prior(
    n_rows: int, target: Target, is_kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What EM starts from: the kept labels as weights (n, C), which rows have none, and the log of
    the smoothed shares of the classes.
    """
    given = np.zeros((n_rows, target.n_classes))
    given[target.position[is_kept], target.codes[is_kept]] = target.count[is_kept]
    share = given.sum(axis=0) + 1
    return given, given.sum(axis=1) == 0, np.log(share / share.sum())
