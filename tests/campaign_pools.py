"""Pools whose truth is known, and how campaigns are run on them."""

import numpy as np

TARGETS = [
    {"min_precision": 0.7},
    {"min_recall": 0.7},
    {"min_f": 0.5},
    {"min_f": 0.5, "beta": 2.0},
    {"max_cost": 0.3, "costs": (1.0, 1.0)},
    {"min_precision": 0.5, "min_recall": 0.5},
]


def pool(n=3000, noise=0.5, seed=0):
    """Scores and true classes: a score above 0 is positive, but for noise."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) - 1
    return scores, (scores + noise * rng.normal(size=n) > 0).astype(int)


def run(campaign, truth, most=300, at_once=10):
    """Label until a threshold is certified; nobody reads the forecasts on the way."""
    while campaign.n_labels < most and not campaign.standing(with_forecasts=False).is_certified:
        rows = campaign.draw(at_once)
        if not rows:
            break
        campaign.tell(rows, truth[rows])
    return campaign.verdict()


def measures(accepted, truth, beta=1.0):
    tp = (accepted & (truth == 1)).sum()
    fp = (accepted & (truth == 0)).sum()
    fn = (~accepted & (truth == 1)).sum()
    f = (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)
    return {
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f": f,
        "cost": (fp + fn) / len(truth),
    }
