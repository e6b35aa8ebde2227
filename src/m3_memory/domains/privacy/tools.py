"""Tools that move memories out and in."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import (
    Compat,
    Label,
    Limit,
    Metadata,
    Param,
    ProjectName,
    Switch,
    Timestamp,
    TypeFilter,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.privacy import service
from m3_memory.domains.privacy.model import ExportPage, ForgetResult, ImportResult, Subject, SubjectAccess
from m3_memory.kernel.ids import parse_full
from m3_memory.kernel.narrowing import ensure_own
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
    project: ProjectName = "",
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
        project=project,
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


Ids = Annotated[list[str], Param("these memories, by their full ids")]
AgentName = Annotated[Label, Param("all that this agent wrote")]
Project = Annotated[Label, Param("all of this project, under all its names")]
Conversation = Annotated[Label, Param("all of this conversation")]
Own = Annotated[Label, Param("everything of this user, who is you")]


@tool(Effect.OPERATE, domain="admin", title="Show all that is held of somebody", example={"agent": "codex"})
def gdpr_export(
    ctx: Context,
    user_id: Own | None = None,
    agent: AgentName | None = None,
    project: Project | None = None,
    conversation_id: Conversation | None = None,
    ids: Ids | None = None,
    cursor: Annotated[Label, Param("next_cursor of the page before")] = "",
    limit: Limit = 50,
) -> SubjectAccess:
    """Show every row that is held about a subject's memories, also of those no read shows. Only a person may.

    The subject is an agent, a project, a conversation, a list of ids, or else everything of the user. Go on
    with `cursor` until an answer has no `next_cursor`.
    """
    ensure_own(ctx.started_as, user_id=user_id or "")
    subject = service.subject_of(
        user_id=user_id, agent=agent, project=project, conversation_id=conversation_id, ids=_full(ids)
    )
    return service.subject_access(ctx, subject or Subject("user", ()), cursor, limit)


@tool(
    Effect.OPERATE,
    domain="admin",
    title="Erase all that is held of somebody",
    example={"ids": ["01990a5e-7b1c-7d3e-8f00-000000000001"]},
)
def gdpr_forget(
    ctx: Context,
    user_id: Own | None = None,
    agent: AgentName | None = None,
    project: Project | None = None,
    conversation_id: Conversation | None = None,
    ids: Ids | None = None,
    query: Annotated[Label, Param("propose what a search finds; nothing is erased by it")] = "",
    confirm: Annotated[Label, Param("the `confirm` of the preview: erase exactly that")] = "",
    keep_backups: Annotated[Switch, Param("keep backups, which hold the texts still")] = False,
    compliance: Annotated[Metadata, Compat("an operator's note; keep it where it belongs")] | None = None,
) -> ForgetResult:
    """Erase a subject's memories for good, first shown, then with `confirm`. Only a person may.

    Name one subject; your own `user_id` is everything of yours. With them goes all that was derived from them
    alone, their bytes in the store's files, and backups, of which one is made anew. What they said may not be
    stored again unless tombstone_lift allows it.
    """
    ensure_own(ctx.started_as, user_id=user_id or "")
    subject = service.subject_of(
        user_id=user_id, agent=agent, project=project, conversation_id=conversation_id, ids=_full(ids)
    )
    return service.forget(ctx, subject, query, confirm, keep_backups=keep_backups)


def _full(ids: list[str] | None) -> list[str] | None:
    return ids if ids is None else [*map(parse_full, ids)]
