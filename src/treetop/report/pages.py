"""The former home of `treetop.report.build.write_report`, kept for one version."""

from ..deprecation import renamed_names

__getattr__ = renamed_names("treetop.report.pages", "treetop.report.build", {"write_report": "write_report"})
