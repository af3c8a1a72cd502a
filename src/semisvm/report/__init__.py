"""Fitted models -> one self-contained HTML page, and its pictures in Python as scikit-learn style Displays.

`render` and `write_report` are pure functions of a plain-JSON dictionary, the facts (`semisvm.tables` makes them).
"""

from semisvm.report.displays import AuditDisplay, OperatingPointDisplay, RoundsDisplay, ScoresDisplay
from semisvm.report.render import render, write_report

__all__ = ["AuditDisplay", "OperatingPointDisplay", "RoundsDisplay", "ScoresDisplay", "render", "write_report"]
