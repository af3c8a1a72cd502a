"""Label until certified: draw rows of a pool at random, ask for their labels, stop when they prove the target.

    core        `Campaign`: draw, tell, verdict, prices; what people use
    claims      the evidence of one target at one threshold, from the answers so far
    sequence    all claims in the order of their tests, and which rows to ask for next
    prediction  what the training labels say about the pool: where to look first
    draws       one random order of the pool, in which every claim reads its own rows; the answers
    stored      what a campaign consists of, and the file in which it is kept
    threshold   a classifier with a threshold of its own, and the scores that thresholds apply to
    verdict     what came of it: a table, an operating point, sentences
    record      the claim in one sentence, and how the evidence grew, for the report

The arithmetic is in `semisvm.decision`, which has nothing random in it; here are seeds, answers, files and models.
"""

from semisvm.campaign.core import Campaign
from semisvm.campaign.model import ThresholdClassifier
from semisvm.campaign.record import CampaignSummary, claim_in_words, first_price, summarize_campaign
from semisvm.campaign.sequence import ThresholdEvidence
from semisvm.campaign.verdict import CampaignVerdict, PriceList

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
