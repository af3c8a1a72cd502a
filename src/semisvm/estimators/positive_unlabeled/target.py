"""What the user says about the target: which label is the positive one, what others are called, and the prior."""

from typing import Any

import numpy as np

from semisvm.labels import Labels, encode


def read_prior(prior: Any) -> tuple[float, float] | None:
    """The numbers that a prior lies between, or None where it is to be estimated."""
    if isinstance(prior, str):
        return None
    try:
        low, high = (float(end) for end in (prior if isinstance(prior, tuple | list) else (prior, prior)))
    except (TypeError, ValueError):
        raise ValueError(f"prior must be a number, two numbers or 'estimated', got {prior!r}.") from None
    if not 0 < low <= high < 1:
        raise ValueError(f"prior must lie strictly between 0 and 1, the lower number first; got {prior!r}.")
    return low, high


def read_positives(y: Any, *, unlabeled: Any, n_rows: int | None, negative: Any = None) -> Labels:
    """Read a target as two classes, the negative and the positive, though y may hold the positive alone."""
    labels = encode(y, unlabeled=unlabeled, n_rows=n_rows, may_be_one_class=True)
    names = labels.classes.tolist()
    if labels.n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has "
            f"{labels.n_classes} classes, such as {names[0]!r}. Keep the label of the positives and mark other rows as "
            "unlabeled."
        )
    if labels.n_classes == 2:
        if negative is not None and negative not in names:
            raise ValueError(f"negative={negative!r} is no label of y, which has {names}.")
        if negative is not None and negative == names[1]:
            return Labels(labels.classes[::-1].copy(), np.where(labels.is_labeled, 1 - labels.codes, labels.codes))
        return labels
    name = _name_of_others(names[0], unlabeled) if negative is None else negative
    if name == names[0] or isinstance(name, str) != isinstance(names[0], str):
        raise ValueError(
            f"negative={name!r} can't stand beside the positive label {names[0]!r}: pass another label of its type."
        )
    kind = labels.classes.dtype if labels.classes.dtype.kind == "O" else None
    return Labels(np.array([name, names[0]], dtype=kind), np.where(labels.is_labeled, 1, labels.codes))


def _name_of_others(positive: Any, marker: Any) -> Any:
    """A name for rows that are not positive: neither the positive's nor the marker of unlabeled rows."""
    if isinstance(positive, str):
        return f"not {positive}"
    if isinstance(positive, bool):
        return not positive
    free = [name for name in (0, -1) if name not in (positive, marker)]
    if not free:
        raise ValueError(
            f"The positive label is {positive!r}, and rows that are not positive need a name too: pass negative=1, say."
        )
    return type(positive)(free[0])
