"""How fast is the solver for devices, and what is it bound by?

    supervised   the RBF C-SVC on all rows of the papers' four sets: data on the device, kernel included, to tol 1e-3
    psvm         complete fits of PreferenceSVC with 10% of the labels, from arrays of the host: the paper's algorithm
                 (calibration="part") and the default one
    seeds        20 seeds of a supervised machine on 10% of Adult, as one batch on one kernel
    million      a million rows x 100 features, whose kernel matrix does not fit
    roofline     bytes and operations of the parts against the machine's measured ceilings

Needs a checkout, a CUDA device, torch, Triton, NumPy, SciPy, scikit-learn and Numba; SEMISVM_DATA names the folder of
the papers' data. Everything is run once to compile and warm up, then timed with the device synchronized; medians are
printed, and every record is appended with machine, versions and date.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))  # a checkout is enough

import numpy as np
import torch

from studies.speed.gpu_parts import PARTS, describe_device
from studies.speed.records import append_record, describe_session

RESULTS = Path(__file__).resolve().parent / "results" / "gpu.jsonl"


def main(argv=None):
    """Run the parts asked for; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.speed.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=" ".join(PARTS))
    add("--repeats", type=int, default=5, metavar="N", help="timed runs of each cell (default 5)")
    add("--no-cpu", action="store_true", help="leave out the comparison with the CPU solver")
    add("--out", type=Path, default=RESULTS, metavar="FILE", help="records are appended here")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("studies.speed.gpu needs a CUDA device, and torch sees none here.", file=sys.stderr)
        return 1
    session = describe_session() | {"device": describe_device()}
    print(f"{session['device']['name']}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}\n")
    for part in options.parts:
        for cell, measures in PARTS[part](lambda run: timed(run, options.repeats), compare=not options.no_cpu):
            append_record(options.out, session | {"part": part, "cell": cell, "measures": measures})
            print(f"{part:10} {_facts(cell)}: {_facts(measures)}", flush=True)
    return 0


def timed(run, repeats):
    """Return the seconds of each of several runs after one that is not counted, and what the last one gave."""
    run()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = run()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return {"seconds": statistics.median(seconds), "all_seconds": [round(s, 5) for s in seconds]}, result


def _facts(record):
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float | np.floating) else f"{key} {value}"
        for key, value in record.items()
        if key != "all_seconds"
    )


if __name__ == "__main__":
    sys.exit(main())
