"""Tables of codes: no number has more than four values, and their order means nothing.

    python -m studies.few_labels.discrete --means studies/few_labels/discrete.json --measured "DATE, MACHINE"

Games and rules are made by formula; other tables are cut into three or four values per column at
their quantiles, and the values dealt new numbers at random. 30 labels, at most 2,000 rows in the
fit, others new, as in the study of few labels; several draws. Every method gets the codes as numbers.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import average_precision_score

from studies.few_labels import public
from studies.few_labels.__main__ import AUTO, draw_rows
from studies.few_labels.methods import METHODS, fits
from studies.harness.fresh_process import measured
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table

N_LABELS = 30
MEASURES = ("accuracy", "average_precision", "seconds", "megabytes")
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def tic_tac_toe() -> tuple[np.ndarray, np.ndarray]:
    """Boards on which a game is over (0 empty, 1 cross, 2 nought), and whether crosses win."""
    boards = np.indices((3,) * 9).reshape(9, -1).T
    crosses_win, noughts_win = (
        (boards[:, np.array(LINES)] == k).all(axis=2).any(axis=1) for k in (1, 2)
    )
    ahead = (boards == 1).sum(axis=1) - (boards == 2).sum(axis=1)
    is_over = crosses_win | noughts_win | (boards > 0).all(axis=1)
    is_over &= ~(crosses_win & noughts_win) & (ahead == np.where(noughts_win, 0, 1))
    return boards[is_over], crosses_win[is_over]


def monk(number: int) -> tuple[np.ndarray, np.ndarray]:
    """The 432 robots of the MONK's problems, and one of the three rules (the third without noise)."""
    robots = 1 + np.indices((3, 3, 2, 3, 4, 2)).reshape(6, -1).T
    a = robots.T
    rules = {
        1: (a[0] == a[1]) | (a[4] == 1),
        2: (robots == 1).sum(axis=1) == 2,
        3: ((a[4] == 3) & (a[3] == 1)) | ((a[4] != 4) & (a[1] != 3)),
    }
    return robots, rules[number]


def in_values(X: Any, y: np.ndarray, n_values: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns cut at their quantiles into at most `n_values` values, which get random numbers."""
    rng = np.random.default_rng(0)
    codes = np.zeros(X.shape, dtype=int)
    for j, column in enumerate(np.asarray(X, dtype=float).T):
        edges = np.nanquantile(column, np.arange(1, n_values) / n_values)
        codes[:, j] = rng.permutation(n_values)[np.searchsorted(edges, column)]
    return codes, y


def splice() -> tuple[np.ndarray, np.ndarray]:
    """DNA of mlbench: 60 positions, each of which it writes as three bits, as four codes."""
    X, y = public.load_task("DNA")
    bits = np.asarray(X, dtype=int).reshape(len(X), -1, 3)
    return bits @ [1, 2, 3], y


def _scikit(load: Callable[..., Any], n_values: int, positive: int) -> Any:
    X, y = load(return_X_y=True)
    return in_values(X, y == positive, n_values)


DEVELOPED_ON: dict[str, Callable[[], Any]] = {
    "tic-tac-toe": tic_tac_toe,
    "monk 1": lambda: monk(1),
    "monk 2": lambda: monk(2),
    "monk 3": lambda: monk(3),
    "wine in 3 values": lambda: _scikit(datasets.load_wine, 3, 1),
    "breast cancer in 4 values": lambda: _scikit(datasets.load_breast_cancer, 4, 0),
    "digits in 3 values": lambda: _scikit(datasets.load_digits, 3, 8),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "DNA": splice,
    **{
        f"{name} in {n_values} values": lambda name=name, n_values=n_values: in_values(
            *public.load_task(name), n_values
        )
        for name, n_values in (
            ("Glass", 3),
            ("Sonar", 3),
            ("Vowel", 4),
            ("BreastCancer", 4),
            ("LetterRecognition", 4),
            ("segmentationData", 3),
        )
    },
}


@cache
def load_codes(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The codes of a table, and its classes, 0 or 1."""
    X, y = (DEVELOPED_ON | OTHERS)[name]()
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), np.asarray(y).astype(int)


def run_table(name: str, n_draws: int, methods: list[str]) -> list[dict[str, Any]]:
    """One cell per method: means over the draws."""
    X, y = load_codes(name)
    measures: dict[str, list[tuple[float, ...]]] = {method: [] for method in methods}
    for draw in range(n_draws):
        fit, new = draw_rows(y, N_LABELS, crc32(f"{name} {N_LABELS} {draw}".encode()))
        hidden = np.where(np.arange(len(fit)) < N_LABELS, y[fit], -1)
        for method in methods:
            took: dict[str, Any] = {}
            with warnings.catch_warnings(), measured(took):
                warnings.simplefilter("ignore")
                scores = METHODS[method](X.iloc[fit], hidden, X.iloc[new])
            measures[method].append(
                (
                    float(np.mean((scores > 0) == y[new])),
                    float(average_precision_score(y[new], scores)),
                    took["cpu_s"],
                    took["rss_peak_mib"] - took["rss_before_mib"],
                )
            )
    return [
        {"set": name, "method": method, "draws": n_draws}
        | dict(zip(MEASURES, map(float, mean), strict=True))
        for method in methods
        for mean in [np.mean(measures[method], axis=0)]
    ]


def page_of(cells: list[dict[str, Any]]) -> str:
    """Per table and in the mean, developed on or not: AutoSVC and the best other method."""
    lines = []
    for is_developed_on, tables in (("yes", DEVELOPED_ON), ("no", OTHERS)):
        of_group = pd.DataFrame([cell for cell in cells if cell["set"] in tables])
        if not len(of_group):
            continue
        for name in [*of_group["set"].unique(), "mean"]:
            part = of_group if name == "mean" else of_group[of_group["set"] == name]
            means = part.groupby("method")[list(MEASURES)].mean()
            others = means.drop(index=AUTO)
            line = [name, is_developed_on]
            for measure in ("accuracy", "average_precision"):
                best = others[measure].idxmax()
                line += [f"{means[measure][AUTO]:.3f}", f"{others[measure][best]:.3f} ({best})"]
            spent = f"{means['seconds'][AUTO]:.1f}", f"{means['megabytes'][AUTO]:.0f}"
            lines.append([*line, *spent])
    head = ["table", "developed on", "AutoSVC: accuracy", "best other"]
    return markdown_table([*head, "average precision", "best other", "CPU s", "MB"], lines)


def main() -> None:
    """Run all tables, and print accuracies."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=[*DEVELOPED_ON, *OTHERS])
    parser.add_argument("--means", type=Path, help="write the means to a file")
    parser.add_argument("--measured", nargs="*", default=[], help="when and where, for --means")
    options = parser.parse_args()
    cells = []
    for name in options.sets:
        methods = [method for method in METHODS if fits(method, load_codes(name)[0])]
        methods.remove("AutoSVC, array")
        cells += run_table(name, options.draws, methods)
    if options.means:
        write_cells(options.measured, cells, options.means)
    print(page_of(cells))


if __name__ == "__main__":
    main()
