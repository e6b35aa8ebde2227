"""Named stores from the command line and from a server's launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import Mcp, facts, server


@pytest.fixture
def m3(tmp_path: Path, home: Path) -> CommandLine:
    """A command line whose settings declare the stores work, and old, which may only be read."""
    home.mkdir()
    (home / "m3_config.toml").write_text(
        f'[stores.work]\npath = "{tmp_path}/work.db"\n[stores.old]\npath = "{tmp_path}/work.db.copy"\n'
        "read_only = true\n",
        encoding="utf-8",
    )
    return command_line(tmp_path)


def test_commands_and_tools_are_at_the_store_that_the_launch_names(
    m3: CommandLine, tmp_path: Path, home: Path
) -> None:
    m3.run("--store", "work", "memory", "write", "tea is black", "--type", "fact")
    m3.run("memory", "write", "tea is green", "--type", "fact")
    assert [hit["content"] for hit in m3.run("memory", "search", "tea").answer["hits"]] == ["tea is green"]
    there = m3.run("--store=work", "memory", "search", "tea").answer
    assert [hit["content"] for hit in there["hits"]] == ["tea is black"]
    assert m3.run("memory", "search", "tea", "--store", "work").answer["hits"] == there["hits"]
    examined = m3.run("--store", "work", "doctor").answer
    assert (examined["ok"], examined["store"]) == (True, str(tmp_path / "work.db"))
    assert examined["counts"]["memories"] == 1
    copied = m3.run("--store", "work", "backup").answer["backup"]
    assert Path(copied).parent == home / "backups" / "work"
    Path(copied).rename(tmp_path / "work.db.copy")
    assert m3.run("--store", "old", "memory", "list").answer["total"] == 1
    refused = m3.run("--store", "old", "memory", "write", "x", "--type", "fact")
    assert (refused.code, refused.error["code"]) == (5, "store_read_only")


def test_a_server_is_at_the_store_it_was_started_with(
    m3: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M3_EMBEDDER", "off")
    with server("--store", "work") as wire:
        facts(Mcp(wire), "memory_write", content="tea is black", type="fact")
    with server() as wire:
        door = Mcp(wire)
        assert facts(door, "memory_search", query="tea")["hits"] == []
        assert [hit["store"] for hit in facts(door, "memory_search_multi_db", query="tea")["hits"]] == [
            "work"
        ]
        assert facts(door, "memory_search_multi_db", query="tea")["unreached"][0]["store"] == "old"


def test_a_store_that_is_not_declared_is_refused_by_every_command(m3: CommandLine) -> None:
    for words in (("memory", "list"), ("doctor",), ("backup",), ("worker", "--once")):
        refused = m3.run("--store", "harbour", *words)
        assert (refused.code, refused.error["code"]) == (4, "unknown_store"), words
        assert "main, old, work" in refused.error["hint"]


def test_the_settings_show_the_stores(m3: CommandLine, tmp_path: Path) -> None:
    shown = {row["name"]: row["value"] for row in m3.run("config").answer["settings"]}
    assert shown["stores.work"] == str(tmp_path / "work.db")
    assert shown["stores.old"] == f"{tmp_path / 'work.db.copy'} (read-only)"
