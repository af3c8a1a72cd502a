"""Every method beside the supervised baseline, on the same folds, and the choice of one of them.

The choice follows Breiman's one-standard-error rule: among the methods within one standard error of
the best, take the one that is preferred beforehand, else the simplest. The supervised method is the
simplest of all. That is a hint, not a proof: the verdict has the interval. Two classes are compared
by ranking, so that a gain is one beyond the supervised method with a threshold of its own.

Where only positives are labeled no error can be counted. What can be had is how well a method
ranks: the AUC of labeled positives against unlabeled rows, out of fold. It is prior / 2 + (1 -
prior) * (the AUC against negatives), so it orders methods as the AUC against negatives does,
whatever the prior. Its error is that of DeLong, without added rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from semisvm.decision import Estimate
from semisvm.decision.audit import MERIT_CONFIDENCE, Merit, merit_of_placements, place_among_others
from semisvm.errors import DataError, counted, fault
from semisvm.estimators import METHODS, NAMES, Method, find_method
from semisvm.model_selection import PositiveUnlabeledKFold, cross_fit_scores
from semisvm.tables.held_out import (
    BASELINE,
    MOST_UNLABELED,
    N_COMPARISON_FOLDS,
    Bench,
    MethodTrial,
    make_bench,
    try_method,
    tune_settings,
)
from semisvm.tables.methods import (
    FOR_POSITIVES,
    Settings,
    Tell,
    make_estimator,
    say_nothing,
    shape_for,
    why_not,
    with_usual_kernel,
)
from semisvm.tables.summary import Comparison, MethodResult
from semisvm.tables.training import Training, draw_rows, training_of

LOGISTIC, MACHINE = "balanced logistic regression", "balanced SVC"
PU_MEASURE = "AUC of positives against unlabeled rows"
ONLY_RANKED = (
    "This is how well each ranks. Errors can't be counted where only positives are labeled: no"
    " method here has a precision."
)
SAME_AUC = 1e-12  # differences below it are rounding


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
    measure: str,
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
    return Comparison(
        measure=measure,
        methods=tuple(_line(trial, trial.merit.minus(baseline.merit)) for trial in trials),
        left_out=dict(left_out or {}),
        chosen=chosen.name,
        verdict=_verdict(measure, trials, baseline, n_unlabeled),
        why=_why(measure, trials, baseline, chosen, preferred),
        was_stopped=was_stopped,
        baseline=baseline.name,
    )


def _line(trial: MethodTrial, difference: Estimate) -> MethodResult:
    return MethodResult(
        trial.name,
        trial.merit.estimate(),
        trial.merit.error,
        difference,
        trial.reaches,
        trial.seconds,
        trial.complaints,
    )


def _verdict(
    measure: str, trials: Sequence[MethodTrial], baseline: MethodTrial, n_unlabeled: int
) -> str:
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
        f"the best method that uses them, {best.name}, has a {measure} of {_merit(best)} against"
        f" {_merit(baseline)} supervised (a gain of {gap.value:+.3f}, {MERIT_CONFIDENCE:.0%}"
        f" interval {gap.low:+.3f} to {gap.high:+.3f})"
    )
    if gap.low > 0:
        best_of_many = f" It is the best of {len(others)}, so the gain is likely overstated."
        return f"The unlabeled rows help: {seen}.{best_of_many if len(others) > 1 else ''}"
    if gap.high < 0:
        return f"The unlabeled rows harm here: {seen}."
    return f"The labels can't tell whether the unlabeled rows help: {seen}."


def _why(
    measure: str,
    trials: Sequence[MethodTrial],
    baseline: MethodTrial,
    chosen: MethodTrial,
    preferred: str,
) -> str:
    """Say why the chosen method was chosen."""
    best = best_of(trials)
    if best is chosen:
        compared = counted(len(trials), "method")
        return f"It has the best {measure} of {compared} compared ({_merit(best)})."
    if chosen.name == preferred:
        return (
            "It is the default, which is left only for a method that is better by more than two"
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


def try_each(
    names: Sequence[str], try_one: Callable[[str, int], MethodTrial]
) -> tuple[dict[str, MethodTrial], dict[str, str], bool]:
    """Try each method; Ctrl-C ends with those that are done, a ValueError leaves one out.

    Returns the trials by name, {method that was left out: reason}, and whether Ctrl-C was pressed.
    """
    trials: dict[str, MethodTrial] = {}
    left_out: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        try:
            trials[name] = try_one(name, number)
        except KeyboardInterrupt:
            if not trials:
                raise KeyboardInterrupt from None
            return trials, left_out, True
        except (ValueError, MemoryError) as error:
            if name == BASELINE:
                raise
            left_out[name] = str(error).split("\n")[0]
    return trials, left_out, False


def compare_methods(
    bench: Bench,
    settings: Settings,
    methods: Sequence[str],
    tell: Tell = say_nothing,
    preferred: str = "",
    try_method: Callable[[Method, Settings, Bench, Tell], MethodTrial] = try_method,
) -> tuple[Comparison, dict[str, MethodTrial]]:
    """Compare the named methods; the supervised baseline comes first, whether it is named or
    not. Their trials, by `try_method`, come with the comparison.
    """
    names = [BASELINE, *(name for name in methods if name != BASELINE)]

    def try_one(name: str, number: int) -> MethodTrial:
        method = find_method(name)
        place = f" (method {number} of {len(names)})"
        reason = why_not(method, bench.views.form(settings.view), settings)
        if reason and name != BASELINE:
            raise ValueError(reason)
        return try_method(
            method, settings, bench, lambda what, *progress: tell(what + place, *progress)
        )

    trials, left_out, was_stopped = try_each(names, try_one)
    comparison = judge_trials(
        bench.measure_for(settings),
        list(trials.values()),
        n_unlabeled=int((bench.codes < 0).sum()),
        preferred=preferred,
        left_out=left_out,
        was_stopped=was_stopped,
    )
    return comparison, trials


# ---- positives only ----


def compare_positives(
    training: Training, X: Any, settings: Settings, most: int, tell: Tell
) -> Comparison:
    """Compare how methods rank labeled positives against unlabeled rows, at most `most` of them.

    They are ours and the two that most people would try first, which take unlabeled rows for
    negatives. Differences are taken from the first, the simplest. The chosen one is ours: the
    others have no threshold.
    """
    unlabeled = draw_rows(np.flatnonzero(training.codes < 0), most, settings.seed)
    positives = np.flatnonzero(training.codes >= 0)
    n_folds = min(N_COMPARISON_FOLDS, len(positives), len(unlabeled))
    if n_folds < 2:
        reason = "comparing takes two labeled positives and two unlabeled rows"
        raise fault(training.name, reason, "Label more rows")
    rows = shape_for(FOR_POSITIVES, X)[np.concatenate([positives, unlabeled])]
    y = np.repeat([1, -1], [len(positives), len(unlabeled)])
    cv = PositiveUnlabeledKFold(n_folds, shuffle=True, random_state=settings.seed)
    estimators = _contestants(settings)

    def try_one(name: str, number: int) -> MethodTrial:
        tell(f"Comparing: {name}", number - 1, len(estimators), "methods")
        began = time.perf_counter()
        scores = cross_fit_scores(estimators[name], rows, y, cv=cv)
        merit = rank_in_folds(scores, y, [test for _, test in cv.split(rows, y)])
        return MethodTrial(name, scores, merit, {}, time.perf_counter() - began)

    by_name, left_out, was_stopped = try_each(list(estimators), try_one)
    trials = list(by_name.values())
    if not trials:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise fault(training.name, f"no method could be fitted ({reasons})", "Correct the table")
    ranks = ", ".join(f"{trial.name} {trial.merit.mean:.3f}" for trial in trials)
    verdict = f"Out of fold, the {PU_MEASURE} is: {ranks}."
    best = best_of(trials)
    ours = by_name.get(FOR_POSITIVES.name, best)
    if best is not ours and best.merit.minus(ours.merit).low > 0:
        verdict += f" The {best.name} ranks better than {ours.name} by more than chance."
    return Comparison(
        measure=PU_MEASURE,
        methods=tuple(_line(trial, _gap_of_ranks(trial, trials[0])) for trial in trials),
        left_out=left_out,
        chosen=FOR_POSITIVES.name,
        verdict=f"{verdict} {ONLY_RANKED}",
        was_stopped=was_stopped,
        baseline=trials[0].name,
    )


def _contestants(settings: Settings) -> dict[str, Any]:
    """The estimators by name, the simplest first; two take unlabeled rows for negatives."""
    ours = make_estimator(FOR_POSITIVES, settings).set_params(
        unlabeled=-1, min_recall=None, confidence=None
    )
    machine = SVC(
        C=settings.C,
        kernel=settings.kernel or "rbf",
        gamma="scale" if settings.gamma is None else settings.gamma,
        class_weight="balanced",
    )
    logistic = LogisticRegression(C=settings.C, class_weight="balanced", max_iter=1000)
    return {LOGISTIC: logistic, MACHINE: machine, FOR_POSITIVES.name: ours}


def rank_in_folds(scores: np.ndarray, y: np.ndarray, folds: Sequence[np.ndarray]) -> Merit:
    """Return the AUC of positives, y = 1, against the unlabeled rows of their fold."""
    is_positive = (y == 1).astype(np.intp)
    placement = np.empty(len(y))
    for test in folds:
        placement[test] = place_among_others(scores[test], is_positive[test])
    return merit_of_placements(placement, is_positive, span=0.0, n_added=-1)


def _gap_of_ranks(trial: MethodTrial, first: MethodTrial) -> Estimate:
    """Return a difference of two AUCs, which is between -1 and 1."""
    gap = trial.merit.minus(first.merit)
    value = gap.value if abs(gap.value) > SAME_AUC else 0.0
    return Estimate(value, max(gap.low, -1.0), min(gap.high, 1.0))


# ---- all of it ----


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
    views = training.views()
    if training.has_positives_only:
        if others := [name for name in methods if name != FOR_POSITIVES.name]:
            only = f"all labels of {training.target!r} are {training.classes.names[1]!r}"
            remedy = "Leave `method` out, or label some other rows"
            raise fault(training.name, f"{only}, and {others[0]!r} needs others", remedy)
        settings = with_usual_kernel(settings, views.form(settings.view))
        return compare_positives(training, views.form(), settings, most_unlabeled, tell)
    try:
        bench = make_bench(
            views,
            training.labels,
            seed=settings.seed,
            most=most_unlabeled,
            measures=training.measures,
        )
    except ValueError as error:
        raise fault(training.name, str(error), "Label at least two rows of each class") from None
    if tune:
        settings = tune_settings(bench, settings, tell)
    settings = with_usual_kernel(settings, views.form(settings.view))
    if not methods and not training.n_unlabeled:
        methods = [BASELINE]
    elif not methods:  # methods that need a target are compared only if there is one
        fitting = [
            method
            for method in METHODS
            if not method.for_one_class and (settings.has_target or not method.sets_threshold)
        ]
        methods = [method.name for method in fitting]
    comparison, _ = compare_methods(bench, settings, methods, tell)
    return comparison


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
    """Compare methods on the labeled rows, each row predicted by fits that have not seen its label.

    Two classes are compared by the area under the ROC curve: how often a row of the positive class
    has a higher score than one of the other class. So the supervised method counts with the best
    threshold of its own, and a gain is one beyond it. More classes are compared by balanced
    accuracy, and with `costs` by the expected cost per row.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
        The rows. The columns of a DataFrame may hold numbers, categories, dates and text.
    y : array-like of shape (n_samples,)
        A label for each row, the marker `unlabeled` where there is none.
    methods : sequence of str, optional
        Names of methods (`semisvm.estimators.METHODS`), such as "transductive"; by default all.
    pos_label : label, optional
        Of two classes, the positive one; by default the rarer one.
    costs : dict of {label: float}, optional
        What it costs to take a row of each class for another class.
    tune : bool, default=True
        Whether to choose the kernel, C and gamma on the labels first.
    max_unlabeled : int, default=5000
        Unlabeled rows that are used at most.
    unlabeled : number, string or None, default=-1
        The marker of rows without a label; see `semisvm.labels`.
    random_state : int, default=0
        Draws the folds.

    Returns
    -------
    Comparison
        One line per method with its gain over the supervised one; printing it shows a table and the
        verdict.

    See Also
    --------
    AutoSVC : A good choice without a comparison.

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
