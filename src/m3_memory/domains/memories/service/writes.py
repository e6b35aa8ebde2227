"""The one write function: every door that stores a statement comes through here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import (
    EMBED_JOB,
    Belief,
    Draft,
    State,
    Vectors,
    VectorStatus,
    Version,
    WriteRequest,
    WriteResult,
    WriteStatus,
    digestible,
)
from m3_memory.domains.memories.service.drafts import prepare
from m3_memory.domains.memories.service.succession import current_successors
from m3_memory.errors import InvalidTime, SupersededValue
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.clock import FOREVER, plus
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Statement, Verdict, decide
from m3_memory.kernel.ids import new_id
from m3_memory.kernel.interval import Interval
from m3_memory.storage import embeddings, history, queue
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Writer

SESSION_SECONDS = 24 * 60 * 60
"""How long a memory of scope session is kept."""

UNSAID_IMPORTANCE = 0.5
"""The importance of a memory whose writer named none."""

_UPDATE = "memory_update changes it"
_REMEDIES = {
    "wording": "only its form does, not what it says",
    "valid_from": "delete the memory and write it anew with the earlier start",
    "source": "it tells who said it first",
    "model_id": "it tells who said it first",
    "embed_text": "memory_update with a new content embeds that",
}

SHOWN_CHARACTERS = 2_000
"""How much of a memory an error shows."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call's acts in one write transaction: who acts, and under which operation id."""

    caller: Caller
    writer: Writer
    operation_id: str
    agent: int

    def record(self, kind: str, memory_id: str, version: int, **details: str) -> int:
        """Adds one event to the history; returns its number. Details: other_id, reason, before, after."""
        return history.append(
            self.writer,
            history.Event(
                kind, memory_id, version, self.agent, self.caller.surface, self.operation_id, **details
            ),
        )


def operation(ctx: Context, writer: Writer) -> Operation:
    """This call's operation, with an id of its own; the caller's agent gets its number here."""
    return Operation(ctx.caller, writer, new_id(writer.store_time), queries.agent_number(writer, ctx.caller))


def write(ctx: Context, request: WriteRequest) -> WriteResult:
    """Stores a statement, or answers with the memory that says the same already.

    Raises InvalidInput for what can't be stored, SupersededValue for a value that was replaced by one that
    is current, and the Unavailable errors of the store; in each case nothing is stored.
    """
    draft = prepare(ctx, request)
    draft = replace(draft, warnings=(*draft.warnings, *ctx.notices))
    with ctx.write() as writer:
        return add(operation(ctx, writer), draft)


def add(op: Operation, draft: Draft, memory_id: str = "") -> WriteResult:
    """The decision and, where it is a new statement, the storing. The caller's transaction is open."""
    if not draft.valid_from and draft.valid_to <= op.writer.store_time:
        raise InvalidTime(
            f"it ended at {draft.valid_to}, before this write, and no valid_from says since when it held",
            "give valid_from too: the start of what is over is not guessed",
        )
    draft = draft.starting(op.writer.store_time)
    Interval(draft.valid_from, draft.valid_to)
    audience = queries.audience_number(op.writer, op.caller.audience(Scope(draft.scope)))
    memory_id = memory_id or new_id(op.writer.store_time)
    repeated = check(op, draft, audience, memory_id)
    if repeated:
        return _sighted(op, draft, repeated)
    state = State(draft.importance, False, draft.refresh_on, draft.refresh_reason)
    create(op, draft, memory_id, audience, state)
    return WriteResult(
        id=memory_id,
        status=WriteStatus.CREATED,
        vector=draft.vectors.status,
        warnings=[*draft.warnings, *draft.vectors.warnings, *out_of_sight(draft, op.writer.now)],
        type=draft.type,
    )


def check(op: Operation, draft: Draft, audience: int, memory_id: str) -> str:
    """The check every statement passes before it is stored: the id of the memory it repeats, or "".

    Raises SupersededValue unless the draft reasserts the value.
    """
    repeated = repetition(op, draft, audience, memory_id)
    if not repeated:
        refuse_superseded(op, draft, audience, memory_id)
    return repeated


def repetition(
    op: Operation, draft: Draft, audience: int, memory_id: str, *, for_all_of_it: bool = False
) -> str:
    """The id of the memory, other than `memory_id`, that says what the draft says; "" if none does.

    With `for_all_of_it` only one that holds as long as the draft would.
    """
    statement = Statement(memory_id, draft.type, draft.normal_hash, draft.valid_from, draft.valid_to)
    standing = queries.standing(op.writer, audience, draft.variant, statement)
    if for_all_of_it:
        standing = [s for s in standing if s.valid_from <= draft.valid_from and draft.valid_to <= s.valid_to]
    decision = decide(statement, standing)
    return decision.of if decision.verdict is Verdict.DUPLICATE else ""


def store_version(op: Operation, draft: Draft, memory_id: str, version: int, audience: int) -> int:
    """Adds a version with its words and vectors; returns its item."""
    caller, writer = op.caller, op.writer
    item = queries.insert_version(
        writer,
        Version(
            0,
            memory_id,
            version,
            draft.type,
            draft.title,
            draft.content,
            draft.content_hash,
            draft.normal_hash,
            draft.metadata,
            draft.scope,
            audience,
            caller.agent_id,
            caller.circle,
            caller.project,
            draft.conversation_id,
            caller.conversation_id,
            draft.source,
            draft.model_id,
            draft.variant,
            draft.embed,
            draft.embed_text,
        ),
    )
    queries.insert_document(writer, item, audience, draft.tokens)
    queries.note_change(writer, item, "insert")
    store_vectors(op, item, draft.vectors)
    return item


def store_vectors(op: Operation, item: int, vectors: Vectors) -> None:
    """Stores what vectors there are and leaves the missing ones to a job."""
    if vectors.space and vectors.vectors:
        space = embeddings.space_for(op.writer, *vectors.space)
        embeddings.insert_vectors(op.writer, item, space, vectors.vectors)
    if vectors.status is VectorStatus.PENDING:
        queue.enqueue(op.writer, _embed_job(op, item))


def inherit_vectors(op: Operation, from_item: int, to_item: int) -> None:
    """Gives a version the vectors of one whose text is the same, and a job for those still to come."""
    embeddings.copy_vectors(op.writer, from_item, to_item)
    queries.note_change(op.writer, to_item, "vector")
    if queue.is_queued(op.writer, _embed_job(op, from_item).key):
        queue.enqueue(op.writer, _embed_job(op, to_item))


def _embed_job(op: Operation, item: int) -> queue.Job:
    return queue.Job(EMBED_JOB, f"{EMBED_JOB}:{item}", {"item": item}, op.caller.user_id)


def create(
    op: Operation, draft: Draft, memory_id: str, audience: int, state: State, other_id: str = ""
) -> None:
    """Stores a new memory: its event, first version, belief and state. `other_id` is one it supersedes."""
    event = op.record(
        "create",
        memory_id,
        1,
        other_id=other_id,
        after=digestible(draft, draft.valid_from, draft.valid_to, state),
    )
    item = store_version(op, draft, memory_id, 1, audience)
    expires = plus(op.writer.store_time, SESSION_SECONDS) if draft.scope == Scope.SESSION else FOREVER
    belief = Belief(
        0,
        memory_id,
        item,
        1,
        draft.valid_from,
        draft.valid_to,
        op.writer.store_time,
        FOREVER,
        "accepted",
        expires,
        audience,
        draft.type,
        op.caller.agent_id,
        draft.conversation_id,
        draft.variant,
        event,
        None,
    )
    queries.open_belief(op.writer, belief)
    queries.put_state(op.writer, memory_id, state)


def refuse_superseded(op: Operation, draft: Draft, audience: int, memory_id: str) -> None:
    """Raises SupersededValue for a value that a current memory, other than `memory_id`, took the place of."""
    if draft.reassert or draft.type in EXEMPT_TYPES:
        return
    for old in queries.superseded_with(op.writer, audience, draft):
        for successor in current_successors(op.writer, op.caller, old):
            current = queries.version_of(op.writer, successor.item)
            ends = memory_id in (old, successor.memory_id) or current.content_hash == draft.content_hash
            if ends or (draft.names_start and draft.valid_from > successor.valid_from):
                continue
            raise SupersededValue(
                "this value was superseded;"
                f" the current one is {current.memory_id}: {_shown(current.content)}",
                "if it holds again, memory_write it with reassert=true or with the valid_from it holds from",
            )


def _shown(content: str) -> str:
    if len(content) <= SHOWN_CHARACTERS:
        return content
    return f"{content[:SHOWN_CHARACTERS]}… (all {len(content):,} characters: memory_get)"


def _sighted(op: Operation, draft: Draft, memory_id: str) -> WriteResult:
    belief = _held_belief(op, memory_id)
    event = op.record("corroborate", memory_id, belief.version)
    queries.insert_sighting(op.writer, memory_id, op.caller, event)
    return WriteResult(
        id=memory_id,
        status=WriteStatus.DUPLICATE,
        vector=_vector_status(op, belief.item),
        warnings=[*draft.warnings, *differences(op, draft, memory_id)],
        type=belief.type,
    )


def _held_belief(op: Operation, memory_id: str) -> Belief:
    belief = queries.newest_belief(op.writer, View(op.caller, Filter(), op.writer.now), memory_id)
    assert belief is not None, "a repeated statement stands in an audience the caller writes to"
    return belief


def _vector_status(op: Operation, item: int) -> VectorStatus:
    if queue.is_queued(op.writer, _embed_job(op, item).key):
        return VectorStatus.PENDING
    return VectorStatus.READY if embeddings.has_vectors(op.writer, item) else VectorStatus.NONE


def differences(op: Operation, draft: Draft, memory_id: str) -> list[str]:
    """What a repeated statement brought that the memory which says it already does not have."""
    belief = _held_belief(op, memory_id)
    stored = queries.version_of(op.writer, belief.item)
    state = queries.state_of(op.writer, memory_id)
    table: tuple[tuple[str, object, object, object], ...] = (
        ("wording", draft.content, stored.content, ""),
        ("title", draft.title, stored.title, ""),
        ("metadata", draft.metadata, stored.metadata, "{}"),
        ("conversation_id", draft.conversation_id, stored.conversation_id, ""),
        ("valid_to", draft.valid_to, belief.valid_to, FOREVER),
        ("importance", draft.importance, state.importance, UNSAID_IMPORTANCE),
        ("refresh_on", draft.refresh_on, state.refresh_on, ""),
        ("refresh_reason", draft.refresh_reason, state.refresh_reason, ""),
        ("source", draft.source, stored.source, "agent"),
        ("model_id", draft.model_id, stored.model_id, ""),
        ("embed_text", draft.embed_text, stored.embed_text, ""),
    )
    found = [name for name, given, kept, unsaid in table if given not in (unsaid, kept)]
    if draft.valid_from < belief.valid_from:
        found.append("valid_from")
    return [
        f"{name} differs from what is stored, which stays: {_REMEDIES.get(name, _UPDATE)}" for name in found
    ]


def out_of_sight(draft: Draft, now: str) -> tuple[str, ...]:
    """What to say of a memory that a default read does not show now."""
    if draft.valid_to <= now:
        return ("it ended in the past: default reads leave it out, reads with as_of find it",)
    if draft.valid_from > now:
        return (f"it holds from {draft.valid_from} on: default reads leave it out until then",)
    return ()
