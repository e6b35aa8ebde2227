"""What the command line prints: JSON for programs, plain text on a terminal, nothing that acts on either."""

from __future__ import annotations

import json
import os
import re
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Control characters but tab and line feed, marks that turn the direction of text, Unicode's line ends.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def prepare() -> None:
    """Makes standard output and error write out what their encoding lacks, where it would fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: object, stream: TextIO | None = None) -> None:
    """One JSON value and a line feed, in UTF-8 or, where the stream can't carry that, ASCII."""
    out = sys.stdout if stream is None else stream
    is_utf8 = out.encoding.lower().replace("-", "").startswith("utf8")
    text = json.dumps(value, ensure_ascii=not is_utf8, indent=2 if out.isatty() else None)
    _write(out, inert(text) if is_utf8 else text)


def inert(json_text: str) -> str:
    """JSON text that means the same, with what would act on a terminal as escapes."""
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Text for a person; characters that would act on a terminal are shown, not sent."""
    _write(sys.stdout if stream is None else stream, visible(text))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows under headings, in columns as wide as they need."""
    cells = [[visible(str(cell)).replace("\n", " ") for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        _write(sys.stdout, line.rstrip())


def visible(text: str) -> str:
    r"""The text with what would act on a terminal written out, as `\x1b` or `\u202e`."""
    return _ACTING.sub(_escape, text)


def asked(prompt: str) -> str | None:
    """The line typed after a prompt, which stands below all that was printed; None at the end of input.

    Prompts go to standard error: standard output is the answer.
    """
    sys.stdout.flush()
    sys.stderr.write(visible(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


def discard_output() -> None:
    """Nobody reads any more: what is still held must not fail when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _write(out: TextIO, text: str) -> None:
    encoded = f"{text}\n".encode(out.encoding, "backslashreplace")
    out.flush()
    out.buffer.write(encoded)
