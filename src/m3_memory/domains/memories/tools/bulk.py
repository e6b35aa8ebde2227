"""Tools for many memories in one call."""

from __future__ import annotations

from typing import Annotated, Any, cast

from m3_memory.catalog.conversion import convert, convert_arguments
from m3_memory.catalog.params import Compat, Param, Switch
from m3_memory.catalog.schema import shape_of
from m3_memory.catalog.tool import Effect, Parameter, Tool, tool
from m3_memory.context import Context
from m3_memory.domains.memories import service
from m3_memory.domains.memories.model import WriteRequest
from m3_memory.domains.memories.service.reports import BulkChanged, BulkWritten
from m3_memory.domains.memories.tools import single
from m3_memory.errors import M3Error
from m3_memory.kernel.ids import parse_full
from m3_memory.kernel.narrowing import ensure_own

MAX_ITEMS = 10_000


def _as_it_came(value: Any) -> object:
    """Each item is judged for itself, so that a bad one stops no other."""
    return value


Item = Annotated[dict[str, Any], Param(parse=_as_it_came)]


@tool(
    Effect.WRITE,
    domain="memory",
    title="Write many memories",
    example={"items": [{"type": "fact", "content": "The stack is Python 3.12 with Postgres 17."}]},
)
def memory_write_bulk(
    ctx: Context,
    items: Annotated[list[Item], Param("arguments of memory_write each", max_items=MAX_ITEMS)],
    defaults: Annotated[dict[str, Any] | None, Param("arguments that items leave out")] = None,
) -> BulkWritten:
    """Store many statements, each as memory_write would; one that is refused stops no other.

    Answers in the items' order; a repeated call answers `duplicate` for what is stored. Stored in chunks:
    when time runs out, the items that are left say so.
    """
    requests = [_write_request(ctx, place, item, defaults or {}) for place, item in enumerate(items)]
    return service.write_bulk(ctx, requests)


@tool(
    Effect.WRITE,
    domain="memory",
    title="Correct many memories' records",
    idempotent=True,
    example={"updates": [{"id": "01990a5e-7b1c-7d3e-8f00-000000000001", "importance": 0.9}]},
)
def memory_update_bulk(
    ctx: Context,
    updates: Annotated[list[Item], Param("arguments of memory_update each", max_items=MAX_ITEMS)],
) -> BulkChanged:
    """Correct many records, each as memory_update would; one that is refused stops no other.

    One operation: it can be undone at once.
    """
    return service.update_bulk(ctx, [_update_request(place, item) for place, item in enumerate(updates)])


@tool(
    Effect.DESTROY,
    domain="memory",
    title="Delete many memories",
    brief=("results",),
    example={"ids": ["01990a5e-7b1c-7d3e-8f00-000000000001"]},
)
def memory_delete_bulk(
    ctx: Context,
    ids: Annotated[list[str], Param("full ids", max_items=MAX_ITEMS)],
    hard: Annotated[Switch, Compat("erase for good; only a person may")] = False,
) -> BulkChanged:
    """Delete many memories, each as memory_delete would; one that is refused stops no other.

    One operation: it can be undone at once.
    """
    return service.delete_bulk(ctx, [service.tried(parse_full, memory_id) for memory_id in ids], hard=hard)


def _write_request(
    ctx: Context, place: int, item: object, defaults: dict[str, Any]
) -> WriteRequest | M3Error:
    values = service.tried(_values, single.memory_write, f"items[{place}]", item, defaults)
    if isinstance(values, M3Error):
        return values
    claimed = {name: str(values.pop(name)) for name in single.IDENTITY}
    wider = service.tried(ensure_own, ctx.caller, **claimed)
    return wider if isinstance(wider, M3Error) else WriteRequest(**values)


def _update_request(place: int, item: object) -> service.UpdateRequest | M3Error:
    values = service.tried(_values, single.memory_update, f"updates[{place}]", item, {})
    return values if isinstance(values, M3Error) else service.UpdateRequest(**values)


def _values(of: Tool, name: str, item: object, defaults: dict[str, Any]) -> dict[str, Any]:
    """What the tool for one would be given for this item. Raises InvalidInput."""
    given = cast("dict[str, Any]", convert(Parameter(name, shape_of(dict)), item))
    own = {key: value for key, value in given.items() if value is not None}
    return convert_arguments(name, of.parameters, defaults | own)
