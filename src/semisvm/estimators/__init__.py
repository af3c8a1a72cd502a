"""One module or sub-package per method, each a sequence of dual problems; and the list of methods.

`METHODS` is the one list that everything else derives from: the command's help and `--method`,
`compare`, and the tests that run over every estimator. A new method is one line there.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["all_estimators"]


@dataclass(frozen=True)
class Method:
    """A name on the command line, the class behind it, and what the papers call it."""

    name: str
    class_name: str
    paper_name: str
    about: str
    takes_sparse: bool = True
    # Matrices of all rows by all rows that a fit holds in memory whatever its cache_size.
    n_squares: int = 0
    # Whether it handles a minimum precision or recall itself, with scores above 0 for accepted
    # rows.
    sets_threshold: bool = False
    for_one_class: bool = False  # whether it is for targets with labels of one class only

    @property
    def estimator_class(self) -> Any:
        """The class."""
        return getattr(import_module("semisvm"), self.class_name)


# From the simplest to the most complex: of two that are equally good, the first is chosen.
METHODS = (
    Method("supervised", "SupervisedSVC", "SVM (SSVM)", "the labeled rows alone: the baseline"),
    Method(
        "mixture",
        "MixtureClassifier",
        "generative model (EM)",
        "a Gaussian for each class, all rows",
        takes_sparse=False,
    ),
    Method("self-training", "SelfTrainingSVC", "self-training", "retrained on its own predictions"),
    Method(
        "cluster", "ClusterSVC", "cluster-SVM", "unlabeled rows take the label of their cluster"
    ),
    Method(
        "laplacian",
        "LaplacianSVC",
        "Laplacian SVM",
        "neighbors are given similar scores",
        n_squares=3,
    ),
    Method(
        "label-mean", "LabelMeanSVC", "CS4VM (meanS3VM)", "the means of the unlabeled rows' classes"
    ),
    Method("transductive", "TransductiveSVC", "TSVM", "the boundary where unlabeled rows are few"),
    Method("progressive", "ProgressiveSVC", "PTSVM", "pairs of rows labeled round by round"),
    Method("autosvc", "AutoSVC", "stacked kernels", "an average over kernels made from all rows"),
    Method(
        "preference", "PreferenceSVC", "PSVM", "a precision or recall to reach", sets_threshold=True
    ),
    Method(
        "positive-unlabeled",
        "PositiveUnlabeledSVC",
        "weighted SVM, uPU",
        "only positives are labeled",
        sets_threshold=True,
        for_one_class=True,
    ),
)
NAMES = tuple(method.name for method in METHODS)


def find_method(name: str) -> Method:
    """Return the method of that name."""
    from difflib import get_close_matches

    found = next((method for method in METHODS if method.name == name), None)
    if found is None:
        names = ["auto", *NAMES]
        close = get_close_matches(name, names, n=1) if name != "auto" else []
        hint = f"Perhaps {close[0]!r} is meant; there are " if close else "There are "
        raise ValueError(f"There is no method {name!r}. {hint}{', '.join(names)}.")
    return found


def all_estimators(type_filter: str | None = None) -> list[tuple[str, type]]:
    """Return every public estimator of this library, as `sklearn.utils.discovery.all_estimators`
    does.

    Parameters
    ----------
    type_filter : {"classifier", "transformer"}, optional
        Only those of this type.

    Returns
    -------
    list of (str, type)
        Names and classes, sorted by name. Some need an argument, such as the classifier that they
        wrap.

    Examples
    --------
    >>> from semisvm import all_estimators
    >>> [name for name, _ in all_estimators("transformer")]
    ['TableEncoder', 'UnlabeledKernel']
    """
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

    package = import_module("semisvm")
    kinds = {None: BaseEstimator, "classifier": ClassifierMixin, "transformer": TransformerMixin}
    if type_filter not in kinds:
        raise ValueError(
            f"type_filter must be 'classifier', 'transformer' or None, got {type_filter!r}."
        )
    found = [(name, getattr(package, name)) for name in sorted(package.__all__)]
    classes = [
        (name, one)
        for name, one in found
        if isinstance(one, type) and issubclass(one, BaseEstimator)
    ]
    return [(name, one) for name, one in classes if issubclass(one, kinds[type_filter])]
