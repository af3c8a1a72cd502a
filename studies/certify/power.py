"""What campaigns certify on the papers' tables, beside a certificate on held-out labels.

    SEMISVM_DATA=... python -m studies.certify.power [--fits 10] [--sets adult ijcnn1 ...]

Per fit: 200 random labels train a linear or RBF machine (`SupervisedSVC`); other rows, at most 20,000, are the pool.
Out-of-fold scores of the 200 labels show the campaign where to look. Then at most 200 rows are labeled, 10 at a time.
Beside it: 200 more random labels, which certify a threshold by `semisvm.decision.certify` (with the out-of-fold scores
as pilot and the pool as reference): today's certificate with the same 400 labels. And 200 rows of the pool at random,
with the thresholds, the tests and their order of the campaign: what the draws alone are worth. "Feasible": some set of
the highest scores, of at least four perfect records, keeps the target. A multi-class set is one class against the rest.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.preprocessing import StandardScaler

from semisvm import Campaign, SemiSupervisedKFold, SupervisedSVC
from semisvm.datasets import load
from semisvm.decision import Target, certify, labels_needed
from semisvm.decision.betting import fallback, mixture_log_evidence
from semisvm.model_selection import cross_fit_scores

RISK, SHARES = 0.1, (0.6, 0.2, 0.2)  # of a campaign
N_TRAIN, N_CAMPAIGN, N_POOL, AT_ONCE = 200, 200, 20_000, 10
# name: positive class (None: the larger label), target precision, kernel
SETS = {
    "adult": (None, 0.7, "linear"),
    "ijcnn1": (None, 0.7, "rbf"),
    "optdigits_full": (8, 0.95, "rbf"),
    "sat_full": (4, 0.6, "rbf"),
    "krvskp": (None, 0.9, "rbf"),
    "ssl-usps": (None, 0.9, "rbf"),
    "ssl-secstr": (None, 0.6, "linear"),
}


def one_fit(X, truth, level, kernel, seed):
    """Return what a campaign and a held-out certificate gave for one training set; None if a class is missing."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(truth))
    train, other = rows[:N_TRAIN], rows[N_TRAIN:]
    extra, pool = other[:N_CAMPAIGN], other[: N_POOL + N_CAMPAIGN]
    if min(np.bincount(truth[train], minlength=2)) < 2:
        return None
    make = SupervisedSVC(C=1.0, kernel=kernel)
    model = make.fit(X[train], truth[train])
    folds = SemiSupervisedKFold(5, shuffle=True, random_state=0)
    known = cross_fit_scores(SupervisedSVC(C=1.0, kernel=kernel), X[train], truth[train], cv=folds)
    sign = np.where(truth[train] == 1, 1, -1)
    scores, labels = model.decision_function(X[pool]), truth[pool]
    campaign = Campaign(scores, min_precision=level, calibration=(known, sign), seed=f"{seed:02x}")
    first = None
    while campaign.n_labels < N_CAMPAIGN and (rows := campaign.draw(min(AT_ONCE, N_CAMPAIGN - campaign.n_labels))):
        campaign.tell(rows, labels[rows])
        if first is None and campaign.verdict().certified:
            first = campaign.n_labels
    point = campaign.verdict().operating_point
    by_score = labels[np.argsort(-scores, kind="stable")]
    sizes = np.arange(1, len(labels) + 1)
    keeps = (np.cumsum(by_score) / sizes >= level) & (sizes >= 4 * (labels_needed(level, confidence=0.9) or 1))
    today = None
    if len(np.unique(truth[extra])) == 2:
        held_out = certify(
            model.decision_function(X[extra]),
            np.where(truth[extra] == 1, 1, -1),
            Target(min_precision=level),
            reference=scores,
            pilot=(known, sign),
        )
        today = held_out.threshold if held_out.reached else None
    sampled = random_sampling(campaign, scores, labels, level, rng)
    return {
        "feasible": bool(keeps.any()),
        "best": float(np.cumsum(by_score)[keeps].max() / labels.sum()) if keeps.any() else 0.0,
        "first": first,
        **_judged("campaign", None if point is None else point.threshold, scores, labels, level),
        **_judged("held out", today, scores, labels, level),
        **_judged("random", sampled, scores, labels, level),
    }


def random_sampling(campaign, scores, labels, level, rng):
    """Return the widest threshold that as many random rows of the pool certify by the same tests; None without one."""
    rows = rng.choice(len(scores), N_CAMPAIGN, replace=False)
    table = campaign.verdict().table
    highest = []
    for line in table:
        good = labels[rows][scores[rows] > line.threshold]
        path = mixture_log_evidence(line.n_accepted, level, np.cumsum(good), np.cumsum(1 - good))
        highest.append(max(0.0, float(path.max(initial=0.0))))
    shares = np.zeros(len(table))
    np.add.at(shares, [0, len(table) // 3, 2 * len(table) // 3], SHARES)
    passed, _ = fallback(np.array(highest), shares, RISK)
    return min((line.threshold for line, ok in zip(table, passed, strict=True) if ok), default=None)


def _judged(name, threshold, scores, labels, level):
    """Whether a threshold was given, its recall on the pool, and whether the promise is false there."""
    if threshold is None:
        return {f"{name}: given": False, f"{name}: recall": 0.0, f"{name}: false": False}
    accepted = scores > threshold
    precision = labels[accepted].mean() if accepted.any() else 0.0
    return {
        f"{name}: given": True,
        f"{name}: recall": labels[accepted].sum() / labels.sum(),
        f"{name}: false": bool(precision < level),
    }


def _three(mean, name):
    """Certified, recall kept and false, in one cell."""
    return ", ".join(f"{mean[f'{name}: {what}']:.2f}" for what in ("given", "recall", "false"))


def main() -> None:
    """Print the table of docs/certify-measured.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    options = parser.parse_args()
    began = time.process_time()
    titles = ("set, target", "positives", "feasible", "certified", "first, median", "recall kept (best)", "false")
    print("| " + " | ".join([*titles, "held out", "random"]) + " |")
    print("|" + "---|" * (len(titles) + 2))
    for name in options.sets:
        positive, level, kernel = SETS[name]
        data = load(name)
        X = data.X if hasattr(data.X, "tocsr") else StandardScaler().fit_transform(data.X)
        truth = (data.y == (np.max(data.y) if positive is None else positive)).astype(int)
        fits = [one_fit(X, truth, level, kernel, seed) for seed in range(options.fits)]
        fits = [one for one in fits if one is not None]
        mean = {key: np.mean([one[key] for one in fits]) for key in fits[0] if key != "first"}
        firsts = [one["first"] for one in fits if one["first"] is not None]
        median = np.median(firsts) if firsts else float("nan")
        print(
            f"| {name}, {level:g} | {truth.mean():.0%} | {mean['feasible']:.2f} | {mean['campaign: given']:.2f} | "
            f"{median:.0f} | {mean['campaign: recall']:.2f} ({mean['best']:.2f}) | "
            f"{mean['campaign: false']:.2f} | {_three(mean, 'held out')} | {_three(mean, 'random')} |",
            flush=True,
        )
    print(f"\n{options.fits} fits per set, {time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
