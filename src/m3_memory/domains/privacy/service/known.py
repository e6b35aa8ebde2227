"""Whether a memory of a file is here already, under which id; and what is asked where it says otherwise."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from m3_memory.domains.privacy import queries
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.interval import shown
from m3_memory.storage.predicates import Filter, view_of
from m3_memory.storage.transaction import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.model import Draft
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.privacy.model import MemoryLine
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader


def known_as(
    reader: Reader, caller: Caller, said: Sequence[tuple[MemoryLine, str]]
) -> list[tuple[str, bool | None]]:
    """For each memory, and the hash of what it says: its id here, and whether what is there ever said so.

    None where no memory has the id. An id that is none, or that is a memory's in an audience the caller does
    not hold, is replaced by one that follows from it, the audience and the store's key: the same each time,
    and foreseen by nobody.
    """
    view = view_of(reader, caller, Filter())
    places = [caller.audience(Scope(memory.request.scope or Scope.AGENT)) for memory, _ in said]
    ids = [
        memory.id
        if memory.id[:1] != "?"
        else _derived_id(reader, place, memory.request.type, memory.id if memory.id != "?" else digest)
        for (memory, digest), place in zip(said, places, strict=True)
    ]
    found = queries.known(reader, view, ids)
    ids = [
        _derived_id(reader, place, id_) if found.get(id_, ()) is None else id_
        for id_, place in zip(ids, places, strict=True)
    ]
    found |= queries.known(reader, view, [id_ for id_ in ids if id_ not in found])
    hashes = [found.get(id_) for id_ in ids]
    return [
        (id_, None if here is None else digest in here)
        for id_, here, (_, digest) in zip(ids, hashes, said, strict=True)
    ]


def ask(op: Operation, file_digest: str, draft: Draft, memory_id: str) -> bool:
    """Opens a review item for a memory that is here with another text; False if it was asked before.

    What is stored stays as it is. Raises InvalidArgument where the memory came from the same file and was
    refused.
    """
    stored = queries.standing_now(op.writer, view_of(op.writer, op.caller, Filter()), memory_id)
    if stored is None:
        raise InvalidArgument("the file says two things of one memory, and neither could be stored", "")
    review_id = _derived_id(op.writer, "review", memory_id, draft.content_hash)
    if queries.has_review(op.writer, review_id):
        return False
    audience, version, digest, belief = stored
    evidence = {
        "from": "import",
        "file": f"sha256:{file_digest}",
        "memory_id": memory_id,
        "stored": {"version": version, "content_hash": digest},
        "said": _said(draft),
    }
    change = {"id": memory_id, "content": draft.content, "title": draft.title}
    plan = [{"tool": "memory_update", "arguments": change, "requires": {"open_belief": belief}}]
    op.record("review", memory_id, number(version), reason="an import says it otherwise", after=draft.content)
    queries.insert_review(op.writer, review_id, audience, evidence, plan)
    return True


def _derived_id(reader: Reader, *parts: str) -> str:
    """An id that follows from these texts in this store alone."""
    digest = hmac.new(reader.secret_key, "\x1f".join(("import", *parts)).encode(), hashlib.sha256)
    return str(UUID(bytes=digest.digest()[:16], version=5))


def _said(draft: Draft) -> dict[str, Any]:
    said = {name: getattr(draft, name) for name in ("type", "title", "content", "valid_from")}
    said |= {"metadata": json.loads(draft.metadata), "valid_to": shown(draft.valid_to)}
    return {name: value for name, value in said.items() if value not in ("", None)}
