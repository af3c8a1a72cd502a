"""Predict a CSV of five million rows: rows a second and peak memory, beside pandas + scikit-learn doing the same.

    python -m studies.speed.predict_stream [--rows 5000000]

The same machine on both sides: an RBF support vector machine of the same labeled rows behind the same scaling, with
the same C and gamma. Ours is the command, `semisvm predict`, on a model file. Theirs is the loop most people would
write: `pandas.read_csv` in chunks, a scikit-learn pipeline of StandardScaler and SVC, `DataFrame.to_csv`, on a joblib
pickle. Each runs in a process of its own, one after the other; peak memory is the kernel's count for that process. A
run on a tenth of the rows shows what memory depends on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas

from studies.speed.records import append_record, describe_session

N_FEATURES = 10
N_TRAIN, N_LABELED = 2_000, 500
CHUNK = 100_000
RESULTS = Path(__file__).parent / "results" / "predict_stream.jsonl"

OURS = "from semisvm.cli import main; main()"
THEIRS = """
import sys, joblib, pandas
model, data, out, chunk = sys.argv[1:]
pipeline = joblib.load(model)
for number, frame in enumerate(pandas.read_csv(data, chunksize=int(chunk))):
    scores = pipeline.decision_function(frame)
    labels = pipeline.classes_[(scores > 0).astype(int)]
    result = pandas.DataFrame({"label": labels, "score": scores, "above": scores > 0})
    result.to_csv(out, mode="a" if number else "w", header=number == 0, index=False)
"""


def write_rows(path: Path, n_rows: int, seed: int, *, n_labeled: int | None = None) -> None:
    """Write rows of two overlapping Gaussian classes; with `n_labeled`, a column y that says so many of them."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, CHUNK):
        codes = rng.integers(0, 2, min(CHUNK, n_rows - start))
        X = rng.normal(size=(len(codes), N_FEATURES)) + 0.6 * codes[:, None]
        frame = pandas.DataFrame(X.round(4), columns=[f"x{i}" for i in range(N_FEATURES)])
        if n_labeled is not None:
            labels = np.array(["neg", "pos"])[codes]
            frame["y"] = np.where(start + np.arange(len(codes)) < n_labeled, labels, "")
        frame.to_csv(path, mode="a" if start else "w", header=start == 0, index=False)


def run(code: str, arguments: list[str]) -> dict[str, float]:
    """Run Python code in a process of its own; return seconds, processor seconds and peak megabytes."""
    before = time.perf_counter()
    measured = (
        "import resource, sys\n"
        "try:\n"
        f"    exec({code!r})\n"
        "finally:\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print('USED', used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", measured, *arguments], capture_output=True, text=True)
    seconds = time.perf_counter() - before
    if done.returncode:
        raise RuntimeError(done.stderr)
    peak, processor_seconds = done.stderr.rsplit("USED", 1)[1].split()
    return {"seconds": seconds, "processor_seconds": float(processor_seconds), "peak_megabytes": int(peak) / 1000}


def prepare(folder: Path) -> tuple[Path, Path, int]:
    """Fit the same machine twice; return both model files and the number of support vectors."""
    import joblib
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    import semisvm

    table = folder / "train.csv"
    write_rows(table, N_TRAIN, seed=1, n_labeled=N_LABELED)
    ours, theirs = folder / "model.skops", folder / "model.joblib"
    arguments = ["fit", str(table), "--target", "y", "--method", "supervised", "--gamma", "0.1", "--out", str(ours)]
    run(OURS, arguments)
    frame = pandas.read_csv(table)
    features = frame.drop(columns="y")
    labeled = frame["y"].notna()
    scaler = StandardScaler().fit(features)
    machine = SVC(C=1.0, gamma=0.1).fit(scaler.transform(features[labeled]), frame.loc[labeled, "y"])
    pipeline = make_pipeline(scaler, machine)
    joblib.dump(pipeline, theirs)
    return ours, theirs, semisvm.load(ours).estimator.support_vectors_.shape[0]


def agree(one: Path, other: Path) -> float:
    """Return the largest difference of scores in the first rows of both outputs."""
    first, second = (pandas.read_csv(path, nrows=CHUNK) for path in (one, other))
    assert (first["label"] == second["label"]).mean() > 0.9999
    return float((first["score"] - second["score"]).abs().max())


def main() -> None:
    """Print a table, and append the record to --out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file that the record is appended to")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, theirs, n_support = prepare(folder)
        for n_rows in (options.rows // 10, options.rows):
            data = folder / "rows.csv"
            write_rows(data, n_rows, seed=2)
            outs = folder / "ours.csv", folder / "theirs.csv"
            mine = run(OURS, ["predict", str(ours), str(data), "--out", str(outs[0]), "--force"])
            other = run(THEIRS, [str(theirs), str(data), str(outs[1]), str(CHUNK)])
            for who, result in (("semisvm predict", mine), ("pandas + scikit-learn", other)):
                results.append({"who": who, "rows": n_rows, "rows_a_second": n_rows / result["seconds"]} | result)
            results[-1]["largest_difference"] = agree(*outs)
    for line in results:
        print(
            f"{line['who']:<22} {line['rows']:>10,} rows {line['seconds']:8.1f} s ({line['processor_seconds']:.1f} s "
            f"of processor time) "
            f"{line['rows_a_second']:>10,.0f} rows/s {line['peak_megabytes']:8.0f} MB"
        )
    append_record(options.out, describe_session() | {"n_support": n_support, "results": results})


if __name__ == "__main__":
    main()
