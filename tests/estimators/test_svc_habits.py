"""scikit-learn's own tests of `SVC`, with `SupervisedSVC` in its place.

The tests are read from the installed scikit-learn (`sklearn/svm/tests`), those that say `SVC`; of
tests for several classes, the part that is about `SVC`. Each one that does not pass is listed with
the reason.
"""

import importlib.util
import inspect
import types
from typing import ClassVar

import pytest
from sklearn import svm

from semisvm import SupervisedSVC

# scikit-learn's own configuration does not make errors of warnings.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PRIVATE = "looks at private attributes of LIBSVM's wrapper"
ONE_STEP = "one step of this solver is enough on six rows, so there is nothing to warn of"
# Tests that do not pass, and why.
LEFT = {
    "test_svm_tweak_params": PRIVATE,
    "test_svm_gamma_scale": PRIVATE,
    "test_svm_svc_raises_error_internal_representation": PRIVATE,
    "test_svm_bad_input": "sparse rows are taken after a fit to dense rows too",
    "test_svm_svc_nonfinite_params": "the error names the feature and the row in other words",
    "test_svm_libsvm_convergence_warnings": ONE_STEP,
    "test_sparse_timeout": ONE_STEP,
    "test_svm_svc_invalid_break_ties_param": "ties are broken whatever decision_function returns",
    "test_svm_svc_ovr_tie_breaking": (
        "a score of exactly 0 counts for the same class in predict and in decision_function"
    ),
    "test_svm_custom_kernel_not_array_input": "kernels of strings: pass kernel='precomputed'",
    "test_svm_n_iter_libsvm": "n_iter_ is the number of steps of all binary problems together",
    "test_svm_probability_raises_futurewarning": "probability stays",
    "test_svm_svc_nusvc_probA_probB_deprecated": "probA_ and probB_ are going from SVC as well",
}


class SVC(SupervisedSVC):
    """`SupervisedSVC` with the names and defaults of SVC's parameters."""

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
    ):
        super().__init__(
            C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            probability=probability,
            tol=tol,
            cache_size=cache_size,
            class_weight=class_weight,
            verbose=verbose,
            max_iter=max_iter,
            decision_function_shape=decision_function_shape,
            break_ties=break_ties,
        )
        self.shrinking = shrinking  # LIBSVM's own
        self.random_state = random_state  # nothing is drawn

    _parameter_constraints: ClassVar = {
        **SupervisedSVC._parameter_constraints,
        "max_iter": "no_validation",
        "shrinking": "no_validation",
        "random_state": "no_validation",
    }

    def _read_problem(self, *arguments, **options):
        max_iter = self.max_iter
        self.max_iter = None if max_iter == -1 else max_iter
        try:
            return super()._read_problem(*arguments, **options)
        finally:
            self.max_iter = max_iter


@pytest.fixture
def global_random_seed():
    return 42


def module_with_our_svc(name):
    """A test module of scikit-learn in which svm.SVC is the class above."""
    spec = importlib.util.find_spec(f"sklearn.svm.tests.{name}")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svm, "SVC", SVC)
        spec.loader.exec_module(module)
    module.svm = types.SimpleNamespace(**{**vars(svm), "SVC": SVC})
    return module


def concerns_svc(value):
    """Whether a value of a parametrization is our class, an instance, or a tuple with one."""
    values = value if isinstance(value, tuple | list) else [value]
    return any(one is SVC or isinstance(one, SVC) for one in values)


def without_other_classes(function):
    """Leave out the parameters of other classes, with their ids."""
    marks = []
    for mark in getattr(function, "pytestmark", []):
        values = list(mark.args[1]) if mark.name == "parametrize" else []
        if any(concerns_svc(value) for value in values):
            kept = [k for k, value in enumerate(values) if concerns_svc(value)]
            options = dict(mark.kwargs)
            if "ids" in options:
                options["ids"] = [options["ids"][k] for k in kept]
            mark = pytest.mark.parametrize(mark.args[0], [values[k] for k in kept], **options).mark
        marks.append(mark)
    function.pytestmark = marks
    return function


def chosen_tests():
    for name in ("test_svm", "test_sparse"):
        for test_name, function in vars(module_with_our_svc(name)).items():
            if not test_name.startswith("test_") or not inspect.isfunction(function):
                continue
            source = inspect.getsource(function)
            if "SVC(" not in source.replace("NuSVC(", "").replace("LinearSVC(", "") and not any(
                concerns_svc(value)
                for mark in getattr(function, "pytestmark", [])
                if mark.name == "parametrize"
                for value in mark.args[1]
            ):
                continue
            function = without_other_classes(function)
            ours = f"{name}_{test_name.removeprefix('test_')}"
            if ours in LEFT:
                function = pytest.mark.xfail(strict=True, reason=LEFT[ours])(function)
            yield ours, function


globals().update(chosen_tests())
