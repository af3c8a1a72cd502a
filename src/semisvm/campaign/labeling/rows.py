"""Rows in memory to label: data frames, arrays, sparse matrices, lists of texts or images.

`label_rows` shows them where the person is: as a widget in a notebook, else in the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semisvm.campaign.labeling import CellReader, LabelSession
from semisvm.errors import MissingExtraError, require_extra

if TYPE_CHECKING:
    from semisvm.campaign.campaign import Campaign

ONE_COLUMN = "row"  # the name of the only column of a list


def label_rows(
    campaign: Campaign,
    X: Any,
    state: str | Path | None,
    show: Sequence[str],
    image: str | None,
    folder: str | Path | None,
) -> Any:
    """Ask for the labels of rows; see `Campaign.label`."""
    session = LabelSession(
        campaign, reader_of(X, campaign.n_rows), state=state, show=show, image=image, folder=folder
    )
    in_notebook = is_notebook()
    if in_notebook and not find_spec("anywidget"):
        raise MissingExtraError(
            "Campaign.label in a notebook needs anywidget, which is not installed. Run:"
            ' pip install "semisvm[notebook]"'
        )
    if not in_notebook and not sys.stdin.isatty():
        raise ValueError(
            "There is neither a notebook nor a terminal to ask in. Use `draw` and `tell`, or run"
            " this in one of them."
        )
    if state is not None:
        campaign.save(state)  # an error about the file comes before the first answer
    if in_notebook:
        from semisvm.campaign.labeling.widget import LabelWidget

        return LabelWidget(session)
    require_extra("Campaign.label in a terminal", "click", "rich")
    import click
    from rich.console import Console

    from semisvm.campaign.labeling.terminal import ask_in_terminal

    console = Console(highlight=False)
    ask_in_terminal(session, console, click.getchar)
    console.print(campaign.verdict().reason)
    return None


def is_notebook() -> bool:
    """Whether a notebook shows what cells return: Jupyter, VS Code, marimo."""
    if "marimo" in sys.modules and sys.modules["marimo"].running_in_notebook():
        return True
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def reader_of(X: Any, n_rows: int) -> CellReader:
    """Return what reads the cells of rows of X; ValueError unless X has `n_rows` rows."""
    n_given = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_given != n_rows:
        raise ValueError(
            f"The campaign is about {n_rows:,} rows, and {n_given:,} are given to label. Give the"
            " rows of the pool, in its order."
        )
    if hasattr(X, "iloc"):  # pandas
        frame = X if hasattr(X, "columns") else X.to_frame(X.name or ONE_COLUMN)
        return lambda places: [
            {str(name): cell for name, cell in row.items()}
            for row in frame.iloc[list(places)].to_dict("records")
        ]
    if hasattr(X, "to_dicts"):  # polars
        return lambda places: X[list(places)].to_dicts()
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        return lambda places: [_cells(matrix[[place]].toarray()[0]) for place in places]
    if isinstance(X, np.ndarray) and X.ndim > 1:
        flat = X.reshape(len(X), -1)
        return lambda places: [_cells(flat[place]) for place in places]
    return lambda places: [
        X[place] if isinstance(X[place], dict) else {ONE_COLUMN: X[place]} for place in places
    ]


def _cells(values: np.ndarray) -> dict[str, Any]:
    return {str(column): value for column, value in enumerate(values.tolist())}
