"""The probe: whether any of some texts stands in the bytes of files, in any form we write text in."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from m3_memory.storage.dump.tables import TABLES
from m3_memory.storage.sql import Sql, sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from m3_memory.storage.database import Reader

_CHUNK_BYTES = 4 * 2**20


class Trace(NamedTuple):
    """Where a text was found: a file and the byte it begins at, or a table's column; and in which form."""

    place: str
    offset: int
    form: str


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
    """The first place of each form of each text in each file; into `.gz` files too. Raises OSError."""
    wanted = [(name, written) for text in texts for name, written in forms_of(text).items()]
    for path in files:
        for opened in (open, gzip.open) if path.suffix == ".gz" else (open,):
            with opened(path, "rb") as file:
                yield from _traces(str(path), file.read, wanted)


def probe_rows(reader: Reader, texts: Sequence[str]) -> Iterator[Trace]:
    """The first row of each column of text in which one of the texts stands, whatever its case."""
    folded = [text.casefold() for text in texts]
    for table in TABLES:
        for column in table.columns:
            if column.kind == "text":
                select = sql("SELECT DISTINCT") + Sql(f"{column.name} FROM {table.name}")
                values = (str(row[0]).casefold() for row in reader.rows(select))
                if any(text in value for value in values for text in folded):
                    yield Trace(f"{table.name}.{column.name}", 0, "row")


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
