"""SVMlight's Reuters example, on which runs of transductive and progressive machines are
published.
"""

import numpy as np
from scipy import sparse

from paper_sets import paper_set

# Rows of the training file that are also among the ten labeled documents.
LABELED_TWICE = (0, 1, 2, 996, 997, 1001, 1083, 1217, 1512, 1999)


def load_reuters(folder):
    """Its four parts by name."""
    return {
        part: paper_set(f"reuters-{part}", folder)
        for part in ("train", "induction", "test", "transduction")
    }


def reuters_rows(reuters, n_positive, n_negative):
    """The ten labeled documents, then the first so many of each class in file order."""
    train = reuters["train"]
    labeled = reuters["induction"]
    others = np.setdiff1d(np.arange(len(train.y)), LABELED_TWICE)
    rows = np.sort(
        np.concatenate(
            [others[train.y[others] == c][:n] for c, n in ((1, n_positive), (0, n_negative))]
        )
    )
    return sparse.vstack([labeled.X, train.X[rows]], format="csr"), np.append(
        labeled.y, np.full(len(rows), -1)
    )


def errors_on_test(model, reuters):
    """How many documents of the test file a model gets wrong."""
    return int((model.predict(reuters["test"].X) != reuters["test"].y).sum())
