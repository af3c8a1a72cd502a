"""The classifier that looks for the kind of structure that helps: kernels of all rows, and one
average of machines.
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
CLOSE_ENOUGH = 1e-6  # how far the objective of the weights may be from its minimum


class AutoSVC(
    OperatingMixin, CallbackSupportMixin, SemiSupervisedMixin, ClassifierMixin, BaseEstimator
):
    """Classifier for few labels and many unlabeled rows, with nothing to tune.

    Unlabeled rows can help in several ways: classes may be clusters, may lie along curved surfaces,
    or may differ in the directions in which all rows vary most. For each of these there are kernels
    that are made from all rows. A least-squares SVM is trained on each kernel, and their scores are
    averaged with the weights that do best on labels left out (`weights_`).

    X may be an array, a table, or texts. The columns of a table are encoded, and forests join the
    average; texts are represented by words, characters and main topics. An array is treated as a
    table if its columns look like those of a table (`columns`). Rows of a sparse matrix are scaled
    to length 1, as is usual for text.

    Parameters
    ----------
    n_neighbors : tuple of int, default=(3, 15)
        How many nearest rows each row is linked to; one graph for each number.
    ridge : float, default=0.1
        The ridge of the SVMs, as a multiple of the mean of the kernel's diagonal. A larger ridge
        gives smoother scores.
    prior_strength : float, default=0.5
        How strongly the weights are pulled toward the ones that the rows suggest without labels.
        The pull is worth about this many labels; families of texts are pulled eight times as
        strongly, to equal weights.
    safe : bool, default=True
        Compare the rows with random ones that have no structure, leave out the kernels whose
        structure the rows do not have, and favor graphs where rows are much nearer to each other
        than random ones (`structure_`). Where nothing is found this leaves an ordinary SVM of the
        labeled rows. False: ten kernels (nine with the cosine metric), all alike before the labels
        are looked at.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        How rows are compared. "cosine" scales rows to length 1; "auto" is "cosine" for sparse
        matrices and "euclidean" for dense ones.
    columns : {"auto", "points", "table"} or dict, default="auto"
        What X is. "auto": a DataFrame is a table, and so is an array with missing values or whose
        columns look like those of one (their scales differ, or they have few values or long
        tails); other arrays and sparse matrices are taken as they are, as with "points"; one string
        per row is text. A dictionary names the columns of a table by kind, for example
        ``{"number": ["age"], "date": ["born"], "category": ["city"], "text": ["note"]}``; other
        columns are ignored. Otherwise each column is taken for what it looks like, as `semisvm fit`
        does: columns that say nothing about new rows (identifiers, constants) are left out. Cells
        may be missing.
    max_rows : int, default=3000
        Most rows that kernels are made from: the labeled ones and a random sample of the others.
        The rest are predicted like new rows. At most half of them are labeled; where there are more
        labels, a sample of those is learned from, with a warning. Memory and time grow with the
        square and the cube of it. The kernels of a table's columns are made from a third of it, or
        from twice the labeled rows where that is more, unless graphs carry most of their weight.
    members : list of (name, classifier) or (name, classifier, weight), default=None
        Classifiers with `fit` and `predict_proba` that join the average, for example gradient
        boosting, or a pre-trained model. They are fitted on the labeled rows as they were given,
        five folds of labels left out one after the other; one in
        :class:`sklearn.frozen.FrozenEstimator` is used as it is. The weight is that of the member
        before labels are looked at; each built-in family has 1, which is the default.
    min_precision, min_recall : float or dict {class: float}, default=None
        The precision and recall to keep: those of the second of two classes, or of each of several
        against the rest. The threshold is chosen on scores that have not seen the labels of their
        rows. None: see `threshold`.
    confidence : float, default=None
        Ask for a certificate: half of the labels are kept out of the fit, and prove the threshold.
        With 0.9 the target holds with probability 90 percent over their draw. None: no certificate.
    threshold : {"share", "f1", "labeled_f1", "score"}, default="share"
        Which rows are of the second of two classes, where there is no target.
        "share": as many of the unlabeled rows as are expected to be, by a sigmoid of scores that
        have not seen the labels of their rows, or the share of the labels where these scores do not
        rise with the class. "f1": more of them, for a high F1 of a rare class.
        "labeled_f1": the best F1 on the labeled rows, as `semisvm fit` has it. "score":
        those with a score above 0. With costs or class weights, with fewer than 50 unlabeled rows
        or two labels of each class, and where that gives the expected share as far as so many
        labels tell, scores above 0 count; of several classes the largest does.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        What errors cost. A dictionary multiplies C for the rows of each class; every class must be
        named. In a matrix, rows are true and columns predicted classes, in the order of `classes_`,
        with zeros on the diagonal. Only their ratios matter. A matrix between more than two classes
        is accepted only where each line holds one cost.
    class_weight : dict or "balanced", default=None
        Multiplies the loss of the rows of each class, as in scikit-learn.
    unlabeled : int, float, str or None, default=-1
        The marker of rows without a label in y. Missing values and empty strings always mark them.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where eigenvectors are found. "cuda" (or "cuda:1") needs an NVIDIA GPU and ``pip install
        'semisvm[gpu]'``; "auto" uses it where the CPU would take longer than starting it. Results
        are the same except for rounding.
    random_state : int, RandomState instance or None, default=None
        Makes the choice of rows repeatable where there are more than `max_rows`. Trees have a fixed
        seed.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    weights_ : dict of {str: float}
        The weight of each kernel in the average; 0 for those that were left out. "rbf" (or
        "cosine") and "linear" are ordinary kernels, "strong ridge" and "weak ridge" with more and
        less smoothing; "components" and "component rbf" are made from the main directions of all
        rows; "graph 3 ..." from a graph of 3 neighbors: "smooth" uses all functions on it, "first
        m" the m smoothest. Where there are several families, the name of the family comes first.
    families_ : dict of {str: float}
        The weight of each family: one for points; for a table the kernels of its standardized
        columns, those of its columns mapped to a normal distribution by ranks, trees grown without
        labels, a random forest, extra trees and logistic regression;
        for texts, and each text column, the kernels of words, those of characters, latent
        semantics and naive Bayes.
    structure_ : dict of {str: float}
        How much structure the rows have, without a look at the labels. "components": how much more
        they vary in one direction than rows with independent columns; "graph 3": how much nearer
        the 3 nearest rows are than in a random cloud of the same covariance. About 1 means none.
        Empty with ``safe=False``.
    loo_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The score of each labeled row by machines that have not seen its label, or by the trees of a
        forest that have not, in the form of `decision_function`; NaN for other rows. The weights of
        the average have seen it: with few labels their error is too low.
    out_of_fold_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The same with weights that have not seen it either. Thresholds and probabilities come from
        these scores, before a threshold is subtracted.
    threshold_ : ndarray of shape (n_problems,)
        What is subtracted from the scores: with two classes, and where there is a target.
    fair_sample_ : FairSampleCheck or None
        Whether the labels look like a random sample (`semisvm.check_fair_sample`); None without a
        target.
    operating_points_ : dict {class: OperatingPoint}
        The precision and recall to expect, with intervals, from labels left out; the positive class
        alone with two.
    operating_point_ : OperatingPoint
        That of the positive class; only with two classes.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: its own, or the one that the fit gives it.
    labeled_iter_ : ndarray of shape (n_samples,)
        0 for the labels in y, -1 for other rows.
    history_ : list of RoundRecord
        One record per trained kernel: its leave-one-out squared error (`objective`), and in the
        details its leave-one-out error, its belief before the labels were looked at, and its
        weight.
    n_iter_ : int
        Steps that the weights took.
    termination_condition_ : str
        Why the fit ended: "converged", "stopped_by_callback" (the average is that of the kernels
        trained so far), or "stalled".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names where X has names.

    See Also
    --------
    SupervisedSVC : Does not use the unlabeled rows.
    LaplacianSVC : One graph, with a penalty on scores that differ between neighbors.
    TransductiveSVC : Puts the boundary where rows are few.

    Notes
    -----
    ``sample_weight=2`` equals duplicating the row, also in kernels, leave-one-out scores,
    probabilities and (whole weights) thresholds. It is not exact in trees, encoded columns and the
    draw for a certificate, nor if there are more than `max_rows` rows, which are drawn without
    regard to their weights. Rows of weight 0 are predicted like new rows.

    Unlabeled rows do not always help. Rows without any structure are recognized and left to the
    ordinary kernels. A structure that has nothing to do with the classes is not recognized, and
    with very few labels the average can then be worse than `SupervisedSVC`. Two moons that touch
    have 8 to 11% errors with few labels (docs/measured/ssl-book.md).

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
            The rows: points, a table, or texts.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without a label (tools: :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a weight of 2 equals duplicating the row, a weight of 0 removes it.
        sample_cost : array-like of shape (n_samples, ...), default=None
            Costs of errors on each row, instead of `costs`: (n_samples,), (n_samples, n_classes) by
            true class, or (n_samples, n_classes, n_classes) by true and predicted class.
        random_sample : array-like of bool of shape (n_samples,), default=None
            Which labels are a random sample of all rows. Other labels, for example of rows that a
            model was unsure of, are used for training only. None: all labels; this is checked
            (`fair_sample_`), and if they do not look like a random sample, a `FairSampleWarning` is
            issued and no certificate is given. A mask is not checked.

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
        """Scores and signs of the labeled rows by models that had not seen their labels, for a
        campaign; None with more than two classes, and for a model that was read from a file.
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
                f"The weights of {type(self).__name__} are known to a gap of"
                f" {fitted.stacked.gap:.2g} where {CLOSE_ENOUGH:g} was expected: raise"
                " prior_strength or ridge."
            )
            warn_caller(ConvergenceWarning(message))

    @with_limited_threads
    def decision_function(self, X: Any) -> np.ndarray:
        """Return signed scores; the largest wins.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows, of the kind that was fitted. One that equals a row of the fit gets the score
            it has there.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score per row, above 0 for the second; with more, one per row and
            class.
        """
        return self._decide(self._raw_scores(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
