"""Whether a memory of a file is here already, under which id; and what is asked where it says otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind, mark_of
from m3_memory.domains.memories.service.reads import newest_beliefs
from m3_memory.domains.memories.service.reviews import ask_all, derived_id
from m3_memory.domains.privacy import queries
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.interval import shown
from m3_memory.storage.predicates import Filter, view_of

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
        else derived_id(
            reader, "import", place, memory.request.type, memory.id if memory.id != "?" else digest
        )
        for (memory, digest), place in zip(said, places, strict=True)
    ]
    found = queries.known(reader, view, ids)
    ids = [
        derived_id(reader, "import", place, id_) if found.get(id_, ()) is None else id_
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
    newest = newest_beliefs(op.writer, view_of(op.writer, op.caller, Filter()), [memory_id]).get(memory_id)
    if newest is None:
        raise InvalidArgument("the file says two things of one memory, and neither could be stored", "")
    change = PlanStep(Act.UPDATE, memory_id, changes={"content": draft.content, "title": draft.title})
    question = Question(
        ReviewKind.CONFLICT,
        newest.audience,
        (memory_id,),
        {"reason": "an import says it otherwise", "file": f"sha256:{file_digest}", "said": _said(draft)},
        Plan((change,), {memory_id: mark_of(newest)}),
        derived_from=(memory_id, draft.content_hash),
    )
    (asked,) = ask_all(op, [question])
    return asked.is_new


def _said(draft: Draft) -> dict[str, Any]:
    said = {name: getattr(draft, name) for name in ("type", "title", "content", "valid_from")}
    said |= {"metadata": json.loads(draft.metadata), "valid_to": shown(draft.valid_to)}
    return {name: value for name, value in said.items() if value not in ("", None)}
