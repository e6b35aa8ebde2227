"""Undo: takes back what an event did, as long as nothing was built on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Belief, ChangeResult, digestible
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.domains.memories.service.succession import rivals
from m3_memory.domains.memories.service.targets import not_found
from m3_memory.domains.memories.service.writes import Operation, operation
from m3_memory.errors import DuplicateValue, NeedsOperator, UndoBlocked
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Statement, Verdict, decide
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from m3_memory.context import Context

RESTORABLE = ("delete", "expire")


def restore(ctx: Context, memory_id: str) -> ChangeResult:
    """Brings back a deleted memory as it was: undo of the event that deleted it.

    Raises NotFound for an id in no audience the caller holds, UndoBlocked where the memory was not deleted,
    DuplicateValue where another memory says the same by now. Time that passed stays passed: what expired or
    ended meanwhile comes back as expired or ended.
    """
    with ctx.write() as writer:
        op = operation(ctx, writer)
        newest = queries.newest_belief(writer, View(ctx.caller, Filter(), writer.now), memory_id)
        if newest is None:
            raise not_found(memory_id)
        ending = queries.ending(writer, newest)
        if ending is None or ending[0] not in RESTORABLE:
            state, since = state_now(writer, newest)
            raise UndoBlocked(
                f"memory {memory_id} was not deleted: it is {state} since {since}",
                "memory_history shows what happened to it; only what was deleted can be restored",
            )
        if newest.trust_state == "verified" and not ctx.caller.is_operator:
            raise NeedsOperator(f"memory {memory_id} was deleted by a person", "ask the person to restore it")
        restored = digestible(
            queries.version_of(writer, newest.item),
            newest.valid_from,
            newest.valid_to,
            queries.state_of(writer, memory_id),
        )
        event = op.record(
            "undo",
            memory_id,
            newest.version,
            reason=f"restores what operation {ending[1]} ended",
            after=restored,
        )
        _reopen(op, newest, event)
        warnings = [
            f"memory {rival} took the same place meanwhile and stands too; delete or supersede one"
            for rival in rivals(writer, ctx.caller, memory_id)
        ]
        return ChangeResult(memory_id, "restored", newest.version, warnings=warnings)


def _reopen(op: Operation, belief: Belief, event: int) -> None:
    version = queries.version_of(op.writer, belief.item)
    if belief.type not in EXEMPT_TYPES:
        statement = Statement(
            belief.memory_id, belief.type, version.normal_hash, belief.valid_from, belief.valid_to
        )
        standing = queries.standing(op.writer, belief.audience, belief.variant, statement)
        decision = decide(statement, standing)
        if decision.verdict is Verdict.DUPLICATE:
            raise DuplicateValue(
                f"memory {decision.of} says the same by now", "use that one; nothing was restored"
            )
    queries.open_belief(op.writer, replace(belief, opened_by=event, closed_by=None))
