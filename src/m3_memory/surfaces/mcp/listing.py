"""The generated catalog as `tools/list` shows it: which tools, and which fields since which revision."""

from __future__ import annotations

import json
import sys

from m3_memory.surfaces.mcp.versions import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3_memory.surfaces.mcp.values import CatalogFile, Object, Tool

_FIELDS = (
    ("name", since("2024-11-05")),
    ("title", since("2025-06-18")),
    ("description", since("2024-11-05")),
    ("inputSchema", since("2024-11-05")),
    ("outputSchema", since("2025-06-18")),
    ("annotations", since("2025-03-26")),
)


class Listing:
    """Every tool by name, in catalog order."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start time
            catalog: CatalogFile = json.load(file)
        self.version = catalog["version"]
        self.instructions = catalog["instructions"]
        self.domains = frozenset(domain["name"] for domain in catalog["domains"])
        self._aliases = catalog["aliases"]
        self.tools: dict[str, Tool] = {tool["name"]: tool for tool in catalog["tools"]}

    def has(self, name: str) -> bool:
        """Whether a call of this name can run: a tool's own name or one it had before."""
        return name in self.tools or name in self._aliases

    def chosen(self, choice: str) -> frozenset[str]:
        """The domains a launch asks for beyond the essential tools; unknown names are said and left out."""
        if choice == "all":
            return self.domains
        asked = {name for part in choice.split(",") if (name := part.strip()) not in ("", "essential")}
        if unknown := sorted(asked - self.domains):
            sys.stderr.write(
                f"m3: no such domain: {', '.join(unknown)}; there are {', '.join(sorted(self.domains))}\n"
            )
        return self.domains & asked

    def entries(self, domains: Iterable[str], revision: int) -> list[Object]:
        """The essential tools and those of `domains`, as a client of this revision may see them."""
        return [
            {
                key: value
                for key, first in _FIELDS
                if revision >= first and (value := tool.get(key)) is not None
            }
            for tool in self.tools.values()
            if tool["essential"] or tool["domain"] in domains
        ]
