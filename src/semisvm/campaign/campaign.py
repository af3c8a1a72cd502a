"""The campaign: rows to label, answers, and what these prove."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.agreement import Agreement, measure_agreement, second_opinions
from semisvm.campaign.answers import AnswerLog, as_number, plain_label, time_now
from semisvm.campaign.draws import make_seed, read_seed
from semisvm.campaign.file import Synced, content_of, load_state, save_state, state_from
from semisvm.campaign.ledger import join_ledgers
from semisvm.campaign.one_look import OneLook
from semisvm.campaign.plan import find_pos_label, plan_campaign
from semisvm.campaign.precision_sets import PrecisionSets
from semisvm.campaign.procedure import AcceptedRows, Procedure, Standing
from semisvm.campaign.recall_sets import RecallSets
from semisvm.campaign.sequence import ThresholdTests
from semisvm.campaign.state import CampaignState, digests_of, target_of_answers
from semisvm.campaign.verdict import CampaignVerdict, PriceList, make_verdict
from semisvm.decision import Target
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_confidence, check_scores
from semisvm.decision.sampling_plan import PlanKind
from semisvm.errors import counted

LIKELY_RIGHT = 0.95  # a first guess of the share of given labels that are right

PROCEDURES: dict[PlanKind, Callable[[CampaignState], Procedure]] = {
    "thresholds": ThresholdTests,
    "precision sets": PrecisionSets,
    "recall sets": RecallSets,
    "one look": OneLook,
}


class Campaign:
    """Label rows of a pool until a threshold is certified for a target, such as a precision.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the pool by a fitted classifier, which must not change until the campaign ends.
        The row numbers of the campaign are indices into this array.
    min_precision, min_recall, min_f : float, optional
        Targets to certify; at least one of these or `max_cost`. Several targets have to hold at the
        same threshold.
    max_cost : float, optional
        Maximum expected cost per row; it needs `costs`.
    beta : float, default=1.0
        Beta of the F-score; above 1 recall counts more.
    costs : (float, float), optional
        Cost of a missed positive and of an accepted negative.
    confidence : float, default=0.9
        The probability that the promise holds.
    claim : {"pool", "new rows"}, default="pool"
        Whether the promise is about the rows of the pool or about new rows from the same source.
        The second needs a pool that was not used in training, not even as unlabeled rows.
    calibration : (scores, sign), optional
        Out-of-fold or held-out scores of labeled rows, and their true signs (+1, -1). They
        determine which rows to draw first. The promise does not depend on them, but the number of
        labels does.
    probabilities : array-like of shape (n_rows,), optional
        The predicted probability that each row is positive; by default from `calibration`, or from
        the scores only.
    thresholds : array-like, optional
        Thresholds to test, in this order. By default, nested sets of rows are chosen from scores
        and calibration, and the best of them is certified.
    dont_know : {"bad", "leave out"}, default="bad"
        Meaning of the answer None. "bad": the row counts as an error of the model, which is
        conservative. "leave out": the promise is only about rows whose label can be decided.
    error_rate : float, default=0.0
        Maximum share of the negative rows that people label as positive. The answers then have to
        show a precision of p + (1 - p) * error_rate, so that the true precision is at least
        `min_precision=p`. Only for `min_precision`, and for all rows above a threshold.
    budget : int, optional
        Approximate number of labels that will be given: draws are planned for the best set after
        that many. By default they are planned for an early first certificate, and then for 200
        labels. With a budget of up to 500 labels a larger set can be certified for a precision,
        because nine tenths of the risk are spent within the budget. It is not a limit, unless
        `one_look` is true.
    one_look : bool, default=False
        For `min_recall`: the first `budget` rows are a simple random sample, and the verdict is
        open until all of them are answered. The certified set is then smaller than if the verdict
        may be read at any time.
    after : sequence of Campaign or dict, default=()
        All earlier campaigns on the same task that have an answer, or their `ledger` entries. Their
        risks are added to that of this campaign.
    seed : str, optional
        Hexadecimal digits, for tests; by default from the operating system. A given seed is
        recorded, because a certificate is not valid if seeds were tried until one passed.
    classes, pos_label : optional
        The class labels that are used as answers: `pos_label` is positive, the others are negative.
        By default answers are 1 and 0.

    See Also
    --------
    ThresholdClassifier : A classifier with a certified threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm import Campaign
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=5000)
    >>> truth = (scores + 0.3 * rng.normal(size=5000) > 1).astype(int)  # what a person would say
    >>> campaign = Campaign(scores - 1, min_precision=0.8, seed="00")
    >>> while not campaign.verdict().certified:
    ...     rows = campaign.draw(10)
    ...     campaign.tell(rows, truth[rows])
    >>> point = campaign.verdict().operating_point
    >>> point.status, point.level
    ('certified', 'certified by sampling')
    >>> bool(truth[scores - 1 > point.threshold].mean() >= 0.8)
    True
    """

    def __init__(
        self,
        scores: ArrayLike,
        *,
        min_precision: float | None = None,
        min_recall: float | None = None,
        min_f: float | None = None,
        max_cost: float | None = None,
        beta: float = 1.0,
        costs: tuple[float, float] | None = None,
        confidence: float = 0.9,
        claim: SamplingClaim = "pool",
        calibration: tuple[ArrayLike, ArrayLike] | None = None,
        probabilities: ArrayLike | None = None,
        thresholds: ArrayLike | None = None,
        dont_know: Literal["bad", "leave out"] = "bad",
        error_rate: float = 0.0,
        budget: int | None = None,
        one_look: bool = False,
        after: Sequence[Any] = (),
        seed: str | None = None,
        classes: Sequence[Any] | None = None,
        pos_label: Any = None,
    ):
        target = Target(
            min_precision=min_precision,
            min_recall=min_recall,
            beta=beta,
            costs=costs,
            min_f=min_f,
            max_cost=max_cost,
        )
        confidence = check_confidence(confidence)
        _require_choice("claim", claim, ("pool", "new rows"))
        _require_choice("dont_know", dont_know, ("bad", "leave out"))
        if not target.is_constrained:
            raise ValueError("Say what to certify: min_precision, min_recall, min_f or max_cost.")
        if max_cost is not None and dont_know == "leave out":
            raise ValueError('`max_cost` counts every row: leave `dont_know` at "bad" with it.')
        if not 0 <= error_rate < 1:
            raise ValueError(f"error_rate must be at least 0 and below 1, got {error_rate}.")
        limits = (min_recall, min_f, max_cost)
        if error_rate and (min_precision is None or any(value is not None for value in limits)):
            raise ValueError(
                "`error_rate` is supported for a precision only: pass `min_precision` alone, or"
                " leave `error_rate` out."
            )
        if budget is not None:
            if not (budget >= 1 and float(budget).is_integer()):
                raise ValueError(f"budget must be a whole number, at least 1, got {budget}.")
            budget = int(budget)
        if one_look and budget is None:
            raise ValueError("`one_look` needs a `budget`: after how many labels to look.")
        after = after if isinstance(after, Campaign) else tuple(after)  # it may be an iterator
        if isinstance(after, Campaign) or not all(isinstance(e, Campaign | dict) for e in after):
            raise ValueError(
                "after must be a list of campaigns, or of entries of their `ledger`; Campaign.load"
                " reads the file of one."
            )
        vector = check_scores(scores)
        log = AnswerLog(len(vector), classes, find_pos_label(classes, pos_label))
        seed_bytes = make_seed() if seed is None else read_seed(seed)
        plan = plan_campaign(
            vector,
            target_of_answers(target, error_rate),
            confidence,
            claim,
            seed_bytes,
            calibration=calibration,
            probabilities=probabilities,
            thresholds=thresholds,
            dont_know=dont_know,
            as_sets=not error_rate,
            budget=budget,
            one_look=one_look,
        )
        ledger = join_ledgers(
            earlier.ledger if isinstance(earlier, Campaign) else [earlier] for earlier in after
        )
        ledger.append(
            {
                "campaign": len(ledger) + 1,
                "id": secrets.token_hex(8),
                "created": time_now(),
                "target": str(target),
                "claim": claim,
                "risk": 1 - confidence,
            }
        )
        self._begin(
            CampaignState(
                target=target,
                confidence=confidence,
                claim=claim,
                dont_know=dont_know,
                error_rate=float(error_rate),
                seed=seed_bytes,
                seed_given=seed is not None,
                plan=plan,
                log=log,
                ledger=ledger,
                budget=budget,
                accepted=digests_of(vector, plan),
            )
        )

    def _begin(self, state: CampaignState) -> Self:
        self._state = state
        self._tests: Procedure = PROCEDURES[state.plan.kind](state)
        self._synced: Synced | None = None
        self._X_pool: Any = None
        return self

    @classmethod
    def for_model(
        cls,
        model: Any,
        X_pool: Any,
        *,
        pos_label: Any = None,
        training: tuple[Any, Any] | None = None,
        calibration: tuple[ArrayLike, ArrayLike] | None = None,
        **options: Any,
    ) -> Campaign:
        """Start a campaign about the predictions of a fitted classifier.

        Parameters
        ----------
        model : classifier
            A fitted classifier of this library or scikit-learn, with `decision_function` or
            `predict_proba`.
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features)
            The pool: rows whose labels are not known.
        pos_label : label, optional
            The positive class; by default the second of two. With more classes, the score of a row
            is the difference between the positive class and the best other class.
        training : (X, y), optional
            The training rows and labels of the model. Five-fold cross-validation on them gives
            `calibration`.
        calibration : (scores, sign), optional
            Out-of-fold scores and true signs, if they are known already, as those of
            `PreferenceSVC` are.
        **options
            Parameters of `Campaign`: the target, `confidence`, `claim` and the others.

        Returns
        -------
        Campaign
            The new campaign. Answers are class labels of the model.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from semisvm import Campaign
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LogisticRegression(max_iter=5000).fit(X[:100], y[:100])
        >>> campaign = Campaign.for_model(model, X[100:], min_precision=0.9)
        >>> len(campaign.draw(5))
        5
        """
        from semisvm.campaign.model import calibration_of, response_of, scores_for_class

        raw, method = response_of(model, X_pool)
        label = find_pos_label(model.classes_, pos_label)
        if calibration is None:
            calibration = calibration_of(model, label, training, method)
        campaign = cls(
            scores_for_class(raw, model.classes_, label),
            calibration=calibration,
            classes=list(model.classes_),
            pos_label=label,
            **options,
        )
        campaign._X_pool = X_pool
        return campaign

    @classmethod
    def for_labels(
        cls,
        labels: ArrayLike,
        confidences: ArrayLike | None = None,
        *,
        pos_label: Any = None,
        classes: Sequence[Any] | None = None,
        **options: Any,
    ) -> Campaign:
        """Start a campaign about given labels, for example by a language model, a rule or a vendor.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            The label of each row of the pool.
        confidences : array-like of shape (n_rows,), optional
            How confident each label is, higher for more confident. Values between 0 and 1 are used
            as the probability that the label is right. They determine which rows are certified
            first; the promise does not depend on them. By default all labels are equally confident.
        pos_label : label, optional
            The class that the target is about: the share of rows with this label that are of this
            class. By default the target is about all labels: the share of them that are right.
        classes : sequence of labels, optional
            The possible answers; by default the labels that occur.
        **options
            Parameters of `Campaign`: the target, `confidence` and the others.

        Returns
        -------
        Campaign
            The new campaign. Answers are classes: what the row is, not whether its label is right.
            Without `pos_label`, verdicts call a row positive if its label is right.

        Examples
        --------
        >>> import numpy as np
        >>> from semisvm import Campaign
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.choice(["bug", "question"], 3000)
        >>> sure = rng.random(3000)
        >>> by_model = np.where(rng.random(3000) < 0.6 + 0.4 * sure, truth, "question")
        >>> campaign = Campaign.for_labels(by_model, sure, min_precision=0.9, seed="00")
        >>> while not campaign.verdict().certified:
        ...     rows = campaign.draw(10)
        ...     campaign.tell(rows, truth[rows])
        >>> accepted = campaign.accepted().rows
        >>> bool(np.mean(by_model[accepted] == truth[accepted]) >= 0.9)
        True
        """
        given = np.asarray(labels)
        if given.ndim != 1 or not len(given):
            raise ValueError(
                f"labels must be one label per row of the pool, got an array of shape"
                f" {given.shape}."
            )
        sure = (
            np.zeros(len(given))
            if confidences is None
            else check_scores(confidences, "confidences")
        )
        if len(sure) != len(given):
            raise ValueError(
                f"Got {counted(len(given), 'label')} and {counted(len(sure), 'confidence')}: give"
                " one confidence per label."
            )
        known = list(dict.fromkeys(given.tolist())) if classes is None else list(classes)
        n_missing = sum(plain_label(label) is None for label in given.tolist())
        if classes is None and n_missing:
            raise ValueError(
                f"{n_missing:,} of {counted(len(given), 'label')} are missing. Leave these rows"
                " out, or pass `classes`: then they count as wrong."
            )
        are_chances = confidences is not None and sure.min() >= 0 and sure.max() <= 1
        likely = sure if are_chances else np.full(len(given), LIKELY_RIGHT)
        if pos_label is None:
            campaign = cls(sure, probabilities=likely, **options)
            log = AnswerLog(len(given), known, None, given.tolist())
            return campaign._begin(replace(campaign._state, log=log))
        has_label = given == pos_label
        if not has_label.any():
            raise ValueError(
                f"No row has the label {pos_label!r}: there are {', '.join(map(repr, known))}."
            )
        # Rows with other labels come last: below all others, and hardly ever positive.
        lowest = sure.min()
        scores = np.where(has_label, sure - lowest + 1, -1 - (sure - lowest))
        return cls(
            scores,
            probabilities=np.where(has_label, likely, (1 - likely) / max(1, len(known) - 1)),
            classes=known,
            pos_label=pos_label,
            **options,
        )

    # ---- what it is about ----

    @property
    def target(self) -> Target:
        """The target to certify."""
        return self._state.target

    @property
    def confidence(self) -> float:
        """The probability that the promise holds: one minus the share of campaigns like this one
        that may err.
        """
        return self._state.confidence

    @property
    def claim(self) -> SamplingClaim:
        """What the promise is about: "pool" or "new rows"."""
        return self._state.claim

    @property
    def dont_know(self) -> str:
        """Meaning of the answer None: "bad" or "leave out"."""
        return self._state.dont_know

    @property
    def error_rate(self) -> float:
        """Maximum share of the negatives that people label as positive."""
        return self._state.error_rate

    @property
    def one_look(self) -> bool:
        """Whether the verdict is open until a sample of fixed size is answered."""
        return self._state.plan.kind == "one look"

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """All campaigns on this task, this one last: number, identifier, time, target, claim,
        risk.
        """
        return self._state.ledger

    @property
    def about(self) -> dict[str, Any]:
        """Notes of the caller, as plain JSON values; kept in the file."""
        return self._state.about

    @property
    def total_risk(self) -> float:
        """Upper bound of the probability that any campaign of the ledger is wrong: the sum of their
        risks.
        """
        return self._state.total_risk

    @property
    def n_rows(self) -> int:
        """The number of rows in the pool."""
        return len(self._state.plan.bands)

    @property
    def n_in_play(self) -> int:
        """The number of rows that the promise is based on: all, or those that did not set the
        thresholds.
        """
        return self._state.n_in_play

    # ---- labels ----

    @property
    def answers(self) -> dict[int, float]:
        """The answer of each row: 1 positive, 0 negative, NaN "don't know"."""
        return {row: as_number(answer.code) for row, answer in self._state.log.answers.items()}

    @property
    def labels(self) -> dict[int, Any]:
        """The label answered for each row: a class label (or 1 and 0), None for "don't know"."""
        return {row: answer.label for row, answer in self._state.log.answers.items()}

    @property
    def classes(self) -> list[Any] | None:
        """The class labels that answers are given in; None where answers are 1 and 0."""
        return self._state.log.classes

    @property
    def pos_label(self) -> Any:
        """The class that the target is about; None where answers are 1 and 0."""
        return self._state.log.pos_label

    @property
    def n_labels(self) -> int:
        """The number of rows with an answer, "don't know" included."""
        return self._state.n_labels

    @property
    def corrections(self) -> list[dict[str, Any]]:
        """Answers that were changed: row, from, to, time."""
        return [dict(change) for change in self._state.log.corrections]

    def draw(self, n: int = 10, annotator: str | None = None, repeat: float = 0.1) -> list[int]:
        """Return the next rows to label.

        Parameters
        ----------
        n : int, default=10
            Number of rows.
        annotator : str, optional
            The person who is going to answer. A share of the rows is then drawn from those that
            others have answered, to measure `agreement`.
        repeat : float, default=0.1
            The share of rows drawn for `agreement`.

        Returns
        -------
        list of int
            Row numbers; rows that were drawn before and have no answer yet come first. Empty if
            every threshold is certified, or if every row that matters has an answer.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        if annotator is None:
            return self._tests.next_rows(n)
        if not 0 <= repeat <= 1:
            raise ValueError(f"repeat must be from 0 to 1, got {repeat}.")
        again = second_opinions(self._state, annotator, round(repeat * n))
        new = self._tests.next_rows(n - len(again)) if len(again) < n else []
        return new + again

    def tell(self, rows: Iterable[int] | int, answers: Any, annotator: str | None = None) -> None:
        """Record answers, for rows that were drawn or for any others; an earlier answer is
        corrected.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers.
        answers : label or sequence of labels
            One answer per row: class labels if the campaign has classes, else 1 or 0; None (or NaN)
            for "don't know".
        annotator : str, optional
            The person who answered. The first answer to a row counts; those of other people are
            kept for `agreement`.

        Notes
        -----
        Corrections are logged and their number is shown. If answers are changed because of the
        verdict, the certificate is not valid, and this can't be detected.
        """
        self._state.log.add(rows, answers, annotator)
        self._tests.read()

    def withdraw(self, rows: Iterable[int] | int) -> None:
        """Withdraw answers, as if they had not been given; the rows can be drawn again.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers; those without an answer are ignored. Each withdrawal is logged as a
            correction.
        """
        self._state.log.remove(rows)
        self._tests.read()

    def label(
        self,
        X: Any,
        path: str | Path | None = None,
        *,
        show: Sequence[str] = (),
        image: str | None = None,
        folder: str | Path | None = None,
    ) -> Any:
        """Ask a person for labels, one row at a time, in a notebook or a terminal, and show what is
        proved so far.

        Parameters
        ----------
        X : DataFrame, array-like, sparse matrix or sequence of shape (n_rows, ...)
            The rows of the pool in a form that people can read: cells with text, numbers, links, or
            images (paths, bytes, base64 text, Pillow images).
        path : str or path, optional
            The file to save to after every answer; by default the one that the campaign was last
            loaded from or saved to, if any.
        show : sequence of str, default=()
            The columns to show, in this order; by default they are chosen automatically.
        image : str, optional
            The size of an image whose pixels are the numeric columns: "8x8" (width x height, gray),
            or "32x32x3" in color. "8x8:pixel" uses the columns whose name begins with "pixel".
        folder : str or path, optional
            The folder that paths of images are relative to; by default the working directory.

        Returns
        -------
        LabelWidget or None
            A widget in Jupyter, VS Code and marimo, which needs `pip install "semisvm[notebook]"`.
            Elsewhere rows are asked in the terminal, and None is returned.

        Notes
        -----
        Scores and predictions are not shown, so that they can't influence the person.
        """
        from semisvm.campaign.labeling.rows import label_rows

        if path is None and self._synced is not None:
            path = self._synced.path
        return label_rows(self, X, path, show, image, folder)

    def agreement(self) -> Agreement:
        """Return how well people agree on rows that several of them answered.

        Returns
        -------
        Agreement
            Counts, and the effect that wrong answers would have on the promise; print it for a
            description.
        """
        return measure_agreement(self._state)

    # ---- what is proved ----

    def verdict(self) -> CampaignVerdict:
        """Return what is proved so far; it may be called at any time and does not change the
        campaign.

        Returns
        -------
        CampaignVerdict
            Whether a threshold is certified, which one, and how many labels the next one is
            expected to take.
        """
        return make_verdict(self._state, self.standing(), self._X_pool)

    def standing(self, *, with_forecasts: bool = True) -> Standing:
        """Return the state of the campaign in figures; `verdict` describes it in words.

        Parameters
        ----------
        with_forecasts : bool, default=True
            Whether to forecast the number of labels, which takes most of the time.

        Returns
        -------
        Standing
            One record per threshold, and what is certified.
        """
        return self._tests.standing(with_forecasts=with_forecasts)

    def accepted(self) -> AcceptedRows:
        """Return the rows that are certified now, with the reason for each.

        Returns
        -------
        AcceptedRows
            `rows`, the row numbers in ascending order, and `reasons`, "above the threshold" or
            "found positive" for each. While nothing is certified, both are empty; for a precision
            they have the rows found positive, and as many of the highest scores as these allow.
        """
        return self._tests.accepted()

    def prices(self) -> PriceList:
        """Return the predicted result of each threshold and the number of labels it is expected to
        take.

        Returns
        -------
        PriceList
            One record per threshold; print it for a table. The forecasts are about as good as the
            model's predictions: in most cases measured, half of the campaigns took less than 0.8 to
            1.3 times the forecast.
        """
        return PriceList(self.standing().table, self._tests.fewest_labels())

    # ---- the file ----

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Save the campaign to a JSON file, from which it can be continued.

        Parameters
        ----------
        path : str or path
            The file. It is written completely or not at all. Answers that another program has saved
            there in the meantime are kept and added to this campaign.
        force : bool, default=False
            Whether to replace another file, such as a campaign with other rows and its answers.

        Returns
        -------
        path
            The file that was written.

        Raises
        ------
        ValueError
            If another program has saved a different answer for the same row in the meantime, or if
            the file is another one. Nothing is written then.
        """
        self._synced = save_state(self._state, path, self._synced, force)
        self._tests.read()
        return Path(path)

    @classmethod
    def load(cls, path: str | Path, scores: ArrayLike | None = None) -> Self:
        """Load a campaign; its evidence is computed again from the answers.

        Parameters
        ----------
        path : str or path
            A file that `save` wrote.
        scores : array-like of shape (n_rows,), optional
            The scores of the pool by the current model. They must equal those at the start of the
            campaign, because the promise is about that model.

        Returns
        -------
        campaign : Campaign
            Ready to go on.

        Raises
        ------
        ValueError
            If the file is not a campaign, is damaged or from a newer version, or if the scores have
            changed.
        """
        campaign = cls._of(load_state(path))
        if scores is not None:
            campaign.check_scores(scores)
        campaign._synced = Synced.of(Path(path), campaign._state.log)
        return campaign

    def as_dict(self) -> dict[str, Any]:
        """Return the campaign as plain JSON values.

        Returns
        -------
        content : dict
            What `save` writes.
        """
        return content_of(self._state)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Return the campaign that `as_dict` wrote.

        Parameters
        ----------
        content : dict
            What `as_dict` returned.

        Returns
        -------
        campaign : Campaign
            Ready to go on.
        """
        return cls._of(state_from(content))

    @classmethod
    def _of(cls, state: CampaignState) -> Self:
        """Go on with a state; `__init__` would plan a new campaign."""
        return object.__new__(cls)._begin(state)

    def check_scores(self, scores: ArrayLike) -> None:
        """Raise ValueError if the scores of the pool are not those at the start of the campaign.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            The scores of the pool by the current model.
        """
        self._state.require_scores(scores)

    def __repr__(self) -> str:
        labeled = f"{counted(self.n_labels, 'label')} of {counted(self.n_rows, 'row')}"
        return f"<Campaign {len(self.ledger)}: {self.target}, {labeled}>"

    def _repr_html_(self) -> str:
        return self.verdict()._repr_html_()


def _require_choice(name: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {given!r}.")
