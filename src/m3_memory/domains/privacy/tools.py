"""Tools that move memories out and in."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Label, Param, Switch, Timestamp, TypeFilter
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.privacy import service
from m3_memory.domains.privacy.model import ExportPage, ImportResult
from m3_memory.storage.predicates import Filter

PageSize = Annotated[int, Param("how many lines at most", minimum=1, maximum=1000)]


@tool(Effect.READ, domain="memory", title="Export memories", example={"limit": 100}, brief=("lines",))
def memory_export(
    ctx: Context,
    agent_filter: Annotated[Label, Param("only what this agent wrote")] = "",
    type_filter: TypeFilter = "",
    since: Annotated[Timestamp, Param("only what the store came to believe since then")] = "",
    as_of: Annotated[Timestamp, Param("what held then")] = "",
    known_at: Annotated[Timestamp, Param("what the store believed then")] = "",
    variant: Annotated[Label, Param("the experiment whose tagged memories come too")] = "",
    cursor: Annotated[Label, Param("next_cursor of the page before")] = "",
    limit: PageSize = 200,
) -> ExportPage:
    """Everything you may see, in pages: memories by id, then the edges between them; no search, no ranking.

    `lines` are what memory_import takes, one JSON object each. Go on with `cursor` until an answer has no
    `next_cursor`; `known_at` keeps all pages at one moment. To find something use memory_search; a person
    writes files of any size with m3 export.
    """
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        variant=variant,
        types=(type_filter,) if type_filter else (),
        agent_id=agent_filter,
    )
    return service.export_page(ctx, narrowing, since, cursor, limit)


@tool(
    Effect.WRITE,
    domain="memory",
    title="Import memories",
    idempotent=True,
    example={"data": '{"kind": "memory", "content": "Releases leave on Tuesdays", "type": "fact"}'},
)
def memory_import(
    ctx: Context,
    data: Annotated[str, Param("lines of memory_export, one JSON object each; or one object with items")],
    dry_run: Annotated[Switch, Param("tell what would come in; store nothing")] = False,
) -> ImportResult:
    """Write what an export says, as yours: each line checked as memory_write does, bad ones named.

    Ids and world times are kept. All of it waits as candidate until a person accepts it; what a file says of
    users, trust or store times is ignored. What is here already changes nothing, so a second import is safe;
    another text under a known id is put to a person.
    """
    return service.import_text(ctx, data, dry_run=dry_run)
