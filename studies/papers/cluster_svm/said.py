"""What the two figures of cluster-SVM say for and against its claims: records in, one sentence out.

Its text claims, of time (section 4.3): all times grow linearly in the number of rows; the supervised machine is the
fastest; with a linear kernel (A1) the proposed method is faster than the mixture and comparable to self-training; with
an RBF kernel (B1) it becomes slow. Of WDBC (section 5.2): a "much-improved" ROC curve. It prints no numbers with them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from studies.harness.compare import Comparison, Results

ALIKE = 2.0  # times within this factor are comparable
LINEAR = 0.25  # an exponent so near to 1 is linear growth
Times = dict[tuple[str, str], dict[int, float]]  # mean seconds by set and method, then by rows


def say_roc(comparisons: Sequence[Comparison], results: Results) -> str:
    """Return what the mean areas say of "much-improved"; "" where nothing has run."""
    claims = [(c, c.summary) for c in comparisons if c.line.against is not None and c.summary is not None]
    if not claims:
        return ""
    count = Counter(c.verdict for c, _ in claims)
    splits = sorted({summary.n for _, summary in claims})
    shares = sorted(float(np.mean(np.array(results.values(c.line)) > 0)) for c, _ in claims)
    gains = [f"{summary.mean:+.3f} ({c.line.setting}; {c.line.method.split(', ')[1]})" for c, summary in claims]
    return (
        f'The paper calls the proposed curve "much-improved" on the supervised one, after one split: over '
        f"{_range([str(n) for n in splits])} splits the difference of mean areas is {', '.join(gains)}, which is for "
        f"the claim in {count['reproduced']} of {len(claims)} settings, against it in {count['differs']} and undecided "
        f"in {count['close']}, and the proposed area is the larger one in "
        f"{_range([f'{100 * share:.0f}%' for share in shares])} of the splits."
    )


def say_timing(comparisons: Sequence[Comparison], _: Results) -> str:
    """Return which claims of section 4.3 our times bear out at the largest size; "" where methods are missing."""
    times: Times = defaultdict(dict)
    for c in comparisons:
        if c.summary is not None and c.line.task is not None:
            times[c.line.task.data, c.line.method][c.line.task.split["n"]] = c.summary.mean
    needed = [(data, m) for data in ("A1", "B1") for m in ("SVM", "self-training", "Gaussian mixture", "proposed")]
    common = set.intersection(*(set(times.get(key, ())) for key in needed))
    if len(common) < 2:
        return ""
    judged = list(_timing_claims(times, needed, sorted(common)))
    told = "; ".join(
        f"{side} the paper's saying {', '.join(f'that {claim}' for claim, holds in judged if holds is wanted)}"
        for side, wanted in (("for", True), ("against", False))
        if any(holds is wanted for _, holds in judged)
    )
    return f"At {max(common)} rows our times speak {told}; it prints no times to draw beside ours."


def _timing_claims(times: Times, needed: list[tuple[str, str]], sizes: list[int]) -> Iterator[tuple[str, bool]]:
    last = {key: times[key][sizes[-1]] for key in needed}
    yield "the supervised SVM is the fastest", all(last[data, "SVM"] <= last[data, method] for data, method in needed)
    ours, mixture, rival = (last["A1", method] for method in ("proposed", "Gaussian mixture", "self-training"))
    yield f"proposed is faster than the mixture on A1 ({ours:.2g} s, {mixture:.2g} s)", ours < mixture
    alike = max(ours, rival) <= ALIKE * min(ours, rival)
    yield f"proposed is comparable to self-training on A1 ({ours:.2g} s, {rival:.2g} s)", alike
    ours = last["B1", "proposed"]
    others = max(last[key] for key in needed if key[0] == "B1" and key[1] != "proposed")
    yield f"proposed becomes slow on B1 ({ours:.2g} s, the others at most {others:.2g} s)", ours > others
    powers = sorted(np.polyfit(np.log(sizes), np.log([times[key][n] for n in sizes]), 1)[0] for key in needed)
    linear = all(abs(power - 1) <= LINEAR for power in powers)
    yield f"all times grow linearly (as rows to the power {powers[0]:.1f} to {powers[-1]:.1f})", linear


def _range(ordered: list[str]) -> str:
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"
