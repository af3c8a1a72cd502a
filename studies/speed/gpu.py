"""How fast is the solver on a GPU?

    make bench-gpu                           # needs a CUDA device and the papers' data
    python -m studies.speed.gpu --parts million --no-cpu

    supervised   an RBF SVM on all rows of the papers' four sets, beside the CPU
    psvm         PSVM as published, with a tenth of the labels
    million      a million rows x 100 features, whose kernel matrix does not fit
    roofline     seconds of a product of kernel rows beside what the device can do at most

Everything runs once to compile, and is then timed with the device synchronized; medians.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from studies.records import describe_run, markdown_table
from studies.running import make_parser
from studies.speed.rows import PAPER_SETS, noisy_rule, paper_rows, rbf_objective
from studies.speed.turns import store

PARTS = ("supervised", "psvm", "million", "roofline")


def timed(run: Callable[[], Any], repeats: int, device: str) -> tuple[float, Any]:
    """Return the median of seconds after one run that is not counted, and the last result."""
    import torch

    run()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = run()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), result


def supervised(repeats: int, devices: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """All rows of the papers' sets."""
    from semisvm import SupervisedSVC

    for name, (C, gamma) in PAPER_SETS.items():
        X, sign = paper_rows(name)
        y = (sign > 0).astype(int)
        for device in devices:
            model = SupervisedSVC(C=C, gamma=gamma, device=device)
            seconds, fitted = timed(lambda m=model, X=X, y=y: m.fit(X, y), repeats, device)
            value = rbf_objective(fitted, X, sign, C, gamma)
            yield {
                "set": name,
                "rows": len(y),
                "device": device,
                "wall_s": seconds,
                "objective": value,
            }


def psvm(repeats: int, devices: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """PSVM as published; a tenth of the rows have labels."""
    from semisvm import PaperPreferenceSVC

    for name, (C, gamma) in PAPER_SETS.items():
        X, sign = paper_rows(name)
        shown = np.random.default_rng(0).random(len(sign)) < 0.1
        y = np.where(shown, (sign > 0).astype(int), -1)
        for device in devices:
            model = PaperPreferenceSVC(C=C, gamma=gamma, device=device, random_state=0)
            seconds, _ = timed(lambda m=model, X=X, y=y: m.fit(X, y), repeats, device)
            yield {"set": name, "rows": len(y), "device": device, "wall_s": seconds}


def million(repeats: int, devices: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """A million rows, on the device alone."""
    from semisvm import SupervisedSVC

    X, sign = noisy_rule(1_000_000, 100)
    y = (sign > 0).astype(int)
    model = SupervisedSVC(C=1.0, gamma=0.01, device="cuda")
    seconds, fitted = timed(lambda: model.fit(X, y), 1, "cuda")
    more = {"n_support": len(fitted.support_)}
    yield {"set": "million x 100", "rows": len(y), "device": "cuda", "wall_s": seconds, **more}


def roofline(repeats: int, devices: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The product that kernel rows are made of, and a copy: what the device can do at most."""
    import torch

    a = torch.randn(8192, 780, device="cuda")
    b = torch.randn(60_000, 780, device="cuda")
    seconds, _ = timed(lambda: a @ b.T, repeats, "cuda")
    flops = 2 * 8192 * 60_000 * 780 / seconds
    yield {
        "set": "product 8192 x 60000 x 780",
        "device": "cuda",
        "wall_s": seconds,
        "tflops": flops / 1e12,
    }
    big = torch.empty(1 << 28, device="cuda")
    seconds, _ = timed(lambda: big.clone(), repeats, "cuda")
    yield {
        "set": "copy of 1 GiB",
        "device": "cuda",
        "wall_s": seconds,
        "gb_per_s": 2 * big.nbytes / seconds / 1e9,
    }


def table_of(cells: list[dict[str, Any]]) -> str:
    """One line per part and set: seconds on each device."""
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for cell in cells:
        lines.setdefault((cell["part"], cell["set"]), {})[cell["device"]] = cell["wall_s"]
    rows = []
    for key, seconds in lines.items():
        cpu, cuda = seconds.get("cpu"), seconds["cuda"]
        shown = ["" if cpu is None else f"{cpu:.3g}", f"{cuda:.3g}"]
        rows.append([*key, *shown, "" if cpu is None else f"{cpu / cuda:.0f}x"])
    return markdown_table(["part", "set", "CPU, s", "GPU, s", "faster"], rows)


def main() -> int:
    """Run the chosen parts and print the table."""
    parser = make_parser("studies.speed.gpu", __doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-cpu", action="store_true", help="leave out the CPU")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("studies.speed.gpu needs a CUDA device, and torch finds none here.", file=sys.stderr)
        return 1
    print(f"{torch.cuda.get_device_name()}; {describe_run()}\n", flush=True)
    devices = ("cuda",) if options.no_cpu else ("cpu", "cuda")
    cells = []
    for part in options.parts:
        for cell in globals()[part](options.repeats, devices):
            cells.append({"part": part} | cell)
            print(cells[-1], flush=True)
    if options.store:
        store("gpu", cells, ("part", "set", "device"))
    print(table_of(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
