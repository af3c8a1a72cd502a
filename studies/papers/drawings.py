"""The figures of a page, as SVG, made from `Results` alone.

A figure is a row of panels; a panel has some curves over one grid: the mean over the seeds, and a
band from the 10% to the 90% quantile. Without matplotlib, or from records without curves, a
`Drawing` says why there is no figure.

    roc       one panel per setting: true against false positive rate, the whole above, its upper
              left corner below
    seconds   one panel per set: seconds per fit against rows, both logarithmic
    bars      one panel: seconds per fit, logarithmic, one group of bars per set
    gains     one panel: a difference between two methods against the share of labeled rows, one
              curve per set
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.harness.figures import (
    REMEDY,
    Curve,
    draw_curves,
    draw_svg,
    has_matplotlib,
    make_logarithmic,
)
from studies.harness.means import Summary
from studies.papers.compare import Comparison, compare_table
from studies.papers.results import Results
from studies.papers.scores import FINE_GRID
from studies.papers.tasks import Line, Paper

NOT_RUN = "its cells have not run yet"
NO_CURVES = "these results hold no curves; choose another --out to run again"
STYLES: dict[str, dict[str, Any]] = {
    "oracle": {"color": "#000000", "linestyle": "--", "marker": "v"},
    "supervised SVM": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "SVM": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "self-training": {"color": "#009E73", "linestyle": "--", "marker": "s"},
    "Gaussian mixture": {"color": "#CC79A7", "linestyle": ":", "marker": "^"},
    "PSVM": {"color": "#D55E00", "linestyle": "-", "marker": "D"},
    "TSVM": {"color": "#0072B2", "linestyle": "--", "marker": "o"},
    "adult": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "ijcnn1": {"color": "#009E73", "linestyle": "--", "marker": "s"},
    "mnist": {"color": "#D55E00", "linestyle": "-.", "marker": "D"},
    "protein": {"color": "#CC79A7", "linestyle": ":", "marker": "^"},
}
PROPOSED: tuple[dict[str, Any], ...] = (
    {"color": "#D55E00", "linestyle": "-.", "marker": "D"},
    {"color": "#CC79A7", "linestyle": (0, (3, 1, 1, 1, 1, 1)), "marker": "P"},
)
CORNER = {"xlim": (0, 0.2), "ylim": (0.7, 1.005), "xticks": (0, 0.05, 0.1, 0.15, 0.2)}
HATCHES = (None, "//")  # bars differ without color
BAND = "mean, 10-90% band"
Panels = dict[str, list[Curve]]  # by title


@dataclass(frozen=True)
class Drawing:
    """A figure with the name of its file, the text in its place, and the sentence next to it; or
    why there is none.
    """

    file: str
    alt: str
    svg: bytes | None = None
    sentence: str = ""
    why: str = ""


def draw_figures(paper: Paper, results: Results, *, quick: bool = False) -> dict[str, Drawing]:
    """Return the drawings of a paper by the name of their table."""
    drawings = {}
    for table in paper.tables:
        if table.figure is None:
            continue
        file = f"{paper.name}-{table.name}.svg"
        alt = table.figure.alt
        comparisons = compare_table(table, results, quick=quick)
        panels = PANELS[table.figure.kind](comparisons, results)
        if panels and has_matplotlib():
            svg = _draw(table.figure.kind, panels, alt)
            drawings[table.name] = Drawing(file, alt, svg, table.figure.say(comparisons))
        else:
            has_run = any(comparison.summary for comparison in comparisons)
            drawings[table.name] = Drawing(
                file, alt, why=REMEDY if panels else NO_CURVES if has_run else NOT_RUN
            )
    return drawings


def _roc_panels(comparisons: Sequence[Comparison], results: Results) -> Panels:
    panels: Panels = {}
    for setting in dict.fromkeys(comparison.line.setting for comparison in comparisons):
        if setting not in results.panels:
            continue
        panel = results.panels[setting]
        splits = f"{panel.n} splits" if panel.n > 1 else "1 split"
        panels[f"{setting}\n({splits})"] = [
            Curve(
                method,
                f"{method}: AUC {curve.area:.3f}",
                *(np.array(part) for part in (FINE_GRID, curve.mean, curve.low, curve.high)),
            )
            for method, curve in panel.curves.items()
        ]
    return panels


def _seconds_panels(comparisons: Sequence[Comparison], _: Results) -> Panels:
    """Return one panel per set, with the methods that ran on at least two sizes."""
    found: dict[tuple[str, str], dict[float, Summary]] = {}
    for line, summary in _summaries(comparisons):
        if line.task is not None:
            found.setdefault((line.task.data, line.method), {})[line.task.split["n"]] = summary
    panels: Panels = {}
    for (data, method), by_rows in found.items():
        if len(by_rows) > 1:
            panels.setdefault(data, []).append(_curve(method, by_rows))
    return panels


def _bars_panels(comparisons: Sequence[Comparison], _: Results) -> Panels:
    """Return one panel: one curve per method, whose grid numbers the sets; the title of the
    panel names them.
    """
    sets = list(dict.fromkeys(comparison.line.setting for comparison in comparisons))
    found: dict[str, dict[float, Summary]] = {}
    for line, summary in _summaries(comparisons):
        found.setdefault(line.method, {})[sets.index(line.setting)] = summary
    return (
        {", ".join(sets): [_curve(method, by_set) for method, by_set in found.items()]}
        if found
        else {}
    )


def _gains_panels(comparisons: Sequence[Comparison], _: Results) -> Panels:
    """Return one panel with one curve for each set that ran at two shares or more."""
    found: dict[str, dict[float, Summary]] = {}
    for line, summary in _summaries(comparisons):
        if line.task is not None:
            found.setdefault(line.method, {})[100 * line.task.split["labeled"]] = summary
    curves = [_curve(name, by_share) for name, by_share in found.items() if len(by_share) > 1]
    return {"PSVM minus SSVM": curves} if curves else {}


def _summaries(comparisons: Sequence[Comparison]) -> list[tuple[Line, Summary]]:
    return [
        (comparison.line, comparison.summary)
        for comparison in comparisons
        if comparison.summary is not None
    ]


def _curve(name: str, found: dict[float, Summary]) -> Curve:
    at = sorted(found)
    parts = [[getattr(found[x], part) for x in at] for part in ("mean", "low", "high")]
    return Curve(name, name, np.array(at), *map(np.array, parts))


def _draw(kind: str, panels: Panels, title: str) -> bytes:
    rows = 2 if kind == "roc" else 1

    def draw(figure: Any) -> None:
        grid = figure.subplots(rows, len(panels), squeeze=False, sharey="row")
        for number, (name, curves) in enumerate(panels.items()):
            DRAWN[kind](grid[:, number], name, curves)
        if kind != "roc":  # one legend for all panels, outside of the curves
            parts = [axes.get_legend_handles_labels() for axes in grid.flat]
            named = {
                label: drawn
                for handles, labels in parts
                for drawn, label in zip(handles, labels, strict=True)
            }
            ncols = 3 if kind == "seconds" else len(named)
            figure.legend(
                named.values(), named.keys(), loc="outside lower center", ncols=ncols, title=BAND
            )

    return draw_svg((max(4.4 * len(panels), 5.2), 4.2 * rows), title, draw)


def _draw_roc(column: NDArray, name: str, curves: list[Curve]) -> None:
    whole, corner = column
    for axes in column:
        draw_curves(axes, curves, _styles(curves), marks=False)
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
    whole.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    whole.set(title=name, xlim=(0, 1), ylim=(0, 1.01))
    whole.legend(loc="lower right", title=BAND)
    corner.set(title="its upper left corner", **CORNER)


def _draw_seconds(column: NDArray, name: str, curves: list[Curve]) -> None:
    (axes,) = column
    draw_curves(axes, curves, _styles(curves), marks=True)
    ends = np.array([min(curve.x[0] for curve in curves), max(curve.x[-1] for curve in curves)])
    start = 0.7 * min(curve.mean.min() for curve in curves)
    axes.plot(
        ends, start * ends / ends[0], color="0.5", linewidth=0.8, label="proportional to rows"
    )
    axes.set(title=name, xlabel="rows", ylabel="seconds per fit")
    make_logarithmic(axes)


def _draw_bars(column: NDArray, name: str, curves: list[Curve]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    (axes,) = column
    sets = name.split(", ")
    width = 0.8 / len(curves)
    for number, curve in enumerate(curves):
        at = curve.x + (number - (len(curves) - 1) / 2) * width
        spread = np.maximum([curve.mean - curve.low, curve.high - curve.mean], 0)
        look = {
            "color": STYLES[curve.name]["color"],
            "hatch": HATCHES[number % len(HATCHES)],
            "edgecolor": "white",
        }
        axes.bar(at, curve.mean, width, yerr=spread, capsize=3, label=curve.label, **look)
    least = min(curve.mean.min() for curve in curves)
    axes.set(ylabel="seconds per fit", yscale="log", ylim=(least / 3, None))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(range(len(sets)), sets)


def _draw_gains(column: NDArray, name: str, curves: list[Curve]) -> None:
    (axes,) = column
    draw_curves(axes, curves, _styles(curves), marks=True)
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set(title=name, xlabel="labeled rows, %", ylabel="difference in F1")


def _styles(curves: list[Curve]) -> list[dict[str, Any]]:
    proposed = iter(PROPOSED)
    return [STYLES[curve.name] if curve.name in STYLES else next(proposed) for curve in curves]


PANELS = {
    "roc": _roc_panels,
    "seconds": _seconds_panels,
    "bars": _bars_panels,
    "gains": _gains_panels,
}
DRAWN = {"roc": _draw_roc, "seconds": _draw_seconds, "bars": _draw_bars, "gains": _draw_gains}
