"""The report of a fit: one self-contained HTML page, and the same pictures in Python as
scikit-learn style Displays.

Both are functions of a `semisvm.tables.summary.FitSummary`; the Displays also read fitted
estimators. matplotlib is imported when one is drawn. The page needs nothing else: no network, no
other file.

Jinja2 lays out the page, since it escapes every value unless told otherwise, and it is told
otherwise only for the files of this package. What the charts draw is embedded as JSON with <, > and
& written as escapes, so that no value can end its element. A Content-Security-Policy allows the
package's own three scripts, identified by their hashes, and forbids every request. So even text
that got through as markup could do nothing.

The charts are drawn by Observable Plot (with D3, on which it is built), as published on npm: SVG,
so that they print, follow the page's colors in dark mode, and hold text that can be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from inspect import isfunction
from pathlib import Path
from typing import Any

from semisvm.campaign import CampaignSummary
from semisvm.disk import whole_file
from semisvm.errors import counted, require_extra
from semisvm.html import asset, policy_hash
from semisvm.report.charts import describe_answers, plain_ends
from semisvm.report.displays import CampaignDisplay, OperatingPointDisplay
from semisvm.tables import sentences
from semisvm.tables.evaluate import summarize_estimator
from semisvm.tables.sentences import first_screen
from semisvm.tables.summary import Comparison, FitSummary

__all__ = [
    "CampaignDisplay",
    "OperatingPointDisplay",
    "render_page",
    "write_page",
    "write_report",
]

SCRIPTS = ("d3.min.js", "plot.umd.min.js", "page.js")
MOST_FEATURES = 500
# Control characters; half surrogate pairs, which UTF-8 does not have; and what Unicode keeps for no
# character, such as the last two places of each of its 17 planes.
_NO_CHARACTERS = "".join(
    chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
_FORBIDDEN = re.compile(
    f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NO_CHARACTERS}]"
)


def write_page(
    summary: FitSummary,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    model: str | None = "MODEL",
    reword: Callable[[str], str] = str,
) -> Path:
    """Write the report of a fit to a file.

    Parameters
    ----------
    summary : FitSummary
        The summary of the fit.
    path : path-like
        The file to write. It is written completely or not at all.
    force : bool, default=False
        Whether an existing file may be replaced.
    model : str or None, default="MODEL"
        The name of the model file, for the commands that the page suggests next. None if there is
        no model file: the next step is then one in Python.
    reword : callable, default=str
        Applied to the sentences that may name parameters: the command writes its options in their
        place.

    Returns
    -------
    pathlib.Path
        The path.
    """
    path = Path(path)
    with whole_file(path, force=force) as unfinished:
        unfinished.write_text(render_page(summary, model, reword), encoding="utf-8", newline="\n")
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
    """Write a report on a fitted classifier, measured on labeled rows, as one HTML file that works
    offline.

    Parameters
    ----------
    model : classifier or Model
        Any fitted estimator of this library, any fitted scikit-learn classifier with scores or
        probabilities, or a model from `semisvm.load`.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Rows in the form that the model takes, preferably rows that it was not fitted to.
    y : array-like of shape (n_samples,)
        The labels; `unlabeled` marks rows without one.
    path : path-like, default="report.html"
        The file to write. It is written completely or not at all.
    unlabeled : number, string or None, default=-1
        Value of y that marks unlabeled rows.
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
    require_extra("write_report", "jinja2", "pandas")
    summary = summarize_estimator(model, X, y, unlabeled=unlabeled)
    return write_page(summary, path, force=force, model=None)


def render_page(
    summary: FitSummary, model: str | None = "MODEL", reword: Callable[[str], str] = str
) -> str:
    """Return the report of a fit as HTML text; equal summaries give equal pages.

    Parameters
    ----------
    summary : FitSummary
        The summary of the fit.
    model : str or None, default="MODEL"
        The name of the model file, for the commands that the page suggests next. None if there is
        no model file: the next step is then one in Python.
    reword : callable, default=str
        Applied to the sentences that may name parameters: the command writes its options in their
        place.

    Returns
    -------
    str
        The page.
    """
    answers = describe_answers(summary)
    compared = summary.comparison
    first = first_screen(summary, model, remarks="see the notes")
    said = " ".join(answer["verdict"].sentence for answer in answers)
    *lines, next_step = map(reword, first.lines)
    if len(answers) > 1 or first.is_useless:
        status, headline = first.status, lines.pop(0)
    else:
        status, headline = answers[0]["verdict"].status, answers[0]["verdict"].headline
    drawn = {
        "answers": [answer["drawn"] for answer in answers],
        "comparison": [] if compared is None else _draw_comparison(compared),
        "campaign": None if summary.campaign is None else _draw_campaign(summary.campaign),
    }
    scripts = [_asset(name) for name in SCRIPTS]
    return _template().render(
        title=summary.title or "Report on a classifier",
        summary=summary,
        status=status,
        headline=headline,
        lines=lines,
        next_step=next_step,
        notes=[reword(note) for note in summary.notes if note and note not in said],
        answers=answers,
        compared=compared,
        campaign=summary.campaign,
        features=[
            replace(feature, remark=reword(feature.remark))
            for feature in summary.data.features[:MOST_FEATURES]
        ],
        drawn=_embed(drawn),
        style=_asset("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        licenses=_asset("LICENSES.txt"),
    )


def _draw_comparison(comparison: Comparison) -> list[dict[str, Any]]:
    """Return what the chart of the methods draws."""
    return [
        {"name": method.name, "last": method.name == comparison.chosen}
        | dict(zip(("value", "low", "high"), plain_ends(comparison.shown(method)), strict=True))
        for method in comparison.methods
    ]


def _draw_campaign(campaign: CampaignSummary) -> dict[str, Any]:
    """Return what the charts of a campaign draw."""
    prices = [
        {
            "name": counted(line["n_accepted"], "row"),
            "length": 0 if line["is_certified"] else line["forecast"],
            "words": sentences.labels_left(line),
        }
        for line in campaign.thresholds
    ]
    return {
        "labels": campaign.labels,
        "paths": campaign.paths,
        "certified_at": campaign.certified_at,
        "prices": prices,
    }


def _pairs(part: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return names and values as text; "none" for an empty value."""
    return [
        (name.replace("_", " "), sentences.text(value) or "none")
        for name, value in (part or {}).items()
    ]


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: (
            _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value
        ),
    )
    functions = {name: each for name, each in vars(sentences).items() if isfunction(each)}
    environment.filters |= functions
    environment.filters["pairs"] = _pairs
    return environment.from_string(_asset("page.html.jinja"))


@cache
def _asset(name: str) -> str:
    return asset("semisvm.report", name).strip()


def _policy(scripts: list[str]) -> str:
    """Allow only these scripts to run, and nothing to be fetched."""
    allowed = " ".join(map(policy_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none';"
        " form-action 'none'"
    )


def _embed(value: Any) -> str:
    """Return JSON that may stand inside a script element."""
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
