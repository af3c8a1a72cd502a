"""What a right implementation of PSVM gives: means of four seeds measured with a prototype (ours)."""

from __future__ import annotations

# variant | adult | ijcnn1 | mnist | protein: F1
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
