"""Check a certificate of a semisvm campaign, without semisvm: this file needs NumPy alone.

    python verify.py certificate.json [scores.npy]

It draws the clocks again, makes sure that the table of the promise keeps its risk, and finds again
which rows the answers prove. Whether the answers are right, and whether other random states were
tried before, no program can check. With the scores it also checks that they are those promised
about, and that the rows are in their order.
"""

# ruff: noqa: B905

import hashlib
import json
import math
import sys

import numpy as np

SLACK = 1e-9


def verify(certificate, scores=None):
    """Return what is wrong with a certificate: an empty list says that it is valid."""
    try:
        return list(_faults(certificate, scores))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        return [f"the certificate is damaged ({type(error).__name__}: {error})"]


def _faults(cert, scores):
    if (cert["kind"], cert["version"]) != ("semisvm certificate", 1):
        yield "this is not a certificate of version 1"
    n, confidence = cert["n_rows"], cert["confidence"]
    if scores is not None:
        scores = np.ascontiguousarray(scores, dtype="<f8")
        if hashlib.sha256(scores.tobytes()).hexdigest() != cert["scores_sha256"]:
            yield "the scores are not those of the campaign"
    answers: dict[int, str] = {}
    for row, label, *machine in cert["answers"]:
        if row in answers or not 0 <= row < n:
            yield f"row {row} is answered twice, or is no row of the pool"
        right = machine[0] if machine else cert["positive"]
        answers[row] = "?" if label is None else "+" if label == right else "-"
    taken: set[int] = set()
    for part in cert["parts"]:
        plan, rows = json.loads(part["plan"]), np.array(part["rows"], dtype="<i8")
        if hashlib.sha256(rows.tobytes()).hexdigest() != plan["order"]:
            yield "the rows are not in the order that was fixed before the clocks"
        if len({*rows.tolist()} - taken) < len(rows) or not 0 <= rows.min() <= rows.max() < n:
            yield "a row is there twice, or is no row of the pool"
        taken |= {*rows.tolist()}
        risk = plan["table"]["risk"] if plan["promise"] == "unseen" else plan["risk"]
        if not 0 < risk <= 1 - confidence ** (1 / cert["n_promises"]) + SLACK:
            yield "the risk is larger than the confidence allows"
        text = f"{cert['random_state']} clocks {part['plan']}"
        bits = np.frombuffer(hashlib.shake_256(text.encode()).digest(8 * len(rows)), dtype="<u8")
        clock = ((bits >> np.uint64(12)) + 0.5) / 2.0**52
        codes = np.array([answers.get(row, " ") for row in rows.tolist()])
        if scores is not None and plan["promise"] != "max_error":
            rising = np.diff(scores[rows]) * (1 if plan["promise"] == "recall" else -1)
            yield from ["the rows are not in the order of the scores"] * bool((rising < 0).any())
        yield from CHECKS[plan["promise"]](plan, clock, codes, rows, part)
        level = plan.get("max_error", plan.get("min_precision", plan.get("min_recall")))
        said = [f"{100 * share:.4g}%" for share in (level, confidence)]
        words = cert["promise"].replace("(", " ").replace(")", " ").split()
        for number in {*said, f"{len(part['unseen']):,}"} - {*words}:
            yield f"the sentence does not say {number}"


def _compare(size, least_right, codes, rows, part):
    """Compare the rows that are proved, the first `size` of the scan, with those certified."""
    if sorted(rows[:size][codes[:size] == " "].tolist()) != sorted(part["unseen"]):
        yield f"the answers prove other rows: the first {size} of the scan"
    if part["right_at_least"] > least_right:
        yield f"at least {least_right} of the rows are right, not {part['right_at_least']}"


def _crossing(b, looks, most):
    """Return the chance that Y(t) <= c(t) at any look, for b errors that may be left.

    From look to look d ~ Bin(b + 1, step) unfound errors ring, and Y gains d + NB(d, 1 - t).
    """
    m, size = b + 1, max(max(most), 0) + 1
    logs = np.append(0.0, np.cumsum(np.log(np.arange(1, m + 2 * size + 1))))
    law, before, crossed = np.eye(1, size)[0], 0.0, 0.0
    for t, c in zip(looks, most):
        step, gain = (t - before) / (1 - before), np.zeros(size)
        for d in range(min(size, m + 1)):
            ring = (
                logs[m] - logs[d] - logs[m - d] + d * math.log(step) + (m - d) * math.log1p(-step)
            )
            x = np.arange(size - d if d else 1)
            passed = logs[max(d - 1, 0) + x] - logs[x] - logs[max(d - 1, 0)]
            gain[d : d + len(x)] += np.exp(ring + passed + x * math.log(t) + d * math.log1p(-t))
        law, before = np.convolve(law, gain)[:size], t
        if c >= 0:
            crossed += law[: c + 1].sum()
            law[: c + 1] = 0
    return crossed


def _count_rule(clock, codes, is_error, looks, most):
    size = 0
    for t, c in zip(looks, most):
        is_due = clock <= t
        found = np.append(np.flatnonzero(is_error & is_due), [len(codes)] * (c + 1))
        if c >= 0:  # all rows before the first open one are answered
            first_open = np.append(np.flatnonzero((codes == " ") & is_due), len(codes))[0]
            size = max(size, int(min(first_open, found[c])))
    return size


def _total_error(plan, clock, codes, rows, part):
    if plan["b"] > plan["max_error"] * max(len(rows), plan["n_rows"]) + SLACK:
        yield "more errors are left than promised"
    if _crossing(plan["b"], plan["looks"], plan["most_found"]) > plan["risk"] + SLACK:
        yield "the table does not keep its risk"
    size = _count_rule(clock, codes, np.isin(codes, ["-", "?"]), plan["looks"], plan["most_found"])
    yield from _compare(size, max(len(part["unseen"]) - plan["b"], 0), codes, rows, part)


def _recall(plan, clock, codes, rows, part):
    r, tables = plan["min_recall"], np.array(plan["most_found"])
    if (np.diff(tables, axis=0) < 0).any() or (np.diff(plan["b"]) <= 0).any():
        yield "the tables fall with b"
    risks = [_crossing(b, plan["looks"], c) for b, c in zip(plan["b"], tables)]
    if max(risks) > plan["risk"] + SLACK:
        yield "a table does not keep its risk"
    b = math.floor((codes == "+").sum() * (1 - r) / r + SLACK)
    most = tables[np.searchsorted(plan["b"], b, side="right") - 1]
    size = _count_rule(clock, codes, np.isin(codes, ["+", "?"]), plan["looks"], most)
    yield from _compare(size, 0, codes, rows, part)


def _law(u, t, most):
    j = np.arange(most)
    log = np.append(0.0, np.cumsum(np.log(t * (u + j) / (j + 1)))) + u * math.log1p(-t)
    return np.minimum(np.cumsum(np.exp(log)), 1.0)


def _envelope(looks, planned, risk, worlds, along, across):
    """Simulate worlds in which all rows are wrong; return, per look, the grid of u and c."""
    t0, b0 = planned
    grids, laws, widths = [], [], []
    for t in looks:
        ridge = b0 * (1 / t - 1) / (1 / t0 - 1)
        low, high = ridge / 16, 2 * ridge
        steps = max(2, int(math.log(max(high, 13) / 12) / math.log(1.12)))
        u = np.append(np.arange(1, 13), np.round(np.geomspace(12, max(high, 13), steps)))
        u = np.unique(u.astype(int))
        u = u[(u <= max(high, 6)) & (u >= min(low, 6))]
        w = 2.0 ** (-along * abs(np.log2(t / t0)) - across * abs(np.log2(u / (ridge + 1))))
        laws.append([_law(int(m), t, int(m * t / (1 - t)) + 2) / x for m, x in zip(u, w)])
        grids.append(u)
        widths.append(int((u[-1] + 4 * u[-1] ** 0.5) / (1 - t)) + 6)
    n_worlds = max(299, math.ceil(20 / risk), min(int(4.5e6 / max(widths)), 3999))
    seed = int.from_bytes(hashlib.sha256(worlds.encode()).digest(), "little")
    bits = np.random.PCG64(seed).random_raw(-(-n_worlds * max(widths) // 2)).view(np.uint32)
    clocks = bits[: n_worlds * max(widths)].reshape(n_worlds, -1)
    least = np.full(n_worlds, np.inf)
    for world in range(n_worlds):
        for t, u, law, width in zip(looks, grids, laws, widths):
            places = np.flatnonzero(clocks[world, :width] >= t * 2.0**32)
            for m, one in zip(u[u <= len(places)], law):
                found = places[m - 1] - (m - 1)
                if found < len(one):
                    least[world] = min(least[world], one[found])
    level = np.sort(least)[int(risk * (n_worlds + 1)) - 1] * (1 - 1e-12)
    found = [[np.searchsorted(x, level, "right") - 1 for x in law] for law in laws]
    return [(u, np.maximum.accumulate(c)) for u, c in zip(grids, found)]


def _unseen(plan, clock, codes, rows, part):
    size, right, p = 0, 0, plan["min_precision"]
    is_wrong, unseen = (codes == "-") | (codes == "?"), np.cumsum(codes == " ")
    for t, (u, c) in zip(plan["table"]["looks"], _envelope(**plan["table"])):
        end = np.append(np.flatnonzero((codes == " ") & (clock <= t)), len(codes))[0]
        found = np.cumsum(is_wrong & (clock <= t))[:end]
        late = np.cumsum(is_wrong & (clock > t))[:end]
        b = np.floor((1 - p) * unseen[:end] + SLACK).astype(int) + late
        most = np.append(-1, c)[np.searchsorted(u - 1, b, side="right")]
        passed = np.flatnonzero((found <= most) & (unseen[:end] > 0))
        if len(passed) and passed[-1] + 1 > size:
            k = passed[-1]
            left = min(u[np.flatnonzero(c >= found[k])[0]] - 1, b[k]) - late[k]
            size, right = int(k) + 1, int(unseen[k] - max(left, 0))
    yield from _compare(size, right, codes, rows, part)


CHECKS = {"max_error": _total_error, "recall": _recall, "unseen": _unseen}

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        content = json.load(file)
    faults = verify(content, np.load(sys.argv[2]) if len(sys.argv) > 2 else None)
    print("\n".join(["NOT VALID:", *faults]) if faults else f"Valid. {content['promise']}")
    sys.exit(bool(faults))
