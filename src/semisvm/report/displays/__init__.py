"""The report's pictures in Python, as scikit-learn style Displays; matplotlib is imported when one is drawn."""

from semisvm.report.displays.curve import OperatingPointDisplay
from semisvm.report.displays.sampling import CampaignDisplay
from semisvm.report.displays.scores import ScoresDisplay
from semisvm.report.displays.steps import AuditDisplay, RoundsDisplay

__all__ = ["AuditDisplay", "CampaignDisplay", "OperatingPointDisplay", "RoundsDisplay", "ScoresDisplay"]
