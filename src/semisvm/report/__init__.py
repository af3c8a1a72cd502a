"""The report of a fit: one self-contained HTML page, and the same pictures in Python as scikit-learn style Displays.

Both are functions of a `semisvm.tables.summary.FitSummary`; the Displays also read fitted estimators.
"""

from semisvm.report.displays import AuditDisplay, CampaignDisplay, OperatingPointDisplay, RoundsDisplay, ScoresDisplay
from semisvm.report.page import render_page, write_page, write_report

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
