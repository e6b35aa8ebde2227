"""The tool that carries out a plan about many memories."""

from __future__ import annotations

from typing import Annotated, Any

from m3_memory.catalog.params import Param, Switch
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.lifecycle import model
from m3_memory.domains.lifecycle.service import curation


@tool(
    Effect.DESTROY,
    domain="memory",
    title="Carry out a curation plan",
    brief=("link", "errors"),
    example={"plan": {"delete": ["01990a5e-7b1c-7d3e-8f00-000000000001"]}, "dry_run": True},
)
def curate_memory_apply(
    ctx: Context,
    plan: Annotated[
        dict[str, Any],
        Param(
            "keys, each optional: update [{id, …}], link [{from_id, to_id, relationship_type}], delete [ids],"
            " delete_hard [ids], expects {id: mark}, expires_at"
        ),
    ],
    dry_run: Annotated[Switch, Param("say what would be done; change nothing")] = False,
) -> model.CurationResult:
    """Carry out many changes as one operation, which one memory_undo takes back.

    What a person verified or pinned, more than 20 deletions without the grant curate, and every delete_hard
    waits for a person instead. `expects` refuses the plan where a memory changed since it was made.
    """
    return curation.curate(ctx, curation.read_plan(plan), dry_run=dry_run)
