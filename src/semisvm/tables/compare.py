"""Every method beside the supervised baseline, on the same folds, and the choice of one of them.

The choice follows Breiman's one-standard-error rule: among the methods within one standard error of the best, take the
one that is preferred beforehand, else the simplest. The supervised method is the simplest of all. That is a hint, not a
proof: the verdict has the interval. Two classes are compared by ranking, so that a gain is one beyond the supervised
method with a threshold of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from semisvm.decision import Estimate
from semisvm.decision.audit import MERIT_CONFIDENCE
from semisvm.errors import DataError, counted, fault
from semisvm.estimators import METHODS, NAMES, find_method
from semisvm.tables.held_out import (
    BASELINE,
    MOST_UNLABELED,
    Bench,
    MethodTrial,
    make_bench,
    positives_trials,
    try_method,
    tune_settings,
)
from semisvm.tables.methods import FOR_POSITIVES, Settings, Tell, say_nothing, why_not, with_usual_kernel
from semisvm.tables.summary import ComparisonSummary, MethodResult
from semisvm.tables.training import Training, training_of

PU_MEASURE = "AUC of positives against unlabeled rows"
SAME_AUC = 1e-12


@dataclass
class Comparison:
    """The result: `entries` in the order of the methods, `left_out` {name: reason}, `chosen` by the rule above."""

    measure: str
    entries: list[MethodTrial] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    was_stopped: bool = False
    n_unlabeled: int = 1
    preferred: str = ""

    def try_each(self, names: Iterable[str], try_one: Callable[[str, int], MethodTrial]) -> None:
        """Try one method after the other; Ctrl-C ends with those that are done, a ValueError leaves a method out."""
        for number, name in enumerate(names, 1):
            try:
                self.entries.append(try_one(name, number))
            except KeyboardInterrupt:
                if not self.entries:
                    raise KeyboardInterrupt from None
                self.was_stopped = True
                break
            except (ValueError, MemoryError) as error:
                if name == BASELINE:
                    raise
                self.left_out[name] = str(error).split("\n")[0]

    @property
    def baseline(self) -> MethodTrial:
        return next(entry for entry in self.entries if entry.name == BASELINE)

    @property
    def best(self) -> MethodTrial:
        """The entry with the largest merit; if a target is asked for, among those that reach it."""
        reaching = [entry for entry in self.entries if entry.reaches] or self.entries
        return max(reaching, key=lambda entry: entry.merit.mean)

    @property
    def best_other(self) -> MethodTrial | None:
        """The best method that uses the unlabeled rows."""
        others = [entry for entry in self.entries if entry.name != BASELINE]
        return max(others, key=lambda entry: entry.merit.mean, default=None)

    @property
    def chosen(self) -> MethodTrial:
        best = self.best
        good = [e for e in self.entries if self._is_near(e, best) and (e.reaches or not best.reaches)]
        return min(good, key=lambda entry: (entry.name != self.preferred, NAMES.index(entry.name)))

    @property
    def choice(self) -> str:
        """The name of the chosen method."""
        return self.chosen.name

    def _is_near(self, entry: MethodTrial, best: MethodTrial) -> bool:
        """Whether it is within one standard error of the best, or of their difference.

        A best method that made no error has almost no standard error of its own. The method that is preferred may be
        two standard errors behind: the settings of the others were tuned on these labels, which flatters them.
        """
        error = max(best.merit.error, best.merit.error_of_gap(entry.merit))
        return entry.merit.mean >= best.merit.mean - error * (2 if entry.name == self.preferred else 1)

    def difference(self, entry: MethodTrial) -> Estimate:
        """Return how much better it is than the supervised method, on the same rows."""
        return entry.merit.minus(self.baseline.merit)

    def verdict(self) -> str:
        """Say whether the unlabeled rows help, in a sentence or two."""
        best = self.best_other
        if not self.n_unlabeled:
            return "Every row has a label: there are no unlabeled rows that could help."
        if best is None:
            return "Only the supervised method was fitted: nothing can be said about the unlabeled rows."
        gap, n_others = self.difference(best), len(self.entries) - 1
        seen = (
            f"the best method that uses them, {best.name}, has a {self.measure} of {self._show(best)} against "
            f"{self._show(self.baseline)} supervised (a gain of {gap.value:+.3f}, {MERIT_CONFIDENCE:.0%} interval "
            f"{gap.low:+.3f} to {gap.high:+.3f})"
        )
        if gap.low > 0:
            flattered = f" It is the best of {n_others}, so the gain is likely overstated." if n_others > 1 else ""
            return f"The unlabeled rows help: {seen}.{flattered}"
        if gap.high < 0:
            return f"The unlabeled rows harm here: {seen}."
        return f"The labels can't tell whether the unlabeled rows help: {seen}."

    def why(self) -> str:
        """Say why the chosen method was chosen."""
        best, chosen = self.best, self.chosen
        if best is chosen:
            compared = counted(len(self.entries), "method")
            return f"It has the best {self.measure} of {compared} compared ({self._show(best)})."
        if chosen.name == self.preferred:
            return (
                f"It is the default, which is left only for a method that is better by more than two standard errors "
                f"(best: {best.name}, {self.measure} {self._show(best)}; this one {self._show(chosen)})."
            )
        beside = "" if chosen is self.baseline else f", supervised {self._show(self.baseline)}"
        return (
            f"It is the simplest method within one standard error of the best ({best.name}: {self.measure} "
            f"{self._show(best)}, standard error {best.merit.error:.3f}; this one {self._show(chosen)}{beside})."
        )

    def _show(self, entry: MethodTrial) -> str:
        return f"{abs(entry.merit.mean):.3f}"

    def summary(self) -> ComparisonSummary:
        """Return the result as plain values."""

        def result(e: MethodTrial) -> MethodResult:
            gap = self.difference(e)
            return MethodResult(e.name, e.merit.estimate(), e.merit.error, gap, e.reaches, e.seconds, e.complaints)

        return ComparisonSummary(
            measure=self.measure,
            methods=tuple(map(result, self.entries)),
            left_out=dict(self.left_out),
            chosen=self.choice,
            verdict=self.verdict(),
            was_stopped=self.was_stopped,
            baseline=self.baseline.name,
        )


def compare_methods(
    bench: Bench, settings: Settings, methods: Sequence[str], tell: Tell = say_nothing, preferred: str = ""
) -> Comparison:
    """Compare the named methods; the supervised baseline comes first, whether it is named or not."""
    found = Comparison(bench.measure_for(settings), n_unlabeled=int((bench.codes < 0).sum()), preferred=preferred)
    names = [BASELINE, *(name for name in methods if name != BASELINE)]

    def try_one(name: str, number: int) -> MethodTrial:
        method, place = find_method(name), f" (method {number} of {len(names)})"
        reason = why_not(method, bench.views.form(settings.view), settings)
        if reason and name != BASELINE:
            raise ValueError(reason)
        return try_method(method, settings, bench, lambda what, *progress: tell(what + place, *progress))

    found.try_each(names, try_one)
    return found


# ---- positives only ----


class PositivesComparison(Comparison):
    """The result where only positives are labeled; differences are taken from the first method, the simplest."""

    @property
    def baseline(self) -> MethodTrial:
        return self.entries[0]

    @property
    def choice(self) -> str:
        """The method for labels of one class: the others have no threshold."""
        return FOR_POSITIVES.name

    def difference(self, entry: MethodTrial) -> Estimate:
        """Return how much better it is than the first method, on the same rows."""
        gap = super().difference(entry)
        return Estimate(gap.value if abs(gap.value) > SAME_AUC else 0.0, max(gap.low, -1.0), min(gap.high, 1.0))

    def verdict(self) -> str:
        """Say which method ranks best, and what ranking leaves open."""
        told, best = ", ".join(f"{entry.name} {entry.merit.mean:.3f}" for entry in self.entries), self.best
        ours = next((entry for entry in self.entries if entry.name == self.choice), best)
        seen = f"Out of fold, the {self.measure} is: {told}."
        if best is not ours and best.merit.minus(ours.merit).low > 0:
            seen += f" The {best.name} ranks better than {ours.name} by more than chance."
        left_open = "Errors can't be counted where only positives are labeled: no method here has a precision."
        return f"{seen} This is how well each ranks. {left_open}"


def compare_positives(training: Training, X: Any, settings: Settings, most: int, tell: Tell) -> PositivesComparison:
    """Compare how methods rank labeled positives against unlabeled rows, at most `most` of them."""
    trials = positives_trials(training, X, settings, most)

    def try_one(name: str, number: int) -> MethodTrial:
        tell(f"Comparing: {name}", number - 1, len(trials), "methods")
        return trials[name]()

    found = PositivesComparison(PU_MEASURE)
    found.try_each(trials, try_one)
    if not found.entries:
        told = "; ".join(f"{name}: {why}" for name, why in found.left_out.items())
        raise fault(training.name, f"no method could be fitted ({told})", "Correct the table")
    return found


# ---- all of it ----


def compare_on(
    training: Training,
    settings: Settings,
    methods: Sequence[str] = (),
    *,
    most_unlabeled: int = MOST_UNLABELED,
    tune: bool = False,
    tell: Tell = say_nothing,
) -> ComparisonSummary:
    """Compare methods (all by default) on the training rows; the parameters are those of `fit.fit_model`."""
    for name in methods:
        if name == "auto":
            raise DataError("'auto' is no method but a choice among all of them: leave `method` out to compare them.")
        find_method(name)
    views = training.views()
    if training.has_positives_only:
        if others := [name for name in methods if name != FOR_POSITIVES.name]:
            only = f"all labels of {training.target!r} are {training.classes.names[1]!r}"
            remedy = "Leave `method` out, or label some other rows"
            raise fault(training.name, f"{only}, and {others[0]!r} needs others", remedy)
        settings = with_usual_kernel(settings, views.form(settings.view))
        return compare_positives(training, views.form(), settings, most_unlabeled, tell).summary()
    try:
        bench = make_bench(views, training.labels, seed=settings.seed, most=most_unlabeled, measures=training.measures)
    except ValueError as error:
        raise fault(training.name, str(error), "Label at least two rows of each class") from None
    if tune:
        settings = tune_settings(bench, settings, tell)
    settings = with_usual_kernel(settings, views.form(settings.view))
    if not methods and not training.n_unlabeled:
        methods = [BASELINE]
    elif not methods:  # methods that need a target are compared only if there is one
        fitting = [one for one in METHODS if not one.for_one_class and (settings.has_target or not one.sets_threshold)]
        methods = [one.name for one in fitting]
    return compare_methods(bench, settings, methods, tell).summary()


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
) -> ComparisonSummary:
    """Compare methods on the labeled rows, each row predicted by fits that have not seen its label.

    Two classes are compared by ranking: how often a row of the positive class has a higher score than one of the other
    class. So the supervised method counts with the best threshold of its own, and a gain is one beyond it. More classes
    are compared by balanced accuracy, and with `costs` by the expected cost per row.

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
    ComparisonSummary
        One line per method with its gain over the supervised one; printing it shows a table and the verdict.

    See Also
    --------
    AutoSVC : A good choice without a comparison.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import semisvm
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> y[40:] = -1
    >>> found = semisvm.compare(X, y, methods=["self-training"], tune=False)
    >>> found
    method           ranking   gain over supervised (90%)
    supervised         ...
    self-training      ...
    """
    training = training_of(X, y, pos_label=pos_label, unlabeled=unlabeled)
    by_name = None if costs is None else {str(label): cost for label, cost in dict(costs).items()}
    settings = Settings(costs=by_name, seed=random_state)
    return compare_on(training, settings, methods, most_unlabeled=max_unlabeled, tune=tune)
