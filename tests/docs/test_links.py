"""The documentation hangs together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, name, pages, text_of


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    """The file is there; so is the heading, where a link names one."""
    for target, anchor in links(page):
        assert target.exists(), f"{name(page)} links to {target}"
        assert not anchor or anchor in anchors(target), f"{name(page)} links to #{anchor} of {target}"


def test_every_page_is_reached_from_the_readme() -> None:
    """By following links, as a reader does."""
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            waiting += [target for target, _ in links(page)]
    assert [name(page) for page in pages() if page not in seen] == []


def test_every_decision_is_in_the_index_by_its_title() -> None:
    """The index of decisions names each record as the record names itself."""
    index = text_of(ROOT / "docs" / "decisions" / "README.md")
    for record in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        title = text_of(record).partition("\n")[0].removeprefix("# ")
        assert f"* [{title}]({record.name})\n" in index


def test_each_capability_is_where_its_page_says() -> None:
    """Every file that the page of capabilities names is there, and its file defines the symbols it names."""
    rows = [
        line.split("|") for line in text_of(ROOT / "docs" / "capabilities.md").splitlines() if "`" in line
    ]
    rows = [row for row in rows if len(row) == 7]
    assert len(rows) >= 10
    for _, _, _, file, symbols, tests, _ in rows:
        code = text_of(ROOT / "src" / "m3_memory" / file.strip(" `"))
        for symbol in re.findall(r"`(\w+)`", symbols):
            assert re.search(rf"^(?:def|class) {symbol}\b", code, re.MULTILINE), symbol
        for test in re.findall(r"`([\w/.]+)`", tests):
            assert (ROOT / test).exists(), test
