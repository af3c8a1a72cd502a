"""A support vector classifier that chooses C and gamma by cross-validation.

`grid` has the search; here are the grid, the folds, the score of a cell, the choice and the fit on
all labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.utils.class_weight import compute_class_weight

from semisvm.decision.audit import judge_ranking
from semisvm.device import on_host
from semisvm.dual import Status
from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import MethodFit
from semisvm.estimators.classifier import pick_rows
from semisvm.estimators.grid import Fold, Search
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.progress import Progress, warn_caller
from semisvm.estimators.streams import StreamProblem
from semisvm.estimators.supervised import SupervisedSVC
from semisvm.kernels.formula import WITH_GAMMA
from semisvm.kernels.threads import with_limited_threads
from semisvm.machines import Solver
from semisvm.model_selection import SemiSupervisedKFold
from semisvm.model_selection.calibration import fit_sigmoids
from semisvm.model_selection.scoring import winning_codes
from semisvm.sklearn_private import Interval, fit_context, takes_sample_weight, with_callbacks

N_FOLDS = 5
C_RANGE = 1e-2, 1e3
# Multiples of gamma="scale" that are tried by default.
GAMMA_FACTORS = tuple(4.0**k for k in range(-3, 3))
SHARE_OF_TIME = 0.8  # of a time limit, for the search; the rest is for the fit on all labels


class SVCCV(SupervisedSVC):
    """Support vector classifier that chooses C and gamma by cross-validation on the labeled rows.

    It gives the same scores as ``GridSearchCV(SupervisedSVC(), {"C": Cs, "gamma": gammas})`` in a
    fraction of the time: the kernel is computed once for each gamma and shared by all folds and
    values of C, each fit starts from a similar one, and scoring the held-out rows needs no further
    kernel values. Unlabeled rows are ignored.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,), default=10
        The values of C to try, or their number, evenly spaced on a logarithmic scale from 0.01 to
        1000.
    gammas : array-like of shape (n_gammas,), default=None
        The values of gamma to try: numbers, "scale" or "auto". None: 1/64 to 16 times "scale", each
        4 times the one before. Kernels without gamma have the single value None.
    cv : int, splitter or iterable of (train, test), default=None
        Cross-validation strategy. An int is the number of stratified folds; None is 5, or fewer if
        a class has fewer labels. A splitter is called with the labeled rows only; an iterable
        yields indices of rows of X, of which the unlabeled ones are ignored.
    scoring : str or callable, default=None
        Metric on the held-out rows: the name of a scikit-learn scorer, or a callable
        scorer(estimator, X, y). None: minus the mean cost if there are costs, else
        "balanced_accuracy", in which rare and frequent classes count the same.
    refit : bool, default=True
        Whether to fit on all labels with the chosen C and gamma. If False, the estimator can't
        predict.
    probability : bool, default=False
        Whether to provide `predict_proba`, by sigmoids fitted to the held-out scores of the chosen
        C and gamma. It takes no further fits.
    guard : bool, default=False
        As in `SupervisedSVC`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss function. The squared hinge needs ``kernel="linear"``.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors, as in `SupervisedSVC`.
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    multi_class : {"auto", "ovr", "ovo"}, default="auto"
        One-vs-rest or one-vs-one. "auto" is "ovo" for `SupervisedSVC`, `SVCCV`, `SelfTrainingSVC`
        and `ClusterSVC`, "ovr" for the others.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    solver : {"auto", "dual", "primal"}, default="auto"
        The form of linear SVMs: "primal", for many rows, gives `coef_` and no support vectors.
    tol : float, default=1e-3
        Tolerance of the stopping criterion (`gap_`). Below 1e-5, kernels are computed in float64.
        With more than 1,000 rows and a C of 1,000 or more, this may be needed for an accurate gap.
    max_iter : int, default=None
        Maximum number of solver steps for each binary problem, over all its rounds. None: no limit.
    time_limit : float, default=None
        Time limit in seconds, four fifths of it for the search, which then takes the best complete
        cell. None: no limit.
    cache_size : float, default=None
        Size of the kernel cache in MB. None: half of the free memory. A smaller cache is slower.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda" or "cuda:1" needs an NVIDIA GPU and ``semisvm[gpu]``; "auto" uses it for many rows.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    C_, gamma_, best_score_ : float, float or str or None, float
        The chosen C and gamma, with the best mean score over the folds (the first of equals), and
        this score.
    Cs_, gammas_ : ndarray of shape (n_Cs,), list
        The values that were tried.
    scores_ : ndarray of shape (n_Cs, n_gammas, n_folds)
        The score of each cell (C and gamma) in each fold; NaN if the search ended before it.
    cv_results_ : dict of ndarrays
        The scores in the format of `GridSearchCV`: ``params``, ``mean_test_score``,
        ``rank_test_score``, ``split0_test_score`` and so on.
    n_splits_ : int
        The number of folds.
    out_of_fold_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Scores of the labeled rows, with the chosen C and gamma, from the fold that holds the row
        out (the last one, if several do), in the form of `decision_function`; NaN for rows that no
        fold holds out.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_, n_support_, support_vectors_ : ndarray or sparse matrix
        Support vectors: their indices, their number per class, and the rows themselves.
    dual_coef_, intercept_, coef_ : ndarray or sparse matrix
        Dual coefficients, intercepts and (linear kernel) feature weights of the binary problems.
    gap_ : ndarray of shape (n_problems,)
        The largest violation of the optimality conditions, up to the rounding of kernel values (see
        `tol`); in primal form the relative duality gap.
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        Label of each training row, and the round that assigned it: 0 if in y, -1 if predicted.
    guard_ : dict or None
        As in `SupervisedSVC`.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    SupervisedSVC : The same classifier with given C and gamma.
    sklearn.model_selection.GridSearchCV : Tunes any estimator, with one fit per candidate and fold.

    Notes
    -----
    gamma="scale" is computed once, on all labeled rows; `GridSearchCV` computes it on the training
    rows of each fold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import SVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVCCV(Cs=[0.1, 1, 10], gammas=["scale"]).fit(scale(X), y)
    >>> model.C_, model.gamma_, round(model.best_score_, 2)
    (10.0, 'scale', 0.97)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: rule
            for name, rule in BaseSVC._parameter_constraints.items()
            if name not in ("C", "gamma")
        },
        **FORM_CONSTRAINTS,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "gammas": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        "probability": ["boolean"],
        "guard": ["boolean"],
    }

    Cs: Any
    gammas: Any
    cv: Any
    scoring: str | Callable | None
    refit: bool

    def __init__(
        self,
        Cs: Any = 10,
        *,
        gammas: Any = None,
        cv: Any = None,
        scoring: str | Callable | None = None,
        refit: bool = True,
        probability: bool = False,
        guard: bool = False,
        loss: Loss = "hinge",
        kernel: Kernel = "rbf",
        degree: float = 3,
        coef0: float = 0.0,
        costs: Any = None,
        class_weight: Any = None,
        multi_class: MultiClass = "auto",
        unlabeled: Any = -1,
        solver: Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        verbose: bool = False,
    ):
        self._keep(locals())

    out_of_fold_scores_: np.ndarray
    decision_function_shape = "ovr"
    break_ties = True

    @property
    def C(self) -> float:  # type: ignore[override]
        """The chosen C, which the fit on all labels uses."""
        return self.C_

    @property
    def gamma(self) -> Any:  # type: ignore[override]
        """The chosen gamma; "scale" before the fit."""
        return "scale" if getattr(self, "gamma_", None) is None else self.gamma_

    @with_limited_threads
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, sample_cost: Any = None, groups: Any = None
    ) -> Self:
        """Choose C and gamma on held-out labels, then fit on all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel matrix between them.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row counts as, in training (it multiplies C) and in the scores, if
            the scorer takes weights. Rows of weight 0 are left out.
        sample_cost : array-like of shape (n_samples, ...), default=None
            Costs of errors on each row, instead of `costs`; see `SupervisedSVC.fit`.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a `cv` that keeps groups together.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for name in ("gamma_", "intercept_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.refit:
            self._fit_rows(X, y, sample_weight, sample_cost, groups=groups)
        else:
            problem = self._read_problem(X, y, sample_weight, sample_cost, groups=groups)
            self._tune(problem.select(problem.weight > 0))
        weight = np.asarray(1.0 if sample_weight is None else sample_weight)
        if weight.ndim == 1:  # rows of weight 0 were left out
            in_use = weight > 0
            of_used: np.ndarray = self.out_of_fold_scores_
            self.out_of_fold_scores_ = np.full((len(in_use), *of_used.shape[1:]), np.nan)
            self.out_of_fold_scores_[in_use] = of_used
        return self

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        chosen = self._tune(problem)
        return super()._fit(chosen)

    def _fit_stream(self, problem: StreamProblem) -> MethodFit:
        raise ValueError(
            "SVCCV needs the rows in memory: choose C and gamma on a sample, and fit"
            " SupervisedSVC to all rows."
        )

    def _tune(self, problem: TrainingProblem) -> TrainingProblem:
        """Score all cells and choose; return the problem with the gamma that was chosen."""
        self.classes_ = problem.labels.classes
        is_labeled = problem.labels.is_labeled
        labeled = problem.with_auto_scheme("ovo").select(is_labeled).settle_form()
        self.Cs_ = _read_Cs(self.Cs)
        self.gammas_ = self._read_gammas(labeled)
        folds = self._folds(labeled)
        self.n_splits_ = len(folds)
        judge = _Judge(self._scoring(labeled), labeled, folds)
        shape = (len(self.Cs_), len(self.gammas_), len(folds))
        self.scores_ = np.full(shape, np.nan)
        order = np.argsort(self.Cs_, kind="stable")
        best: tuple[float, int, int] | None = None  # minus the score, the numbers of C and gamma
        decisions_of_best: Sequence[np.ndarray] = ()
        with problem.progress.whole_fit("search", max_subtasks=None) as watch:
            search = Search(
                labeled, folds, self.Cs_[order], watch, labeled.limits.share_of_time(SHARE_OF_TIME)
            )
            for column in _from_the_middle(len(self.gammas_)):
                decisions = search.run(self.gammas_[column])
                for row, by_fold in zip(order.tolist(), decisions, strict=True):
                    name = f"C={self.Cs_[row]:g}, gamma={self.gammas_[column]}"
                    self.scores_[row, column] = [
                        math.nan if values is None else judge.score(number, values, name)
                        for number, values in enumerate(by_fold)
                    ]
                    cell = -float(self.scores_[row, column].mean()), row, column
                    if math.isfinite(cell[0]) and (best is None or cell < best):
                        best = cell
                        decisions_of_best = [values for values in by_fold if values is not None]
                if problem.is_verbose and best is not None:
                    print(
                        f"[search] {np.isfinite(self.scores_.mean(axis=2)).sum()} of"
                        f" {self.scores_[..., 0].size} cells, best score {-best[0]:.4g} at"
                        f" C={self.Cs_[best[1]]:.4g}, gamma={self.gammas_[best[2]]}",
                        flush=True,
                    )
                if search.ended is not None:
                    break
        self._choose(best, search.ended)
        tested = np.concatenate([fold.test for fold in folds])
        values = np.concatenate(decisions_of_best)
        self._sigmoids = None
        if self.probability:
            sigmoids = fit_sigmoids(values, labeled.labels.take(tested), labeled.weight[tested])
            self._sigmoids = sigmoids
        self.out_of_fold_scores_ = np.full((problem.n_rows, *values.shape[1:]), np.nan)
        self.out_of_fold_scores_[np.flatnonzero(is_labeled)[tested]] = values
        kernel = replace(problem.kernel, gamma=self.gamma)
        return replace(problem, kernel=kernel, progress=Progress())  # callbacks saw the search

    def _choose(self, best: tuple[float, int, int] | None, ended: Status | None) -> None:
        """Set what was chosen: minus the score, and the numbers of C and gamma."""
        n_cells = len(self.Cs_) * len(self.gammas_)
        n_done = int(np.isfinite(self.scores_.mean(axis=2)).sum())
        if best is None and ended is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if best is None:
            raise ValueError(
                f"The search ended ({ended}) before a single cell was complete: raise time_limit or"
                " max_iter, or try fewer values of Cs and gammas."
            )
        self.C_ = float(self.Cs_[best[1]])
        self.gamma_ = self.gammas_[best[2]]
        self.best_score_ = -best[0]
        self.cv_results_ = _as_cv_results(self.Cs_, self.gammas_, self.scores_)
        if ended is not None:
            warn_caller(
                ConvergenceWarning(
                    f"The search ended early ({ended}) after {n_done} of {n_cells} cells; C and"
                    " gamma are the best of those."
                )
            )

    def _read_gammas(self, labeled: TrainingProblem) -> list[Any]:
        kernel = labeled.kernel.kernel
        if kernel not in WITH_GAMMA:
            if self.gammas is not None:
                raise ValueError(f"kernel={kernel!r} has no gamma: leave gammas at None.")
            return [None]
        if self.gammas is None:
            scale = labeled.formula("scale").gamma
            return [scale * factor for factor in GAMMA_FACTORS]
        gammas = list(self.gammas)
        are_usable = [
            gamma in ("scale", "auto")
            or (
                isinstance(gamma, Real)
                and not isinstance(gamma, bool)
                and 0 < float(gamma) < math.inf
            )
            for gamma in gammas
        ]
        if not gammas or not all(are_usable):
            raise ValueError(
                "gammas must hold positive numbers, 'scale' or 'auto', and at least one; got"
                f" {self.gammas!r}."
            )
        return gammas

    def _folds(self, labeled: TrainingProblem) -> list[Fold]:
        labels = labeled.labels
        y = labels.decode(labels.codes)
        if self.cv is None or isinstance(self.cv, Integral):
            n_splits = max(2, min(N_FOLDS, labels.rarest[1])) if self.cv is None else int(self.cv)
            splitter = SemiSupervisedKFold(n_splits, unlabeled=None)
            splits = list(splitter.split(np.zeros(len(y)), labels.codes))
        elif hasattr(self.cv, "split"):
            splits = list(self.cv.split(np.zeros(len(y)), y, labeled.groups))
        else:
            splits = [(_places(labeled, train), _places(labeled, test)) for train, test in self.cv]
        if not splits:
            raise ValueError("cv gives no folds.")
        return [self._fold(labeled, k, *split) for k, split in enumerate(splits)]

    def _fold(
        self, labeled: TrainingProblem, number: int, train: np.ndarray, test: np.ndarray
    ) -> Fold:
        labels = labeled.labels
        codes = labels.codes[train]
        if len(np.unique(codes)) < labels.n_classes or len(test) == 0:
            raise ValueError(
                f"Fold {number} does not train on every class, or tests no labeled row: use fewer"
                " folds, stratify them, or label more rows."
            )
        price = labeled.costs.price(labels.codes)
        if isinstance(self.class_weight, str):  # "balanced" in the rows that train
            price = price * _balance(codes, labels.n_classes)[labels.codes]
            price = price / _balance(labels.codes, labels.n_classes)[labels.codes]
        weight = np.zeros(labeled.n_rows)
        weight[train] = (labeled.weight * price)[train]
        return Fold(test, weight)

    def _scoring(self, labeled: TrainingProblem) -> str | Callable:
        costs = labeled.costs
        if self.scoring is not None:
            return self.scoring
        if self.costs is None and costs.of_row is None and costs.matrix is None:
            return "balanced_accuracy"
        return _MinusMeanCost(labeled)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")  # with refit=False there is a choice and no model

    def _fit_sigmoids(self, *problem: Any) -> np.ndarray | None:
        """Those of the search, which has scores of rows left out."""
        return self._sigmoids


class _Judge:
    """Scores decision values of held-out rows by any scorer, rows counted by their weights."""

    def __init__(self, scoring: Any, labeled: TrainingProblem, folds: Sequence[Fold]):
        labels = labeled.labels
        has_weights = not (labeled.weight == 1).all()
        is_ranking_of_many = scoring == "roc_auc" and labels.n_classes > 2
        is_plain = isinstance(scoring, str) and not has_weights and not is_ranking_of_many
        self.of_codes = _SCORERS_OF_CODES.get(scoring) if is_plain else None
        self.scorer = get_scorer(scoring)
        self.classes = labels.classes
        self.codes = [labels.codes[fold.test] for fold in folds]
        self.rows = [fold.test for fold in folds]
        # Rows are picked for scorers that may look at them.
        tested = () if self.of_codes else folds
        self.X = [on_host(pick_rows(labeled.X, fold.test)) for fold in tested]
        self.weights: list[dict[str, np.ndarray]] = [{} for _ in folds]
        if has_weights and takes_sample_weight(self.scorer):
            self.weights = [{"sample_weight": labeled.weight[fold.test]} for fold in folds]

    def score(self, number: int, decisions: np.ndarray, cell: str) -> float:
        """The score of one cell in one fold; an error names both."""
        if self.of_codes is not None:
            score = self.of_codes(self.codes[number], decisions)
        else:
            model = _HeldOutScores(self.classes, decisions, self.rows[number])
            true = self.classes[self.codes[number]]
            try:
                score = float(self.scorer(model, self.X[number], true, **self.weights[number]))
            except Exception as error:
                raise ValueError(
                    f"The scorer failed in fold {number} at {cell}: {error} (It is given"
                    " predictions and decision values of held-out rows, and no probabilities.)"
                ) from error
        if not math.isfinite(score):
            raise ValueError(
                f"The scorer returned {score} in fold {number} at {cell}: use fewer folds, or"
                " another scorer."
            )
        return score


def _accuracy(true: np.ndarray, decisions: np.ndarray) -> float:
    return float(np.mean(true == winning_codes(decisions)))


def _balanced_accuracy(true: np.ndarray, decisions: np.ndarray) -> float:
    present = np.bincount(true)
    right = np.bincount(true[true == winning_codes(decisions)], minlength=len(present))
    return float(np.mean(right[present > 0] / present[present > 0]))


def _ranking(true: np.ndarray, decisions: np.ndarray) -> float:
    if len(np.unique(true)) < 2:
        return math.nan
    return judge_ranking(decisions, true).mean


# What scikit-learn's scorers of these names give, without their checks, which take a millisecond
# for each cell and fold.
_SCORERS_OF_CODES = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "roc_auc": _ranking,
}


class _HeldOutScores(ClassifierMixin, BaseEstimator):
    """A fitted classifier of one fold, as a scorer sees it: it knows the held-out rows alone."""

    def __init__(self, classes: np.ndarray, decisions: np.ndarray, rows: np.ndarray):
        self.classes_ = classes
        self.decisions_ = decisions
        self.rows_ = rows

    def decision_function(self, X: Any) -> np.ndarray:
        if X.shape[0] != len(self.decisions_):
            raise ValueError(
                "SVCCV supports only scorers that predict all held-out rows of a fold at once; use"
                " GridSearchCV with other scorers."
            )
        return self.decisions_

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[winning_codes(self.decision_function(X))]


@dataclass(frozen=True)
class _MinusMeanCost:
    """What held-out rows cost on average, with the sign of a score."""

    labeled: TrainingProblem

    def __call__(
        self, model: _HeldOutScores, X: Any, y: np.ndarray, sample_weight: Any = None
    ) -> float:
        costs = self.labeled.costs.select(model.rows_)
        true = self.labeled.labels.codes[model.rows_]
        predicted = winning_codes(model.decisions_)
        if costs.matrix is None:
            cost = np.where(predicted != true, costs.price(true), 0.0)
        elif costs.matrix.ndim == 2:
            cost = costs.matrix[true, predicted]
        else:
            cost = costs.matrix[np.arange(len(true)), true, predicted]
        return -float(np.average(cost, weights=sample_weight))


def _places(labeled: TrainingProblem, rows: Any) -> np.ndarray:
    """Where rows of X are among the labeled ones in use; the others are left out."""
    wanted = np.asarray(rows, dtype=np.intp)
    return wanted if labeled.numbers is None else np.flatnonzero(np.isin(labeled.numbers, wanted))


def _balance(codes: np.ndarray, n_classes: int) -> np.ndarray:
    return compute_class_weight("balanced", classes=np.arange(n_classes), y=codes)


def _read_Cs(Cs: Any) -> np.ndarray:
    if isinstance(Cs, Integral):
        return np.geomspace(C_RANGE[0], C_RANGE[1], int(Cs))
    values = np.asarray(Cs).ravel()
    is_number = values.dtype.kind in "iuf" and values.size > 0
    if not (is_number and (np.isfinite(values) & (values > 0)).all()):
        raise ValueError(f"Cs must hold positive, finite numbers, and at least one; got {Cs!r}.")
    return values.astype(np.float64)


def _from_the_middle(n: int) -> list[int]:
    """The middle first, so that a search that ends early has seen the likeliest values."""
    return sorted(range(n), key=lambda k: abs(k - (n - 1) / 2))


def _as_cv_results(Cs: np.ndarray, gammas: list[Any], scores: np.ndarray) -> dict[str, Any]:
    """The scores as `GridSearchCV` gives them: one entry per cell, gamma running fastest."""
    has_gamma = gammas != [None]
    params = [
        {"C": float(C)} | ({"gamma": gamma} if has_gamma else {}) for C in Cs for gamma in gammas
    ]
    by_cell = scores.reshape(len(params), -1)
    mean = by_cell.mean(axis=1)
    with np.errstate(over="ignore"):  # infinite for costs whose squares are
        spread = by_cell.std(axis=1)
    rank = np.where(np.isnan(mean), -np.inf, mean)
    results: dict[str, Any] = {
        "params": params,
        "param_C": np.array([cell["C"] for cell in params]),
        "mean_test_score": mean,
        "std_test_score": spread,
        "rank_test_score": 1 + (rank[None, :] > rank[:, None]).sum(axis=1),
    }
    if has_gamma:
        results["param_gamma"] = np.array([cell["gamma"] for cell in params], dtype=object)
    for k in range(scores.shape[2]):
        results[f"split{k}_test_score"] = by_cell[:, k]
    return results
