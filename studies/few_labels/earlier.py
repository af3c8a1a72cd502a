"""Is `AutoSVC` faster than in version 0.2, and as good? Fit and prediction on the public sets.

    git worktree add --detach FOLDER 23d85a74
    python -m studies.few_labels.earlier --before FOLDER/src --means studies/few_labels/earlier.json --measured "DATE, MACHINE"

50 labels, the draws of the study of few labels. Every fit has a process of its own, with the number
of threads that the version chooses, after a fit of few rows that compiles what is compiled; the two
versions take turns. Medians over the draws.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from math import exp, log
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.metrics import average_precision_score

import semisvm
from semisvm import AutoSVC
from studies.few_labels import public
from studies.few_labels.__main__ import AUTO, cells_of, draw_rows
from studies.harness.fresh_process import measured
from studies.harness.machine import PACKAGE, REPOSITORY
from studies.harness.means import write_cells
from studies.harness.tables import markdown_table
from studies.speed.runs import make_parser, run_by_turns

N_LABELS, N_WARM_UP = 50, 300
VERSIONS = ("0.2", "now")
KINDS = {"tables": public.TABLES, "texts": public.TEXTS}
SHOWN = {"cpu_s": "CPU s", "wall_s": "seconds", "megabytes": "MB"}


def fit_once(task: dict[str, str], draw: int) -> dict[str, float]:
    """Fit and predict in this process, whose path leads to one of the versions."""
    source = os.environ["PYTHONPATH"].split(os.pathsep)[0]
    if Path(str(semisvm.__file__)).parents[1] != Path(source):
        raise RuntimeError(f"Another version than {task['version']} was imported.")
    X, y = public.load_task(task["set"])
    fit, new = draw_rows(y, N_LABELS, crc32(f"{task['set']} {N_LABELS} {draw}".encode()))
    hidden = np.where(np.arange(len(fit)) < N_LABELS, y[fit], -1)
    rows, new_rows = (X.iloc[fit], X.iloc[new]) if hasattr(X, "iloc") else (X[fit], X[new])
    took: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AutoSVC(random_state=0).fit(rows[:N_WARM_UP], hidden[:N_WARM_UP])
        with measured(took):
            scores = AutoSVC(random_state=0).fit(rows, hidden).decision_function(new_rows)
    return {
        "cpu_s": took["cpu_s"],
        "wall_s": took["wall_s"],
        "megabytes": took["rss_peak_mib"] - took["rss_before_mib"],
        "average_precision": float(average_precision_score(y[new], scores)),
    }


def page_of(cells: list[dict[str, Any]]) -> str:
    """A line per kind of set: means of both versions, and by how much they differ."""
    measures = [f"{shown}: {version}" for shown in SHOWN.values() for version in VERSIONS]
    head = ["sets", *measures, "less CPU (least)", "difference of average precision"]
    lines = []
    for kind, names in KINDS.items():
        before, now = (
            [cell for cell in cells if cell["set"] in names and cell["version"] == version]
            for version in VERSIONS
        )
        if not now:
            continue
        line = [f"{len(now)} {kind}"]
        for measure in SHOWN:
            means = (
                np.mean([cell[measure] for cell in of_version]) for of_version in (before, now)
            )
            line += [f"{mean:.0f}" if measure == "megabytes" else f"{mean:.1f}" for mean in means]
        pairs = list(zip(before, now, strict=True))
        ratios = [earlier["cpu_s"] / later["cpu_s"] for earlier, later in pairs]
        gain = np.array([b["average_precision"] - a["average_precision"] for a, b in pairs])
        error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else 0.0
        line += [f"{exp(sum(map(log, ratios)) / len(ratios)):.1f} times ({min(ratios):.1f})"]
        lines.append([*line, f"{gain.mean():+.3f} ± {error:.3f}"])
    return markdown_table(head, lines, n_text=1)


def main() -> None:
    """Run both versions by turns, and print the table."""
    parser = make_parser("earlier", __doc__)
    parser.prog = "python -m studies.few_labels.earlier"
    parser.set_defaults(out=Path("studies-out/few_labels/earlier.jsonl"))
    add = parser.add_argument
    add("--before", type=Path, required=True, metavar="SRC", help="the src folder of version 0.2")
    add("--draws", type=int, default=3)
    add("--sets", nargs="*", default=[*public.TABLES, *public.TEXTS])
    add("--means", type=Path, help="write the medians to a file")
    add("--measured", nargs="*", default=[], help="when and where, for --means")
    options = parser.parse_args()
    sources = dict(zip(VERSIONS, (str(options.before.resolve()), str(PACKAGE.parent)), strict=True))
    names = [name for name, *_ in cells_of(options.sets, [N_LABELS], 1, [AUTO])]
    tasks = [{"set": name, "version": version} for name in names for version in VERSIONS]
    found = run_by_turns(
        "studies.few_labels.earlier:fit_once",
        tasks,
        options.draws,
        options.out,
        environment=lambda task: {
            "PYTHONPATH": os.pathsep.join([sources[task["version"]], str(REPOSITORY)])
        },
    )
    cells = [
        task | {"draws": options.draws} | took
        for task, took in zip(tasks, found, strict=True)
        if took is not None
    ]
    n_versions = Counter(cell["set"] for cell in cells)
    cells = [cell for cell in cells if n_versions[cell["set"]] == len(VERSIONS)]
    if options.means:
        write_cells(options.measured, cells, options.means)
    print(page_of(cells))


if __name__ == "__main__":
    main()
