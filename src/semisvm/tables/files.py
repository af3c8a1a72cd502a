"""The model file: skops, never pickle; complete, or not there.

    schema.json, *.npy       the model, as skops writes it
    semisvm/manifest.json    version of this format, classes, features, operating points, audits,
                             method
    semisvm/summary.json     the whole `FitSummary`
    semisvm/sha256           digest of everything above

Loading runs no code from the file: only types of scikit-learn that skops trusts, and types of this
library that hold values, are created; any other type, and every function, is refused. The digest
finds files that were damaged or edited. It is not a signature: whoever edits a file on purpose can
compute it again. So a file may not unpack to much more than its own size, archives inside it
included; arrays may not claim to be larger than what is there; and a model of a table may search
texts only for the patterns that `semisvm fit` uses, since others can take for ever. Use models of
people you trust all the same.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import io
import json
import math
import zipfile
import zlib
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from semisvm.disk import SUFFIXES, first_line, read_bytes, whole_file
from semisvm.errors import DataError, fault, require_extra
from semisvm.tables.summary import FitSummary

if TYPE_CHECKING:
    from semisvm.tables.model import Model

FORMAT_VERSION = 3
SUFFIXES_OF_OTHERS = frozenset([*SUFFIXES, ".html", ".json", ".pkl", ".pickle", ".joblib", ".onnx"])
MANIFEST = "semisvm/manifest.json"
SUMMARY = "semisvm/summary.json"
DIGEST = "semisvm/sha256"
# What is learned about single training rows has no place in a file that others read.
ABOUT_TRAINING_ROWS = (
    "transduction_",
    "labeled_iter_",
    "clusters_",
    "loo_scores_",
    "out_of_fold_scores_",
    "calibration_scores_",
    "calibration_sign_",
    "_unlabeled_scores",
)
# A file that unpacks to more than both limits is not a model: deflate packs the arrays of real
# models 10 times at most, and small models may hold many zeros.
MOST_UNPACKED_BYTES = 256_000_000
MOST_UNPACKED_TIMES = 100
MOST_NESTED = 2  # archives inside archives: skops stores a sparse matrix as one .npz in its own
ARCHIVE_START = b"PK"
# A part of a file is deflated where its first bytes become so much smaller.
SAMPLED_BYTES, WORTH_DEFLATING = 50_000, 0.8
ARRAY_START = b"\x93NUMPY"
SKLEARNS_PATTERN = r"(?u)\b\w\w+\b"  # of vectorizers of letters, which do not use it
# Harmless, and not in the list of skops.
FOREIGN_TYPES = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.compose._column_transformer._RemainderColsList",  # of scikit-learn 1.6
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
)


def check_model_name(path: Path) -> None:
    """Refuse a name for a model file with the suffix of another kind of file."""
    if path.suffix.lower() in SUFFIXES_OF_OTHERS:
        reason = f"a model is written, and {path.suffix} is the suffix of other files"
        raise fault(path, reason, "Give it a name that ends with .skops")


def save(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Save a model: one that `semisvm fit` made, or any fitted estimator or pipeline of this
    library.

    Parameters
    ----------
    model : Model or estimator
        The model. Of an estimator, everything that `fit` learned is saved; of a `Model`, attributes
        of single training rows are left out.
    path : str or path
        The file to write; by convention it ends in .skops.
    force : bool, default=False
        Whether an existing file may be replaced.

    Returns
    -------
    path
        The file that was written.

    Raises
    ------
    DataError
        If the file exists or can't be written, or if the model holds what `load` does not read,
        such as a kernel function or a forest of scikit-learn.
    """
    require_extra("save", "skops")
    content = to_bytes(model)
    _, unknown = _types_in(content)
    if unknown:
        reason = f"the model holds {unknown[0]}, which can't be in a model file"
        raise fault(path, reason, "Fit it without that, or use joblib.dump for this model")
    with whole_file(path, force=force) as unfinished:
        unfinished.write_bytes(content)
    return Path(path)


def load(path: str | Path) -> Any:
    """Load a model that `save` wrote. A file that is damaged, newer, or has unknown content is
    rejected.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Model or estimator
        The model.

    Raises
    ------
    DataError
        If the file can't be loaded; the message says why and what to do.
    """
    require_extra("load", "skops")
    path = Path(path)
    content = read_bytes(path)
    manifest, summary = _check_content(path, content)
    try:
        loaded = _read_by_skops(path, content)
        if manifest["kind"] != "model":
            return loaded
        from semisvm.tables.model import Model

        _check_parts(path, loaded)
        return Model(**loaded, summary=FitSummary.from_json(summary))
    except DataError:
        raise
    except Exception as error:  # skops and zipfile raise many unrelated types on bad content
        version = manifest.get("semisvm", "")
        reason = f"can't be read as a model of semisvm {version} ({first_line(error)})"
        raise fault(path, reason, "Fit the model again with this version") from None


def _read_by_skops(path: Path, content: bytes) -> Any:
    """Read any object that consists of types of this library and of those that skops trusts."""
    from semisvm.sklearn_private import import_skops_io

    wanted, unknown = _types_in(content)
    if unknown:
        reason = f"holds {unknown[0]}, which no model of this library is made of"
        raise fault(path, reason, "Don't use it, unless you know who made it and why")
    return import_skops_io().loads(content, trusted=wanted)


def _types_in(content: bytes) -> tuple[list[str], list[str]]:
    """Return the types in an archive that skops does not trust, and those of them that are neither
    of this library nor known to be harmless.
    """
    from semisvm.sklearn_private import import_skops_io

    wanted = import_skops_io().get_untrusted_types(data=content)
    return wanted, [
        name for name in wanted if name not in FOREIGN_TYPES and not _holds_values(name)
    ]


def _holds_values(name: str) -> bool:
    """Whether a name is that of an estimator, dataclass, named tuple or enum of this library."""
    module, _, name_in_module = name.rpartition(".")
    if not module.startswith("semisvm."):
        return False
    kind = getattr(import_module(module), name_in_module, None)
    return isinstance(kind, type) and (
        issubclass(kind, BaseEstimator | tuple | Enum) or dataclasses.is_dataclass(kind)
    )


def load_table_model(path: str | Path) -> Model:
    """Read a `Model`; a bare estimator that was saved from Python is refused."""
    from semisvm.tables.model import Model

    loaded = load(path)
    if not isinstance(loaded, Model):
        reason = f"this holds a bare {type(loaded).__name__}, without the columns of a table"
        remedy = (
            "Use it in Python (semisvm.load, Campaign.for_model), or give a file that semisvm fit"
            " wrote"
        )
        raise fault(path, reason, remedy)
    return loaded


def to_bytes(model: Any) -> bytes:
    """Return the content of a model's file."""
    from semisvm.sklearn_private import import_skops_io
    from semisvm.tables.model import Model

    skops_io = import_skops_io()
    version = import_module("semisvm").__version__
    is_model = isinstance(model, Model)
    state = _state(model) if is_model else model
    plain = zipfile.ZipFile(io.BytesIO(skops_io.dumps(state)))
    stream = io.BytesIO()
    manifest = {
        "format": FORMAT_VERSION,
        "kind": "model" if is_model else "estimator",
        "semisvm": version,
    }
    summary = model.summary.as_dict() if is_model else {}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in plain.namelist():
            content = plain.read(name)
            # Most of a large model are floats, which time hardly makes smaller.
            start = content[:SAMPLED_BYTES]
            is_worth = len(zlib.compress(start, 1)) < WORTH_DEFLATING * len(start)
            method = zipfile.ZIP_DEFLATED if is_worth else zipfile.ZIP_STORED
            archive.writestr(name, content, method)
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, allow_nan=False))
        archive.writestr(SUMMARY, json.dumps(summary, allow_nan=False))
        archive.writestr(DIGEST, _digest(archive))
    return stream.getvalue()


def model_digest(path: str | Path) -> str:
    """Return a digest of everything in a model's file but its summary."""
    content = read_bytes(Path(path))
    _check_content(Path(path), content)
    digest = hashlib.sha256()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(set(archive.namelist()) - {MANIFEST, SUMMARY, DIGEST}):
            digest.update(name.encode() + b"\0" + hashlib.sha256(archive.read(name)).digest())
    return digest.hexdigest()


def _state(model: Any) -> dict[str, Any]:
    """Return everything but the summary and what concerns single training rows."""
    estimator = copy.copy(model.estimator)
    for name in ABOUT_TRAINING_ROWS:
        vars(estimator).pop(name, None)
    return {name: value for name, value in vars(model).items() if name != "summary"} | {
        "estimator": estimator
    }


def _check_content(path: Path, content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the manifest, and the summary as JSON, of a complete file."""
    not_ours = fault(
        path, "this is not a model file of semisvm", "Give a file that semisvm fit wrote"
    )
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        if MANIFEST not in archive.namelist():
            raise not_ours
        _check_sizes(path, archive, len(content))
        manifest = json.loads(archive.read(MANIFEST))
        version = manifest.get("format")
        if type(version) is not int or version != FORMAT_VERSION:
            reason = (
                f"written by semisvm {manifest.get('semisvm')}, in format {version!r} where this"
                f" version reads {FORMAT_VERSION}"
            )
            raise fault(path, reason, "Fit the model again, or install that version of semisvm")
        if archive.read(DIGEST).decode() != _digest(archive):
            reason = "the file was damaged or edited: its digest is wrong"
            raise fault(path, reason, "Copy it again, or fit again")
        return manifest, archive.read(SUMMARY)
    except DataError:
        raise
    except Exception:  # zipfile, zlib, json and struct raise a dozen unrelated types on bad bytes
        if content[:2] != b"PK":
            raise not_ours from None
        raise fault(
            path, "the model file is truncated or damaged", "Copy it again, or fit again"
        ) from None


def _check_sizes(path: Path, archive: zipfile.ZipFile, packed: int) -> None:
    """Refuse a file that unpacks to far more than its own size, inner archives included, and
    arrays that claim more numbers than they hold.

    zipfile never returns more bytes of an entry than its header says, so the headers are enough.
    """
    most = max(MOST_UNPACKED_BYTES, MOST_UNPACKED_TIMES * packed)
    total = 0
    pending = [(archive, 0)]
    while pending:
        opened, depth = pending.pop()
        total += sum(entry.file_size for entry in opened.infolist())
        if total > most:
            reason = f"{packed / 1e6:.1f} MB that claim to hold {total / 1e9:.1f} GB"
            raise fault(path, reason, "Don't use it: no model is packed that tightly")
        for entry in opened.infolist():
            with opened.open(entry) as stream:
                start = stream.read(len(ARRAY_START))
            if start == ARRAY_START:
                with opened.open(entry) as stream:
                    _check_array(path, stream, entry)
            elif start.startswith(ARCHIVE_START):
                if depth == MOST_NESTED:
                    reason = "it holds archives inside archives inside archives"
                    raise fault(path, reason, "Don't use it: no model is packed that way")
                pending.append((zipfile.ZipFile(io.BytesIO(opened.read(entry))), depth + 1))


def _check_array(path: Path, stream: IO[bytes], entry: zipfile.ZipInfo) -> None:
    """Refuse an array whose header claims more numbers than the entry has bytes for."""
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read_header(stream)
    if math.prod(shape) * dtype.itemsize > entry.file_size:
        reason = f"an array in it claims to hold {math.prod(shape):,} numbers and is shorter"
        raise fault(path, f"the model file is damaged: {reason}", "Copy it again, or fit again")


def _check_parts(path: Path, loaded: Any) -> None:
    """Refuse a model with patterns of somebody else, or one that divides by 0."""
    from semisvm.columns.cells import TERM

    pending = [loaded]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if id(part) in seen or isinstance(part, str | bytes | type):
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple):
            pending += part
        elif hasattr(part, "__dict__"):
            pending += vars(part).values()
            pattern = vars(part).get("token_pattern", TERM)
            if pattern not in (TERM, SKLEARNS_PATTERN):
                reason = f"it searches texts for {pattern!r}, which semisvm fit does not"
                raise fault(path, reason, "Don't use it, unless you know who made it and why")
            scale = vars(part).get("scale_")
            if scale is not None and not np.all(np.asarray(scale) > 0):
                reason = "the model file is damaged: it divides a column by 0"
                raise fault(path, reason, "Copy it again, or fit again")


def _digest(archive: zipfile.ZipFile) -> str:
    digest = hashlib.sha256()
    for name in sorted(set(archive.namelist()) - {DIGEST}):
        for part in (name.encode(), archive.read(name)):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
