"""A stranger's program agrees with the library, shares no code with it, and notices tampering."""

import ast
import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from semisvm.evidence import Campaign, verify
from semisvm.evidence.verify import verify as faults_of


def finished(promise, seed, n=None):
    """A campaign on simulated rows, labeled until it ends or proves enough."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(60, 400))
    scores = rng.random(n).round(int(rng.integers(1, 9)))
    positive = (rng.random(n) < scores ** rng.uniform(0.1, 2)).astype(int)
    labels = rng.integers(0, 3, n)
    kind = np.where(rng.random(n) < 0.6 + 0.4 * scores, labels, 9)
    budget = int(rng.integers(20, 120))
    truth = kind
    if promise == "unseen":
        campaign = Campaign(scores, min_precision=0.7, random_state=seed, budget=budget)
        truth = positive
    elif promise == "recall":
        campaign = Campaign(scores, min_recall=0.8, random_state=seed)
        truth = positive
    elif promise == "per class":
        campaign = Campaign.for_labels(
            labels, scores, min_precision={0: 0.7, 2: 0.6}, random_state=seed, budget=budget
        )
    else:
        campaign = Campaign.for_labels(labels, scores, max_error=0.15, random_state=seed)
    for rows in campaign.batches(int(rng.integers(1, 12))):
        answers = [None if rng.random() < 0.02 else truth[row] for row in rows]
        campaign.tell(rows, answers)
        if rng.random() < 0.05:
            campaign.tell(int(rng.integers(n)), truth[0])
    return campaign


PROMISES = ["unseen", "recall", "max_error", "per class"]


def check_agreement(seeds, folder):
    n_certified = 0
    for seed in seeds:
        for promise in PROMISES:
            campaign = finished(promise, seed)
            if not campaign.verdict().certified:
                continue
            path = campaign.certificate(folder / f"{promise} {seed}.json")
            assert faults_of(json.loads(path.read_text()), campaign.job.scores) == [], (
                promise,
                seed,
            )
            n_certified += 1
    return n_certified


def test_the_stranger_agrees(tmp_path):  # seed 275 kept fewer rows than errors may be left
    assert check_agreement([0, 1, 275], tmp_path) >= 6


@pytest.mark.nightly
def test_the_stranger_agrees_on_a_thousand_campaigns(tmp_path):
    assert check_agreement(range(100, 400), tmp_path) >= 700


def test_the_program_needs_numpy_alone(tmp_path):
    source = Path(verify.__file__)
    tree = ast.parse(source.read_text())
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert imported == {"hashlib", "json", "math", "sys", "numpy"}
    assert len(source.read_text().splitlines()) < 200
    campaign = finished("unseen", 1, 300)
    path = campaign.certificate(tmp_path / "certificate.json")
    np.save(tmp_path / "scores.npy", campaign.job.scores)
    (tmp_path / "check.py").write_text(source.read_text())
    command = [sys.executable, "-I", "check.py", path.name, "scores.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:7]) == (0, "Valid. "), done.stderr
    np.save(tmp_path / "scores.npy", campaign.job.scores[::-1])
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "the scores are not those of the campaign" in done.stdout


# ---- tampering ----


def replan(part, **changes):
    plan = json.loads(part["plan"])
    for name, value in changes.items():
        target = plan["table"] if name in plan.get("table", {}) else plan
        target[name] = value(target[name]) if callable(value) else value
    part["plan"] = json.dumps(plan, sort_keys=True)


def change_answer(cert, before, after):
    for answer in cert["answers"]:
        if answer[1] == before:
            answer[1] = after
            return
    raise AssertionError


def one_less_unseen(cert):
    cert["parts"][0]["unseen"].pop()


def one_more_unseen(cert):
    part = cert["parts"][0]
    answered = {row for row, *_ in cert["answers"]}
    there = {*part["unseen"]} | answered
    part["unseen"].append(next(row for row in reversed(part["rows"]) if row not in there))


def an_answered_row_as_unseen(cert):
    cert["parts"][0]["unseen"].append(cert["answers"][0][0])


def swap_rows(cert):
    rows = cert["parts"][0]["rows"]
    rows[0], rows[-1] = rows[-1], rows[0]


def forget_negatives(cert):
    cert["answers"] = [answer for answer in cert["answers"] if answer[1] == 1]


def all_answers_positive(cert):
    n_wrong = sum(answer[1] != 1 for answer in cert["answers"])
    assert n_wrong
    for answer in cert["answers"]:
        answer[1] = 0


TAMPERINGS = {
    "another file": lambda c: c.update(kind="semisvm campaign"),
    "another version": lambda c: c.update(version=2),
    "another seed": lambda c: c.update(random_state="7"),
    "more confidence": lambda c: c.update(confidence=0.99),
    "more confidence, in words too": lambda c: c.update(
        confidence=0.95, promise=c["promise"].replace("90%", "95%")
    ),
    "a higher precision in words": lambda c: c.update(promise=c["promise"].replace("70%", "75%")),
    "more rows in words": lambda c: c.update(promise=c["promise"].replace("of ", "of 9")),
    "a higher precision in the plan": lambda c: replan(c["parts"][0], min_precision=0.8),
    "more risk in the plan": lambda c: replan(c["parts"][0], risk=0.2),
    "other looks": lambda c: replan(c["parts"][0], looks=lambda t: [0.9 * x for x in t]),
    "other worlds": lambda c: replan(c["parts"][0], worlds="better ones"),
    "other weights": lambda c: replan(c["parts"][0], across=1.0),
    "another name": lambda c: replan(c["parts"][0], name="another"),
    "a plan with spaces": lambda c: c["parts"][0].update(plan=c["parts"][0]["plan"] + " "),
    "one row less": one_less_unseen,
    "one row more": one_more_unseen,
    "an answered row": an_answered_row_as_unseen,
    "more right rows": lambda c: c["parts"][0].update(
        right_at_least=c["parts"][0]["right_at_least"] + 1
    ),
    "another order": swap_rows,
    "a row twice": lambda c: c["parts"][0]["rows"].__setitem__(1, c["parts"][0]["rows"][0]),
    "a row left out of the scan": lambda c: c["parts"][0]["rows"].pop(),
    "answers left out": lambda c: c.update(answers=c["answers"][: len(c["answers"]) // 2]),
    "negative answers left out": forget_negatives,
    "an answer twice": lambda c: c["answers"].append(c["answers"][0]),
    "the other class is positive": lambda c: c.update(positive=0),
    "no answers": lambda c: c.update(answers=[]),
    "no promise": lambda c: c["parts"][0].update(plan="{}"),
    "no parts": lambda c: c.pop("parts"),
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    for seed in range(50):
        campaign = finished("unseen", seed, 300)
        if campaign.verdict().certified and campaign.verdict().n_found < campaign.n_labels - 5:
            path = campaign.certificate(tmp_path_factory.mktemp("certificate") / "c.json")
            return json.loads(path.read_text()), campaign.job.scores
    raise AssertionError


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_noticed(certificate, name):
    content, scores = certificate
    assert faults_of(content, scores) == []
    tampered = copy.deepcopy(content)
    TAMPERINGS[name](tampered)
    assert tampered != content
    assert faults_of(tampered, scores) != []


@pytest.mark.parametrize(
    ("promise", "changes", "words"),
    [
        ("max_error", {"most_found": lambda c: [x + 1 for x in c]}, "does not keep its risk"),
        ("max_error", {"b": lambda b: b + 5}, "more errors are left"),
        ("max_error", {"max_error": 0.5}, "the sentence does not say 50%"),
        ("recall", {"most_found": lambda c: [[x + 1 for x in row] for row in c]}, "keep its risk"),
        ("recall", {"most_found": lambda c: c[::-1]}, "fall with b"),
        ("recall", {"min_recall": 0.9}, "the sentence does not say 90%|other rows"),
    ],
)
def test_generous_tables_are_noticed(tmp_path, promise, changes, words):
    campaign = finished(promise, 3, 300)
    content = json.loads(campaign.certificate(tmp_path / "c.json").read_text())
    replan(content["parts"][0], **changes)
    faults = " ".join(faults_of(content))
    assert any(word in faults for word in words.split("|"))
