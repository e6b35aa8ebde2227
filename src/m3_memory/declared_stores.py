"""The named stores that the settings file declares, each in a table `[stores.NAME]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from m3_memory.errors import InvalidSettings
from m3_memory.setting import Raw, Setting, checked, expanded, without_password

MAIN = "main"
"""The name of the store that the settings themselves name; no table may take it."""

POSTGRES = "postgresql://"
MAX_STORES = 50

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HINT = 'write path = "/folder/file.db", or database_url = "postgresql://…"'
_TEXTS = {
    "path": Setting(_HINT, high=4096, name="path"),
    "database_url": Setting(_HINT, high=4096, name="database_url", prefix=POSTGRES),
    "description": Setting(_HINT, high=4096, name="description"),
}


@dataclass(frozen=True, slots=True)
class DeclaredStore:
    """One named store: the path of a SQLite file, or the address of a PostgreSQL database."""

    name: str
    location: str = field(repr=False)
    read_only: bool = False
    description: str = ""

    @property
    def is_file(self) -> bool:
        return not self.location.startswith(POSTGRES)

    @property
    def shown(self) -> str:
        """The location as people may see it, without a password."""
        return without_password(self.location)


def read_stores(given: object, home: Path, source: str) -> tuple[DeclaredStore, ...]:
    """The stores that the value of `stores` in the settings file declares, by name.

    A path that is not absolute is meant from the home folder. Raises InvalidSettings, naming the source and
    the key, for a name that is none, one that is taken, two tables of one store, and unknown or wrong keys.
    """
    if not isinstance(given, dict):
        raise InvalidSettings(f"{source}: stores must be tables such as [stores.work]", _HINT)
    tables = cast("dict[str, object]", given)
    if len(tables) > MAX_STORES:
        raise InvalidSettings(
            f"{source}: {len(tables)} stores; the limit is {MAX_STORES}", "declare those you use"
        )
    found = tuple(_store(name, tables[name], home, source) for name in sorted(tables))
    places = dict[str, str]()
    for store in found:
        if (other := places.setdefault(store.location, store.name)) != store.name:
            raise InvalidSettings(
                f"{source}: stores.{store.name} and stores.{other} are one store", "remove one of them"
            )
    return found


def _store(name: str, given: object, home: Path, source: str) -> DeclaredStore:
    where = f"{source}: stores.{name}"
    if name == MAIN or not _NAME.fullmatch(name):
        raise InvalidSettings(
            f"{where} is no name a named store can have",
            f"1 to 64 of a-z, 0-9, _ and -; {MAIN} is the store of the settings themselves",
        )
    if not isinstance(given, dict):
        raise InvalidSettings(f"{where} is no table", _HINT)
    table = cast("dict[str, Raw]", given)
    read_only = table.pop("read_only", False)
    if unknown := table.keys() - _TEXTS:
        known = ", ".join((*_TEXTS, "read_only"))
        raise InvalidSettings(f"{where}: unknown key {min(unknown)}", f"the keys are: {known}")
    if not isinstance(read_only, bool):
        raise InvalidSettings(f"{where}: read_only must be true or false", _HINT)
    texts = {key: str(checked(row, table.get(key, ""), where)) for key, row in _TEXTS.items()}
    if bool(texts["path"]) == bool(texts["database_url"]):
        raise InvalidSettings(f"{where} needs path or database_url, one of them", _HINT)
    location = texts["database_url"] or str(home / expanded(texts["path"]))
    return DeclaredStore(name, location, read_only, texts["description"])
