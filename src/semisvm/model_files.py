"""Model files: skops, never pickle; complete, or not there.

    save(model, path)     a TableModel, or any fitted classifier or pipeline of this library
    load(path)            the same again

Loading runs no code from the file: only values, classes of scikit-learn that skops trusts, and
classes of this library are made; anything else is refused. Sparse matrices go through SciPy's full
check, since one with places out of range ends the program when it is used.
"""

from __future__ import annotations

import io
import json
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.errors import DataError, require_extra
from semisvm.sklearn_private import import_skops_io
from semisvm.tables.output import output_file

FORMAT = 1
# Harmless, and not in the list of skops.
FOREIGN_TYPES = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.compose._column_transformer._RemainderColsList",  # of scikit-learn 1.6
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
)


def save(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Save a model to a file that runs no code when it is loaded.

    Parameters
    ----------
    model : TableModel or classifier
        The model: a :class:`~semisvm.tables.model.TableModel`, or any fitted classifier or
        pipeline of this library.
    path : str or path
        The file to write; by convention it ends in .skops.
    force : bool, default=False
        Whether to replace an existing file. One that another program writes meanwhile stays.

    Returns
    -------
    path : Path
        The file that was written.

    Raises
    ------
    DataError
        If the file exists or can't be written, or if the model holds what `load` does not read,
        such as a kernel function.

    See Also
    --------
    load : Reads the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import semisvm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = Path(mkdtemp()) / "iris.skops"
    >>> semisvm.save(semisvm.SupervisedSVC().fit(X, y), path).name
    'iris.skops'
    >>> semisvm.load(path).score(X, y) > 0.9
    True
    """
    require_extra("save", "skops")
    skops = import_skops_io()
    content = model.to_state() if hasattr(model, "to_state") else {"estimator": model}
    manifest = {"format": FORMAT, "semisvm": import_module("semisvm").__version__}
    content = {"semisvm": json.dumps(manifest), **content}
    try:
        data = skops.dumps(content, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        strange = [name for name in skops.get_untrusted_types(data=data) if not _is_known(name)]
    except Exception as error:  # skops raises many unrelated types
        raise DataError(f"{path}: the model can't be saved ({_first_line(error)}).") from None
    if strange:
        raise DataError(
            f"{path}: the model holds {strange[0]}, which can't be in a model file. Fit it without"
            " that, or use joblib.dump for this model."
        )
    with output_file(path, force=force, mode="wb") as file:
        file.write(data)
    return Path(path)


def load(path: str | Path) -> Any:
    """Load a model; a file that is damaged, newer, or of other types is refused.

    Parameters
    ----------
    path : str or path
        A file that `save` or ``semisvm fit`` wrote.

    Returns
    -------
    model : TableModel or classifier
        What was saved.

    Raises
    ------
    DataError
        If the file can't be loaded; the message says why.

    See Also
    --------
    save : Writes the file, with an example.
    """
    require_extra("load", "skops")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: can't be read ({error.strerror}).") from None
    if not data.startswith(b"PK"):
        raise DataError(f"{path}: is no model (semisvm fit writes one).")
    skops = import_skops_io()
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
        if "schema.json" not in names:
            raise DataError(f"{path}: is no model (semisvm fit writes one).")
        wanted = skops.get_untrusted_types(data=data)
        strange = [name for name in wanted if not _is_known(name)]
        if strange:
            raise DataError(
                f"{path}: holds {strange[0]}, which no model is made of. Don't use it, unless you"
                " know who made it and why."
            )
        content = skops.loads(data, trusted=wanted)
        manifest = json.loads(content.pop("semisvm"))
        if manifest["format"] > FORMAT:
            raise DataError(f"{path}: was written by semisvm {manifest['semisvm']}, a newer one.")
        _check_sparse(content, set())
        if "summary" in content:
            from semisvm.tables.model import TableModel

            return TableModel.from_state(content)
        return content["estimator"]
    except DataError:
        raise
    except Exception as error:  # zipfile, skops and json raise many unrelated types on bad bytes
        raise DataError(f"{path}: is damaged ({_first_line(error)}).") from None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _is_known(name: str) -> bool:
    """Whether a name is that of a class of this library, or of a harmless one of others."""
    module, _, name_in_module = name.rpartition(".")
    if name in FOREIGN_TYPES or not module.startswith("semisvm."):
        return name in FOREIGN_TYPES
    return isinstance(getattr(import_module(module), name_in_module, None), type)


def _check_sparse(value: Any, seen: set[int]) -> None:
    """Check all sparse matrices: sorted out by SciPy, before one is used."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if sparse.issparse(value):
        if hasattr(value, "check_format"):
            value.check_format(full_check=True)
        return
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple | set):
        parts = value
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        parts = value.ravel().tolist()
    elif hasattr(value, "__dict__"):
        parts = vars(value).values()
    for part in parts:
        _check_sparse(part, seen)
