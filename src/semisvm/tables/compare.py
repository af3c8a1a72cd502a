"""Comparison of all methods with the supervised baseline on the same folds, and the choice of one.

The choice follows Breiman's one-standard-error rule: among the methods within one standard error of
the best, take the one that is preferred beforehand, else the simplest. The supervised method is the
simplest of all. That is a hint, not a proof: the verdict has the interval. Two classes are compared
by ranking, so that a gain is one beyond the supervised method with a threshold of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from semisvm.decision.audit import MERIT_CONFIDENCE
from semisvm.errors import DataError, counted, fault
from semisvm.estimators import METHODS, NAMES, Method, find_method
from semisvm.tables.held_out import (
    BASELINE,
    MOST_UNLABELED,
    MethodTrial,
    draw_folds,
    try_method,
    tune_settings,
)
from semisvm.tables.methods import (
    FOR_POSITIVES,
    Settings,
    Tell,
    say_nothing,
    why_not,
    with_usual_kernel,
)
from semisvm.tables.sentences import interval, rate
from semisvm.tables.summary import Comparison, MethodResult
from semisvm.tables.training import Training, training_of


def best_of(trials: Sequence[MethodTrial]) -> MethodTrial:
    """Return the trial with the largest merit, among those that reach the target."""
    reaching = [trial for trial in trials if trial.reaches] or trials
    return max(reaching, key=lambda trial: trial.merit.mean)


def choose_trial(trials: Sequence[MethodTrial], preferred: str = "") -> MethodTrial:
    """Return the preferred method, else the simplest, among those that are near the best."""
    best = best_of(trials)
    good = [
        trial
        for trial in trials
        if _is_near(trial, best, preferred) and (trial.reaches or not best.reaches)
    ]
    return min(good, key=lambda trial: (trial.name != preferred, NAMES.index(trial.name)))


def _is_near(trial: MethodTrial, best: MethodTrial, preferred: str) -> bool:
    """Whether it is within one standard error of the best, or of their difference.

    A best method that made no error has almost no standard error of its own. The method that is
    preferred may be two standard errors behind: the settings of the others were tuned on these
    labels, which flatters them.
    """
    error = max(best.merit.error, best.merit.error_of_gap(trial.merit))
    return trial.merit.mean >= best.merit.mean - error * (2 if trial.name == preferred else 1)


def judge_trials(
    trials: Sequence[MethodTrial],
    *,
    n_unlabeled: int = 1,
    preferred: str = "",
    left_out: Mapping[str, str] | None = None,
    was_stopped: bool = False,
) -> Comparison:
    """Choose one of the trials, and say what the unlabeled rows are worth."""
    baseline = next(trial for trial in trials if trial.name == BASELINE)
    chosen = choose_trial(trials, preferred)
    lines = [
        MethodResult(
            trial.name,
            trial.merit.estimate(),
            trial.merit.minus(baseline.merit),
            trial.reaches,
            trial.seconds,
            trial.complaints,
        )
        for trial in trials
    ]
    return Comparison(
        measure=baseline.merit.name,
        methods=tuple(lines),
        left_out=dict(left_out or {}),
        chosen=chosen.name,
        verdict=_verdict(trials, baseline, n_unlabeled),
        why=_why(trials, baseline, chosen, preferred),
        was_stopped=was_stopped,
    )


def _verdict(trials: Sequence[MethodTrial], baseline: MethodTrial, n_unlabeled: int) -> str:
    """Say whether the unlabeled rows help, in a sentence or two."""
    others = [trial for trial in trials if trial is not baseline]
    if not n_unlabeled:
        return "Every row has a label: there are no unlabeled rows that could help."
    if not others:
        return (
            "Only the supervised method was fitted: nothing can be said about the unlabeled rows."
        )
    best = max(others, key=lambda trial: trial.merit.mean)
    gap = best.merit.minus(baseline.merit)
    seen = (
        f"the best method that uses them, {best.name}, has a {best.merit.name} of {_merit(best)}"
        f" against {_merit(baseline)} supervised (a gain of {rate(gap.value, '+')},"
        f" {MERIT_CONFIDENCE:.0%} interval {interval(gap, '+')})"
    )
    if gap.low > 0:
        best_of_many = f" It is the best of {len(others)}, so the gain is likely overstated."
        return f"The unlabeled rows help: {seen}.{best_of_many if len(others) > 1 else ''}"
    if gap.high < 0:
        return f"The unlabeled rows harm here: {seen}."
    return f"The labels do not show whether the unlabeled rows help: {seen}."


def _why(
    trials: Sequence[MethodTrial], baseline: MethodTrial, chosen: MethodTrial, preferred: str
) -> str:
    """Say why the chosen method was chosen."""
    best = best_of(trials)
    measure = best.merit.name
    if best is chosen:
        compared = counted(len(trials), "method")
        return f"It has the best {measure} of {compared} compared ({_merit(best)})."
    if chosen.name == preferred:
        return (
            "It is the default, which is only replaced by a method that is better by more than two"
            f" standard errors (best: {best.name}, {measure} {_merit(best)}; this one"
            f" {_merit(chosen)})."
        )
    beside = "" if chosen is baseline else f", supervised {_merit(baseline)}"
    return (
        f"It is the simplest method within one standard error of the best ({best.name}: {measure}"
        f" {_merit(best)}, standard error {best.merit.error:.3f}; this one {_merit(chosen)}"
        f"{beside})."
    )


def _merit(trial: MethodTrial) -> str:
    return f"{abs(trial.merit.mean):.3f}"


def compare_methods(
    training: Training,
    settings: Settings,
    methods: Sequence[str],
    tell: Tell = say_nothing,
    preferred: str = "",
    try_method: Callable[[Method, Settings, Training, Tell], MethodTrial] = try_method,
) -> tuple[Comparison, dict[str, MethodTrial]]:
    """Compare the named methods, and the baseline; Ctrl-C ends with those that are done."""
    names = [BASELINE, *(name for name in methods if name != BASELINE)]
    trials: dict[str, MethodTrial] = {}
    left_out: dict[str, str] = {}
    was_stopped = False
    for number, name in enumerate(names, 1):
        method = find_method(name)

        def tell_place(what: str, *progress: Any, number: int = number) -> None:
            tell(f"{what} (method {number} of {len(names)})", *progress)

        try:
            reason = why_not(method, training.form(settings.view), settings)
            if reason and name != BASELINE:
                raise ValueError(reason)
            trials[name] = try_method(method, settings, training, tell_place)
        except KeyboardInterrupt:
            if not trials:
                raise KeyboardInterrupt from None
            was_stopped = True
            break
        except (ValueError, MemoryError) as error:
            if name == BASELINE:
                raise
            left_out[name] = str(error).split("\n")[0]
    comparison = judge_trials(
        list(trials.values()),
        n_unlabeled=training.n_unlabeled,
        preferred=preferred,
        left_out=left_out,
        was_stopped=was_stopped,
    )
    return comparison, trials


def compare_on(
    training: Training,
    settings: Settings,
    methods: Sequence[str] = (),
    *,
    most_unlabeled: int = MOST_UNLABELED,
    tune: bool = False,
    tell: Tell = say_nothing,
) -> Comparison:
    """Compare methods (by default all) on the training rows; see `fit.fit_model`."""
    for name in methods:
        if name == "auto":
            raise DataError(
                "'auto' is not a method but a choice among methods: leave `method` out to compare"
                " all of them."
            )
        find_method(name)
    if training.has_positives_only:
        only = f"all labels of {training.target!r} are {training.classes.names[1]!r}"
        reason = f"{only}, and errors are counted on labels of both classes"
        remedy = f"Label some other rows, or fit {FOR_POSITIVES.name}, which needs none"
        raise fault(training.name, reason, remedy)
    try:
        rows = draw_folds(training, seed=settings.seed, most=most_unlabeled)
    except ValueError as error:
        raise fault(training.name, str(error), "Label at least two rows of each class") from None
    if tune:
        settings = tune_settings(rows, settings, tell)
    settings = with_usual_kernel(settings, training.form(settings.view))
    if not methods and not training.n_unlabeled:
        methods = [BASELINE]
    elif not methods:  # methods that need a target are compared only if there is one
        fitting = [
            method
            for method in METHODS
            if not method.for_one_class and (settings.has_target or not method.sets_threshold)
        ]
        methods = [method.name for method in fitting]
    return compare_methods(rows, settings, methods, tell)[0]


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] = (),
    pos_label: Any = None,
    costs: Any = None,
    tune: bool = True,
    max_unlabeled: int = MOST_UNLABELED,
    unlabeled: Any = -1,
    random_state: int = 0,
) -> Comparison:
    """Compare methods on the labeled rows by cross-validation.

    Two classes are compared by the area under the ROC curve: how often a row of the positive class
    has a higher score than one of the other class. It does not depend on thresholds, so no method
    gains by its threshold alone. More classes are compared by balanced accuracy, and with `costs`
    by the expected cost per row.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
        The rows. The columns of a DataFrame may hold numbers, categories, dates and text.
    y : array-like of shape (n_samples,)
        A label for each row, the marker `unlabeled` where there is none.
    methods : sequence of str, optional
        Names of the methods to compare (`semisvm.estimators.METHODS`), such as "transductive"; by
        default all.
    pos_label : label, optional
        The positive class of two; by default the rarer one.
    costs : dict of {label: float}, optional
        Cost of misclassifying a row of each class.
    tune : bool, default=True
        Whether to tune the kernel, C and gamma on the labels first.
    max_unlabeled : int, default=5000
        Maximum number of unlabeled rows to use.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows; see `semisvm.labels`.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    Comparison
        One result per method with its gain over the supervised one; print it for a table and the
        verdict.

    See Also
    --------
    AutoSVC : A good default that needs no comparison.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import semisvm
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> y[40:] = -1
    >>> semisvm.compare(X, y, methods=["self-training"], tune=False)
    method          ROC AUC (90% interval)   gain over supervised
    supervised      ...
    self-training   ...
    """
    training = training_of(X, y, pos_label=pos_label, unlabeled=unlabeled)
    by_name = None if costs is None else {str(label): cost for label, cost in dict(costs).items()}
    settings = Settings(costs=by_name, seed=random_state)
    return compare_on(training, settings, methods, most_unlabeled=max_unlabeled, tune=tune)
