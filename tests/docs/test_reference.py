"""Everything public is documented, and nothing is documented that does not exist."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import m3_memory
from m3_memory import errors
from m3_memory.config import SETTINGS
from m3_memory.surfaces.cli.main import COMMANDS
from m3_memory.toolbox import CATALOG
from tests.docs.pages import ROOT, name, pages, text_of

REFERENCE = ROOT / "docs" / "reference"
TABLES = {
    f"memory_{noun}"
    for noun in "items validity state embeddings history history_salts relationships corroborations".split()
}


def test_every_tool_has_a_section_with_its_parameters() -> None:
    """The reference names each tool, and each thing it takes."""
    sections = text_of(REFERENCE / "tools.md").split("\n### ")
    known = {section.partition("\n")[0]: section for section in sections[1:]}
    assert set(known) == {tool.name for tool in CATALOG.tools}
    for tool in CATALOG.tools:
        for parameter in tool.parameters:
            assert f"| `{parameter.name}` |" in known[tool.name]


def test_every_setting_is_in_the_reference_with_its_variable() -> None:
    """By the name it has in the file, and by that of its variable."""
    page = text_of(REFERENCE / "settings.md")
    for row in SETTINGS:
        assert row.name in page
        assert row.variable in page
        assert row.meaning in page


def test_every_error_code_is_in_the_reference_with_its_exit_code() -> None:
    """Every class below M3Error, and the code of our own faults."""
    page = text_of(REFERENCE / "errors.md")
    waiting: list[type[errors.M3Error]] = [errors.M3Error]
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        assert re.search(rf"^\| `{error.code}` \| .+ \| {error.exit_code} \|$", page, re.MULTILINE), (
            error.code
        )


def test_every_command_is_explained() -> None:
    """The page about the command line has each command that is no tool."""
    page = text_of(ROOT / "docs" / "cli.md")
    for command in COMMANDS:
        assert f"m3 {command}" in page


@pytest.mark.parametrize("page", pages(), ids=name)
def test_no_page_speaks_of_a_variable_or_a_tool_that_does_not_exist(page: Path) -> None:
    """Names of the shape of ours are ours."""
    variables = {row.variable for row in SETTINGS}
    spoken = set(re.findall(r"\bM3_(?!TEST_)[A-Z][A-Z_]*\b", text_of(page)))
    assert spoken <= variables
    tools = {tool.name for tool in CATALOG.tools}
    parameters = {parameter.name for tool in CATALOG.tools for parameter in tool.parameters}
    spoken = set(re.findall(r"(?<=`)(?:memory|tools)_[a-z_]+(?=[`(])", text_of(page)))
    assert spoken <= tools | parameters | TABLES


def test_every_module_says_what_it_is_for() -> None:
    """A module without a docstring is one nobody can find."""
    for found in pkgutil.walk_packages(m3_memory.__path__, "m3_memory."):
        if not found.ispkg and not found.name.endswith("__main__"):
            assert importlib.import_module(found.name).__doc__, found.name
