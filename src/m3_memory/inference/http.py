"""One request to one address: within a time, with a bounded answer, and to nowhere else.

No redirect is followed, no proxy asked, no cookie kept; TLS is verified against the system's authorities.
Imported only by who has an endpoint.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import TYPE_CHECKING, Any, NamedTuple

from m3_memory.kernel.endpoint import Address

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_BYTES = 1 << 24
_THIS_MACHINE = ("127.0.0.1", "::1")


class NoAnswer(Exception):
    """There is none to be used; the message tells people why, without anything that the server wrote."""


class Passing(NoAnswer):
    """There may be one if it is asked again."""


class TimeUp(NoAnswer):
    """There is none in the time given."""


class Answer(NamedTuple):
    """A whole answer. `asks_for_pause` says that it names a time before which not to ask again."""

    status: int
    body: bytes
    asks_for_pause: bool


class Server:
    """One server at the places its name stood for when this was made, which may raise OSError.

    A name is looked up once, as that may take longer than any call has; `localhost` never.
    """

    def __init__(self, address: Address, key: str) -> None:
        self._address = address
        self._headers = {"Content-Type": "application/json", "Connection": "close"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._hosts = _THIS_MACHINE if address.host == "localhost" else _found(address)
        self._tls = ssl.create_default_context() if address.scheme == "https" else None

    def post(self, body: bytes, until: float) -> Answer:
        """Sends `body` and reads the whole answer before the monotonic time `until`. Raises NoAnswer."""
        try:
            with self._connected(until) as sock:
                return self._exchanged(sock, body, until)
        except TimeoutError as error:
            raise TimeUp("does not answer in time") from error
        except ssl.SSLCertVerificationError as error:
            raise NoAnswer(f"has a certificate that is not trusted: {error.verify_message}") from error
        except IncompleteRead as error:
            raise Passing("hangs up in the middle") from error
        except OSError as error:
            raise Passing(f"can't be reached: {error.strerror or type(error).__name__}") from error
        except HTTPException as error:
            raise Passing(f"does not speak HTTP as it should: {type(error).__name__}") from error

    def _connected(self, until: float) -> socket.socket:
        problem = OSError("the host has no address")
        for host in self._hosts:
            try:
                found = socket.create_connection((host, self._address.port), _left(until))
            except OSError as error:
                problem = error
                continue
            return self._tls.wrap_socket(found, server_hostname=self._address.host) if self._tls else found
        raise problem

    def _exchanged(self, sock: socket.socket, body: bytes, until: float) -> Answer:
        sender = HTTPConnection(self._address.host, self._address.port)
        sender.sock = sock
        sock.settimeout(_left(until))
        sender.request("POST", self._address.path, body, self._headers)
        timed: Any = _TimedReader(sock, until)
        response = HTTPResponse(timed, method="POST")
        response.begin()
        content = response.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise NoAnswer(f"sends more than {MOST_BYTES:,} bytes")
        if response.length:
            raise IncompleteRead(content, response.length)
        return Answer(response.status, content, response.getheader("Retry-After") is not None)


def _found(address: Address) -> tuple[str, ...]:
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return tuple(str(where[0]) for *_, where in found)


class _TimedReader(io.RawIOBase):
    """Stands for a socket whose every read ends when the time is up, however little each one brings."""

    def __init__(self, raw: socket.socket, until: float) -> None:
        super().__init__()
        self._raw = raw
        self._until = until

    def makefile(self, mode: str) -> io.BufferedReader:
        del mode
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._raw.settimeout(_left(self._until))
        return self._raw.recv_into(buffer)


def _left(until: float) -> float:
    """The seconds until a monotonic time. Raises TimeoutError when there are none."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the time is up")
    return seconds
