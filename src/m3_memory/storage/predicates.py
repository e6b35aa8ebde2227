"""visible(): the one relation every read of memories starts from.

A `View` says who looks, at what, and from when; `visible(view)` is the relation of what that view shows and
`clauses(view)` its five conditions by name, so that `reasons` can say which one hides a memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.kernel.caller import EVERY_PROJECT, NO_PLACE, Grant, Scope, names_of
from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.narrowing import ensure_granted
from m3_memory.storage.sql import Sql, any_of, join, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import LiteralString

    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader

SCOPES = (Scope.AGENT, Scope.SESSION, Scope.USER)
ADMITTED = ("accepted", "verified")
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Filter:
    """What a read narrows itself to. Every field narrows but `project`.

    `as_of` and `known_at` are store-form times; empty means the present of that clock. Tuples are
    alternatives; an empty tuple or text asks for no narrowing. `project` names the place looked into instead
    of the caller's own, by any of its names: `-` is no project, `*` all of them. Another place than the
    caller's own needs the grant to widen. `whenever` looks at every time of the world instead of `as_of`.
    """

    as_of: str = ""
    known_at: str = ""
    trust_states: tuple[str, ...] = ADMITTED
    variant: str = ""
    scopes: tuple[Scope, ...] = SCOPES
    types: tuple[str, ...] = ()
    excluded_types: tuple[str, ...] = ()
    agent_id: str = ""
    conversation_id: str = ""
    valid_since: str = ""
    valid_until: str = ""
    project: str = ""
    whenever: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A caller's filter at one moment. `now` is the reader's: the later of clock and last store time."""

    caller: Caller
    filter: Filter
    now: str

    @property
    def as_of(self) -> str:
        return self.filter.as_of or self.now

    @property
    def known_at(self) -> str:
        return self.filter.known_at or self.now

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences held that the filter's scopes leave."""
        return self.caller.audiences(self.filter.scopes)


def view_of(reader: Reader, caller: Caller, narrowing: Filter) -> View:
    """What this caller asks for at the reader's moment.

    The one place where a read is widened. Raises NeedsGrant for a project that is not the caller's own.
    """
    return View(_looking(reader, caller, narrowing.project), narrowing, reader.now)


def _looking(reader: Reader, caller: Caller, project: str) -> Caller:
    """The caller, reading the project of that name in place of its own."""
    name = "" if project == NO_PLACE else project
    if not project or name in (caller.project, *caller.project_aliases):
        return caller
    ensure_granted(caller, Grant.WIDEN)
    if project == EVERY_PROJECT:
        everywhere = map(caller.project_of, circle_audiences(reader, caller))
        return caller.looking_into((caller.project, *caller.project_aliases, *everywhere))
    return caller.looking_into(names_of(name, mains_of_aliases(reader)))


def circle_audiences(reader: Reader, caller: Caller) -> list[str]:
    """The audience of every project, and of none, that the caller's circle has written to, by name."""
    begins = caller.circle_prefix
    ends = f"{begins[:-1]}{chr(ord(begins[-1]) + 1)}"
    found = reader.rows(
        sql("SELECT name FROM audiences WHERE name >= ? AND name < ? ORDER BY name", begins, ends)
    )
    return [text(row[0]) for row in found]


def mains_of_aliases(reader: Reader) -> dict[str, str]:
    """The main name of every alias of the reader's user."""
    found = reader.rows(sql("SELECT name, main_name FROM projects WHERE") + of_user(reader))
    return {text(row[0]): text(row[1]) for row in found}


def clauses(view: View) -> dict[str, Sql]:
    """The five conditions of data_model.md §4, by name, over `memory_validity AS belief`.

    The second has two names, belief and expiry; scopes narrow the audiences held.
    """
    return {
        "audience": _among(view.audiences),
        "belief": _belief(view),
        "expiry": sql("belief.expires_at > ?", view.known_at),
        "trust": _trust(view),
        "variant": any_of("belief.variant", ("", view.filter.variant) if view.filter.variant else ("",)),
        "narrowing": _narrowing(view.filter),
    }


def visible(view: View) -> Sql:
    """The relation of visible beliefs, to be selected from: `FROM` + this."""
    return relation(clauses(view).values())


def relation(conditions: Iterable[Sql]) -> Sql:
    """The beliefs for which all these conditions hold; `visible` is this over all five clauses."""
    where = join(" AND ", conditions)
    return sql("(SELECT belief.* FROM memory_validity AS belief WHERE") + where + sql(") AS visible")


def reasons(reader: Reader, view: View, memory_id: str) -> tuple[str, ...]:
    """The names of the clauses that hide this memory from the view; empty when it is visible.

    Judged on the belief that fails fewest. Audiences the caller does not hold are told from nothing:
    for a memory that is not there the answer is ("audience",) too.
    """
    named = _told_apart(view)
    verdicts = join(", ", (sql("CASE WHEN") + clause + sql("THEN 1 ELSE 0 END") for clause in named.values()))
    rows = reader.rows(
        sql("SELECT") + verdicts + sql("FROM memory_validity AS belief WHERE belief.memory_id = ?", memory_id)
    )
    failing = [tuple(name for name, holds in zip(named, row, strict=True) if not holds) for row in rows]
    return min((f for f in failing if "audience" not in f), key=len, default=("audience",))


def audience_numbers(reader: Reader, view: View) -> list[int]:
    """The numbers of the audiences the view reads, in no promised order; those never written to have none."""
    return [number(row[0]) for row in reader.rows(_numbered(view.audiences))]


def of_user(reader: Reader, owner: LiteralString = "owner") -> Sql:
    """That a row is of the reader's user, by its column of that name."""
    return Sql(owner) + sql("= (SELECT o.owner FROM owners AS o WHERE o.user_id = ?)", reader.user_id)


def is_open(row: LiteralString) -> Sql:
    """That a belief or an edge, a row of this name, is held still; as the partial indexes say it."""
    return Sql(f"{row}.recorded_to = '{FOREVER}'")


def held(view: View) -> Sql:
    """Every belief ever held in the caller's audiences, seen or not; no narrowing applies."""
    where = _among(view.caller.audiences())
    return sql("(SELECT belief.* FROM memory_validity AS belief WHERE") + where + sql(") AS held")


def _told_apart(view: View) -> dict[str, Sql]:
    """The same clauses, each true by itself: `visible` lets one speak for another where that is quicker."""
    narrowed = (_among(view.audiences), _narrowing(view.filter))
    return {
        **clauses(view),
        "audience": _among(view.caller.audiences()),
        "trust": join(" AND ", (_admitted(view), _not_rejected_since(view))),
        "narrowing": join(" AND ", narrowed),
    }


def _among(audiences: tuple[str, ...]) -> Sql:
    return sql("belief.audience IN (") + _numbered(audiences) + sql(")")


def _numbered(audiences: tuple[str, ...]) -> Sql:
    return sql("SELECT audience FROM audiences WHERE") + any_of("name", audiences)


def _belief(view: View) -> Sql:
    holds = sql("belief.valid_from <= ? AND belief.valid_to > ?", view.as_of, view.as_of)
    if view.filter.whenever:
        holds = sql("1 = 1")
    if not view.filter.known_at:
        return join(" AND ", (is_open("belief"), holds))
    known = view.filter.known_at
    return sql("belief.recorded_from <= ? AND belief.recorded_to > ? AND", known, known) + holds


def _trust(view: View) -> Sql:
    """Where only open beliefs count, each is its memory's newest, and its own state says all."""
    if not view.filter.known_at:
        return _admitted(view)
    return join(" AND ", (_admitted(view), _not_rejected_since(view)))


def _states(view: View) -> list[str]:
    """The states asked for; rejected is for an operator's review alone."""
    return [state for state in view.filter.trust_states if state != REJECTED or view.caller.is_operator]


def _admitted(view: View) -> Sql:
    return any_of("belief.trust_state", _states(view))


def _not_rejected_since(view: View) -> Sql:
    if REJECTED in _states(view):
        return sql("1 = 1")
    return sql(
        "NOT EXISTS (SELECT 1 FROM memory_validity AS newest WHERE newest.memory_id = belief.memory_id"
        " AND newest.trust_state = 'rejected' AND newest.belief ="
        " (SELECT max(every.belief) FROM memory_validity AS every WHERE every.memory_id = belief.memory_id))"
    )


def _narrowing(narrowing: Filter) -> Sql:
    parts = [
        any_of("belief.type", narrowing.types) if narrowing.types else None,
        sql("NOT") + any_of("belief.type", narrowing.excluded_types) if narrowing.excluded_types else None,
        sql("belief.agent_id = ?", narrowing.agent_id) if narrowing.agent_id else None,
        sql("belief.conversation_id = ?", narrowing.conversation_id) if narrowing.conversation_id else None,
        sql("belief.valid_to > ?", narrowing.valid_since) if narrowing.valid_since else None,
        sql("belief.valid_from < ?", narrowing.valid_until) if narrowing.valid_until else None,
    ]
    return join(" AND ", [part for part in parts if part is not None] or [sql("1 = 1")])
