"""FitSummary -> one HTML file that needs nothing else: no network, no other file.

Jinja2 lays out the page, since it escapes every value unless told otherwise, and it is told otherwise only for the
files of this package. What the charts draw is embedded as JSON with <, > and & written as escapes, so that no value can
end its element. A Content-Security-Policy allows the package's own three scripts, identified by their hashes, and
forbids every request. So even text that got through as markup could do nothing.

The charts are drawn by Observable Plot (with D3, on which it is built), as published on npm: SVG, so that they print,
follow the page's colors in dark mode, and hold text that can be read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from semisvm.decision import Estimate
from semisvm.report.answers import describe_answers, describe_campaign, plain_ends
from semisvm.report.charts import describe_rounds
from semisvm.report.wording import (
    DASH,
    duration,
    interval,
    rate,
    signed,
    signed_interval,
    signed_rate,
    table_cell,
    text,
    whole,
)
from semisvm.tables.disk import whole_file
from semisvm.tables.evaluate import summarize_estimator
from semisvm.tables.first_screen import first_screen
from semisvm.tables.summary import ComparisonSummary, DataSummary, FitSummary, Suggestion

SCRIPTS = ("d3.min.js", "plot.umd.min.js", "page.js")
MOST_SUGGESTED = 50
MOST_COLUMNS = 8
MOST_FEATURES = 500
NO_SUGGESTIONS = "No rows were picked for labeling when this report was made."
# Control characters and code points that are no characters: HTML forbids them, and UTF-8 has no half surrogate pair.
_NO_CHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_FORBIDDEN = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NO_CHARACTERS}]")


def write_page(summary: FitSummary, path: str | os.PathLike[str], *, force: bool = False, model: str = "MODEL") -> Path:
    """Write the report of a fit to a file.

    Parameters
    ----------
    summary : FitSummary
        What came of the fit.
    path : path-like
        The file to write. It is written completely or not at all.
    force : bool, default=False
        Whether an existing file may be replaced.
    model : str, default="MODEL"
        The name of the model file, for the commands that the page tells to run next.

    Returns
    -------
    pathlib.Path
        The path.
    """
    path = Path(path)
    with whole_file(path, force=force) as unfinished:
        unfinished.write_text(render_page(summary, model), encoding="utf-8", newline="\n")
    return path


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    unlabeled: Any = -1,
    force: bool = False,
) -> Path:
    """Write a report of a fitted classifier on some rows: one HTML file that works offline.

    Parameters
    ----------
    model : classifier or Model
        Any fitted estimator of this library, any classifier of scikit-learn with scores or probabilities, or a model
        that `semisvm.load` has read.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Rows as the model takes them, best of all rows that it was not fitted to.
    y : array-like of shape (n_samples,)
        Their labels, the marker `unlabeled` where there is none.
    path : path-like, default="report.html"
        The file to write. It is written completely or not at all.
    unlabeled : number, string or None, default=-1
        The marker of rows without a label.
    force : bool, default=False
        Whether an existing file may be replaced.

    Returns
    -------
    pathlib.Path
        The path.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_moons
    >>> import semisvm
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = semisvm.SupervisedSVC().fit(X[:50], y[:50])
    >>> folder = Path(tempfile.mkdtemp())
    >>> semisvm.write_report(model, X[50:], y[50:], folder / "moons.html").name
    'moons.html'
    """
    return write_page(summarize_estimator(model, X, y, unlabeled=unlabeled), path, force=force)


def render_page(summary: FitSummary, model: str = "MODEL") -> str:
    """Return the report of a fit as HTML text; equal summaries give equal pages.

    Parameters
    ----------
    summary : FitSummary
        What came of the fit.
    model : str, default="MODEL"
        The name of the model file, for the commands that the page tells to run next.

    Returns
    -------
    str
        The page.
    """
    page = _describe(summary, model)
    scripts = [_asset(name) for name in SCRIPTS]
    return _template().render(
        page=page,
        drawn=_embed(_drawn(page)),
        style=_asset("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        licenses=_asset("LICENSES.txt"),
    )


def _describe(summary: FitSummary, model: str) -> dict[str, Any]:
    """Return everything that the template shows."""
    answers = describe_answers(summary)
    said = " ".join(answer["verdict"].sentence for answer in answers)
    return {
        "title": summary.title or "Report on a classifier",
        "created": summary.created,
        "summary": ", ".join(filter(None, [summary.data.name, _sizes(summary.data)])),
        "first": first_screen(summary, model),
        "notes": [note for note in summary.notes if note and note not in said],
        "answers": answers,
        "rounds": describe_rounds(summary.rounds),
        "campaign": None if summary.campaign is None else describe_campaign(summary.campaign),
        "comparison": None if summary.comparison is None else _comparison(summary.comparison),
        "suggest": _suggestions(summary.suggestions),
        "guard": _pairs(summary.guard or {}),
        "card": _card(summary),
    }


def _drawn(page: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the charts draw, as plain JSON values."""
    return {
        "answers": [answer["drawn"] | {"key": answer["key"]} for answer in page["answers"]],
        "rounds": page["rounds"]["drawn"],
        "problems": page["rounds"]["problems"],
        "comparison": [] if page["comparison"] is None else page["comparison"]["drawn"],
        "campaign": None if page["campaign"] is None else page["campaign"]["drawn"],
    }


def _sizes(data: DataSummary) -> str:
    return f"{whole(data.rows)} rows: {whole(data.labeled)} labeled, {whole(data.unlabeled)} unlabeled"


def _comparison(found: ComparisonSummary) -> dict[str, Any]:
    """Return every method that was tried, beside the supervised one."""
    lines, drawn = [], []
    for method in found.methods:
        merit = _with_sign_turned(method.merit) if found.measure == "cost" else method.merit
        is_chosen, is_baseline = method.name == found.chosen, method.name == found.baseline
        remarks = ["chosen"] * is_chosen + ["target not reached"] * (not method.reaches_target)
        gap = method.difference
        lines.append(
            {
                "name": method.name,
                "is_chosen": is_chosen,
                "merit": {"value": rate(merit.value), "interval": interval(merit)},
                "gap": {
                    "value": DASH if is_baseline else signed_rate(gap.value),
                    "interval": "" if is_baseline else signed_interval(gap),
                },
                "seconds": f"{method.seconds:.2f}",
                "remark": ", ".join(remarks),
            }
        )
        ends = dict(zip(("value", "low", "high"), plain_ends(merit), strict=True))
        drawn.append({"name": method.name, "last": is_chosen} | ends)
    return {
        "measure": found.measure[:1].upper() + found.measure[1:],
        "baseline": found.baseline,
        "verdict": found.verdict,
        "lines": lines,
        "drawn": drawn,
        "left_out": _pairs(found.left_out),
    }


def _with_sign_turned(estimate: Estimate) -> Estimate:
    """Return the cost whose negative is stored as a merit."""
    return Estimate(-estimate.value, -estimate.high, -estimate.low)


def _suggestions(rows: tuple[Suggestion, ...]) -> dict[str, Any]:
    """Return the rows to label next, with their first few values."""
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    shown = names[:MOST_COLUMNS]
    return {
        "names": shown,
        "lines": [
            [text(row.row), signed(row.score), row.label or DASH, *(table_cell(row.values.get(name)) for name in shown)]
            for row in rows[:MOST_SUGGESTED]
        ],
        "left_out": max(0, len(rows) - MOST_SUGGESTED),
        "columns_left_out": len(names) - len(shown),
        "missing": "" if rows else NO_SUGGESTIONS,
    }


def _card(summary: FitSummary) -> dict[str, Any]:
    data, method = summary.data, summary.method
    told = {
        "Data": data.name,
        "Target": data.target,
        "Rows": _sizes(data),
        "Classes": ", ".join(summary.classes),
        "Positive class": summary.positive or "",
        "Method": method.name,
        "In the literature": method.paper_name,
        "Why this method": method.why,
        "Time to train": duration(summary.seconds),
        "Made": summary.created,
    }
    return {
        "told": [(name, value) for name, value in told.items() if value],
        "features": [(feature.name, feature.type) for feature in data.features[:MOST_FEATURES]],
        "n_features": len(data.features),
        "parameters": _pairs(method.parameters),
        "versions": _pairs(summary.versions),
        "machine": _pairs(summary.machine),
    }


def _pairs(part: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values as text; "none" for an empty value."""
    return [(name.replace("_", " "), text(value) or "none") for name, value in part.items()]


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value,
    )
    return environment.from_string(_asset("page.html.jinja"))


@cache
def _asset(name: str) -> str:
    return resources.files("semisvm.report").joinpath("assets", name).read_text(encoding="utf-8").strip()


def _policy(scripts: list[str]) -> str:
    """Allow only these scripts to run, and nothing to be fetched."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _embed(value: Any) -> str:
    """Return JSON that may stand inside a script element."""
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
