"""Where a caller stands: under every name of its place, and with what there is to say about that place.

A process notes each folder it was in, with the name its project had then; so that a folder whose project has
another name now, and a folder that joins a project known from others, can be told.
"""

from __future__ import annotations

import shlex
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from m3_memory.context import Standing
from m3_memory.domains.agents import queries
from m3_memory.domains.agents.model import CHANGED, SET, enrolled, placed
from m3_memory.domains.agents.service.operators import told
from m3_memory.errors import M3Error
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.clock import plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3_memory.domains.agents.model import Enrolment, Met
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader, Store

NEWS_SECONDS = 24 * 60 * 60
"""How long every process that starts there tells what is new about a place or the operator."""

RENAMED_SECONDS = 30 * NEWS_SECONDS
"""How long the former name of a folder's project is told."""

_PATIENCE_SECONDS = 0.5
_MOST_NEWS = 5


class _Arrival(NamedTuple):
    store: str
    user_id: str
    folder: str
    name: str


class Arrivals:
    """The places one process was in. Calls may come from several threads at once."""

    def __init__(self) -> None:
        self._told = set[_Arrival]()
        self._met = dict[_Arrival, bool]()
        self._changing = threading.Lock()

    def stand(self, reader: Reader, caller: Caller) -> Standing:
        """Where this caller stands in this store, with its news until the place is noted."""
        mains, enrolment = queries.standing_of(reader, caller.agent_id)
        here = placed(enrolled(caller, enrolment), mains)
        arrival = _Arrival(reader.origin, caller.user_id, caller.folder, caller.project)
        elsewhere = tuple(_circle_news(caller, enrolment))
        if arrival in self._told:
            return Standing(here, elsewhere)
        known = queries.folders(reader) if caller.folder else []
        is_noted = not caller.folder or (caller.folder, caller.project) in {met[:2] for met in known}
        with self._changing:
            self._met[arrival] = is_noted
        place = _place_news(reader, caller, here, known)
        return Standing(here, (*elsewhere, *_in_a_line(operator_news(reader)), *place))

    def note(self, stores: Iterable[Store]) -> None:
        """Notes the places met since the last time, each in the store it was met in: once they were told of.

        What can't be noted now, because another writes or nobody may, a later process tells and notes.
        """
        if not self._met:
            return
        with self._changing:
            met, self._met = self._met, {}
            self._told.update(met)
        unnoted = [arrival for arrival, is_noted in met.items() if not is_noted]
        for store in stores if unnoted else ():
            for arrival in unnoted:
                with suppress(M3Error), store.write(arrival.user_id, _PATIENCE_SECONDS) as writer:
                    if writer.origin == arrival.store:
                        queries.put_folder(writer, arrival.folder, arrival.name)


def operator_news(reader: Reader) -> list[str]:
    """What was changed for a day: the operator's passphrase, and agents' circles, grants and trust."""
    events = queries.last_grants(reader, _MOST_NEWS)
    return [str(told(event)) for event in events if plus(event[0], NEWS_SECONDS) >= reader.now]


def _in_a_line(news: list[str]) -> list[str]:
    """The weightiest of an operator's acts, with how many more there are: a passphrase before all others."""
    first, *others = sorted(news, key=lambda said: SET not in said and CHANGED not in said) or [""]
    more = f"; and {len(others)} more of an operator's acts: m3 doctor tells them" if others else ""
    return [first + more] if first else []


def _circle_news(caller: Caller, enrolment: Enrolment | None) -> Iterator[str]:
    """That a client goes by the name of an agent with a circle of its own, and stands elsewhere."""
    if enrolment and caller.is_claimed and enrolment.circle != caller.circle:
        yield (
            f"the agent {caller.agent_id} has the circle {enrolment.circle}, which no client's own name leads"
            f" to: this one stands in {caller.circle}; --agent {caller.agent_id} in its entry names it"
        )


def _place_news(reader: Reader, caller: Caller, here: Caller, known: list[Met]) -> Iterator[str]:
    """What is new about the folder a caller stands in; `known` is what was noted of every folder."""
    if not caller.folder:
        return
    names = {met.name: met.first_seen_at for met in known if met.folder == caller.folder}
    since = names.get(caller.project, reader.now)
    former = [name for name in names if name not in (here.project, *here.project_aliases)]
    written = queries.written_to(reader, [_audience(caller, name) for name in (caller.folder, *former)])
    if reader.now < plus(since, NEWS_SECONDS):
        others = [
            met.folder
            for met in known
            if met.name == caller.project and met.folder != caller.folder and met.first_seen_at <= since
        ]
        if caller.folder != caller.project and _audience(caller, caller.folder) in written:
            yield "earlier memories of this folder, from before it had a remote, are included"
        if others and names.keys() <= {caller.project, caller.folder}:
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            yield f"this folder joins the project {here.project}, known from {others[0]}{more}"
    if reader.now < plus(since, RENAMED_SECONDS):
        for name in former:
            if _audience(caller, name) in written:
                yield (
                    f"the project of this folder was called {name} before; what was written there is not"
                    f" included. If it is the same project: m3 project link {shlex.quote(name)}"
                )


def _audience(caller: Caller, name: str) -> str:
    return replace(caller, project=name).audience(Scope.AGENT)
