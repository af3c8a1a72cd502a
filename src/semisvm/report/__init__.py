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

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from inspect import isfunction
from pathlib import Path
from typing import Any

from semisvm.campaign import CampaignSummary
from semisvm.campaign.verdict import more_labels
from semisvm.disk import whole_file
from semisvm.errors import counted, require_extra
from semisvm.estimators.progress import RoundRecord
from semisvm.report.answers import describe_answers, plain_ends
from semisvm.report.charts import changing_columns, finite_or_none
from semisvm.report.displays import CampaignDisplay, OperatingPointDisplay
from semisvm.tables import sentences
from semisvm.tables.evaluate import summarize_estimator
from semisvm.tables.sentences import ROUNDS, column_title, first_screen, listing_of
from semisvm.tables.summary import Comparison, FitSummary

__all__ = [
    "CampaignDisplay",
    "OperatingPointDisplay",
    "render_page",
    "write_page",
    "write_report",
]

SCRIPTS = ("d3.min.js", "plot.umd.min.js", "page.js")
MOST_SUGGESTED = 50
MOST_LISTED = 400  # rounds
MOST_DRAWN = 8  # numbers of rounds
MOST_COLUMNS = 8
MOST_FEATURES = 500
# Control characters and code points that are no characters: HTML forbids them, and UTF-8 has no
# half surrogate pair.
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
    model: str = "MODEL",
    reword: Callable[[str], str] = str,
) -> Path:
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
    """Write a report of a fitted classifier on some rows: one HTML file that works offline.

    Parameters
    ----------
    model : classifier or Model
        Any fitted estimator of this library, any classifier of scikit-learn with scores or
        probabilities, or a model that `semisvm.load` has read.
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
    require_extra("write_report", "jinja2", "pandas")
    return write_page(summarize_estimator(model, X, y, unlabeled=unlabeled), path, force=force)


def render_page(
    summary: FitSummary, model: str = "MODEL", reword: Callable[[str], str] = str
) -> str:
    """Return the report of a fit as HTML text; equal summaries give equal pages.

    Parameters
    ----------
    summary : FitSummary
        What came of the fit.
    model : str, default="MODEL"
        The name of the model file, for the commands that the page tells to run next.
    reword : callable, default=str
        Applied to the sentences that may name parameters: the command writes its options in their
        place.

    Returns
    -------
    str
        The page.
    """
    answers = describe_answers(summary)
    rounds = _describe_rounds(summary.rounds)
    compared = summary.comparison
    first = first_screen(summary, model, remarks="see the notes")
    said = " ".join(answer["verdict"].sentence for answer in answers)
    *lines, next_step = map(reword, first.lines)
    if len(answers) > 1 or first.is_useless:
        status, headline = first.status, lines.pop(0)
    else:
        status, headline = answers[0]["verdict"].status, answers[0]["verdict"].headline
    columns = list(dict.fromkeys(name for row in summary.suggestions for name in row.values))
    drawn = {
        "answers": [answer["drawn"] for answer in answers],
        "rounds": rounds["drawn"],
        "problems": rounds["problems"],
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
        rounds=rounds,
        compared=compared,
        campaign=summary.campaign,
        suggested=summary.suggestions[:MOST_SUGGESTED],
        columns=columns[:MOST_COLUMNS],
        n_left_out=(
            max(0, len(summary.suggestions) - MOST_SUGGESTED),
            max(0, len(columns) - MOST_COLUMNS),
        ),
        features=[
            replace(one, remark=reword(one.remark)) for one in summary.data.features[:MOST_FEATURES]
        ],
        drawn=_embed(drawn),
        style=_asset("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        licenses=_asset("LICENSES.txt"),
    )


def _draw_comparison(found: Comparison) -> list[dict[str, Any]]:
    """Return what the chart of the methods draws."""
    return [
        {"name": method.name, "last": method.name == found.chosen}
        | dict(zip(("value", "low", "high"), plain_ends(found.shown(method)), strict=True))
        for method in found.methods
    ]


def _draw_campaign(found: CampaignSummary) -> dict[str, Any]:
    """Return what the charts of a campaign draw."""
    prices = [
        {
            "name": counted(line["n_accepted"], "row"),
            "need": line["forecast"],
            "is_certified": line["is_certified"],
        }
        for line in found.thresholds
    ]
    return {
        "labels": found.labels,
        "paths": found.paths,
        "certified_at": found.certified_at,
        "prices": prices,
    }


def _describe_rounds(records: Sequence[RoundRecord]) -> dict[str, Any]:
    """Return the records and the columns of a table of them, and the numbers that change, for
    small charts.
    """
    listing = listing_of(records)
    if listing is not None and "weight" in listing.columns:
        records = sorted(
            records, key=lambda record: -(finite_or_none(record.details.get("weight")) or 0.0)
        )
    shown = [record.as_dict() for record in records[:MOST_LISTED]]
    if listing is not None:
        shown = [
            line | {"problem": sentences.member_name(str(line.get("problem", "")))}
            for line in shown
        ]
    if listing is not None:
        known = {name for record in shown for name in record}
        titles = {name: title for name, title in listing.columns.items() if name in known}
    else:
        titles = {name: column_title(name) for name in _columns_in_use(shown)}
    changing = changing_columns(records) if listing is None else {}
    drawn = [
        {"name": column_title(name), "lines": list(lines.items())}
        for name, lines in changing.items()
    ]
    return {
        "listing": listing or ROUNDS,
        "titles": titles,
        "records": shown,
        "left_out": len(records) - len(shown),
        "problems": list(
            dict.fromkeys(problem for lines in changing.values() for problem in lines)
        ),
        "drawn": drawn[:MOST_DRAWN],
    }


def _columns_in_use(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that hold something in at least one record."""
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if any(_holds_something(record.get(name)) for record in records)]


def _holds_something(value: Any) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


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
    environment.filters |= {name: one for name, one in vars(sentences).items() if isfunction(one)}
    environment.filters |= {"more_labels": more_labels, "pairs": _pairs}
    return environment.from_string(_asset("page.html.jinja"))


@cache
def _asset(name: str) -> str:
    return (
        resources.files("semisvm.report")
        .joinpath("assets", name)
        .read_text(encoding="utf-8")
        .strip()
    )


def _policy(scripts: list[str]) -> str:
    """Allow only these scripts to run, and nothing to be fetched."""
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none';"
        " form-action 'none'"
    )


def _embed(value: Any) -> str:
    """Return JSON that may stand inside a script element."""
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
