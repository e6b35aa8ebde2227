"""What a dump holds: every table that is truth, its columns and their kinds, in the order they are written.

Left out: what is derived (words, totals, changes), what says how the store was made (migrations), and the
row of the store itself, which is the dump's first line.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.kernel.limits import UNSTORABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.storage.sql import Value

_MOMENT = re.compile(r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)?", re.ASCII)
_INFINITE_OR_NONE = re.compile(rb"[\x7c-\x7f\xfc-\xff]")
"""The upper byte of a float16 that is no number."""

_LARGEST = 2**63


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST


def _is_vector(value: Value) -> bool:
    """Whether it is little-endian float16, finite."""
    if not isinstance(value, bytes) or not value or len(value) % 2:
        return False
    return not _INFINITE_OR_NONE.search(value[1::2])


_HOLDS: dict[str, Callable[[Value], bool]] = {
    "whole": _is_whole,
    "float": lambda value: isinstance(value, float) and math.isfinite(value),
    "text": lambda value: isinstance(value, str) and not UNSTORABLE.search(value),
    "moment": lambda value: isinstance(value, str) and bool(_MOMENT.fullmatch(value)),
    "bytes": lambda value: isinstance(value, bytes),
    "vector": _is_vector,
}
"""What a column of each kind holds. A moment is one as stored, or the empty text."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column and the kind of its values."""

    name: str
    kind: str
    optional: bool

    def checked(self, value: Value) -> Value:
        """The value. Raises ValueError for one that is not of the column's kind."""
        if _HOLDS[self.kind](value) or (value is None and self.optional):
            return value
        raise ValueError(f"{self.name} is no {self.kind}")


@dataclass(frozen=True, slots=True)
class Table:
    """One table. Its first columns, `key`, are what its rows are ordered by."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]


_TOLD = """
owners: *owner:whole user_id last_store_time:moment last_sequence:whole last_hash
audiences: *audience:whole owner:whole name
agents: *agent:whole owner:whole agent_id circle grants trust:float first_seen_at:moment role capabilities
  metadata state last_seen_at:moment
operators: *owner:whole parameters salt:bytes verifier:bytes set_at:moment event:whole
projects: *owner:whole *name main_name linked_at:moment
project_folders: *owner:whole *folder *name first_seen_at:moment
embedding_spaces: *space:whole name weights_digest dimension:whole text_rules state
memory_items: *item:whole memory_id version:whole type title content content_hash normal_hash metadata
  owner:whole audience:whole scope agent_id circle project conversation_id written_in source model_id
  variant embed:whole embed_text origin recorded_at:moment
memory_validity: *belief:whole memory_id item:whole version:whole valid_from:moment valid_to:moment
  recorded_from:moment recorded_to:moment trust_state expires_at:moment audience:whole type agent_id
  conversation_id variant opened_by:whole closed_by:whole?
memory_state: *memory_id importance:float pinned:whole refresh_on:moment refresh_reason
memory_access: *memory_id last_used_at:moment use_count:whole
memory_relationships: *relationship:whole from_id to_id type recorded_from:moment recorded_to:moment
  opened_by:whole closed_by:whole?
derivations: *derived_kind *derived_id *source_kind *source_id
memory_corroborations: *corroboration:whole memory_id agent_id conversation_id agrees:whole trust:float
  recorded_at:moment event:whole
memory_tombstones: *tombstone:whole owner:whole audience:whole? digest reason set_by set_at:moment
  lifted_at:moment memory_id
review_items: *review_id owner:whole audience:whole kind evidence plan state decision decided_by
  decided_at:moment opened_at:moment lapses_at:moment opened_by:whole
review_memories: *review_id *place:whole memory_id
retention_policies: *owner:whole *agent_id max_memories:whole ttl_days:whole set_at:moment event:whole
erasures: *erasure_id owner:whole subject_kind counts record scrubbed:whole erased_at:moment
memory_history: *event:whole owner:whole sequence:whole store_time:moment kind memory_id version:whole
  agent:whole surface operation_id other_id reason digest_before digest_after origin previous_hash hash
memory_history_salts: *event:whole salt:bytes
memory_embeddings: *item:whole *space:whole *window_number:whole vector:vector
jobs: *job:whole key kind payload user_id state attempts:whole run_at:moment lease_until:moment worker
  last_error enqueued_at:moment
"""
"""`*` marks a column of the key, `?` one that may be absent; a column of which no kind is said holds text."""


def _table(written: str) -> Table:
    name, _, columns = written.partition(":")
    words = [word.partition(":") for word in columns.split()]
    return Table(
        name,
        tuple(
            Column(word.lstrip("*"), kind.rstrip("?") or "text", kind[-1:] == "?") for word, _, kind in words
        ),
        tuple(word.lstrip("*") for word, _, _ in words if word.startswith("*")),
    )


TABLES = tuple(_table(written) for written in _TOLD.replace("\n  ", " ").strip().splitlines())

DERIVED = ("search_documents", "search_totals", "search_changes")
"""Tables that a restore fills anew."""

UNTOLD = ("migrations", "stores", "guard_lifted")
"""Tables of the store itself, which a dump has no rows of."""
