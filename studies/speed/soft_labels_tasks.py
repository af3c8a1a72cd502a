"""The sets of the study of soft labels: those that it reports on, and those that its rule was tuned
on.

Reported: the PSVM paper's four sets with its C and gamma, and a second pair for three of them.
Tuned: binary tasks made from the sets of CS4VM and from two sets of scikit-learn, balanced and not;
features are standardized, and each task has four pairs of C and gamma, from smooth to local, with
gamma in multiples of 1 / (number of features).
"""

from dataclasses import dataclass

import numpy as np

from studies.data import load
from studies.speed.paper_sets import PAPER_SETS, load_signed


@dataclass(frozen=True)
class Setting:
    """A set, the labels that are positive (None: as in the paper), C and gamma."""

    source: str
    C: float
    gamma: float
    positive: tuple[int, ...] | None = None

    def load(self):
        """Read all labeled rows: X and sign, +1.0 or -1.0."""
        if self.positive is None:
            return load_signed(self.source)
        dataset = load(self.source)
        X = np.asarray(dataset.X, dtype=np.float64)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        return X, np.where(np.isin(dataset.y, self.positive), 1.0, -1.0)


REPORTED = {name: Setting(name, found.C, found.gamma) for name, found in PAPER_SETS.items()} | {
    "mnist, smooth": Setting("mnist", 10.0, 0.02),
    "ijcnn1, local": Setting("ijcnn1", 10.0, 2.0),
    "adult, smooth": Setting("adult", 10.0, 0.01),
}

ODD = (1, 3, 5, 7, 9)
TUNING_TASKS = {
    "digits, odd": ("digits", 64, ODD),
    "digits, 3": ("digits", 64, (3,)),
    "wdbc": ("wdbc", 30, (0,)),
    "sat_full, 2 4 5": ("sat_full", 36, (2, 4, 5)),
    "sat_full, 4": ("sat_full", 36, (4,)),
    "optdigits_full, odd": ("optdigits_full", 64, ODD),
    "optdigits_full, 8": ("optdigits_full", 64, (8,)),
    "texture_full, half": ("texture_full", 40, (2, 4, 7, 9, 12, 14)),
    "texture_full, 3": ("texture_full", 40, (3,)),
    "vehicle_full, 2": ("vehicle_full", 18, (2,)),
    "vehicle_full, 1 4": ("vehicle_full", 18, (1, 4)),
    "krvskp": ("krvskp", 36, (1,)),
    "german": ("german", 59, (1,)),
    "australian": ("australian", 42, (0,)),
    "diabetes": ("diabetes", 8, (1,)),
    "ionosphere": ("ionosphere", 33, (1,)),
    "clean1": ("clean1", 166, (1,)),
    "spectf": ("spectf", 44, (1,)),
    "house-votes": ("house-votes", 16, (0,)),
    "isolet": ("isolet", 51, (1,)),
    "sat": ("sat", 36, (1,)),
}
SMOOTH_TO_LOCAL = ((1.0, 1), (10.0, 1), (10.0, 5), (100.0, 5))
TUNING = {
    f"{name}, C {C:g}, gamma {times}/d": Setting(source, C, times / n_features, positive)
    for name, (source, n_features, positive) in TUNING_TASKS.items()
    for C, times in SMOOTH_TO_LOCAL
}
