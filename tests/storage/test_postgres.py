"""What only PostgreSQL does: servers that go away, schemas, users of few rights."""

from __future__ import annotations

from collections.abc import Generator
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql as identifiers

from m3_memory.errors import InvalidSettings, StoreReadOnly, StoreUnreachable
from m3_memory.kernel.clock import ManualClock, SystemClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from tests.postgres import PostgresServer
from tests.storage.rows import remember, remembered
from tests.stores import PostgresStores

SECRET = "plum%20pudding"


@pytest.fixture
def location(postgres_stores: PostgresStores) -> Generator[str]:
    yield postgres_stores.fresh()
    postgres_stores.discard()


def _write(database: Database, name: str) -> None:
    with database.write("local") as writer:
        remember(writer, name)


def _ids(database: Database) -> list[str]:
    with database.read("local") as reader:
        return remembered(reader)


def _end_all_connections(location: str) -> None:
    with psycopg.connect(location) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_server_that_ended_every_connection_is_found_again(location: str, clock: ManualClock) -> None:
    database = open_database(location, clock)
    _write(database, "before")
    _end_all_connections(location)
    assert _ids(database) == ["before"]
    _end_all_connections(location)
    _write(database, "after")
    assert _ids(database) == ["before", "after"]
    database.close()


def test_a_connection_lost_in_a_write_stores_nothing(location: str, clock: ManualClock) -> None:
    database = open_database(location, clock)

    def write(*more: str) -> None:
        with database.write("local") as writer:
            remember(writer, "lost")
            _end_all_connections(location)
            for name in more:
                remember(writer, name)

    with pytest.raises(StoreUnreachable):
        write("more")
    with pytest.raises(StoreUnreachable):
        write()
    assert _ids(database) == []
    database.close()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        (f"postgresql://ada:{SECRET}@127.0.0.1:1/nowhere", StoreUnreachable),
        (f"postgresql://ada:{SECRET}%zz@127.0.0.1/nowhere", InvalidSettings),
        (f"postgresql://127.0.0.1:1/nowhere?user=ada&password={SECRET}", StoreUnreachable),
    ],
)
def test_a_server_that_is_not_there_is_named_without_the_password(
    address: str, kind: type[Exception], clock: ManualClock
) -> None:
    with pytest.raises((StoreUnreachable, InvalidSettings)) as refused:
        open_database(address, clock)
    assert isinstance(refused.value, kind)
    said = f"{refused.value.message} {refused.value.hint}"
    assert "plum" not in said
    assert ("127.0.0.1:1" in said) == (kind is StoreUnreachable)


def test_a_database_that_is_not_there_is_said_to_be_so(
    postgres_server: PostgresServer, clock: ManualClock
) -> None:
    gone = postgres_server.create()
    postgres_server.drop(gone)
    with pytest.raises(StoreUnreachable, match="does not exist"):
        open_database(gone, clock)


def test_a_server_that_takes_no_writes_is_read(location: str, clock: ManualClock) -> None:
    database = open_database(location, clock)
    _write(database, "before")
    database.close()
    with psycopg.connect(location) as connection:
        name = identifiers.Identifier(connection.info.dbname)
        connection.execute(
            identifiers.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name)
        )
    standing = open_database(location, clock)
    assert _ids(standing) == ["before"]
    with pytest.raises(StoreReadOnly):
        _write(standing, "after")
    assert _ids(standing) == ["before"]
    standing.close()


def test_two_schemas_of_one_database_are_two_stores(postgres_url: str, clock: ManualClock) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE SCHEMA one; CREATE SCHEMA two")
    separator = "&" if "?" in postgres_url else "?"
    stores = [
        open_database(f"{postgres_url}{separator}options={quote(f'-csearch_path={name}')}", clock)
        for name in ("one", "two")
    ]
    for number, store in enumerate(stores):
        _write(store, f"memory {number}")
    assert [_ids(store) for store in stores] == [["memory 0"], ["memory 1"]]
    for store in stores:
        store.close()
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert tables == (0,)


@pytest.fixture
def plain_user(postgres_url: str) -> Generator[str]:
    """The address of an empty database as a user who is not its owner and may do nothing in it yet."""
    name = f"m3_test_{uuid4().hex}"
    user = identifiers.Identifier(name)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(identifiers.SQL("CREATE ROLE {} LOGIN PASSWORD 'pudding'").format(user))
    _, _, rest = postgres_url.partition("@")
    yield f"postgresql://{name}:pudding@{rest}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(identifiers.SQL("DROP OWNED BY {}").format(user))
        connection.execute(identifiers.SQL("DROP ROLE {}").format(user))


def test_a_user_of_few_rights_works_in_a_schema_that_was_prepared(
    plain_user: str, postgres_url: str, clock: ManualClock
) -> None:
    with pytest.raises(StoreUnreachable) as refused:
        open_database(plain_user, clock)
    assert "CREATE ROLE m3_server" in refused.value.hint
    assert "pudding" not in refused.value.message
    user = identifiers.Identifier(plain_user.removeprefix("postgresql://").partition(":")[0])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            "DO $$ BEGIN CREATE ROLE m3_server; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute(identifiers.SQL("GRANT m3_server TO {}").format(user))
        connection.execute(identifiers.SQL("CREATE SCHEMA AUTHORIZATION {}").format(user))
    database = open_database(plain_user, clock)
    _write(database, "first")
    assert _ids(database) == ["first"]
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        database.write("local") as writer,
    ):
        writer.execute(sql("DELETE FROM memory_items"))
    database.close()


def test_store_times_are_the_database_hosts_and_in_our_form(location: str) -> None:
    database = open_database(location, SystemClock())
    with database.write("local") as writer:
        (host,) = writer.rows(sql("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')"))
        assert writer.store_time[:10] == host[0]
        assert len(writer.store_time) == len("2026-01-01T00:00:00.000000Z")
    database.close()


def test_durable_waits_for_the_disk(location: str, clock: ManualClock) -> None:
    with psycopg.connect(location) as connection:
        name = identifiers.Identifier(connection.info.dbname)
        connection.execute(identifiers.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(name))
    found: list[object] = []
    for durable in (False, True):
        database = open_database(location, clock, durable=durable)
        with database.read("local") as reader:
            found.append(reader.row(sql("SHOW synchronous_commit")))
        database.close()
    assert found == [("off",), ("on",)]
