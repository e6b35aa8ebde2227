"""The part of the story that tells of many memories in one call, and of one that comes in a file."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.steps import NOWHERE, Step

CREW = {"content": "The crew is twelve", "type": "fact"}

BULK: tuple[Step, ...] = (
    Step("memory_write", CREW, name="crew"),
    Step("memory_write", {"content": "The mate is Ada", "type": "fact"}, name="mate"),
    Step(
        "memory_write_bulk",
        {
            "items": [
                {"content": "The hold is dry", "title": "Hold"},
                {"content": "the hold is DRY."},
                {**CREW, "type": "fact"},
                {"content": "The hold is wet", "type": "opinion"},
                "no object",
                {"content": "", "type": "fact"},
            ],
            "defaults": {"type": "note"},
        },
    ),
    Step("memory_write_bulk", {"items": []}),
    Step("memory_write_bulk", {"items": "all of them"}, "invalid_argument"),
    Step(
        "memory_update_bulk",
        {
            "updates": [
                {"id": "$crew", "title": "Crew", "metadata": {"seen": True}},
                {"id": "$mate", "importance": 0.5},
                {"id": NOWHERE, "title": "Nobody"},
                {"id": "$mate", "colour": "red"},
            ]
        },
    ),
    Step("memory_update_bulk", {}, "invalid_argument"),
    Step("memory_delete_bulk", {"ids": ["$crew", NOWHERE, "$crew", "crew"]}),
    Step("memory_delete_bulk", {"ids": ["$mate"], "hard": True}),
    Step("memory_delete_bulk", {"ids": [7]}, "invalid_argument"),
    Step("memory_write_from_file", {"path": "$letter", "type": "note", "title": "Letter"}),
    Step("memory_write_from_file", {"path": "$letter", "type": "opinion"}, "invalid_argument"),
)
"""Each item for itself: some are stored, some change, some are refused."""


def letter(home: Path) -> str:
    """The path of a file in the spool of this home, from where it is taken once."""
    spool = home.resolve() / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    (spool / "letter.md").write_text("The letter says: sail on Tuesday.\n", encoding="utf-8")
    return str(spool / "letter.md")
