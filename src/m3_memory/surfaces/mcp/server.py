"""The Model Context Protocol, both eras, decided per request; what a tool does is not its business."""

from __future__ import annotations

from m3_memory.kernel.suggestion import likely
from m3_memory.surfaces.mcp.calls import Call, Failure, Pool, SharedSession, report
from m3_memory.surfaces.mcp.client import Connection, KnownClient, Questions
from m3_memory.surfaces.mcp.stdio import Oversized, decoded, encoded
from m3_memory.surfaces.mcp.versions import LEGACY, MODERN, since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.launch import Launch
    from m3_memory.surfaces.mcp.listing import Listing
    from m3_memory.surfaces.mcp.stdio import Sink
    from m3_memory.surfaces.mcp.values import Client, Json, Object, OpenSession, Outcome, RequestId

PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL, BAD_VERSION = -32700, -32600, -32601, -32602, -32603, -32022
MESSAGE_LIMIT_BYTES = 4 * 1024 * 1024
"""Every official client takes 5 MB whole; the longest memory there can be is under 2 MB, as text and as
structure and with every character escaped. So whatever was written can be read. Lists have smaller budgets.
"""

LIST_TTL_MS = 300_000
_KEY = "io.modelcontextprotocol/"
_LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_STRUCTURED = since("2025-06-18")


class ProtocolError(Exception):
    """A request that is answered by a protocol error."""

    def __init__(self, code: int, message: str, data: Object | None = None) -> None:
        super().__init__(message)
        self.error: Object = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Request:
    """One request with its era: `connection` is what `initialize` agreed on, None in the modern era."""

    def __init__(self, request_id: RequestId, method: str, params: Object) -> None:
        self.id = request_id
        self.method = method
        self.params = params
        meta = params.get("_meta")
        self.meta: Object = meta if isinstance(meta, dict) else {}
        self.is_modern = method != "initialize" and _KEY + "protocolVersion" in self.meta
        self.connection: Connection | None = None
        self.revision = since(MODERN)

    def client(self) -> Client:
        """Who asks: as introduced once, or as this request says."""
        return self.connection.client if self.connection else KnownClient(self.meta.get(_KEY + "clientInfo"))


class Server:
    """Turns incoming lines into outgoing ones. `receive` is for one thread; calls answer from others."""

    def __init__(self, launch: Launch, listing: Listing, open_session: OpenSession, sink: Sink) -> None:
        self._listing = listing
        self._sink = sink
        self._session = SharedSession(launch, open_session)
        self._pool = Pool(sink.write)
        self._questions = Questions(self._send)
        self._chosen = listing.chosen(launch.tools)
        self._connection: Connection | None = None
        self._info: Object = {"name": "m3-memory", "version": listing.version}
        self._legacy: dict[str, Callable[[Request], Object | None]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": self._tools_list,
            "tools/call": self._tools_call,
        }
        self._modern: dict[str, Callable[[Request], Object | None]] = {
            "server/discover": self._discover,
            "tools/list": self._tools_list,
            "tools/call": self._tools_call,
        }

    def receive(self, line: bytes | Oversized) -> None:
        """Handles one incoming line and never raises."""
        if isinstance(line, Oversized):
            self._refuse(line.id, ProtocolError(INVALID, "The line is too long: the limit is 16 MiB"))
            return
        try:
            message = decoded(line)
        except (ValueError, RecursionError):
            self._refuse(None, ProtocolError(PARSE, "Parse error"))
            return
        if isinstance(message, dict):
            self._dispatch(message)
        else:
            self._refuse(None, ProtocolError(INVALID, "A message is one JSON object; there are no batches"))

    def finish(self, grace_seconds: float) -> None:
        """Lets accepted calls come to their end within the time given, then closes the session."""
        self._questions.abandon()
        if self._pool.drained(grace_seconds):
            self._session.close()

    def _dispatch(self, message: Object) -> None:
        method, params = message.get("method"), message.get("params")
        request_id = _request_id(message.get("id"))
        if isinstance(method, str) and "id" not in message:
            self._notified(method, params)
        elif message.get("jsonrpc") != "2.0":
            self._refuse(request_id, ProtocolError(INVALID, 'jsonrpc must be "2.0"'))
        elif "method" not in message and ("result" in message or "error" in message):
            self._questions.answered(message)
        elif request_id is None or not isinstance(method, str):
            self._refuse(
                request_id, ProtocolError(INVALID, "id must be a string or an integer, method a string")
            )
        else:
            self._respond(request_id, method, params)

    def _respond(self, request_id: RequestId, method: str, params: Json) -> None:
        try:
            if params is not None and not isinstance(params, dict):
                raise ProtocolError(BAD_PARAMS, "params must be an object")
            request = Request(request_id, method, params or {})
            handler = self._modern_handler(request) if request.is_modern else self._legacy_handler(request)
            if (result := handler(request)) is not None:
                self._send(self._finished(request, result))
        except ProtocolError as refusal:
            self._refuse(request_id, refusal)
        except Exception as error:  # noqa: BLE001 - a request is always answered
            report(error)
            self._refuse(request_id, ProtocolError(INTERNAL, "Internal error"))

    def _modern_handler(self, request: Request) -> Callable[[Request], Object | None]:
        meta = request.meta
        version, level = meta[_KEY + "protocolVersion"], meta.get(_KEY + "logLevel")
        if not isinstance(version, str):
            raise ProtocolError(BAD_PARAMS, "protocolVersion must be a string")
        if version != MODERN:
            data: Object = {"supported": [MODERN], "requested": version}
            raise ProtocolError(BAD_VERSION, f"Unsupported protocol version: {version}", data)
        if not isinstance(meta.get(_KEY + "clientCapabilities"), dict):
            raise ProtocolError(BAD_PARAMS, "clientCapabilities must be an object")
        if level is not None and level not in _LOG_LEVELS:
            raise ProtocolError(BAD_PARAMS, f"logLevel must be one of {', '.join(_LOG_LEVELS)}")
        if handler := self._modern.get(request.method):
            return handler
        raise ProtocolError(NO_METHOD, f"Method not found: {request.method}")

    def _legacy_handler(self, request: Request) -> Callable[[Request], Object | None]:
        handler = self._legacy.get(request.method)
        if handler is None:
            raise ProtocolError(NO_METHOD, f"Method not found: {request.method}")
        if self._connection:
            request.connection, request.revision = self._connection, self._connection.revision
        elif request.method not in ("initialize", "ping"):
            raise ProtocolError(BAD_PARAMS, "Send initialize first, or give the protocol version in _meta")
        return handler

    def _initialize(self, request: Request) -> Object:
        asked, params = request.params.get("protocolVersion"), request.params
        if not isinstance(asked, str):
            raise ProtocolError(BAD_PARAMS, "protocolVersion must be a string")
        version = asked if asked in LEGACY else LEGACY[-1]
        self._connection = Connection(
            since(version), params.get("clientInfo"), params.get("capabilities"), self._questions
        )
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": self._info,
            "instructions": self._listing.instructions,
        }

    def _discover(self, _: Request) -> Object:
        return {
            "supportedVersions": [MODERN, *LEGACY],
            "capabilities": {"tools": {}},
            "instructions": self._listing.instructions,
            **_cache_hints(),
        }

    def _tools_list(self, request: Request) -> Object:
        if request.params.get("cursor") is not None:
            raise ProtocolError(BAD_PARAMS, "Unknown cursor: the list has one page")
        domains = self._chosen | request.connection.loaded if request.connection else self._chosen
        tools: Object = {"tools": [*self._listing.entries(domains, request.revision)]}
        return tools if request.connection else tools | _cache_hints()

    def _tools_call(self, request: Request) -> None:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if not isinstance(name, str):
            raise ProtocolError(BAD_PARAMS, "name must be a string")
        if arguments is not None and not isinstance(arguments, dict):
            raise ProtocolError(BAD_PARAMS, "arguments must be an object")
        if not self._listing.has(name):
            near = likely(name, self._listing.tools)
            raise ProtocolError(
                BAD_PARAMS, f"Unknown tool: {name[:200]}" + (f"; near: {', '.join(near)}" if near else "")
            )
        call = Call(request.id, lambda call: self._performed(request, call, name, arguments or {}))
        if not self._pool.submit(call):
            raise ProtocolError(INVALID, "A call of this id is still running")

    def _performed(self, request: Request, call: Call, name: str, arguments: Object) -> bytes:
        try:
            session, client = self._session.get(), request.client()
            outcome = session.call(name, arguments, client, call.is_cancelled)
            connection = request.connection
            decision = connection.elicited(arguments, outcome) if connection else ""
            if decision and not call.is_cancelled():
                outcome = session.settle(outcome, decision, client, call.is_cancelled)
            line = self._called(request, outcome)
            if request.connection:
                self._note_loaded(request.connection, name, outcome)
        except Exception as error:  # noqa: BLE001 - worker loop
            return self._called(request, Failure.of(error))
        if len(line) <= MESSAGE_LIMIT_BYTES:
            return line
        return self._called(request, Failure.too_large(len(line), MESSAGE_LIMIT_BYTES))

    def _called(self, request: Request, outcome: Outcome) -> bytes:
        result: Object = {"content": [{"type": "text", "text": outcome.text}]}
        if outcome.is_error:
            result["isError"] = True
        elif outcome.structured is not None and request.revision >= _STRUCTURED:
            result["structuredContent"] = outcome.structured
        return encoded(self._finished(request, result))

    def _note_loaded(self, connection: Connection, name: str, outcome: Outcome) -> None:
        """A domain loaded on a connection joins its list; the client is told before it has the answer."""
        domain = "" if outcome.is_error else _loaded_domain(name, outcome.structured or {})
        if domain in self._listing.domains - self._chosen - connection.loaded:
            connection.loaded |= {domain}
            if connection.is_ready:
                self._send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def _notified(self, method: str, params: Json) -> None:
        connection = self._connection
        match method:
            case "notifications/initialized" if connection:
                connection.is_ready = True
            case "notifications/roots/list_changed" if connection:
                connection.forget_roots()
            case "notifications/cancelled" if isinstance(params, dict):
                self._pool.cancel(_request_id(params.get("requestId")))
            case _:
                pass

    def _finished(self, request: Request, result: Object) -> Object:
        if request.is_modern:
            result = {"resultType": "complete", **result, "_meta": {_KEY + "serverInfo": self._info}}
        return {"jsonrpc": "2.0", "id": request.id, "result": result}

    def _refuse(self, request_id: RequestId | None, refusal: ProtocolError) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "error": refusal.error})

    def _send(self, message: Object) -> None:
        self._sink.write(encoded(message))


def _request_id(value: Json) -> RequestId | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _cache_hints() -> Object:
    return {"ttlMs": LIST_TTL_MS, "cacheScope": "private"}


def _loaded_domain(name: str, structured: Object) -> str:
    loaded: Json = structured
    if name == "m3_call":
        name, loaded = str(structured.get("tool")), structured.get("result")
    domain = loaded.get("domain") if name == "tools_load_domain" and isinstance(loaded, dict) else None
    return domain if isinstance(domain, str) else ""
