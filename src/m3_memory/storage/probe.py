"""The probe: whether any of some texts stands in the bytes of files, in any form we write text in."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from m3_memory.storage.dump.tables import TABLES
from m3_memory.storage.sql import Sql, sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from m3_memory.storage.database import Reader

_CHUNK_BYTES = 4 * 2**20
UNREAD = "unreadable"


class Trace(NamedTuple):
    """Where a text was found: a file and the byte it begins at, or a table's column; and in which form.

    Of a row that is a memory's, also of which.
    """

    place: str
    offset: int
    form: str
    memory_id: str = ""


def forms_of(text: str) -> dict[str, bytes]:
    """The bytes a text may be written as, by the name of the form, as they are once bytes are lower-cased."""
    folded = text.casefold()
    escaped = json.dumps(text)[1:-1]
    forms = {
        "text": text.encode(),
        "folded": folded.encode(),
        "json": json.dumps(text, ensure_ascii=False)[1:-1].encode(),
        "escaped": escaped.encode(),
        "escaped twice": json.dumps(escaped)[1:-1].encode(),
        "escaped folded": json.dumps(folded)[1:-1].encode(),
        "url": quote(text, safe="").encode(),
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
    }
    distinct: dict[bytes, str] = {}
    for name, written in forms.items():
        distinct.setdefault(written.lower(), name)
    return {name: written for written, name in distinct.items()}


def our_files(home: Path) -> list[Path]:
    """Every regular file below the home folder, the store's own ones too, in the order of their names."""
    return sorted(path for path in home.rglob("*") if path.is_file() and not path.is_symlink())


def probe_files(files: Iterable[Path], texts: Sequence[str]) -> Iterator[Trace]:
    """The first place of each form of each text in each file; into `.gz` files too.

    A file that can't be read to its end has one more trace, of the form UNREAD: nobody knows what it holds.
    """
    wanted = [(name, written) for text in texts for name, written in forms_of(text).items()]
    for path in files:
        try:
            for opened in (open, gzip.open) if path.suffix == ".gz" else (open,):
                with opened(path, "rb") as file:
                    yield from _traces(str(path), file.read, wanted)
        except FileNotFoundError:
            pass  # it went meanwhile
        except (OSError, EOFError, zlib.error):
            yield Trace(str(path), 0, UNREAD)


def probe_rows(reader: Reader, texts: Sequence[str]) -> Iterator[Trace]:
    """The first row of each memory, in each column of text, in which one of the texts stands in any case."""
    folded = [text.casefold() for text in texts]
    for table in TABLES:
        names = {column.name for column in table.columns}
        memory_id = "memory_id" if "memory_id" in names else "''"
        for column in table.columns:
            if column.kind == "text":
                select = sql("SELECT DISTINCT") + Sql(f"{memory_id}, {column.name} FROM {table.name}")
                rows = ((str(id_ or ""), str(value).casefold()) for id_, value in reader.rows(select))
                found = {id_: None for id_, value in rows if any(text in value for text in folded)}
                yield from (Trace(f"{table.name}.{column.name}", 0, "row", id_) for id_ in found)


def _traces(place: str, read: Callable[[int], bytes], wanted: Sequence[tuple[str, bytes]]) -> Iterator[Trace]:
    longest = max((len(written) for _, written in wanted), default=1)
    left, start, before = list(wanted), 0, b""
    while chunk := read(_CHUNK_BYTES):
        data = before + chunk.lower()
        for name, written in [*left]:
            at = data.find(written)
            if at >= 0:
                left.remove((name, written))
                yield Trace(place, start + at, name)
        before = data[-(longest - 1) :] if longest > 1 else b""
        start += len(data) - len(before)
