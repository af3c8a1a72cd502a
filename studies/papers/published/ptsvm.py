"""Chen, Wang, Dong (2003), Learning with progressive transductive support vector machine (in
Chinese).

Journal of Software 14(3). One draw of the labeled documents, one run: no spreads. Times are of
2001's hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

from studies.papers.published import read_table

# method | seconds | errors on the 20 unlabeled rows | test errors of 100
TABLE_1 = """
TSVM  | 0.67 | 4 | 15
PTSVM | 0.17 | 0 |  0
"""

# unlabeled positive, negative, method | seconds | support vectors | test errors of 600 | precision
# | recall (%)
TABLE_2 = """
   0    0 TSVM  |   0.01 |  10 | 165 | 64.64 | 99.33
   0    0 PTSVM |   0.01 |  10 | 165 | 64.64 | 99.33
  10   10 TSVM  |   0.77 |  30 | 125 | 71.19 | 98.00
  10   10 PTSVM |   0.30 |  30 |  91 | 77.43 | 98.33
  20   10 TSVM  |   0.82 |  39 |  91 | 90.98 | 77.33
  20   10 PTSVM |   0.35 |  39 |  79 | 89.35 | 83.00
 100  100 TSVM  |   5.17 | 181 |  43 | 89.78 | 96.67
 100  100 PTSVM |   3.62 | 184 |  46 | 87.57 | 98.67
  50  100 TSVM  |   4.19 | 146 | 109 | 73.46 | 99.67
  50  100 PTSVM |   2.40 | 140 |  93 | 76.61 | 99.33
1000  500 TSVM  |  58.87 | 768 |  54 | 97.67 | 84.00
1000  500 PTSVM | 167.60 | 805 |  41 | 97.44 | 88.67
 500 1000 TSVM  | 110.72 | 697 |  87 | 77.66 | 99.67
 500 1000 PTSVM | 175.48 | 770 |  80 | 80.22 | 97.33
1000 1000 TSVM  |  69.96 | 826 |  19 | 95.47 | 98.33
1000 1000 PTSVM | 303.05 | 894 |  36 | 90.74 | 98.00
"""


@dataclass(frozen=True)
class Tutorial:
    """A line of Table 1."""

    method: str
    seconds: float
    unlabeled_errors: int
    errors: int


@dataclass(frozen=True)
class Reuters:
    """A line of Table 2; precision and recall as shares."""

    positive: int
    negative: int
    method: str
    seconds: float
    support: int
    errors: int
    precision: float
    recall: float


def tutorial() -> list[Tutorial]:
    """Return the lines of Table 1."""
    return [Tutorial(m, float(s), int(u), int(e)) for m, s, u, e in read_table(TABLE_1)]


def reuters() -> list[Reuters]:
    """Return the lines of Table 2."""
    return [
        Reuters(int(pos), int(neg), m, float(s), int(sv), int(e), float(p) / 100, float(r) / 100)
        for pos, neg, m, s, sv, e, p, r in read_table(TABLE_2)
    ]
