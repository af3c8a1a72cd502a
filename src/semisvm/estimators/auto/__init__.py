"""`AutoSVC`: a weighted average of classifiers on kernels that are made from all rows, labeled or
not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from semisvm.device import on_host
from semisvm.estimators.auto.families import FamiliesFit, choose_rows, crossed_scores, fit_families
from semisvm.estimators.auto.kernel import UnlabeledKernel
from semisvm.estimators.auto.operating import OperatingMixin
from semisvm.estimators.auto.outside import read_members, train_outside
from semisvm.estimators.auto.preparation import read_rows
from semisvm.estimators.auto.stacking import FamilySettings
from semisvm.estimators.binary import combine
from semisvm.estimators.classifier import (
    SemiSupervisedMixin,
    check_every_class_is_used,
    read_random_sample,
    row_weights,
)
from semisvm.estimators.least_squares import labeled_target
from semisvm.estimators.problem import read_costs
from semisvm.estimators.progress import Progress, warn_caller
from semisvm.estimators.targets import TARGET_CONSTRAINTS, warn_unless_reached
from semisvm.kernels.threads import with_limited_threads
from semisvm.labels import Labels, encode
from semisvm.model_selection.scoring import winning_codes
from semisvm.sklearn_private import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
    safe_indexing,
    with_callbacks,
)

__all__ = ["AutoSVC", "UnlabeledKernel"]
CLOSE_ENOUGH = 1e-6  # largest gap to the optimum at which the weights count as found


class AutoSVC(
    OperatingMixin, CallbackSupportMixin, SemiSupervisedMixin, ClassifierMixin, BaseEstimator
):
    """Classifier for few labels and many unlabeled rows that needs no tuning.

    Unlabeled rows can help in several ways: classes may be clusters, may lie along curved surfaces,
    or may differ in the directions in which all rows vary most. For each of these there are kernels
    that are made from all rows. A least-squares SVM is trained on each kernel, and their scores are
    averaged with the weights that minimize the leave-one-out error (`weights_`).

    X may be an array, a table, or texts. The columns of a table are encoded, and forests join the
    average; texts are represented by words, characters and main topics. An array is treated as a
    table if its columns look like those of a table (`columns`). Rows of a sparse matrix are scaled
    to length 1, as is usual for text.

    Parameters
    ----------
    n_neighbors : tuple of int, default=(3, 15)
        Numbers of nearest neighbors that each row is linked to; one graph for each number.
    ridge : float, default=0.1
        The ridge of the SVMs, as a multiple of the mean of the kernel's diagonal. A larger ridge
        gives smoother scores.
    prior_strength : float, default=0.5
        Strength of the prior weights, which depend on the structure of the rows and not on the
        labels: they count as much as about so many labels. For families of texts they are equal and
        eight times as strong.
    safe : bool, default=True
        Whether to compare the rows with random rows that have no structure, leave out kernels for
        structure that is not found, and give more prior weight to graphs if the rows are much
        closer to each other than random rows (`structure_`). If no structure is found, an ordinary
        SVM of the labeled rows remains. False: all ten kernels (nine with the cosine metric), with
        equal prior weights.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        Metric between rows. "cosine" scales rows to length 1; "auto" is "cosine" for sparse
        matrices and "euclidean" for dense arrays.
    columns : {"auto", "points", "table"} or dict, default="auto"
        How to treat X. "table": as columns to encode; "points": as an array of numbers, used as it
        is. "auto": a DataFrame is a table, and so is an array with missing values or with columns
        like those of a table (of different scales, with few values or with long tails); other
        arrays and sparse matrices are used as they are; one string per row is text. A dictionary
        gives the kinds of a table's columns, for example ``{"number": ["age"], "date": ["born"],
        "category": ["city"], "text": ["note"]}``; other columns are ignored. Otherwise the kind of
        each column is inferred as in `semisvm fit`: columns that say nothing about new rows
        (identifiers, constants) are left out. Cells may be missing.
    max_rows : int, default=3000
        Maximum number of rows that kernels are made from: the labeled rows and a random sample of
        the others. The rest are predicted like new rows. At most half of the rows used are labeled;
        if there are more labels, a sample of them is used, with a warning. Memory grows with the
        square and time with the cube of this number. Kernels of table columns use a third of it, or
        twice the number of labeled rows if that is more, unless graphs have most of their weight.
    members : list of (name, classifier) or (name, classifier, weight), default=None
        Classifiers with `fit` and `predict_proba` to include in the average, for example gradient
        boosting or a pre-trained model. They are fitted on the labeled rows of X as given, with
        five-fold cross-validation; one in a :class:`sklearn.frozen.FrozenEstimator` is not
        refitted. The weight is the prior weight of the member, by default 1, as for each built-in
        family.
    min_precision, min_recall : float or dict {class: float}, default=None
        Minimum precision and recall: of the second class if there are two, else of each class
        against the rest. The threshold is chosen on out-of-fold scores. None: see `threshold`.
    confidence : float, default=None
        Certify each target on half of the labels, which are held out from the fit: with 0.9 it
        holds with probability 90% over the random draw of these labels. With an integer
        `random_state`, shuffle rows that are sorted by class: the drawn positions are then fixed.
        None: no certificate.
    threshold : {"share", "f1", "labeled_f1", "score"}, default="share"
        How to choose the threshold for the second of two classes if there is no target. "share":
        accept as many unlabeled rows as are expected to be of the class, by a sigmoid of
        out-of-fold scores, or the share among the labels if these scores do not rise with the
        class. "f1": accept a share between that one and the share with the best expected F1, for a
        rare class. "labeled_f1": the best F1 on the labeled rows, as in `semisvm fit`. "score":
        accept scores above 0. Costs and class weights set the threshold to 0. So do "share" and
        "f1" with fewer than 50 unlabeled rows or two labels of a class, and "share" if 0 gives the
        expected share within the accuracy that the labels allow. With more than two classes the
        largest score wins.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors. A dictionary has one cost for every class, which multiplies the loss of its
        rows. A matrix has one row per true class and one column per predicted class, in the order
        of `classes_`, with zeros on the diagonal. Only the ratios matter. With more than two
        classes, the costs of a true class must all be equal.
    class_weight : dict or "balanced", default=None
        Multiplies the loss of the rows of each class, as in scikit-learn.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute eigenvectors. "cuda" (or "cuda:1") needs an NVIDIA GPU and ``pip install
        'semisvm[gpu]'``; "auto" uses it for large problems. Results are the same except for
        rounding.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample of rows if there are more than `max_rows`. Pass an int for reproducible
        results. Trees have a fixed seed.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    weights_ : dict of {str: float}
        The weight of each kernel in the average; 0 if it was left out. "rbf" (or "cosine") and
        "linear" are ordinary kernels, with "strong ridge" and "weak ridge" for more and less
        smoothing; "components" and "component rbf" are made from the principal directions of all
        rows; "graph 3 ..." from the graph of 3 neighbors: "smooth" from all of its eigenfunctions,
        "first m" from the m smoothest. If there are several families, names begin with the family.
    families_ : dict of {str: float}
        The weight of each family. An array has one family. A table has kernels of its standardized
        columns, kernels of its columns mapped to a normal distribution by ranks, trees grown
        without labels, a random forest, extra trees and logistic regression. Texts, and each text
        column, have kernels of words, kernels of characters, latent semantics and naive Bayes.
    structure_ : dict of {str: float}
        How much structure the rows have, measured without the labels. "components": how much more
        they vary in one direction than rows with independent columns; "graph 3": how much closer
        the 3 nearest neighbors are than among random rows of the same covariance. About 1 means no
        structure. Empty with ``safe=False``.
    loo_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Leave-one-out scores of the labeled rows (out-of-bag or out-of-fold for some members), in
        the form of `decision_function`; NaN for other rows. The weights of the average were chosen
        on them, so that their error is too low if labels are few.
    out_of_fold_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The same scores with weights that were chosen without the row's label. Thresholds and
        probabilities are derived from these scores, from which no threshold is subtracted.
    threshold_ : ndarray of shape (n_problems,)
        The threshold that is subtracted from the scores, with two classes or a target; else 0.
    fair_sample_ : FairSampleCheck or None
        Whether the labels look like a random sample (`semisvm.check_fair_sample`); None without a
        target.
    operating_points_ : dict {class: OperatingPoint}
        The expected precision and recall, with intervals; with two classes, of the positive class
        only. With more classes and a target, they are about the rows above each threshold, although
        `predict` gives each row only one class.
    operating_point_ : OperatingPoint
        The operating point of the positive class; only with two classes.
    transduction_ : ndarray of shape (n_samples,)
        The label of each training row: its own, or the predicted one.
    labeled_iter_ : ndarray of shape (n_samples,)
        0 for the labels in y, -1 for other rows.
    history_ : list of RoundRecord
        One record per trained kernel: its leave-one-out squared error (`objective`), and in the
        details its leave-one-out error, its prior weight ("belief") and its weight.
    n_iter_ : int
        Number of steps in the optimization of the weights.
    termination_condition_ : str
        Why the fit ended: "converged", "stopped_by_callback" (the average has the kernels trained
        so far), or "stalled".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    SupervisedSVC : Ignores the unlabeled rows.
    LaplacianSVC : One graph, with a penalty on scores that differ between neighbors.
    TransductiveSVC : Puts the boundary where there are few rows.

    Notes
    -----
    ``sample_weight=2`` equals duplicating the row, also in kernels, leave-one-out scores,
    probabilities and (whole weights) thresholds. It is not exact for trees, encoded columns and the
    labels held out for a certificate, nor if there are more than `max_rows` rows, which are sampled
    regardless of their weights. Rows of weight 0 are predicted like new rows.

    Unlabeled rows do not always help. If the rows have no structure, only ordinary kernels are
    used. Structure that is unrelated to the classes is not recognized, and with very few labels the
    average can then be worse than `SupervisedSVC`. Two moons that touch have 8 to 11% errors with
    few labels (docs/measured/ssl-book.md).

    References
    ----------
    .. [1] O. Chapelle, B. Schoelkopf and A. Zien (eds.), "Semi-Supervised Learning", MIT Press,
       2006.
       :doi:`10.7551/mitpress/9780262033589.001.0001`
    .. [2] G. C. Cawley and N. L. C. Talbot, "Fast exact leave-one-out cross-validation of sparse
       least-squares support
       vector machines", Neural Networks 17, 2004. :doi:`10.1016/j.neunet.2004.07.002`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import AutoSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> hidden = y.copy()
    >>> hidden[6:] = -1  # six labels are left
    >>> model = AutoSVC().fit(X, hidden)
    >>> model.score(X, y)
    1.0
    >>> max(model.weights_, key=model.weights_.get)
    'graph 15 smooth'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **UnlabeledKernel._parameter_constraints,
        "columns": [StrOptions({"auto", "points", "table"}), dict],
        "max_rows": [Interval(Integral, 10, None, closed="left")],
        "members": [list, tuple, None],
        **TARGET_CONSTRAINTS,
        "threshold": [StrOptions({"share", "f1", "labeled_f1", "score"})],
        "costs": [dict, "array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_neighbors: tuple[int, ...] = (3, 15),
        *,
        ridge: float = 0.1,
        prior_strength: float = 0.5,
        safe: bool = True,
        metric: Literal["auto", "euclidean", "cosine"] = "auto",
        columns: Any = "auto",
        max_rows: int = 3000,
        members: list[tuple] | None = None,
        min_precision: float | dict | None = None,
        min_recall: float | dict | None = None,
        confidence: float | None = None,
        threshold: Literal["share", "f1", "labeled_f1", "score"] = "share",
        costs: Any = None,
        class_weight: Any = None,
        unlabeled: Any = -1,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.prior_strength = prior_strength
        self.safe = safe
        self.metric = metric
        self.columns = columns
        self.max_rows = max_rows
        self.members = members
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.confidence = confidence
        self.threshold = threshold
        self.costs = costs
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @with_limited_threads
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_cost: Any = None,
        random_sample: Any = None,
    ) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows: an array, a table, or texts.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a weight of 2 equals duplicating the row, a weight of 0 removes it.
        sample_cost : array-like of shape (n_samples, ...), default=None
            Costs of errors on each row, instead of `costs`: (n_samples,), (n_samples, n_classes) by
            true class, or (n_samples, n_classes, n_classes) by true and predicted class.
        random_sample : array-like of bool of shape (n_samples,), default=None
            Mask of the labels that are a random sample of all rows. Other labels, for example of
            rows that a model was uncertain about, are used for training only. None: all labels, and
            this is checked (`fair_sample_`): if they do not look like a random sample, a
            `FairSampleWarning` is issued and no certificate is given. A mask is not checked.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = given = on_host(X)
        y = on_host(y)
        if y is not None:
            X = read_rows(self, X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        outside = read_members(self.members, labels.classes)
        settings = FamilySettings.of(self, labels.n_classes)
        weight = row_weights(sample_weight, X)
        in_use = weight > 0
        plan = self._plan_targets(labels, in_use, read_random_sample(random_sample, X.shape[0]))
        in_use &= ~plan.certifies
        check_every_class_is_used(labels, in_use)
        costs = read_costs(self.costs, sample_cost, self.class_weight, labels, in_use).by_class(
            type(self).__name__
        )

        rows = choose_rows(labels, in_use, self.max_rows, self.random_state)
        with Progress(self).whole_fit(type(self).__name__) as watch:
            settings = replace(
                settings, tell=watch.round_done, device=self.device, max_rows=self.max_rows
            )
            target = labeled_target(X, labels, costs, weight, rows)
            fitted = fit_families(
                X[rows],
                weight[rows],
                target,
                settings,
                {member.name: partial(train_outside, member, labels.classes) for member in outside},
                safe_indexing(self._for_outside(given), rows) if outside else None,
            )
        self.classes_ = labels.classes
        self._learn(fitted, labels, rows)
        crossed = crossed_scores(fitted.fits, target, settings)
        self.out_of_fold_scores_ = np.full_like(self.loo_scores_, np.nan)
        self.out_of_fold_scores_[rows[target.position]] = combine(crossed, labels.n_classes, "ovr")
        beyond = np.setdiff1d(np.flatnonzero(~labels.is_labeled), rows)
        others = None
        if len(beyond):
            others = self._average_scores(X[beyond], safe_indexing(given, beyond))
        self._check_labels(
            fitted, X[rows], Labels(labels.classes, labels.codes[rows]), crossed, plan
        )
        is_open = ~labels.is_labeled[rows]
        pool = fitted.scores[is_open]
        pool_weight = weight[rows[is_open]]
        if others is not None:
            pool = np.concatenate([pool, others])
            pool_weight = np.concatenate([pool_weight, weight[beyond]])
        self._settle(
            crossed, target, plan.measures[rows[target.position]], plan, (pool, pool_weight)
        )
        self._certify(plan, labels, (X, given), (crossed, target.Y), others)
        decided = self._decide(fitted.scores)[is_open]
        self._unlabeled_scores = np.full((len(labels.codes), *decided.shape[1:]), np.nan)
        self._unlabeled_scores[rows[is_open]] = decided
        if others is not None:
            self._unlabeled_scores[beyond] = self._decide(others)
        codes = np.where(labels.is_labeled, labels.codes, winning_codes(self._unlabeled_scores))
        self.transduction_ = labels.decode(codes)
        if self._has_target:
            warn_unless_reached(self.operating_points_)
        return self

    def _out_of_fold_calibration(self, pos_label: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Out-of-fold scores and signs of the labeled rows, for a campaign; None with more than two
        classes, and for a model that was read from a file.
        """
        scores = getattr(self, "out_of_fold_scores_", None)
        if scores is None or scores.ndim > 1 or not hasattr(self, "transduction_"):
            return None
        is_labeled = ~np.isnan(scores)
        sign = np.where(self.transduction_[is_labeled] == pos_label, 1, -1)
        if not np.isfinite(self.threshold_).all() or len(np.unique(sign)) < 2:
            return None
        ahead = scores[is_labeled] - self.threshold_[0]
        return (ahead if pos_label == self.classes_[1] else -ahead), sign

    def _learn(self, fitted: FamiliesFit, labels: Labels, rows: np.ndarray) -> None:
        self._average = fitted.average
        self.weights_ = fitted.weights
        self.families_ = fitted.average.weights
        self.structure_ = fitted.structure
        left_out = fitted.left_out[:, 0] if fitted.left_out.shape[1] == 1 else fitted.left_out
        self.loo_scores_ = np.full((len(labels.codes), *left_out.shape[1:]), np.nan)
        self.loo_scores_[rows[labels.is_labeled[rows]]] = left_out
        self.labeled_iter_ = np.where(labels.is_labeled, 0, -1)
        self.history_ = fitted.history
        self.n_iter_ = fitted.stacked.n_iter
        is_open = fitted.stacked.gap > CLOSE_ENOUGH and not fitted.was_stopped
        ended = "stalled" if is_open else "converged"
        self.termination_condition_ = "stopped_by_callback" if fitted.was_stopped else ended
        if is_open:
            message = (
                f"The weights of {type(self).__name__} did not converge: their gap is"
                f" {fitted.stacked.gap:.2g}, above {CLOSE_ENOUGH:g}. Raise prior_strength or ridge."
            )
            warn_caller(ConvergenceWarning(message))

    @with_limited_threads
    def decision_function(self, X: Any) -> np.ndarray:
        """Return signed scores; the largest wins.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows, in the same form as in `fit`. A row that equals a training row gets its score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score per row, positive for the second class; else one per row and
            class.
        """
        return self._decide(self._raw_scores(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
