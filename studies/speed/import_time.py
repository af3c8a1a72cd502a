"""What do `import semisvm` and its estimators cost compared with `import sklearn.svm`, and what do they load?

Each import is timed inside a fresh interpreter, by turns; medians are reported. The design promises that `import
semisvm` loads nothing, and that importing its estimators costs NumPy and scikit-learn and nothing else.
"""

from __future__ import annotations

import sys
import time

from studies.harness.fresh_process import call_fresh
from studies.speed.runs import make_parser, medians

MODULES = ("semisvm", "semisvm.estimators", "sklearn.svm")
HEAVY = ("numba", "llvmlite", "torch", "triton", "pandas", "pyarrow", "matplotlib", "rich", "click")
EXPECTED = ("numpy", "scipy", "sklearn")


def import_once(module):
    """Import a module in this process; return seconds and the top-level modules that are loaded then."""
    start = time.perf_counter()
    __import__(module)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "modules": sorted({name.partition(".")[0] for name in sys.modules})}


def main(argv=None):
    """Measure and print one line per module; the exit status is 1 if semisvm loads a heavy module of its own."""
    parser = make_parser("import_time", __doc__)
    parser.add_argument("--repeats", type=int, default=15, metavar="N")
    options = parser.parse_args(argv)
    runs = {module: [] for module in MODULES}
    for repeat in range(options.repeats + 1):
        for module in MODULES:
            answer = call_fresh("studies.speed.import_time:import_once", module)
            if repeat > 0:  # the first import reads from disk and writes bytecode
                runs[module].append(answer["result"])
    loaded = {module: set(found[-1]["modules"]) for module, found in runs.items()}
    middle = {module: medians(found)["seconds"] for module, found in runs.items()}
    for module, found in runs.items():
        times = [1e3 * run["seconds"] for run in found]
        shown = ", ".join(name for name in (*EXPECTED, *HEAVY) if name in loaded[module])
        print(f"import {module:18} {1e3 * middle[module]:7.0f} ms ({min(times):.0f}–{max(times):.0f}), loads {shown}")
    _, ours, theirs = MODULES
    print(f"{ours} / {theirs}: {middle[ours] / middle[theirs]:.2f}")
    # scikit-learn loads pandas and rich if they are installed; we can't change that
    unwanted = [name for name in HEAVY if name in loaded[ours] - loaded[theirs]]
    if unwanted:
        print(f"Not lazy: {', '.join(unwanted)}")
    return 1 if unwanted else 0


if __name__ == "__main__":
    sys.exit(main())
