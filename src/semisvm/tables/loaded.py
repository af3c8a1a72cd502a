"""What a model file holds: whether it can predict, and files of version 0.1 in the form that this version reads.

`undefined_number`: what scores are computed from must be finite numbers. `check_types`: the summary of the fit must be
of the types that its dataclasses say.

`upgrade_facts`: the summary of the fit, called "facts". The operating point, the audit and the scores of two classes
stood alone, and those of more classes under their names. A step of the audit held its measures only. Its counts follow
from them: recall is tp / positives and precision is tp / (tp + fp), where the labeled rows are those of the operating
point. A precision of 0 does not tell how many rows were accepted, so the count of such a step is 0.

`move_types`: classes have moved to other modules since; their names are the same.

`from_the_line`: the summary held scores of the estimator, while `predict` wrote them minus the threshold.

`name_classes`: estimators were fitted on codes from 0 upward, and the model translated them to class names. What they
had learned of two classes stood alone, and that of more classes under their codes; records of rounds were dictionaries.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import numbers
import types
import typing
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.errors import fault, shorten
from semisvm.estimators.progress import RoundRecord
from semisvm.matrices import is_sparse_matrix

SCHEMA = "schema.json"
RENAMED_METHODS = {"cost": "label-mean"}
MEASURES = ("precision", "recall", "f_score", "cost", "threshold")
# What scores are computed from. Thresholds may be infinite, and what is known about a fit may be missing.
MUST_BE_FINITE = frozenset(
    [
        "dual_coef_",
        "_coef",
        "intercept_",
        "support_vectors_",
        "means_",
        "covariances_",
        "weights_",
        "means",
        "covariances",
        "ridge",
        "gamma",
        "coef0",
        "degree",
        "mean_",
        "scale_",
        "idf_",
    ]
)


def undefined_number(loaded: Any) -> str | None:
    """The name of a fitted array, or of the threshold, that holds NaN or an infinity where prediction needs numbers."""
    pending = list(loaded.values()) if isinstance(loaded, dict) else [loaded]
    if isinstance(loaded, dict) and math.isnan(loaded.get("threshold", 0.0)):
        return "threshold"
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if id(one) in seen or not hasattr(one, "__dict__"):
            continue
        seen.add(id(one))
        for name, value in vars(one).items():
            values = getattr(value, "data", None) if is_sparse_matrix(value) else value
            if name in MUST_BE_FINITE and isinstance(values, np.ndarray | float):
                array = np.asarray(values)
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    return name
            elif isinstance(value, list | tuple):
                pending += [part for entry in value for part in (entry if isinstance(entry, tuple) else (entry,))]
            elif isinstance(value, dict):
                pending += value.values()
            else:
                pending.append(value)
    return None


def try_empty_row(path: str | Path, model: Any) -> None:
    """Refuse a model whose parts do not fit together: they score a row of empty cells, or they score nothing."""
    import pandas

    columns = getattr(model.encoder, "columns", None)
    rows: Any = np.zeros((1, getattr(model.estimator, "n_features_in_", 1)))
    try:
        with np.errstate(all="ignore"):
            if columns is not None:
                rows = model.prepare(pandas.DataFrame({column.name: [None] for column in columns}, dtype="str"))
            scores = np.asarray(model.scores_of(rows), dtype=np.float64)
    except Exception as error:
        reason = f"its parts do not fit together ({type(error).__name__})"
        raise fault(path, reason, "Fit the model again") from None
    n_scores = scores.shape[1] if scores.ndim == 2 else 2
    if not np.isfinite(scores).all() or n_scores != len(model.classes.names) or len(scores) != 1:
        raise fault(path, "it has no score for a row of empty cells", "Fit the model again")


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
        "rounds": [{"n_iter": record.get("steps"), **_without(record, "steps")} for record in facts["rounds"]],
        "suggestions": facts["suggest"],
        "method": facts["method"] | {"name": RENAMED_METHODS.get(facts["method"]["name"], facts["method"]["name"])},
    }


def _per_class(part: Any, positive: str | None) -> dict[str, Any]:
    if not part:
        return {}
    return dict(part) if positive is None else {positive: part}


def _step(line: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """A step of the audit as a whole operating point, with the target, the level and the labels of `point`."""
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


def _without(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def move_types(content: bytes, known: Iterable[str]) -> bytes:
    """Return a model file with the types of this library at the place where they are now; `known` are their paths."""
    place: dict[str, str] = {}
    for path in known:
        module, _, name = path.rpartition(".")
        place[name] = module
    source, stream = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in source.namelist():
            part = source.read(name)
            if name == SCHEMA:
                part = json.dumps(json.loads(part, object_hook=lambda node: _moved(node, place))).encode()
            archive.writestr(name, part)
    return stream.getvalue()


def _moved(node: dict[str, Any], place: Mapping[str, str]) -> dict[str, Any]:
    """A node of a skops schema names the class of an object and its module."""
    if str(node.get("__module__", "")).startswith("semisvm.") and node.get("__class__") in place:
        node["__module__"] = place[node["__class__"]]
    return node


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
    from semisvm.estimators.preference._decision import scores_beyond
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
            RoundRecord.from_dict({"n_iter": one.get("steps"), **_without(one, "steps")})
            for one in records
            if isinstance(one, Mapping)
        ]


def check_types(value: Any, hint: Any, where: str) -> None:
    """Refuse, by a ValueError, a value that is not of the type that its dataclass says, all its parts included."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        hint = next((one for one in inner if _is_of(value, one)), inner[0])
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if not _is_of(value, hint):
        raise ValueError(f"{where} is {shorten(str(value))}, which is not of its type")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name, own in typing.get_type_hints(type(value)).items():
            if hasattr(value, name):
                check_types(getattr(value, name), own, f"{where}.{name}")
    elif origin is tuple and inner:
        for one in value:
            check_types(one, inner[0], where)
    elif origin is dict:
        for key, one in value.items():
            check_types(key, inner[0], where)
            check_types(one, inner[1], where)


def _is_of(value: Any, hint: Any) -> bool:
    kind = typing.get_origin(hint) or hint
    if kind is typing.Literal:
        return value in typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return any(_is_of(value, one) for one in typing.get_args(hint))
    if kind is typing.Any or not isinstance(kind, type):
        return True
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) < 2**62
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    return isinstance(value, kind)
