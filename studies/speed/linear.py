"""A linear SVM beside LIBLINEAR at equal objective.

    python -m studies.speed.linear

Ours is solved to its default tolerance; then LinearSVC at falling tolerances until its objective is
as low, its bias replaced by the best one for its weights (LIBLINEAR regularizes its own, which is
another problem). CPU seconds on one core.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from studies.data import load
from studies.records import markdown_table
from studies.running import ONE_THREAD, make_parser, measured
from studies.speed.rows import noisy_rule, objective, random_texts
from studies.speed.turns import run_by_turns, store

SETS = (
    "dense 20,000 x 50",
    "dense 100,000 x 50",
    "adult",
    "reuters-train",
    "texts 20,000",
    "texts 100,000",
)
LOSSES = ("hinge", "squared_hinge")
TOLERANCES = 10.0 ** np.arange(0, -6.1, -0.5)


def read_rows(name: str) -> tuple[Any, np.ndarray]:
    """Return the rows and signs of a set."""
    kind, _, rest = name.partition(" ")
    if rest:
        n = int(rest.split()[0].replace(",", ""))
        X, sign = noisy_rule(n, 50) if kind == "dense" else random_texts(n)
        return (X.astype(float), sign) if kind == "dense" else (X, sign)
    data = load(name)
    X = data.X.toarray() if name == "adult" else sparse.csr_matrix(data.X)
    return X, np.where(data.y == 1, 1, -1)


def compare_once(task: dict[str, Any]) -> dict[str, float]:
    """Fit ours, then LIBLINEAR until it is as good."""
    from sklearn.svm import LinearSVC

    from semisvm import SupervisedSVC

    warnings.simplefilter("ignore")
    X, sign = read_rows(task["set"])
    y, loss = (sign > 0).astype(int), task["loss"]  # 0 and 1: -1 is "no label"

    def of(w: np.ndarray) -> float:
        return objective(X @ w, float(w @ w), sign, 1.0, 2 if loss == "squared_hinge" else 1)

    settings = {"kernel": "linear", "solver": "primal", "loss": loss}
    SupervisedSVC(**settings).fit(X[:1500], y[:1500])
    took: dict[str, Any] = {}
    with measured(took):
        model = SupervisedSVC(**settings).fit(X, y)
    ours = of(model.coef_[0])
    found = {"ours_s": took["cpu_s"], "objective": ours}
    for tol in TOLERANCES:
        dual = loss == "hinge" or "auto"
        peer = LinearSVC(loss=loss, dual=dual, tol=tol, max_iter=2_000, random_state=0)
        took = {}
        with measured(took):
            peer.fit(X, y)
        theirs = of(peer.coef_[0])
        found |= {"theirs_s": took["cpu_s"], "theirs": theirs}
        if theirs <= ours * (1 + 1e-3):
            break
    return found | {"ratio": found["ours_s"] / found["theirs_s"]}


def table_of(cells: list[dict[str, Any]]) -> str:
    """One line per set and loss."""
    rows = [
        [c["set"], c["loss"], f"{c['ours_s']:.3g}", f"{c['theirs_s']:.3g}", f"{c['ratio']:.2f}"]
        for c in cells
        if "ratio" in c
    ]
    return markdown_table(["rows", "loss", "ours, s", "LIBLINEAR, s", "ratio"], rows)


def main() -> None:
    """Run all sets and print the table."""
    parser = make_parser("studies.speed.linear", __doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    tasks = [{"set": name, "loss": loss} for name in options.sets for loss in LOSSES]
    cells = run_by_turns(
        "studies.speed.linear:compare_once", tasks, options.repeats, lambda _: ONE_THREAD
    )
    if options.store:
        store("linear", cells, ("set", "loss"))
    print(table_of(cells))


if __name__ == "__main__":
    main()
