"""The command line: one process, one command, one answer.

`m3 DOMAIN VERB` and `m3 call NAME JSON` make the same call as every other surface, as the agent `cli`. JSON
on standard output is the structured result and nothing else; errors go to standard error, and the exit code
is that of the error's class: 2 wrong input, 3 refused, 4 missing, 5 unavailable, 1 our fault.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, cast

from m3_memory import __version__
from m3_memory.errors import InvalidArgument, M3Error
from m3_memory.generated import load_catalog
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.administration import ADMINISTRATION
from m3_memory.surfaces.cli.command import Command, answer
from m3_memory.surfaces.cli.commands import (
    Parser,
    find_command,
    in_shell_words,
    read_standard_input,
    unknown_command,
    verbs_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors

AGENT = "cli"
_INTERRUPTED = 130
_BROKEN_PIPE = 141

_HELP = """\
m3 Memory: what agents wrote down, kept exactly, found again, and corrected over time.

  m3 [--agent NAME] [--project P] [--tools essential|all|DOMAIN,…]
                          serve an MCP client on standard input and output
  m3 DOMAIN VERB …        run one tool; m3 DOMAIN lists the verbs of a domain
{commands}

Before any command: --project P (a folder, a name, or the address of a remote; else the host's variable or the
working directory decides) and --json (JSON also on a terminal). m3 --version prints the version.

Domains:
{domains}"""


def run(launch: Launch, command: Sequence[str], doors: Doors) -> int:
    """Runs one command, which is not empty, and returns the exit code of the process."""
    launch.json = launch.json or "--json" in command
    output.prepare()
    try:
        code = _run(launch, command, doors)
        sys.stdout.flush()
    except M3Error as error:
        _tell(launch, error)
        return error.exit_code
    except BrokenPipeError:
        output.discard_output()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code


def _run(launch: Launch, command: Sequence[str], doors: Doors) -> int:
    name, *words = command
    if name in ("--version", "--help", "-h", "help"):
        output.print_text(__version__ if name == "--version" else _help())
        return 0
    if launch.agent or launch.tools or name.startswith("-"):
        raise _misplaced(name, launch)
    launch.agent = launch.surface = AGENT
    if known := COMMANDS.get(name):
        return known.run(launch, words, doors)
    return _run_domain(launch, name, words, doors)


def _tell(launch: Launch, error: M3Error) -> None:
    if launch.json or not sys.stderr.isatty():
        output.print_json({"code": error.code, "message": error.message, "hint": error.hint}, sys.stderr)
    else:
        hint = f"\n    {in_shell_words(load_catalog(), error.hint)}" if error.hint else ""
        output.print_text(f"m3: {error.message} [{error.code}]{hint}", sys.stderr)


def _misplaced(name: str, launch: Launch) -> InvalidArgument:
    if launch.agent or launch.tools:
        return InvalidArgument(
            "--agent and --tools belong to the server",
            f"leave them out: a command runs as the agent {AGENT}, and every tool is there",
        )
    if name in ("--agent", "--project", "--tools"):
        return InvalidArgument(f"{name} needs a value", "see m3 --help")
    return InvalidArgument(f"there is no flag {name}", "see m3 --help")


def _run_domain(launch: Launch, domain: str, words: Sequence[str], doors: Doors) -> int:
    catalog = load_catalog()
    verbs = verbs_of(catalog, domain)
    if not verbs:
        raise unknown_command(catalog, domain, COMMANDS)
    if not words or words[0] in ("--help", "-h", "--json"):
        answer(launch, verbs)
        return 0
    command = find_command(catalog, domain, words[0])
    return _run_tool(launch, command.name, command.read(words[1:]), doors)


def _run_tool(launch: Launch, name: str, arguments: Mapping[str, Any], doors: Doors) -> int:
    session = doors.open_session(launch)
    try:
        outcome = session.call(name, arguments)
    finally:
        session.close()
    if outcome.error is not None:
        raise outcome.error
    answer(launch, outcome.structured or {}, name, outcome.text.rpartition("\n")[0])
    return 0


def _call(launch: Launch, words: Sequence[str], doors: Doors) -> int:
    parser = Parser("m3 call", COMMANDS["call"].summary)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("arguments", metavar="JSON", nargs="?", default="{}")
    given = parser.parse_args(words)
    text = read_standard_input() if given.arguments == "-" else given.arguments
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"the arguments are not JSON: {error}", 'write an object: {"name": value}'
        ) from error
    if not isinstance(arguments, dict):
        raise InvalidArgument("the arguments are no JSON object", 'write {"name": value}')
    return _run_tool(launch, given.name, cast("dict[str, Any]", arguments), doors)


COMMANDS: dict[str, Command] = {
    "call": Command(
        "call NAME JSON", "run one tool by its name; - reads the JSON from standard input", _call
    ),
    **ADMINISTRATION,
}


def _help() -> str:
    catalog = load_catalog()
    commands = [f"  m3 {known.usage:<20} {known.summary}" for known in COMMANDS.values()]
    domains = [f"  {entry['name']:<14} {entry['description']}" for entry in catalog["domains"]]
    return _HELP.format(commands="\n".join(commands), domains="\n".join(domains))
