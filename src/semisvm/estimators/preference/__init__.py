"""PSVM: the preference SVM, which keeps a minimum precision or recall and says how certain that is.

A threshold on the scores of a support vector machine trades precision for recall. It is chosen on labeled rows that the
machine was not trained on. In the paper these are half of the labels, and unlabeled rows join the training rows with
soft labels while the threshold is found (`_paper`). Here, by default, every label trains and every label calibrates,
and unlabeled rows join where the labels say that this helps (`_cross`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks

from semisvm.estimators.auto.kernel import settle_kernel
from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, fit_pairs, spread
from semisvm.estimators.equal_rows import EqualRows, arrange_repeated, find_repeats
from semisvm.estimators.preference._cross import CrossFitted
from semisvm.estimators.preference._decision import (
    PREFERENCE_CONSTRAINTS,
    PreferenceMixin,
    begin_check,
)
from semisvm.estimators.preference._learner import ALL_LABELS, SvmLearner
from semisvm.estimators.preference._plan import Plan
from semisvm.estimators.preference.classifier import PreferenceClassifier
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.rounds import Rounds
from semisvm.estimators.streams import Gathered, fit_gathered
from semisvm.kernels import Formula, scores_of_new_rows
from semisvm.labels import UNLABELED_CODE
from semisvm.primal import Solver
from semisvm.primal.dask_rows import is_streamed
from semisvm.shared_docs import with_shared_docs
from semisvm.sklearn_private import Interval, StrOptions, fit_context

__all__ = ["PreferenceClassifier", "PreferenceSVC"]
NOT_HERE = ("class_weight", "multi_class")  # a threshold undoes class weights; targets are one-vs-rest


@with_shared_docs
class PreferenceSVC(PreferenceMixin, BaseSVC):
    """Support vector classifier that keeps a minimum precision or recall (PSVM), with unlabeled rows where they help.

    Fitting gives scores and a threshold on them; `predict` accepts what is above the threshold. `operating_point_` says
    what to expect of it, with intervals, and `audit_` what the threshold and the unlabeled rows each contribute.

    Parameters
    ----------
    C : float, default=1.0
        The price of a labeled row on the wrong side of its margin.
    C_unlabeled : float, default=None
        The price of rows with soft labels. None: C, as in the paper. Costs multiply it too, by the label that a row is
        given.
    %(preference_targets)s
    %(loss)s
    %(kernel_parameters)s
    %(costs)s
        They shape the machine; the threshold on its scores is chosen for the target, whatever errors cost.
    %(unlabeled)s
    %(solver)s
    %(solver_parameters)s
    %(random_state)s
    %(verbose)s

    Attributes
    ----------
    %(classes)s
    %(machine)s
    %(operating_points)s
    %(transduction)s
    %(course)s

    See Also
    --------
    PreferenceClassifier : The same around any classifier.
    SupervisedSVC : The support vector machine without a threshold; takes costs of errors.
    sklearn.model_selection.TunedThresholdClassifierCV : Tunes the threshold of any classifier for one metric, without
        unlabeled rows, minimum values or certificates.

    Notes
    -----
    More than two classes are always one-vs-rest, because a target is that of one class against the rest.
    ``gamma="scale"`` looks at the rows that train. ``kernel="unlabeled"`` is the kernel of `UnlabeledKernel`, made from
    the rows that train: its weights have seen all labels but those of a certificate. ``"auto"`` takes it or the RBF
    kernel, whichever has the smaller closed-form leave-one-out error (more than 5,000 rows: RBF). The records in
    `history_` have, for each round, precision, recall and F1 on the calibration rows at the threshold 0 and at the
    adjusted threshold (``adjusted_...``), the threshold, and the numbers of soft labels of each sign. With
    ``calibration="cross"`` a round is a candidate, with its gain over the supervised machine and whether it was chosen.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for semi-supervised SVM
       training", CIKM 2014. :doi:`10.1145/2661829.2661977`
    .. [2] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
       methods", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import PreferenceSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # all but two hundred labels are hidden
    >>> model = PreferenceSVC(min_precision=0.95, probability=True, random_state=0).fit(scale(X), y)
    >>> model.operating_point_.level, model.operating_point_.reached
    ('cross-fitted', True)
    >>> model.predict_proba(scale(X)[203:206]).round(1)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: rule for name, rule in BaseSVC._parameter_constraints.items() if name not in NOT_HERE},
        **PREFERENCE_CONSTRAINTS,
        **FORM_CONSTRAINTS,
        "C_unlabeled": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [StrOptions({"linear", "rbf", "poly", "sigmoid", "precomputed", "unlabeled", "auto"}), callable],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: float | None = None,
        min_precision: float | dict | None = None,
        min_recall: float | dict | None = None,
        confidence: float | None = None,
        calibration: Literal["cross", "part", "full"] = "cross",
        calibration_size: float = 0.5,
        pool: Literal["grow", "rebuild"] = "grow",
        adjust: Literal["best", "paper"] | None = "best",
        max_rounds: int = 20,
        probability: bool = False,
        loss: Loss = "hinge",
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        costs: Any = None,
        unlabeled: Any = -1,
        solver: Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ):
        super().__init__(
            C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            costs=costs,
            class_weight=None,
            multi_class="ovr",
            unlabeled=unlabeled,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            cache_size=cache_size,
            device=device,
            verbose=verbose,
        )
        self.loss = loss
        self.solver = solver
        self.C_unlabeled = C_unlabeled
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.confidence = confidence
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.pool = pool
        self.adjust = adjust
        self.max_rounds = max_rounds
        self.probability = probability
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    @with_shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None, random_sample: Any = None) -> Self:  # type: ignore[override]
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        %(rows_and_labels)s
        %(sample_weight_of_scores)s
        %(random_sample)s

        Returns
        -------
        %(fitted_self)s
        """
        if is_streamed(X):
            return fit_gathered(self, X, y, sample_weight, random_sample)
        return self._fit_rows(X, y, sample_weight, None, random_sample=random_sample)

    def _fit_gathered(self, rows: Gathered) -> None:
        self._fit_rows(
            rows.X,
            rows.labels.codes,
            rows.weight,
            None,
            read_labels=lambda *_, **__: rows.labels,
            random_sample=rows.random_sample,
        )

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    @with_shared_docs
    def fit_with_store(  # type: ignore[override]
        self, X: Any, y: Any, *, store: Any, sample_weight: Any = None, random_sample: Any = None
    ) -> Self:
        """Do what `fit` does, and keep every finished solve in a store, from which a fit that was cut off goes on.

        Parameters
        ----------
        %(rows_and_labels)s
        %(store)s
        %(sample_weight_of_scores)s
        %(random_sample)s

        Returns
        -------
        %(fitted_self)s
        """
        return self._fit_rows(X, y, sample_weight, None, store, random_sample=random_sample)

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        rows, problem = arrange_repeated(problem, self._within_pool(problem.labels, np.arange(problem.n_rows)))
        is_tested = problem.random_sample is None and not self._is_precomputed()
        begun = begin_check(problem.X, problem.labels) if is_tested else None
        plan = self._make_plan(problem.labels, problem.random_sample, self.calibration, self.calibration_size)
        part = problem.select(plan.learns)
        part = part.settle_form()
        part, formula = settle_kernel(part) if self.kernel in ("unlabeled", "auto") else (part, part.formula())
        repeats = self._find_repeats(part)
        merged = part if repeats is None else repeats.merge(part)
        copies = None if repeats is None else np.bincount(repeats.group)
        measures = plan.measures[plan.learns]
        measures = measures if repeats is None else measures[repeats.is_first]
        trains_in = Formula("precomputed") if part.kernel.is_precomputed else formula
        fits = fit_pairs(merged, trains_in, partial(self._fit_binary, plan, measures, copies))
        if repeats is not None:
            fits = [_deal_out(repeats, fit, part.weight, merged.weight) for fit in fits]
        score = partial(self._score_certifying, problem, part, plan, fits, formula)
        self._conclude(plan, problem.labels, [fit.outcome for fit in fits], begun, score)
        return MethodFit([spread(fit, plan.learns) for fit in fits], formula, "ovr", rows=rows)

    def _find_repeats(self, part: TrainingProblem) -> EqualRows | None:
        """Equal unlabeled rows get equal labels in the paper's rounds: they become one row with their total weight."""
        if not isinstance(self.kernel, str) or part.kernel.is_precomputed or self.calibration == "cross":
            return None
        if part.is_primal:
            return None
        own_code = np.where(part.labels.is_labeled, np.arange(part.n_rows), UNLABELED_CODE)  # labeled rows stay apart
        return find_repeats(part.X, own_code)

    def _fit_binary(self, plan: Plan, measures: np.ndarray, copies: np.ndarray | None, task: BinaryTask) -> BinaryFit:
        rounds = Rounds(task)
        learner = SvmLearner(rounds, self.C, self.C if self.C_unlabeled is None else self.C_unlabeled)
        run = self._make_run(plan, task.number, learner, task.sign, measures, copies)
        with rounds.until_stopped():
            run.run()
        last = learner.newest.get(ALL_LABELS, rounds.solution)
        outcome = run.outcome(unfinished=(last, last.decision_values))
        rounds.go_back(outcome.model)
        rounds.labeled_in = outcome.labeled_in
        if isinstance(run, CrossFitted):
            rounds.history = run.mark_chosen(rounds.history)
        return rounds.fit(ended=outcome.ended, outcome=outcome)

    def _score_certifying(
        self, problem: TrainingProblem, part: TrainingProblem, plan: Plan, fits: list[BinaryFit], formula: Formula
    ) -> np.ndarray:
        """The scores of the rows of `problem` that certify, by the fits on the `part` that learns."""
        bias = np.array([fit.bias for fit in fits])
        if part.is_primal:
            return np.asarray(problem.X[plan.certifies] @ MethodFit(fits, formula, "ovr").weights_of_features.T) + bias
        row_beta = np.stack([fit.row_beta for fit in fits])
        is_support = (row_beta != 0).any(axis=0)
        if problem.kernel.is_precomputed:
            X = problem.X[plan.certifies][:, np.flatnonzero(plan.learns)[is_support]]
            support_vectors = None
        else:
            X, support_vectors = problem.X[plan.certifies], problem.X[plan.learns][is_support]
        return scores_of_new_rows(X, support_vectors, row_beta[:, is_support], formula, device=self.device) + bias


def _deal_out(repeats: EqualRows, fit: BinaryFit, weight: np.ndarray, merged_weight: np.ndarray) -> BinaryFit:
    """A fit on the distinct rows as a fit on all rows: copies share the coefficient in proportion to their weights."""
    rounds = None if fit.rounds is None else fit.rounds[repeats.group]
    outcome = fit.outcome
    if outcome is not None:
        fair_scores = None if outcome.fair_scores is None else outcome.fair_scores[repeats.group]
        outcome = replace(outcome, values=outcome.values[repeats.group], fair_scores=fair_scores)
    return replace(repeats.deal(fit, weight, merged_weight), rounds=rounds, history=fit.history, outcome=outcome)
