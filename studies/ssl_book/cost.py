"""CPU seconds and memory of one fit of `AutoSVC`, by the number of rows, as points and as a table.

python -m studies.ssl_book.cost
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from semisvm import AutoSVC
from studies.harness.machine import describe_today
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table

RECORD = Path(__file__).parent / "cost.json"
SIZES = ((1500, 100), (20_000, 200), (100_000, 300))
N_COLUMNS = 50


def measure(n_rows: int, n_labeled: int, columns: str) -> tuple[float, float]:
    """CPU seconds of a fit, labels for all rows included, and the most memory of this process so
    far in GB.
    """
    X, y = make_classification(
        n_rows,
        N_COLUMNS,
        n_informative=10,
        n_redundant=0,
        n_clusters_per_class=3,
        class_sep=1.5,
        random_state=0,
    )
    hidden = np.where(np.arange(n_rows) < n_labeled, y, -1)
    began = time.process_time()
    AutoSVC(random_state=0, columns=columns).fit(X, hidden)
    return time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def table_of(cells: list[dict]) -> str:
    """The cells as a table, which docs/measured/ssl-book.md shows."""
    lines = [
        [
            f"{cell['rows']:,} x {N_COLUMNS}",
            str(cell["labels"]),
            cell["columns"],
            f"{cell['cpu_s']:.1f}",
            f"{cell['memory_gb']:.1f}",
        ]
        for cell in cells
    ]
    head = ["rows x columns", "labels", "columns as", "CPU seconds", "most memory, GB"]
    return markdown_table(head, lines)


if __name__ == "__main__":
    measure(500, 20, "table")  # compiles
    cells = []
    for n_rows, n_labeled in SIZES:
        for columns in ("points", "table"):
            seconds, memory = measure(n_rows, n_labeled, columns)
            task = {"rows": n_rows, "labels": n_labeled, "columns": columns}
            cells.append(task | {"cpu_s": seconds, "memory_gb": memory})
    write_cells([describe_today()], cells, RECORD)
    print(table_of(cells))
