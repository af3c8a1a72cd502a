"""Self-training, Algorithm 1 of the cluster-SVM paper (after Yarowsky 1995): train, relabel every
row, train again.

    1  Train on the labeled rows.
    2  Give each unlabeled row the class that the SVM predicts.
    3  Stop once the share of unlabeled rows whose class changed is at most delta.
    4  Train on all rows, and go on with 2.

A row is given one of *all* the classes, that of its largest score, and then every binary problem is
trained on that one labeling. Scores of all rows come with the solution, so that relabeling computes
no kernel value. The user's labels are never overwritten. No objective decreases, so the labelings
need not converge: the fit ends when one comes back.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.sklearn_private import Interval

from ._base import PrimalSVC
from ._binary import AllPairs, BinaryFit, TrainingSet
from ._classifier import WHOEVER_CALLED_FIT
from ._estimator import estimator


@estimator
class SelfTrainingSVC(PrimalSVC):
    """Support vector classifier that is retrained on its own predictions until they stop changing.

    Self-training, Algorithm 1 of [1]_. On the paper's designs it is about one percentage point
    better than the supervised SVM if the classes are Gaussian clusters, and one or two points worse
    otherwise: where the first classifier is poor, self-training reinforces its mistakes.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin, with its own or a guessed label. A
        `sample_weight` below 1 on unlabeled rows gives the guesses less weight.
    delta : float, default=0.0
        Stop once at most this share of the unlabeled rows change their label in a round.
    max_rounds : int, default=50
        Maximum number of trainings after the first. Nearly all fits converge in fewer than ten.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one or one-vs-rest.

    See Also
    --------
    ClusterSVC : Labels the unlabeled rows by their clusters instead.
    SupervisedSVC : The first training alone.

    Notes
    -----
    `history_` has one record per training: how many labels it changed (``n_changed``) and the sum
    of the objectives of its binary problems. `termination_condition_` is "converged" if the labels
    stopped changing, "cycle" if an earlier labeling came back, or "max_rounds".

    References
    ----------
    .. [1] H. Bae, H. Kim and S. J. Shin, "The use of support vector machines in semi-supervised
       classification", Communications for Statistical Applications and Methods 29, 2022.
       :doi:`10.29220/CSAM.2022.29.2.193`
    .. [2] D. Yarowsky, "Unsupervised word sense disambiguation rivaling supervised methods", ACL
       1995. :doi:`10.3115/981658.981684`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[57:] = -1  # nine labels in ten are hidden
    >>> model = SelfTrainingSVC(kernel="linear", C=0.01).fit(scale(X), y)
    >>> model.termination_condition_, len(model.transduction_)
    ('converged', 569)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PrimalSVC._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="left")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    delta: float = 0.0
    max_rounds: int = 50
    multi_class: Literal["ovr", "ovo"] = "ovo"

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        svms = AllPairs(data)
        is_open = ~data.labels.is_labeled
        guess, seen, ended = data.labels.codes, set[bytes](), "max_rounds"
        for number in range(self.max_rounds + 1):
            svms.train(guess, self.C)  # 1, 4
            before, guess = guess, np.where(is_open, svms.codes, data.labels.codes)  # 2
            changed = guess != before
            svms.done(n_changed=int(changed.sum()))
            share = data.weight[changed].sum() / max(data.weight[is_open].sum(), 1e-300)
            if not is_open.any() or (number > 0 and share <= self.delta):  # 3
                ended = "converged"
                break
            if guess.tobytes() in seen:
                ended = "cycle"
                break
            seen.add(guess.tobytes())
        if ended == "max_rounds":
            warnings.warn(
                f"SelfTrainingSVC ended after max_rounds={self.max_rounds} with {changed.sum()}"
                " labels still changing. Raise max_rounds or delta.",
                ConvergenceWarning,
                stacklevel=WHOEVER_CALLED_FIT,
            )
        return svms.fits(facts={"ended": ended})
