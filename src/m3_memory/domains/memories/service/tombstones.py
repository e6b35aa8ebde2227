"""Tombstones: values that may not come back, because a person rejected them or they were erased."""

from __future__ import annotations

import hashlib
import hmac
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.memories import queries
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.reads import resolve
from m3_memory.errors import NotFound, Tombstoned
from m3_memory.kernel.caller import Scope, names_of
from m3_memory.storage.predicates import Filter, View, mains_of_aliases

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.queries.tombstones import Tombstone
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader, Writer

_MARK, _SHOWN = "ts-", 16
"""How a tombstone's id begins, and how much of its digest follows."""


@dataclass(frozen=True, slots=True)
class Burial:
    """A value to be kept from coming back, by the hash of its normal form (`kernel.normal.normal_hash`).

    Rejected: `audience` is where, and `memory_id` the memory that said it. Erased: no audience, so nowhere
    of its user.
    """

    normal_hash: str
    audience: int | None = None
    memory_id: str = ""


@dataclass(frozen=True)
class TombstoneRow:
    """One tombstone as its list shows it: `audience` and `memory_id` are absent for what was erased."""

    id: str
    kind: str
    set_at: str
    set_by: str
    reason: str
    audience: str | None = None
    memory_id: str | None = None


@dataclass(frozen=True)
class TombstoneList:
    """All tombstones of the user that stand, the newest first; `total` counts those that did not fit too."""

    tombstones: list[TombstoneRow]
    total: int

    def headline(self) -> str:
        return f"{self.total} values may not come back"


@dataclass(frozen=True)
class LiftResult:
    """The answer to a lift: the ids of the tombstones that stand no more."""

    id: str
    lifted: list[str]

    def headline(self) -> str:
        return f"Lifted for {self.id}: {', '.join(self.lifted)}"


def list_all(ctx: Context) -> TombstoneList:
    """Every tombstone of the user that was not lifted."""
    with ctx.read() as reader:
        found = queries.tombstones_of(reader)
    rows = [
        TombstoneRow(
            _shown_id(each),
            "erased" if each.is_erased else "rejected",
            each.set_at,
            each.set_by,
            each.reason,
            each.audience or None,
            each.memory_id or None,
        )
        for each in found
    ]
    return TombstoneList(list(fitting(rows)), len(rows))


def lift_named(ctx: Context, name: str, reason: str) -> LiftResult:
    """Lifts the tombstone of this id, or those over what a memory said, by its id or a prefix of it.

    Raises NotFound, AmbiguousId. The caller is the operator.
    """
    with ctx.write() as writer:
        op = operation(ctx, writer)
        if name.startswith(_MARK) and len(name) == len(_MARK) + _SHOWN:
            found = queries.tombstones_of(writer, prefix=name.removeprefix(_MARK))
        else:
            memory_id = resolve(writer, View(op.caller, Filter(), writer.now), name)
            found = queries.tombstones_of(writer, memory_id)
        if not found:
            raise NotFound(f"no tombstone of {name} stands", "tombstone_list shows those that do")
        op.record_all([op.event("lift", each.memory_id, 0, reason=reason) for each in found])
        lift(op, found)
    return LiftResult(name, [_shown_id(each) for each in found])


def tombstoned(
    reader: Reader, said: Sequence[tuple[int, str]], caller: Caller | None = None
) -> list[Tombstone | None]:
    """For each (audience, hash of the normal form) the tombstone that keeps it from being said there.

    What was erased for the user stands under one in every audience. With a caller, what was rejected in one
    of the audiences that are read together is so in all of them.
    """
    together = _read_together(reader, caller, {audience for audience, _ in said}) if caller else {}
    return [next(iter(each), None) for each in _standing(reader, said, together)]


def returning(op: Operation, said: Sequence[tuple[int, str]]) -> list[Tombstone]:
    """Every tombstone over these values in their places, under each name of the project."""
    places = one_place(op.writer, op.caller, {audience for audience, _ in said})
    return [tombstone for each in _standing(op.writer, said, places) for tombstone in each]


def one_place(reader: Reader, caller: Caller, audiences: Collection[int]) -> dict[int, frozenset[int]]:
    """Each of these audiences with all that are the same place: its project goes by other names too."""
    own, mains = (caller.project, *caller.project_aliases), mains_of_aliases(reader)
    names = queries.audience_names(reader, [*audiences]) if mains or caller.project_aliases else {}
    found = {audience: frozenset((audience,)) for audience in audiences}
    for audience, name in names.items():
        if name.startswith(caller.circle_prefix):
            project = caller.project_of(name)
            alike = caller.looking_into(own if project in own else names_of(project, mains))
            known = queries.known_audiences(reader, alike.audiences((Scope.AGENT,)))
            found[audience] |= frozenset(known.values())
    return found


def _read_together(reader: Reader, caller: Caller, audiences: Collection[int]) -> dict[int, frozenset[int]]:
    held = frozenset(queries.known_audiences(reader, caller.audiences()).values())
    apart = [audience for audience in audiences if audience not in held]
    return dict.fromkeys(audiences, held) | (one_place(reader, caller, apart) if apart else {})


def _standing(
    reader: Reader, said: Sequence[tuple[int, str]], places: Mapping[int, frozenset[int]]
) -> list[list[Tombstone]]:
    keys = [
        [
            _digest(reader, place, said_hash)
            for place in (None, audience, *sorted(places.get(audience, frozenset()) - {audience}))
        ]
        for audience, said_hash in said
    ]
    found = queries.standing_tombstones(reader, list(dict.fromkeys(key for of in keys for key in of)))
    return [[found[key] for key in of if key in found] for of in keys]


@contextmanager
def writing(ctx: Context, *, rehearses: bool = False) -> Generator[Writer]:
    """The owner's write transaction, or a rehearsal of one.

    What is raised in it as Tombstoned is recorded after it, and raised.
    """
    try:
        with ctx.rehearsal() if rehearses else ctx.write() as writer:
            yield writer
    except Tombstoned as error:
        with ctx.write() as writer:
            record_attempts(operation(ctx, writer), [error])
        raise


def refused(op: Operation, attempts: Sequence[Tombstone]) -> list[Tombstoned]:
    """Records that these were said again; the errors to answer with, after the commit or within `writing`."""
    errors = [refusal(each) for each in attempts]
    record_attempts(op, errors)
    return errors


def record_attempts(op: Operation, refused: Sequence[Tombstoned]) -> None:
    """One event for each value that was said again and refused; for who commits what was not refused."""
    op.record_all(
        [op.event("tombstone", each.memory_id, 0, reason="said again, and refused") for each in refused]
    )


def bury(op: Operation, burials: Sequence[Burial], reason: str) -> None:
    """Sets a tombstone over each value that has none yet. The caller records the event that says why."""
    keys = {_digest(op.writer, burial.audience, burial.normal_hash): burial for burial in burials}
    known = queries.standing_tombstones(op.writer, list(keys))
    queries.insert_tombstones(
        op.writer,
        [
            (burial.audience, digest, burial.memory_id, reason, op.caller.agent_id)
            for digest, burial in keys.items()
            if digest not in known
        ],
    )


def digests_of(reader: Reader, burials: Sequence[Burial]) -> list[str]:
    """What stands for each of these values in the store, and tells it to nobody."""
    return [_digest(reader, burial.audience, burial.normal_hash) for burial in burials]


def lift(op: Operation, tombstones: Sequence[Tombstone]) -> None:
    """Ends tombstones. The caller records the events that say why."""
    queries.lift_tombstones(op.writer, [each.digest for each in tombstones])


def refusal(tombstone: Tombstone) -> Tombstoned:
    """The error that answers who says again what lies under this one."""
    if tombstone.is_erased:
        return Tombstoned(
            f"this value was erased on {tombstone.set_at[:10]}; nothing was stored",
            "leave it out, in other words too; only the person may lift that",
            tombstone.memory_id,
        )
    return Tombstoned(
        f"this value was rejected by a person on {tombstone.set_at[:10]}; nothing was stored",
        f"it is that of memory {tombstone.memory_id}; do not restate it, in other words either:"
        " ask the person, who may lift it",
        tombstone.memory_id,
    )


def _digest(reader: Reader, audience: int | None, normal_hash: str) -> str:
    """The keyed digest of a value in an audience; without one, in all of its user."""
    place = ("erased", reader.user_id) if audience is None else ("rejected", str(audience))
    return hmac.new(
        reader.secret_key, "\x1f".join(("tombstone", *place, normal_hash)).encode(), hashlib.sha256
    ).hexdigest()


def _shown_id(tombstone: Tombstone) -> str:
    return f"{_MARK}{tombstone.digest[:_SHOWN]}"
