"""The report's pictures in Python, as scikit-learn style Displays; matplotlib is imported when one is drawn."""

from semisvm.report.displays.audit import AuditDisplay
from semisvm.report.displays.operating_point import OperatingPointDisplay
from semisvm.report.displays.rounds import RoundsDisplay
from semisvm.report.displays.scores import ScoresDisplay

__all__ = ["AuditDisplay", "OperatingPointDisplay", "RoundsDisplay", "ScoresDisplay"]
