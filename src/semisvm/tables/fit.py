"""From rows to a model: encode, choose the method, fit it on all rows, and measure the result.

    0  do the labeled rows look like a random sample? If not, no held-out certificate is given
    1  the table becomes a matrix; the encoder learns from labeled and unlabeled rows
    2  how the columns are prepared, the kernel, C and gamma
    3  the method: the one chosen, or for "auto" the better of AutoSVC and the supervised method
    4  the fit on all rows
    5  the audit on out-of-fold scores: labels alone, + threshold, + unlabeled rows

Ctrl-C ends the current stage, keeps the best so far, and continues with the next: a comparison ends
with the methods that are done, a fit with the rounds that are done, an audit is left out.

A method that sets its own threshold brings its operating points, audit and scores
(`PreferenceSVC`). For any other method they are measured on out-of-fold scores of the method and of
the supervised baseline. All scores and operating points of the model are on the one scale that
people see (`scores_beyond`); those of the supervised baseline in an audit are on that of the
baseline.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from semisvm.campaign.record import first_price
from semisvm.decision import Evidence, OperatingPoint
from semisvm.decision.audit import (
    SUPERVISED,
    SUPERVISED_THRESHOLD,
    WITH_UNLABELED,
    Audit,
    changed_by_unlabeled,
)
from semisvm.decision.operating_point import scores_beyond
from semisvm.errors import DataError, counted
from semisvm.estimators import Method, find_method
from semisvm.kernels.threads import with_limited_threads
from semisvm.model_selection.fair_sample import (
    FairSampleCheck,
    check_fair_sample,
    labeled_fold_scores,
)
from semisvm.model_selection.thresholds import Probability, fit_probability
from semisvm.tables.column_checks import profile_columns, say_deciding_columns
from semisvm.tables.compare import compare_methods, judge_trials
from semisvm.tables.held_out import (
    BASELINE,
    MOST_UNLABELED,
    MethodTrial,
    draw_folds,
    make_trial,
    try_method,
    tune_settings,
)
from semisvm.tables.methods import (
    FOR_POSITIVES,
    Settings,
    StoppedError,
    Tell,
    fit_quietly,
    lead_per_class,
    make_estimator,
    say_nothing,
    say_weights,
    score_rows,
    sets_thresholds,
    shape_for,
    takes_columns,
    why_not,
    with_usual_kernel,
)
from semisvm.tables.model import Model
from semisvm.tables.operating import (
    at_the_line,
    chance_kept,
    moves_threshold,
    place_thresholds,
    scores_per_class,
    target_from,
)
from semisvm.tables.sentences import (
    ABOVE,
    INSISTED,
    LABELS_FOR_PROMISE,
    NO_CERTIFICATE,
    REFUSED,
    SAME_SCORES,
    UNUSED,
)
from semisvm.tables.summary import (
    MOST_SCORES,
    Comparison,
    MethodSummary,
    ScoreSample,
    parameters_of,
    sample_scores,
    summarize,
)
from semisvm.tables.training import Training, draw_rows, take_rows

AUTO, FOR_TARGETS = "auto", "preference"
ROUNDING = 1e-6  # of the largest score: what scores differ by that should be equal
LARGE_TABLE = 5_000  # rows, beyond which fewer are in kernels of all rows:
MOST_IN_KERNELS_OF_MANY = 2_000
PREFERRED = "autosvc"  # what "auto" takes unless another is better by more than two standard errors


class Stages:
    """The stages of one fit; `tried` are the rows with folds, None where a class has too few
    labels for them.
    """

    def __init__(
        self,
        training: Training,
        settings: Settings,
        method: str | None,
        most_unlabeled: int,
        tell: Tell,
    ):
        self.training = training
        self.settings = settings
        self.method, self.why = settle_method(training, settings, method)
        self.tell = tell
        self.was_stopped = False
        self.notes = list(training.notes)
        self.comparison: Comparison | None = None
        self.trials: dict[str, MethodTrial] = {}
        self.fitted: dict[str, Any] = {}  # estimators that were fitted to all rows, by method
        self.is_fair_sample: bool | None = None
        self.tried: Training | None = None
        self.why_not_tried = ""
        tell("Encoding the table")
        training.form()
        try:
            self.tried = draw_folds(training, seed=settings.seed, most=most_unlabeled)
        except ValueError as error:
            self.why_not_tried = str(error)
        if self.tried is not None and training.n_unlabeled > most_unlabeled:
            self.notes.append(
                f"Methods were compared and audited with {most_unlabeled:,} of "
                f"{counted(training.n_unlabeled, 'unlabeled row')}, "
                "drawn at random; the model itself was fitted to all."
            )

    def check_sample(self) -> bool:
        """Check whether the labels look like a random sample; True if that denies a certificate."""
        training = self.training
        if training.has_positives_only:  # its own assumption is stated with its results
            return False
        check = check_sample(
            training.form(), training.labels, training.measures, self.settings, self.tell
        )
        self.is_fair_sample = None if check is None else bool(check.is_fair)
        is_allowed, notes = may_certify(check, self.settings)
        self.notes = notes + self.notes
        if not is_allowed:
            self.settings = replace(self.settings, confidence=None)
        return not is_allowed

    def tune(self, wanted: bool) -> None:
        """Choose the view, the kernel, C and gamma, or take the usual ones."""
        if wanted and self.tried is not None:
            self.settings = tune_settings(self.tried, self.settings, self.tell)
        elif wanted and not self.training.has_positives_only:
            self.notes.append(f"C and the kernel were not tuned: {self.why_not_tried}.")
        self.settings = with_usual_kernel(self.settings, self.training.form(self.settings.view))

    def choose(self) -> tuple[Method, str]:
        """Return the method, and why it is this one."""
        if self.method != AUTO:
            method = find_method(self.method)
            if reason := why_not(method, self.training.form(self.settings.view), self.settings):
                raise DataError(f"The method {method.name!r} {reason}. Choose another `method`.")
            sets_own = sets_thresholds(method, self.settings)
            if sets_own and not method.for_one_class and self.tried is None:
                raise DataError(
                    f"The method {method.name!r} can't set a threshold: {self.why_not_tried}. Label"
                    " more rows of it."
                )
            return method, self.why
        if self.tried is None and self.settings.has_target:
            raise DataError(
                f"No threshold can be set for the target: {self.why_not_tried}. Label more rows"
                " of it."
            )
        if not self.training.n_unlabeled:
            return (
                find_method(BASELINE),
                "Every row has a label, so there are no unlabeled rows to learn from.",
            )
        if self.tried is None:
            return find_method(BASELINE), f"Methods can't be compared: {self.why_not_tried}."
        return self.compare([BASELINE, PREFERRED], PREFERRED)

    def compare(self, names: list[str], preferred: str = "") -> tuple[Method, str]:
        """Compare methods on held-out labels; return the chosen one, and why it is this one."""
        assert self.tried is not None
        self.comparison, self.trials = compare_methods(
            self.tried, self.settings, names, self.tell, preferred, self.try_method
        )
        self.was_stopped |= self.comparison.was_stopped
        self.notes.append(self.comparison.verdict)
        return find_method(self.comparison.chosen), self.comparison.why

    def try_method(
        self, method: Method, settings: Settings, tried: Training, tell: Tell
    ) -> MethodTrial:
        """Try a method by its fit to all rows where that has out-of-fold scores, else by folds."""
        if not takes_columns(method) or sets_thresholds(method, settings):
            return try_method(method, settings, tried, tell)
        n_notes = len(self.notes)
        began = time.perf_counter()
        estimator = self.fit(method)
        complaints = self.notes[n_notes:]
        del self.notes[n_notes:]  # they are notes of the model only where the method is chosen
        if self.was_stopped:
            raise StoppedError
        seconds = time.perf_counter() - began
        rows = self.training.tested
        scores = estimator.out_of_fold_scores_[rows].copy()
        is_new = np.isnan(scores).reshape(len(rows), -1).any(axis=1)
        if is_new.any():  # rows that the fit did not learn from
            X = self.training.for_method(method, settings)
            scores[is_new] = score_rows(estimator, take_rows(X, rows[is_new]))
        return make_trial(method, scores, settings, tried, seconds, complaints)

    def fit(self, method: Method) -> Any:
        """Fit the method to all rows."""
        if method.name not in self.fitted:
            training = self.training
            X = training.for_method(method, self.settings)
            most = MOST_IN_KERNELS_OF_MANY if len(training.codes) > LARGE_TABLE else None
            settings = replace(self.settings, max_rows=self.settings.max_rows or most)
            estimator = make_estimator(method, settings)
            what = f"Fitting {method.name} to {X.shape[0]:,} rows"
            self.fit_rows(estimator, X, training.labels, what, training.measures)
            self.fitted[method.name] = estimator
        return self.fitted[method.name]

    def fit_rows(self, estimator: Any, X: Any, labels: Any, what: str, *measures: Any) -> None:
        """Fit an estimator; after Ctrl-C it is the best so far."""
        self.tell(what)
        try:
            self.notes += fit_quietly(estimator, X, labels, self.tell, what, *measures)
        except StoppedError:
            self.was_stopped = True
            self.notes.append("The fit was stopped by hand: the model is the best so far.")

    def held_out(self, method: Method) -> tuple[MethodTrial, MethodTrial] | None:
        """Return the method and the baseline on the folds; None without folds, or after Ctrl-C."""
        if self.tried is None:
            self.notes.append(f"The quality of the model can't be measured: {self.why_not_tried}.")
            return None
        was_compared = method.name in self.trials
        try:
            for needed in (method, find_method(BASELINE)):
                if needed.name not in self.trials:
                    if self.was_stopped:
                        raise StoppedError
                    self.trials[needed.name] = self.try_method(
                        needed, self.settings, self.tried, self.tell
                    )
        except KeyboardInterrupt:
            self.was_stopped = True
            self.notes.append(
                "The quality of the model was not measured: the fit was stopped by hand."
            )
            return None
        trial = self.trials[method.name]
        baseline = self.trials[BASELINE]
        if not was_compared and trial is not baseline:
            self.notes.append(judge_trials([baseline, trial]).verdict)
        return trial, baseline

    def measure(self, method: Method, estimator: Any) -> Measured:
        """Find out what a fitted estimator gives: from itself, or on held-out labels."""
        training = self.training
        settings = self.settings
        classes = training.classes.names
        X = training.for_method(method, settings)
        unlabeled = draw_rows(np.flatnonzero(training.codes < 0), MOST_SCORES, settings.seed)
        pool = getattr(estimator, "_unlabeled_scores", None)
        if pool is not None:
            pool = pool[unlabeled]
        elif len(unlabeled):
            pool = score_rows(estimator, take_rows(X, unlabeled))
        else:
            pool = np.empty((0, len(classes)) if len(classes) > 2 else 0)
        if method.for_one_class:
            return self._measure_positives_only(estimator, pool)
        threshold = 0.0
        is_flat = False
        results: list[ClassResult] = []
        knows_itself = sets_thresholds(method, settings) and hasattr(estimator, "audits_")
        trials = None if knows_itself else self.held_out(method)
        if method.name == BASELINE and training.n_unlabeled:
            self.notes.append("The supervised method does not use the unlabeled rows.")
        if knows_itself:
            results = _own_results(estimator, pool)
            audits = (result.audit for result in results)
            if training.n_unlabeled and not any(map(changed_by_unlabeled, audits)):
                self.notes.append(UNUSED)
        elif trials is not None:
            trial, baseline = trials
            if len(classes) == 2:
                threshold = trial.points[classes[1]].threshold
                is_flat = np.std(trial.scores) <= ROUNDING * np.abs(trial.scores).max()
            self.notes += [*([SAME_SCORES] if is_flat else []), *trial.complaints]
            results = _held_out_results(trial, baseline, training, pool, settings, threshold)
        probability = None
        chances = {}
        samples = {}
        for name, point, _, scores, sign, of_pool in results:
            if len(classes) == 2 and point.level == Evidence.CROSS_FITTED and not is_flat:
                probability = fit_probability(scores, sign)
                if point.reached:
                    chances[name] = chance_kept(scores, sign, point.target, settings.seed)
            samples[name] = sample_scores(scores, sign, point.level, of_pool, training.n_unlabeled)
        points = {result.name: at_the_line(result.point) for result in results}
        if len(classes) > 2 and method.sets_threshold and settings.has_target:
            self.notes.append(ABOVE)
        self.notes += say_weights(estimator)
        self.notes += [
            point.reason for point in points.values() if not point.reached and point.reason
        ]
        # The scores of one of several classes that have thresholds of their own are no leads.
        if len(classes) == 2 or not method.sets_threshold:
            self.notes += _advise_campaign(points, samples)
        about = {
            "operating_points": points,
            "audits": {result.name: result.audit for result in results},
            "scores": samples,
            "chances": {name: chance for name, chance in chances.items() if chance is not None},
        }
        return Measured(threshold, probability, about)

    def _measure_positives_only(self, estimator: Any, pool: np.ndarray) -> Measured:
        """Return what is known where only positives are labeled."""
        training = self.training
        point = estimator.operating_point_
        *known, assumption = (" ".join(line.split()) for line in str(point).splitlines())
        self.notes.append(assumption)
        self.notes += [line[0].upper() + line[1:].removesuffix(".") + "." for line in known]
        scores = estimator.out_of_fold_scores_
        of_positives = scores[(training.codes >= 0) & np.isfinite(scores)]
        sign = np.ones(len(of_positives))
        sample = sample_scores(of_positives, sign, point.level, pool, training.n_unlabeled)
        name = training.classes.names[1]
        return Measured(0.0, None, {"operating_points": {name: point}, "scores": {name: sample}})


@with_limited_threads
def fit_model(
    training: Training,
    settings: Settings,
    *,
    method: str | None = None,
    tune: bool = False,
    most_unlabeled: int = MOST_UNLABELED,
    tell: Tell = say_nothing,
) -> Model:
    """Fit a model to the training rows.

    training         the rows, from `read_training` or `read_folder`
    method           a name of `semisvm.estimators.METHODS`, or "auto". By default "preference" for
                     a certificate, and for a precision or recall of each of several classes; else
                     "auto"
    tune             whether to choose the kernel, C and gamma by cross-validation
    most_unlabeled   how many unlabeled rows are used at most to compare and audit methods; the
                     model uses all
    tell             called with the progress of the fit
    """
    began = time.perf_counter()
    work = (training.stages or Stages)(training, settings, method, most_unlabeled, tell)
    work.notes += say_deciding_columns(training.rows, training.codes)
    was_refused = work.check_sample()
    work.tune(tune)
    chosen, why = work.choose()
    estimator = work.fit(chosen)
    measured = work.measure(chosen, estimator)
    return Model(
        schema=training.rows.schema,
        encoder=None if takes_columns(chosen) else training.encoder(work.settings.view),
        estimator=estimator,
        method=chosen.name,
        classes=training.classes,
        target=training.target,
        threshold=measured.threshold,
        probability=measured.probability,
        summary=summarize(
            training,
            MethodSummary(chosen.name, chosen.paper_name, why, parameters_of(estimator)),
            estimator,
            work.settings.costs,
            profiles=profile_columns(training.rows),
            comparison=work.comparison,
            is_fair_sample=work.is_fair_sample,
            has_target=settings.has_target,
            was_refused=was_refused,
            was_stopped=work.was_stopped,
            notes=without_repeats(work.notes),
            seconds=time.perf_counter() - began,
            **measured.about,
        ),
    )


def settle_method(training: Training, settings: Settings, method: str | None) -> tuple[str, str]:
    """Return the method to fit and why, "auto" for the better of two; refuse one that can't be."""
    if training.has_positives_only:
        only = f"All labels of {training.target!r} are {training.classes.names[1]!r}"
        if method not in (None, AUTO, FOR_POSITIVES.name):
            raise DataError(
                f"{only}, and the method {method!r} needs labels of two classes. Label some other"
                f" rows, or leave `method` out: {FOR_POSITIVES.name} is then used."
            )
        if settings.min_precision is not None:
            raise DataError(
                f"{only}: without labels of other rows no precision can be measured. Set a minimum"
                " recall instead, or label some rows that a first model accepts."
            )
        others = "the other rows are unlabeled: it learns from positives and unlabeled rows"
        return FOR_POSITIVES.name, f"{only}, and {others}."
    if method == FOR_POSITIVES.name:
        raise DataError(
            f"The method {method!r} is for targets with labels of one class only. Choose another"
            " `method`."
        )
    if method is None:
        is_for_each = settings.has_target and len(training.classes.names) > 2
        if settings.confidence is None and not is_for_each:
            return AUTO, ""
        return FOR_TARGETS, "It sets thresholds itself, and certifies them."
    if method != AUTO:
        find_method(method)
    return method, "You chose it."


def check_sample(
    X: Any, labels: Any, measures: np.ndarray, settings: Settings, tell: Tell = say_nothing
) -> FairSampleCheck | None:
    """Check whether the rows that count as a random sample look like the unlabeled ones."""
    codes = np.asarray(labels.codes, dtype=np.intp)
    if not (codes < 0).any() or not measures.any():
        return None
    tell("Checking whether the labeled rows are a random sample")
    baseline = find_method(BASELINE)
    rows = shape_for(baseline, X)

    def fit_and_score(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        estimator = make_estimator(baseline, settings)
        fit_quietly(estimator, rows[train], labels[train], say_nothing, "")
        return score_rows(estimator, rows[test])

    # Rows chosen by doubt belong to the others: they were in the pool that the random sample was
    # drawn from. For the same reason they do not train here, so that they are scored as the other
    # rows are.
    scores = labeled_fold_scores(fit_and_score, codes, measures, random_state=settings.seed)
    return check_fair_sample(X, measures, scores, random_state=settings.seed)


def may_certify(check: FairSampleCheck | None, settings: Settings) -> tuple[bool, list[str]]:
    """Return whether a held-out certificate may be given, and notes on the check."""
    if check is None or check.is_fair:
        return True, []
    if settings.confidence is None:
        return True, [check.sentence]
    return settings.trust_labels, [check.sentence, INSISTED if settings.trust_labels else REFUSED]


# ---- what the model gives ----


class ClassResult(NamedTuple):
    """What is known of one class: its operating point, its audit, and the scores of labeled and of
    unlabeled rows, measured from the threshold.
    """

    name: str
    point: OperatingPoint
    audit: Audit
    scores: np.ndarray
    sign: np.ndarray
    pool: np.ndarray


class Measured(NamedTuple):
    """What is known of a fitted model; `about` are fields of its summary."""

    threshold: float
    probability: Probability | None
    about: dict[str, Any]


def _own_results(estimator: Any, pool: np.ndarray) -> list[ClassResult]:
    """Return the results of an estimator that sets its own thresholds."""
    columns = pool[:, None] if pool.ndim == 1 else pool
    return [
        ClassResult(
            name,
            point,
            estimator.audits_[name],
            scores_beyond(estimator.calibration_scores_[name], point.threshold),
            estimator.calibration_sign_[name],
            columns[:, k],
        )
        for k, (name, point) in enumerate(estimator.operating_points_.items())
        if point is not None
    ]


def _held_out_results(
    trial: MethodTrial,
    baseline: MethodTrial,
    training: Training,
    pool: np.ndarray,
    settings: Settings,
    threshold: float,
) -> list[ClassResult]:
    """Return the results of thresholds that are set on out-of-fold scores."""
    classes = training.classes.names
    codes = training.codes[training.measures]
    at_zero = place_thresholds(baseline.scores, codes, settings, classes, may_move=False)
    moves = moves_threshold(target_from(settings, classes), classes)
    columns = lead_per_class(pool)
    results = []
    for k, (name, scores, sign) in enumerate(scores_per_class(trial.scores, codes, classes)):
        audit = {SUPERVISED: at_zero[name]}
        audit |= {SUPERVISED_THRESHOLD: baseline.points[name]} if moves else {}
        audit |= {WITH_UNLABELED: trial.points[name]} if trial is not baseline else {}
        labeled, unlabeled = (scores_beyond(part, threshold) for part in (scores, columns[:, k]))
        results.append(ClassResult(name, trial.points[name], audit, labeled, sign, unlabeled))
    return results


def _advise_campaign(
    points: dict[str, OperatingPoint], samples: dict[str, ScoreSample]
) -> list[str]:
    """Say what a promise would take, if there is a target without one."""
    sentences = []
    for name, point in points.items():
        sample = samples[name]
        if not point.target.is_constrained or point.status == "certified":
            continue
        if not sample.unlabeled or len(set(sample.sign)) < 2:
            continue
        n = first_price(
            sample.unlabeled, (sample.labeled, sample.sign), point.target, point.confidence
        )
        target = f"{point.target} for {name!r}"
        sentences.append(
            NO_CERTIFICATE.format(target)
            if n is None
            else LABELS_FOR_PROMISE.format(target, f"{n:,}")
        )
    return sentences


def without_repeats(notes: Iterable[str]) -> tuple[str, ...]:
    """Drop a note that ends with another one, as warnings of one class do."""
    distinct = tuple(dict.fromkeys(notes))
    return tuple(
        note
        for note in distinct
        if not any(note != other and note.endswith(other) for other in distinct)
    )
