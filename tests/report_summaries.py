"""Summaries of fits, made of scores drawn here: the input of the report's tests and pictures."""

from dataclasses import replace
from functools import cache

import numpy as np

from semisvm import Campaign
from semisvm.campaign import summarize_campaign
from semisvm.decision import Estimate, Target, certify, choose
from semisvm.decision.audit import make_audit
from semisvm.tables.summary import (
    Comparison,
    DataSummary,
    FeatureSummary,
    FitSummary,
    MethodResult,
    MethodSummary,
    ScoreSample,
)

FEATURES = (
    "mean radius",
    "mean texture",
    "mean perimeter",
    "mean area",
    "worst concavity",
    "worst symmetry",
)

EMPTY = FitSummary("", "", DataSummary("", 0, 0, 0, ""), (), None, MethodSummary("", "", ""))


def draw_scores(n, positive_share, distance, seed):
    """Scores of rows of two classes, `distance` apart, and their signs."""
    random = np.random.default_rng(seed)
    sign = np.where(random.random(n) < positive_share, 1, -1)
    return random.normal(sign * distance / 2, 1.0), sign


def answer(
    seed=0,
    n_labeled=57,
    n_unlabeled=512,
    positive_share=0.37,
    distance=3.6,
    level="cross-fitted",
    **asked,
):
    """Operating point, audit and scores for one class."""
    asked = asked or {"min_recall": 0.97}
    scores, sign = draw_scores(n_labeled, positive_share, distance, seed)
    plain, _ = draw_scores(n_labeled, positive_share, 0.85 * distance, seed)
    pool, _ = draw_scores(n_unlabeled, positive_share, distance, seed + 1)
    target = Target(**asked)
    if level == "certified":
        point = certify(scores, sign, target)
    else:
        point = choose(scores, sign, target, level=level)
    audit = make_audit(target, plain, sign, point, "empirical")
    sample = ScoreSample(
        tuple(scores.tolist()),
        tuple(sign.tolist()),
        level,
        tuple(pool[:5000].tolist()),
        n_unlabeled,
    )
    return point, audit, sample


def answers(found):
    """The answers of several classes as parts of a summary."""
    points, audits, samples = ({name: parts[k] for name, parts in found.items()} for k in range(3))
    return {"operating_points": points, "audits": audits, "scores": samples}


def without_answers(n_labeled=57, n_unlabeled=512):
    """A summary without operating points, audits and scores."""
    parameters = {
        "C": 1.0,
        "C_unlabeled": 0.1,
        "kernel": "rbf",
        "gamma": "scale",
        "min_recall": 0.97,
    }
    return FitSummary(
        title="Breast cancer: malignant or not",
        created="2026-11-15 09:30",
        data=DataSummary(
            name="wdbc.csv",
            rows=n_labeled + n_unlabeled,
            labeled=n_labeled,
            unlabeled=n_unlabeled,
            target="diagnosis",
            features=tuple(FeatureSummary(name, "number") for name in FEATURES),
        ),
        classes=("benign", "malignant"),
        positive="malignant",
        method=MethodSummary("preference", "PSVM", "A minimum recall was asked for.", parameters),
        notes=(
            "The unlabeled rows did not help: the gain comes from the threshold.",
            "21 positive labels are few: read the intervals, not the values.",
        ),
        seconds=3.21,
        versions={
            "semisvm": "0.2.0",
            "python": "3.11.7",
            "numpy": "2.3.1",
            "scikit-learn": "1.9.0",
        },
        machine={"system": "Linux", "cores": 2, "memory": "24 GB"},
    )


def make_comparison(sign=1):
    """Methods compared, as `semisvm compare` stores them; with sign -1 as it stores costs."""
    means = {"supervised": 0.91, "cluster": 0.88, "transductive": 0.94}
    methods = tuple(
        MethodResult(
            name=name,
            merit=Estimate(sign * mean, sign * mean - 0.04, sign * mean + 0.04),
            difference=Estimate(mean - 0.91, mean - 0.95, mean - 0.88),
            reaches_target=name != "cluster",
            seconds=0.4,
        )
        for name, mean in means.items()
    )
    return Comparison(
        measure="balanced accuracy" if sign > 0 else "cost",
        methods=methods,
        left_out={"laplacian": "takes no costs"},
        chosen="supervised",
        verdict="The labels do not show whether the unlabeled rows help.",
    )


def binary_summary(**how):
    """Two classes: one answer."""
    return replace(without_answers(), **answers({"malignant": answer(**how)}))


def multiclass_summary(classes=("setosa", "versicolor", "virginica")):
    """One answer per class."""
    found = {
        name: answer(seed=k, positive_share=1 / 3, distance=2.5 + k, min_precision=0.9)
        for k, name in enumerate(classes)
    }
    return replace(
        without_answers(),
        classes=tuple(classes),
        positive=None,
        title="Irises",
        **answers(found),
    )


@cache
def make_campaign():
    """What came of a campaign with 40 labels."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=800)
    truth = np.where(scores + 0.4 * rng.normal(size=800) > 0.5, "malignant", "benign")
    campaign = Campaign(scores, min_precision=0.8, classes=["benign", "malignant"], seed="00")
    while campaign.n_labels < 40:
        rows = campaign.draw(10)
        campaign.tell(rows, truth[rows])
    return summarize_campaign(campaign)
