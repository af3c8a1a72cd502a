"""How fast does `semisvm predict` label a CSV of five million rows, compared with pandas and
scikit-learn?

The same SVM on both sides: an RBF SVM of the same labeled rows after the same scaling, with the
same C and gamma. Ours is the command `semisvm predict` on a model file. Theirs is the loop that
most people would write: `pandas.read_csv` in chunks, a scikit-learn pipeline of StandardScaler and
SVC, `DataFrame.to_csv`, on a joblib pickle. Each runs in a process of its own, one after the other;
seconds include the start of the process. A run on a tenth of the rows shows what the memory depends
on.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas

from studies.harness.fresh_process import call_fresh, peak_mib
from studies.harness.machine import describe_session
from studies.harness.records import Journal
from studies.harness.tables import markdown_table
from studies.speed.runs import machine_line, make_parser

N_FEATURES = 10
N_TRAIN, N_LABELED = 2_000, 500
CHUNK = 100_000


def run_command(*arguments):
    """Run the command `semisvm` in this process."""
    from semisvm.cli import main

    sys.argv = ["semisvm", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    return {"cpu_s": time.process_time(), "rss_peak_mib": peak_mib()}


def run_loop(model, data, out):
    """Predict chunk by chunk with pandas and scikit-learn in this process."""
    import joblib

    pipeline = joblib.load(model)
    for number, frame in enumerate(pandas.read_csv(data, chunksize=CHUNK)):
        scores = pipeline.decision_function(frame)
        labels = pipeline.classes_[(scores > 0).astype(int)]
        result = pandas.DataFrame({"label": labels, "score": scores, "above": scores > 0})
        result.to_csv(out, mode="a" if number else "w", header=number == 0, index=False)
    return {"cpu_s": time.process_time(), "rss_peak_mib": peak_mib()}


def write_rows(path, n_rows, seed, *, n_labeled=None):
    """Write rows of two overlapping Gaussian classes; with `n_labeled`, a column y with the
    class of the first rows.
    """
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, CHUNK):
        codes = rng.integers(0, 2, min(CHUNK, n_rows - start))
        X = rng.normal(size=(len(codes), N_FEATURES)) + 0.6 * codes[:, None]
        frame = pandas.DataFrame(X.round(4), columns=[f"x{i}" for i in range(N_FEATURES)])
        if n_labeled is not None:
            labels = np.array(["neg", "pos"])[codes]
            frame["y"] = np.where(start + np.arange(len(codes)) < n_labeled, labels, "")
        frame.to_csv(path, mode="a" if start else "w", header=start == 0, index=False)


def timed(function, *arguments):
    """Call a function of this module in a fresh process; return its measures with the seconds of
    the whole process.
    """
    start = time.perf_counter()
    answer = call_fresh(f"studies.speed.predict_stream:{function}", *map(str, arguments))
    seconds = time.perf_counter() - start
    if answer["outcome"] != "done":
        raise RuntimeError(answer["why"])
    return {"wall_s": seconds} | answer["result"]


def prepare(folder):
    """Fit the same SVM twice; return both model files."""
    import joblib
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    table = folder / "train.csv"
    write_rows(table, N_TRAIN, seed=1, n_labeled=N_LABELED)
    ours = folder / "model.skops"
    theirs = folder / "model.joblib"
    timed(
        "run_command",
        "fit",
        table,
        "--target",
        "y",
        "--method",
        "supervised",
        "--gamma",
        "0.1",
        "--out",
        ours,
    )
    frame = pandas.read_csv(table)
    features = frame.drop(columns="y")
    labeled = frame["y"].notna()
    scaler = StandardScaler().fit(features)
    svm = SVC(C=1.0, gamma=0.1).fit(scaler.transform(features[labeled]), frame.loc[labeled, "y"])
    joblib.dump(make_pipeline(scaler, svm), theirs)
    return ours, theirs


def largest_difference(one, other):
    """Return the largest difference of scores in the first rows of both outputs; their labels
    must agree.
    """
    first, second = (pandas.read_csv(path, nrows=CHUNK) for path in (one, other))
    assert (first["label"] == second["label"]).mean() > 0.9999
    return float((first["score"] - second["score"]).abs().max())


def main(argv=None):
    """Measure and print; return the exit status."""
    parser = make_parser("predict_stream", __doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    options = parser.parse_args(argv)
    rows = []
    with tempfile.TemporaryDirectory() as name, Journal(options.out, describe_session()) as journal:
        folder = Path(name)
        data = folder / "rows.csv"
        outs = (folder / "ours.csv", folder / "theirs.csv")
        ours, theirs = prepare(folder)
        for n_rows in (options.rows // 10, options.rows):
            write_rows(data, n_rows, seed=2)
            found = {
                "semisvm predict": timed(
                    "run_command", "predict", ours, data, "--out", outs[0], "--force"
                ),
                "pandas + scikit-learn": timed("run_loop", theirs, data, outs[1]),
            }
            found["semisvm predict"]["largest_difference"] = largest_difference(*outs)
            for way, took in found.items():
                took["rows_per_s"] = n_rows / took["wall_s"]
                task = {"way": way, "rows": n_rows}
                journal.append({"task": task, "seed": 0, "outcome": "done", "measures": took})
                shown = [
                    f"{n_rows:,}",
                    f"{took['wall_s']:.1f}",
                    f"{took['cpu_s']:.1f}",
                    f"{took['rows_per_s']:,.0f}",
                ]
                rows.append([way, *shown, f"{took['rss_peak_mib']:,.0f}"])
    print(f"{machine_line()}\n")
    print(
        markdown_table(
            ["way", "rows", "seconds", "CPU-s", "rows per second", "peak-MiB"], rows, n_text=1
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
