"""One call's acts in one write transaction: who acts, and under which operation id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.kernel.ids import new_id
from m3_memory.storage import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Writer


@dataclass(frozen=True, slots=True)
class Operation:
    """What a change needs to be recorded: the caller, its agent's number, and the open transaction.

    `contradiction` is the setting of that name. An agent that was not `seen` this minute is noted as seen
    with the first event, so that a call which changes nothing changes nothing.
    """

    caller: Caller
    writer: Writer
    operation_id: str
    agent: int
    contradiction: str = "auto"
    seen: bool = True

    def record(self, kind: str, memory_id: str, version: int, **details: str) -> int:
        """Adds one event to the history; returns its number. Details: other_id, reason, before, after."""
        return self.record_all([self.event(kind, memory_id, version, **details)])[0]

    def record_all(self, events: Sequence[history.Event]) -> list[int]:
        """Adds events to the history, in order; returns their numbers."""
        if events and not self.seen:
            queries.put_seen(self.writer, self.agent)
        return history.append_all(self.writer, events)

    def event(self, kind: str, memory_id: str, version: int, **details: str) -> history.Event:
        """An event of this operation, for `record_all`."""
        return history.Event(
            kind, memory_id, version, self.agent, self.caller.surface, self.operation_id, **details
        )


def operation(ctx: Context, writer: Writer, operation_id: str = "") -> Operation:
    """This call's operation; the caller's agent gets its number here.

    It has an id of its own, unless it goes on with what an earlier transaction of the same call began.
    """
    agent, seen = queries.agent_number(writer, ctx.caller)
    operation_id = operation_id or new_id(writer.store_time)
    return Operation(ctx.caller, writer, operation_id, agent, ctx.settings.contradiction, seen)
