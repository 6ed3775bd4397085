"""Input and output of a debate: who is asked, what is under way, within the budget."""

from maci.calls.table import Table
from maci.calls.under_way import Calls

__all__ = ["Calls", "Table"]
