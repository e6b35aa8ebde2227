"""Verification: whether the stored text of a memory is still the one that was stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.service.reads import resolve
from m3_memory.kernel.normal import content_hash
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from m3_memory.context import Context


@dataclass(frozen=True)
class VerifyResult:
    """The answer to a verification of every version of a memory; `violated` numbers those that differ."""

    id: str
    status: str
    version: int
    agent_id: str
    recorded_at: str
    checked: int
    violated: list[int]

    def headline(self) -> str:
        if self.violated:
            return f"INTEGRITY VIOLATION: {self.id}, versions {', '.join(map(str, self.violated))}"
        return f"Integrity OK: {self.id}"


def verify(ctx: Context, id_or_prefix: str) -> VerifyResult:
    """Compares the text of every version of a memory with its digest. It says nothing of whether it is true.

    Current or not. `version`, `agent_id` and `recorded_at` are those of the newest. Raises NotFound,
    AmbiguousId.
    """
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, Filter())
        memory_id = resolve(reader, view, id_or_prefix)
        checked, violated, last = 0, list[int](), queries.StoredText(0, "", "", "", "")
        while page := queries.stored_texts(reader, view, memory_id, last.version):
            checked += len(page)
            violated += [text.version for text in page if not _is_whole(text)]
            last = page[-1]
        status = "violated" if violated else "intact"
        newest = (last.version, last.agent_id, last.recorded_at)
        return VerifyResult(memory_id, status, *newest, checked, violated)


def _is_whole(text: queries.StoredText) -> bool:
    return text.content is not None and content_hash(text.content) == text.content_hash
