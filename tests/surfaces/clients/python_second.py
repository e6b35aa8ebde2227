"""Plays a scenario with the official Python client of the second generation (`mcp` 2.x).

Reads {command, env, mode, calls, abandoned, parallel} from its first argument, prints what it saw; both are
JSON. `mode` is `legacy`, `auto` or a version.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation, ListRootsResult, TextContent


async def answer(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        result = await client.call_tool(name, arguments)
    except MCPError as error:
        return {"code": error.error.code}
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return {"texts": texts, "structured": result.structured_content, "is_error": bool(result.is_error)}


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult.model_validate({"roots": [{"uri": "file:///place"}]})


async def play(scenario: dict[str, Any]) -> dict[str, Any]:
    command = scenario["command"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=scenario["env"])
    notified: list[str] = []
    failures: list[str] = []

    async def heard(message: Any) -> None:
        if isinstance(message, Exception):
            failures.append(repr(message))
        else:
            notified.append(message.method)

    client = Client(
        stdio_client(server),
        client_info=Implementation(name="conformance", version="1"),
        mode=scenario["mode"],
        list_roots_callback=roots,
        message_handler=heard,
        cache=None,
    )
    async with client:
        known = client.server_info
        report: dict[str, Any] = {
            "server": [known.name, known.version] if known else None,
            "instructions": client.instructions,
            "protocol": client.protocol_version,
        }
        report["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        report["answers"] = [await answer(client, *call) for call in scenario["calls"]]
        report["tools_after"] = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in scenario["abandoned"]:
            try:
                await client.call_tool(name, arguments, read_timeout_seconds=0.3)
            except MCPError:
                report["abandoned"] = True
        report["parallel"] = await asyncio.gather(*(answer(client, *call) for call in scenario["parallel"]))
        if client.protocol_version < "2026":
            await client.session.send_ping()
    return report | {"notified": notified, "failures": failures}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(json.loads(sys.argv[1])))))
