"""The model file: skops, never pickle; complete, or not there.

    schema.json, *.npy       the model, as skops writes it
    semisvm/manifest.json    version of this format, classes, features, operating points, audits, method
    semisvm/summary.json     the whole `FitSummary`
    semisvm/sha256           digest of everything above

Loading runs no code from the file: only types of scikit-learn that skops trusts and the types of this library that a
model is made of are created; any other type is refused. The digest finds files that were damaged or edited. It is not a
signature: whoever edits a file on purpose can compute it again. Use models of people you trust.

Files of version 0.1 (format 1) are read as well.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import io
import json
import typing
import zipfile
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semisvm.disk import SUFFIXES, first_line, read_bytes, whole_file
from semisvm.errors import DataError, fault
from semisvm.tables.loaded import from_the_line, move_types, name_classes, read_plain_parts
from semisvm.tables.summary import FitSummary

if TYPE_CHECKING:
    from semisvm.tables.model import Model

FORMAT_VERSION = 2
SUFFIXES_OF_OTHERS = frozenset([*SUFFIXES, ".html", ".json", ".pkl", ".pickle", ".joblib", ".onnx"])
MANIFEST, SUMMARY, DIGEST = "semisvm/manifest.json", "semisvm/summary.json", "semisvm/sha256"
FACTS = "semisvm/facts.json"  # the summary in format 1
IN_MANIFEST = ("title", "created", "data", "classes", "positive", "method", "operating_points", "audits", "versions")
# What is learned about single training rows has no place in a file that others read.
ABOUT_TRAINING_ROWS = (
    "transduction_",
    "labeled_iter_",
    "clusters_",
    "loo_scores_",
    "calibration_scores_",
    "calibration_sign_",
)
MOST_UNPACKED_BYTES, MOST_UNPACKED_TIMES = 256_000_000, 100  # beyond both, the file is not a model
# Harmless, and not in the list of skops.
FOREIGN_TYPES = ("numpy.dtype", "scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")
# Types of this library, besides its estimators, that models are made of; with them come the types of their fields.
PARTS_OF_MODELS = (
    "semisvm.tables.model.Model",
    "semisvm.tables.columns.Column",
    "semisvm.tables.encode.DateParts",
    "semisvm.tables.encode.LatentText",
    "semisvm.campaign.ThresholdClassifier",
    "semisvm.decision.OperatingPoint",
    "semisvm.decision.PositiveUnlabeledPoint",
    "semisvm.decision.guard.Guard",
    "semisvm.dual.Status",
    "semisvm.estimators.auto.members.KernelAverage",
    "semisvm.estimators.auto.families.FamilyAverage",
    "semisvm.estimators.auto.kernel.FamiliesKernel",
    "semisvm.estimators.auto.kernel.StackedKernel",
    "semisvm.estimators.problem.Costs",
    "semisvm.estimators.gaussians.Gaussians",
    "semisvm.estimators.progress.RoundRecord",
    "semisvm.kernels.Formula",
    "semisvm.model_selection.FairSampleCheck",
)


def check_model_name(path: Path) -> None:
    """Refuse a name for a model file that says that it is something else."""
    if path.suffix.lower() in SUFFIXES_OF_OTHERS:
        reason = f"a model is written, and {path.suffix} is the suffix of other files"
        raise fault(path, reason, "Give it a name that ends with .skops")


def save(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Write a model: one that `semisvm fit` made, or any fitted estimator or pipeline of this library.

    Parameters
    ----------
    model : Model or estimator
        For an estimator everything that `fit` learned is kept; for a `Model`, what concerns single training rows is
        left out.
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
        If the file exists or can't be written.
    """
    with whole_file(path, force=force) as unfinished:
        unfinished.write_bytes(to_bytes(model))
    return Path(path)


def load(path: str | Path) -> Any:
    """Read what `save` wrote; a file that is damaged, newer, or holds anything unknown is refused.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Model or estimator
        What was saved.

    Raises
    ------
    DataError
        With the file, the reason and the remedy.
    """
    path = Path(path)
    content = read_bytes(path)
    manifest, summary = _check_content(path, content)
    try:
        if manifest["format"] == 1:
            content = move_types(content, trusted_types())
        loaded = read_plain_parts(content, trusted_types)
        loaded = _read_by_skops(path, content) if loaded is None else loaded
        from semisvm.tables.model import Model, undefined_number

        if (name := undefined_number(loaded)) is not None:
            raise fault(path, f"{name} holds a number that is not finite", "Fit the model again: it can't predict")
        if manifest["kind"] != "model":
            return loaded
        read = FitSummary.from_json(summary)
        if manifest["format"] == 1:
            loaded, read = name_classes(loaded), from_the_line(read)
        return Model(**loaded, summary=read)
    except DataError:
        raise
    except Exception as error:  # skops and zipfile raise many unrelated types on bad content
        reason = f"can't be read as a model of semisvm {manifest.get('semisvm', '')} ({first_line(error)})"
        raise fault(path, reason, "Fit the model again with this version") from None


def _read_by_skops(path: Path, content: bytes) -> Any:
    """Read any object that consists of types of this library and of those that skops trusts."""
    from skops import io as skops_io

    trusted = sorted(trusted_types())
    content = move_types(content, trusted)
    unknown = sorted(set(skops_io.get_untrusted_types(data=content)) - set(trusted))
    if unknown:
        reason = f"holds objects of a type that is not of this library, {unknown[0]}"
        raise fault(path, reason, "Don't use it, unless you know who made it and why")
    return skops_io.loads(content, trusted=trusted)


def load_table_model(path: str | Path) -> Model:
    """Read a `Model`, which knows columns and classes; a bare estimator that was saved from Python is refused."""
    from semisvm.tables.model import Model, try_empty_row

    found = load(path)
    if not isinstance(found, Model):
        reason = f"this holds a bare {type(found).__name__}, which knows nothing of the columns of a table"
        remedy = "Use it in Python (semisvm.load, Campaign.for_model), or give a file that semisvm fit wrote"
        raise fault(path, reason, remedy)
    try_empty_row(path, found)
    return found


def trusted_types(wanted: Collection[str] | None = None) -> set[str]:
    """Return the types of this library that a model may be made of: its estimators, and the parts of a fitted one.

    Where `wanted` is given, no more is imported than it takes to tell which of these are among them.
    """
    from semisvm import estimators

    names = {path.rpartition(".")[2] for path in wanted or ()}
    roots = [f"semisvm.estimators.{name}" for name in estimators.__all__]
    found = set(FOREIGN_TYPES)
    for root in sorted([*PARTS_OF_MODELS, *roots], key=lambda path: path.rpartition(".")[2] not in names):
        if wanted is not None and found.issuperset(wanted):
            break
        module, _, name = root.rpartition(".")
        found |= {f"{one.__module__}.{one.__qualname__}" for one in _types_in(getattr(import_module(module), name))}
    return found


def _types_in(root: Any) -> set[Any]:
    """Return a type of this library and the types of the fields of a dataclass or named tuple, all the way down."""
    if not isinstance(root, type):
        return set().union(*map(_types_in, typing.get_args(root)))
    if not root.__module__.startswith("semisvm."):
        return set()
    has_fields = dataclasses.is_dataclass(root) or hasattr(root, "_fields")
    fields = typing.get_type_hints(root).values() if has_fields else ()
    return {root}.union(*map(_types_in, fields))


def to_bytes(model: Any) -> bytes:
    """Return the content of a model's file."""
    from skops import io as skops_io

    from semisvm.tables.model import Model

    version = import_module("semisvm").__version__
    is_model = isinstance(model, Model)
    state = _state(model) if is_model else model
    stream = io.BytesIO(skops_io.dumps(state, compression=zipfile.ZIP_DEFLATED))
    manifest = {"format": FORMAT_VERSION, "kind": "model" if is_model else "estimator", "semisvm": version}
    summary = model.summary.as_dict() if is_model else {}
    manifest |= {name: summary[name] for name in IN_MANIFEST if name in summary}
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, allow_nan=False))
        archive.writestr(SUMMARY, json.dumps(summary, allow_nan=False))
        archive.writestr(DIGEST, _digest(archive))
    return stream.getvalue()


def model_digest(path: str | Path) -> str:
    """Return a digest of everything in a model's file but the summary: `replace_summary` does not change it."""
    content = read_bytes(Path(path))
    _check_content(Path(path), content)
    digest = hashlib.sha256()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(set(archive.namelist()) - {MANIFEST, SUMMARY, FACTS, DIGEST}):
            digest.update(name.encode() + b"\0" + hashlib.sha256(archive.read(name)).digest())
    return digest.hexdigest()


def replace_summary(path: str | Path, summary: FitSummary) -> None:
    """Write another summary into a model file and leave everything else in it as it is."""
    path = Path(path)
    content = read_bytes(path)
    manifest, _ = _check_content(path, content)
    values = summary.as_dict()
    manifest |= {name: values[name] for name in IN_MANIFEST if name in values}
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in (MANIFEST, SUMMARY, FACTS, DIGEST):
                new.writestr(name, old.read(name))
        new.writestr(MANIFEST, json.dumps(manifest, indent=1, allow_nan=False))
        # Format 1 is read by the name of its summary; its content says its own version.
        new.writestr(FACTS if manifest["format"] == 1 else SUMMARY, json.dumps(values, allow_nan=False))
        new.writestr(DIGEST, _digest(new))
    with whole_file(path, force=True) as unfinished:
        unfinished.write_bytes(stream.getvalue())


def _state(model: Any) -> dict[str, Any]:
    """Return everything but the summary, which is kept as JSON, and but what concerns single training rows."""
    estimator = copy.copy(model.estimator)
    for name in ABOUT_TRAINING_ROWS:
        vars(estimator).pop(name, None)
    return {name: value for name, value in vars(model).items() if name != "summary"} | {"estimator": estimator}


def _check_content(path: Path, content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the manifest, and the summary as JSON, of a complete file in a format that this version reads."""
    not_ours = fault(path, "this is not a model file of semisvm", "Give a file that semisvm fit wrote")
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        if MANIFEST not in archive.namelist():
            raise not_ours
        size = sum(entry.file_size for entry in archive.infolist())
        if size > max(MOST_UNPACKED_BYTES, MOST_UNPACKED_TIMES * len(content)):
            reason = f"{len(content) / 1e6:.1f} MB that claim to hold {size / 1e9:.1f} GB"
            raise fault(path, reason, "Don't use it: no model is packed that tightly")
        manifest = json.loads(archive.read(MANIFEST))
        version = manifest.get("format")
        if type(version) is not int or version < 1:
            raise fault(path, f"its format is {version!r}, which is no version number", "Fit the model again")
        if version > FORMAT_VERSION:
            reason = f"written by a newer semisvm ({manifest.get('semisvm')}), in format {version}"
            raise fault(path, f"{reason} where this version reads {FORMAT_VERSION}", "Upgrade: pip install -U semisvm")
        if archive.read(DIGEST).decode() != _digest(archive):
            raise fault(path, "the file was damaged or edited: its digest is wrong", "Copy it again, or fit again")
        return manifest, archive.read(FACTS if version == 1 else SUMMARY)
    except DataError:
        raise
    except Exception:  # zipfile, zlib, json and struct raise a dozen unrelated types on bad bytes
        if content[:2] != b"PK":
            raise not_ours from None
        raise fault(path, "the model file is truncated or damaged", "Copy it again, or fit again") from None


def _digest(archive: zipfile.ZipFile) -> str:
    digest = hashlib.sha256()
    for name in sorted(set(archive.namelist()) - {DIGEST}):
        for part in (name.encode(), archive.read(name)):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
