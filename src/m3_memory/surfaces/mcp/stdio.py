"""Newline-delimited JSON over two private pipes; from here on standard output carries nothing else."""

from __future__ import annotations

import json
import os
import re
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from m3_memory.surfaces.mcp.values import Json, Object, RequestId

LINE_LIMIT_BYTES = 16 * 1024 * 1024
_EDGE_BYTES = 4096
_BOM = b"\xef\xbb\xbf"
# In JSON these stand in strings alone, where an escape means the same.
_LINE_ENDS = tuple((chr(code).encode(), f"\\u{code:04x}".encode()) for code in (0x85, 0x2028, 0x2029))
# The id is safe to read only where it must belong to the message itself: before `params`, or at its very end.
_ID = rb'"id"\s*:\s*(-?\d{1,19}|"[ !#-\[\]-~]{1,200}")\s*'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*' + _ID + rb",")
_ID_LAST = re.compile(rb",\s*" + _ID + rb"\}\s*$")


class Oversized:
    """A line beyond the limit, already discarded. `id` is the request's where its text shows it."""

    def __init__(self, head: bytes, tail: bytes) -> None:
        found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
        self.id: RequestId | None = json.loads(found[1]) if found else None


def take_standard_streams() -> tuple[int, int]:
    """Moves standard input and output to private descriptors and returns them.

    Afterwards descriptor 0 is the null device and 1 is standard error, so neither a stray print, a native
    library nor a child process can touch the protocol.
    """
    null = os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # started without one; until now its number was free for any other file
        os.dup2(null, 2)
    source, sink = os.dup(0), os.dup(1)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    for descriptor in (source, sink):
        if sys.platform == "win32":
            import msvcrt

            msvcrt.setmode(descriptor, os.O_BINARY)
        else:
            os.set_blocking(descriptor, True)
    return source, sink


def lines(source: int, limit_bytes: int = LINE_LIMIT_BYTES) -> Iterator[bytes | Oversized]:
    """Every non-blank line until the stream ends, its last one with or without a line feed."""
    with open(source, "rb", buffering=65536) as stream:
        line = stream.readline(limit_bytes + 1).removeprefix(_BOM)
        while line:
            if len(line) > limit_bytes:
                yield _discarded(stream, line)
            elif not line.isspace():
                yield line
            line = stream.readline(limit_bytes + 1)


def _discarded(stream: IO[bytes], line: bytes) -> Oversized:
    head, before, last = line[:_EDGE_BYTES], b"", line
    while last and not last.endswith(b"\n"):
        before, last = last[-_EDGE_BYTES:], stream.readline(_EDGE_BYTES)
    return Oversized(head, before + last)


def _not_a_number(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_not_a_number)


def decoded(line: bytes) -> Json:
    """The value of one line; ValueError or RecursionError where it is not acceptable JSON text."""
    return _decoder.decode(line.decode("utf-8").strip())


def encoded(message: Object) -> bytes:
    """One line of JSON in UTF-8. NaN and infinities become null, unpaired surrogates U+FFFD.

    The characters that some readers take for the end of a line are escaped.
    """
    try:
        line = _written(message)
    except ValueError:  # of which what UTF-8 can't carry is one
        line = _written(_portable(message))
    for end, escape in _LINE_ENDS:
        if end in line:
            line = line.replace(end, escape)
    return line + b"\n"


def _written(message: Json) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _portable(value: Json) -> Json:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            return value if value - value == 0 else None
        case list():
            return [_portable(item) for item in value]
        case dict():
            return {str(_portable(key)): _portable(item) for key, item in value.items()}
        case _:
            return value


class Sink:
    """The only writer of protocol bytes: whole lines, one at a time, from any thread."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        """`gone` is called when a write shows that the client has left."""
        self._descriptor = descriptor
        self._gone = gone
        self._lock = threading.Lock()

    def write(self, line: bytes) -> None:
        """Sends one line, or nothing once the client has left."""
        try:
            with self._lock:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._gone()
