"""Only positives are labeled: known frauds, known customers, and a pool that may hold more of them.

    minimize  1/2 |w|^2 + weight C sum_positive w_i max(0, 1 - f(x_i))
                        + C (W_p / W_u) sum_unlabeled w_j max(0, 1 + f(x_j))
                        + C sum_negative w_i max(0, 1 + f(x_i))         where negatives are labeled

w_i are sample weights, W_p and W_u their sums over the labeled positives and the unlabeled rows. So
C is the price of a labeled positive, and `weight` is that of all positives over all unlabeled rows.

1.  Choose the kernel width, then the weight, by the out-of-fold AUC of positives against unlabeled
    rows. It is prior / 2 + (1 - prior) AUC(positives, negatives): the order of models is right
    whatever the prior. Folds leave out unlabeled rows too.
2.  Bound and estimate the prior by the same scores (`without_negatives`).
3.  Choose the threshold: a recall, or the largest F1 to expect with that prior. 0 means nothing.

The prior is not used in training, because one set too low ruins it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from semisvm.engine.device import on_host
from semisvm.labels import Labels, encode
from semisvm.sklearn_private import Interval, StrOptions, check_sample_weight
from semisvm.svm._base import BaseSVC
from semisvm.svm._binary import BinaryFit, BinaryProblem, TrainingSet
from semisvm.svm._classifier import WHOEVER_CALLED_FIT
from semisvm.svm._estimator import estimator
from semisvm.svm._rounds import Rounds
from semisvm.threshold.without_negatives import (
    FEWEST_FOR_A_PRIOR,
    LARGEST_PRIOR,
    PositiveUnlabeledPoint,
    PriorBound,
    best_f1,
    bound_prior,
    judge_threshold,
    reach_recall,
)

CONFIDENCE = 0.9  # of intervals and of the bound on the prior
WEIGHTS = (0.06, 0.2, 0.5, 1.0)
UNTUNED_WEIGHT = 0.5
WIDTHS = (1.0, 0.3, 0.1)  # parts of gamma="scale"; small ones are nearly linear
FEWEST_FOR_A_WIDTH = 20  # positives; with fewer, scores of nearly linear folds are too far apart
N_FOLDS = 5
N_DRAWS = 3  # with few positives much of the noise comes from the draw of the folds
ENOUGH_POSITIVES = 300  # from here on there is one draw
# The prior that F1 is estimated with lies between the estimate (0) and the bound (1), on a scale of
# ratios: a prior too high costs little F1, one too low may cost most of it.
TRUST_IN_BOUND = 0.75
# A prior from the user bounds it by a multiple, and no smaller share of the rows is accepted. It is
# raised where positives are too few for an estimate of our own.
MOST_PRIORS, RAISED_PRIOR = 4.0, 1.6
# A matrix is a table, whose columns have scales of their own, if distances depend on few of its
# columns, if many have few values, or if they have long tails.
LEAST_EVENNESS, FEW_VALUES, MOST_OF_FEW_VALUES, LONGEST_TAIL = 0.25, 10, 0.3, 15.0
FEWEST_ROWS_JUDGED = 50


@estimator
class PositiveUnlabeledSVC(BaseSVC):
    """Support vector classifier of labeled positives and unlabeled rows.

    It assumes that **the labeled positives are a random sample of all positives**. If easy
    positives were labeled first, the recall is lower than reported.

    Labeled negatives are used if there are any: with two labels in y, the second is the positive
    one. Without unlabeled rows it is then an ordinary SVC, with a warning.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a labeled positive on the wrong side of its margin; it is multiplied by the
        positive weight. The unlabeled rows have in all the penalty of the labeled positives.
    gamma : {"tuned", "scale", "auto"} or float, default="tuned"
        As in :class:`sklearn.svm.SVC`. "tuned" takes "scale", or of an rbf kernel three tenths or a
        tenth of it if positives (at least 20) are then told apart better from the unlabeled rows,
        out of fold.
    prior : float or (float, float), default=None
        The share of positives among the unlabeled rows, if it is known from elsewhere: a number, or
        a lower and an upper bound. At least this share of the unlabeled rows is then accepted, and
        precision is reported. It is not used in training. None: it is estimated.
    min_recall : float, default=None
        Take the highest threshold with at least this recall. None: the one with the largest F1 to
        expect among all rows, labeled and unlabeled.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds. Pass an int for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative and the positive label. If y has no negative one, it is 0 for a number, False
        for True, and "not spam" for "spam".
    threshold_ : float
        What is subtracted from the scores of the SVM.
    operating_point_ : PositiveUnlabeledPoint or None
        Recall, share of accepted rows, and lift, with intervals; precision if the prior is given.
        None if y has no unlabeled row.
    prior_, prior_bound_ : float
        The share of positives among the unlabeled rows, given or estimated, and an upper bound on
        it, at 90%, by out-of-fold scores. NaN if unknown, with fewer than 10 positives.
    positive_weight_, gamma_, pu_auc_ : float
        The weight of all positives relative to all unlabeled rows, the parameter of the kernel, and
        their out-of-fold AUC of positives against unlabeled rows; NaN without folds.
    out_of_fold_scores_ : ndarray of shape (n_samples,)
        Decision values by SVMs that were not trained on the row; NaN for rows in no fold.
    scale_ : ndarray of shape (n_features,) or None
        What each column is divided by: its standard deviation, or half the distance of its two
        values, if X looks like a table. None: nothing, as for pixels or a sparse matrix.

    See Also
    --------
    PreferenceSVC : Reaches a minimum precision or recall if both classes are labeled.
    certify : Proves a recall, by labeled positives that were put aside.

    References
    ----------
    .. [1] B. Liu, Y. Dai, X. Li, W. S. Lee and P. S. Yu, "Building text classifiers using positive
       and unlabeled examples", ICDM 2003. :doi:`10.1109/ICDM.2003.1250918`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import PositiveUnlabeledSVC
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> y = np.full(len(truth), -1)
    >>> y[np.flatnonzero(truth == 0)[:100]] = 1  # 100 of the 212 malignant rows
    >>> model = PositiveUnlabeledSVC(random_state=1).fit(X, y)
    >>> model.classes_
    array([0, 1])
    >>> bool(model.operating_point_.recall.value > 0.85)
    True
    >>> model.operating_point_.precision is None  # nobody gave the prior
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "gamma": [
            StrOptions({"tuned", "scale", "auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "prior": [Interval(Real, 0, 1, closed="neither"), tuple, list, None],
        "min_recall": [Interval(Real, 0, 1, closed="right"), None],
        "random_state": ["random_state"],
    }

    costs: ClassVar[None] = None  # type: ignore[misc]  # the weight of positives is chosen
    class_weight: ClassVar[None] = None  # type: ignore[misc]
    multi_class: ClassVar[Literal["ovr"]] = "ovr"  # type: ignore[misc]
    gamma: str | float = "tuned"
    prior: float | tuple[float, float] | None = None
    min_recall: float | None = None
    random_state: Any = None

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = super()._checked(X, reset=True)
        labels = read_positives(on_host(y), unlabeled=self.unlabeled, n_rows=X.shape[0])
        weight = check_sample_weight(on_host(sample_weight), X, dtype=np.float64)
        weight = np.maximum(weight, 0.0)
        check_there_are_two_sides(labels.take(weight > 0))
        self.classes_ = labels.classes
        is_ours = self.kernel != "precomputed" and not callable(self.kernel)
        may_scale = is_ours and isinstance(X, np.ndarray)
        self.scale_ = column_scale(X[weight > 0]) if may_scale else None
        X = self._scaled(X)
        data, fit = self._search(self._training_set(X, labels, weight))
        self._set_model(data.formula, [fit])
        self._set_support(data, [fit])
        self._set_transduction(X, labels, data, [fit])
        for complaint in self._complaints(data.labels.codes):
            warnings.warn(complaint, stacklevel=WHOEVER_CALLED_FIT - 1)

    def _complaints(self, codes: np.ndarray) -> list[str]:
        """What is wrong with the rows or with the prior, a sentence each."""
        if self.operating_point_ is None:
            negative, positive = self.classes_.tolist()
            return [
                f"y has no unlabeled rows, so this is an ordinary SVC of {negative!r} and"
                f" {positive!r}. If {negative!r} marks rows that are not known, pass"
                f" unlabeled={negative!r}."
            ]
        found = []
        noise = math.sqrt((1 / np.sum(codes == 1) + 1 / np.sum(codes < 0)) / 12)
        if np.sum(codes == 1) >= FEWEST_FOR_A_PRIOR and self.pu_auc_ < 0.5 + 1.645 * noise:
            found.append(
                "The labeled positives can't be told apart from the unlabeled rows: out of fold,"
                f" the AUC is {self.pu_auc_:.2f} and chance is 0.5. Nearly all unlabeled rows may"
                " be positive, or the features do not separate them."
            )
        prior = read_prior(self.prior)
        if prior is not None and prior[0] > self.prior_bound_:
            found.append(
                f"The prior given, {prior[0]:g}, is above what the scores allow: at most"
                f" {self.prior_bound_:.3g} of the unlabeled rows are positive. The prior is wrong,"
                " or the labeled positives are not a random sample of all positives."
            )
        return found

    def _search(self, data: TrainingSet) -> tuple[TrainingSet, BinaryFit]:
        """Steps 1 to 3: the fit of the best width and weight, and its threshold."""
        rng = check_random_state(self.random_state)
        codes = data.labels.codes
        folds = deal_folds(codes, rng)
        search = Search(data, self.C, folds)
        is_tuned = self.gamma == "tuned" and (codes == 1).sum() >= FEWEST_FOR_A_WIDTH
        if is_tuned and data.formula.name == "rbf" and len(folds):
            search = max(
                (search.at_width(width) for width in WIDTHS),
                key=lambda each: each.try_weight(UNTUNED_WEIGHT).pu_auc,
            )
        has_unlabeled = (codes < 0).any()
        weights = WEIGHTS if len(folds) else (UNTUNED_WEIGHT,)
        tried = [search.try_weight(weight) for weight in (weights if has_unlabeled else (1.0,))]
        best = max(tried, key=lambda trial: np.nan_to_num(trial.pu_auc, nan=-1.0))
        self.positive_weight_, self.gamma_ = best.weight, search.data.formula.gamma
        self.pu_auc_ = best.pu_auc
        fit = search.fit(best.weight)
        self.threshold_ = 0.0
        self.operating_point_: PositiveUnlabeledPoint | None = None
        if has_unlabeled:
            self._choose_threshold(tried, best, fit, codes)
        else:
            self.prior_ = self.prior_bound_ = math.nan
        mean = best.scores.mean(axis=0) if len(folds) else np.full(len(codes), np.nan)
        self.out_of_fold_scores_ = data.spread(mean - self.threshold_, np.nan)
        return search.data, replace(fit, scores=fit.scores - self.threshold_)

    def _choose_threshold(
        self, tried: list[Trial], best: Trial, fit: BinaryFit, codes: np.ndarray
    ) -> None:
        """Set the threshold and the prior by out-of-fold scores; without folds by those of fit."""
        prior = read_prior(self.prior)
        scores = best.scores if len(best.scores) else fit.scores[None]
        positive, unlabeled = scores[:, codes == 1], scores[:, codes < 0]
        known = None
        if len(best.scores) and positive.shape[1] >= FEWEST_FOR_A_PRIOR:
            known = bound_over(tried, codes)
        if self.min_recall is not None:
            threshold = reach_recall(positive.ravel(), self.min_recall)
        else:
            threshold = self._best_f1(positive.ravel(), unlabeled.ravel(), prior, known)
        self.threshold_ = threshold
        self.operating_point_ = judge_threshold(threshold, positive, unlabeled, prior, CONFIDENCE)
        estimate, self.prior_bound_ = known or (math.nan, math.nan)
        self.prior_ = estimate if prior is None else math.sqrt(prior[0] * prior[1])

    def _best_f1(
        self,
        positive: np.ndarray,
        unlabeled: np.ndarray,
        prior: tuple[float, float] | None,
        known: PriorBound | None,
    ) -> float:
        """The threshold of the largest F1, estimated with a prior that is rather too high."""
        given = math.inf if prior is None else math.sqrt(prior[0] * prior[1])
        if known is not None:
            least = min(max(known.estimate, 1 / len(unlabeled)), LARGEST_PRIOR)
            assumed = least ** (1 - TRUST_IN_BOUND) * known.bound**TRUST_IN_BOUND
            assumed = min(assumed, MOST_PRIORS * given)
        else:
            assumed = RAISED_PRIOR * given if prior is not None else UNTUNED_WEIGHT
        labeled = len(positive) / (len(positive) + len(unlabeled))
        threshold = best_f1(positive, unlabeled, min(assumed, LARGEST_PRIOR), labeled)
        return threshold if prior is None else min(threshold, reach_recall(unlabeled, given))

    def _formula_of(self, X: Any, labels: Labels, weight: np.ndarray, **parameters: Any) -> Any:
        if self.gamma == "tuned":
            parameters = {"gamma": "scale"} | parameters
        return super()._formula_of(X, labels, weight, **parameters)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return self._scaled(super()._checked(X, reset=reset))

    def _scaled(self, X: Any) -> Any:
        return X if self.scale_ is None else X / self.scale_

    def _scores(self, X: Any) -> np.ndarray:
        return super()._scores(X) - self.threshold_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for unscaled rows; only with a linear kernel."""
        coef = super().coef_
        return coef if self.scale_ is None else coef / self.scale_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(frozen=True)
class Trial:
    """A positive weight.

    scores   (draws, n)  out-of-fold scores, NaN for rows in no fold
    pu_auc   the mean over folds of the AUC of positives against unlabeled rows; NaN without folds
    """

    weight: float
    scores: np.ndarray
    pu_auc: float


class Search:
    """The SVMs of the module's docstring on the same kernel rows: a row left out has an empty box.

    folds   (draws, n)  the fold that tests each row, in several draws
    """

    def __init__(self, data: TrainingSet, C: float, folds: np.ndarray):
        self.data, self.C, self.folds = data, C, folds
        (self.problem,) = data.binary_problems()
        self.rounds = Rounds(self.problem)

    def at_width(self, width: float) -> Search:
        """The same with another part of the kernel's gamma."""
        formula = replace(self.data.formula, gamma=width * self.data.formula.gamma)
        return (
            self if width == 1 else Search(replace(self.data, formula=formula), self.C, self.folds)
        )

    def try_weight(self, weight: float) -> Trial:
        """Score all rows out of fold."""
        sign = self.problem.sign
        scores = np.full(self.folds.shape, np.nan)
        if not len(scores):
            return Trial(weight, scores, math.nan)
        self._solve(weight, np.ones(len(sign), dtype=bool))
        whole, aucs = self.rounds.solution, []
        for draw, fold in enumerate(self.folds):
            for number in range(fold.max() + 1):
                test = fold == number
                self._solve(weight, ~test, whole)
                scores[draw, test] = self.rounds.decision_values[test]
                judged = test & (sign >= 0)
                if len(np.unique(sign[judged])) == 2:
                    aucs.append(roc_auc_score(sign[judged] > 0, scores[draw, judged]))
        self.rounds.solution = whole
        return Trial(weight, scores, float(np.mean(aucs)) if aucs else math.nan)

    def fit(self, weight: float) -> BinaryFit:
        """Train on all rows."""
        found = self._solve(weight, np.ones(len(self.problem.sign), dtype=bool))
        self.rounds.done(objective=found.objective, positive_weight=weight)
        return self.rounds.fit()

    def _solve(self, weight: float, trains: np.ndarray, start: Any = None) -> Any:
        return self.rounds.solve(weighted_svm(self.problem, self.C, weight, trains), start)


def weighted_svm(problem: BinaryProblem, C: float, weight: float, trains: np.ndarray) -> Any:
    """The SVM of the rows that train, a mask: unlabeled rows on the side of the negatives."""
    positive, unlabeled = trains & (problem.sign > 0), trains & (problem.sign == 0)
    box = np.where(trains, C * problem.weight, 0.0)
    box[positive] *= weight
    if unlabeled.any():
        box[unlabeled] *= problem.weight[positive].sum() / problem.weight[unlabeled].sum()
    return problem.svm(np.where(trains, np.where(positive, 1.0, -1.0), 0.0), box)


def deal_folds(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Deal all rows out to folds, class by class, unlabeled rows as a class: (draws, n).

    No draws where there are too few positives or unlabeled rows for two folds.
    """
    n_positive, n_unlabeled = (int(np.count_nonzero(codes == code)) for code in (1, -1))
    n_folds = min(N_FOLDS, n_positive, n_unlabeled)
    n_draws = 0 if n_folds < 2 else N_DRAWS if n_positive < ENOUGH_POSITIVES else 1
    folds = np.empty((n_draws, len(codes)), dtype=int)
    for fold in folds:
        fold[np.lexsort((rng.uniform(size=len(codes)), codes))] = np.arange(len(codes)) % n_folds
    return folds


def bound_over(tried: list[Trial], codes: np.ndarray) -> PriorBound:
    """The least bound over the scores of all weights, which share the risk; of draws the median."""
    each = 1 - (1 - CONFIDENCE) / len(tried)
    least = [
        min(
            (bound_prior(s[codes == 1], s[codes < 0], each) for s in draws),
            key=lambda found: found.bound,
        )
        for draws in zip(*(trial.scores for trial in tried), strict=True)
    ]
    return PriorBound(*np.median(least, axis=0).tolist())


def column_scale(X: np.ndarray) -> np.ndarray | None:
    """What the columns of a table are divided by; None for pixels and the like.

    Two values are 2 apart afterwards, whatever their shares: a rare indicator is not made larger.
    """
    if len(X) < FEWEST_ROWS_JUDGED:
        return None
    low, high = X.min(axis=0), X.max(axis=0)
    varies = high > low
    Z = (X[:, varies] - low[varies]) / (high - low)[varies]
    if not Z.shape[1]:
        return None
    n_values = 1 + (np.diff(np.sort(Z, axis=0), axis=0) > 0).sum(axis=0)
    Z -= Z.mean(axis=0)
    variance = (Z**2).mean(axis=0)
    tail = np.median((Z**4).mean(axis=0) / variance**2)
    spread = (high - low)[varies] / (high - low).max()
    own = variance * spread**2
    evenness = own.sum() ** 2 / (own**2).sum() / len(own)
    is_table = evenness < max(LEAST_EVENNESS, 1.01 / len(own)) or tail > LONGEST_TAIL
    if not is_table and (n_values <= FEW_VALUES).mean() <= MOST_OF_FEW_VALUES:
        return None
    scale = np.ones(X.shape[1])
    has_two = n_values == 2
    scale[varies] = np.where(has_two, 0.5, np.sqrt(variance)) * (high - low)[varies]
    return scale


def read_prior(prior: Any) -> tuple[float, float] | None:
    """The numbers that a prior lies between, or None where it is to be estimated."""
    if prior is None:
        return None
    ends = prior if isinstance(prior, tuple | list) else (prior, prior)
    if len(ends) != 2 or not 0 < ends[0] <= ends[1] < 1:
        raise ValueError(
            "prior must be a number strictly between 0 and 1, or two, the lower first; got"
            f" {prior!r}."
        )
    return float(ends[0]), float(ends[1])


def read_positives(y: Any, *, unlabeled: Any, n_rows: int) -> Labels:
    """Read a target as two classes, negative and positive, though it may hold positives alone."""
    labels = encode(y, unlabeled=unlabeled, n_rows=n_rows, may_be_one_class=True)
    if labels.n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has"
            f" {labels.n_classes} classes. Keep the label of the positives and mark other rows as"
            " unlabeled."
        )
    if labels.n_classes == 2:
        return labels
    (positive,) = labels.classes.tolist()
    if isinstance(positive, str):
        other: Any = f"not {positive}"
    elif isinstance(positive, bool):
        other = not positive
    else:
        other = next(type(positive)(n) for n in (0, -1, 1) if n not in (positive, unlabeled))
    kind = labels.classes.dtype if labels.classes.dtype.kind == "O" else None
    codes = np.where(labels.is_labeled, 1, labels.codes)
    return Labels(np.array([other, positive], dtype=kind), codes)


def check_there_are_two_sides(labels: Labels) -> None:
    """Refuse a target without positives in use, or without rows to compare them with."""
    positive = labels.classes.tolist()[1]
    if not (labels.codes == 1).any():
        raise ValueError(f"No row of class {positive!r} has a positive sample_weight.")
    if (labels.codes == 1).all():
        raise ValueError(
            f"y has labels of one class, {positive!r}, and no unlabeled row to compare it with. Add"
            " unlabeled rows; to describe one class alone use sklearn.svm.OneClassSVM."
        )
