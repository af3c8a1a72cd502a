"""Published tables as data, cells that become records, and ours beside theirs.

published/, papers/   what the papers print; which tasks give those numbers
tasks                 the nouns: task, cell, reference, line, table, paper
sources, simulate     the rows of a task;  methods, tuning: its classifier;  scores, execute: one cell, run
pool, worker, run     cells over processes;  records: what they leave
costed, baselines     the sets of CS4VM as its tables have them; the supervised machine with a better threshold
verdicts, compare     ours beside theirs;  render, wording, draw, index: as pages;  expectation: what held before
"""

from studies.harness.compare import Comparison, compare, compare_table, count_verdicts
from studies.harness.draw import draw_figures
from studies.harness.index import INDEX, render_index
from studies.harness.records import read_records
from studies.harness.render import render
from studies.harness.run import Ending, records_path, run_tables
from studies.harness.tasks import Line, Paper, Reference, Table, Task
from studies.papers import PAPERS, find_paper, find_table

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
