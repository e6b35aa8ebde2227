"""Homes of people who use Claude Code and Cursor, with the files that both leave there."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from m3_memory.surfaces.cli.setup import jsonc
from tests.surfaces.command_line import CommandLine

HERE = Path(__file__).parent

CURSOR = """\
{
  // Shared by the team; ask before you add to it.
  "mcpServers": {
    "github": {
      "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "GITHUB_TOKEN": "${env:GITHUB_TOKEN}" }, /* from the keychain */
    },
    "docs": { "url": "https://docs.example.com/mcp", "headers": {} }, // "m3": not yet
  },
}
"""
LAYOUTS = {
    "comments": CURSOR,
    "windows": CURSOR.replace("\n", "\r\n"),
    "tabs": CURSOR.replace("  ", "\t"),
    "mark": f"\ufeff{CURSOR}",
    "no last line end": CURSOR.rstrip("\n"),
    "one line": '{"mcpServers":{"github":{"command":"npx","args":["-y","x"]}},"theme":"dark"}',
    "spaced line": '{ "theme": "dark", "mcpServers": { } }\n',
    "no servers": '{\n    "theme" : "größe \\u00e9 \\ud83d\\ude00"\n}\n',
    "empty object": "{}",
    "empty file": "",
}


def claude_settings(history: int = 3) -> dict[str, Any]:
    """What Claude Code keeps in `~/.claude.json`, with so many prompts remembered."""
    nothing: dict[str, str] = {}
    prompts = [
        {"display": f'fix "the" build {number} \\ ☕', "pastedContents": nothing} for number in range(history)
    ]
    return {
        "numStartups": 184,
        "installMethod": "native",
        "tipsHistory": {"new-user-warmup": 3, "memory-command": 170},
        "projects": {
            "/home/kim/atlas": {
                "allowedTools": [],
                "history": prompts,
                "mcpServers": {"local-db": {"type": "stdio", "command": "uvx", "args": ["db"], "env": {}}},
                "hasTrustDialogAccepted": True,
                "lastCost": 0.1834,
            }
        },
        "oauthAccount": {"emailAddress": "kim@example.com", "organizationRole": "admin"},
        "mcpServers": {
            "sentry": {"type": "http", "url": "https://mcp.example.com/sentry"},
            "memory-bank": {"type": "stdio", "command": "npx", "args": ["-y", "bank"], "env": {"A": "1"}},
        },
        "lastReleaseNotesSeen": "2.1.240",
    }


@dataclass(frozen=True)
class Home:
    """One user's home, and `m3` run by that user from there."""

    folder: Path
    m3: CommandLine

    @property
    def claude_file(self) -> Path:
        return self.folder / ".claude.json"

    @property
    def cursor_file(self) -> Path:
        return self.folder / ".cursor" / "mcp.json"

    @property
    def launcher(self) -> Path:
        return self.folder / ".m3" / "bin" / "m3"

    @property
    def claude_calls(self) -> list[list[str]]:
        calls = self.folder / "claude-calls"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def has_claude(self, settings: str | None = None, *, program: bool = True) -> None:
        """Claude Code was used here; without its program, it was by an editor's extension."""
        (self.folder / ".claude").mkdir()
        if settings is not None:
            self.claude_file.write_text(settings, encoding="utf-8", newline="")
        if program:
            fake = shlex.join([sys.executable, str(HERE / "fake_claude.py")])
            self.has_program("claude", f'exec {fake} "$@"')

    def has_cursor(self, settings: str | None = None) -> None:
        """Cursor was used here."""
        self.cursor_file.parent.mkdir()
        if settings is not None:
            self.cursor_file.write_text(settings, encoding="utf-8", newline="")
        self.has_program("cursor", "exit 1")

    def has_program(self, name: str, script: str) -> Path:
        """A program on the PATH of this user."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def setup(self, *words: str) -> dict[str, dict[str, Any]]:
        """Runs `m3 setup`, which must succeed; returns its rows by agent."""
        return rows(self.m3.run("setup", *words).answer)

    def contents(self) -> dict[str, tuple[bytes, int]]:
        """Every file here but our own, with its mode."""
        return {
            str(path.relative_to(self.folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and ".m3" not in path.parts and path.name != "claude-calls"
        }


def entry_in(path: Path) -> dict[str, Any]:
    """Our entry as a host reads it from its file."""
    settings: Any = jsonc.read(path.read_text(encoding="utf-8-sig"))
    return settings["mcpServers"]["m3"]


def new_home(folder: Path, **variables: str) -> Home:
    """An empty home. `m3` keeps its own folder in it and is told nothing else."""
    folder.mkdir(parents=True)
    path = os.pathsep.join([str(folder / "bin"), "/usr/bin", "/bin"])
    return Home(folder, CommandLine(folder, {"HOME": str(folder), "PATH": path} | variables))


def rows(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of a report by agent."""
    return {row["agent"]: row for row in answer["hosts"]}


def statuses(answer: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What was done, by agent."""
    return {agent: row["status"] for agent, row in answer.items()}
