"""Plays a scenario with the official Python client of the first generation (`mcp` 1.x).

Reads {command, env, calls, abandoned, parallel} from its first argument, prints what it saw; both are JSON.
"""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client


async def answer(session: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        result = await session.call_tool(name, arguments)
    except McpError as error:
        return {"code": error.error.code}
    texts = [block.text for block in result.content]
    return {"texts": texts, "structured": result.structuredContent, "is_error": bool(result.isError)}


async def abandoned(session: Any, name: str, arguments: dict[str, Any]) -> bool:
    """Gives a call up; this generation leaves saying so to its user."""
    request_id = session._request_id
    try:
        await session.call_tool(name, arguments, read_timeout_seconds=timedelta(seconds=0.3))
    except McpError:
        params = types.CancelledNotificationParams(requestId=request_id, reason="bored")
        cancelled = types.CancelledNotification(method="notifications/cancelled", params=params)
        await session.send_notification(types.ClientNotification(cancelled))
        return True
    return False


async def roots(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///place"}]})


async def play(scenario: dict[str, Any]) -> dict[str, Any]:
    command = scenario["command"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=scenario["env"])
    notified: list[str] = []
    failures: list[str] = []

    async def heard(message: Any) -> None:
        if isinstance(message, Exception):
            failures.append(repr(message))
        elif isinstance(message, types.ServerNotification):
            notified.append(message.root.method)

    info = types.Implementation(name="conformance", version="1")
    async with (
        stdio_client(server) as streams,
        ClientSession(
            *streams, client_info=info, list_roots_callback=roots, message_handler=heard
        ) as session,
    ):
        opened = await session.initialize()
        report: dict[str, Any] = {
            "server": [opened.serverInfo.name, opened.serverInfo.version],
            "instructions": opened.instructions,
            "protocol": opened.protocolVersion,
        }
        report["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        report["answers"] = [await answer(session, *call) for call in scenario["calls"]]
        report["tools_after"] = [tool.name for tool in (await session.list_tools()).tools]
        for name, arguments in scenario["abandoned"]:
            report["abandoned"] = await abandoned(session, name, arguments)
        report["parallel"] = await asyncio.gather(*(answer(session, *call) for call in scenario["parallel"]))
        await session.send_ping()
    return report | {"notified": notified, "failures": failures}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(json.loads(sys.argv[1])))))
