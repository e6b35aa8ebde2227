"""The life of a stdio server: take the streams, answer lines, leave quickly and cleanly.

It ends when the client closes its side or goes away, and on SIGTERM, SIGINT and SIGHUP; its exit code is 0.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

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
    ending = Ending()
    server = Server(launch, Listing(catalog_path), open_session, Sink(sink, ending.announce))
    threading.Thread(target=_read, args=(source, server, ending), daemon=True).start()
    ending.wait()
    server.finish(GRACE_SECONDS)
    os._exit(0)  # threads of native libraries would keep the interpreter alive


class Ending:
    """The end of the service, announced by any thread or by a signal.

    A pipe, because a signal that another thread receives does not wake a main thread that waits for a lock.
    """

    def __init__(self) -> None:
        self._waiting, self._announcing = os.pipe()
        if sys.platform != "win32":
            os.set_blocking(self._announcing, False)
        signal.set_wakeup_fd(self._announcing, warn_on_full_buffer=False)
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if number := getattr(signal, name, None):
                signal.signal(number, lambda _number, _frame: None)

    def announce(self) -> None:
        """Lets the main thread go on; may be called more than once."""
        os.write(self._announcing, b"\0")

    def wait(self) -> None:
        """Returns once the end was announced."""
        os.read(self._waiting, 1)


def _read(source: int, server: Server, ending: Ending) -> None:
    try:
        for line in lines(source):
            server.receive(line)
    except OSError:
        pass  # the client has gone
    finally:
        ending.announce()
