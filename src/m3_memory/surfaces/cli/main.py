"""The command line: one process, one command, one answer.

`m3 DOMAIN VERB` and `m3 call NAME JSON` make the same call as every other surface, as the agent `cli`. JSON
on standard output is the structured result and nothing else; errors go to standard error, and the exit code
is that of the error's class: 2 wrong input, 3 refused, 4 missing, 5 unavailable, 1 our fault.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from m3_memory import __version__
from m3_memory.config import FILE_NAME, load_settings, show_settings
from m3_memory.errors import InvalidArgument, M3Error, StoreDamaged
from m3_memory.generated import load_catalog
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.commands import (
    Parser,
    find_command,
    in_shell_words,
    read_standard_input,
    unknown_command,
    verbs_of,
)
from m3_memory.surfaces.cli.person import lines_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from m3_memory.app import App
    from m3_memory.catalog.dispatch import Outcome
    from m3_memory.context import Context
    from m3_memory.launch import Launch

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


class Session(Protocol):
    """The product behind this process."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome: ...
    def close(self) -> None: ...


class Doors(NamedTuple):
    """What the process hands to the command line, which knows no other surface."""

    open_session: Callable[[Launch], Session]
    work_once: Callable[[App], Mapping[str, Any]]
    examine: Callable[[Context], Mapping[str, Any]]


class Command(NamedTuple):
    """One command that is no tool."""

    usage: str
    summary: str
    run: Callable[[Launch, Sequence[str], Doors], int]


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
        _answer(launch, verbs)
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
    _answer(launch, outcome.structured or {}, name, outcome.text.rpartition("\n")[0])
    return 0


def _answer(launch: Launch, structured: Mapping[str, Any], tool: str = "", headline: str = "") -> None:
    if launch.json or not sys.stdout.isatty():
        output.print_json(structured)
    else:
        output.print_text("\n".join(lines_for(tool, headline, structured)))


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


def _config(launch: Launch, words: Sequence[str], _doors: Doors) -> int:
    Parser("m3 config", COMMANDS["config"].summary).parse_args(words)
    rows = show_settings()
    if launch.json or not sys.stdout.isatty():
        output.print_json({"settings": [row._asdict() for row in rows]})
    else:
        output.print_table(("setting", "value", "from"), [row[:3] for row in rows])
        output.print_text(f"\nSet them in {load_settings().home / FILE_NAME}")
    return 0


def _migrate(launch: Launch, words: Sequence[str], _doors: Doors) -> int:
    Parser("m3 migrate", COMMANDS["migrate"].summary).parse_args(words)
    from m3_memory.surfaces.cli.maintenance import migrate

    _answer(launch, migrate())
    return 0


def _backup(launch: Launch, words: Sequence[str], _doors: Doors) -> int:
    parser = Parser("m3 backup", COMMANDS["backup"].summary)
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="", help="backups in the home folder")
    given = parser.parse_args(words)
    from m3_memory.surfaces.cli.maintenance import backup

    _answer(launch, backup(given.folder))
    return 0


def _doctor(launch: Launch, words: Sequence[str], doors: Doors) -> int:
    Parser("m3 doctor", COMMANDS["doctor"].summary).parse_args(words)
    from m3_memory.surfaces.cli.maintenance import examine

    found = examine(launch, doors.examine)
    _answer(launch, found)
    return 0 if found["ok"] else StoreDamaged.exit_code


def _worker(launch: Launch, words: Sequence[str], doors: Doors) -> int:
    parser = Parser("m3 worker", COMMANDS["worker"].summary)
    parser.add_argument("--once", action="store_true", required=True, help="end when nothing waits any more")
    parser.parse_args(words)
    from m3_memory.surfaces.cli.maintenance import work

    _answer(launch, work(doors.work_once))
    return 0


COMMANDS = {
    "call": Command(
        "call NAME JSON", "run one tool by its name; - reads the JSON from standard input", _call
    ),
    "config": Command("config", "show every setting, its value and where that came from", _config),
    "doctor": Command("doctor", "examine the store: rows, index, vectors and history must agree", _doctor),
    "backup": Command("backup [FOLDER]", "copy the whole store to a new file, named by the time", _backup),
    "migrate": Command("migrate", "bring the store up to this version, after a backup", _migrate),
    "worker": Command("worker --once", "do what waits in the queue, such as late vectors", _worker),
}


def _help() -> str:
    catalog = load_catalog()
    commands = [f"  m3 {known.usage:<20} {known.summary}" for known in COMMANDS.values()]
    domains = [f"  {entry['name']:<14} {entry['description']}" for entry in catalog["domains"]]
    return _HELP.format(commands="\n".join(commands), domains="\n".join(domains))
