"""scikit-learn's own tests of `SVC`, with `SupervisedSVC` in its place.

The tests are read from the installed scikit-learn (`sklearn/svm/tests`), those that say `SVC`; of
tests for several classes, the part that is about `SVC`. Each one that does not pass is listed with
the reason.
"""

import importlib.util
import inspect
import types
from typing import Any, ClassVar

import pytest
from sklearn import svm

from semisvm.svm import SupervisedSVC
from semisvm.svm._estimator import estimator

pytestmark = [
    pytest.mark.nightly,
    # scikit-learn's own configuration does not make errors of warnings.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

PRIVATE = "looks at private attributes of LIBSVM's wrapper"
ONE_STEP = "one step of this solver is enough on six rows, so there is nothing to warn of"
NO_PROBABILITY = "scikit-learn itself deprecates it; see SemiSupervisedCalibratedClassifierCV"
OTHER_WORDS = "the error says it in other words"
ONE_SHAPE = "decision_function has one column per class, and ties are broken"
# Tests that do not pass, and why.
LEFT = {
    "test_svm_tweak_params": PRIVATE,
    "test_svm_gamma_scale": PRIVATE,
    "test_svm_svc_raises_error_internal_representation": PRIVATE,
    "test_svm_bad_input": "sparse rows are taken after a fit to dense rows too",
    "test_svm_svc_nonfinite_params": OTHER_WORDS,
    "test_svm_negative_sample_weights_mask_all_samples": OTHER_WORDS,  # where all are zero
    "test_svm_libsvm_convergence_warnings": ONE_STEP,
    "test_sparse_timeout": ONE_STEP,
    "test_svm_decision_function": ONE_SHAPE,
    "test_svm_decision_function_shape": ONE_SHAPE,
    "test_sparse_sparse_decision_function": ONE_SHAPE,
    "test_svm_svc_invalid_break_ties_param": ONE_SHAPE,
    "test_svm_svc_ovr_tie_breaking": ONE_SHAPE,
    "test_svm_custom_kernel_not_array_input": "kernels of strings: pass kernel='precomputed'",
    "test_svm_probability": NO_PROBABILITY,
    "test_svm_hasattr_predict_proba": NO_PROBABILITY,
    "test_svm_probability_raises_futurewarning": NO_PROBABILITY,
    "test_svm_svc_nusvc_probA_probB_deprecated": NO_PROBABILITY,
    "test_sparse_unsorted_indices": NO_PROBABILITY,
    "test_sparse_sparse_svc_clone_with_callable_kernel": NO_PROBABILITY,
}


@estimator
class SVC(SupervisedSVC):
    """`SupervisedSVC` that takes the parameters of SVC which it does not have.

    Parameters
    ----------
    shrinking, probability, decision_function_shape, break_ties : object
        Not used.
    """

    _parameter_constraints: ClassVar = {
        **SupervisedSVC._parameter_constraints,
        "shrinking": "no_validation",
        "probability": "no_validation",
        "decision_function_shape": "no_validation",
        "break_ties": "no_validation",
    }

    shrinking: Any = True
    probability: Any = False
    decision_function_shape: Any = "ovr"
    break_ties: Any = False


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
                is_all = LEFT[ours] != OTHER_WORDS
                function = pytest.mark.xfail(strict=is_all, reason=LEFT[ours])(function)
            yield ours, function


globals().update(chosen_tests())
