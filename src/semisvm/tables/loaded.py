"""What a model file holds: objects made of plain parts, and files of version 0.1 in the form that this version reads.

The parts of nearly all models are arrays, text, numbers, and objects of this library and of a dozen transformers of
scikit-learn. They are read here, in the same way as by skops, which imports all of scikit-learn to know all types it
trusts. Whatever holds anything else is left to skops.

In version 0.1 estimators were fitted on codes from 0 upward, and the model translated them to class names. What was
learned of two classes stood alone, and that of more classes under their codes or names; records of rounds were
dictionaries. The summary, called "facts", held scores of the estimator, while `predict` wrote them minus the threshold.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.estimators.progress import RoundRecord

SCHEMA = "schema.json"
RENAMED_METHODS = {"cost": "label-mean"}
MEASURES = ("precision", "recall", "f_score", "cost", "threshold")

# ---- objects ----

NUMBERS_OF_NUMPY = {f"numpy.{one.__name__}": one for one in (np.float64, np.float32, np.int64, np.int32, np.bool_)}
TYPES = {f"builtins.{one.__name__}": one for one in (str, int, float, bool)} | NUMBERS_OF_NUMPY
TRANSFORMERS = frozenset(
    [
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.feature_extraction.text.TfidfTransformer",
        "sklearn.feature_extraction.text.TfidfVectorizer",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.FeatureUnion",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.Normalizer",
        "sklearn.preprocessing._data.QuantileTransformer",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._encoders.OneHotEncoder",
    ]
)
# By the name that skops gives to how an object is kept: the types that may be kept so, besides those of this library.
KEPT_AS: dict[str, Collection[str]] = {
    "DictNode": ("builtins.dict",),
    "ListNode": ("builtins.list",),
    "TupleNode": ("builtins.tuple",),
    "SliceNode": ("builtins.slice",),
    "JsonNode": ("builtins.str",),
    "TypeNode": TYPES,
    "NdArrayNode": ("numpy.ndarray", *NUMBERS_OF_NUMPY),
    "DTypeNode": ("numpy.dtype",),
    "SparseMatrixNode": ("scipy.sparse._csr.csr_matrix",),
    "RandomStateNode": ("numpy.random.mtrand.RandomState",),
    "ObjectNode": TRANSFORMERS,
}


def read_plain_parts(content: bytes, trusted: Callable[[set[str]], set[str]]) -> Any:
    """Return the object in a skops file; None if it is not made of plain parts alone, or is damaged.

    `trusted` returns the types of this library that a file may hold, at least those that it is asked for.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            schema = json.loads(archive.read(SCHEMA))
            kinds: set[tuple[str, str]] = set()
            _find_kinds(schema, kinds)
            own = {path for kept, path in kinds if kept in ("ObjectNode", "TupleNode") and path.startswith("semisvm.")}
            own &= trusted(own)
            are_plain = all(path in KEPT_AS.get(kept, ()) or path in own for kept, path in kinds)
            if not are_plain or schema["protocol"] not in (0, 1, 2):
                return None
            return _PlainParts(archive, kinds).read(schema)
    except Exception:  # skops says what is wrong
        return None


def _find_kinds(node: Any, kinds: set[tuple[str, str]]) -> None:
    """Collect how objects are kept, and their types."""
    kept = node.get("__loader__") if isinstance(node, dict) else None
    if isinstance(kept, str):
        kinds.add((kept, _type_of(node)))
    if kept != "JsonNode":  # a text, the only part of it that is read
        for one in node.values() if isinstance(node, dict) else node:
            if isinstance(one, dict | list):
                _find_kinds(one, kinds)


def _type_of(node: dict[str, Any]) -> str:
    return f"{node['__module__']}.{node['__class__']}"


class _PlainParts:
    """Makes the objects of a file, those that occur twice once; only of `kinds` that were looked at before."""

    def __init__(self, archive: zipfile.ZipFile, kinds: set[tuple[str, str]]):
        self.archive, self.kinds = archive, kinds
        self.made: dict[int, Any] = {}

    def read(self, node: dict[str, Any]) -> Any:
        number = node.get("__id__")
        if number in self.made:
            return self.made[number]
        kept, path = node["__loader__"], _type_of(node)
        if (kept, path) not in self.kinds:
            raise ValueError(f"{path} was not expected here")
        made = self._make(kept, path, node)
        if number:
            self.made[number] = made
        return made

    def _make(self, kept: str, path: str, node: dict[str, Any]) -> Any:
        if kept == "TypeNode":
            return TYPES[path]
        if kept == "JsonNode":
            return json.loads(node["content"])
        if kept == "SliceNode":
            return slice(*(node["content"][end] for end in ("start", "stop", "step")))
        if kept == "DTypeNode":
            return self.read(node["content"]).dtype
        if kept == "SparseMatrixNode":
            return sparse.load_npz(io.BytesIO(self.archive.read(node["file"])))
        if kept == "RandomStateNode":
            made = np.random.RandomState()
            made.set_state(self.read(node["content"]))
            return made
        if kept == "NdArrayNode":
            return self._array(path, node)
        if kept == "ObjectNode":
            return self._object(path, node)
        if kept == "DictNode":
            key_types = self.read(node["key_types"])
            return {of(key): self.read(one) for of, (key, one) in zip(key_types, node["content"].items(), strict=True)}
        parts = [self.read(one) for one in node["content"]]
        if kept == "ListNode":
            return parts
        return tuple(parts) if path == "builtins.tuple" else self._class(path)(*parts)

    def _array(self, path: str, node: dict[str, Any]) -> Any:
        if node["type"] == "numpy":
            array = np.load(io.BytesIO(self.archive.read(node["file"])), allow_pickle=False)
            return array if path == "numpy.ndarray" else NUMBERS_OF_NUMPY[path](array)
        cells, shape = [self.read(one) for one in node["content"]], self.read(node["shape"])
        if len(shape) != 1 or node["type"] != "json":
            raise ValueError(f"an array of objects of shape {shape}")
        array = np.empty(len(cells), dtype=object)
        array[:] = cells
        return array

    def _object(self, path: str, node: dict[str, Any]) -> Any:
        kind = self._class(path)
        made = kind.__new__(kind)
        state = self.read(node["content"]) if node.get("content") is not None else None
        if state is not None and hasattr(made, "__setstate__"):
            made.__setstate__(state)
        elif state is not None:
            made.__dict__.update(state)
        return made

    @staticmethod
    def _class(path: str) -> Any:
        module, _, name = path.rpartition(".")
        return getattr(import_module(module), name)


# ---- version 0.1 ----


def upgrade_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts of version 1 in the form of version 2."""
    positive = facts["positive"]
    points = _per_class(facts["operating_point"], positive)
    audits = _per_class(facts["audit"], positive)
    return {
        **facts,
        "operating_points": points,
        "audits": {
            name: {line["step"]: _step(line, points[name]) for line in lines}
            for name, lines in audits.items()
            if name in points
        },
        "scores": _per_class(facts["scores"], positive),
        "rounds": [_renamed_steps(record) for record in facts["rounds"]],
        "suggestions": facts["suggest"],
        "method": facts["method"] | {"name": RENAMED_METHODS.get(facts["method"]["name"], facts["method"]["name"])},
    }


def _per_class(part: Any, positive: str | None) -> dict[str, Any]:
    if not part:
        return {}
    return dict(part) if positive is None else {positive: part}


def _step(line: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """A step of the audit as a whole operating point, with the target, the level and the labels of `point`.

    It held its measures only. Its counts follow from them: recall is tp / positives and precision is tp / (tp + fp). A
    precision of 0 does not tell how many rows were accepted, so the count of such a step is 0.
    """
    asked = point["target"]
    values = {name: (line[name] or {}).get("value") or 0.0 for name in ("precision", "recall")}
    n_positive = point["counts"]["tp"] + point["counts"]["fn"]
    n_negative = point["counts"]["fp"] + point["counts"]["tn"]
    tp = round(values["recall"] * n_positive)
    fp = min(round(tp / values["precision"]) - tp, n_negative) if values["precision"] else 0
    return {
        **point,
        **{name: line[name] for name in MEASURES},
        "counts": {"tp": tp, "fp": fp, "fn": n_positive - tp, "tn": n_negative - fp},
        "reached": all(values[name] >= asked.get(f"min_{name}", 0.0) for name in values),
        "reason": "",
    }


def _renamed_steps(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"n_iter" if name == "steps" else name: value for name, value in record.items()}


def move_types(content: bytes, known: Iterable[str]) -> bytes:
    """Return a model file with the types of this library in the modules where they are now; `known` are their paths."""
    place = {path.rpartition(".")[2]: path.rpartition(".")[0] for path in known}

    def moved(node: dict[str, Any]) -> dict[str, Any]:
        """A node of a skops schema names the class of an object and its module."""
        if str(node.get("__module__", "")).startswith("semisvm.") and node.get("__class__") in place:
            node["__module__"] = place[node["__class__"]]
        return node

    source, stream = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in source.namelist():
            part = source.read(name)
            if name == SCHEMA:
                part = json.dumps(json.loads(part, object_hook=moved)).encode()
            archive.writestr(name, part)
    return stream.getvalue()


def name_classes(state: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a model with an estimator that knows the names of its classes."""
    estimator, names = state["estimator"], state["classes"].names
    method = RENAMED_METHODS.get(state["method"], state["method"])
    estimator.classes_ = np.array(names, dtype=object)
    estimator.unlabeled = ""
    if isinstance(getattr(estimator, "costs", None), dict):
        estimator.costs = {names[int(code)]: cost for code, cost in estimator.costs.items()}
    _replace_renamed_parameters(estimator)
    _replace_renamed_attributes(estimator, names)
    encoder = state["encoder"]
    encoder.view = "standard"
    if hasattr(encoder, "columns"):
        encoder.columns_, encoder.left_out_ = encoder.columns, {}
    return state | {"method": method}


def from_the_line(summary: Any) -> Any:
    """Return a `FitSummary`, whose scores were those of the estimator, on the scale of `predict`."""
    from semisvm.decision.operating_point import scores_beyond
    from semisvm.tables.operating import at_the_line

    points, scores = summary.operating_points, dict(summary.scores)
    for name in points.keys() & scores.keys():
        shown = [
            tuple(scores_beyond(np.array(values), points[name].threshold).tolist())
            for values in (scores[name].labeled, scores[name].unlabeled)
        ]
        scores[name] = replace(scores[name], labeled=shown[0], unlabeled=shown[1])
    moved = {name: at_the_line(point) for name, point in points.items()}
    return replace(summary, operating_points=moved, scores=scores)


def _replace_renamed_parameters(estimator: Any) -> None:
    """Give an estimator the constructor parameters of this version."""
    risk = vars(estimator).pop("certify", None)
    for name, value in type(estimator)().get_params(deep=False).items():
        if not hasattr(estimator, name):
            setattr(estimator, name, value)
    if risk is not None:
        estimator.confidence = 1 - risk


def _replace_renamed_attributes(estimator: Any, names: Sequence[str]) -> None:
    """Give an estimator what it had learned under the names of this version, by class."""
    learned = vars(estimator)
    for old, new in (("operating_point_", "operating_points_"), ("audit_", "audits_")):
        if (found := learned.pop(old, None)) is not None:
            by_code = found if len(names) > 2 else {1: found}
            learned[new] = {names[int(code)]: one for code, one in by_code.items()}
    if isinstance(records := learned.get("history_"), list):
        learned["history_"] = [
            RoundRecord.from_dict(_renamed_steps(one)) for one in records if isinstance(one, Mapping)
        ]
