from __future__ import annotations

import json
from pathlib import Path

import pytest

from m3_memory import generate
from m3_memory.catalog.conversion import convert_arguments
from m3_memory.catalog.params import TypeFilter
from m3_memory.catalog.reference import catalog_file, reference_page
from m3_memory.catalog.registry import catalog_of
from m3_memory.catalog.tool import Effect, Tool, list_entry, tool
from m3_memory.context import Context
from m3_memory.generated import load_catalog
from m3_memory.toolbox import CATALOG, INSTRUCTIONS
from tests.unit.catalog_tools import CATALOG as NOTES

ROOT = Path(__file__).resolve().parents[2]
MAX_ESSENTIAL_TOOLS = 10
MAX_LIST_BYTES = 12_000  # 3,000 tokens of 4 bytes

every_tool = pytest.mark.parametrize("declared", CATALOG.tools, ids=lambda declared: declared.name)


@every_tool
def test_the_example_of_every_tool_is_a_call_it_takes(declared: Tool) -> None:
    taken = convert_arguments(declared.name, declared.parameters, declared.example)
    assert set(declared.example) <= set(taken)


@every_tool
def test_a_tool_looks_as_its_snapshot(declared: Tool) -> None:
    snapshot = ROOT / generate.SNAPSHOTS / f"{declared.name}.json"
    assert list_entry(declared) == json.loads(snapshot.read_text(encoding="utf-8"))


def test_the_first_list_of_tools_is_small() -> None:
    entries = [list_entry(tool) for tool in CATALOG.essentials]
    assert 0 < len(entries) <= MAX_ESSENTIAL_TOOLS
    assert len(json.dumps({"tools": entries}, separators=(",", ":")).encode()) <= MAX_LIST_BYTES


def test_the_generated_files_are_fresh() -> None:
    assert generate.differences(ROOT, generate.rendered(CATALOG)) == []


def test_the_file_that_surfaces_serve_is_the_catalog() -> None:
    assert load_catalog() == catalog_file(CATALOG, load_catalog()["version"], INSTRUCTIONS)


def test_the_file_holds_what_a_list_shows_and_what_a_command_line_needs() -> None:
    found = catalog_file(NOTES, "1.2", "be kind")
    tools = found["tools"]
    assert isinstance(tools, list)
    assert tools[0] == list_entry(NOTES.find("note_read")) | {
        "domain": "memory",
        "essential": True,
        "effect": "read",
        "compat": [
            {
                "name": "requesting_agent",
                "description": "equal to the caller",
                "schema": {"type": "string"},
            }
        ],
        "example": {"text": "a"},
    }
    assert found["version"] == "1.2"
    assert found["instructions"] == "be kind"


def test_the_reference_names_every_tool_and_every_parameter() -> None:
    page = reference_page(NOTES)
    for declared in NOTES.tools:
        assert f"### {declared.name}\n" in page
        for parameter in declared.parameters:
            assert f"| `{parameter.name}` |" in page


def test_the_reference_lists_once_the_choices_that_the_schema_leaves_out() -> None:
    def sorted_notes(
        ctx: Context,
        kind: TypeFilter = "",
        other: TypeFilter = "",
    ) -> dict[str, object]:
        """Sort notes."""
        raise NotImplementedError

    declared = tool(Effect.WRITE, domain="memory", title="Sort", example={})(sorted_notes)
    assert "windows_only" not in json.dumps(list_entry(declared))
    page = reference_page(catalog_of([declared]))
    assert page.count("windows_only") == 1
    assert page.count("text[^1]") == 2


def test_what_was_just_written_is_fresh(tmp_path: Path) -> None:
    assert generate.main(["--check"], tmp_path) == 1
    assert generate.main([], tmp_path) == 0
    assert generate.main(["--check"], tmp_path) == 0


def test_a_file_that_was_changed_by_hand_is_named_with_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate.main([], tmp_path)
    page = tmp_path / "docs/reference/tools.md"
    page.write_text(page.read_text(encoding="utf-8").replace("# Tools", "# Toys"), encoding="utf-8")
    assert generate.main(["--check"], tmp_path) == 1
    said = capsys.readouterr().out
    assert "docs/reference/tools.md" in said
    assert "-# Toys" in said
    assert "+# Tools" in said
    assert "catalog.json" not in said


def test_the_snapshot_of_a_tool_that_is_gone_is_found_and_removed(tmp_path: Path) -> None:
    generate.main([], tmp_path)
    orphan = tmp_path / generate.SNAPSHOTS / "gone_tool.json"
    orphan.write_text("{}", encoding="utf-8")
    assert generate.main(["--check"], tmp_path) == 1
    generate.main([], tmp_path)
    assert not orphan.exists()
    assert generate.main(["--check"], tmp_path) == 0
