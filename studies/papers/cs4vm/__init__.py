"""CS4VM (Li, Kwok, Zhou 2010): Tables 1 to 3, a summary of them, and constants to compare with."""

from __future__ import annotations

from studies.papers.cs4vm.summary import summary
from studies.papers.cs4vm.tables import cost_tables, expected, table_3
from studies.papers.tasks import Paper


def paper() -> Paper:
    """Return the paper with its tables."""
    return Paper(
        "cs4vm",
        "Li, Kwok, Zhou (2010), Cost-sensitive semi-supervised support vector machine, AAAI",
        (summary(), *cost_tables(), expected(), table_3()),
        holds=(
            (
                "Tables 1 and 2 except for one column: CS-SVM, TSVM, CS4VM and the ground truth on"
                " the 15 sets that are believed to be the authors' own files (the summary has the"
                " ratios and distances)."
            ),
            "CS4VM costs less than the plain CS-SVM on most sets, at every cost.",
            "CS4VM is faster than TSVM and the Laplacian SVM (Table 3).",
        ),
        fails=(
            (
                "The Laplacian SVM column, which can't come from an SVM with a correct bias: ours"
                " costs less in 43 of the 60 cells."
            ),
            (
                "The lead at large costs. Always answering positive beats the published CS4VM on 12"
                " of the 15 sets at a cost of 10 and on all 15 in Table 1, where it beats the"
                " published ground truth on 14. Compared with a CS-SVM that answers with a constant"
                " if that is expected to be cheaper (guarded), CS4VM wins nothing at U[0, 1000]. Up"
                " to a cost of about 5 it is useful."
            ),
            (
                "Significance set by set: repetitions are halves of the same rows. With the"
                " variance corrected for that (Nadeau and Bengio) hardly any set is won or lost;"
                " the direction over all sets stays."
            ),
        ),
        silent=(
            (
                "Which class is positive, how many labeled rows of each class (five and five on"
                " most sets, in proportion on six), the scaling of the features (to [0, 1]), that"
                " the last sets are projections of the public files. All were found by fit to these"
                " same tables."
            ),
            "C of the ground truth and of TSVM's unlabeled rows (1, not C2).",
            (
                "Equation 9 as printed lacks a factor: trained with it, costs come out several"
                " times the published ones."
            ),
            "All constant baselines.",
        ),
    )
