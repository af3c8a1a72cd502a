"""Estimators on a device: the same models as on the CPU, from any kind of input, all rounds on
the device.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_classification

from semisvm import (
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
    kernels,
)
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
