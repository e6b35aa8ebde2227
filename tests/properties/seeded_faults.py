"""Ways in which visible() could be wrong: each is its conditions with one of them altered.

A fault gets the conditions by name and gives them back changed; nothing of the product is patched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from m3_memory.kernel.caller import Caller, Scope
from m3_memory.storage.predicates import Filter, View, clauses
from m3_memory.storage.sql import Sql, any_of, join, sql
from tests.properties.oracle import OPEN

Conditions: TypeAlias = dict[str, Sql]
Fault: TypeAlias = Callable[[View, Conditions], Conditions]
Part: TypeAlias = Callable[[View], Sql]


def _dropped(name: str) -> Fault:
    """The condition is left out."""
    return lambda _, known: {key: clause for key, clause in known.items() if key != name}


def _becomes(name: str, part: Part) -> Fault:
    """The condition is another one."""
    return lambda view, known: {**known, name: part(view)}


def _also(name: str, part: Part) -> Fault:
    """The condition holds in these cases too."""
    return lambda view, known: {**known, name: sql("(") + known[name] + sql("OR") + part(view) + sql(")")}


def _only(name: str, part: Part) -> Fault:
    """The condition asks for this as well."""
    return lambda view, known: {**known, name: known[name] + sql("AND") + part(view)}


def _of_view(name: str, change: Callable[[View], View]) -> Fault:
    """The condition is made for another view than the one asked for."""
    return lambda view, known: {**known, name: clauses(change(view))[name]}


def _of_caller(change: Callable[[Caller], Caller]) -> Fault:
    return _of_view("audience", lambda view: replace(view, caller=change(view.caller)))


def _of_filter(name: str, change: Callable[[Filter], Filter]) -> Fault:
    return _of_view(name, lambda view: replace(view, filter=change(view.filter)))


def _audiences(condition: Sql) -> Sql:
    return sql("belief.audience IN (SELECT audience FROM audiences WHERE") + condition + sql(")")


def _below(view: View, beginning: str) -> Sql:
    """Every audience whose name begins so."""
    return _audiences(sql("substr(name, 1, ?) = ?", len(beginning), beginning))


def _every_project(view: View) -> Sql:
    own = view.caller.audience(Scope.AGENT)
    return _below(view, own[: own.rindex("/") + 1])


def _without_place(view: View) -> Sql:
    return _audiences(sql("name = ?", replace(view.caller, project="").audience(Scope.AGENT)))


def _held_without(scope: Scope) -> Fault:
    kept = tuple(other for other in Scope if other not in (scope, Scope.ORG))
    return _becomes("audience", lambda view: _audiences(any_of("name", view.caller.audiences(kept))))


def _times(valid: str, recorded: str, by_default: str = f"belief.recorded_to = '{OPEN}'") -> Fault:
    """The second condition, its moments compared as written here."""

    def part(view: View) -> Sql:
        text = f"{valid} AND {recorded if view.filter.known_at else by_default}"
        return Sql(
            text.replace(":as_of", f"'{view.as_of}'").replace(":known_at", f"'{view.filter.known_at}'")
        )

    return _becomes("belief", part)


_VALID = "belief.valid_from <= :as_of AND belief.valid_to > :as_of"
_RECORDED = "belief.recorded_from <= :known_at AND belief.recorded_to > :known_at"

_REJECTED_NEWEST = (
    "EXISTS (SELECT 1 FROM memory_validity AS newest WHERE newest.memory_id = belief.memory_id"
    " AND newest.trust_state = 'rejected'"
    " AND newest.belief = (SELECT max(every.belief) FROM memory_validity AS every"
    " WHERE every.memory_id = belief.memory_id))"
)

AUDIENCE: Mapping[str, Fault] = {
    "audience dropped": _dropped("audience"),
    "the user is not compared": _of_caller(lambda caller: replace(caller, user_id=caller.user_id.lower())),
    "aliases dropped": _of_caller(lambda caller: replace(caller, project_aliases=())),
    "only aliases count, not the main name": _of_caller(
        lambda caller: replace(
            caller, project=(*caller.project_aliases, caller.project)[0], project_aliases=()
        )
    ),
    "no place is everywhere": _becomes(
        "audience",
        lambda view: clauses(view)["audience"] if view.caller.project else _every_project(view),
    ),
    "every project of the circle": _also("audience", _every_project),
    "no place is seen from every project": _also("audience", _without_place),
    "a project asked for is all of them": _becomes(
        "audience",
        lambda view: _every_project(view) if view.filter.project else clauses(view)["audience"],
    ),
    "all projects are those of every circle": _also(
        "audience",
        lambda view: (
            _below(view, f"agent/{view.caller.audience(Scope.USER)[5:]}/")
            if view.filter.project == "*"
            else sql("1 = 0")
        ),
    ),
    "all projects leave out what is in none": _becomes(
        "audience",
        lambda view: _audiences(any_of("name", [a for a in view.audiences if not a.endswith("/-")])),
    ),
    "circles are not compared": _also(
        "audience", lambda view: _below(view, f"agent/{view.caller.audience(Scope.USER)[5:]}/")
    ),
    "the circle is always the shared one": _of_caller(lambda caller: replace(caller, circle="local")),
    "every session of the circle": _also(
        "audience",
        lambda view: _below(view, replace(view.caller, conversation_id="").audience(Scope.SESSION)),
    ),
    "names are not encoded": _becomes(
        "audience",
        lambda view: _audiences(
            sql("replace(replace(name, '%2F', '/'), '%2D', '-') IN (SELECT")
            + join(
                " UNION SELECT ",
                [
                    sql("replace(replace(cast(? AS text), '%2F', '/'), '%2D', '-')", name)
                    for name in view.caller.audiences()
                ],
            )
            + sql(")")
        ),
    ),
    "own project not held": _held_without(Scope.AGENT),
    "own session not held": _held_without(Scope.SESSION),
    "own user not held": _held_without(Scope.USER),
}

BELIEF: Mapping[str, Fault] = {
    "belief dropped": _dropped("belief"),
    "recorded_to ignored without known_at": _times(_VALID, _RECORDED, by_default="1 = 1"),
    "recorded_to ignored": _times(_VALID, "belief.recorded_from <= :known_at"),
    "recorded_from ignored": _times(_VALID, "belief.recorded_to > :known_at"),
    "recorded_to inclusive": _times(
        _VALID, "belief.recorded_from <= :known_at AND belief.recorded_to >= :known_at"
    ),
    "recorded_from exclusive": _times(
        _VALID, "belief.recorded_from < :known_at AND belief.recorded_to > :known_at"
    ),
    "known_at ignored": _of_filter("belief", lambda asked: replace(asked, known_at="")),
    "known_at always a moment": _of_view(
        "belief", lambda view: replace(view, filter=replace(view.filter, known_at=view.known_at))
    ),
    "a default read compares with the clock": _only(
        "belief", lambda view: sql("belief.recorded_from <= ?", view.known_at)
    ),
    "valid_from ignored": _times("belief.valid_to > :as_of", _RECORDED),
    "valid_to ignored": _times("belief.valid_from <= :as_of", _RECORDED),
    "valid_to inclusive": _times("belief.valid_from <= :as_of AND belief.valid_to >= :as_of", _RECORDED),
    "valid_from exclusive": _times("belief.valid_from < :as_of AND belief.valid_to > :as_of", _RECORDED),
    "as_of ignored": _of_filter("belief", lambda asked: replace(asked, as_of="")),
    "as_of defaults to known_at": _of_view(
        "belief",
        lambda view: replace(view, filter=replace(view.filter, as_of=view.filter.as_of or view.known_at)),
    ),
    "as_of and known_at confused": _of_filter(
        "belief", lambda asked: replace(asked, as_of=asked.known_at, known_at=asked.as_of)
    ),
    "expiry ignored": _dropped("expiry"),
    "expiry inclusive": _becomes("expiry", lambda view: sql("belief.expires_at >= ?", view.known_at)),
    "expiry against as_of": _becomes("expiry", lambda view: sql("belief.expires_at > ?", view.as_of)),
    "expiry against now": _becomes("expiry", lambda view: sql("belief.expires_at > ?", view.now)),
}

TRUST: Mapping[str, Fault] = {
    "trust ignored": _dropped("trust"),
    "candidates admitted": _also("trust", lambda _: sql("belief.trust_state = 'candidate'")),
    "rejected admitted": _also("trust", lambda _: sql("belief.trust_state = 'rejected'")),
    "only what the default admits": _of_filter(
        "trust", lambda asked: replace(asked, trust_states=("accepted", "verified"))
    ),
    "verified not admitted": _only("trust", lambda _: sql("belief.trust_state <> 'verified'")),
    "rejected shown to who asks": _of_view(
        "trust", lambda view: replace(view, caller=replace(view.caller, is_operator=True))
    ),
    "no review for operators": _of_view(
        "trust", lambda view: replace(view, caller=replace(view.caller, is_operator=False))
    ),
    "a later rejection ignored": _becomes(
        "trust",
        lambda view: any_of(
            "belief.trust_state",
            [s for s in view.filter.trust_states if s != "rejected" or view.caller.is_operator],
        ),
    ),
    "a later rejection hides from operators too": _only("trust", lambda _: Sql(f"NOT {_REJECTED_NEWEST}")),
    "any rejection ever hides": _only(
        "trust",
        lambda _: sql(
            "NOT EXISTS (SELECT 1 FROM memory_validity AS once WHERE once.memory_id = belief.memory_id"
            " AND once.trust_state = 'rejected' AND once.belief <> belief.belief)"
        ),
    ),
    "trust is today's": _becomes(
        "trust",
        lambda view: (
            sql(
                "EXISTS (SELECT 1 FROM memory_validity AS newest WHERE newest.memory_id = belief.memory_id"
                " AND newest.belief = (SELECT max(every.belief) FROM memory_validity AS every"
                " WHERE every.memory_id = belief.memory_id) AND"
            )
            + any_of("newest.trust_state", view.filter.trust_states)
            + sql(")")
        ),
    ),
}

VARIANT: Mapping[str, Fault] = {
    "variant ignored": _dropped("variant"),
    "the variant named is not shown": _of_filter("variant", lambda asked: replace(asked, variant="")),
    "any variant shown when one is named": _becomes(
        "variant", lambda view: sql("1 = 1") if view.filter.variant else sql("belief.variant = ''")
    ),
    "only the variant named": _becomes(
        "variant", lambda view: sql("belief.variant = ?", view.filter.variant)
    ),
}

NARROWING: Mapping[str, Fault] = {
    "narrowing ignored": _dropped("narrowing"),
    "types ignored": _of_filter("narrowing", lambda asked: replace(asked, types=())),
    "excluded types ignored": _of_filter("narrowing", lambda asked: replace(asked, excluded_types=())),
    "agent ignored": _of_filter("narrowing", lambda asked: replace(asked, agent_id="")),
    "conversation ignored": _of_filter("narrowing", lambda asked: replace(asked, conversation_id="")),
    "scopes ignored": _of_filter("audience", lambda asked: replace(asked, scopes=Filter().scopes)),
    "valid_since ignored": _of_filter("narrowing", lambda asked: replace(asked, valid_since="")),
    "valid_until ignored": _of_filter("narrowing", lambda asked: replace(asked, valid_until="")),
    "valid_since inclusive": _also(
        "narrowing",
        lambda view: (
            _of_filter_at(view, valid_since="") + sql("AND belief.valid_to = ?", view.filter.valid_since)
        ),
    ),
    "valid_until inclusive": _also(
        "narrowing",
        lambda view: (
            _of_filter_at(view, valid_until="") + sql("AND belief.valid_from = ?", view.filter.valid_until)
        ),
    ),
    "the caller is the agent asked for": _of_view(
        "narrowing",
        lambda view: replace(
            view, filter=replace(view.filter, agent_id=view.filter.agent_id and view.caller.agent_id)
        ),
    ),
}


def _of_filter_at(view: View, **without: str) -> Sql:
    return clauses(replace(view, filter=replace(view.filter, **without)))["narrowing"]


FAULTS: Mapping[str, Fault] = {**AUDIENCE, **BELIEF, **TRUST, **VARIANT, **NARROWING}
