"""`AutoSVC`: a weighted average of classifiers, most of them made from all rows, labeled or not."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from semisvm.auto.members import (
    Centroids,
    NaiveBayes,
    classifier_block,
    column_kernels,
    forests,
    kernel_block,
    leaf_block,
    logistic_members,
)
from semisvm.auto.plan import Plan
from semisvm.auto.rows import read_rows
from semisvm.auto.stacking import Block, Target, average, make_target, weigh
from semisvm.auto.text_encoder import TextEncoder
from semisvm.auto.threshold import clipped, most_likely_slope, place_offsets, place_threshold
from semisvm.labels import ScoredOnLabels, encode
from semisvm.sklearn_private import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    safe_indexing,
)
from semisvm.tables.views import Points, Table, Texts

# Prior weights of the blocks of a table with few labels, and with LABELS_PER_CLASS per class on
# average; the prior is then STRENGTH_OF_TABLES times as strong.
PRIOR_WEIGHTS = {
    "standardized columns": (1.0, 1.0),
    "quantile columns": (1.0, 1.0),
    "trees without labels": (1.0, 1.0),
    "random forest": (1.0, 3.0),
    "extra trees": (1.0, 3.0),
    "logistic regression": (0.0, 2.0),
}
LABELS_PER_CLASS, STRENGTH_OF_TABLES, STRENGTH_OF_TEXTS = 50, 4.0, 8.0
PRIOR_STRENGTH = 0.5  # how many labels the prior weights count as
LARGEST_WEIGHT = 1e12  # of a row: beyond it, linear systems lose all digits
MOST_FUNCTIONS, MORE_FUNCTIONS = 200, 48  # of graphs: of points, and beyond 8 C of other views
LOGISTIC = LogisticRegression(C=10, max_iter=300)  # on vectors of an encoder
GIVEN = "rows as given"  # what classifiers from outside look at


class AutoSVC(ScoredOnLabels, BaseEstimator):
    """Classifier for few labels and many unlabeled rows that needs no tuning.

    Unlabeled rows can help in several ways: classes may be clusters, may lie along curved surfaces,
    or may differ in the directions in which all rows vary most. For each of these there are kernels
    that are made from all rows. A least-squares SVM is trained on each kernel, and their scores are
    averaged with the weights that minimize the leave-one-out error (`weights_`). Kernels of
    structure that the rows do not have are left out: if they have none, an ordinary SVM remains.

    X may be an array, a table or texts. The columns of a table are encoded, and forests and
    logistic regression join the average; texts are represented by words, characters and main
    topics. An array is treated as a table if its columns look like those of a table.

    Parameters
    ----------
    members : list of (name, classifier) or (name, classifier, weight), default=None
        Classifiers with `fit` and `predict_proba` to include in the average, for example a pipeline
        on a pre-trained model. They are fitted on the labeled rows of X as given, with five-fold
        cross-validation; one in a :class:`sklearn.frozen.FrozenEstimator` is not refitted. The
        weight is the prior weight, by default 1, as that of each built-in block.
    columns : {"auto", "points", "table"} or dict, default="auto"
        How to treat X. "table": as columns to encode; "points": as an array of numbers, used as it
        is. "auto": a DataFrame is a table, and so is an array with missing values or with columns
        like those of a table; one string per row is text; other arrays are points, and where few of
        their numbers are not 0, rows are scaled to length 1. A dictionary gives the kinds of
        columns, for example ``{"number": ["age"], "date": ["born"], "category": ["city"], "text":
        ["note"]}``; other columns are ignored.
    text_encoder : callable, object with `encode` or `transform`, or "wordllama", default=None
        Texts by meaning: gives a list of strings as vectors, such as a
        ``sentence_transformers.SentenceTransformer``; it is not changed, and nothing is downloaded.
        "wordllama" is the encoder of that package, if it is installed.
    max_rows : int, default=3000
        Maximum number of rows that kernels are made from: the labeled rows, at most half, and a
        random sample of the others. Time grows with the cube of this number.
    class_weight : dict or "balanced", default=None
        What an error costs on rows of each class. The threshold is then 0.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample of rows if there are more than `max_rows`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    weights_ : dict of {str: float}
        The weight of each member. "rbf", "linear" and "cosine" are ordinary kernels; "components"
        are made from the principal directions of all rows, "graph 3 ..." from the graph of 3
        neighbors. If there are several blocks, names begin with the block.
    families_ : dict of {str: float}
        The weight of each block of members.
    columns_ : Columns or None
        What the columns of a table are, how their cells are read, and which are left out and why.
    out_of_fold_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Scores of the labeled rows from which all labels of the row's fold were kept, in the form of
        `decision_function`, but without the threshold; NaN for other rows.
    threshold_ : ndarray of shape (1,) or (n_classes,)
        What is subtracted from the scores: with two classes so that about as many unlabeled rows
        are of the second class as expected; with more, one offset per class for the same reason.
    transduction_ : ndarray of shape (n_samples,)
        The label of each training row: its own, or the predicted one.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    SupervisedSVC : Ignores the unlabeled rows.
    UnlabeledKernel : The kernels alone, for any other SVM.

    Notes
    -----
    Unlabeled rows do not always help. Structure that is unrelated to the classes is not recognized,
    and with very few labels the average can then be worse than `SupervisedSVC`.

    References
    ----------
    .. [1] O. Chapelle, B. Schoelkopf and A. Zien (eds.), "Semi-Supervised Learning", MIT Press,
       2006. :doi:`10.7551/mitpress/9780262033589.001.0001`
    .. [2] G. C. Cawley and N. L. C. Talbot, "Fast exact leave-one-out cross-validation of sparse
       least-squares support vector machines", Neural Networks 17, 2004.
       :doi:`10.1016/j.neunet.2004.07.002`

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
        "members": [list, tuple, None],
        "columns": [StrOptions({"auto", "points", "table"}), dict],
        "text_encoder": "no_validation",
        "max_rows": [Interval(Integral, 10, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "unlabeled": "no_validation",
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        members: list[tuple] | None = None,
        *,
        columns: Any = "auto",
        text_encoder: Any = None,
        max_rows: int = 3000,
        class_weight: Any = None,
        unlabeled: Any = -1,
        random_state: Any = None,
    ):
        self.members = members
        self.columns = columns
        self.text_encoder = text_encoder
        self.max_rows = max_rows
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AutoSVC:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows: an array, a table, or texts.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one.
        sample_weight : array-like of shape (n_samples,), default=None
            How much an error on each labeled row counts. Rows of weight 0 are not learned from.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if y is not None:
            X = read_rows(self, X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        self.classes_ = labels.classes
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if weight.max() > LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight must be at most {LARGEST_WEIGHT:g}, got {weight.max():.3g}: divide"
                " all weights by a constant."
            )
        in_use = weight > 0
        _check_classes(labels.codes[in_use], labels.classes)
        rows = choose_rows(labels.codes, in_use, self.max_rows, self.random_state)
        target = make_target(labels.codes[rows], labels.classes, weight[rows], self.class_weight)
        some = safe_indexing(X, rows)
        self._maker = self._make_views()
        views = self._maker.fit_views(some)
        if self.members:
            views[GIVEN] = some
        blocks = self._train(views, target)
        prior_strength = PRIOR_STRENGTH * _strength_of_blocks(
            [block.name for block in blocks], target
        )
        learned = average(blocks, target, PRIOR_STRENGTH, prior_strength)
        self.weights_, self.families_ = learned.of_members(), learned.of_blocks()
        self.columns_ = getattr(self._maker, "columns", None)
        self._plan = Plan(learned, self._maker, GIVEN)
        scores = np.empty((len(labels.codes), learned.out_of_fold.shape[1]))
        scores[rows] = self._plan.scores_of_views(views)
        others = np.setdiff1d(np.arange(len(scores)), rows)
        if len(others):
            scores[others] = self._plan.scores(safe_indexing(X, others))
        self._decide(learned.out_of_fold, target, scores[in_use & ~labels.is_labeled])
        left_out = np.full(scores.shape, np.nan)
        left_out[rows[target.position]] = learned.out_of_fold
        self.out_of_fold_scores_ = left_out[:, 0] if scores.shape[-1] == 1 else left_out
        won = _winner(scores - self.threshold_)
        self.transduction_ = self.classes_[np.where(labels.is_labeled, labels.codes, won)]
        return self

    def _make_views(self) -> Any:
        self._encoder = None if self.text_encoder is None else TextEncoder(self.text_encoder)
        if self._kind == "table":
            kinds = _kinds_of(self.columns) if isinstance(self.columns, dict) else None
            return Table(kinds, self._encoder)
        return Texts("", self._encoder) if self._kind == "texts" else Points()

    def _train(self, views: dict[str, Any], target: Target) -> list[Block]:
        """The blocks of the average for these views."""
        C, position = target.n_classes, target.position
        n_functions = 8 * C + MORE_FUNCTIONS
        blocks = []
        for view, rows in views.items():
            if view in ("standardized", "quantile"):
                blocks.append(
                    column_kernels(
                        view, rows, target, self.max_rows // 3, n_functions, _within(target)
                    )
                )
            elif view != GIVEN:
                most = MOST_FUNCTIONS if view == "rows" else n_functions
                blocks.append(kernel_block(view, view, rows, position, target, most))
        if "standardized" in views:
            blocks.append(leaf_block("quantile", views["quantile"], target))
            for name, forest in forests(views["standardized"].shape[1]).items():
                blocks.append(
                    classifier_block(name, {name: ("standardized", forest)}, views, target)
                )
            logistic = logistic_members(("standardized", "quantile"))
            blocks.append(classifier_block("logistic regression", logistic, views, target))
        for view in views:
            if view.startswith("words"):
                name = view.replace("words", "naive Bayes", 1)
                blocks.append(classifier_block(name, {"": (view, NaiveBayes())}, views, target))
            elif view.startswith("meaning"):
                for name, one in {"logistic": LOGISTIC, "centroids": Centroids()}.items():
                    blocks.append(
                        classifier_block(f"{view}: {name}", {"": (view, one)}, views, target)
                    )
        blocks = _with_priors_of_tables(blocks, _share_of_many(target))
        for name, classifier, *prior_weight in _checked_members(self.members):
            member = {name: (GIVEN, classifier)}
            blocks.append(classifier_block(name, member, views, target, *prior_weight))
        return blocks

    def _decide(self, out_of_fold: np.ndarray, target: Target, pool: np.ndarray) -> None:
        """Settle probabilities and thresholds."""
        both = _both(clipped(out_of_fold))
        self._slope = most_likely_slope(both, target.codes, target.count, (0.0, None))
        self.threshold_ = np.zeros(out_of_fold.shape[1])
        if self.class_weight is not None:
            return
        if out_of_fold.shape[1] == 1:
            is_positive = target.Y[:, 0] > 0
            self.threshold_[0] = place_threshold(out_of_fold[:, 0], is_positive, pool[:, 0])
        else:
            self.threshold_ = -place_offsets(pool, self._slope)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if self._encoder is not None and self._encoder.given is None:
            self._encoder.bind(self.text_encoder)
        return self._plan.scores(read_rows(self, X, reset=False))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return signed scores; the largest wins.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows, in the same form as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes one score per row, positive for the second class; else one per row and
            class.
        """
        scores = self._scores(X) - self.threshold_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows, in the same form as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        scores = self._scores(X)
        return self.classes_[_winner(scores - self.threshold_)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, calibrated on out-of-fold scores.

        `predict` subtracts `threshold_` from the scores, which no probability knows: it does not
        always return the most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or array-like of str
            The rows, in the same form as in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        scores = self._scores(X)
        return softmax(self._slope * _both(scores), axis=1)

    def __sklearn_clone__(self) -> AutoSVC:
        """A copy with the same encoder, which may be large."""
        plain = copy(self)
        plain.text_encoder = None
        cloned = BaseEstimator.__sklearn_clone__(plain)
        cloned.text_encoder = self.text_encoder
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        """A fitted model is saved without its encoder; see `TextEncoder`."""
        state = super().__getstate__()
        if "_encoder" in state and not isinstance(self.text_encoder, str):
            state = state | {"text_encoder": None}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _kinds_of(columns: dict[str, Any]) -> dict[str, str]:
    """What the user says that columns are, by their names."""
    kinds: dict[str, str] = {}
    for kind, names in columns.items():
        if isinstance(names, str):
            raise ValueError(f"columns[{kind!r}] must be a list of names: write [{names!r}].")
        kinds |= dict.fromkeys(map(str, names), kind)
    return kinds


def _checked_members(members: Any) -> list[tuple]:
    """Classifiers from outside, each with a name of its own."""
    names = []
    for member in members or ():
        is_whole = isinstance(member, list | tuple) and len(member) in (2, 3)
        if not is_whole or not isinstance(member[0], str) or member[0] in names:
            raise ValueError(
                "members must be a list of (name, classifier) or (name, classifier, weight), each"
                f" name once; got {member!r}."
            )
        if not (hasattr(member[1], "fit") and hasattr(member[1], "predict_proba")):
            raise ValueError(f"member {member[0]!r} needs the methods fit and predict_proba.")
        if len(member) == 3 and not member[2] > 0:
            raise ValueError(f"the weight of member {member[0]!r} must be above 0.")
        names.append(member[0])
    return list(members or ())


def _check_classes(codes: np.ndarray, classes: np.ndarray) -> None:
    unseen = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(classes)) == 0)
    if len(unseen):
        name = classes.tolist()[unseen[0]]
        raise ValueError(f"class {name!r} has no label with a weight above 0 (sample_weight).")


def _share_of_many(target: Target) -> float:
    """How far the number of labels is on its way to many."""
    return min(1.0, len(target.codes) / (LABELS_PER_CLASS * target.n_classes))


def _with_priors_of_tables(blocks: list[Block], share: float) -> list[Block]:
    """Blocks with the prior weights that suit the number of labels, their mean 1."""
    own = {
        name: max(few + share * (many - few), 1e-6) for name, (few, many) in PRIOR_WEIGHTS.items()
    }
    mean = np.mean([own[block.name] for block in blocks if block.name in own] or [1])
    return [
        replace(block, prior_weight=own[block.name] / float(mean)) if block.name in own else block
        for block in blocks
    ]


def _strength_of_blocks(names: list[str], target: Target) -> float:
    """How much stronger the prior weights of blocks are than those of members."""
    if "standardized columns" in names:
        return 1 + _share_of_many(target) * (STRENGTH_OF_TABLES - 1)
    is_of_texts = any(name.startswith(("words", "meaning")) for name in names)
    return STRENGTH_OF_TEXTS if is_of_texts else 1.0


def _within(target: Target) -> Any:
    """What weighs the members of one block."""
    every = np.ones(len(target.codes), dtype=bool)
    return lambda block: weigh(block.left_out, block.prior, target, every, PRIOR_STRENGTH)


def choose_rows(codes: np.ndarray, in_use: np.ndarray, most: int, random_state: Any) -> np.ndarray:
    """The rows that kernels are made from, ascending: labeled ones, at most half, and a sample of
    the others.
    """
    rows = check_random_state(random_state).permutation(np.flatnonzero(in_use))
    if len(rows) <= most:
        return np.sort(rows)
    labeled, others = rows[codes[rows] >= 0], rows[codes[rows] < 0]
    # One row of each class, whatever is drawn.
    first = np.unique(codes[labeled], return_index=True)[1]
    labeled = np.append(labeled[first], np.delete(labeled, first))
    labeled = labeled[: max(most // 2, most - len(others), len(first))]
    return np.sort(np.append(labeled, others[: most - len(labeled)]))


def _both(scores: np.ndarray) -> np.ndarray:
    """One column per class: with two classes the score is how much the second has more than the
    first.
    """
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


def _winner(scores: np.ndarray) -> np.ndarray:
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
