"""Fits and comparisons as notebooks show them: the sentences of the terminal, with a drawing."""

from __future__ import annotations

import numpy as np

from semisvm import html
from semisvm.decision import binomial_interval
from semisvm.decision.counts import count_all, precision, recall
from semisvm.tables import sentences
from semisvm.tables.summary import Comparison, FitSummary, ScoreSample

MOST_POINTS = 100  # of a curve
TONES: dict[str, html.Tone] = {
    "certified": "good",
    "reached": "good",
    "missed": "bad",
    "useless": "bad",
}


def summary_html(summary: FitSummary) -> str:
    """Return a fit as HTML: the first screen, and the curve of the positive class."""
    first = sentences.first_screen(summary)
    headline, *lines = first.lines
    drawings = []
    name = summary.positive or ""
    point = summary.operating_points.get(name)
    if point is not None:
        drawings.append(_curve(summary.scores.get(name), point.threshold, point.confidence))
    elif summary.operating_points:
        rows = [
            [str(label), *map(sentences.with_interval, (each.precision, each.recall))]
            for label, each in summary.operating_points.items()
        ]
        drawings.append(html.table(["class", "precision (90%)", "recall"], rows))
    return html.card(headline, lines, *drawings, tone=TONES.get(first.status, ""))


def _curve(sample: ScoreSample | None, threshold: float, confidence: float) -> str:
    """Draw precision against recall on the labeled rows; nothing where they have one class."""
    if sample is None:
        return ""
    scores = np.array(sample.labeled, dtype=float)
    known = np.isfinite(scores)
    scores = scores[known]
    sign = np.array(sample.sign)[known]
    if len(set(sign.tolist())) < 2:
        return ""
    counts = count_all(scores, sign).counts
    places = np.unique(np.linspace(1, len(counts.tp) - 1, MOST_POINTS).round().astype(int))
    low, high = binomial_interval(counts.tp, counts.accepted, confidence)
    chosen = None
    is_accepted = scores > threshold
    if is_accepted.any():
        hits = int((sign[is_accepted] > 0).sum())
        chosen = (hits / int((sign > 0).sum()), hits / int(is_accepted.sum()))
    across, up, below, above = (
        np.nan_to_num(values[places]).tolist()
        for values in (recall(counts), precision(counts), low, high)
    )
    return html.curve_chart(across, up, below, above, chosen)


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as HTML: every method with its gain, and the verdict."""
    titles, rows = sentences.comparison_table(comparison)
    chosen = [k for k, method in enumerate(comparison.methods) if method.name == comparison.chosen]
    return html.card(
        f"Chosen: {comparison.chosen}",
        [comparison.verdict, *sentences.left_out_of(comparison)],
        html.table(titles, rows, chosen),
    )
