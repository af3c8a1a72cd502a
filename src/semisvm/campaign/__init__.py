"""Label until certified: freeze a model, draw rows of a pool at random, ask for their labels, and
stop when these prove the target.

**The claim about the pool.** Among these N rows, which had no label when the campaign began, the
rows that the model accepts at the certified threshold have (say) precision at least p. The chance,
over the random clocks drawn here, that a campaign ever says such a thing wrongly is at most 1 -
confidence. Labels are fixed and unknown: no independence, no calibrated scores and no random
training labels are needed, and the pool may have served as unlabeled training rows.

**The claim about new rows.** The same for new rows from the source of the pool. In addition, the
pool must be an independent sample of that source that was not used in training, not even as
unlabeled rows. A fifth of the pool is then used for the thresholds only, so that the other rows are
independent of them.

What is frozen at the start: thresholds, their order, the speeds of the draws, the beliefs that bet.
Training labels are used for these, and for nothing else.

    campaign   the campaign itself: draw, tell, verdict
    plan       what is frozen when it begins
    model      scores of a classifier for one class, and the classifier with a threshold of its own
    state      what a campaign consists of
    file       the file in which it is kept, and several programs that write it
    answers    the answers, by row
    draws      one random order of the pool, in which every claim reads its own rows
    agreement  several people who answer: second opinions, and how far they agree
    procedure  what every test does: rows to ask for, where it stands, the rows accepted
    sequence   the threshold test: all claims in a fixed order
    precision_sets, recall_sets   certified sets
    one_look   a recall, looked at once when a random sample is complete
    claims     the evidence of one target at one threshold, from the answers so far
    verdict    the outcome: a table, an operating point, sentences
    monitor    an alarm when new rows break the promise
    record     the claim in one sentence, and how the evidence grew, for the report

The arithmetic is in `semisvm.decision`, which has nothing random in it; here are seeds, answers,
files and models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from semisvm.campaign.agreement import Agreement
from semisvm.campaign.campaign import Campaign
from semisvm.campaign.monitor import Monitor, MonitoredBatch, MonitorVerdict
from semisvm.campaign.procedure import AcceptedRows, ThresholdEvidence
from semisvm.campaign.record import CampaignSummary, claim_in_words, summarize_campaign
from semisvm.campaign.verdict import CampaignVerdict, PriceList

if TYPE_CHECKING:
    from semisvm.campaign.model import ThresholdClassifier

__all__ = [
    "AcceptedRows",
    "Agreement",
    "Campaign",
    "CampaignSummary",
    "CampaignVerdict",
    "Monitor",
    "MonitorVerdict",
    "MonitoredBatch",
    "PriceList",
    "ThresholdClassifier",
    "ThresholdEvidence",
    "claim_in_words",
    "summarize_campaign",
]


def __getattr__(name: str) -> Any:
    """`ThresholdClassifier` needs scikit-learn, so it is imported when it is first used."""
    if name != "ThresholdClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("semisvm.campaign.model").ThresholdClassifier
