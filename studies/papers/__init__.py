"""The papers' tables, ours and theirs: `python -m studies.papers`.

lines      task, line, table, paper, and the one rule for verdicts
ptsvm, cluster_svm, psvm, cs4vm    what a paper prints, and which tasks give these numbers
samples    the rows of a task;  methods: its classifier;  cells: its scores
records/   our numbers by the name of their line;  quick.json: verdicts of the quick run
"""

from studies.papers import cluster_svm, cs4vm, psvm, ptsvm

PAPERS = {
    "ptsvm": ptsvm.paper,
    "cluster-svm": cluster_svm.paper,
    "psvm": psvm.paper,
    "cs4vm": cs4vm.paper,
}
