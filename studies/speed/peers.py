"""The solvers that are compared, each with the input form that it is fastest on.

    ours         semisvm.SupervisedSVC
    libsvm       scikit-learn's SVC
    onedal-f32   scikit-learn-intelex's SVC, single precision throughout
    onedal-f64   the same in double precision

A solver is written "name" or "name:form"; the second allows to measure a claim about input forms
again (`--solvers libsvm:dense64 libsvm:csr64`). The forms were chosen by single fits of 1,500 to
3,000 rows:

- libsvm: dense float64 on all four sets, even where rows are 90% zeros (adult 0.46 s against 0.62 s
  for CSR, ijcnn1 0.041 against 0.049, protein 0.78 against 5.3, at 3,000 rows; mnist 0.39 against
  1.2 at 1,500).
- onedal: dense. At 1,500 rows CSR is as fast on adult and ijcnn1 within the noise, slower on
  protein, and 2 to 2.6 times slower on mnist. It computes in the precision of X, both gradient and
  kernel cache.
- ours: dense float32, the precision of its kernel rows. CSR makes kernel rows about as fast
  (1,024 rows of 6,000); whole fits have not been compared.

`cache_size` is in MiB for the others, in millions of bytes (5% less) for ours. LIBSVM keeps float32
rows in it. oneDAL keeps rows in the precision of X (so float64 gets half as many) and never fewer
than its working set of up to 2,048, however small the cache.
"""

import contextlib
import logging
from importlib import import_module

import numpy as np

from studies.harness.fresh_process import NotAvailableError

DEFAULT_FORM = {
    "ours": "dense32",
    "libsvm": "dense64",
    "onedal-f32": "dense32",
    "onedal-f64": "dense64",
}
FORMS = ("dense32", "dense64", "csr32", "csr64")
CLASSES = {
    "ours": ("semisvm", "SupervisedSVC"),
    "libsvm": ("sklearn.svm", "SVC"),
    "onedal-f32": ("sklearnex.svm", "SVC"),
    "onedal-f64": ("sklearnex.svm", "SVC"),
}
# What sklearnex passes on for "no limit". A fit that reaches it did not end by itself.
ONEDAL_MAX_ITER = 10_000


def parse_solver(text):
    """Split "name" or "name:form" and return (name, form); raise ValueError for an unknown one."""
    name, _, form = text.partition(":")
    if name not in DEFAULT_FORM:
        raise ValueError(f"Unknown solver {name!r}; known: {', '.join(DEFAULT_FORM)}.")
    form = form or DEFAULT_FORM[name]
    if form not in FORMS:
        raise ValueError(f"Unknown input form {form!r}; known: {', '.join(FORMS)}.")
    return name, form


def convert(X, form):
    """Return CSR float64 rows in another form."""
    dtype = np.float32 if form.endswith("32") else np.float64
    X = X.astype(dtype, copy=False)
    return X.toarray() if form.startswith("dense") else X


def make_solver(name, C, gamma, tol, cache_mb):
    """Return an unfitted estimator."""
    module, attribute = CLASSES[name]
    try:
        estimator = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise NotAvailableError(f"{name}: {module}.{attribute} cannot be imported") from error
    of_ours = {"device": "cpu"} if name == "ours" else {}  # the others have no device
    return estimator(C=C, kernel="rbf", gamma=gamma, tol=tol, cache_size=cache_mb, **of_ours)


@contextlib.contextmanager
def witnessed(name):
    """Watch a fit, and raise RuntimeError if a oneDAL solver left the work to scikit-learn.

    sklearnex falls back silently where oneDAL can't take a problem; its log is the public record of
    who did the work.
    """
    if not name.startswith("onedal"):
        yield
        return
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("sklearnex")
    before = logger.level
    propagate = logger.propagate
    others = logger.handlers
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.handlers = others
        logger.propagate = propagate
        logger.setLevel(before)
    fits = [message for message in messages if ".fit:" in message]
    if not fits or not all("running accelerated version" in message for message in fits):
        raise RuntimeError(f"oneDAL did not do the fit: {'; '.join(fits) or 'nothing logged'}")


def signed_coefficients(model):
    """Return beta of the support vectors, a float64 array, from a fitted estimator of any of the
    solvers.
    """
    coefficients = model.dual_coef_
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)
    return dense.astype(np.float64).ravel()


def ended_by_itself(name, model):
    """Return whether the fit stopped by its own criterion, not at an iteration limit that was
    not requested.
    """
    return not (name.startswith("onedal") and int(np.max(model.n_iter_)) >= ONEDAL_MAX_ITER)
