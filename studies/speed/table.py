"""The table of a benchmark, a pure function of its records.

A row for each cell and solver: medians over the runs, the time of the solver over ours, and how good its
solution is. Below each size the geometric mean of the ratios over the sets where both ended.

    excess     (objective - lowest objective in the cell) / |lowest|
    gap        violation of the optimality conditions; the tolerance asked for is 1e-3
    as libsvm  share of the compared rows with the same prediction as LIBSVM's
"""

import argparse
import base64
import statistics
import sys
import zlib
from collections import defaultdict
from pathlib import Path

from studies.speed.records import cell_key, read_records, same_session

OURS, REFERENCE = "ours", "libsvm"
HEADER = [
    *("set", "rows", "solver", "runs", "seconds", "min–max", "ratio", "CPU-s", "peak-MiB", "before-MiB"),
    *("SVs", "steps", "excess", "gap", "train", "as-libsvm"),
]
N_TEXT_COLUMNS = 3  # set, rows and solver; the rest are numbers, set flush right


def render(records):
    """Return the table of the given records as Markdown that also reads well as plain text."""
    if not records:
        return "No records."
    sizes = _group(records, lambda record: record["cell"]["size"])
    parts = [_section(size, of_size) for size, of_size in sizes.items()]
    return "\n\n".join([_provenance(records), *parts, _legend()])


def latest_session(records):
    """Return the records made from the same source and machine as the last one."""
    return [record for record in records if same_session(record, records[-1])]


def _section(size, records):
    """Return one size's table with its means and remarks."""
    lines, ratios, remarks = [], defaultdict(dict), []
    # A different cache makes a different cell, and table rows of its own.
    for cell_records in _group(records, cell_key).values():
        task = cell_records[0]["cell"]["task"]
        by_solver = _group(cell_records, lambda record: record["solver"])
        by_solver = {solver: _best_ended(runs) for solver, runs in by_solver.items()}
        ended = {solver: _measures(runs) for solver, runs in by_solver.items() if _measures(runs)}
        solved = {solver for solver, runs in by_solver.items() if runs[0]["outcome"] == "done"}
        for solver, runs in by_solver.items():
            lines.append(_line(runs, ended))
            remarks += _remarks(task, solver, runs)
        for solver in solved - {OURS} if OURS in solved else ():
            ratios[solver][task] = _ratio(ended, solver)
    means = [_mean_line(solver, ratios[solver]) for solver in sorted(ratios)]
    return "\n\n".join(filter(None, [f"## {size}", _markdown(lines), "\n".join(means + remarks)]))


def _best_ended(runs):
    """Return the runs that ended well, or where none did the last one: a raised limit may mend a failure."""
    return [record for record in runs if record["outcome"] == "done"] or runs[-1:]


def _measures(runs):
    return [record["measures"] for record in runs if "measures" in record]


def _line(runs, ended):
    """Return the cells of one solver's row; only its name where it did not end."""
    cell, solver = runs[0]["cell"], runs[0]["solver"]
    lead = [cell["task"], f"{cell['rows']:,}", solver]
    return lead + (_numbers(ended, solver) if solver in ended else [""] * (len(HEADER) - len(lead)))


def _numbers(ended, solver):
    """Return the columns after the solver's name."""
    runs = ended[solver]
    seconds = [run["wall_s"] for run in runs]
    best = min(_median(others, "dual_objective") for others in ended.values())
    ratio, agreement = _ratio(ended, solver), _agreement(ended.get(REFERENCE), runs[0])
    return [
        str(len(runs)),
        _seconds(_median(runs, "wall_s")),
        f"{_seconds(min(seconds))}–{_seconds(max(seconds))}",
        "" if ratio is None else f"{ratio:.2f}",
        _seconds(_median(runs, "cpu_s")),
        f"{_median(runs, 'rss_peak_mib'):,.0f}",
        f"{_median(runs, 'rss_before_mib'):,.0f}",
        f"{_median(runs, 'n_sv'):,.0f}",
        f"{_median(runs, 'n_iter'):,.0f}",
        f"{(_median(runs, 'dual_objective') - best) / abs(best):.0e}",
        f"{max(run['gap'] for run in runs):.1e}",
        f"{100 * _median(runs, 'training_accuracy'):.2f}%",
        "" if agreement is None else f"{100 * agreement:.2f}%",
    ]


def _ratio(ended, solver):
    """Return the solver's median time over ours, or None where ours did not end."""
    if OURS not in ended:
        return None
    return _median(ended[solver], "wall_s") / _median(ended[OURS], "wall_s")


def _agreement(reference_runs, run):
    """Return the share of rows where a run predicts as the reference's first run does."""
    if not reference_runs:
        return None
    theirs, ours = (zlib.decompress(base64.b64decode(r["signs"])) for r in (reference_runs[0], run))
    differ = sum((a ^ b).bit_count() for a, b in zip(theirs, ours, strict=True))
    return 1 - differ / run["n_compared"]


def _mean_line(solver, by_task):
    mean = statistics.geometric_mean(by_task.values())
    return f"- {solver} / ours, geometric mean over {', '.join(by_task)}: **{mean:.2f}**"


def _remarks(task, solver, runs):
    """Say of each way a solver did not end well in a cell that it did so."""
    for record in runs:
        if record["outcome"] == "over limit":
            yield f"- {task}, {solver}: over the limit of {record['params']['limit_s']:g} s"
        elif record["outcome"] == "iteration limit":
            yield f"- {task}, {solver}: stopped at its own iteration limit, unsolved"
        elif record["outcome"] != "done":
            yield f"- {task}, {solver}: {record['outcome']}: {record.get('why', 'no reason given')}"


def _provenance(records):
    last = records[-1]
    machine, versions = last["machine"], last["versions"]
    named = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    caches = sorted({f"{record['params']['cache_mb']:g}" for record in records})
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB. {named}. "
        f"Commit {last['commit']}, {last['date'][:10]}. Kernel cache {' or '.join(caches)} MiB for all."
    )


def _legend():
    return (
        "Medians of fits in fresh processes after a warm-up; ratio: seconds over ours; before: memory held "
        "when the fit began; steps: the solver's own count (oneDAL's are blocks of many); excess: relative "
        "distance of the dual objective from the lowest in the cell; gap: the largest violation of "
        "optimality (asked for: 1e-3); as-libsvm: same predictions."
    )


def _markdown(lines):
    """Return lines of cells as an aligned Markdown table."""
    rows = [HEADER, *lines]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]

    def draw(row):
        cells = (
            text.ljust(width) if k < N_TEXT_COLUMNS else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(cells)} |"

    rule = ["-" * w if k < N_TEXT_COLUMNS else "-" * (w - 1) + ":" for k, w in enumerate(widths)]
    return "\n".join(map(draw, [HEADER, rule, *lines]))


def _seconds(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _median(runs, name):
    return statistics.median(run[name] for run in runs)


def _group(items, key):
    """Return items by key, in the order the keys first appear."""
    groups = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def main(argv=None):
    """Print the table of a file of records."""
    parser = argparse.ArgumentParser(prog="python -m studies.speed.table", description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, help="a .jsonl file of records")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here too")
    parser.add_argument("--commit", help="the records of this commit (default: those of the last session)")
    options = parser.parse_args(argv)
    records = read_records(options.records)
    if options.commit:
        records = [record for record in records if record["commit"] == options.commit]
    elif records:
        records = latest_session(records)
    table = render(records)
    print(table)
    if options.markdown:
        options.markdown.write_text(table + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
