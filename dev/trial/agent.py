"""One agent of the trial: an official MCP client, and the server it starts as a child."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation, TextContent

PROTOCOL_MODE = "auto"


@dataclass(frozen=True)
class Answer:
    """What a call came to: the structured result, or the error's code; and the time the client waited."""

    milliseconds: float
    result: dict[str, Any]
    code: str = ""
    message: str = ""

    @property
    def hits(self) -> list[dict[str, Any]]:
        return self.result.get("hits", [])


class Agent:
    """A connected agent. Use `connection` as an async context."""

    def __init__(self, home: Path, agent: str, project: str) -> None:
        self.name = agent
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "m3_memory", "--agent", agent, "--project", project],
            env={"M3_HOME": str(home)},
        )
        self.connection = Client(
            stdio_client(server),
            client_info=Implementation(name=agent, version="1"),
            mode=PROTOCOL_MODE,
            cache=None,
        )

    async def tools(self) -> list[str]:
        """The names in the first list of tools."""
        return [tool.name for tool in (await self.connection.list_tools()).tools]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Calls one tool; an error of the tool is an answer too."""
        started = time.perf_counter()
        result = await self.connection.call_tool(tool, dict(arguments))
        milliseconds = 1000 * (time.perf_counter() - started)
        if not result.is_error:
            return Answer(milliseconds, result.structured_content or {})
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        error = json.loads(texts[0])
        return Answer(milliseconds, {}, error["code"], error["message"])
