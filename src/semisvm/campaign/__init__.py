"""Label until certified: freeze a model, draw rows of a pool at random, ask for their labels, stop when they prove it.

**The claim about the pool.** Among these N rows, which had no label when the campaign began, the rows that the model
accepts at the certified threshold have (say) precision at least p. The chance, over the random clocks drawn here, that
a campaign ever says such a thing wrongly is at most 1 - confidence. Labels are fixed and unknown: no independence, no
calibrated scores and no random training labels are needed, and the pool may have served as unlabeled training rows.

**The claim about new rows.** The same for new rows from the source of the pool. It needs besides that the pool is an
independent sample of that source and took no part in training, not even as unlabeled rows. A fifth of the pool then
only sets the thresholds, so that the other rows are independent of them.

What is frozen at the start: thresholds, their order, the speeds of the draws, the beliefs that bet. Training labels are
used for these, and for nothing else.

    model      scores of a classifier for one class, what is frozen, and the classifier with a threshold of its own
    draws      one random order of the pool, in which every claim reads its own rows; the answers
    claims     the evidence of one target at one threshold, from the answers so far
    sequence   all claims in the order of their tests, and which rows to ask for next
    verdict    what came of it: a table, an operating point, sentences
    stored     what a campaign consists of, and the file in which it is kept
    record     the claim in one sentence, and how the evidence grew, for the report

The arithmetic is in `semisvm.decision`, which has nothing random in it; here are seeds, answers, files and models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.draws import AnswerLog, make_seed, read_seed, time_now
from semisvm.campaign.model import (
    ThresholdClassifier,
    calibration_of,
    find_pos_label,
    plan_campaign,
    response_of,
    scores_for_class,
)
from semisvm.campaign.record import CampaignSummary, claim_in_words, first_price, summarize_campaign
from semisvm.campaign.sequence import ThresholdEvidence
from semisvm.campaign.stored import StoredCampaign, join_ledgers, pool_scores
from semisvm.campaign.verdict import CampaignVerdict, PriceList, make_verdict
from semisvm.decision import Target
from semisvm.decision.betting import SamplingClaim
from semisvm.decision.checks import check_confidence

__all__ = [
    "Campaign",
    "CampaignSummary",
    "CampaignVerdict",
    "PriceList",
    "ThresholdClassifier",
    "ThresholdEvidence",
    "claim_in_words",
    "first_price",
    "summarize_campaign",
]


class Campaign(StoredCampaign):
    """Label rows of a pool until a threshold is certified.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the pool by a fitted classifier, which must not change until the campaign ends. The row numbers of
        the campaign are places in this array.
    min_precision, min_recall, min_f : float, optional
        What to certify; at least one of these and `max_cost`. Several have to hold at the same threshold.
    max_cost : float, optional
        The highest expected cost per row; it needs `costs`.
    beta : float, default=1.0
        Of the F-score.
    costs : (float, float), optional
        Cost of a missed positive and of an accepted negative.
    confidence : float, default=0.9
        The probability with which the promise holds.
    claim : {"pool", "new rows"}, default="pool"
        About these rows, or about new rows from the same source. The second needs a pool that took no part in training,
        not even as unlabeled rows.
    calibration : (scores, sign), optional
        Scores and true signs (+1, -1) of labeled rows by fits that had not seen their labels. They say where to look
        first. A promise does not depend on them, but the number of labels does.
    probabilities : array-like of shape (n_rows,), optional
        The predicted chance that each row is positive; by default from `calibration`, or from the scores alone.
    thresholds : array-like, optional
        Thresholds to test, in this order; by default they are chosen from scores and calibration.
    dont_know : {"bad", "leave out"}, default="bad"
        What the answer None means. "bad": the row counts as an error of the model, so that the promise errs on the safe
        side. "leave out": the promise is about the rows that can be decided.
    after : sequence of Campaign or dict, default=()
        Earlier campaigns on the same task, whose risks are added to this one's (their `ledger` entries are enough).
    seed : str, optional
        Hexadecimal digits, for tests; by default from the operating system. Whoever draws seeds until one passes has
        proved nothing: the seed given is recorded as such.
    classes, pos_label : optional
        With them, answers are class labels: `pos_label` is positive, any other of `classes` negative. Without them,
        answers are 1 and 0.

    Attributes
    ----------
    target : Target
        What is to be certified.
    confidence : float
        The confidence.
    claim : {"pool", "new rows"}
        What the promise is about.
    ledger : list of dict
        All campaigns on this task, this one last: number, time, target, claim, risk.
    about : dict
        Free for notes of the caller, as plain JSON values; kept in the file.

    See Also
    --------
    ThresholdClassifier : A classifier with the certified threshold.

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
        after: Sequence[Any] = (),
        seed: str | None = None,
        classes: Sequence[Any] | None = None,
        pos_label: Any = None,
    ):
        self.target = Target(min_precision, min_recall, beta, costs, None, min_f, max_cost)
        self.confidence = check_confidence(confidence)
        self.claim, self.dont_know = claim, dont_know
        for name, allowed in (("claim", ("pool", "new rows")), ("dont_know", ("bad", "leave out"))):
            if (given := getattr(self, name)) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {given!r}.")
        if not self.target.is_constrained:
            raise ValueError("Say what to certify: min_precision, min_recall, min_f or max_cost.")
        if max_cost is not None and dont_know == "leave out":
            raise ValueError('max_cost counts every row: dont_know="leave out" can\'t be combined with it; use "bad".')
        vector = pool_scores(scores)
        self.seed_given = seed is not None
        self._seed = make_seed() if seed is None else read_seed(seed)
        self._plan = plan_campaign(
            vector,
            self.target,
            self.confidence,
            self.claim,
            self._seed,
            calibration=calibration,
            probabilities=probabilities,
            thresholds=thresholds,
        )
        self.ledger = join_ledgers(after)
        self.ledger.append(
            {
                "campaign": len(self.ledger) + 1,
                "created": time_now(),
                "target": str(self.target),
                "claim": self.claim,
                "risk": 1 - self.confidence,
            }
        )
        label = None if classes is None else find_pos_label(np.asarray(classes), pos_label)
        self._begin(AnswerLog(len(vector), classes, label), [])

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
        """Begin a campaign about the predictions of a fitted classifier.

        Parameters
        ----------
        model : classifier
            Fitted, with `decision_function` or `predict_proba`; of this library or of scikit-learn.
        X_pool : {array-like, sparse matrix} of shape (n_rows, n_features)
            The pool: rows whose labels are not known.
        pos_label : label, optional
            The positive class; by default the second of two. With more classes, the score of a row is the lead of the
            positive class over the best other one.
        training : (X, y), optional
            The rows that the model was fitted on. It is fitted again in five folds, to learn what scores of rows mean
            that it has not seen.
        calibration : (scores, sign), optional
            The result of that, if it is known already; `PreferenceSVC` knows it.
        **options
            Parameters of `Campaign`: the target, `confidence`, `claim` and the others.

        Returns
        -------
        Campaign
            Ready to draw. Answers are class labels of the model.

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
        raw, method = response_of(model, X_pool)
        label = find_pos_label(model.classes_, pos_label)
        if calibration is None:
            calibration = calibration_of(model, label, training, method)
        scores = scores_for_class(raw, model.classes_, label)
        earlier = [*getattr(model, "campaigns_", []), *options.pop("after", ())]
        found = cls(
            scores, calibration=calibration, classes=list(model.classes_), pos_label=label, after=earlier, **options
        )
        model.campaigns_ = [dict(entry) for entry in found.ledger]
        return found

    def draw(self, n: int = 10) -> list[int]:
        """Return the next rows to label.

        Parameters
        ----------
        n : int, default=10
            How many.

        Returns
        -------
        list of int
            Row numbers; rows that were drawn before and have no answer yet come first. Empty when there is nothing left
            to ask: every threshold is certified, or every row that matters is answered.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        rows: list[int] = []
        for bands, limit in self._tests.what_to_draw(self._standing()):
            wanted = n - len(rows) if limit is None else min(limit, n - len(rows))
            taken = set(rows)
            found = self._order.next_rows(bands, wanted + len(rows))
            rows += [row for row in found if row not in taken][:wanted]
        return rows

    def tell(self, rows: Iterable[int] | int, answers: Any) -> None:
        """Give answers, for rows that were drawn or for any others; an answer given before is corrected.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers.
        answers : label or sequence of labels
            One per row: class labels if the campaign knows the classes, else 1 or 0; None (or NaN) for "don't know".

        Notes
        -----
        Corrections are kept in a log and their number is shown. Answers that are changed because of the verdict make
        it worthless, and nothing can detect that.
        """
        if isinstance(rows, int | np.integer):
            rows, answers = [int(rows)], [answers]
        numbers = list(rows)
        self._log.add(numbers, list(answers))
        self._order.answer(int(row) for row in numbers)

    def withdraw(self, rows: Iterable[int] | int) -> None:
        """Take answers back, as if they had not been given; the rows are asked again.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers; those without an answer stay as they are. Each withdrawal is logged as a correction.
        """
        self._log.remove([int(rows)] if isinstance(rows, int | np.integer) else list(rows))
        self._order.forget()
        self._order.answer(self.answers)

    def verdict(self) -> CampaignVerdict:
        """Return what is proved so far; it may be called at any time and changes nothing.

        Returns
        -------
        CampaignVerdict
            Whether a threshold is certified, which, and what the next one takes.
        """
        return make_verdict(self)

    def prices(self) -> PriceList:
        """Return what each threshold is predicted to give and to cost in labels, as far as is known now.

        Returns
        -------
        PriceList
            One line per threshold; print it. The forecasts are about right where the predictions are: with right
            predictions half of the campaigns take less than 0.7 to 0.9 of it, and one in ten takes twice as many.
        """
        return PriceList(self._standing().table, self._tests.fewest_labels())
