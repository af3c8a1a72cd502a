"""How fast is the solver on a GPU, and what limits it?

    supervised   the RBF C-SVC on all rows of the papers' four sets: data on the device, kernel
                 included, tol 1e-3
    psvm         complete fits of PreferenceSVC with 10% of the labels, from arrays in main memory:
                 the paper's
    algorithm
                 (PaperPreferenceSVC) and the default one
    seeds        20 seeds of a supervised SVM on 10% of Adult, as one batch on one kernel
    million      a million rows x 100 features, whose kernel matrix does not fit
    roofline     bytes and operations of the parts against the machine's measured ceilings

Needs a checkout, a CUDA device, torch, Triton, NumPy, SciPy, scikit-learn and Numba; SEMISVM_DATA
names the folder of the papers' data. Everything runs once to compile and warm up, and is then timed
with the device synchronized; medians are printed and recorded.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2] / "src")
)  # works in a checkout without an installation

import torch

from studies.harness.machine import describe_session
from studies.harness.records import Journal
from studies.speed.gpu_parts import PARTS, describe_device
from studies.speed.runs import make_parser


def main(argv=None):
    """Run the chosen parts; return the exit status."""
    parser = make_parser("gpu", __doc__)
    add = parser.add_argument
    add(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        metavar="PART",
        help=" ".join(PARTS),
    )
    add("--repeats", type=int, default=5, metavar="N", help="timed runs of each task (default 5)")
    add("--no-cpu", action="store_true", help="leave out the comparison with the CPU solver")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("studies.speed.gpu needs a CUDA device, and torch finds none here.", file=sys.stderr)
        return 1
    session = describe_session() | {"device": describe_device()}
    print(f"{session['device']['name']}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}\n")
    with Journal(options.out, session) as journal:
        for part in options.parts:
            for task, measures in PARTS[part](
                lambda run: timed(run, options.repeats), compare=not options.no_cpu
            ):
                plain = {
                    name: getattr(value, "item", lambda value=value: value)()
                    for name, value in measures.items()
                }
                journal.append(
                    {"task": {"part": part} | task, "seed": 0, "outcome": "done", "measures": plain}
                )
                print(f"{part:10} {_facts(task)}: {_facts(plain)}", flush=True)
    return 0


def timed(run, repeats):
    """Return the seconds of several runs after one that is not counted, and what the last one
    returned.
    """
    run()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = run()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return {
        "seconds": statistics.median(seconds),
        "all_seconds": [round(s, 5) for s in seconds],
    }, result


def _facts(record):
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in record.items()
        if key != "all_seconds"
    )


if __name__ == "__main__":
    sys.exit(main())
