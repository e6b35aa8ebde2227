"""Storing what was said: versions with their words and vectors, and new memories."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import EMBED_JOB, Belief, Draft, VectorStatus, Version
from m3_memory.domains.memories.model.holding import Holding, digestible
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.clock import FOREVER, plus
from m3_memory.storage import embeddings, queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.model import State, Vectors
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.kernel.fingerprint import Fingerprint
    from m3_memory.storage.history import Event

SESSION_SECONDS = 24 * 60 * 60
"""How long a memory of scope session is kept."""


SAID = Version.__dataclass_fields__.keys() & Draft.__dataclass_fields__.keys()
"""What a version has of the draft it was made from."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A draft as a version of a memory in an audience. `now` is since when it holds, unless it says."""

    draft: Draft
    memory_id: str
    audience: int
    version: int = 1
    now: str = ""

    @property
    def valid_from(self) -> str:
        return self.draft.valid_from or self.now

    @property
    def holding(self) -> Holding:
        return Holding(self.valid_from, self.draft.valid_to, self.draft.trust_state, self.audience)


@dataclass(frozen=True, slots=True)
class Creation:
    """A new memory. `other_id` is one it supersedes."""

    saying: Saying
    state: State
    other_id: str = ""


def create(op: Operation, creation: Creation) -> None:
    """As `create_all` for one."""
    create_all(op, [creation])


def create_all(op: Operation, creations: Sequence[Creation]) -> None:
    """Stores new memories: for each its event, first version, belief and state."""
    events = op.record_all([_created(op, creation) for creation in creations])
    sayings = [creation.saying for creation in creations]
    items = _store(op, sayings)
    beliefs = [_belief(op, *of) for of in zip(sayings, items, events, strict=True)]
    queries.insert_beliefs(op.writer, beliefs)
    queries.note_changes(op.writer, [(item, kind) for item in items for kind in ("insert", "belief")])
    queries.put_states(op.writer, [(made.saying.memory_id, made.state) for made in creations])


def store_version(op: Operation, saying: Saying) -> int:
    """Adds a version with its words and vectors; returns its item."""
    (item,) = _store(op, [saying])
    queries.note_change(op.writer, item, "insert")
    return item


def replace_vectors(op: Operation, item: int, vectors: Vectors) -> None:
    """Gives a version vectors anew; while there are none yet it keeps what it has, until a job brings them.

    It was checked when its first ones came, and is not again.
    """
    if vectors.vectors:
        embeddings.remove_vectors(op.writer, item)
        _store_vectors(op, [(item, vectors)])
        queries.note_change(op.writer, item, "vector")
    else:
        queue.enqueue(op.writer, embed_job(op, item, anew=True))


def inherit_vectors(op: Operation, from_item: int, to_item: int) -> None:
    """Gives a version the vectors of one whose text is the same, and the jobs that are still to bring any."""
    embeddings.copy_vectors(op.writer, from_item, to_item)
    queries.note_change(op.writer, to_item, "vector")
    for anew in (False, True):
        if queue.is_queued(op.writer, embed_job(op, from_item, anew=anew).key):
            queue.enqueue(op.writer, embed_job(op, to_item, anew=anew))


def embed_job(op: Operation, item: int, *, anew: bool = False) -> queue.Job:
    """The job that brings the vectors a version lacks, or all of them anew."""
    key, payload = f"{EMBED_JOB}:{item}", {"item": item}
    if anew:
        key, payload = f"{key}:anew", {**payload, "anew": True}
    return queue.Job(EMBED_JOB, key, payload, op.caller.user_id)


def _store(op: Operation, sayings: Sequence[Saying]) -> list[int]:
    """Adds versions with their words and vectors; their items, in order."""
    items = queries.insert_versions(op.writer, [_version(op, saying) for saying in sayings])
    placed = list(zip(items, sayings, strict=True))
    queries.insert_documents(op.writer, [(item, said.audience, said.draft.tokens) for item, said in placed])
    _store_vectors(op, [(item, said.draft.vectors) for item, said in placed])
    return items


def _store_vectors(op: Operation, placed: Sequence[tuple[int, Vectors]]) -> None:
    spaces: defaultdict[Fingerprint, list[tuple[int, int, Sequence[bytes]]]] = defaultdict(list)
    for item, vectors in placed:
        if vectors.space and vectors.vectors:
            spaces[vectors.space].append((item, 0, vectors.vectors))
    for fingerprint, windows in spaces.items():
        embeddings.insert_all_vectors(op.writer, embeddings.space_for(op.writer, fingerprint), windows)
    pending = [item for item, vectors in placed if vectors.status is VectorStatus.PENDING]
    queue.enqueue_all(op.writer, [embed_job(op, item) for item in pending])


def _created(op: Operation, creation: Creation) -> Event:
    saying = creation.saying
    draft = saying.draft
    return op.event(
        "create",
        saying.memory_id,
        saying.version,
        other_id=creation.other_id,
        after=digestible(draft, saying.holding, creation.state),
    )


def _version(op: Operation, saying: Saying) -> Version:
    draft, caller = saying.draft, op.caller
    said = {name: getattr(draft, name) for name in SAID}
    return Version(
        **said,
        item=0,
        memory_id=saying.memory_id,
        version=saying.version,
        audience=saying.audience,
        agent_id=caller.agent_id,
        circle=caller.circle,
        project=caller.project,
        written_in=caller.conversation_id,
    )


def _belief(op: Operation, saying: Saying, item: int, event: int) -> Belief:
    draft, now = saying.draft, op.writer.store_time
    expires_at = plus(now, SESSION_SECONDS) if draft.scope == Scope.SESSION else FOREVER
    return Belief(
        *(0, saying.memory_id, item, saying.version, saying.valid_from, draft.valid_to, now, FOREVER),
        *(draft.trust_state, expires_at, saying.audience, draft.type, op.caller.agent_id),
        *(draft.conversation_id, draft.variant, event, None),
    )
