"""The model file: skops, never pickle, whole or not there.

    schema.json, *.npy       the model, as skops writes it
    semisvm/manifest.json    version of this format, classes, features, operating point, audit, training summary
    semisvm/facts.json       all that the report draws
    semisvm/sha256           digest of everything above

Loading runs no code from the file: only types of scikit-learn that skops trusts and the types of this library named
below are made, any other is refused. The digest finds files that were damaged or edited; it is no signature, and
whoever edits a file on purpose can compute it anew. Take models from people you trust to have trained them well.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from semisvm.errors import DataError, fault
from semisvm.tables.content import read_bytes
from semisvm.tables.writing import whole_file

FORMAT_VERSION = 1
MANIFEST, FACTS, DIGEST = "semisvm/manifest.json", "semisvm/facts.json", "semisvm/sha256"
SUFFIX = ".skops"
IN_MANIFEST = ("title", "created", "data", "classes", "positive", "method", "operating_point", "audit", "versions")
# What is learned about every training row has no place in a file that others read.
ABOUT_TRAINING_ROWS = ("transduction_", "labeled_iter_", "clusters_", "calibration_scores_", "calibration_sign_")


def save(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Write a model: what `semisvm fit` makes, or any fitted estimator or pipeline of this library.

    Parameters
    ----------
    model : Model or estimator
        Of an estimator all that `fit` learned is kept; a `Model` leaves out what is about single training rows.
    path : path
        By convention it ends in .skops.
    force : bool
        Whether an existing file may be replaced.
    """
    with whole_file(path, force=force) as unfinished:
        unfinished.write_bytes(to_bytes(model))
    return Path(path)


def load(path: str | Path) -> Any:
    """Read what `save` wrote; a file that is damaged, newer, or holds anything unknown is refused.

    Raises
    ------
    DataError
        With the file, the reason and the remedy.
    """
    from skops import io as skops_io

    path = Path(path)
    content = read_bytes(path)
    manifest, facts = _checked(path, content)
    try:
        unknown = sorted(set(skops_io.get_untrusted_types(data=content)) - set(trusted_types()))
        if unknown:
            reason = f"holds objects of a type that is not of this library, {unknown[0]}"
            raise fault(path, reason, "Don't use it, unless you know who made it and why")
        loaded = skops_io.loads(content, trusted=trusted_types())
    except DataError:
        raise
    except Exception as error:  # skops and zipfile raise many unrelated types on bad content
        reason = f"can't be read as a model of semisvm {manifest.get('semisvm', '')} ({_first_line(error)})"
        raise fault(path, reason, "Fit the model again with this version") from None
    return _model(loaded, facts) if manifest.get("kind") == "model" else loaded


def trusted_types() -> list[str]:
    """Name the types of this library that a model may be made of."""
    import semisvm.estimators as estimators

    ours = [f"{t.__module__}.{t.__qualname__}" for t in (getattr(estimators, name) for name in estimators.__all__)]
    return sorted([*ours, *TRUSTED])


TRUSTED = (
    "semisvm.kernels.formula.Formula",
    "semisvm.estimators.costs.Costs",
    "semisvm.estimators.gaussians.Gaussians",
    "semisvm.tables.encode.TableEncoder",
    "semisvm.tables.encode.DateParts",
    "semisvm.tables.encode.MatrixEncoder",
    "semisvm.tables.columns.Column",
    "semisvm.tables.classes.Classes",
    "semisvm.decision.operating_point.OperatingPoint",
    "semisvm.decision.target.Target",
    "semisvm.decision.binomial.Estimate",
    "semisvm.decision.counts.Counts",
    "semisvm.decision.guard.Guard",
    "semisvm.dual.problem.Status",
    "numpy.dtype",
    "scipy.sparse._csr.csr_matrix",
)


def to_bytes(model: Any) -> bytes:
    """Return the content of a model's file."""
    from skops import io as skops_io

    from semisvm import __version__
    from semisvm.tables.model import Model

    is_model = isinstance(model, Model)
    state = _state(model) if is_model else model
    stream = io.BytesIO(skops_io.dumps(state, compression=zipfile.ZIP_DEFLATED))
    facts = model.facts if is_model else {}
    manifest = {"format": FORMAT_VERSION, "kind": "model" if is_model else "estimator", "semisvm": __version__}
    manifest |= {name: facts[name] for name in IN_MANIFEST if name in facts}
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, allow_nan=False))
        archive.writestr(FACTS, json.dumps(facts, allow_nan=False))
        archive.writestr(DIGEST, _digest(archive))
    return stream.getvalue()


def _state(model: Any) -> dict[str, Any]:
    """Everything but the facts, which are kept as JSON, and but what is known about single training rows."""
    estimator = copy.copy(model.estimator)
    for name in ABOUT_TRAINING_ROWS:
        vars(estimator).pop(name, None)
    return {name: value for name, value in vars(model).items() if name != "facts"} | {"estimator": estimator}


def _model(state: Any, facts: dict[str, Any]) -> Any:
    from semisvm.tables.model import Model

    return Model(**state, facts=facts)


def _checked(path: Path, content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return manifest and facts of a file that is whole and of a version that this one reads."""
    not_ours = fault(path, "this is not a model file of semisvm", "Give a file that semisvm fit wrote")
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        if MANIFEST not in archive.namelist():
            raise not_ours
        manifest = json.loads(archive.read(MANIFEST))
        version = manifest.get("format")
        if isinstance(version, int) and version > FORMAT_VERSION:
            reason = f"written by a newer semisvm ({manifest.get('semisvm')}), in format {version}"
            raise fault(path, f"{reason} where this version reads {FORMAT_VERSION}", "Upgrade: pip install -U semisvm")
        if archive.read(DIGEST).decode() != _digest(archive):
            raise fault(path, "the file was damaged or edited: its digest is wrong", "Copy it again, or fit again")
        return manifest, json.loads(archive.read(FACTS))
    except DataError:
        raise
    except Exception:  # zipfile, zlib, json and struct raise a dozen unrelated types on bad bytes
        if content[:2] != b"PK":
            raise not_ours from None
        raise fault(path, "the model file is truncated or damaged", "Copy it again, or fit again") from None


def _digest(archive: zipfile.ZipFile) -> str:
    digest = hashlib.sha256()
    for part in _parts(archive):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def _parts(archive: zipfile.ZipFile) -> Iterator[bytes]:
    for name in sorted(set(archive.namelist()) - {DIGEST}):
        yield name.encode()
        yield archive.read(name)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
