"""The four tasks of the PSVM paper, with the C and gamma of its Table 2, and cells cut from them.

Data only: nothing here reads a file or imports NumPy, so the process that starts the runs stays small.
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEED = 0


@dataclass(frozen=True)
class Task:
    """The parameters a set is trained with; `semisvm.datasets.load` knows its file and its positive class."""

    C: float
    gamma: float


TASKS = {
    "adult": Task(C=100.0, gamma=0.5),
    "ijcnn1": Task(C=10.0, gamma=0.125),
    "mnist": Task(C=10.0, gamma=0.125),
    "protein": Task(C=10.0, gamma=0.25),
}


@dataclass(frozen=True)
class Cell:
    """A task's name and a size: "10%", "all", or "600 rows"."""

    task: str
    size: str

    def __str__(self):
        return f"{self.task} {self.size}"

    def n_rows(self, n):
        """Return how many of the task's n rows are trained on."""
        if self.size == "all":
            return n
        if self.size.endswith("%"):
            return round(n * float(self.size[:-1]) / 100)
        return min(n, int(self.size.split()[0]))

    def describe(self, shape):
        """Return the cell as a record holds it."""
        n_rows, n_features = shape
        return asdict(self) | {"rows": n_rows, "features": n_features, "seed": SEED}


def data_dir():
    """Return the folder that holds `psvm/`; raise FileNotFoundError with the remedy where there is none."""
    named = os.environ.get("SEMISVM_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "psvm").is_dir():
        why = "SEMISVM_DATA names a folder without psvm/ in it" if named else "SEMISVM_DATA is not set"
        raise FileNotFoundError(
            f"The papers' data was not found: {why}. Set SEMISVM_DATA to the folder that holds psvm/."
        )
    return folder
