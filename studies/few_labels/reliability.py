"""Are the probabilities of `AutoSVC` what they say? On the tables of `public`, 100 labels, one draw.

    python -m studies.few_labels.reliability --means studies/few_labels/reliability.json --measured "DATE, MACHINE"

New rows of all tables are put into bins by their probability of class 1; a row of a table of m new
rows counts for 1 / m. In a bin, the mean probability should be the share of rows of class 1.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from semisvm import AutoSVC
from studies.few_labels import public
from studies.few_labels.__main__ import AUTO, cells_of, draw_rows
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table

N_LABELS = 100
EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def probabilities_of_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of class 1 of new rows, and whether they are of it."""
    X, y = public.load_task(name)
    fit, new = draw_rows(y, N_LABELS, crc32(f"{name} {N_LABELS} 0".encode()))
    hidden = np.where(np.arange(len(fit)) < N_LABELS, y[fit], -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoSVC(random_state=0).fit(X.iloc[fit], hidden)
        return model.predict_proba(X.iloc[new])[:, 1], y[new]


def bins_of(by_set: dict[str, tuple[np.ndarray, np.ndarray]]) -> list[dict[str, Any]]:
    """One cell per bin: the share of rows in it, their mean probability, and how many are of
    class 1.
    """
    p = np.concatenate([p for p, _ in by_set.values()])
    y = np.concatenate([y for _, y in by_set.values()])
    weight = np.concatenate([np.full(len(p), 1 / len(p)) for p, _ in by_set.values()])
    number = np.digitize(p, EDGES[1:-1])
    return [
        {
            "from": EDGES[k],
            "to": EDGES[k + 1],
            "sets": len(by_set),
            "rows": float(weight[number == k].sum() / len(by_set)),
            "probability": float(np.average(p[number == k], weights=weight[number == k])),
            "share": float(np.average(y[number == k], weights=weight[number == k])),
        }
        for k in range(len(EDGES) - 1)
        if (number == k).any()
    ]


def table_of(cells: list[dict[str, Any]]) -> str:
    """The bins as a table."""
    head = ["probability", "share of rows", "mean probability", "share of class 1"]
    lines = [
        [f"{cell['from']:g} to {cell['to']:g}"]
        + [f"{cell[name]:.3f}" for name in ("rows", "probability", "share")]
        for cell in cells
    ]
    return markdown_table(head, lines)


def main() -> None:
    """Fit every table once, and print the bins."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=list(public.TABLES))
    parser.add_argument("--means", type=Path, help="write the bins to a file")
    parser.add_argument("--measured", nargs="*", default=[], help="when and where, for --means")
    options = parser.parse_args()
    names = [name for name, *_ in cells_of(options.sets, [N_LABELS], 1, [AUTO])]
    cells = bins_of({name: probabilities_of_set(name) for name in names})
    if options.means:
        write_cells(options.measured, cells, options.means)
    print(table_of(cells))


if __name__ == "__main__":
    main()
