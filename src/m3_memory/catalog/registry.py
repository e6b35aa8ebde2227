"""The catalog: which tools there are, in which order and domain, and under which retired names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from m3_memory.catalog.conversion import shown
from m3_memory.catalog.schema import Schema
from m3_memory.catalog.tool import Tool, list_entry
from m3_memory.errors import InvalidArgument, UnknownTool
from m3_memory.kernel.suggestion import did_you_mean, likely

DOMAINS: Mapping[str, str] = {
    "memory": "write, find, correct and trace memories",
    "files": "take in documents, search them, keep them fresh",
    "admin": "list, load and run tools",
    "chatlog": "transcripts: capture, search, redact, promote",
    "tasks": "a tree of tasks with states and results",
    "agent": "which agents there are, and whether they are there",
    "conversations": "threads of messages and their summaries",
    "entity": "people, things and how they are connected",
    "diagnostics": "what works, what does not, and why",
}
"""Every domain a tool may belong to, in the order they are listed, with one line each."""


@dataclass(frozen=True)
class Catalog:
    """Tools in their order. `aliases` maps a retired name to the tool that took over.

    Raises ValueError for two tools of one name, an unknown domain, or an alias that leads nowhere.
    """

    tools: tuple[Tool, ...]
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        names = Counter([*(tool.name for tool in self.tools), *self.aliases])
        if twice := [name for name, times in names.items() if times > 1]:
            raise ValueError(f"two tools of one name: {', '.join(twice)}")
        if homeless := [tool.name for tool in self.tools if tool.domain not in DOMAINS]:
            raise ValueError(f"tools of no domain: {', '.join(homeless)}")
        if lost := [name for name in self.aliases.values() if name not in names]:
            raise ValueError(f"aliases of no tool: {', '.join(lost)}")

    @property
    def essentials(self) -> tuple[Tool, ...]:
        """The tools every connection starts with."""
        return tuple(tool for tool in self.tools if tool.essential)

    def find(self, name: str) -> Tool:
        """The tool of that name, present or retired. Raises UnknownTool, its hint naming near ones."""
        wanted = self.aliases.get(name, name)
        for tool in self.tools:
            if tool.name == wanted:
                return tool
        near = did_you_mean(likely(name, (tool.name for tool in self.tools)))
        raise UnknownTool(f"there is no tool {shown(name)}", near or "tools_list_domains says what there is")

    def domains(self) -> list[tuple[str, str, int]]:
        """(name, description, number of tools) of every domain that has tools."""
        counts = Counter(tool.domain for tool in self.tools)
        return [(name, description, counts[name]) for name, description in DOMAINS.items() if counts[name]]

    def schemas(self, domain: str) -> list[Schema]:
        """The list entries of a domain's tools. Raises InvalidArgument for a domain without tools."""
        found = self.in_domain(domain)
        if found:
            return [list_entry(tool) for tool in found]
        legal = [name for name, _, _ in self.domains()]
        raise InvalidArgument(
            f"there is no domain {shown(domain)}; the domains are {', '.join(legal)}",
            did_you_mean(likely(domain, legal)) or "tools_list_domains says what is in each",
        )

    def in_domain(self, domain: str) -> tuple[Tool, ...]:
        """The tools of a domain, in their order; none for an unknown one."""
        return tuple(tool for tool in self.tools if tool.domain == domain)


def catalog_of(*slices: Iterable[Tool]) -> Catalog:
    """A catalog of the slices' tools: the essential ones first, for clients that take only so many, each in
    the order given.
    """
    given = [tool for tools in slices for tool in tools]
    return Catalog(tuple(sorted(given, key=lambda tool: not tool.essential)))
