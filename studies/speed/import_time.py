"""What does `import semisvm` cost beside `import sklearn.svm`, and which heavy modules does it bring?

Each import is timed inside a fresh interpreter, the two by turns, and medians are reported. The design
promises that importing semisvm costs NumPy and scikit-learn and no more.
"""

import argparse
import json
import statistics
import subprocess
import sys

from studies.speed.machine import ROOT

MODULES = ("semisvm", "sklearn.svm")
HEAVY = ("numba", "llvmlite", "torch", "triton", "pandas", "pyarrow", "matplotlib", "rich", "click")
EXPECTED = ("numpy", "scipy", "sklearn")
PROBE = """
import json, sys, time
start = time.perf_counter()
__import__(sys.argv[1])
seconds = time.perf_counter() - start
print(json.dumps([seconds, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def probe(module):
    """Import a module in a fresh interpreter; return seconds and the top-level modules then loaded."""
    answer = subprocess.run([sys.executable, "-c", PROBE, module], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def measure(repeats):
    """Return seconds of each repetition and the modules loaded, by module imported."""
    seconds, loaded = {module: [] for module in MODULES}, {}
    for module in MODULES:  # once untimed: the first import reads from disk and writes bytecode
        probe(module)
    for _ in range(repeats):
        for module in MODULES:
            took, loaded[module] = probe(module)
            seconds[module].append(took)
    return seconds, loaded


def main(argv=None):
    """Measure and print a line for each module."""
    parser = argparse.ArgumentParser(prog="python -m studies.speed.import_time", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, metavar="N")
    seconds, loaded = measure(parser.parse_args(argv).repeats)
    for module, times in seconds.items():
        brought = ", ".join(name for name in (*EXPECTED, *HEAVY) if name in loaded[module]) or "none of note"
        print(
            f"import {module:12} {1e3 * statistics.median(times):7.0f} ms "
            f"({1e3 * min(times):.0f}–{1e3 * max(times):.0f}), loads {brought}"
        )
    ours, theirs = (statistics.median(seconds[module]) for module in MODULES)
    print(f"{MODULES[0]} / {MODULES[1]}: {ours / theirs:.2f}")
    # scikit-learn brings pandas and rich where they are installed; that is not ours to help.
    unwelcome = [name for name in HEAVY if name in loaded[MODULES[0]] and name not in loaded[MODULES[1]]]
    if unwelcome:
        print(f"Not lazy: {', '.join(unwelcome)}")
    return 1 if unwelcome else 0


if __name__ == "__main__":
    sys.exit(main())
