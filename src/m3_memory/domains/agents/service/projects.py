"""What projects are called: linking, merging and unlinking change which names a place goes by, and no memory.

A project has one main name, which new memories go to, and any number of aliases, whose memories whoever
stands in it holds too. Each change is the operator's, and an event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.agents import queries
from m3_memory.domains.agents.model import Naming, Project, ProjectList
from m3_memory.domains.memories.service.writes import operation
from m3_memory.errors import InvalidArgument, NeedsOperator
from m3_memory.kernel.caller import NO_PLACE, Grant, Scope, names_of
from m3_memory.storage.predicates import Filter, View, circle_audiences, mains_of_aliases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.context import Context
    from m3_memory.domains.agents.model import Met
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader

_SEE = "m3 project list shows the names"


def list_projects(ctx: Context) -> ProjectList:
    """The caller's own project; under the grant every one of the circle: written in, linked, or met."""
    with ctx.read() as reader:
        caller, mains, met = ctx.caller, mains_of_aliases(reader), queries.folders(reader)
        names = _names(reader, caller, mains, met) if caller.may(Grant.WIDEN) else {caller.project}
        known = {mains.get(name, name) for name in names}
        groups = [names_of(main, mains) for main in sorted(known)]
        return ProjectList([_project(reader, caller, group, met) for group in groups])


def link(ctx: Context, name: str) -> Naming:
    """Joins the project that goes by this name to the caller's own, whose main name stays.

    Raises InvalidArgument outside projects, NeedsOperator.
    """
    if not ctx.caller.project:
        raise InvalidArgument(
            "this is no project, so nothing can be linked to it", "stand in one, or name it with --project"
        )
    return merge(ctx, name, ctx.caller.project, "link")


def merge(ctx: Context, name: str, into: str, kind: str = "merge") -> Naming:
    """Joins the project that goes by the first name to the one of the second, whose main name stays.

    Every name of it becomes an alias of that main name itself: there are no chains. Raises NeedsOperator.
    """
    _ensure_operator(ctx)
    with ctx.write() as writer:
        mains = mains_of_aliases(writer)
        (joining, *others), main = names_of(name, mains), mains.get(into, into)
        if joining != main:
            for each in (joining, *others):
                queries.put_alias(writer, each, main)
            operation(ctx, writer).record(kind, "", 0, reason=f"project {joining} joins {main}")
        return _naming(main, mains_of_aliases(writer), changed=joining != main)


def unlink(ctx: Context, name: str) -> Naming:
    """Makes an alias a project of its own again; what was written meanwhile stays with the main name.

    Raises InvalidArgument for a name that is no alias, NeedsOperator.
    """
    _ensure_operator(ctx)
    with ctx.write() as writer:
        mains = mains_of_aliases(writer)
        if name not in mains:
            aliases = ", ".join(names_of(name, mains)[1:])
            raise InvalidArgument(
                f"{name} is not linked to another project",
                f"it is the main name; unlink one of its aliases: {aliases}"
                if aliases
                else f"{_SEE}; a folder's own earlier name is always included",
            )
        queries.remove_alias(writer, name)
        operation(ctx, writer).record("unlink", "", 0, reason=f"project {name} leaves {mains.pop(name)}")
        return _naming(name, mains, changed=True)


def known_name(ctx: Context, written: str, normal: str) -> str:
    """The name meant by one that a person wrote: as it is, if anything is known by it, else its normal form.

    Raises InvalidArgument where nothing is known by either.
    """
    with ctx.read() as reader:
        known = _names(reader, ctx.caller, mains_of_aliases(reader), queries.folders(reader))
    for name in filter(None, (written, normal)):
        if name in known or name == ctx.caller.project:
            return name
    raise InvalidArgument(f"nothing is known of a project called {written}", _SEE)


def _ensure_operator(ctx: Context) -> None:
    if not ctx.started_as.is_operator:
        raise NeedsOperator("what a project is called is the operator's to say", "ask the operator to do it")


def _naming(name: str, mains: Mapping[str, str], *, changed: bool) -> Naming:
    return Naming(name, list(names_of(name, mains)[1:]), changed)


def _names(reader: Reader, caller: Caller, mains: Mapping[str, str], met: list[Met]) -> set[str]:
    """Every name that something is known by; the empty one where the circle wrote outside projects."""
    written = map(caller.project_of, circle_audiences(reader, caller))
    return {*written, *mains, *mains.values(), *(one.name for one in met)}


def _project(reader: Reader, caller: Caller, names: tuple[str, ...], met: list[Met]) -> Project:
    main, *aliases = names
    there = View(caller.looking_into(names), Filter(scopes=(Scope.AGENT,)), reader.now)
    memories, last = queries.shown(reader, there)
    folders = list(dict.fromkeys(one.folder for one in met if one.name in names))
    return Project(main or NO_PLACE, memories, aliases, folders, last, current=caller.project == main)
