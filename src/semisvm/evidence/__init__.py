"""Promises about rows that nobody looked at, from a few answers of people.

    Campaign   label rows until a promise about the other rows is proved
    Audit      how good predictions are, in intervals that hold at any time
    Monitor    an alarm when new rows break a promise
    Verdict    what a campaign proves, and what more would cost

One file for each promise, with its proof: `unseen`, `returned`, `recall`, `total_error`,
`new_rows`. Two tables bound what was not seen: `envelope` (many sets) and `count_table` (few
errors). Files named `..._plan` choose what to label; they may be wrong without harm. `order` has
the clocks, the only randomness. `verify` checks a certificate and shares no code with the rest.
"""

from semisvm.evidence.audit import Audit, AuditReport, Interval
from semisvm.evidence.campaign import Campaign, Completed
from semisvm.evidence.monitor import Monitor, MonitorVerdict
from semisvm.evidence.procedure import Forecast
from semisvm.evidence.verdict import Verdict

__all__ = [
    "Audit",
    "AuditReport",
    "Campaign",
    "Completed",
    "Forecast",
    "Interval",
    "Monitor",
    "MonitorVerdict",
    "Verdict",
]
