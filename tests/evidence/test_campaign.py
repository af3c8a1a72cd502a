"""What a campaign does with rows, answers, labels, classes and files, whatever it promises."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from semisvm.errors import DataError
from semisvm.evidence import Campaign

N = 400
RNG = np.random.default_rng(0)
SCORES = RNG.random(N)
TRUTH = (RNG.random(N) < SCORES**0.5).astype(int)
MACHINE = np.array(["bug", "question", "praise"])[RNG.integers(0, 3, N)]
WRONG = RNG.random(N) < 0.5 * (1 - SCORES)
KIND = np.where(WRONG, "spam", MACHINE)  # a class that the machine never says


def begin(promise, **options):
    options = {"random_state": 0} | options
    if promise == "max_error":
        return Campaign.for_labels(MACHINE, SCORES, max_error=0.1, **options)
    if promise == "labels":
        return Campaign.for_labels(MACHINE, SCORES, min_precision=0.8, **options)
    if promise == "per class":
        return Campaign.for_labels(MACHINE, SCORES, max_error=0.2, per_class=True, **options)
    if promise == "recall":
        return Campaign(SCORES, min_recall=0.8, **options)
    if promise == "few labels":
        return Campaign(SCORES, min_recall=0.8, **{"budget": 100} | options)
    about = {"new rows": {"claim": "new rows"}, "returned": {"about": "returned"}}
    if promise == "unseen":
        options = {"budget": 80} | options
    return Campaign(SCORES, min_precision=0.8, **about.get(promise, {}) | options)


PROMISES = [
    "unseen",
    "returned",
    "new rows",
    "recall",
    "few labels",
    "max_error",
    "labels",
    "per class",
]
every_promise = pytest.mark.parametrize("promise", PROMISES)


def truth_of(promise):
    return KIND if promise in ("max_error", "labels", "per class") else TRUTH


def run(campaign, truth, most=150, at_once=10):
    for rows in campaign.batches(at_once):
        campaign.tell(rows, truth[rows])
        if campaign.n_labels >= most:
            break
    return campaign


# ---- the same campaign again ----


@every_promise
def test_a_campaign_is_a_function_of_its_job_and_its_log(promise, tmp_path):
    truth = truth_of(promise)
    campaign = run(begin(promise), truth, most=60)
    some = list(campaign.labels)[:3]
    campaign.tell(some[0], None)  # a correction
    campaign.take_back(some[1])
    campaign.tell(some[2], truth[some[2]])
    path = campaign.save(tmp_path / "campaign.json")
    one_by_one = begin(promise)
    for row, *label in campaign.as_dict()["log"]:
        one_by_one.tell(row, label[0]) if label else one_by_one.take_back(row)
    for other in (one_by_one, Campaign.load(path), Campaign.load(path, SCORES)):
        assert other.labels == campaign.labels
        assert other.draw(7) == campaign.draw(7)
        assert other.verdict() == campaign.verdict()
        np.testing.assert_array_equal(other.accepted(), campaign.accepted())
    assert begin(promise, random_state=1).draw(20) != begin(promise).draw(20)


@every_promise
def test_draws_and_verdicts_change_nothing(promise):
    truth = truth_of(promise)
    quiet, asked = begin(promise), begin(promise)
    for _ in range(4):
        rows = quiet.draw(10)
        asked.draw(3), asked.verdict(), asked.completed(), asked.draw(25)
        assert asked.draw(10) == rows
        quiet.tell(rows, truth[rows])
        for row in rows:
            asked.tell(row, truth[row])
    assert asked.verdict() == quiet.verdict()


@every_promise
def test_every_row_is_accounted_for(promise):
    truth = truth_of(promise)
    campaign = run(begin(promise), truth)
    verdict, completed = campaign.verdict(), campaign.completed()
    by_person = completed.source == "person"
    assert by_person.sum() == campaign.n_labels == verdict.n_labels
    assert (completed.labels[by_person] == truth[by_person]).all()
    assert (completed.source == "machine").sum() == verdict.n_unseen
    assert [
        label for label in completed.labels[completed.source == "open"] if label is not None
    ] == []
    assert verdict.n_labels + verdict.n_unseen + verdict.n_open == N
    assert not set(campaign.accepted()) & set(campaign.labels)
    if promise == "recall":
        assert len(campaign.accepted()) == verdict.n_open
    elif promise != "few labels":
        assert len(campaign.accepted()) == verdict.n_unseen
    assert len(campaign.found()) == verdict.n_found
    assert str(verdict).count("  ") == 0
    json.dumps(verdict.as_dict())


@every_promise
def test_promises_hold_on_this_pool(promise):
    truth = truth_of(promise)
    campaign = run(begin(promise), truth, most=N)
    verdict, completed = campaign.verdict(), campaign.completed()
    kept = completed.source == "machine"
    assert verdict.certified
    if promise in ("max_error", "per class"):
        assert (completed.labels[kept] != truth[kept]).sum() <= (
            0.1 if promise == "max_error" else 0.2
        ) * N
    elif promise == "labels":
        assert (completed.labels[kept] == truth[kept]).mean() >= 0.8
    elif promise in ("recall", "few labels"):
        returned = np.concatenate([campaign.accepted(), campaign.found()])
        assert truth[returned].sum() >= 0.8 * truth.sum()
        assert (completed.labels[kept] == 0).all()
    else:
        assert truth[campaign.accepted()].mean() >= 0.75
        assert (completed.labels[kept] == 1).all()


# ---- ends ----


def test_a_loop_ends_and_says_why():
    campaign = begin("unseen", budget=30)
    n = [len(rows) for rows in _told(campaign, TRUTH)]
    assert sum(n) == 30 or campaign.verdict().stop.startswith("More labels")
    few = Campaign(SCORES[:8], min_recall=0.9, random_state=0)
    run(few, TRUTH)
    assert few.verdict().stop
    assert few.draw() == []
    for row in range(8):
        few.tell(row, TRUTH[row])
    assert few.verdict().stop == "All rows are labeled."
    used = begin("few labels", budget=20)
    run(used, TRUTH)
    assert used.verdict().stop == "The budget of 20 labels is used."


def _told(campaign, truth):
    for rows in campaign.batches(10):
        campaign.tell(rows, truth[rows])
        yield rows


def test_a_loop_that_tells_nothing_is_an_error():
    with pytest.raises(RuntimeError, match="No answer was told since the last batch"):
        for _ in begin("unseen").batches(5):
            pass


def test_the_budget_of_a_loop():
    campaign = Campaign(SCORES, min_precision=0.8, random_state=0)
    assert campaign.job.budget == 200
    for rows in campaign.batches(10, budget=20):
        campaign.tell(rows, TRUTH[rows])
    assert campaign.job.budget == 20
    assert campaign.n_labels <= 20
    with pytest.raises(ValueError, match="planned for a budget of 20"):
        next(campaign.batches(10, budget=50))


# ---- answers ----


def test_answers_of_all_kinds():
    campaign = begin("unseen")
    given = [1, 0, True, np.int8(1), np.array(1), Decimal(1), Fraction(0), 1.0, None, float("nan")]
    campaign.tell(range(len(given)), given)
    campaign.tell(np.int64(20), np.bool_(True))
    assert list(campaign.labels.values()) == [1, 0, True, 1, 1, 1, 0, 1, None, None, True]
    json.dumps(campaign.as_dict())
    assert begin("max_error").draw(3)
    labels = begin("max_error")
    labels.tell([0, 1], ["never said", None])
    assert labels.completed().labels[:2].tolist() == ["never said", None]
    assert labels.completed().source[:2].tolist() == ["person", "open"]


@pytest.mark.parametrize(
    ("rows", "answers", "words"),
    [
        ([], [], "There is nothing to tell"),
        ([1, 2], [1], "2 rows and 1 answers: give one answer for each row"),
        (N, 1, r"There is no row 400: rows are whole numbers from 0 to 399"),
        (1.5, 1, "There is no row 1.5"),
        (3, "yes", r"Row 3: an answer is 1 \(positive\), 0 \(negative\) or None"),
        (3, [[1]], "An answer is text, a number or None"),
    ],
)
def test_answers_that_are_refused(rows, answers, words):
    campaign = begin("unseen")
    with pytest.raises(ValueError, match=words):
        campaign.tell(rows, answers)
    assert campaign.labels == {}


def test_all_or_no_answers_of_a_batch_are_taken():
    campaign = begin("unseen")
    with pytest.raises(ValueError, match="Row 2"):
        campaign.tell([0, 1, 2], [1, 0, "?"])
    assert campaign.n_labels == 0


def test_dont_know_counts_against_the_promise():
    sure, unsure = begin("unseen"), begin("unseen")
    for campaign, no in ((sure, 0), (unsure, None)):
        for rows in campaign.batches(10):
            campaign.tell(rows, [1 if TRUTH[row] else no for row in rows])
    np.testing.assert_array_equal(sure.accepted(), unsure.accepted())
    assert (unsure.completed().source == "open").sum() > (sure.completed().source == "open").sum()


def test_corrections_count():
    campaign = run(begin("max_error"), KIND)
    before = campaign.verdict().n_unseen
    right = [row for row in campaign.labels if KIND[row] == MACHINE[row]]
    campaign.tell(right, ["no"] * len(right))
    assert campaign.verdict().n_unseen < before
    campaign.tell(right, KIND[right])
    assert campaign.verdict().n_unseen == before
    campaign.take_back(right)
    assert campaign.n_labels == before * 0 + len(campaign.labels)


def test_labels_spelled_otherwise_are_refused():
    campaign = Campaign.for_labels(np.arange(60) % 3, max_error=0.1, random_state=0)
    with pytest.raises(ValueError, match="the answer '2' is not the machine's label 2"):
        campaign.tell(0, "2")
    campaign.tell(0, 7)  # a class that the machine never says


# ---- confidences, classes, models ----


def test_confidences_in_percent_are_those_in_shares():
    percent = Campaign.for_labels(MACHINE, 100 * SCORES, max_error=0.1, random_state=0)
    shares = begin("max_error")
    run(percent, KIND)
    run(shares, KIND)
    assert percent.draw(5) == shares.draw(5)
    assert percent.verdict().n_unseen == shares.verdict().n_unseen


def test_per_class_promises_have_their_own_clocks_and_risks():
    campaign = run(begin("per class", random_state=1), KIND, most=N)
    verdict = campaign.verdict()
    assert set(verdict.classes) == {"bug", "praise", "question"}
    assert sum(one.n_rows for one in verdict.classes.values()) == N
    risks = [part.risk for _, part in campaign._parts]
    assert risks == pytest.approx([1 - 0.9 ** (1 / 3)] * 3)
    plans = {part.scan.plan for _, part in campaign._parts if part.scan}
    assert len(plans) == 3
    for name, one in verdict.classes.items():
        kept = (campaign.completed().source == "machine") & (MACHINE == name)
        assert WRONG[kept].sum() <= 0.2 * one.n_rows


def test_a_precision_for_some_classes_leaves_the_others_for_people():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X[::5], y[::5])
    campaign = Campaign.for_model(
        model, X, min_precision={1: 0.7, 2: 0.7}, random_state=0, budget=80
    )
    run(campaign, y)
    predicted = model.predict(X)
    assert set(predicted[campaign.accepted()]) <= {1, 2}
    assert len(campaign.accepted())
    completed = campaign.completed()
    machine = completed.source == "machine"
    assert (completed.labels[machine] == predicted[machine]).all()


@pytest.mark.parametrize("model", [LogisticRegression(), SVC()])
def test_a_campaign_about_a_model_of_two_classes(model):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.array(["versicolor", "virginica"])[y[50:] - 1]
    model.fit(X[::4], y[::4])
    campaign = Campaign.for_model(model, X, min_recall=0.8, random_state=0, pos_label="versicolor")
    run(campaign, y, most=100)
    assert campaign.verdict().certified
    completed = campaign.completed()
    assert set(completed.labels[completed.source == "machine"]) == {"virginica"}
    with pytest.raises(ValueError, match="'setosa' is not a class of the model"):
        campaign.tell(0, "setosa")


def test_constant_scores_are_a_random_order():
    campaign = Campaign(np.ones(200), min_precision=0.5, random_state=0, budget=60)
    truth = (np.random.default_rng(1).random(200) < 0.9).astype(int)
    run(campaign, truth)
    assert campaign.verdict().certified
    assert campaign.draw(1) == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Campaign(SCORES), "Ask for one promise"),
        (lambda: Campaign(SCORES, min_precision=0.8, min_recall=0.8), "Ask for one promise"),
        (lambda: Campaign([], min_precision=0.8), "The pool is empty"),
        (lambda: Campaign([[1.0]], min_precision=0.8), "one number for each row"),
        (lambda: Campaign(["a"], min_precision=0.8), "scores must be numbers"),
        (lambda: Campaign([1.0, np.nan], min_precision=0.8), "row 1 has nan"),
        (lambda: Campaign(SCORES, min_precision=1.2), "min_precision must be between 0 and 1"),
        (lambda: Campaign(SCORES, min_recall=1), "min_recall must be between 0 and 1"),
        (lambda: begin("max_error", confidence=1), "confidence must be between 0 and 1"),
        (lambda: begin("unseen", budget=0), "budget must be a whole number"),
        (lambda: begin("unseen", random_state="01"), "random_state must be an int or None"),
        (lambda: Campaign(SCORES, min_precision=0.8, about="all"), 'about must be "unseen"'),
        (lambda: Campaign(SCORES, min_precision=0.8, claim="all"), 'claim must be "pool"'),
        (lambda: Campaign(SCORES, min_recall=0.8, about="returned"), "for min_precision only"),
        (lambda: Campaign(SCORES, min_precision={1: 0.8}), "use Campaign.for_model or"),
        (lambda: Campaign(SCORES, min_precision=0.8, probabilities=[2.0]), "1 probabilities for"),
        (lambda: Campaign.for_labels(["a", None], max_error=0.1), "row 1 has no label"),
        (lambda: Campaign.for_labels(["a"], [1, 2], max_error=0.1), "1 labels and 2 confidences"),
        (lambda: Campaign.for_labels(["a"], min_precision={"b": 0.8}), "No row has the label 'b'"),
        (lambda: Campaign.for_model(object(), SCORES, min_recall=0.8), "object has neither"),
        (lambda: begin("unseen").draw(0), "n must be a whole number"),
        (lambda: begin("unseen").draw(1.5), "n must be a whole number"),
        (lambda: Campaign(SCORES, min_precision="0.9"), "min_precision must be between 0 and 1"),
        (lambda: begin("unseen", confidence="0.9"), "confidence must be between 0 and 1"),
        (lambda: begin("unseen", confidence=1 - 1e-9), "confidence must be at most"),
        (lambda: begin("unseen", budget="10"), "budget must be a whole number"),
        (lambda: begin("unseen").certificate("c"), "There is nothing to certify yet"),
        (lambda: run(begin("returned"), TRUTH).certificate("c"), "Certificate files are for"),
        (lambda: run(begin("few labels"), TRUTH).certificate("c"), "Keep the campaign itself"),
    ],
)
def test_what_is_refused_says_what_to_do(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


# ---- files ----


def test_files_are_refused_in_words(tmp_path):
    path = begin("unseen").save(tmp_path / "c.json")
    with pytest.raises(DataError, match="the file exists"):
        begin("unseen").save(path)
    with pytest.raises(ValueError, match="began with other scores"):
        Campaign.load(path, SCORES[::-1])
    one, other = Campaign.load(path), Campaign.load(path)
    one.tell(0, 1)
    one.save(path)
    with pytest.raises(DataError, match="another program has written it"):
        other.save(path)
    content = json.loads(path.read_text())
    for text, words in {
        "": "not the file of a semisvm campaign",
        "[1]": "not the file of a semisvm campaign",
        json.dumps(content | {"version": 9}): "version 9",
    }.items():
        path.write_text(text)
        with pytest.raises(DataError, match=words):
            Campaign.load(path)
    with pytest.raises(DataError, match="can't be read"):
        Campaign.load(tmp_path / "none")


def test_the_verdict_tells_two_parts_apart():
    sentence = str(run(begin("returned"), TRUTH).verdict())
    assert "that people found" in sentence
    assert "unseen, of which at least" in sentence
    assert "are right. People found" in str(run(begin("labels", budget=60), KIND).verdict())
    before = str(begin("returned").verdict())
    assert "Nothing unseen is certified after 0 labels" in before


@pytest.mark.parametrize("change", [{"log": 5}, {"log": [[10**6, 1]]}, {"job": {}}, {"job": None}])
def test_a_damaged_file_is_named(change, tmp_path):
    path = begin("unseen").save(tmp_path / "campaign.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=r"campaign\.json: it is damaged"):
        Campaign.load(path)
