"""PSVM as in its paper: unlabeled rows are added round by round while the threshold is found.

`PaperPreferenceSVC` is the class. Algorithm 1 on one binary problem (`PaperRounds`):

    L        labels that train
    B        labels that calibrate. L and B are two halves of the labels ("part"), or both are all
             labels ("full").
    S        unlabeled rows with a soft label

    repeat
        train on L and S; v are the decision values of all rows
        measure precision, recall and F1 on B, at the threshold 0 and at the adjusted threshold d+
        (`adjust`); both are candidates for the answer
        d- is the mean of v over the negatives of B
        unlabeled rows with v > d+ become +1, and of the others those with v < d- become -1:
            "grow"      only rows that are not in S yet; S never shrinks (INC)
            "rebuild"   S is made again from all unlabeled rows (REC)
    until S does not change, S was there before ("rebuild"), or max_rounds is reached
    answer: among the candidates that keep the target on B, the one with the best F1; if none keeps
    it, the nearest one

Without adjusting, d+ = d- = 0, and all unlabeled rows get a label at once.

**The adjusting step** (Section 4.4). If the preference is not met at threshold 0, the threshold
moves just far enough that the calibration rows meet it: up for precision, down for recall. If it is
met, or if there is none:

    "best"    take the threshold with the best F1 among those that meet the preference
    "paper"   raise the smaller of precision and recall to the current value of the larger, moving
              in the same way

The paper's rule overshoots where the curve is steep: precision .95 and recall .39 become recall .95
and precision .42 on IJCNN1. It is kept for the paper's tables; "best" reproduces all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from semisvm.decision import Counts, Evidence, Target, measure
from semisvm.decision.audit import make_audit
from semisvm.decision.counts import Curve, count_all, count_at, precision, recall
from semisvm.decision.target import best_of
from semisvm.estimators.binary import BinaryFit
from semisvm.estimators.equal_rows import are_copies_alike, find_repeats
from semisvm.estimators.preference import PreferenceSVC
from semisvm.estimators.preference._cross import Outcome, measures_at
from semisvm.estimators.preference._learner import ALL_LABELS, Learner
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.targets import FEWEST_LABELS, Plan, first_of_each, refuse_rare
from semisvm.labels import UNLABELED_CODE, Labels
from semisvm.machines import Solver
from semisvm.sklearn_private import Interval, StrOptions

Rule = Literal["best", "paper"]


class PaperPreferenceSVC(PreferenceSVC):
    """The preference SVM of the paper (PSVM), with its variants; `PreferenceSVC` is better with the
    same labels.

    All other parameters and all attributes are those of :class:`semisvm.PreferenceSVC`.
    `C_unlabeled` is the penalty of rows with soft labels.

    Parameters
    ----------
    calibration : {"part", "full"}, default="part"
        Rows on which the threshold is chosen. "part": a part of the labels is used for calibration,
        and the rest for training. "full": all labels are used for both, so that estimates are too
        optimistic.
    calibration_size : float, default=0.5
        Share of the labels used for calibration, and share held out for a certificate.
    pool : {"grow", "rebuild"}, default="grow"
        Whether soft labels are kept once they are assigned (INC in the paper), or assigned again in
        each round (REC).
    adjust : {"best", "paper"} or None, default="best"
        Rule for the threshold above which unlabeled rows are labeled as positive in each round (see
        `adjust` in this module). None leaves it at 0 and labels all unlabeled rows at once.
    max_rounds : int, default=20
        Maximum number of trainings.

    See Also
    --------
    semisvm.PreferenceSVC : Uses every label for training and for calibration.

    Notes
    -----
    The records in `history_` have, for each round, precision, recall and F1 on the calibration rows
    at the threshold 0 and at the adjusted threshold (``adjusted_...``), the thresholds, and the
    numbers of soft labels of each sign.

    References
    ----------
    .. [1] Z. Wen, R. Zhang and K. Ramamohanarao, "Enabling precision/recall preferences for
       semi-supervised SVM training", CIKM 2014. :doi:`10.1145/2661829.2661977`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm.estimators.preference.paper import PaperPreferenceSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[np.random.default_rng(0).permutation(len(y))[200:]] = -1  # 200 labels are kept
    >>> model = PaperPreferenceSVC(min_precision=0.95, random_state=0).fit(scale(X), y)
    >>> model.operating_point_.level
    'empirical'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PreferenceSVC._parameter_constraints,
        "calibration": [StrOptions({"part", "full"})],
        "pool": [StrOptions({"grow", "rebuild"})],
        "adjust": [StrOptions({"best", "paper"}), None],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    calibration: Literal["part", "full"]
    pool: Literal["grow", "rebuild"]
    adjust: Rule | None
    max_rounds: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: float | None = None,
        min_precision: float | dict | None = None,
        min_recall: float | dict | None = None,
        confidence: float | None = None,
        calibration: Literal["part", "full"] = "part",
        calibration_size: float = 0.5,
        pool: Literal["grow", "rebuild"] = "grow",
        adjust: Rule | None = "best",
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
        self._keep(locals())

    def _refuse_few_labels(self, labels: Labels) -> None:
        if self.calibration == "part":
            refuse_rare(
                labels,
                f"calibration='part' needs at least {FEWEST_LABELS} labeled rows of each class, and"
                " class {name} has {number} without those of a certificate: label more rows of it,"
                " or use calibration='full'.",
            )

    def _why_no_probabilities(self) -> str:
        if self.calibration == "full":
            return (
                "With calibration='full' the calibration scores are those of training rows, and"
                " probabilities made from them would be too close to 0 and 1: use"
                " calibration='part'."
            )
        return super()._why_no_probabilities()

    def _draw_pool(self, n_unlabeled: int) -> np.ndarray | None:
        raise ValueError(
            f"{type(self).__name__} labels all unlabeled rows, which needs them in memory; use"
            " PreferenceSVC."
        )

    def _within_pool(self, labels: Labels, rows: np.ndarray) -> np.ndarray:
        return rows

    def _prepare_runs(
        self, part: TrainingProblem, plan: Plan
    ) -> tuple[TrainingProblem, Callable[..., Any], Callable[[BinaryFit], BinaryFit]]:
        """Equal unlabeled rows get equal labels: they become one row with their total weight."""
        # Labeled rows stay apart, each with a code of its own.
        code = np.where(part.labels.is_labeled, np.arange(part.n_rows), UNLABELED_CODE)
        repeats = find_repeats(part.X, code) if are_copies_alike(part) else None
        if repeats is None:
            return super()._prepare_runs(part, plan)

        def expand(fit: BinaryFit) -> BinaryFit:
            of_rows = fit.outcome.fair_scores
            fair_scores = None if of_rows is None else of_rows[repeats.group]
            values = fit.outcome.values[repeats.group]
            outcome = replace(fit.outcome, values=values, fair_scores=fair_scores)
            return replace(repeats.expand(fit, part.weight), outcome=outcome)

        measures = plan.measures[plan.learns][repeats.is_first]
        make_run = partial(self._make_run, plan, measures, copies=np.bincount(repeats.group))
        return repeats.merge(part), make_run, expand

    def _make_run(  # type: ignore[override]
        self,
        plan: Plan,
        measures: np.ndarray,
        number: int,
        learner: Learner,
        sign: np.ndarray,
        copies: np.ndarray | None = None,
    ) -> PaperRounds:
        """The work on one binary problem; row i stands for copies[i] of the user's rows."""
        seed = plan.draw_seed()
        trains = sign != 0
        calibrates = (sign != 0) & measures
        if self.calibration == "part":
            trains, calibrates = split_labels(sign, self.calibration_size, seed, measures)
        return PaperRounds(
            learner,
            sign,
            np.ones(len(sign), dtype=np.intp) if copies is None else copies,
            trains,
            calibrates,
            plan.targets[number],
            pool=self.pool,
            rule=self.adjust,
            max_rounds=self.max_rounds,
        )


def split_labels(
    sign: np.ndarray, share: float, seed: int, measures: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The labeled rows that train and a share of them that calibrates: two masks, (n,).

    Only rows in the mask `measures` calibrate; None: all labeled rows may.
    """
    rows = np.flatnonzero(sign if measures is None else np.where(measures, sign, 0))
    codes = (sign[rows] > 0).astype(int)
    random = check_random_state(seed)
    counts = np.bincount(codes)
    wanted = np.clip(np.round(share * counts).astype(int), 1, counts - 1)
    calibrates = np.zeros(len(sign), dtype=bool)
    calibrates[rows[first_of_each(codes, wanted, random.permutation(len(codes)))]] = True
    return (sign != 0) & ~calibrates, calibrates


@dataclass(frozen=True)
class _Answer:
    """A model with a threshold, and what they make of the calibration rows."""

    model: Any
    values: np.ndarray
    threshold: float
    counts: Counts


class PaperRounds:
    """The rounds of one binary problem.

    sign         (n,) the labels, 0 where there is none
    copies       (n,) how many of the user's rows each row stands for
    trains       (n,) mask: the labeled rows in L
    calibrates   (n,) mask: the labeled rows in B

    If the learner raises an exception during `run`, `outcome` still returns the best answer so far.
    """

    def __init__(
        self,
        learner: Learner,
        sign: np.ndarray,
        copies: np.ndarray,
        trains: np.ndarray,
        calibrates: np.ndarray,
        target: Target,
        *,
        pool: str,
        rule: str | None,
        max_rounds: int,
    ):
        self.learner = learner
        self.target = target
        self.copies = copies
        self.is_unlabeled = sign == 0
        self.calibrates = calibrates
        self.is_held_out = not (trains & calibrates).any()
        self.sign, self.calibration_sign = sign, sign[calibrates]
        self.soft = np.where(trains, sign, 0).astype(np.int8)  # the signs to train on: L and S
        self.labeled_in = np.where(sign != 0, 0, -1)
        self.pool = pool
        self.rule = rule
        self.max_rounds = max_rounds
        self.supervised: np.ndarray | None = None
        self.fair_scores: np.ndarray | None = None
        self.best: _Answer | None = None
        self.ended: str | None = "max_rounds"

    def run(self) -> None:
        """Train, measure and label until the soft labels do not change."""
        seen = {self.soft.tobytes()}
        share = np.ones(len(self.soft))
        for number in range(self.max_rounds):
            values = self.learner.train(self.soft, share, ALL_LABELS)
            d_plus, d_minus, details = self._measure(values)
            guess = np.where(values > d_plus, 1, np.where(values < d_minus, -1, 0))
            may_change = (
                self.is_unlabeled
                if self.pool == "rebuild"
                else self.is_unlabeled & (self.soft == 0)
            )
            soft = np.where(may_change, guess, self.soft).astype(np.int8)
            changed = soft != self.soft
            self.labeled_in[changed] = np.where(soft[changed] != 0, number + 1, -1)
            self.soft = soft
            n_soft = {
                side: int(self.copies[self.is_unlabeled & (soft == side)].sum()) for side in (1, -1)
            }
            self.learner.done(**details, soft_positive=n_soft[1], soft_negative=n_soft[-1])
            if not changed.any() or soft.tobytes() in seen:
                self.ended = "cycle" if changed.any() else None
                return
            seen.add(soft.tobytes())

    def outcome(self, unfinished: tuple[Any, np.ndarray] | None = None) -> Outcome:
        """The best answer; or the unfinished model and its values, at 0."""
        if self.best is None:
            assert unfinished is not None
            self._offer(*unfinished, 0.0)
        best = self.best
        assert best is not None
        scores = best.values[self.calibrates]
        point = measure(scores, self.calibration_sign, best.threshold, target=self.target)
        supervised = scores if self.supervised is None else self.supervised
        audit = make_audit(
            self.target, supervised, self.calibration_sign, point, Evidence.EMPIRICAL
        )
        return Outcome(
            model=best.model,
            values=best.values,
            point=point,
            audit=audit,
            calibration_scores=scores,
            calibration_sign=self.calibration_sign,
            is_held_out=self.is_held_out,
            labeled_in=self.labeled_in,
            fair_scores=self.fair_scores,
            ended=self.ended,
        )

    def _measure(self, values: np.ndarray) -> tuple[float, float, dict[str, Any]]:
        """Measure on B, offer both candidates, and return d+, d- and the record's details."""
        scores = values[self.calibrates]
        if self.supervised is None:
            self.supervised = scores
            if self.is_held_out:
                self.fair_scores = np.where(self.calibrates | self.is_unlabeled, values, np.nan)
        at_zero = self._offer(self.learner.model, values, 0.0)
        if self.rule is None:
            d_plus = d_minus = 0.0
        else:
            target = self.target
            d_plus = adjust(
                scores,
                self.calibration_sign,
                min_precision=target.min_precision,
                min_recall=target.min_recall,
                rule=self.rule,  # type: ignore[arg-type]
            )
            d_minus = float(scores[self.calibration_sign < 0].mean())
        adjusted = self._offer(self.learner.model, values, d_plus)
        thresholds = {"threshold": d_plus, "threshold_negative": d_minus}
        details = measures_at(at_zero) | measures_at(adjusted, "adjusted_") | thresholds
        return d_plus, d_minus, details

    def _offer(self, model: Any, values: np.ndarray, threshold: float) -> Counts:
        """Keep a candidate if it is better than those before it; return its counts."""
        counts = count_at(values[self.calibrates], self.calibration_sign, threshold)
        if (
            self.best is None
            or best_of(_side_by_side(self.best.counts, counts), self.target)[0] == 1
        ):
            self.best = _Answer(model, values, threshold, counts)
        return counts


def _side_by_side(one: Counts, other: Counts) -> Counts:
    return Counts(*(np.array(cells) for cells in zip(one, other, strict=True)))


def adjust(
    scores: ArrayLike,
    sign: ArrayLike,
    *,
    min_precision: float | None = None,
    min_recall: float | None = None,
    rule: Rule = "best",
) -> float:
    """Return PSVM's adjusted threshold, d+ in the paper; 0 if no change is needed.

    `rule` says what to do if the preference is met: take the best F1, or follow the paper.

    >>> adjust([3.0, 2.0, 1.0, -1.0], [1, 1, -1, 1], min_precision=0.9)
    1.5
    """
    if rule not in ("best", "paper"):
        raise ValueError(f'rule must be "best" or "paper", got {rule!r}.')
    target = Target(min_precision, min_recall)
    curve = count_all(scores, sign)
    now = count_at(scores, sign, 0.0)
    if target.shortfall(now) > 0:
        return _move(curve, now, target)
    if rule == "paper":
        p = precision(now)
        r = recall(now)
        if now.tp > 0 and p != r:
            return _move(curve, now, Target(min_precision=r) if p < r else Target(min_recall=p))
        if now.tp > 0:
            return 0.0
        # No positive is accepted: neither rate is the smaller, so the paper's rule does not apply.
    return float(curve.thresholds[best_of(curve.counts, target)[0]])


def _move(curve: Curve, now: Counts, target: Target) -> float:
    """Return the nearest threshold that meets the target, or else the one that misses it least.

    Near means that few rows change sides. Precision is sought upward, recall downward, both
    together anywhere.
    """
    ahead = _is_ahead(curve.counts, now, target)
    shortfall = target.shortfall(curve.counts)
    meets = ahead & (shortfall == 0)
    if meets.any():
        rows_moved = np.abs(curve.counts.accepted - now.accepted)
        return float(curve.thresholds[np.argmin(np.where(meets, rows_moved, np.inf))])
    thresholds = curve.thresholds[ahead]
    counts = Counts(*(cell[ahead] for cell in curve.counts))
    return float(thresholds[best_of(counts, target)[0]])


def _is_ahead(counts: Counts, now: Counts, target: Target) -> Any:
    """Return which thresholds lie in the direction that raises what is asked for."""
    # With nothing accepted there is no precision to raise.
    if target.min_recall is None and now.accepted > 0:
        return counts.accepted <= now.accepted
    if target.min_precision is None:
        return counts.accepted >= now.accepted
    return np.ones(counts.tp.shape, dtype=bool)
