"""From the catalog to a command line: `m3 DOMAIN VERB` for every tool, none of it written by hand."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from m3_memory.errors import InvalidArgument, InvalidContent, UnknownTool
from m3_memory.kernel.suggestion import did_you_mean, likely

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

CONTENT = "content"
"""The argument whose value `-` stands for what standard input holds."""

LEFT_OUT = {"type": "auto"}
"""Required arguments that a shell may leave out, and what the command then sends."""

_FLAG = re.compile(r"--?[A-Za-z][\w-]*(=|$)")
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
        raise InvalidArgument(f"{self.prog}: {message}", f"see {self.prog} --help")


class ToolCommand:
    """One tool as a command."""

    def __init__(self, catalog: Mapping[str, Any], tool: Mapping[str, Any]) -> None:
        self.name: str = tool["name"]
        self.parameters = list(_parameters(catalog, tool))
        self._parser = Parser(f"m3 {tool['domain']} {_verb(tool)}", tool["description"])
        self._positions = [
            given for given in self.parameters if given.is_required and given.name not in LEFT_OUT
        ]
        self._declare()

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """The tool's arguments as written; the tool itself checks their values.

        Raises InvalidArgument for a flag the tool does not have, a value given twice, or a word too many.
        """
        valued = {_flag(given.name): given.name for given in self.parameters if given.kind != "boolean"}
        others, values = without_values(words, valued)
        flags, loose = _without_loose_words(others)
        switches, unknown = self._parser.parse_known_args(flags)
        if unknown:
            raise self._unknown_flag(unknown[0])
        found = vars(switches) | values
        del found["json"]
        found |= self._by_position(loose, found)
        for given in self.parameters:
            if given.is_required and given.name in LEFT_OUT:
                found.setdefault(given.name, LEFT_OUT[given.name])
        if found.get(CONTENT) == "-":
            found[CONTENT] = read_standard_input()
        return found

    def _by_position(self, loose: list[str], found: Mapping[str, Any]) -> dict[str, str]:
        """Gives loose words to the required arguments that no flag gave, in their order."""
        free = [given.name for given in self._positions if given.name not in found]
        if extra := loose[len(free) :]:
            named = [given.name for given in self._positions if given.name in found]
            quoted = shlex.quote(" ".join(loose[max(len(free) - 1, 0) :]))
            is_text = bool(free) and not free[-1].endswith("id")
            hint = f"put the text in quotes: {quoted}" if is_text else f"see {self._parser.prog} --help"
            if named:
                hint = f"given by name already: {', '.join(named)}"
            raise InvalidArgument(f"{self._parser.prog}: {' '.join(extra)} belongs to no argument", hint)
        return dict(zip(free, loose, strict=False))

    def _unknown_flag(self, word: str) -> InvalidArgument:
        flag = word.partition("=")[0]
        near = likely(flag.lstrip("-").replace("-", "_"), (given.name for given in self.parameters), 2)
        hint = did_you_mean(map(_flag, near)) or f"see {self._parser.prog} --help"
        if flag == "--project":
            hint = "--project goes before the command: m3 --project P …"
        elif not flag.startswith("--"):
            hint += "; a text that begins with - is written --name=TEXT, or after --"
        return InvalidArgument(f"{self._parser.prog} has no {flag}", hint)

    def _declare(self) -> None:
        for given in self._positions:
            self._parser.add_argument(
                f"{given.name} by position",
                nargs="?",
                default=argparse.SUPPRESS,
                metavar=given.name.upper(),
                help=_escaped(given.description),
            )
        older = self._parser.add_argument_group("accepted for older callers")
        for given in self.parameters:
            _declare((older if given.is_compat else self._parser).add_argument, given)


def verbs_of(catalog: Mapping[str, Any], word: str) -> dict[str, str]:
    """The verbs after this word, each with the first line of what its tool does; empty for no such word."""
    return {verb: tool["description"].partition("\n")[0] for verb, tool in _tools_of(catalog, word).items()}


def find_command(catalog: Mapping[str, Any], word: str, verb: str) -> ToolCommand:
    """The tool that `m3 WORD VERB` names, with `-` or `_` between words. Raises UnknownTool."""
    wanted, tools = _dashed(verb), _tools_of(catalog, word)
    for known, tool in tools.items():
        if wanted in (known, _dashed(tool["name"])):
            return ToolCommand(catalog, tool)
    raise UnknownTool(
        f"m3 {word} has no command {verb}",
        did_you_mean(likely(wanted, tools)) or f"it has {', '.join(tools)}",
    )


def _tools_of(catalog: Mapping[str, Any], word: str) -> dict[str, Mapping[str, Any]]:
    """The tools of a domain by their verbs; for a word that is none, those whose names begin with it."""
    own = {_verb(tool): tool for tool in catalog["tools"] if tool["domain"] == word}
    named = {tool["name"].removeprefix(f"{word}_"): tool for tool in catalog["tools"]}
    return own or {_dashed(verb): tool for verb, tool in named.items() if verb != tool["name"]}


def unknown_command(catalog: Mapping[str, Any], word: str, commands: Iterable[str]) -> InvalidArgument:
    """The error for a first word that is neither a command nor a domain, with what was likely meant."""
    known = [*commands, *(entry["name"] for entry in catalog["domains"])]
    meant = {name: f"m3 {name}" for name in known}
    for tool in catalog["tools"]:
        command = f"m3 {tool['domain']} {_verb(tool)}"
        meant |= {_verb(tool): command, _dashed(tool["name"]): command}
    near = [meant[name] for name in likely(_dashed(word), meant, 2, 0.7)]
    return InvalidArgument(
        f"there is no command {word}",
        did_you_mean(near) or f"there are {', '.join(known)}; see m3 --help",
    )


def in_shell_words(catalog: Mapping[str, Any], text: str) -> str:
    """A hint that speaks of tools and their arguments, in the words of the command line."""
    tools = {tool["name"]: f"m3 {tool['domain']} {_verb(tool)}" for tool in catalog["tools"]}
    names = {name for tool in catalog["tools"] for name in tool["inputSchema"].get("properties", ())}

    def in_shell(found: re.Match[str]) -> str:
        word = found[0]
        return tools.get(word) or (_flag(word) if word in names else word)

    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)  # what is quoted is somebody's words, and stays
    for place in range(0, len(parts), 2):
        switched = re.sub(r"\b(\w+)=(true|false)\b", _as_switch, parts[place])
        parts[place] = re.sub(r"(?<![\w-])[a-z0-9]+(?:_[a-z0-9]+)+\b", in_shell, switched)
    return "".join(parts)


def without_values(words: Sequence[str], valued: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Takes out each valued flag with what follows it, whatever that begins with.

    `valued` names the argument of each such flag. Returns the other words, and the values by argument.
    Raises InvalidArgument for a flag given twice.
    """
    others: list[str] = []
    values: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += [word, *rest]
            break
        name, equals, value = word.partition("=")
        flag = _dashed(name) if _FLAG.match(word) else name
        if flag in valued and (given := value if equals else next(rest, None)) is not None:
            if valued[flag] in values:
                raise InvalidArgument(f"{flag} is given twice", "give it once")
            values[valued[flag]] = given
        else:
            others.append(f"{flag}{equals}{value}")
    return others, values


def read_standard_input() -> str:
    """Everything standard input holds, as it is. Raises InvalidContent if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidContent(
            f"standard input is not UTF-8 (byte {error.start + 1:,} is 0x{error.object[error.start]:02x})",
            "convert it first, for instance with iconv -f LATIN1 -t UTF-8",
        ) from error


def _without_loose_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(flags, loose words); after `--`, and for what has not the form of a flag, a word is a word."""
    end = words.index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if _FLAG.match(word)]
    loose = [word for word in words[:end] if not _FLAG.match(word)]
    return flags, loose + list(words[end + 1 :])


def _as_switch(found: re.Match[str]) -> str:
    return f"--{'' if found[2] == 'true' else 'no-'}{_dashed(found[1])}"


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
