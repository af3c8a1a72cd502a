"""How long does it take to train and tune an RBF SVM, and what is chosen?

    make bench-tune
    make bench-tune ARGS="--sets mixture-10000x1000 ijcnn1-10000 --folds 10 --Cs 50 --device cuda"

`SVCCV` beside `GridSearchCV(SVC)`, the same with scikit-learn-intelex, and TorchKM, where they are
installed. All choose C by cross-validated accuracy, with the same gamma, values of C and number of
folds. A set is "mixture-ROWSxCOLUMNS", or "adult-ROWS" and "ijcnn1-ROWS" of the PSVM paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.records import markdown_table
from studies.running import make_parser, measured
from studies.speed.rows import PAPER_SETS, paper_rows, two_mixtures
from studies.speed.turns import run_by_turns, store

PEERS = ("ours", "svc", "intelex", "torchkm")
SETS = ("mixture-5000x20", "ijcnn1-5000", "adult-5000")
N_LEFT_OUT = 2_000
KEY = ("set", "peer", "folds", "Cs", "device")


def read_rows(name: str) -> tuple[Any, Any, Any, Any, float]:
    """Return training rows and classes, those left out, and gamma."""
    kind, _, size = name.partition("-")
    if kind == "mixture":
        n, d = (int(part) for part in size.split("x"))
        X, sign = two_mixtures(n + N_LEFT_OUT, d)
        gamma = float(1 / (d * X.var()))
    else:
        n = int(size)
        X, sign = paper_rows(kind, n + N_LEFT_OUT)
        order = np.random.default_rng(1).permutation(len(sign))
        X, sign, gamma = X[order], sign[order], PAPER_SETS[kind][1]
    y = (sign > 0).astype(int)
    return X[:n], y[:n], X[n:], y[n:], gamma


def make_peer(peer: str, Cs: np.ndarray, gamma: float, folds: int, device: str) -> Any:
    """Return an unfitted search."""
    from sklearn.model_selection import GridSearchCV

    if peer == "ours":
        from semisvm import SVCCV, SupervisedSVC

        svm = SupervisedSVC(device=device)
        return SVCCV(svm, Cs=Cs, gammas=[gamma], cv=folds, scoring="accuracy")
    if peer == "torchkm":
        from torchkm.estimators import TorchKMSVC

        falling = sorted(Cs.tolist(), reverse=True)
        # Its kernel is exp(-2 sigma |x - z|^2).
        more = {"nC": len(falling), "cv": folds, "device": device, "random_state": 0}
        return TorchKMSVC(Cs=falling, rbf_sigma=gamma / 2, **more)
    if peer == "svc":
        from sklearn.svm import SVC

        return GridSearchCV(SVC(gamma=gamma, cache_size=1000), {"C": Cs}, cv=folds, n_jobs=-1)
    from sklearnex.svm import SVC as IntelSVC

    return GridSearchCV(IntelSVC(gamma=gamma, cache_size=1000), {"C": Cs}, cv=folds)


def tune_once(task: dict[str, Any]) -> dict[str, float]:
    """Tune with one peer, and measure it and what it chose."""
    X, y, X_left, y_left, gamma = read_rows(task["set"])
    Cs = np.geomspace(1e-2, 1e2, task["Cs"])
    # Imports and compiled code, which depend on the number of rows, are not part of what is timed.
    warm_up = slice(None) if task["peer"] == "ours" else slice(1_200)
    make_peer(task["peer"], Cs[:2], gamma, 2, task["device"]).fit(X[warm_up], y[warm_up])
    model = make_peer(task["peer"], Cs, gamma, task["folds"], task["device"])
    took: dict[str, Any] = {}
    with measured(took, task["limit"]):
        model.fit(X, y)
    chosen = getattr(model, "C_", None) or getattr(model, "best_C_", None)
    C = chosen if chosen is not None else model.best_params_["C"]
    accuracy = float(np.mean(model.predict(X_left) == y_left))
    return {
        "wall_s": took["wall_s"],
        "peak_mib": took["peak_mib"],
        "C": float(C),
        "accuracy": accuracy,
    }


def table_of(cells: list[dict[str, Any]]) -> str:
    """One line per set and grid: seconds of each peer, and how many times those of ours."""
    lines: dict[tuple, dict[str, float]] = {}
    for cell in cells:
        if "wall_s" in cell:
            key = (cell["set"], f"{cell['Cs']} x {cell['folds']}", cell["device"])
            lines.setdefault(key, {})[cell["peer"]] = cell["wall_s"]
    rows = []
    for key, seconds in lines.items():
        row = list(key)
        for peer in PEERS:
            took = seconds.get(peer)
            times = (
                f" ({took / seconds['ours']:.0f}x)"
                if took and peer != "ours" and "ours" in seconds
                else ""
            )
            row.append("" if took is None else f"{took:.3g}{times}")
        rows.append(row)
    named = ("SVCCV", "GridSearchCV(SVC)", "scikit-learn-intelex", "TorchKM")
    head = ["set", "values of C x folds", "device", *(f"{name}, s" for name in named)]
    return markdown_table(head, rows)


def main() -> None:
    """Run all peers on all sets by turns and print a table."""
    parser = make_parser("studies.speed.tuning", __doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="SET")
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--Cs", type=int, default=10, help="values of C from 0.01 to 100")
    parser.add_argument("--device", default="cpu", help="of ours and TorchKM")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1800, help="seconds of one run")
    options = parser.parse_args()
    shared = {key: getattr(options, key) for key in ("folds", "Cs", "device", "limit")}
    tasks = [
        {"set": name, "peer": peer, **shared} for name in options.sets for peer in options.peers
    ]
    cells = run_by_turns("studies.speed.tuning:tune_once", tasks, options.repeats)
    for cell in cells:
        cell.pop("limit")
    if options.store:
        store("tuning", cells, KEY)
    print(table_of(cells))
    for cell in cells:
        left = cell.get("why") or f"C = {cell['C']:.3g}, accuracy {cell['accuracy']:.4f}"
        print(f"{cell['set']}, {cell['peer']}: {left}")


if __name__ == "__main__":
    main()
