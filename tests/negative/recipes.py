"""How every reading tool is asked: arguments made from its parameters, each with all that might widen it.

A parameter that is not in the table has no recipe, and its tool fails the tests of this folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from m3_memory.catalog.dispatch import COMMON_PARAMETERS
from m3_memory.catalog.tool import Effect, Parameter, Tool
from m3_memory.kernel.caller import Caller
from m3_memory.toolbox import CATALOG
from tests.negative.scene import READER, Canary
from tests.sizes import size

Arguments = dict[str, object]

OF_TOOLS = "it tells of tools, not of memories"
OF_AGENTS = "it tells of agents, not of memories"
"""Why a reading tool may be without recipe: it says so itself."""

READING = tuple(tool for tool in CATALOG.tools if tool.effect is Effect.READ)
OF_MEMORIES = tuple(tool for tool in READING if tool.timeless not in (OF_TOOLS, OF_AGENTS))

ADDRESSES = frozenset({"query", "id", "memory_id"})
"""The parameters by which a call means one memory."""

COUNTING = frozenset({"memory_lifecycle_summary", "review_list"})
"""Tools that name only what something befell: test_lifecycle.py and test_review.py have their control."""

NAMING = frozenset({"user_id", "requesting_agent", "agent_filter", "conversation_id", "variant", "project"})
"""The parameters by which a call may name somebody, or something of theirs."""

SHARES = size(6, 1)
"""Into so many shares the values of a parameter are dealt among the canaries."""

MOMENTS = (
    "0001-01-01", "2026-01-01T00:00:02Z", "2026-01-01T00:00:30Z", "2026-06-01", "9999-12-31T23:59:59.999999Z",
)  # fmt: skip


class Call(NamedTuple):
    """One call of a reading tool; `plain` ones must find the canary for whoever holds it."""

    tool: str
    arguments: Arguments
    plain: bool

    def through_dispatcher(self) -> Iterator[Call]:
        """The same through m3_call, alone and in a batch."""
        one: Arguments = {"tool": self.tool, "args": self.arguments}
        yield Call("m3_call", one, self.plain)
        yield Call("m3_call", {"batch": [one]}, self.plain)


def calls(tool: Tool, canary: Canary) -> Iterator[Call]:
    """Everything that is asked of a tool about a canary: each address, and each argument beside the first."""
    addressed = list(_addressed(tool, canary))
    for arguments in addressed:
        plain = Call(tool.name, arguments, tool.name not in COUNTING and not _is_vague(arguments, canary))
        yield plain
        yield from plain.through_dispatcher()
        for more in _modes(tool) if tool.essential or arguments == addressed[0] else ():
            yield plain._replace(arguments=arguments | more)
    for parameter in (*tool.parameters, *COMMON_PARAMETERS):
        for value in () if parameter.name in ADDRESSES else _dealt(parameter, canary):
            yield Call(tool.name, addressed[0] | {parameter.name: value}, plain=False)


def _dealt(parameter: Parameter, canary: Canary) -> Iterator[object]:
    """This canary's share of the values; between them the canaries of a scene are tried with all.

    Who may widen by a name is tried with every name that the canary's owner has and the reader has not.
    """
    tried = values(parameter, canary)
    own = set(_named(canary)) - set(_names(READER)) if parameter.name in NAMING else ()
    turn = ord(canary.letter) % SHARES
    return (
        value
        for n, value in enumerate(tried)
        if n % SHARES == turn % len(tried) or (isinstance(value, str) and value in own)
    )


def values(parameter: Parameter, canary: Canary) -> Sequence[object]:
    """What is tried for a parameter. Raises KeyError for one without recipe."""
    table: Mapping[str, Sequence[object]] = {
        "query": [canary.content, canary.word, canary.title, canary.note, canary.agent, "passphrase door"],
        "id": ids(canary),
        "memory_id": ids(canary),
        "k": [1, 3, 100],
        "limit": [1, 100],
        "cursor": [f"memory:{canary.id}", f"edge:{canary.id}::", *hostile(canary)],
        "order": ["oldest"],
        "counts": [True],
        "since": MOMENTS,
        "until": MOMENTS,
        "valid_since": MOMENTS,
        "valid_until": MOMENTS,
        "min_importance": [0, 0.9],
        "pinned": [True, False],
        "trust_state": ["accepted", "verified", "candidate", "rejected"],
        "explain_id": ids(canary),
        "stores": ["main", "main,other", *hostile(canary)],
        "databases": ["main", "/etc/passwd", *hostile(canary)],
        "fan_out_limit": [2],
        "depth": [2, 3],
        "offset": [0, 1],
        "review_id": ids(canary),
        "subject": ids(canary),
        "relationship_types": [["related"], ["supports", "supersedes"]],
        "type_filter": ["fact", ""],
        "agent_filter": hostile(canary),
        "user_id": hostile(canary),
        "requesting_agent": hostile(canary),
        "conversation_id": hostile(canary),
        "scope": ["agent", "session", "user", "org", *hostile(canary)],
        "variant": hostile(canary),
        "search_mode": ["hybrid", "keyword", "vector", "semantic"],
        "as_of": MOMENTS,
        "known_at": MOMENTS,
        "include_scratchpad": [True],
        "include_bench_data": [True],
        "adaptive_k": [True],
        "explain": [True],
        "recency_bias": [1.0],
        "agent_id": hostile(canary),
        "include_future": [True],
        "window_days": [1, 3650],
        "top_n": [0, 100],
        "project": ["-", *hostile(canary)],
        "timeout": [20, 300],
        "store": hostile(canary),
        "database": hostile(canary),
    }
    return table[parameter.name]


def ids(canary: Canary) -> list[object]:
    """The whole id in its forms, and its beginning but for the last character."""
    return [canary.id, canary.id.upper(), canary.id.replace("-", ""), canary.id[:-1]]


def hostile(canary: Canary) -> list[object]:
    """Values that old clients, or worse ones, send in the hope of seeing more."""
    tricks = ["", "*", "%", "_", "null", "' OR '1'='1", "x' OR audience LIKE '%", '") OR 1=1 --', "../*"]
    return [*tricks, *_named(canary), None, [canary.agent, "claude"], ["*"], {"$ne": ""}]


def _named(canary: Canary) -> list[str]:
    """The names of who holds the canary."""
    return [*_names(canary.owner.caller), canary.conversation]


def _names(caller: Caller) -> tuple[str, ...]:
    return (caller.user_id, caller.agent_id, caller.circle, caller.project, caller.conversation_id)


def _addressed(tool: Tool, canary: Canary) -> Iterator[Arguments]:
    """By everything that may mean the canary; what takes no such argument tells of all there is."""
    addresses = [parameter for parameter in tool.parameters if parameter.name in ADDRESSES]
    if not addresses:
        yield {}
    for address in addresses:
        for value in values(address, canary):
            yield {address.name: value}


def _is_vague(arguments: Arguments, canary: Canary) -> bool:
    """Whether these words are not the canary's own: nobody need find it by them."""
    return arguments.get("query") in (canary.note, canary.agent, "passphrase door")


def _modes(tool: Tool) -> Iterator[Arguments]:
    """Every mode of a search with few and many results."""
    if "search_mode" in {parameter.name for parameter in tool.parameters}:
        for mode in ("hybrid", "keyword", "vector"):
            for k in (1, 2, 3):
                yield {"search_mode": mode, "k": k}
