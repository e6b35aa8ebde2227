"""The command line: one process, one command, one answer.

`m3 DOMAIN VERB` and `m3 call NAME JSON` make the same call as every other surface, as the agent `cli`. JSON
on standard output is the structured result and nothing else; errors go to standard error, and the exit code
is that of the error's class: 2 wrong input, 3 refused, 4 missing, 5 unavailable, 1 our fault.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from m3_memory import __version__
from m3_memory.config import host_environment
from m3_memory.errors import InvalidArgument, M3Error, NeedsOperator, StoreDamaged
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
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors

AGENT = "cli"
_INTERRUPTED = 130
_BROKEN_PIPE = 141

_HELP = """\
m3 Memory: what agents wrote down, kept exactly, found again, and corrected over time.

  m3 [--agent NAME] [--project P] [--store NAME] [--tools essential|all|DOMAIN,…]
                          serve an MCP client on standard input and output
  m3 DOMAIN VERB …        run one tool; m3 DOMAIN lists the verbs of a domain
{commands}

Before any command: --project P (a folder, a name, or the address of a remote; else the host's variable or the
working directory decides), --store NAME (one of [stores.NAME] in the settings file) and --json (JSON also on
a terminal). m3 --version prints the version.

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
    if launch.agent or launch.tools:
        raise InvalidArgument(
            "--agent and --tools belong to the server",
            f"leave them out: a command runs as the agent {AGENT}, and every tool is there",
        )
    if name.startswith("-"):
        raise InvalidArgument(
            f"there is no flag {name} before a command, or its value lacks", "see m3 --help"
        )
    launch.agent = launch.surface = AGENT
    if name in COMMANDS:
        return _run_command(launch, name, words, doors)
    return _run_domain(launch, name, words, doors)


def _run_command(launch: Launch, name: str, words: Sequence[str], doors: Doors) -> int:
    """Runs a command that is no tool; of one that examined the store, the exit code tells how that is."""
    command = COMMANDS[name]
    parser = Parser(f"m3 {name}", command.summary)
    for word, options in command.arguments.items():
        parser.add_argument(word, **options)
    given = parser.parse_args(words)
    found = command.run(launch, given, doors)
    if isinstance(found, int):
        return found
    answer(launch, found, f"m3 {name} {vars(given).get('verb', '')}".rstrip())
    return 0 if found.get("ok", True) else StoreDamaged.exit_code


def _tell(launch: Launch, error: M3Error) -> None:
    if launch.json or not sys.stderr.isatty():
        output.print_json({"code": error.code, "message": error.message, "hint": error.hint}, sys.stderr)
    else:
        hint = f"\n    {in_shell_words(load_catalog(), error.hint)}" if error.hint else ""
        output.print_text(f"m3: {error.message} [{error.code}]{hint}", sys.stderr)


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
    """Calls the tool; what needs the operator is done once the person at the terminal proved to be that."""
    with closing(doors.open_session(launch)) as session:
        outcome = session.call(name, arguments)
        if isinstance(outcome.error, NeedsOperator) and sys.stderr.isatty():
            from m3_memory.surfaces.cli.signing_in import as_operator

            outcome = session.as_operator(as_operator).call(name, arguments)
        if outcome.error is not None:
            raise outcome.error
        told = _with_end_of_session(arguments, outcome.structured or {})
        answer(launch, told, name, outcome.text.rpartition("\n")[0])
        sys.stdout.flush()  # what is still to be done at the end keeps no reader waiting
    return 0


def _with_end_of_session(arguments: Mapping[str, Any], structured: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to a write; of scope `session` with the notice that this process is the whole of it."""
    is_lost = arguments.get("scope") == "session" and "id" in structured and not host_environment().session_id
    if not is_lost:
        return structured
    told = "scope session is this one command: nothing reads the memory any more; --scope agent keeps it"
    return {**structured, "notices": [*structured.get("notices", ()), told]}


def _call(launch: Launch, given: Namespace, doors: Doors) -> int:
    text = read_standard_input() if given.arguments == "-" else given.arguments
    try:
        arguments = json.loads(text)
        if not isinstance(arguments, dict):
            raise TypeError("they are no object")
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidArgument(
            f"the arguments are not JSON: {error}", 'write an object: {"name": value}'
        ) from error
    return _run_tool(launch, given.name, cast("dict[str, Any]", arguments), doors)


COMMANDS: dict[str, Command] = {
    "call": Command(
        *("call NAME JSON", "run one tool by its name; - reads the JSON from standard input", _call),
        {"name": {"metavar": "NAME"}, "arguments": {"metavar": "JSON", "nargs": "?", "default": "{}"}},
    ),
    **ADMINISTRATION,
}


def _help() -> str:
    catalog = load_catalog()
    commands = [f"  m3 {known.usage:<20} {known.summary}" for known in COMMANDS.values()]
    domains = [f"  {entry['name']:<14} {entry['description']}" for entry in catalog["domains"]]
    return _HELP.format(commands="\n".join(commands), domains="\n".join(domains))
