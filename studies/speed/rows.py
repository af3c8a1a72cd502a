"""How long do 100,000 rows take, and how much memory, with each method?

300 labeled and 99,700 unlabeled rows of 50 numbers (`sklearn.datasets.make_classification`: 10
columns carry the classes, three clusters per class), default parameters unless the name says
otherwise. Positives only: the 300 labels are positive. "all labeled": every row has its label.
The campaign starts from a fitted model. The two commands read and write CSV files; their
start is included.

Each run is one fit in a process of its own, after a warm-up on 600 rows. Medians are printed; a fit
that takes longer than the limit is ended and said so. With OMP_NUM_THREADS=1 the lines (`--only`) can
be measured side by side on a larger machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from studies.harness.fresh_process import measured
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line, make_parser, run_by_turns

N_ROWS, N_COLUMNS, N_LABELED = 100_000, 50, 300
LIMIT_S = 300.0
# name in the table -> class, parameters, which rows have labels
FITS = {
    "SupervisedSVC": ("SupervisedSVC", {}, "some"),
    "SupervisedSVC, linear, all labeled": ("SupervisedSVC", {"kernel": "linear"}, "all"),
    "AutoSVC": ("AutoSVC", {}, "some"),
    "PreferenceSVC, min_precision=0.8": (
        "PreferenceSVC",
        {"min_precision": 0.8, "random_state": 0},
        "some",
    ),
    "PositiveUnlabeledSVC": ("PositiveUnlabeledSVC", {"random_state": 0}, "positive"),
    "TransductiveSVC, linear": ("TransductiveSVC", {"kernel": "linear"}, "some"),
    "LabelMeanSVC": ("LabelMeanSVC", {}, "some"),
    "SelfTrainingSVC, linear": ("SelfTrainingSVC", {"kernel": "linear"}, "some"),
    "MixtureClassifier": ("MixtureClassifier", {"random_state": 0}, "some"),
}
OTHERS = (
    "Campaign: 20 batches of 10, verdict",
    "semisvm fit",
    "semisvm predict",
)


def draw(n_rows: int, labels: str, seed: int):
    """Return rows, their labels as told, and the true ones."""
    from sklearn.datasets import make_classification

    X, truth = make_classification(
        n_rows,
        N_COLUMNS,
        n_informative=10,
        n_redundant=0,
        n_clusters_per_class=3,
        class_sep=1.5,
        random_state=seed,
    )
    if labels == "all":
        return X, truth, truth
    can_have = np.flatnonzero(truth == 1) if labels == "positive" else np.arange(n_rows)
    y = np.full(n_rows, -1)
    y[can_have[:N_LABELED]] = truth[can_have[:N_LABELED]]
    return X, y, truth


def run_once(task: dict, repeat: int) -> dict:
    """Run one line of the table in this process, after a warm-up, and return what it took."""
    import semisvm

    name = task["what"]
    n_rows = task["rows"]
    took = {}
    if name.startswith("semisvm"):
        return run_command(name.removeprefix("semisvm "), n_rows, task["limit"], repeat)
    class_name, parameters, labels = FITS.get(name, FITS["SupervisedSVC"])
    estimator = getattr(semisvm, class_name)
    estimator(**parameters).fit(*draw(600, labels, repeat)[:2])
    X, y, truth = draw(n_rows, labels, repeat)
    if name in FITS:
        with measured(took, task["limit"]):
            model = estimator(**parameters).fit(X, y)
        return took | {"n_iter": int(np.sum(getattr(model, "n_iter_", 0)))}
    model = estimator(**parameters).fit(X, y)
    with measured(took, task["limit"]):
        campaign = model.campaign(X, min_precision=0.9)
        for _ in range(20):
            rows = campaign.draw(10)
            campaign.tell(rows, truth[rows])
        campaign.verdict()
    return took


def run_command(command: str, n_rows: int, limit: float, repeat: int) -> dict:
    """Run a subcommand on CSV files in this process, the import of the library included."""
    took: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        data, model, out = (
            str(Path(folder) / name) for name in ("data.csv", "model.skops", "labeled.csv")
        )
        write_table(data, n_rows, repeat)
        fit = ["fit", data, "--target", "kind", "--out", model]
        predict = ["predict", model, data, "--out", out]
        if command == "predict":
            write_table(small := str(Path(folder) / "small.csv"), 2_000, repeat)
            call([*fit[:1], small, *fit[2:]])
        with measured(took, limit):
            call(fit if command == "fit" else predict)
    return took


def write_table(path: str, n_rows: int, seed: int) -> None:
    """Write rows as a CSV file whose cells in "kind" are empty where there is no label."""
    import pandas

    X, y, _ = draw(n_rows, "some", seed)
    table = pandas.DataFrame(X.round(4), columns=[f"x{k}" for k in range(N_COLUMNS)])
    table["kind"] = np.array(["no", "yes", ""])[y]
    table.to_csv(path, index=False)


def call(arguments: list[str]) -> None:
    """Run `semisvm` in this process."""
    from semisvm.cli.commands import run

    if status := run(arguments):
        raise RuntimeError(f"semisvm {arguments[0]} ended with {status}")


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = make_parser("rows", __doc__)
    lines = (*FITS, *OTHERS)
    parser.add_argument("--only", nargs="+", choices=lines, default=lines, metavar="LINE")
    parser.add_argument("--rows", type=int, default=N_ROWS, metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS")
    options = parser.parse_args(argv)
    tasks = [{"what": name, "rows": options.rows, "limit": options.limit} for name in options.only]
    found = run_by_turns("studies.speed.rows:run_once", tasks, options.repeats, options.out)
    table = [
        [
            task["what"],
            *(took_cells(took) if took else [f"over {options.limit:g}, or failed", "", "", ""]),
        ]
        for task, took in zip(tasks, found, strict=True)
    ]
    head = ["what", "seconds", "CPU-s", "peak-MiB", "before-MiB"]
    print(f"{machine_line()}; {options.rows:,} rows, medians of {options.repeats} runs\n")
    print(markdown_table(head, table, n_text=1))
    return 0


def took_cells(took: dict) -> list[str]:
    """Return the cells of one line."""
    memory = [f"{took[name]:,.0f}" for name in ("rss_peak_mib", "rss_before_mib")]
    return [f"{took['wall_s']:.2f}", f"{took['cpu_s']:.2f}", *memory]


if __name__ == "__main__":
    sys.exit(main())
