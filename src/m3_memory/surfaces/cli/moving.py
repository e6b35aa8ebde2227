"""The commands by which memories leave in a file and come in from one, or a whole store does, or moves."""

from __future__ import annotations

import json
from collections import deque
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from m3_memory.catalog.answers import plain
from m3_memory.config import STORE_NAME, make_home
from m3_memory.domains.agents.service import operators
from m3_memory.domains.memories.service.drafts import checked_type
from m3_memory.domains.privacy import service
from m3_memory.domains.privacy.model import EDGE, MEMORY
from m3_memory.domains.privacy.service import seals
from m3_memory.errors import DamagedExport, InvalidArgument, StoreDamaged, Unavailable
from m3_memory.kernel.interval import parse_moment
from m3_memory.storage import ledger, open_database
from m3_memory.storage.dump import dumped, encoded, ensure_empty, heading_of, restore
from m3_memory.storage.predicates import Filter
from m3_memory.surfaces.cli.command import answer
from m3_memory.surfaces.cli.export_files import STANDARD_OUTPUT, digest_of, lines_of, told, write_lines
from m3_memory.surfaces.cli.opening import opened
from m3_memory.surfaces.cli.signing_in import as_operator, ask_unseen, proved

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator, Iterator

    from m3_memory.app import App
    from m3_memory.launch import Launch
    from m3_memory.storage.database import Database
    from m3_memory.surfaces.cli.command import Doors

_MOMENTS = ("since", "as_of", "known_at")
_FILTERS = frozenset({*_MOMENTS, "agent", "type", "variant"})

_MODEL_SECONDS = 30.0
"""How long an import waits for the model, so that it need not come back for every vector."""

_LEFT = "the store moved from is untouched; point every agent to the new one before any writes again"


def answer_export(launch: Launch, given: Namespace, _doors: object) -> int:
    """Does what `m3 export` was told; to standard output go the lines alone. Returns the exit code."""
    narrowed = [name for name in vars(given) if name in _FILTERS and getattr(given, name)]
    if given.whole_store and narrowed:
        raise InvalidArgument(f"a whole store is not narrowed by {narrowed[0]}", "leave one of them out")
    found = (_export_whole_store if given.whole_store else _export_visible)(launch, given)
    if given.file != STANDARD_OUTPUT:
        answer(launch, {"file": given.file, **found})
    return 0


def _export_visible(launch: Launch, given: Namespace) -> dict[str, Any]:
    """Writes what the caller may see, all of one moment. Answers {memories, edges}."""
    counts = {MEMORY: 0, EDGE: 0}
    times = {name: parse_moment(getattr(given, name)) if getattr(given, name) else "" for name in _MOMENTS}
    narrowing = Filter(
        as_of=times["as_of"],
        known_at=times["known_at"],
        variant=given.variant,
        types=(checked_type(given.type),) if given.type else (),
        agent_id=given.agent,
    )

    def line(found: dict[str, Any]) -> bytes:
        counts[found["kind"]] = counts.get(found["kind"], 0) + 1
        return encoded(found)

    with opened(launch) as (_, ctx):
        found = service.export_all(ctx, narrowing, times["since"])
        write_lines(given.file, map(line, found), replace=given.force)
    return {"memories": counts[MEMORY], "edges": counts[EDGE]}


def _export_whole_store(launch: Launch, given: Namespace) -> dict[str, Any]:
    """Writes everything a store holds, its key sealed by the passphrase. Answers {rows, digest}."""
    with opened(launch) as (app, ctx):
        operators.ensure_only(ctx)
        passphrase, _ = proved(ctx, "Operator's passphrase: ")
        with app.database.read(ctx.started_as.user_id) as reader:
            seal = seals.seal(passphrase, reader.origin, reader.secret_key)
            return json.loads(write_lines(given.file, dumped(reader, seal), replace=given.force))


def answer_import(launch: Launch, given: Namespace, _doors: object) -> int:
    """Imports a file as the caller or, to be accepted, as the operator. Returns the exit code.

    It is that of a damaged export where some line could not be read, whatever came of the others.
    """
    with opened(launch, signed_in=given.operator) as (app, ctx):
        digest = digest_of(given.file)
        if not given.dry_run:
            app.embedder.get(_MODEL_SECONDS)
        entries = service.entries_of(told(lines_of(given.file), "read"))
        found = service.import_entries(ctx, entries, digest, dry_run=given.dry_run)
    answer(launch, cast("dict[str, Any]", plain(found)), "memory_import", found.headline())
    return Unavailable.exit_code if found.stopped else DamagedExport.exit_code if found.malformed else 0


def restore_file(launch: Launch, given: Namespace, doors: Doors) -> dict[str, Any]:
    """Makes an empty store what a file tells of, and examines it. Answers {rows, memories, ok, faults}.

    The passphrase the export was sealed with is the proof; where the empty store has an operator, that
    operator's is asked for first.
    """
    heading = heading_of(lambda: lines_of(given.file))
    with opened(launch) as (app, ctx):
        if operators.status(ctx).is_set:
            as_operator(app, ctx.started_as)
        ensure_empty(app.database)
        key = seals.open_seal(ask_unseen("Passphrase of the export: "), heading.origin, heading.seal)
        rows = restore(app.database, lambda: told(lines_of(given.file), "read"), key)
        ledger.reconcile(app.database)
        found = doors.examine(replace(ctx))  # asked anew where the caller stands
    counts = {"rows": rows.total(), "memories": rows["memory_state"]}
    return {**counts, "ok": found["ok"], "faults": found["faults"]}


def move(launch: Launch, given: Namespace, _doors: object) -> dict[str, Any]:
    """Copies a whole store into an empty one and compares the two. Answers {rows, digest, settings, note}."""
    last = deque[bytes](maxlen=1)
    with opened(launch) as (app, ctx):
        operators.ensure_only(ctx)
        proved(ctx, "Operator's passphrase: ")
        with (
            _opened_at(app, given.to) as (target, advice),
            app.database.read(ctx.started_as.user_id) as reader,
        ):
            if operators.status(replace(ctx, database=target)).is_set:
                proved(replace(ctx, database=target), "Passphrase of the store moved to: ")

            def lines() -> Iterator[bytes]:
                for line in told(dumped(reader, {}), "moved"):
                    last.append(line)
                    yield line

            restore(target, lines, reader.secret_key, examined=True)
            with target.read(ctx.started_as.user_id) as there:
                if deque(told(dumped(there, {}), "compared"), maxlen=1) != last:
                    raise StoreDamaged(
                        "the copy is not what the store was: it was written to meanwhile, or a disk failed",
                        "stop the agents, remove the copy and move again; the store itself is untouched",
                    )
    return {**json.loads(last.pop()), "settings": advice, "note": _LEFT}


@contextmanager
def _opened_at(app: App, to: str) -> Generator[tuple[Database, str]]:
    """The store moved to, and what to put into the settings for it."""
    if to in app.stores.names:
        location = app.settings.all_stores[to].location
        advice = f"--store {to}, or its location in the place of main's"
    elif to.startswith(("postgresql://", "postgres://")):
        location, advice = to, "M3_DATABASE_URL, or database_url in m3_config.toml: the address you gave"
    else:
        path = Path(to).expanduser().absolute()
        path = path if path.suffix else path / STORE_NAME
        make_home(path.parent)
        is_home = path.name == STORE_NAME
        setting = f"M3_HOME={path.parent}" if is_home else f"[stores.NAME] with path = {str(path)!r}"
        location, advice = str(path), f"{setting}; and no database_url"
    if location == app.settings.all_stores[app.store].location:
        raise InvalidArgument("that is the store itself", "name the place of another one")
    if to in app.stores.names:
        yield app.stores.database(to), advice
    else:
        with closing(open_database(location, app.clock)) as target:
            yield target, advice
