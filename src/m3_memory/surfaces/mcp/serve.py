"""The life of a stdio server: take the streams, answer lines, leave quickly and cleanly.

It ends when the client closes its side or goes away, and on SIGTERM, SIGINT and SIGHUP; its exit code is 0.
"""

from __future__ import annotations

import os
import signal
import threading
from queue import SimpleQueue

from m3_memory.surfaces.mcp.listing import Listing
from m3_memory.surfaces.mcp.server import Server
from m3_memory.surfaces.mcp.stdio import Sink, lines, take_standard_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from m3_memory.launch import Launch
    from m3_memory.surfaces.mcp.values import OpenSession

GRACE_SECONDS = 1.5
CATALOG = __file__.rpartition("surfaces")[0] + "generated/catalog.json"


def serve(launch: Launch, open_session: OpenSession, catalog_path: str = CATALOG) -> NoReturn:
    """Serves standard input and output until the client is done, then ends the process.

    `open_session` is called by the first tool call, on a worker thread.
    """
    source, sink = take_standard_streams()
    endings: SimpleQueue[None] = SimpleQueue()

    def end(*_: object) -> None:
        endings.put(None)

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, end)
    output = Sink(sink, end)
    server = Server(launch, Listing(catalog_path), open_session, output)
    threading.Thread(target=_read, args=(source, server, endings), daemon=True).start()
    endings.get()
    server.finish(GRACE_SECONDS)
    os._exit(0)  # threads of native libraries would keep the interpreter alive


def _read(source: int, server: Server, endings: SimpleQueue[None]) -> None:
    try:
        for line in lines(source):
            server.receive(line)
    except OSError:
        pass  # the client has gone
    finally:
        endings.put(None)
