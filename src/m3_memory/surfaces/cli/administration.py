"""The commands that are no tools: about the installation, the store, the hosts and the person.

Each asks a module of its own, which is loaded only then, and returns the answer, or the exit code of what it
printed itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from m3_memory.config import FILE_NAME, load_settings, show_settings
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import Command

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Answer, Doors


def _config(launch: Launch, _given: Namespace, _doors: Doors) -> Answer | int:
    rows = show_settings()
    if launch.json or not sys.stdout.isatty():
        return {"settings": [row._asdict() for row in rows]}
    output.print_table(
        ("setting", "value", "from"), [(row.name, _number(row.value), row.source) for row in rows]
    )
    output.print_text(f"\nSet them in {load_settings().home / FILE_NAME}")
    return 0


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _at(place: str) -> Callable[[Launch, Namespace, Doors], Answer | int]:
    """The function `module.name` of this package, imported when it is run."""
    module, _, name = f"{__package__}.{place}".rpartition(".")

    def run(launch: Launch, given: Namespace, doors: Doors) -> Answer | int:
        return getattr(import_module(module), name)(launch, given, doors)

    return run


def _flag(meaning: str, **more: Any) -> dict[str, Any]:
    return {"action": "store_true", "help": meaning, **more}


def _word(metavar: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, "help": meaning, **more}


def _verbs(*verbs: str) -> dict[str, Any]:
    return {"metavar": "VERB", "choices": verbs, "help": ", ".join(verbs)}


REVIEW_VERBS = ("", *"list show accept reject withdraw bury edit undo".split())

ADMINISTRATION: dict[str, Command] = {
    "setup": Command(
        "setup",
        "wire Claude Code and Cursor to this server, or take the entries out",
        _at("setup.command.set_up"),
        {
            "--agents": _word("NAME,…", "these hosts only, such as claude-code,cursor", default=""),
            "--dry-run": _flag("say what would be done, and do nothing"),
            "--non-interactive": _flag("ask nothing, also at a terminal"),
            "--remove": _flag("take the entries out; memories stay"),
        },
    ),
    "config": Command("config", "show every setting, its value and where that came from", _config),
    "doctor": Command(
        "doctor",
        "examine the store: rows, index, vectors and history must agree",
        _at("maintenance.doctor"),
        {"--accept-head": _flag("instead: take the history of a copy put back as it is")},
    ),
    "status": Command(
        "status", "one line: where the store is, what it holds, whether all is well", _at("status.run")
    ),
    "backup": Command(
        "backup [FOLDER]",
        "copy the whole store to a new file, named by the time",
        _at("maintenance.backup"),
        {
            "folder": _word("FOLDER", "backups in the home folder", nargs="?", default=""),
            "--list": _flag("make none; name those that are there"),
        },
    ),
    "migrate": Command(
        "migrate", "bring the store up to this version, after a backup", _at("maintenance.migrate")
    ),
    "operator": Command(
        "operator VERB",
        "the operator's passphrase: init sets it, change, status",
        _at("operator.run"),
        {"verb": _verbs("init", "change", "status")},
    ),
    "project": Command(
        "project VERB …",
        "list projects; link, unlink, merge their names",
        _at("project.run"),
        {
            "verb": _verbs("list", "link", "unlink", "merge"),
            "names": _word("NAME", "link NAME, unlink NAME, merge FROM INTO", nargs="*"),
            "--all": _flag("list every project, as the operator"),
        },
    ),
    "agents": Command(
        "agents VERB …",
        "list agents; isolate, join, grant, revoke, trust: the operator's word on one",
        _at("agents.run"),
        {
            "verb": _verbs("list", "isolate", "join", "grant", "revoke", "trust"),
            "words": _word("WORD", "AGENT, then a circle, a grant, or a number from 0.5 to 1", nargs="*"),
        },
    ),
    "audit": Command(
        "audit VERB …",
        "verify: is the history whole, and are memories what it says; export it",
        _at("audit.run"),
        {
            "verb": _verbs("verify", "export"),
            "file": _word("FILE", "what export writes, or - for standard output", nargs="?", default=""),
            "--whole-store": _flag("verify every user's, as the operator"),
            "--force": _flag("replace a file that is there"),
        },
    ),
    "privacy": Command(
        "privacy VERB …",
        "probe: whether a text still stands in the bytes of any file of ours",
        _at("privacy.run"),
        {
            "verb": _verbs("probe"),
            "texts": _word("TEXT", "what to look for; without one, the lines of the input", nargs="*"),
        },
    ),
    "review": Command(
        "review [VERB] …",
        "what waits for you: list, show ID; accept, reject, withdraw, bury, edit, undo ID",
        _at("review.run"),
        {
            "verb": _word(
                "VERB", "none: one after the other is asked", nargs="?", default="", choices=REVIEW_VERBS
            ),
            "id": _word("ID", "the question, as the list names it", nargs="?", default=""),
            "--text": _word("TEXT", "what the memory that wins says from then on, with edit", default=""),
        },
    ),
    "undo": Command(
        *(
            "undo …",
            "take changes back: of a memory, a call, or an agent since a time; shown first",
            _at("undoing.run"),
        ),
        {
            "--event": _word("N", "one event, by its sequence in m3 memory history"),
            "--operation": _word("ID", "all that one call did"),
            "--memory": _word("ID", "the last change of this memory", dest="memory_id"),
            "--agent": _word("NAME", "all that this agent did"),
            "--since": _word("TIME", "from when on, with --agent"),
            "--until": _word("TIME", "up to when, with --agent"),
            "--dry-run": _flag("only show what would be undone"),
            "--yes": _flag("do not ask"),
        },
    ),
    "reindex": Command(
        "reindex",
        "derive what searches use anew from the memories",
        _at("reindexing.run"),
        {"--after": _word("ITEM", "go on with a run that was stopped there", type=int, default=0)},
    ),
    "export": Command(
        "export FILE",
        "write what you may see, or the whole store, to a file",
        _at("moving.answer_export"),
        {
            "file": _word("FILE", "the file to write, or - for standard output"),
            "--force": _flag("replace a file that is there"),
            "--whole-store": _flag("everything there is: the operator's"),
            "--agent": _word("NAME", "only what this agent wrote", default=""),
            "--type": _word("TYPE", "only this type", default=""),
            "--since": _word("TIME", "only what the store came to believe since then", default=""),
            "--as-of": _word("TIME", "what held then", default=""),
            "--known-at": _word("TIME", "what the store believed then", default=""),
            "--variant": _word("NAME", "the experiment whose tagged memories come too", default=""),
        },
    ),
    "import": Command(
        "import FILE",
        "write what a file of m3 export says, as yours",
        _at("moving.answer_import"),
        {
            "file": _word("FILE", "what m3 export wrote, or an older export in one object"),
            "--dry-run": _flag("tell what would come in; store nothing"),
            "--operator": _flag("sign in: what comes in is accepted"),
        },
    ),
    "restore": Command(
        "restore FILE",
        "make an empty store what a whole export tells of",
        _at("moving.restore_file"),
        {"file": _word("FILE", "what m3 export --whole-store wrote")},
    ),
    "move": Command(
        "move TO",
        "copy the whole store to another place or engine, and compare",
        _at("moving.move"),
        {"to": _word("TO", "a postgresql:// address, a path, or a declared store")},
    ),
    "worker": Command(
        "worker --once",
        "do what waits in the queue, such as late vectors",
        _at("maintenance.work"),
        {"--once": _flag("end when nothing waits any more", required=True)},
    ),
}
