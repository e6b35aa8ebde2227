"""The tool that reads what it stores from a file."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Compat, MemoryType, Param, Switch
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories import service
from m3_memory.domains.memories.model import WriteResult
from m3_memory.domains.memories.tools.single import Writing


@tool(
    Effect.WRITE,
    domain="memory",
    title="Write a memory from a file",
    brief=("conflicts", "superseded"),
    example={"path": "/home/me/atlas/docs/release.md", "type": "procedure"},
)
def memory_write_from_file(
    ctx: Context,
    path: Annotated[str, Param("absolute, below the project's folder; UTF-8, up to 200,000 bytes")],
    type: MemoryType,
    delete_after_read: Annotated[
        Switch | None, Compat("remove the file once it is stored: only one of our own spool ever is")
    ] = None,
    *,
    said: Writing,
) -> WriteResult:
    """Store the text of a file as one memory, as memory_write would.

    The file lies in the project's folder and stays there. No symbolic links.
    """
    request = said.request(ctx, "", type)
    return service.write_from_file(ctx, path, request, delete_after_read=delete_after_read)
