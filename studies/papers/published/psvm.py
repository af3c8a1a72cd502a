"""PSVM, semi-supervised SVMs with precision and recall preferences: Tables 3 to 9.

Means of 20 runs; Table 5 alone gives a spread, and that for PSVM only. Figures 6 and 7 have no
numbers to copy.
"""

from __future__ import annotations

from studies.papers.published import read_table

# asked for | precision, recall, F1 on Adult: a precision in Table 3, a recall in Table 4
TABLE_3 = """
0.55 | 0.549 0.736 0.628
0.60 | 0.633 0.503 0.558
0.65 | 0.666 0.391 0.491
0.70 | 0.672 0.370 0.475
"""
TABLE_4 = """
0.5 | 0.603 0.572 0.587
0.6 | 0.573 0.675 0.619
0.7 | 0.552 0.734 0.630
0.8 | 0.535 0.770 0.630
"""
# set | PSVM and its spread | TSVM | SSVM
TABLE_5 = """
adult   | 0.63 0.015 | 0.61 | 0.51
ijcnn1  | 0.75 0.01  | 0.76 | 0.65
mnist   | 0.94 0.01  | 0.93 | 0.84
protein | 0.51 0.02  | 0.51 | 0.24
"""
# set | iterations of PSVM | of TSVM
TABLE_6 = """
adult   |  37976 | 151018
ijcnn1  |  20913 | 278098
mnist   | 224368 | 652377
protein |  83262 | 190096
"""
# set | Table 7: part, full | Table 8: grow (INC), rebuild (REC) | Table 9: part and full without
# adjusting (NA)
TABLES_7_TO_9 = """
adult   | 0.63 0.61 | 0.63 0.63 | 0.51 0.51
ijcnn1  | 0.75 0.79 | 0.75 0.74 | 0.68 0.66
mnist   | 0.94 0.84 | 0.94 0.94 | 0.78 0.83
protein | 0.51 0.24 | 0.51 0.50 | 0.25 0.24
"""
# set: C, gamma (Table 2)
PARAMS = {
    "adult": (100.0, 0.5),
    "ijcnn1": (10.0, 0.125),
    "mnist": (10.0, 0.125),
    "protein": (10.0, 0.25),
}

# What a correct implementation gives: means of four seeds, measured with a prototype (ours, not the
# paper's). variant | adult | ijcnn1 | mnist | protein: F1
EXPECTED = """
supervised         | 0.517 0.665 0.838 0.181
thresholded        | 0.632 0.792 0.952 0.532
part-grow-best     | 0.628 0.761 0.949 0.508
part-grow-paper    | 0.632 0.682 0.944 0.442
part-rebuild-best  | 0.628 0.761 0.949 0.509
part-rebuild-paper | 0.626 0.749 0.944 0.502
full-grow-best     | 0.458 0.796 0.838 0.181
full-grow-paper    | 0.598 0.757 0.838 0.181
part-grow-None     | 0.460 0.553 0.783 0.057
full-grow-None     | 0.517 0.665 0.838 0.181
"""
# what is asked on Adult, by the literal rule | precision, recall, F1
PREFERENCES = """
precision 0.55 | 0.568 0.686 0.619
precision 0.60 | 0.611 0.459 0.523
precision 0.65 | 0.648 0.381 0.480
precision 0.70 | 0.671 0.340 0.450
recall    0.5  | 0.581 0.629 0.604
recall    0.6  | 0.560 0.706 0.624
recall    0.7  | 0.534 0.774 0.631
recall    0.8  | 0.496 0.824 0.618
"""


def numbers(table: str) -> dict[str, list[float]]:
    """Return {first column: the numbers after it}."""
    return {first: [float(word) for word in rest] for first, *rest in read_table(table)}
