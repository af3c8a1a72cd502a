"""The figures of a page, as SVG: a pure function of the records.

A figure is a row of panels, a panel some curves over one grid: mean over the seeds, and a band from their 10% to their
90% quantile. Equal records give equal bytes: no date, no random identifiers, no settings of the user's. matplotlib is
imported only here and only to draw; without it, or from records without curves, a `Drawing` says why there is none.

    roc       a panel a setting: true against false positive rate, above whole, below its upper left corner
    seconds   a panel a set: seconds of a fit against rows, both logarithmic
    bars      a panel: seconds of a fit, logarithmic, a group of bars a set
    gains     a panel: a difference between two methods against the share of labeled rows, a curve a set
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.harness.compare import Results, compare_table
from studies.harness.scores import FINE_GRID
from studies.harness.tasks import Line, Paper

REMEDY = 'matplotlib is not installed; get it with: pip install "semisvm[plots]"'
NOT_RUN = "its cells have not run yet"
OLD_RECORDS = "it can't be drawn from these records, which hold no curves; choose another --out to run anew"
# Okabe and Ito's colors, told apart by every eye; lines and marks differ too
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
LOOK = {"svg.hashsalt": "semisvm", "svg.fonttype": "none", "font.size": 10, "axes.grid": True, "grid.alpha": 0.3}
CORNER = {"xlim": (0, 0.2), "ylim": (0.7, 1.005), "xticks": (0, 0.05, 0.1, 0.15, 0.2)}
HATCHES = (None, "//")  # told apart without color
BAND = "mean, 10-90% band"


@dataclass(frozen=True)
class Drawing:
    """A figure with its file's name, the text in its place, and the sentence beside it; or why there is no figure."""

    file: str
    alt: str
    svg: bytes | None = None
    said: str = ""
    why: str = ""


@dataclass(frozen=True, eq=False)
class Curve:
    """A method's values, one row a seed, over the panel's grid `x`."""

    method: str
    label: str
    x: NDArray
    values: list[NDArray]  # at each place of the grid, those of all seeds

    @property
    def mean(self) -> NDArray:
        """The mean over seeds."""
        return np.array([np.mean(at) for at in self.values])

    @property
    def band(self) -> NDArray:
        """The 10% and 90% quantiles over seeds, two rows."""
        return np.array([np.quantile(at, [0.1, 0.9]) for at in self.values]).T


Panels = dict[str, list[Curve]]  # by title


def draw_figures(paper: Paper, records: Iterable[Mapping[str, Any]], *, quick: bool = False) -> dict[str, Drawing]:
    """Return the drawings of a paper by the name of their table."""
    results = Results(records)
    drawings = {}
    for table in paper.tables:
        if table.figure is None:
            continue
        file, alt = f"{paper.name}-{table.name}.svg", table.figure.alt
        comparisons = compare_table(table, results, quick=quick)
        lines = [comparison.line for comparison in comparisons]
        panels = PANELS[table.figure.kind](lines, results)
        if panels and _has_matplotlib():
            svg = _draw(table.figure.kind, panels, alt)
            drawings[table.name] = Drawing(file, alt, svg, table.figure.say(comparisons, results))
        else:
            has_run = any(comparison.summary for comparison in comparisons)
            drawings[table.name] = Drawing(file, alt, why=REMEDY if panels else OLD_RECORDS if has_run else NOT_RUN)
    return drawings


def _roc_panels(lines: Sequence[Line], results: Results) -> Panels:
    """Return a panel for each setting where all its methods have curves, over the splits that all of them have."""
    panels: Panels = {}
    for setting in dict.fromkeys(line.setting for line in lines):
        tasks = {
            line.method: line.task.key
            for line in lines
            if line.setting == setting and line.task and not line.against and line.method != "self-training"
        }
        curves = {method: results.curves.get(key, {}) for method, key in tasks.items()}
        seeds = set.intersection(*({s for s in by_seed if "roc_fine" in by_seed[s]} for by_seed in curves.values()))
        if not seeds:
            continue
        splits = f"{len(seeds)} splits" if len(seeds) > 1 else "1 split"
        panels[f"{setting}\n({splits})"] = [
            Curve(
                method,
                f"{method}: AUC {np.mean([results.scores[key][s]['auc'] for s in sorted(seeds)]):.3f}",
                np.array(FINE_GRID),
                list(np.array([curves[method][s]["roc_fine"] for s in sorted(seeds)]).T),
            )
            for method, key in tasks.items()
        ]
    return panels


def _seconds_panels(lines: Sequence[Line], results: Results) -> Panels:
    """Return a panel for each set, with the methods that ran on at least two sizes."""
    values: dict[tuple[str, str], dict[int, list[float]]] = {}
    for line in lines:
        found = results.values(line)
        if found and line.task is not None:
            values.setdefault((line.task.data, line.method), {})[line.task.split["n"]] = found
    panels: Panels = {}
    for (data, method), by_rows in values.items():
        if len(by_rows) > 1:
            rows = sorted(by_rows)
            curve = Curve(method, method, np.array(rows), [np.array(by_rows[n]) for n in rows])
            panels.setdefault(data, []).append(curve)
    return panels


def _bars_panels(lines: Sequence[Line], results: Results) -> Panels:
    """Return one panel: a curve a method, whose grid numbers the sets; the title of the panel names them."""
    sets = list(dict.fromkeys(line.setting for line in lines))
    values: dict[str, dict[int, list[float]]] = {}
    for line in lines:
        found = results.values(line)
        if found:
            values.setdefault(line.method, {})[sets.index(line.setting)] = found
    curves = [
        Curve(method, method, np.array(sorted(by_set)), [np.array(by_set[at]) for at in sorted(by_set)])
        for method, by_set in values.items()
    ]
    return {", ".join(sets): curves} if curves else {}


def _gains_panels(lines: Sequence[Line], results: Results) -> Panels:
    """Return one panel with a curve for each set that ran at two shares or more."""
    values: dict[str, dict[float, list[float]]] = {}
    for line in lines:
        found = results.values(line)
        if found and line.task is not None:
            values.setdefault(line.method, {})[100 * line.task.split["labeled"]] = found
    curves = [
        Curve(name, name, np.array(sorted(by_share)), [np.array(by_share[share]) for share in sorted(by_share)])
        for name, by_share in values.items()
        if len(by_share) > 1
    ]
    return {"PSVM less SSVM": curves} if curves else {}


def _has_matplotlib() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def _draw(kind: str, panels: Panels, title: str) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOK)
        rows = 2 if kind == "roc" else 1
        figure = Figure(figsize=(max(4.4 * len(panels), 5.2), 4.2 * rows), layout="constrained")
        FigureCanvasSVG(figure)
        grid = figure.subplots(rows, len(panels), squeeze=False, sharey="row")
        for number, (name, curves) in enumerate(panels.items()):
            DRAWN[kind](grid[:, number], name, curves)
        if kind != "roc":  # one legend for all panels, off the curves
            parts = [axes.get_legend_handles_labels() for axes in grid.flat]
            named = {label: drawn for handles, labels in parts for drawn, label in zip(handles, labels, strict=True)}
            ncols = 3 if kind == "seconds" else len(named)
            figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=ncols, title=BAND)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    return file.getvalue()


def _draw_roc(column: NDArray, name: str, curves: list[Curve]) -> None:
    whole, corner = column
    for axes in column:
        _draw_curves(axes, curves, marks=False)
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
    whole.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    whole.set(title=name, xlim=(0, 1), ylim=(0, 1.01))
    whole.legend(loc="lower right", title=BAND)
    corner.set(title="its upper left corner", **CORNER)


def _draw_seconds(column: NDArray, name: str, curves: list[Curve]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (axes,) = column
    _draw_curves(axes, curves, marks=True)
    ends = np.array([min(curve.x[0] for curve in curves), max(curve.x[-1] for curve in curves)])
    start = 0.7 * min(curve.mean.min() for curve in curves)
    axes.plot(ends, start * ends / ends[0], color="0.5", linewidth=0.8, label="proportional to rows")
    axes.set(title=name, xlabel="rows", ylabel="seconds of a fit", xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _draw_bars(column: NDArray, name: str, curves: list[Curve]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    (axes,) = column
    sets, width = name.split(", "), 0.8 / len(curves)
    for number, curve in enumerate(curves):
        at = curve.x + (number - (len(curves) - 1) / 2) * width
        low, high = curve.band
        spread = np.maximum([curve.mean - low, high - curve.mean], 0)
        look = {"color": STYLES[curve.method]["color"], "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white"}
        axes.bar(at, curve.mean, width, yerr=spread, capsize=3, label=curve.label, **look)
    least = min(curve.mean.min() for curve in curves)
    axes.set(ylabel="seconds of a fit", yscale="log", ylim=(least / 3, None))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(range(len(sets)), sets)


def _draw_gains(column: NDArray, name: str, curves: list[Curve]) -> None:
    (axes,) = column
    _draw_curves(axes, curves, marks=True)
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set(title=name, xlabel="labeled rows, %", ylabel="difference in F1")


def _draw_curves(axes: Any, curves: list[Curve], *, marks: bool) -> None:
    proposed = iter(PROPOSED)
    for curve in curves:
        style = dict(STYLES[curve.method] if curve.method in STYLES else next(proposed))
        low, high = curve.band
        axes.fill_between(curve.x, low, high, color=style["color"], alpha=0.15, linewidth=0)
        if not marks:
            del style["marker"]
        axes.plot(curve.x, curve.mean, label=curve.label, linewidth=1.6, markersize=4, **style)


PANELS = {"roc": _roc_panels, "seconds": _seconds_panels, "bars": _bars_panels, "gains": _gains_panels}
DRAWN = {"roc": _draw_roc, "seconds": _draw_seconds, "bars": _draw_bars, "gains": _draw_gains}
