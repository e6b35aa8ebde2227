"""The decision every write passes: what a new statement is to the ones that stand (data model §6).

Similarity only proposes which pairs are looked at; what tells two statements apart is evidence in their
texts, dates and types. Pure and deterministic: no model, no clock, no store.
"""

from m3_memory.kernel.contradiction.comparing import compare
from m3_memory.kernel.contradiction.decision import EXEMPT_TYPES, Decision, Statement, decide
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict

__all__ = ["EXEMPT_TYPES", "Comparison", "Decision", "Statement", "Verdict", "compare", "decide"]
