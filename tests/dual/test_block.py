"""The solver for devices: blocks smaller than the problem, rows that do not fit, many problems
at once, limits.
"""

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification

from dual_cases import is_certified, is_feasible, make_case, svc_case
from oracles import naive_kernel, objective_by_definition, optimum
from semisvm import SupervisedSVC, kernels
from semisvm import device as devices
from semisvm.dual import DualProblem, Status, solve, solve_many
from semisvm.estimators import problem as forms
from semisvm.kernels import kernel_rows, make_formula, scores_of_new_rows
from semisvm.kernels.virtual import VirtualRows

FORMULAS = {
    "linear": {},
    "rbf": {"gamma": 0.4},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "sigmoid": {"gamma": 0.2, "coef0": 0.1},
}


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 16 variables, chosen by 4 programs that handle 16 variables at a time."""
    for name, value in {"BLOCK": 16, "SEGMENTS": 4, "SEGMENT_WIDTH": 16}.items():
        monkeypatch.setattr(f"semisvm.dual.block.{name}", value)


def rows_on(device, X, name="rbf", *, dtype=np.float64, cache_size=None, **parameters):
    formula = make_formula(
        name, X, **({"gamma": 0.5} | parameters if name == "rbf" else parameters)
    )
    return kernel_rows(X, formula, dtype=dtype, device=device, cache_size=cache_size)


def svc_problem(case, rows):
    return DualProblem(rows, *case.parts, case.total, case.row)


# --- blocks ---


@pytest.mark.parametrize("n", [30, 150])
def test_blocks_smaller_than_the_problem_end_at_its_optimum(n, other_device, small_blocks):
    case = svc_case(n=n)
    solution = solve(case.problem(), tol=1e-3, device=other_device)
    best = optimum(case.K, *case.parts)[1]
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(best, rel=1e-4)
    is_certified(case, solution)


def test_batches_of_many_problems_have_smaller_blocks(other_device, small_blocks, monkeypatch):
    for name, value in {"BLOCK": 32, "BLOCK_OF_MANY": 16, "MANY_PROBLEMS": 2}.items():
        monkeypatch.setattr(f"semisvm.dual.block.{name}", value)
    case = svc_case(n=30)
    unit = case.problem()
    factors = (0.5, 1.0)
    solutions = solve_many([unit.with_bounds_times(f) for f in factors], device=other_device)
    for factor, solution in zip(factors, solutions, strict=True):
        bounds = (case.linear, factor * case.lower, factor * case.upper)
        assert solution.status is Status.CONVERGED
        assert solution.objective == pytest.approx(optimum(case.K, *bounds)[1], rel=1e-4)


@pytest.mark.parametrize("n", [24, 150])
def test_rows_that_do_not_fit_are_made_when_they_are_needed(n, other_device, small_blocks):
    case = svc_case(n=n)
    rows = rows_on(other_device, case.X, cache_size=1e-3)
    assert not rows.is_whole
    solution = solve(svc_problem(case, rows), tol=1e-2)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(optimum(case.K, *case.parts)[1], rel=1e-3)
    is_certified(case, solution)


@pytest.mark.many_steps
@pytest.mark.parametrize("n", [300, 3000, 9000])
def test_large_problems_end_where_the_cpu_does(n, other_device):
    X, y = make_classification(n, 8, n_informative=5, flip_y=0.1, random_state=0)
    sign = 2.0 * y - 1
    on_cpu, there = (
        solve(
            DualProblem(
                rows_on(place, X, dtype=np.float32), -sign, np.minimum(0, sign), np.maximum(0, sign)
            ),
            tol=1e-3,
        )
        for place in ("cpu", other_device)
    )
    assert there.objective == pytest.approx(on_cpu.objective, rel=1e-5)
    assert np.mean((there.decision_values > 0) == (on_cpu.decision_values > 0)) >= 0.999


def test_equal_rows_with_opposite_boxes_keep_the_sum(other_device):
    # flat directions: the pair of a variable with itself must never count as a gain
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    case = make_case(
        X,
        {"name": "rbf", "gamma": 1.0},
        [-1, 1, 0.3, -0.2],
        [0, -2, -1, 0],
        [2, 0, 1, 2],
        total=0.5,
    )
    solution = solve(case.problem(), tol=1e-9, device=other_device)
    is_certified(case, solution)
    assert solution.objective == pytest.approx(optimum(case.K, *case.parts, 0.5)[1], rel=1e-7)


# --- many at once ---


def test_a_grid_of_prices_is_one_batch_that_solves_each_problem_as_if_alone(
    other_device, monkeypatch
):
    from semisvm.dual import block

    batches = []
    solve_block = block.solve_block
    monkeypatch.setattr(
        block,
        "solve_block",
        lambda some, *rest, **limits: (
            batches.append(len(some)) or solve_block(some, *rest, **limits)
        ),
    )
    case = svc_case(n=20)
    rows = rows_on(other_device, case.X)
    sizes = [0.05, 1.0, 3.0]
    problems = [DualProblem(rows, case.linear, C * case.lower, C * case.upper) for C in sizes]
    found = solve_many(problems, tol=1e-4)
    assert batches == [3]
    for C, solution in zip(sizes, found, strict=True):
        assert solution.status is Status.CONVERGED
        assert solution.gap < 1e-4
        best = optimum(case.K, case.linear, C * case.lower, C * case.upper)[1]
        assert solution.objective == pytest.approx(best, rel=1e-4)
    again = solve_many(problems, found, tol=1e-4)
    assert [solution.n_iter for solution in again] == [0, 0, 0]


def test_problems_that_share_no_rows_are_solved_one_by_one():
    cases = [svc_case(seed, n=20) for seed in range(2)]
    found = solve_many([case.problem() for case in cases], tol=1e-6)
    for case, solution in zip(cases, found, strict=True):
        is_certified(case, solution)


def test_an_empty_list_of_problems_has_no_solutions():
    assert solve_many([]) == []


def test_a_number_of_starts_that_differs_from_the_number_of_problems_is_refused():
    with pytest.raises(ValueError, match="2 starts were given for 1 problems"):
        solve_many([svc_case(n=20).problem()], [None, None])


# --- limits ---


@pytest.mark.parametrize("max_iter", [0, 5])
def test_no_more_steps_are_taken_than_allowed(max_iter, other_device):
    case = svc_case(n=30)
    solution = solve(case.problem(), tol=1e-6, max_iter=max_iter, device=other_device)
    assert (solution.status, solution.n_iter) == (Status.MAX_ITER, max_iter)
    is_feasible(case, solution.beta)
    assert solution.objective == pytest.approx(
        objective_by_definition(case.K, case.linear, solution.beta), abs=1e-9
    )


def test_a_time_limit_and_a_callback_end_a_solve_with_a_feasible_point(other_device, small_blocks):
    case = svc_case(n=60)
    late = solve(case.problem(), tol=1e-9, time_limit=1e-9, device=other_device)
    seen = []
    stopped = solve(
        case.problem(),
        tol=1e-9,
        device=other_device,
        callback=lambda *look: seen.append(look) or True,
    )
    assert (late.status, stopped.status) == (Status.TIME_LIMIT, Status.STOPPED)
    assert seen[0][0] > 0
    for solution in (late, stopped):
        is_feasible(case, solution.beta)


def test_ctrl_c_leaves_a_feasible_point_with_true_scores(other_device, small_blocks):
    case = svc_case(n=60)

    def press(n_iter, gap):
        raise KeyboardInterrupt

    solution = solve(case.problem(), tol=1e-9, device=other_device, callback=press)
    assert solution.status is Status.INTERRUPTED
    is_feasible(case, solution.beta)
    assert_allclose(solution.scores, case.K @ solution.beta, atol=1e-9)


# --- kernel rows on a device ---


def test_every_kernel_equals_the_naive_one(other_device):
    for name, parameters in FORMULAS.items():
        X = np.random.default_rng(0).normal(size=(40, 3)) + (
            50 if name == "rbf" else 0
        )  # far from the origin: centered
        rows = rows_on(other_device, X, name, **parameters)
        assert_allclose(
            rows.fetch(np.arange(40)), naive_kernel(name, X, **parameters), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_from_the_origin_keep_their_digits(other_device, dtype, monkeypatch):
    import torch

    monkeypatch.setattr(kernels, "DEVICE_PAYS_FROM_VALUES", 1)
    monkeypatch.setattr("semisvm.kernels.torch_source.ROWS_FOR_CENTER", 8)
    near = np.round(np.random.default_rng(0).normal(size=(30, 3)), 2)
    K = naive_kernel("rbf", near, gamma=0.5)
    far = near + 2.0**30
    for form in (far, torch.from_numpy(far), sparse.csr_matrix(far)):
        rows = rows_on(other_device, form, dtype=dtype)
        assert_allclose(rows.fetch(np.arange(30)), K, rtol=1e-5)
    formula = make_formula("rbf", far, gamma=0.5)
    scores = scores_of_new_rows(far, far, np.ones((1, 30)), formula, device=other_device)
    assert_allclose(scores[:, 0], K.sum(axis=1), rtol=1e-5)


def test_rows_are_the_same_whatever_the_form_of_the_data(other_device):
    import torch

    X = np.random.default_rng(0).normal(size=(30, 4)) * (
        np.random.default_rng(1).random((30, 4)) < 0.5
    )
    twice = sparse.csr_matrix(
        (np.r_[X.ravel(), X.ravel()] / 2, np.tile(np.arange(4), 60), np.arange(0, 241, 8))
    )
    expected = naive_kernel("rbf", X, gamma=0.5)
    for form in (
        X,
        sparse.csr_matrix(X),
        torch.from_numpy(X),
        torch.from_numpy(X).requires_grad_(),
    ):
        assert_allclose(rows_on(other_device, form).fetch(np.arange(30)), expected, atol=1e-12)
    summed = naive_kernel("rbf", twice.toarray(), gamma=0.5)
    assert_allclose(rows_on(other_device, twice).fetch(np.arange(30)), summed, atol=1e-12)


def test_precomputed_matrices_and_functions_of_the_user_work_on_the_device(other_device):
    X = np.random.default_rng(0).normal(size=(20, 3))
    K = naive_kernel("rbf", X, gamma=0.5)
    given = kernel_rows(K, make_formula("precomputed", K), device=other_device, dtype=np.float64)
    own = kernel_rows(
        X, make_formula(lambda a, b: a @ b.T, X), device=other_device, dtype=np.float64
    )
    assert_array_equal(given.fetch(np.arange(20)), K)
    assert_allclose(own.fetch(np.arange(20)), X @ X.T)


def test_rows_are_in_full_precision_whatever_precision_torch_is_set_to(other_device):
    import torch

    X = np.random.default_rng(0).normal(size=(40, 30))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        rows = rows_on(other_device, X, "linear", dtype=np.float32)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert_allclose(rows.fetch(np.arange(40)), X @ X.T, atol=1e-4)


def test_a_precomputed_matrix_that_is_not_square_is_refused(other_device):
    K = np.ones((3, 4))
    with pytest.raises(ValueError, match="must be a square matrix"):
        kernel_rows(K, make_formula("precomputed", K), device=other_device)


def test_rows_on_a_device_look_to_the_host_like_any_rows(other_device):
    for cache_size in (None, 1e-3):
        X = np.random.default_rng(0).normal(size=(30, 3))
        K = naive_kernel("rbf", X, gamma=0.5)
        rows = rows_on(other_device, X, cache_size=cache_size)
        beta = np.random.default_rng(1).normal(size=30)
        rows.require(np.arange(30))
        assert_allclose(rows.fetch(np.array([3, 1, 4, 1])), K[[3, 1, 4, 1]], atol=1e-12)
        assert_allclose(rows.times(beta), K @ beta, atol=1e-12)
        assert_allclose(rows.times_dense(beta), K @ beta, atol=1e-12)


def test_a_problem_with_a_mean_of_rows_has_the_same_solution_as_on_the_cpu(other_device):
    case = svc_case(n=20)
    weights = np.full((1, 20), 1 / 20)
    linear = np.append(case.linear, 0.2)
    lower = np.append(case.lower, -np.inf)
    upper = np.append(case.upper, np.inf)
    found = [
        solve(
            DualProblem(VirtualRows(rows_on(place, case.X), weights), linear, lower, upper),
            tol=1e-5,
        )
        for place in ("cpu", other_device)
    ]
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-6)
    assert_allclose(found[1].scores, found[0].scores, atol=1e-3)
    assert (
        VirtualRows(rows_on(other_device, case.X), weights).home
        == rows_on(other_device, case.X).home
        != "cpu"
    )


def test_a_problem_with_some_rows_and_a_mean_has_the_same_solution_as_on_the_cpu(other_device):
    case = svc_case(n=20)
    chosen = np.array([0, 3, 4, 8, 9, 11, 15, 19])
    weights = np.random.default_rng(0).dirichlet(np.ones(20), size=1)
    linear, lower, upper = (
        np.append(part[chosen], end)
        for part, end in zip(case.parts, (0.2, -np.inf, np.inf), strict=True)
    )
    found = [
        solve(
            DualProblem(
                VirtualRows(rows_on(place, case.X), weights, rows=chosen), linear, lower, upper
            ),
            tol=1e-5,
        )
        for place in ("cpu", other_device)
    ]
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-6)
    assert_allclose(found[1].scores, found[0].scores, atol=1e-3)


def test_new_rows_are_scored_on_the_device(other_device, monkeypatch):
    monkeypatch.setattr(kernels, "DEVICE_PAYS_FROM_VALUES", 1)
    rng = np.random.default_rng(0)
    new = rng.normal(size=(50, 4))
    support = rng.normal(size=(30, 4))
    coefficients = rng.normal(size=(2, 30))
    formula = make_formula("rbf", support, gamma=0.3)
    there = scores_of_new_rows(new, support, coefficients, formula, device=other_device)
    assert_allclose(there, naive_kernel("rbf", new, support, gamma=0.3) @ coefficients.T, atol=1e-5)


# --- errors ---


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CUDA"])
def test_an_unknown_device_is_refused(name):
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'auto'"):
        devices.resolve(name)


def test_a_device_without_torch_says_what_to_install(monkeypatch):
    monkeypatch.setattr(devices, "_missing_module", lambda: "torch")
    with pytest.raises(
        ValueError, match=r"needs torch, which is not installed: pip install 'semisvm\[gpu\]'"
    ):
        devices.resolve("cuda")
    assert devices.resolve("auto", n_rows=10**6) == "cpu"


def test_a_machine_without_a_device_says_so(monkeypatch):
    monkeypatch.setattr(devices, "_missing_module", lambda: None)
    monkeypatch.setattr(devices, "_n_devices", lambda: 0)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ValueError, match="torch sees no CUDA device here; use device='cpu'"):
        devices.resolve("cuda")
    monkeypatch.setattr(devices, "_n_devices", lambda: 2)
    with pytest.raises(ValueError, match="'cuda:2': torch sees 2 CUDA devices"):
        devices.resolve("cuda:2")
    with pytest.raises(ValueError, match="needs TRITON_INTERPRET=1"):
        devices.resolve("interpreter")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(ValueError, match="can't be used while TRITON_INTERPRET=1"):
        devices.resolve("cuda")


def test_auto_takes_an_available_device_if_the_cpu_would_take_longer_than_starting_it(monkeypatch):
    for name, answer in {"_missing_module": None, "_n_driver_devices": 1}.items():
        monkeypatch.setattr(devices, name, lambda answer=answer: answer)
    assert [devices.resolve("auto", n) for n in (None, 100, 20_000, 500_000)] == [
        "cpu",
        "cpu",
        "cpu",
        "cuda",
    ]
    assert devices.resolve("auto", 60_000, 780, n_threads=1) == "cuda"
    assert devices.resolve("auto", 60_000, 20, n_threads=16) == "cpu"
    assert devices.resolve("auto", 60_000, 780, n_threads=4, n_solves=10) == "cuda"
    assert "no CUDA device" not in devices.explain_choice(500_000, 10)
    monkeypatch.setattr(devices, "_n_driver_devices", lambda: 0)
    assert devices.resolve("auto", 500_000) == "cpu"
    assert devices.explain_choice(500_000, 10).endswith("there is no CUDA device")
    assert devices.explain_choice(100, 5).startswith(
        "cpu: expected to take less than 0.1 s, starting a device would"
    )
    assert devices.explain_compilation("cpu") is None


def test_auto_does_not_import_torch_to_find_out_that_the_cpu_is_better():
    program = (
        "import sys; from semisvm.device import resolve; "
        "print([resolve('auto', n) for n in (100, 50_000, 10**6)], 'torch' in sys.modules)"
    )
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=environment,
    )
    assert done.stdout == "['cpu', 'cpu', 'cpu'] False\n"


def test_rows_on_a_device_are_not_solved_on_the_cpu(other_device):
    case = svc_case(n=20)
    with pytest.raises(ValueError, match="make them with device='cpu'"):
        solve(svc_problem(case, rows_on(other_device, case.X)), device="cpu")


def test_a_device_too_full_for_the_matrix_makes_rows_instead(other_device, monkeypatch):
    import torch

    from semisvm.kernels.torch_source import TorchDataSource

    def full(self, out):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(TorchDataSource, "write_all", full)
    case = svc_case(n=16)
    rows = rows_on(other_device, case.X)
    assert not rows.is_whole
    assert solve(svc_problem(case, rows), tol=1e-2).status is Status.CONVERGED


def test_a_device_too_full_for_the_data_or_the_blocks_says_what_to_do(other_device, monkeypatch):
    import torch

    from semisvm.kernels.device_rows import DeviceRows
    from semisvm.kernels.torch_source import TorchDataSource

    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    case = svc_case(n=16)
    problem = svc_problem(case, rows_on(other_device, case.X, cache_size=1e-4))
    monkeypatch.setattr(DeviceRows, "empty", full)
    with pytest.raises(MemoryError, match=r"does not fit the memory of device .* set cache_size"):
        solve(problem)
    monkeypatch.setattr(TorchDataSource, "__init__", full)
    with pytest.raises(MemoryError, match="The data of 16 rows does not fit"):
        rows_on(other_device, case.X)


def test_auto_stays_on_the_cpu_if_the_device_is_too_full_or_the_kernel_is_a_function(monkeypatch):
    def full(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr(
        kernels, "resolve", lambda device, *size, **more: "cpu" if device == "cpu" else "cuda"
    )
    stand_in = SimpleNamespace(device_rows=full)  # of a module that needs torch
    monkeypatch.setitem(sys.modules, "semisvm.kernels.device_rows", stand_in)
    X = np.ones((3, 2))
    assert kernel_rows(X, make_formula("linear", X), device="auto").home == "cpu"
    assert kernel_rows(X, make_formula(lambda a, b: a @ b.T, X), device="auto").home == "cpu"
    with pytest.raises(MemoryError):
        kernel_rows(X, make_formula("linear", X), device="cuda")


def test_tensors_are_copied_to_the_host_and_everything_else_is_left_as_it_is():
    X = [[1.0, 2.0]]
    assert devices.on_host(X) is X
    if importlib.util.find_spec("torch"):
        import torch

        taken = devices.on_host(torch.ones(2, 2, requires_grad=True))
        assert isinstance(taken, np.ndarray)

    class Elsewhere:
        __cuda_array_interface__ = None

        def get(self):
            return np.zeros(3)

    assert_array_equal(devices.on_host(Elsewhere()), np.zeros(3))


def test_the_first_compilation_is_said_and_not_once_the_programs_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "none yet"))
    assert "compiles its programs" in devices.explain_compilation("cuda")
    assert devices.explain_compilation("cpu") is None
    (tmp_path / "none yet" / "ABC").mkdir(parents=True)
    (tmp_path / "none yet" / "ABC" / "solve_blocks.json").write_text("{}")
    assert devices.explain_compilation("cuda:1") is None


def test_verbose_says_that_programs_are_compiled(monkeypatch, capsys):
    monkeypatch.setattr(
        forms, "explain_compilation", lambda device: f"{device}: compiles its programs"
    )
    X = np.random.default_rng(0).normal(size=(12, 2))
    for verbose in (True, False):
        SupervisedSVC(verbose=verbose, device="cpu").fit(X, np.arange(12) % 2)
    assert capsys.readouterr().out.count("[device] cpu: compiles its programs") == 1
