"""Edges: typed relations that callers set between memories, and take away again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.service.chunks import in_chunks, only, tried
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.standing import CURRENT, state_now
from m3_memory.domains.memories.service.targets import not_found
from m3_memory.errors import InvalidArgument, InvalidId, M3Error, Missing, NotCurrent
from m3_memory.kernel.ids import new_id, parse_full
from m3_memory.kernel.vocabulary import EDGE_TYPES
from m3_memory.storage.predicates import Filter, audience_numbers, view_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief
    from m3_memory.storage.database import Reader
    from m3_memory.storage.history import Event

OWN_VERBS = {
    "supersedes": "memory_supersede replaces a memory, memory_unsupersede takes that back",
    "distills_from": "what is derived says so itself, when it is written; use references or consolidates",
}
"""Types that only our own verbs set, and which."""


class LinkRequest(NamedTuple):
    """An edge to set or to take away: what is unique among open edges."""

    from_id: str
    to_id: str
    relationship_type: str = "related"


@dataclass(frozen=True)
class LinkResult:
    """The answer to a link or an unlink.

    `status`: linked, exists, unlinked or absent; in bulk also missing (an end of it) and failed, with the
    error's code and message.
    """

    from_id: str
    to_id: str
    relationship_type: str
    status: str
    code: str | None = None
    message: str | None = None

    def headline(self) -> str:
        edge = f"{self.from_id} --[{self.relationship_type}]--> {self.to_id}"
        return f"{_TOLD.get(self.status, self.status.capitalize())}: {edge}"


_TOLD = {"exists": "Linked already", "absent": "Not linked"}


@dataclass(frozen=True)
class LinkBulkResult:
    """The answer to many links, `results` in their order."""

    created: int
    skipped_missing: int
    skipped_duplicate: int
    failed: int
    total: int
    results: list[LinkResult] = field(default_factory=list[LinkResult])

    def headline(self) -> str:
        return f"Created {self.created} of {self.total} links"


def link(ctx: Context, request: LinkRequest) -> LinkResult:
    """Sets an edge between two current memories; one that is there already stays as it is.

    Raises InvalidArgument for a memory linked to itself and for types that only our own verbs set, NotFound
    for an end in no audience the caller holds, NotCurrent for one that is not current.
    """
    with ctx.write() as writer:
        return only(linked(operation(ctx, writer), [request]))


def link_all(ctx: Context, requests: Sequence[LinkRequest | M3Error]) -> LinkBulkResult:
    """Sets edges in order, in chunks, each as `link` does; a request that is an error stays one.

    Raises the Unavailable errors of the store if it fails before anything was stored.
    """
    operation_id = new_id(ctx.clock.now())

    def link_chunk(chunk: Sequence[LinkRequest]) -> list[LinkResult | M3Error]:
        with ctx.write() as writer:
            return linked(operation(ctx, writer, operation_id), chunk)

    outcomes = in_chunks(ctx, requests, link_chunk)
    results = [_told(*pair) for pair in zip(requests, outcomes, strict=True)]
    counts = Counter(result.status for result in results)
    return LinkBulkResult(
        created=counts["linked"],
        skipped_missing=counts["missing"],
        skipped_duplicate=counts["exists"],
        failed=counts["failed"],
        total=len(results),
        results=results,
    )


def link_request(given: Mapping[str, object], default_type: str) -> LinkRequest | M3Error:
    """An entry of many links as it was sent, or the error it is."""
    if unknown := given.keys() - {"from_id", "to_id", "relationship_type"}:
        return InvalidArgument(f"a link has no {min(unknown)!r:.40}", "give from_id and to_id")
    ends = [given.get(name) for name in ("from_id", "to_id")]
    kind = given.get("relationship_type") or default_type
    if not isinstance(kind, str):
        return InvalidArgument("relationship_type is no text", f"one of: {', '.join(EDGE_TYPES)}")
    try:
        from_id, to_id = (parse_full(end if isinstance(end, str) else "") for end in ends)
    except InvalidId as error:
        return error
    return LinkRequest(from_id, to_id, kind)


def unlink(ctx: Context, request: LinkRequest) -> LinkResult:
    """Takes an edge away from now on; it stays readable by an earlier known_at.

    Raises as `link` does, but the ends need not be current.
    """
    _check(request)
    with ctx.write() as writer:
        op = operation(ctx, writer)
        ends = _newest_beliefs(op, [request])
        for memory_id in (request.from_id, request.to_id):
            _held(ends, memory_id)
        there = _open_edges(op, [request])
        if request in there:
            (event,) = op.record_all([_event(op, "unlink", ends, request)])
            queries.close_edges(writer, [(there[request], event)])
        return LinkResult(*request, "unlinked" if there else "absent")


def linked(
    op: Operation, requests: Sequence[LinkRequest], *, current: bool = True
) -> list[LinkResult | M3Error]:
    """As `link` for each, in an open transaction; what is refused is an error in its place.

    Ends that need not be current are to be believed still: what is hidden, as a candidate, hides its edges.
    """
    ends = _newest_beliefs(op, requests)
    there = set[tuple[str, str, str]](_open_edges(op, requests))
    new: list[LinkRequest] = []

    def judged(request: LinkRequest) -> LinkResult:
        _check(request)
        for memory_id in (request.from_id, request.to_id):
            _ensure_fit(op.writer, _held(ends, memory_id), current=current)
        if request in there:
            return LinkResult(*request, "exists")
        there.add(request)
        new.append(request)
        return LinkResult(*request, "linked")

    outcomes = [tried(judged, request) for request in requests]
    events = op.record_all([_event(op, "link", ends, request) for request in new])
    queries.open_edges(op.writer, zip(new, events, strict=True))
    return outcomes


def _check(request: LinkRequest) -> None:
    if request.relationship_type not in EDGE_TYPES:
        raise InvalidArgument(
            f"there is no relationship type {request.relationship_type!r:.40}",
            f"one of: {', '.join(EDGE_TYPES)}",
        )
    if verb := OWN_VERBS.get(request.relationship_type):
        raise InvalidArgument(f"{request.relationship_type} is not set or taken away by a link", verb)
    if request.from_id == request.to_id:
        raise InvalidArgument("a memory is not linked to itself", "give two different ids")


def _ensure_fit(reader: Reader, end: Belief, *, current: bool) -> None:
    if not current:
        if not end.is_open:
            raise NotCurrent(f"memory {end.memory_id} is no longer believed", "link what took its place")
        return
    state, since = state_now(reader, end)
    if state != CURRENT:
        raise NotCurrent(
            f"memory {end.memory_id} is not current: {state} since {since}",
            "memory_get shows its successor if there is one: link that",
        )


def _newest_beliefs(op: Operation, requests: Sequence[LinkRequest]) -> dict[str, Belief]:
    """The newest belief of each end that lies in an audience the caller holds."""
    held = frozenset(audience_numbers(op.writer, view_of(op.writer, op.caller, Filter())))
    ids = {memory_id for request in requests for memory_id in (request.from_id, request.to_id)}
    return {row.memory_id: row for row in queries.beliefs_of(op.writer, ids) if row.audience in held}


def _held(ends: dict[str, Belief], memory_id: str) -> Belief:
    if memory_id not in ends:
        raise not_found(memory_id)
    return ends[memory_id]


def _open_edges(op: Operation, requests: Sequence[LinkRequest]) -> dict[tuple[str, str, str], int]:
    """The number of each edge that is there."""
    found = queries.edges_between(op.writer, requests)
    return {edge.between: edge.relationship for edge in found if edge.closed_by is None}


def _event(op: Operation, kind: str, ends: dict[str, Belief], request: LinkRequest) -> Event:
    version = ends[request.from_id].version
    return op.event(kind, request.from_id, version, other_id=request.to_id, reason=request.relationship_type)


def _told(request: LinkRequest | M3Error, outcome: LinkResult | M3Error) -> LinkResult:
    if isinstance(outcome, LinkResult):
        return outcome
    named = LinkRequest("", "", "") if isinstance(request, M3Error) else request
    status = "missing" if isinstance(outcome, Missing) else "failed"
    return LinkResult(*named, status, outcome.code, outcome.message)
