"""Fixtures: a home of its own for every test, a clock that stands still, and stores on both engines."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as examples

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from tests.postgres import PostgresServer, running_server
from tests.stores import PostgresStores, SqliteStores, Stores

examples.register_profile(
    "m3",
    deadline=None,
    database=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def pytest_configure() -> None:
    """Nothing of the user's own installation reaches a test, or the processes a test starts."""
    examples.load_profile("m3")
    for name in [name for name in os.environ if name.startswith("M3_") and not name.startswith("M3_TEST_")]:
        del os.environ[name]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A run whose gate failed says so beside the tests' result."""
    failed = os.environ.get("M3_TEST_GATE_FAILED")
    if failed:
        terminalreporter.section("gate")
        terminalreporter.line(f"FAILED before the tests: {failed}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's own home folder of the product, not made yet; child processes find it too."""
    folder = tmp_path / "m3-home"
    monkeypatch.setenv("M3_HOME", str(folder))
    return folder


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at the first moment of 2026 until told otherwise."""
    return ManualClock()


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    """The PostgreSQL server of this run, started when the first test asks for it."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Generator[str]:
    """An empty PostgreSQL database of this test's own, as its owner."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)


@pytest.fixture(scope="session")
def sqlite_stores(tmp_path_factory: pytest.TempPathFactory) -> SqliteStores:
    """The maker of SQLite stores; tests ask for `stores`."""
    return SqliteStores(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="session")
def postgres_stores(postgres_server: PostgresServer) -> PostgresStores:
    """The maker of PostgreSQL stores; tests ask for `stores`."""
    return PostgresStores(postgres_server)


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest) -> Generator[Stores]:
    """Makes as many stores as the test likes; the test runs once per engine."""
    made: Stores = request.getfixturevalue(f"{request.param}_stores")
    yield made
    made.discard()


@pytest.fixture
def store(stores: Stores) -> str:
    """The location of a fresh, migrated store; the test runs once per engine."""
    return stores.fresh()


@pytest.fixture
def database(store: str, clock: ManualClock) -> Generator[Database]:
    """A fresh store, opened; the test runs once per engine."""
    opened = open_database(store, clock)
    yield opened
    opened.close()


@pytest.fixture
def settings(store: str, home: Path) -> Settings:
    """Settings that name a fresh store and the hashing embedder; the test runs once per engine."""
    if store.startswith("postgresql://"):
        return Settings(home=home, database_url=store, embedder="hashing")
    return Settings(home=Path(store).parent, embedder="hashing")


@pytest.fixture
def app(settings: Settings, clock: ManualClock) -> Generator[App]:
    """The product over a fresh store, started by no host; the test runs once per engine."""
    opened = App(settings, clock, HostEnvironment())
    yield opened
    opened.close()
