"""SVG figures that are equal, byte for byte, for equal data: no date, no random identifiers, no
settings of the user.

matplotlib is imported only when something is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

REMEDY = 'matplotlib is not installed; get it with: pip install "semisvm[plots]"'
LOOK = {
    "svg.hashsalt": "semisvm",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
# the colors of Okabe and Ito, which color-blind readers can tell apart; lines and marks differ too
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    {"color": "#D55E00", "linestyle": "--", "marker": "s"},
    {"color": "#009E73", "linestyle": "-.", "marker": "^"},
    {"color": "#CC79A7", "linestyle": ":", "marker": "D"},
    {"color": "#E69F00", "linestyle": (0, (3, 1, 1, 1, 1, 1)), "marker": "P"},
)


@dataclass(frozen=True, eq=False)
class Curve:
    """Values `mean` over a grid `x`, with a band from `low` to `high` where there is one."""

    name: str
    label: str
    x: NDArray
    mean: NDArray
    low: NDArray | None = None
    high: NDArray | None = None


def has_matplotlib() -> bool:
    """Return whether figures can be drawn here."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw_svg(size: tuple[float, float], title: str, draw: Callable[[Any], None]) -> bytes:
    """Return the SVG file of what `draw` draws into an empty matplotlib figure of a size in
    inches.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOK)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    return file.getvalue()


def draw_curves(
    axes: Any, curves: Sequence[Curve], styles: Sequence[dict[str, Any]], *, marks: bool
) -> None:
    """Draw curves with their bands, each in its style."""
    for curve, style in zip(curves, styles, strict=True):
        if curve.low is not None and curve.high is not None:
            axes.fill_between(
                curve.x, curve.low, curve.high, color=style["color"], alpha=0.15, linewidth=0
            )
        look = (
            style if marks else {name: value for name, value in style.items() if name != "marker"}
        )
        axes.plot(curve.x, curve.mean, label=curve.label, linewidth=1.6, markersize=4, **look)


def make_logarithmic(axes: Any) -> None:
    """Make both axes logarithmic, with ticks that read as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
