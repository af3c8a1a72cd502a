"""What limits the GPU solver: bytes and operations of its parts against ceilings measured on the
same machine.

copy         device to device, bytes read and written: the ceiling of everything that moves memory
product      a large float32 matrix product by the library: the ceiling of the kernel matrix
chain        the time of one reduction over a block by one program: three of them, one after the
             other, are the least time of a pairwise step
"""

import numpy as np
import torch
import triton

from semisvm.dual import DualProblem, block, solve
from semisvm.kernels import kernel_rows, make_formula
from semisvm.kernels.torch_source import BAND
from studies.speed.paper_sets import PAPER_SETS, load_signed

KERNELS = ("choose_blocks", "gather", "solve_blocks", "add_rows_on_device")
TOL = 1e-3


def seconds_of(run):
    """The median time of a launch, by the device's own clock."""
    return triton.testing.do_bench(run, warmup=20, rep=100, return_mode="median") / 1e3


def ceilings():
    """Measure copy bandwidth and the rate of float32 products."""
    source = torch.randn(2**29, device="cuda")
    target = torch.empty_like(source)
    copy = seconds_of(lambda: target.copy_(source))
    A = torch.randn((8192, 8192), device="cuda")
    product = seconds_of(lambda: A @ A)
    return {
        "copy_tb_s": 2 * 4 * 2**29 / copy / 1e12,
        "float32_tflop_s": 2 * 8192**3 / product / 1e12,
    }


def roofline(timed, compare):
    """Ceilings, then the kernel matrix and the parts of an outer step for each set."""
    top = ceilings()
    yield {"what": "ceilings"}, top
    for name, paper_set in PAPER_SETS.items():
        X, sign = load_signed(name)
        there = torch.from_numpy(X.toarray().astype(np.float32)).cuda()
        formula = make_formula("rbf", np.zeros((1, 1)), gamma=paper_set.gamma)
        n, d = there.shape
        made = seconds_of(
            lambda there=there, formula=formula: kernel_rows(there, formula, device="cuda")
        )
        flop, n_bytes = n * (n + BAND) * d, 4 * n * n  # a band from the diagonal on
        floor = max(flop / top["float32_tflop_s"] / 1e12, n_bytes / top["copy_tb_s"] / 1e12)
        yield (
            {"what": "kernel matrix", "set": name, "rows": n, "features": d},
            {
                "seconds": made,
                "tflop": flop / 1e12,
                "gb_written": n_bytes / 1e9,
                "floor_seconds": floor,
            },
        )
        yield (
            {"what": "outer steps", "set": name, "rows": n},
            outer_steps(there, sign, paper_set, formula, top),
        )


def outer_steps(X, sign, paper_set, formula, top):
    """What each kernel took in one solve, by the profiler; bytes of the last one counted from
    the rows that changed.
    """
    kernel = kernel_rows(X, formula, device="cuda")
    problem = DualProblem(
        kernel, -sign, np.minimum(0, paper_set.C * sign), np.maximum(0, paper_set.C * sign)
    )
    blocks = block.Blocks([problem], [None], kernel, TOL, None)
    n_changed = 0
    while not bool(blocks.state[0]):
        n_changed += int((blocks.delta != 0).sum())  # of the step before
        blocks.step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        found = solve(problem, tol=TOL)
    seconds = {event.key: event.self_device_time_total / 1e6 for event in trace.key_averages()}
    moved = (
        4 * kernel.n_rows * (n_changed + np.count_nonzero(found.beta))
    )  # the certificate reads the support rows
    return {
        "outer_steps": blocks.n_outer,
        "steps": found.n_iter,
        **{f"{name}_ms": 1e3 * seconds[name] for name in KERNELS},
        "step_us": 1e6 * seconds["solve_blocks"] / found.n_iter,
        "spread_gb": moved / 1e9,
        "spread_tb_s": moved / seconds["add_rows_on_device"] / 1e12,
        "spread_of_copy": moved / seconds["add_rows_on_device"] / 1e12 / top["copy_tb_s"],
    }
