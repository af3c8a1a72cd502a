"""The TSVM column of PSVM's tables: SVMlight's algorithm (label switching) in this library, on the same splits."""

from __future__ import annotations

from studies.harness.tasks import Line, Reference
from studies.papers.psvm.settings import task

TSVM_SEEDS = 4
NOTE = "TSVM fixes the share of positives among the unlabeled rows to that of the labeled ones"


def tsvm_line(table: str, name: str, measure: str, reference: Reference | None) -> Line:
    """Return a line of the TSVM column; a fit takes several times what PSVM's takes, so four seeds are enough."""
    return Line(table, name, "TSVM", measure, task(name, "transductive"), reference, note=NOTE, seeds=TSVM_SEEDS)
