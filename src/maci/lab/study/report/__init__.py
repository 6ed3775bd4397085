"""What a study found: numbers once, in :class:`~maci.render.report.Report`; renderers only set them in type."""

from maci.lab.study.report.build import ReportSettings, build_report
from maci.lab.study.report.gather import gather
from maci.lab.study.report.render import FORMATS, for_page, render
from maci.render.report import Report

__all__ = ["FORMATS", "Report", "ReportSettings", "build_report", "for_page", "gather", "render"]
