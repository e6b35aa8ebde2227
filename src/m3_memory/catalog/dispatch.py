"""The one call every surface makes: a tool's name and arguments in, an outcome out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, cast, runtime_checkable

from m3_memory.catalog.answers import compact, plain
from m3_memory.catalog.conversion import convert, convert_arguments
from m3_memory.catalog.registry import Catalog
from m3_memory.catalog.schema import Compat, shape_of
from m3_memory.catalog.tool import Effect, Parameter, Tool
from m3_memory.context import Context
from m3_memory.errors import InvalidArgument, M3Error, NeedsOperator, NotDispatchable

COMMON_PARAMETERS = tuple(
    Parameter(name, shape_of(hint), required=False, compat=True)
    for name, hint in {
        "timeout": Annotated[
            float, Compat("seconds the call may take, if less than the setting allows", minimum=0.001)
        ],
        "store": Annotated[
            str, Compat("the store to use, by the name it is declared under; main if none is")
        ],
        "database": Annotated[str, Compat("refused: no call chooses a database")],
    }.items()
)
"""Arguments that every tool accepts and no schema advertises."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. On failure `structured` is None and `text` is the JSON {code, message, hint}."""

    structured: dict[str, Any] | None
    text: str
    error: M3Error | None = None

    @property
    def is_error(self) -> bool:
        return self.error is not None


@runtime_checkable
class _WithHeadline(Protocol):
    def headline(self) -> str: ...


def dispatch(catalog: Catalog, context: Context, name: str, arguments: Mapping[str, object]) -> Outcome:
    """Runs a tool for the context's caller; never raises for anything the call or the tool did.

    Arguments are converted without loss or refused by name. A reading tool gets a context that can't write;
    an operating one needs an operator. `text` is the result's headline, if it has one, and then the same
    facts as `structured`, as compact JSON. What there is to say of how the caller was found and where it
    stands is in `notices` of the process's first answer, whatever the tool. An unexpected exception becomes
    the code `internal`; its traceback goes to the log and nowhere else.
    """
    try:
        return _outcome(catalog, context, name, arguments)
    except M3Error as error:
        return Outcome(
            None, compact({"code": error.code, "message": error.message, "hint": error.hint}), error
        )


@dataclass(frozen=True, slots=True)
class _BoundTools:
    """The catalog in one call's context, and with no more rights than it has."""

    catalog: Catalog
    context: Context

    def run(self, name: str, arguments: dict[str, Any], *, dry_run: bool = False) -> Any:
        tool = self.catalog.find(name)
        if not tool.dispatchable:
            raise NotDispatchable(f"{tool.name} is not run through another tool", "call it by its own name")
        if dry_run:
            _prepared(self.context, tool, arguments)
            return None
        return _outcome(self.catalog, self.context, name, arguments).structured

    def domains(self) -> list[tuple[str, str, int]]:
        return self.catalog.domains()

    def schemas(self, domain: str) -> list[dict[str, Any]]:
        return self.catalog.schemas(domain)

    def essentials(self) -> list[str]:
        return [tool.name for tool in self.catalog.essentials]


def _outcome(catalog: Catalog, context: Context, name: str, arguments: Mapping[str, object]) -> Outcome:
    """What a call that succeeds came to. Raises M3Error, and nothing else."""
    try:
        tool = catalog.find(name)
        permitted, values = _prepared(context, tool, arguments)
        bound = replace(permitted, tools=_BoundTools(catalog, permitted))
        result = tool.function(bound, **values)
        structured = _with_news(_plain_object(result), bound)
        headline = f"{result.headline()}\n" if isinstance(result, _WithHeadline) else ""
        return Outcome(structured, headline + compact(structured))
    except M3Error:
        raise
    except Exception:
        _log.exception("%s failed", name)
        raise M3Error(f"{name} failed unexpectedly", "the details are in the log on stderr") from None


def _with_news(structured: dict[str, Any], context: Context) -> dict[str, Any]:
    """The answer, and in `notices` what no answer of this process has said yet, its own warnings included."""
    news = context.news()
    lists = [structured.get(name) for name in ("warnings", "degraded")] if news else []
    within = [text for listed in lists if isinstance(listed, list) for text in cast("list[object]", listed)]
    unsaid = [notice for notice in news if notice not in context.said and notice not in within]
    context.said.update(news)
    return structured | {"notices": unsaid} if unsaid else structured


def _prepared(
    context: Context, tool: Tool, arguments: Mapping[str, object]
) -> tuple[Context, dict[str, object]]:
    """The context the tool may have, and its converted arguments: all that is checked before a call."""
    if tool.effect is Effect.OPERATE and not context.started_as.is_operator:
        raise NeedsOperator(f"{tool.name} is an operator's", "ask the operator to do it")
    common = {
        parameter.name: convert(parameter, arguments.get(parameter.name)) for parameter in COMMON_PARAMETERS
    }
    own = {name: value for name, value in arguments.items() if name not in common}
    there = _at_store(context, common)
    values = convert_arguments(tool.name, tool.parameters, own)
    timed = replace(there, deadline=_deadline(context, common["timeout"]))
    return (timed.reading() if tool.effect is Effect.READ else timed), values


def _at_store(context: Context, common: Mapping[str, object]) -> Context:
    """The context at the store that is named, or where it is: in a nested call, at the outer one's."""
    if common["database"]:
        raise InvalidArgument(
            "no call chooses a database", "leave database out; store names a declared store"
        )
    store = common["store"]
    return context.at(store) if isinstance(store, str) and store else context


def _deadline(context: Context, timeout: object) -> float:
    """When the call's time is up: a timeout can only shorten what the surface, or the outer call, left it."""
    if not isinstance(timeout, float):
        return context.deadline
    return min(context.deadline, context.clock.monotonic() + timeout)


def _plain_object(result: object) -> dict[str, Any]:
    found = plain(result)
    if not isinstance(found, dict):
        raise TypeError("a tool's result is an object")
    return cast("dict[str, Any]", found)
