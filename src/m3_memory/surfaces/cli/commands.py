"""From the catalog to a command line: `m3 DOMAIN VERB` for every tool, none of it written by hand."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from m3_memory.errors import InvalidArgument, UnknownTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

CONTENT = "content"
"""The argument whose value `-` stands for what standard input holds."""

_POSITION = "first_argument"
_VALUE_NAMES = {"integer": "N", "number": "X", "object": "JSON", "array": "JSON"}


class Parameter(NamedTuple):
    """One argument of a tool as the generated catalog describes it."""

    name: str
    kind: str
    description: str
    choices: tuple[str, ...]
    is_required: bool = False
    is_compat: bool = False


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ours, and which abbreviates nothing."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--json", action="store_true", help="print JSON, also on a terminal")

    def error(self, message: str) -> NoReturn:
        """Raises InvalidArgument in place of ending the process."""
        hint = f"see {self.prog} --help; a value that begins with - is written --name=VALUE, or after --"
        if "--project" in message:
            hint = "--project goes before the command: m3 --project P …"
        raise InvalidArgument(f"{self.prog}: {message}", hint)


class ToolCommand:
    """One tool as a command."""

    def __init__(self, catalog: Mapping[str, Any], tool: Mapping[str, Any]) -> None:
        self.name: str = tool["name"]
        self.parameters = list(_parameters(catalog, tool))
        self._parser = Parser(f"m3 {tool['domain']} {_verb(tool)}", tool["description"])
        self._first = next((given for given in self.parameters if given.is_required), None)
        self._declare()

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """The tool's arguments as written; the tool itself checks their values.

        Raises InvalidArgument for a flag the tool does not have, or a value given twice.
        """
        valued = {_flag(given.name): given.name for given in self.parameters if given.kind != "boolean"}
        others, values = without_values(words, valued)
        found = vars(self._parser.parse_args(others)) | values
        del found["json"]
        first = found.pop(_POSITION, None)
        if first is not None and self._first is not None:
            if self._first.name in found:
                self._parser.error(f"{self._first.name} is given twice")
            found[self._first.name] = first
        if found.get(CONTENT) == "-":
            found[CONTENT] = read_standard_input()
        return found

    def _declare(self) -> None:
        if self._first is not None:
            self._parser.add_argument(
                _POSITION,
                nargs="?",
                default=argparse.SUPPRESS,
                metavar=self._first.name.upper(),
                help=_escaped(self._first.description),
            )
        older = self._parser.add_argument_group("accepted for older callers")
        for given in self.parameters:
            _declare((older if given.is_compat else self._parser).add_argument, given)


def verbs_of(catalog: Mapping[str, Any], domain: str) -> dict[str, str]:
    """The verbs of a domain, each with the first line of what its tool does; empty for no such domain."""
    return {
        _verb(tool): tool["description"].partition("\n")[0]
        for tool in catalog["tools"]
        if tool["domain"] == domain
    }


def find_command(catalog: Mapping[str, Any], domain: str, verb: str) -> ToolCommand:
    """The tool that `m3 DOMAIN VERB` names, with `-` or `_` between words. Raises UnknownTool."""
    wanted = _dashed(verb)
    for tool in catalog["tools"]:
        if tool["domain"] == domain and wanted in (_verb(tool), _dashed(tool["name"])):
            return ToolCommand(catalog, tool)
    verbs = verbs_of(catalog, domain)
    near = get_close_matches(wanted, verbs, n=3)
    raise UnknownTool(
        f"m3 {domain} has no command {verb}",
        f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(verbs)}",
    )


def without_values(words: Sequence[str], valued: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Takes out each valued flag with what follows it, whatever that begins with.

    `valued` names the argument of each such flag. Returns the other words, and the values by argument.
    """
    others: list[str] = []
    values: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += [word, *rest]
            break
        name, equals, value = word.partition("=")
        flag = _dashed(name) if name.startswith("--") else name
        if flag in valued and (given := value if equals else next(rest, None)) is not None:
            values[valued[flag]] = given
        else:
            others.append(f"{flag}{equals}{value}")
    return others, values


def read_standard_input() -> str:
    """Everything standard input holds, as UTF-8; a byte that is none becomes what no store accepts."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _declare(add: Callable[..., object], given: Parameter) -> None:
    if given.kind == "boolean":
        shown: dict[str, Any] = {"action": argparse.BooleanOptionalAction, "help": given.description}
    else:
        choices = f"one of {', '.join(given.choices)}" if given.choices else ""
        meaning = "; ".join(part for part in (given.description, choices) if part)
        shown = {"metavar": _VALUE_NAMES.get(given.kind, "TEXT"), "help": meaning}
    shown["help"] = _escaped(shown["help"])
    add(_flag(given.name), dest=given.name, default=argparse.SUPPRESS, **shown)


def _parameters(catalog: Mapping[str, Any], tool: Mapping[str, Any]) -> Iterator[Parameter]:
    schema = tool["inputSchema"]
    advertised = schema.get("properties", {})
    for name, about in advertised.items():
        is_required = name in schema.get("required", ())
        yield Parameter(name, about["type"], about.get("description", ""), _choices(about), is_required)
    accepted = {entry["name"]: entry for entry in (*catalog["common"], *tool["compat"])}
    for name, entry in accepted.items():
        if name not in advertised:
            about = entry["schema"]
            yield Parameter(name, about["type"], entry["description"], _choices(about), is_compat=True)


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(schema.get("enum", ()))


def _verb(tool: Mapping[str, Any]) -> str:
    return _dashed(tool["name"].removeprefix(f"{tool['domain']}_"))


def _flag(name: str) -> str:
    return f"--{_dashed(name)}"


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _escaped(text: str) -> str:
    """Argparse reads its help texts as formats."""
    return text.replace("%", "%%")
