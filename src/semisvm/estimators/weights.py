"""How much each row counts: sample weights, a multiple of C. What mistakes cost is in `costs`."""

import numpy as np

from semisvm.sklearn_private import check_sample_weight


def sample_weights(sample_weight, X) -> np.ndarray:
    """Give one weight a row, 1 where none were passed; negative, NaN and all-zero weights are refused."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    return check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
