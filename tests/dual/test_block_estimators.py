"""Estimators on a device: the same models as on the CPU, from any kind of input, all rounds on
the device.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_classification

from semisvm import (
    SVCCV,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
    kernels,
)
from semisvm.device import TensorRows
from semisvm.estimators.equal_rows import find_equal_rows
from semisvm.estimators.preference.paper import PaperPreferenceSVC

METHODS = {
    "self-training": SelfTrainingSVC(),
    "switch": TransductiveSVC(),
    "cccp": TransductiveSVC(algorithm="cccp"),
    "anneal": TransductiveSVC(algorithm="anneal"),
    "progressive": ProgressiveSVC(),
    "preference": PreferenceSVC(random_state=0),
    "preference, paper": PaperPreferenceSVC(random_state=0),
}


def few_labels(n=120, n_labeled=40, n_classes=2, seed=0):
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=n_classes, class_sep=1.5, random_state=seed
    )
    return X, np.where(np.arange(n) < n_labeled, y, -1)


def fit_on(device, estimator, X, y):
    settings = {"device": device, "tol": 1e-6, "gamma": 0.1}
    return type(estimator)(**estimator.get_params() | settings).fit(X, y)


def test_the_supervised_machine_is_the_same_as_on_the_cpu(other_device):
    X, y = few_labels(20, 10)
    on_cpu, there = (fit_on(place, SupervisedSVC(), X, y) for place in ("cpu", other_device))
    assert_allclose(there.decision_function(X), on_cpu.decision_function(X), atol=1e-4)


@pytest.mark.many_steps
@pytest.mark.parametrize("name", METHODS)
def test_every_method_decides_as_on_the_cpu(name, other_device):
    X, y = few_labels()
    on_cpu, there = (fit_on(place, METHODS[name], X, y) for place in ("cpu", other_device))
    assert np.mean(there.predict(X) == on_cpu.predict(X)) >= 0.98
    assert there.termination_condition_ == on_cpu.termination_condition_


@pytest.mark.many_steps
def test_several_classes_are_predicted_as_on_the_cpu(other_device):
    X, y = few_labels(200, 80, n_classes=4)
    for estimator in (SupervisedSVC(multi_class="ovr"), SelfTrainingSVC()):
        on_cpu, there = (fit_on(place, estimator, X, y) for place in ("cpu", other_device))
        assert np.mean(there.predict(X) == on_cpu.predict(X)) >= 0.98


def test_one_against_the_rest_is_one_batch_for_all_classes(other_device, monkeypatch):
    from semisvm.dual import block

    sizes = []
    solve_block = block.solve_block

    def counted(problems, *rest, **limits):
        sizes.append(len(problems))
        return solve_block(problems, *rest, **limits)

    monkeypatch.setattr(block, "solve_block", counted)
    X, y = few_labels(40, 24, n_classes=3)
    estimator = SupervisedSVC(multi_class="ovr")
    on_cpu, there = (fit_on(place, estimator, X, y) for place in ("cpu", other_device))
    assert sizes == [3]
    assert_allclose(there.decision_function(X), on_cpu.decision_function(X), atol=1e-3)
    assert len(there.history_) == len(on_cpu.history_)


@pytest.mark.many_steps
def test_more_rows_than_a_block_are_trained_and_scored_on_the_device(other_device, monkeypatch):
    monkeypatch.setattr(kernels, "DEVICE_PAYS_FROM_VALUES", 1000)
    X, y = few_labels(4000, 3000)
    on_cpu, there = (SupervisedSVC(device=place).fit(X, y) for place in ("cpu", other_device))
    assert np.mean(there.predict(X) == on_cpu.predict(X)) >= 0.999
    assert_allclose(there.decision_function(X), on_cpu.decision_function(X), atol=5e-3)


def test_groups_that_are_far_apart_for_the_kernel_are_scored_as_on_the_cpu(
    other_device, monkeypatch
):
    monkeypatch.setattr(kernels, "DEVICE_PAYS_FROM_VALUES", 1000)
    X, y = few_labels(100, 100)
    X += 1e4 * np.random.default_rng(0).integers(0, 2, X.shape)
    model = SupervisedSVC(gamma=1.0).fit(X, y)
    on_cpu = model.decision_function(X)
    on_device = model.set_params(device=other_device).decision_function(X)
    assert_allclose(on_device, on_cpu, atol=1e-6)


@pytest.mark.many_steps
def test_tensors_and_sparse_rows_give_the_same_model_as_arrays(other_device):
    import torch

    X, y = few_labels(60, 40)
    place = "cuda" if other_device == "cuda" else "cpu"
    expected = fit_on(other_device, SupervisedSVC(), X, y).decision_function(X)
    tensor = torch.from_numpy(X).to(place)
    for form in (tensor, sparse.csr_matrix(X)):
        found = fit_on(other_device, SupervisedSVC(), form, y).decision_function(form)
        assert isinstance(found, np.ndarray)
        assert_allclose(found, expected, atol=1e-4)


KEEP_TENSORS = {
    "tuned": SVCCV([0.1, 1], gammas=["scale"], cv=2, tol=0.3),
    "supervised": SupervisedSVC(tol=0.3, probability=True),
    "polynomial": SupervisedSVC(tol=0.3, kernel="poly"),
    "self-training": SelfTrainingSVC(tol=0.3),
    "transductive": TransductiveSVC(tol=0.3),
    "progressive": ProgressiveSVC(tol=0.3),
    "preference": PreferenceSVC(tol=0.3, random_state=0),
}


def wide_rows(n=24, n_columns=3000):
    """Rows of so many columns that no other array of a fit has as many numbers as X."""
    y = np.arange(n) % 2
    few = np.random.default_rng(0).normal(size=(n, 2)) + 4 * y[:, None] - 2
    X = np.tile(few, n_columns // 2)
    return X, y, np.where(np.arange(n) < n // 2, y, -1)


def on_torch(X, device):
    import torch

    return torch.from_numpy(X).to("cuda" if device == "cuda" else "cpu")


# With float32 kernels of a device, ProgressiveSVC may end with rows on one side only, and says so.
@pytest.mark.filterwarnings("ignore:.* of ProgressiveSVC had candidates on one side")
@pytest.mark.parametrize("name", KEEP_TENSORS)
def test_a_tensor_stays_on_its_device_from_the_checks_to_the_scores(
    name, other_device, monkeypatch
):
    import torch

    X, truth, y = wide_rows()
    tensor = on_torch(X, other_device)
    copied = []

    def watched(method):
        def call(self, *args, **kwargs):
            copied.append(self.numel())
            return method(self, *args, **kwargs)

        return call

    for method in ("cpu", "numpy", "tolist", "__array__"):
        monkeypatch.setattr(torch.Tensor, method, watched(getattr(torch.Tensor, method)))
    asked = "auto" if other_device == "cuda" else other_device
    model = type(KEEP_TENSORS[name])(**KEEP_TENSORS[name].get_params() | {"device": asked})
    found = model.fit(tensor, on_torch(y, other_device)).predict(tensor)
    # The support vectors, which are an array of the host, are the only rows of X that are copied.
    assert sum(size >= X.shape[1] for size in copied) <= 2
    assert max(copied) <= X.shape[1] * len(model.support_) < X.size
    assert isinstance(model.support_vectors_, np.ndarray)
    assert np.mean(found == truth) >= 0.9


def test_tensors_are_checked_with_the_words_for_arrays(other_device):
    X, _, y = wide_rows(8, 4)
    model = SupervisedSVC(device=other_device, tol=0.3)
    for row, wrong in ((3, np.nan), (5, np.inf), (6, 1e200)):
        bad = X.copy()
        bad[row, 2] = wrong
        messages = []
        for form in (bad, on_torch(bad, other_device)):
            with pytest.raises(ValueError) as error:
                model.fit(form, y)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    fitted = model.fit(on_torch(X, other_device), y)
    for form in (X[:, :3], on_torch(X[:, :3].copy(), other_device)):
        with pytest.raises(ValueError, match="X has 3 features, but SupervisedSVC is expecting 4"):
            fitted.predict(form)
    integers = on_torch(np.rint(X).astype(np.int16), other_device)
    assert fitted.predict(integers).tolist() == fitted.predict(np.rint(X)).tolist()


def test_equal_rows_of_a_tensor_are_found_on_its_device(other_device):
    X = np.random.default_rng(0).integers(0, 2, size=(40, 3)).astype(np.float32)
    X[X == 0] *= -1  # -0.0 equals 0.0
    X[::2] += 0.0
    codes = np.arange(40) % 2
    expected = find_equal_rows(X, codes)
    found = find_equal_rows(TensorRows(on_torch(X, other_device)), codes)
    assert found.first.tolist() == expected.first.tolist()
    assert found.group.tolist() == expected.group.tolist()
