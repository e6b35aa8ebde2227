"""The documentation as data: its pages, their blocks of examples, their links and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


def pages() -> list[Path]:
    """Every page of documentation a reader may come to."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    return sorted(found)


def name(page: Path) -> str:
    """A page as its path in the project, for the ids of tests."""
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return [code for found, code in _BLOCK.findall(text_of(page)) if found == language]


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The targets inside the project that a page links to, each with its anchor or an empty text."""
    for target in _LINK.findall(_BLOCK.sub("", text_of(page))):
        if "://" not in target and not target.startswith("mailto:"):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """What a heading of this page is linked by."""
    headings = _HEADING.findall(_BLOCK.sub("", text_of(page)))
    return {_NOT_IN_ANCHORS.sub("", heading.lower()).replace(" ", "-") for heading in headings}
