"""Axes to draw on, and the colors of all pictures: Okabe and Ito's, told apart by every eye."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#7F7F7F", "#1A2027"
REMEDY = 'matplotlib is not installed; get it with: pip install "semisvm[plots]"'


def pyplot() -> Any:
    """matplotlib's pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(REMEDY) from None
    return plt


def axes_to_draw_on(ax: Any) -> Any:
    """The axes given, or new ones."""
    return pyplot().subplots()[1] if ax is None else ax
