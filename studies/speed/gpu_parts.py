"""The parts of the GPU benchmark: each yields (task, measures) for every task that it times.

A part is called as part(timed, compare): timed(run) returns the measures of repeated runs and the
last result; `compare` says whether the CPU solver runs as well.
"""

import time
from functools import partial

import numpy as np
import torch
from sklearn.metrics import f1_score

from semisvm import PreferenceSVC
from semisvm.dual import DualProblem, solve
from semisvm.estimators.preference.paper import PaperPreferenceSVC
from semisvm.kernels import kernel_rows, make_formula
from studies.speed.gpu_ceilings import roofline
from studies.speed.gpu_seeds import seeds
from studies.speed.paper_sets import PAPER_SETS, load_signed

TOL = 1e-3
MILLION = {
    "rows": 1_000_000,
    "features": 100,
    "informative": 20,
    "shift": 0.45,
    "C": 1.0,
    "gamma": 0.01,
}


def describe_device():
    """Return name, memory and versions of the device."""
    facts = torch.cuda.get_device_properties(0)
    return {
        "name": facts.name,
        "memory_gib": round(facts.total_memory / 2**30, 1),
        "multiprocessors": facts.multi_processor_count,
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
    }


def problem_on(device, X, sign, C, gamma):
    """Return the C-SVC on all rows; kernel rows are made here."""
    rows = kernel_rows(X, make_formula("rbf", np.zeros((1, 1)), gamma=gamma), device=device)
    return DualProblem(rows, -sign, np.minimum(0, C * sign), np.maximum(0, C * sign))


def solve_on(device, X, sign, C, gamma):
    """Make kernel rows and solve."""
    return solve(problem_on(device, X, sign, C, gamma), tol=TOL)


def supervised(timed, compare):
    """All rows of each set; objective and decisions compared with the CPU solver's."""
    for name, paper_set in PAPER_SETS.items():
        X, sign = load_signed(name)
        X = X.astype(np.float32)
        there = torch.from_numpy(X.toarray()).cuda()
        measures, found = timed(
            partial(solve_on, "cuda", there, sign, paper_set.C, paper_set.gamma)
        )
        kernel, _ = timed(partial(problem_on, "cuda", there, sign, paper_set.C, paper_set.gamma))
        measures |= {"kernel_seconds": kernel["seconds"], **facts_of(found)}
        if compare:
            began = time.perf_counter()
            reference = solve_on("cpu", X, sign, paper_set.C, paper_set.gamma)
            measures |= {
                "cpu_seconds": time.perf_counter() - began,
                "objective_off": abs(found.objective / reference.objective - 1),
                "decisions_equal": np.mean(
                    (found.decision_values > 0) == (reference.decision_values > 0)
                ),
            }
        yield (
            {
                "set": name,
                "rows": X.shape[0],
                "features": X.shape[1],
                "C": paper_set.C,
                "gamma": paper_set.gamma,
            },
            measures,
        )


def facts_of(found):
    """Return steps, gap, objective, support and status of a solution."""
    return {
        "steps": found.n_iter,
        "gap": found.gap,
        "objective": found.objective,
        "n_support": int(np.count_nonzero(found.beta)),
        "status": str(found.status),
    }


def psvm(timed, compare):
    """Fits with 10% of the rows for testing, 10% labeled and the rest unlabeled, from arrays in
    main memory.
    """
    for name, paper_set in PAPER_SETS.items():
        X, sign = load_signed(name)
        X = (
            X.toarray().astype(np.float32) if name == "mnist" else X
        )  # as `studies.data.load` gives them
        order = np.random.default_rng(0).permutation(len(sign))
        tenth = len(sign) // 10
        test = order[:tenth]
        rest = order[tenth:]
        y = np.where(sign > 0, 1, 0)
        labels = np.where(np.arange(len(rest)) < tenth, y[rest], -1)
        X_rest = X[rest]
        X_test = X[test]
        for calibration in ("part", "cross"):
            make = PreferenceSVC if calibration == "cross" else PaperPreferenceSVC
            estimator = make(C=paper_set.C, gamma=paper_set.gamma, device="cuda", random_state=0)
            measures, model = timed(partial(estimator.fit, X_rest, labels))
            measures |= {
                "f1": f1_score(y[test], model.predict(X_test)),
                "rounds": len(model.history_),
                "steps": model.n_iter_,
            }
            yield (
                {
                    "set": name,
                    "rows": len(rest),
                    "labeled": tenth,
                    "calibration": calibration,
                },
                measures,
            )


def million(timed, compare):
    """Two Gaussian clouds in a hundred dimensions, made on the device; rows of K are made as
    they are needed.
    """
    generator = torch.Generator(device="cuda").manual_seed(0)
    there = {"device": "cuda", "generator": generator}
    sign = torch.where(torch.rand(MILLION["rows"], **there) < 0.5, 1.0, -1.0)
    X = torch.randn((MILLION["rows"], MILLION["features"]), **there)
    X[:, : MILLION["informative"]] += MILLION["shift"] * sign[:, None]
    sign = sign.double().cpu().numpy()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    measures, found = timed(partial(solve_on, "cuda", X, sign, MILLION["C"], MILLION["gamma"]))
    measures |= facts_of(found) | {
        "at_bound": int((np.abs(found.beta) == MILLION["C"]).sum()),
        "training_accuracy": np.mean((found.decision_values > 0) == (sign > 0)),
        "peak_device_gib": torch.cuda.max_memory_allocated() / 2**30,
        "whole_matrix_gib": MILLION["rows"] ** 2 * 4 / 2**30,
    }
    yield dict(MILLION), measures


PARTS = {
    "supervised": supervised,
    "psvm": psvm,
    "seeds": seeds,
    "million": million,
    "roofline": roofline,
}
