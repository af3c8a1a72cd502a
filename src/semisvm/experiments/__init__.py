"""Published tables as data, cells that become records, and ours beside theirs.

published/, papers/   what the papers print; which tasks give those numbers
tasks                 the nouns: task, cell, reference, line, table, paper
sources, simulate     the rows of a task;  methods, tuning: its classifier;  scores, execute: one cell, run
pool, worker, run     cells over processes;  records: what they leave
costed, baselines     the sets of CS4VM as its tables have them; the supervised machine with a better threshold
verdicts, compare     ours beside theirs;  render, wording, draw, index: as pages;  expectation: what held before
"""

from semisvm.experiments.compare import Comparison, compare, compare_table, count_verdicts
from semisvm.experiments.draw import draw_figures
from semisvm.experiments.index import INDEX, render_index
from semisvm.experiments.papers import PAPERS, find_paper, find_table
from semisvm.experiments.records import read_records
from semisvm.experiments.render import render
from semisvm.experiments.run import Ending, records_path, run_tables
from semisvm.experiments.tasks import Line, Paper, Reference, Table, Task

__all__ = [
    "INDEX",
    "PAPERS",
    "Comparison",
    "Ending",
    "Line",
    "Paper",
    "Reference",
    "Table",
    "Task",
    "compare",
    "compare_table",
    "count_verdicts",
    "draw_figures",
    "find_paper",
    "find_table",
    "read_records",
    "records_path",
    "render",
    "render_index",
    "run_tables",
]
