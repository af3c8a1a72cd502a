"""A support vector classifier that chooses C and gamma by cross-validation.

The kernel between all labeled rows is made once for each gamma. A fold is the same problem in which
the box of its held-out rows has width 0: they take no part, and their decision values come with the
solution, so that no kernel value is computed to score them. For ascending C each solve starts from
the last one: coefficients at their bound move on with the bound, the others stay.
"""

from __future__ import annotations

from dataclasses import field, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, check_cv

from semisvm.engine import Problem
from semisvm.engine.formula import WITH_GAMMA
from semisvm.engine.parallel import for_each
from semisvm.sklearn_private import Interval

from ._binary import TrainingSet, combine, winning_codes
from ._classifier import SemiSupervisedMixin, read_target
from ._engine import carried, is_on_device, kernel_of_values, whole_kernel
from ._estimator import estimator
from .supervised import SupervisedSVC

C_RANGE = 1e-2, 1e3
GAMMA_FACTORS = tuple(4.0**k for k in range(-3, 3))  # of gamma="scale", tried by default
# Problems that a device solves at once: an array of a batch has about so many numbers. On an H200
# 250 problems were fastest for 10,000 rows, and 100 for 20,000.
FEWEST_IN_BATCH, MOST_IN_BATCH, NUMBERS_IN_BATCH = 100, 250, 2_500_000


@estimator
class SVCCV(SemiSupervisedMixin, MetaEstimatorMixin, BaseEstimator):
    """Support vector classifier that chooses C and gamma by cross-validation on the labeled rows.

    It gives the same scores as ``GridSearchCV(SupervisedSVC(), {"C": Cs, "gamma": gammas})`` in a
    fraction of the time: the kernel is computed once for each gamma and shared by all folds and
    values of C, each fit starts from a similar one, and scoring the held-out rows needs no further
    kernel values. Unlabeled rows are ignored.

    Parameters
    ----------
    estimator : SupervisedSVC, default=None
        The classifier whose C and gamma are chosen. None: ``SupervisedSVC()``.
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C to try, or their number, evenly spaced on a logarithmic scale from 0.01 to
        1000.
    gammas : array-like of shape (n_gammas,), default=None
        The values of gamma to try. None: 1/64 to 16 times "scale", if the kernel has a gamma.
    cv : int, splitter or iterable, default=5
        The folds of the labeled rows; an int is the number of stratified folds, drawn from a fixed
        seed.
    scoring : str or callable, default=None
        Scorer of held-out rows, by their decision values and classes. None: balanced accuracy, or
        minus the mean cost if the estimator has costs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    best_estimator_ : SupervisedSVC
        Fitted to all labeled rows with the chosen C and gamma.
    C_, gamma_, best_score_ : float
        The choice, and its mean score.
    Cs_, gammas_ : ndarray of shape (n_Cs,), list
        What was tried.
    scores_ : ndarray of shape (n_Cs, n_gammas, n_folds)
        The scores of held-out rows.
    out_of_fold_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values of the labeled rows when held out, at the choice; NaN for other rows.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(SVCCV().fit(scale(X), y).best_score_ > 0.97)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [SupervisedSVC, None],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "gammas": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
    }

    estimator: SupervisedSVC | None = field(default=None, kw_only=False)
    Cs: Any = 10
    gammas: Any = None
    cv: Any = 5
    scoring: Any = None

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        svm = SupervisedSVC() if self.estimator is None else clone(self.estimator)
        svm._validate_params()
        rows = svm._checked(X, reset=True)
        labels, weight = read_target(svm, rows, y, sample_weight)
        data = svm._training_set(rows, labels, weight)
        self.classes_ = labels.classes
        self.Cs_ = np.asarray(self.Cs, dtype=float)
        if self.Cs_.ndim == 0:
            self.Cs_ = np.geomspace(*C_RANGE, int(self.Cs))
        self.gammas_ = self._read_gammas(svm, data)
        true = labels.classes[data.labels.codes]
        folds = self._folds(data, true)
        scorer = self._scorer(svm)
        self.scores_ = np.empty((len(self.Cs_), len(self.gammas_), len(folds)))
        best = -np.inf, 0, 0
        for column, gamma in enumerate(self.gammas_):
            formula = svm._formula_of(data.X, data.labels, data.weight, gamma=gamma)
            decisions = held_out_decisions(replace(data, formula=formula), folds, self.Cs_)
            for row, of_folds in enumerate(decisions):
                self.scores_[row, column] = [
                    scorer(HeldOut(self.classes_, values), data.X[test], true[test])
                    for values, (_, test) in zip(of_folds, folds, strict=True)
                ]
                # Of equal scores the first C, and then the first gamma.
                cell = self.scores_[row, column].mean(), -row, -column
                if cell > best:
                    best, out_of_fold = cell, of_folds
        self.best_score_ = float(best[0])
        self.C_, self.gamma_ = float(self.Cs_[-best[1]]), self.gammas_[-best[2]]
        self.out_of_fold_scores_ = np.full((len(weight), *out_of_fold[0].shape[1:]), np.nan)
        for values, (_, test) in zip(out_of_fold, folds, strict=True):
            self.out_of_fold_scores_[data.origin[test]] = values
        svm.set_params(C=self.C_, gamma="scale" if self.gamma_ is None else self.gamma_)
        self.best_estimator_ = svm.fit(X, y, sample_weight)
        self.n_features_in_ = svm.n_features_in_
        if hasattr(svm, "feature_names_in_"):
            self.feature_names_in_ = svm.feature_names_in_

    @property
    def unlabeled(self) -> Any:
        """The marker of rows without a label."""
        return -1 if self.estimator is None else self.estimator.unlabeled

    def _folds(self, data: TrainingSet, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds of the labeled rows, drawn from a fixed seed; or as a splitter draws them from the
        labeled rows in the user's order; or as given, by numbers of all rows.
        """
        if isinstance(self.cv, Integral):
            splitter = StratifiedKFold(self.cv, shuffle=True, random_state=0)
            return list(splitter.split(np.zeros(len(y)), y))
        own = np.argsort(data.origin)
        if hasattr(self.cv, "split"):
            numbers = list(self.cv.split(data.X[own], y[own]))
            return [(own[train], own[test]) for train, test in numbers]
        place = np.full(data.n_given, -1)
        place[data.origin] = np.arange(data.n_rows)
        of_rows = [(place[train], place[test]) for train, test in check_cv(self.cv).split()]
        return [(train[train >= 0], test[test >= 0]) for train, test in of_rows]

    def _read_gammas(self, svm: SupervisedSVC, data: TrainingSet) -> list[Any]:
        if svm.kernel not in WITH_GAMMA:
            return [None]
        if self.gammas is not None:
            return list(self.gammas)
        scale = svm._formula_of(data.X, data.labels, data.weight, gamma="scale").gamma
        return [scale * factor for factor in GAMMA_FACTORS]

    def _scorer(self, svm: SupervisedSVC) -> Any:
        """One of scikit-learn's, whose checks take a millisecond for each fold of a cell; or by
        default balanced accuracy, or minus the mean cost.
        """
        if self.scoring is not None:
            return get_scorer(self.scoring)

        def score(model: HeldOut, X: Any, y: np.ndarray) -> float:
            is_right = model.predict(X) == y
            if svm.costs is None:
                return float(np.mean([is_right[y == c].mean() for c in np.unique(y)]))
            cost = np.array([svm.costs[c] for c in y.tolist()])
            return -float(np.mean(np.where(is_right, 0.0, cost)))

        return score

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        svm = SupervisedSVC() if self.estimator is None else self.estimator
        tags.input_tags = svm.__sklearn_tags__().input_tags
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return self.best_estimator_._checked(X, reset=reset)

    def _decide(self, X: Any) -> np.ndarray:
        return self.best_estimator_._decide(X)


def held_out_decisions(
    data: TrainingSet, folds: list[tuple[np.ndarray, np.ndarray]], Cs: np.ndarray
) -> list[list[np.ndarray]]:
    """For each C and each fold, the decision values of the rows that are held out.

    A path is one binary problem of one fold, for ascending C; where the whole kernel is in memory,
    paths are solved side by side, and on a device all at once.
    """
    pairs = data.pairs
    scores = [[np.empty((len(test), len(pairs))) for _, test in folds] for _ in Cs]
    paths = [(fold, number) for fold in range(len(folds)) for number in range(len(pairs))]
    ascending = np.argsort(Cs, kind="stable")

    def unit_box(path: tuple[int, int]) -> np.ndarray:
        """The box of each row at C = 1, with its sign; 0 for rows that are held out."""
        fold, number = path
        codes = np.full(data.n_rows, -1)
        train = folds[fold][0]
        codes[train] = data.labels.codes[train]
        return pairs[number].sign(codes) * data.price(codes)

    def svm(rows: Any, bound: np.ndarray) -> Problem:
        return data.engine.svm(rows, np.sign(bound), np.abs(bound))

    def keep(path: tuple[int, int], k: int, decision_values: np.ndarray) -> None:
        fold, number = path
        scores[k][fold][:, number] = decision_values[folds[fold][1]]

    def solve_path(path: tuple[int, int]) -> None:
        rows = data.rows if K is None else kernel_of_values(K)
        # Pairwise steps, which the solver takes from a given start, are the faster ones here.
        start: Any = None if K is None else np.zeros(data.n_rows)
        unit, found = unit_box(path), None
        before = np.zeros(data.n_rows)
        for k in ascending:
            bound = Cs[k] * unit
            if found is not None:
                start = carried(found, before, bound)
            found, before = data.engine.solve(svm(rows, bound), start), bound
            keep(path, k, found.decision_values)

    def solve_in_batches() -> None:
        """Cells of similar C together, because they take similar numbers of steps."""
        units = {path: unit_box(path) for path in paths}
        cells = [(path, k) for k in ascending for path in paths]
        size = min(max(NUMBERS_IN_BATCH // data.n_rows, FEWEST_IN_BATCH), MOST_IN_BATCH)
        for batch in (cells[i : i + size] for i in range(0, len(cells), size)):
            svms = [svm(data.rows, Cs[k] * units[path]) for path, k in batch]
            for cell, found in zip(batch, data.engine.solve_all(svms, None), strict=True):
                keep(*cell, found.decision_values)

    K = whole_kernel(data.rows)
    if is_on_device(data.rows):
        solve_in_batches()
    elif K is not None:
        for_each(solve_path, paths)
    else:
        for path in paths:
            solve_path(path)
    n_classes = data.labels.n_classes
    return [[combine(s, n_classes, data.multi_class) for s in of_folds] for of_folds in scores]


class HeldOut(ClassifierMixin, BaseEstimator):
    """A fitted classifier of one fold, as a scorer sees it: it knows the held-out rows alone."""

    def __init__(self, classes: np.ndarray, decisions: np.ndarray):
        self.classes_ = classes
        self.decisions_ = decisions

    def decision_function(self, X: Any) -> np.ndarray:
        return self.decisions_

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[winning_codes(self.decisions_)]
