"""Cases from the field: one test per report and its whole kind. The docstring begins with the report's id."""

from __future__ import annotations

import inspect
import re
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from m3_memory.config import Settings
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent, embedder_named
from tests.surfaces.doors import Door, opened

_IDS = re.compile(r"(?:[A-Z]\d\d[,.]? ?)*")
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The ids that begin a test's docstring mark it, so that `-m case` finds it."""
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == _HERE:
            said = inspect.getdoc(cast("object", item.obj)) or ""
            if found := _IDS.match(said):
                for case in re.findall(r"\w+", found[0]):
                    item.add_marker(pytest.mark.case(case))


@pytest.fixture(params=["on", "off"])
def agent(request: pytest.FixtureRequest, database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs per engine, with the embedder up and off."""
    found = Agent(database, clock, embedder=embedder_named(request.param))
    return found.who(project="atlas")


@pytest.fixture(params=["mcp", "m3 call"])
def door(
    request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Generator[Door]:
    """A door of the product over a fresh store; the test runs per engine, over MCP and by command."""
    monkeypatch.setenv("M3_HOME", str(settings.home))
    monkeypatch.setenv("M3_DATABASE_URL", settings.database_url)
    monkeypatch.setenv("M3_EMBEDDER", settings.embedder)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-1")
    with opened(request.param) as found:
        yield found
