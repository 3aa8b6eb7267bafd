"""Reruns what a paper trained: the members of a recipe, their ensemble, and the rows of its table.

plan.py          which members are trained, with which settings, in which order
differences.py   how the data and the encoders differ from the published ones
estimates.py     time and memory before anything is trained
run.py           trains, predicts and evaluates; every finished member is kept
table.py         published and measured rows
"""

from .plan import Plan, PlannedMember
from .run import Measured, reproduce
from .table import TableRow, table_rows

__all__ = ["Measured", "Plan", "PlannedMember", "TableRow", "reproduce", "table_rows"]
