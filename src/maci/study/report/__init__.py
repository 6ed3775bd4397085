"""What a study found: numbers once, in :class:`~maci.study.report.model.Report`; renderers only set them in type."""

from maci.study.report.build import Settings, build_report
from maci.study.report.gather import gather
from maci.study.report.model import Report
from maci.study.report.render import FORMATS, render

__all__ = ["FORMATS", "Report", "Settings", "build_report", "gather", "render"]
