"""The report of a fit: one self-contained HTML page, and the same pictures in Python as scikit-learn style Displays.

Both are functions of a `semisvm.tables.summary.FitSummary`; the Displays also read fitted estimators. matplotlib is
imported when one is drawn.
"""

from semisvm.report.page import render_page, write_page, write_report
from semisvm.report.scores import OperatingPointDisplay, ScoresDisplay
from semisvm.report.steps import AuditDisplay, CampaignDisplay, RoundsDisplay

__all__ = [
    "AuditDisplay",
    "CampaignDisplay",
    "OperatingPointDisplay",
    "RoundsDisplay",
    "ScoresDisplay",
    "render_page",
    "write_page",
    "write_report",
]
