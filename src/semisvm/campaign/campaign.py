"""A campaign: freeze the model, draw rows at random, ask for their labels, certify a threshold once they prove it.

**The claim about the pool.** Among these N rows, which had no label when the campaign began, the rows that the model
accepts at the certified threshold have (say) precision at least p. The chance, over the random clocks drawn here, that
a campaign ever says such a thing wrongly is at most 1 - confidence. Labels are fixed and unknown: no independence, no
calibrated scores and no random training labels are needed, and the pool may have served as unlabeled training rows.

**The claim about new rows.** The same for new rows from the source of the pool. It needs besides that the pool is an
independent sample of that source and took no part in training, not even as unlabeled rows. A fifth of the pool then
only sets the thresholds, so that the other rows are independent of them.

What is frozen at the start: thresholds, their order, the speeds of the draws, the beliefs that bet. Training labels are
used for these, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semisvm.campaign.answers import AnswerLog, time_now
from semisvm.campaign.clocks import DrawOrder, make_seed, read_seed
from semisvm.campaign.prediction import calibration_of, own_accepted, predict_positive, read_calibration
from semisvm.campaign.sequence import ClaimSequence, Standing
from semisvm.campaign.state import (
    CAMPAIGN_KIND,
    CAMPAIGN_VERSION,
    digest_of_bands,
    installed_version,
    join_ledgers,
    plan_as_dict,
    plan_from_dict,
    read_campaign,
    write_campaign,
)
from semisvm.campaign.threshold import find_pos_label, response_of, scores_for_class
from semisvm.campaign.verdict import CampaignVerdict, Given, PriceList, certified_point, make_verdict
from semisvm.decision import Target
from semisvm.decision.checks import check_confidence, check_scores
from semisvm.decision.operating_point import SamplingClaim
from semisvm.decision.sampling_plan import SamplingPlan, make_plan

ASIDE = 0.2  # of the pool sets the thresholds where the claim is about new rows
MOST_THRESHOLDS = 100


class Campaign:
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
        self.claim = _one_of(claim, ("pool", "new rows"), "claim")
        self.dont_know = _one_of(dont_know, ("bad", "leave out"), "dont_know")
        if not self.target.is_constrained:
            raise ValueError("Say what to certify: min_precision, min_recall, min_f or max_cost.")
        if max_cost is not None and dont_know == "leave out":
            raise ValueError('max_cost counts every row: dont_know="leave out" can\'t be combined with it; use "bad".')
        vector = _pool_scores(scores)
        self.seed_given = seed is not None
        self._seed = make_seed() if seed is None else read_seed(seed)
        self._plan = self._make_plan(vector, calibration, probabilities, thresholds)
        self.ledger: list[dict[str, Any]] = join_ledgers(
            one.ledger if isinstance(one, Campaign) else [one] for one in after
        )
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

    def _make_plan(self, scores: np.ndarray, calibration: Any, probabilities: Any, thresholds: Any) -> SamplingPlan:
        known = None if calibration is None else read_calibration(*calibration)
        if probabilities is None:
            chances = predict_positive(scores, known)
        else:
            chances = check_scores(probabilities, "probabilities")
            if len(chances) != len(scores) or chances.min() < 0 or chances.max() > 1:
                raise ValueError(f"probabilities must be {len(scores)} numbers from 0 to 1, one per row of the pool.")
        given = None if thresholds is None else check_scores(np.ravel(thresholds), "thresholds")
        if given is not None and len(given) > MOST_THRESHOLDS:
            raise ValueError(f"At most {MOST_THRESHOLDS} thresholds can be tested, got {len(given)}.")
        aside = None
        if self.claim == "new rows" and given is None:
            random = np.random.default_rng(int.from_bytes(self._seed, "big"))
            aside = random.permutation(len(scores)) < max(1, round(ASIDE * len(scores)))
            if aside.all():
                raise ValueError("A pool of one row is not enough for a claim about new rows.")
        return make_plan(
            scores,
            chances,
            self.target,
            1 - self.confidence,
            n_base=own_accepted(scores, known, self.target),
            thresholds=given,
            equal_draws=self.claim == "new rows",
            aside=aside,
        )

    def _begin(self, log: AnswerLog, experts: list[Any]) -> None:
        """Set up the claims; `experts` are those of a file, or none."""
        self._log = log
        self._digests: dict[str, str] = {"scores": digest_of_bands(self._plan.bands)}
        self.about: dict[str, Any] = {}
        self._order = DrawOrder(self._plan, self._seed)
        self._order.answer(log.codes)
        leaves_out = self.dont_know == "leave out"
        self._tests = ClaimSequence(self._plan, self.target, self.confidence, self.claim, leaves_out=leaves_out)
        self._tests.bet_as(experts)

    # ---- what people call ----

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

    def verdict(self) -> CampaignVerdict:
        """Return what is proved so far; it may be called at any time and changes nothing.

        Returns
        -------
        CampaignVerdict
            Whether a threshold is certified, which, and what the next one takes.
        """
        standing = self._standing()
        given = Given(self.n_labels, len(self._log.corrections), self.n_in_play, len(self.ledger), self.total_risk)
        point = None
        if standing.best is not None:
            point = certified_point(self._tests, standing, standing.best, self._order, self.answers, given)
        return make_verdict(self._tests, standing, point, given)

    def prices(self) -> PriceList:
        """Return what each threshold is predicted to give and to cost in labels, as far as is known now.

        Returns
        -------
        PriceList
            One line per threshold; print it. The forecasts are about right where the predictions are: with right
            predictions half of the campaigns take less than 0.7 to 0.9 of it, and one in ten takes twice as many.
        """
        return PriceList(self._standing().table, self._tests.fewest_labels())

    def _standing(self) -> Standing:
        return self._tests.standing(self._order, self.answers)

    @property
    def answers(self) -> dict[int, float]:
        """The answer of each row: 1 positive, 0 negative, NaN "don't know"."""
        return self._log.codes

    @property
    def classes(self) -> list[Any] | None:
        """The class labels that answers are given in; None where answers are 1 and 0."""
        return self._log.classes

    @property
    def n_labels(self) -> int:
        """The number of rows with an answer, "don't know" included."""
        return len(self.answers)

    @property
    def n_rows(self) -> int:
        """The number of rows in the pool."""
        return len(self._plan.bands)

    @property
    def n_in_play(self) -> int:
        """The number of rows that the promise rests on: all, or those that did not set the thresholds."""
        return int((self._plan.bands <= len(self._plan.sizes)).sum())

    @property
    def corrections(self) -> list[dict[str, Any]]:
        """Answers that were changed: row, from, to, time."""
        return [dict(one) for one in self._log.corrections]

    @property
    def total_risk(self) -> float:
        """The chance, at most, that any campaign of the ledger is wrong: the sum of their risks."""
        return min(1.0, sum(entry["risk"] for entry in self.ledger))

    def save(self, path: str | Path) -> Path:
        """Write the campaign to a JSON file, from which it can go on.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced. It is complete or stays as it was.

        Returns
        -------
        path
            The file that was written.
        """
        return write_campaign(self.as_dict(), path)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "kind": CAMPAIGN_KIND,
            "version": CAMPAIGN_VERSION,
            "semisvm": installed_version(),
            "target": self.target.as_dict(),
            "confidence": self.confidence,
            "claim": self.claim,
            "dont_know": self.dont_know,
            "seed": self._seed.hex(),
            "seed_given": self.seed_given,
            "classes": self._log.classes,
            "pos_label": self._log.pos_label,
            "ledger": self.ledger,
            "digests": self._digests,
            "about": self.about,
            "plan": plan_as_dict(self._plan),
            "experts": self._tests.experts(),
            "answers": self._log.as_lists(),
            "corrections": self._log.corrections,
        }

    @classmethod
    def load(cls, path: str | Path, scores: ArrayLike | None = None) -> Campaign:
        """Read a campaign; its evidence is computed again from the answers.

        Parameters
        ----------
        path : str or path
            What `save` wrote.
        scores : array-like of shape (n_rows,), optional
            The scores of the pool by the model as it is now. If they are not those that the campaign began with, it is
            refused: a promise about a model that has changed has no meaning.

        Returns
        -------
        Campaign
            The campaign, ready to go on.

        Raises
        ------
        ValueError
            If the file is not that of a campaign, is damaged or newer, or if the scores have changed.
        """
        found = cls.from_dict(read_campaign(path))
        if scores is not None:
            found.check_scores(scores)
        return found

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Campaign:
        """Return the campaign that `as_dict` wrote."""
        found = cls.__new__(cls)
        found.target = Target.from_dict(content["target"])
        found.confidence, found.claim = content["confidence"], content["claim"]
        found.dont_know, found.seed_given = content["dont_know"], content["seed_given"]
        found._seed = bytes.fromhex(content["seed"])
        found.ledger = content["ledger"]
        found._plan = plan_from_dict(content["plan"])
        log = AnswerLog(len(found._plan.bands), content["classes"], content["pos_label"])
        log.read_lists(content["answers"], content["corrections"])
        found._begin(log, content["experts"])
        found._digests = content["digests"]
        found.about = content["about"]
        return found

    def check_scores(self, scores: ArrayLike) -> None:
        """Refuse to go on if the model's scores of the pool are not those that the campaign began with.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            The scores of the pool by the model as it is now.
        """
        vector = _pool_scores(scores)
        plan = self._plan
        is_same = len(vector) == len(plan.bands)
        for one in plan.thresholds if is_same else ():
            in_play = plan.bands <= len(plan.sizes)
            is_same &= np.array_equal(vector[in_play] > one.threshold, plan.bands[in_play] < one.n_bands)
        if not is_same:
            raise ValueError(
                "The scores of the pool are not those that the campaign began with: the model or the rows have "
                "changed. A promise holds for the frozen model only. Go on with that model, or start a new campaign."
            )

    def __repr__(self) -> str:
        return f"<Campaign {len(self.ledger)}: {self.target}, {self.n_labels} labels of {self.n_rows:,} rows>"


def _pool_scores(scores: ArrayLike) -> np.ndarray:
    vector = np.asarray(scores, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"scores must have one number per row of the pool, got an array of shape {vector.shape}.")
    if not len(vector):
        raise ValueError("The pool is empty: there is nothing to certify. Give rows without labels.")
    return check_scores(vector)


def _one_of(value: Any, allowed: tuple[str, ...], name: str) -> Any:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return value
