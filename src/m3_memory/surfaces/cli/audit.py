"""`m3 audit`: whether the history is whole and memories are what it says, by the exit code too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.catalog.answers import plain
from m3_memory.errors import InvalidArgument
from m3_memory.storage.audit import audited, exported, owners
from m3_memory.surfaces.cli.command import answer
from m3_memory.surfaces.cli.export_files import STANDARD_OUTPUT, write_lines
from m3_memory.surfaces.cli.opening import opened

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from m3_memory.launch import Launch
    from m3_memory.storage.audit import Report

WHOLE, BROKEN, DIFFERENT = 0, 6, 7
"""The exit codes of verify: all is whole; the history is not; the history is, and memories differ from it."""


def run(launch: Launch, given: Namespace, _doors: object) -> int:
    """`verify` answers {ok, history_is_whole, users}; `export FILE` writes the events, and answers {file}.

    All but verifying one's own asks for the operator's passphrase: a history crosses circles and projects.
    """
    is_export = given.verb == "export"
    if bool(given.file) is not is_export or (given.whole_store and is_export):
        raise InvalidArgument("verify takes no file; export takes one", "m3 audit export FILE")
    with opened(launch, signed_in=is_export or given.whole_store, as_it_is=True) as (app, ctx):
        heads = app.database.heads.read()
        with app.database.read(ctx.started_as.user_id) as reader:
            theirs = owners(reader, everybody=given.whole_store)
            if is_export:
                lines = (line for owner in theirs for line in exported(reader, owner, heads))
                write_lines(given.file, lines, replace=given.force)
            else:
                return _verified(launch, [audited(reader, owner, heads) for owner in theirs])
    if given.file != STANDARD_OUTPUT:
        answer(launch, {"file": given.file})
    return WHOLE


def _verified(launch: Launch, found: Sequence[Report]) -> int:
    parts = {flaw.part for user in found for flaw in user.flaws.values()}
    users = [{**vars(user), "flaws": plain([*user.flaws.values()])} for user in found]
    told = {"ok": not parts, "history_is_whole": "history" not in parts, "users": users}
    answer(launch, told, "m3 audit verify")
    return BROKEN if "history" in parts else DIFFERENT if parts else WHOLE
