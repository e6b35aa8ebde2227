"""`m3 setup`: finds the hosts, says what it would do, asks, does it, proves it, and reports each."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.config import FILE_NAME, host_environment, load_settings, make_home, show_settings
from m3_memory.errors import (
    FileUnavailable,
    InvalidArgument,
    InvalidSettings,
    M3Error,
    Missing,
    ServerNameTaken,
)
from m3_memory.storage.locks import file_lock
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import confirmed
from m3_memory.surfaces.cli.setup import files
from m3_memory.surfaces.cli.setup.launcher import launcher_path, remove_launcher, write_launcher
from m3_memory.surfaces.cli.setup.ledger import Ledger
from m3_memory.surfaces.cli.setup.proof import prove
from m3_memory.surfaces.cli.setup.wiring import FAILED, REMOVED, REPAIRED, UNCHANGED, WIRED, find_site

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator, Iterator, Sequence

    from m3_memory.integrations.hosts import Host
    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors
    from m3_memory.surfaces.cli.setup.wiring import Row, Site

SKIPPED, DECLINED = "skipped", "declined"

_IN_PLACE = (WIRED, UNCHANGED, REPAIRED)
_INTENTS = {WIRED: "Add m3 to {0}, in {1}", REPAIRED: "Bring m3's entry in {0} up to date, in {1}"}
_UNTOLD = ("title", "exit_code")
_LOCK_SECONDS = 20.0


def set_up(launch: Launch, given: Namespace, doors: Doors) -> int:
    """Wires the hosts, or takes the entries out, and prints a row for each; returns the exit code.

    Raises InvalidArgument for an agent that is no host, and what concerns no single host.
    """
    hosts = doors.hosts()
    agents: list[str] = list(filter(None, map(str.strip, given.agents.split(","))))
    known = [host.name for host in hosts]
    if unknown := [name for name in agents if name not in known]:
        raise InvalidArgument(f"no host is called {unknown[0]}", f"the hosts are: {', '.join(known)}")
    setup = _Setup(given, agents)
    chosen = [host for host in hosts if not agents or host.name in agents]
    rows = setup.remove(chosen, hosts) if given.remove else setup.wire(chosen)
    setup.show(launch, rows)
    is_wired = not (given.dry_run or given.remove) and any(row.status in _IN_PLACE for row in rows)
    if is_wired and setup.asks and setup.is_first:
        _offer_operator(launch)
    failed = [row.exit_code for row in rows if row.exit_code]
    nothing = all(row.status == SKIPPED for row in rows) and not given.dry_run
    return failed[0] if failed else Missing.exit_code if nothing else 0


class _Setup:
    """One run, for one user and one home folder."""

    def __init__(self, given: Namespace, agents: Sequence[str]) -> None:
        self._settings = load_settings()
        self._home = self._settings.home
        self._is_dry_run: bool = given.dry_run
        self._agents = agents
        self._launcher = launcher_path(self._home)
        if not str(self._launcher).isprintable():
            raise InvalidSettings(
                "the home folder's path can't be written to a file", "name another with M3_HOME"
            )
        shown = {row.name: row for row in show_settings()}
        is_named = shown.pop("home").source != "default"
        self._environment = {"M3_HOME": str(self._home)} if is_named else {}
        self._own_variables = [row.variable for row in shown.values() if row.source.startswith("environment")]
        self._ledger = Ledger(self._home / "setup")
        self._written = ""
        self._notes: list[str] = []
        self.asks = not given.non_interactive and sys.stdin.isatty() and sys.stderr.isatty()
        self.is_first = not self._ledger.records()

    def wire(self, hosts: Sequence[Host]) -> list[Row]:
        """Wires what is found, wanted and possible."""
        sites = {host.name: self._site(host) for host in hosts}
        rows = {name: self._looked_at(site) for name, site in sites.items()}
        if not self._is_dry_run:
            rows = {name: self._agreed(sites[name], row) for name, row in rows.items()}
            if wanted := [name for name, row in rows.items() if row.status in _IN_PLACE]:
                with self._locked():
                    self._written = write_launcher(self._launcher)
                    rows |= {name: self._wired(sites[name]) for name in wanted}
        if self._own_variables and any(row.status != SKIPPED for row in rows.values()):
            self._notes.append(
                f"{', '.join(self._own_variables)}: set in this environment, which a host may not share;"
                f" what is to hold everywhere belongs into {self._home / FILE_NAME}"
            )
        return list(rows.values())

    def remove(self, hosts: Sequence[Host], known: Sequence[Host]) -> list[Row]:
        """Takes out the entries; with the last of them the launcher."""
        with nullcontext() if self._is_dry_run or not self._home.is_dir() else self._locked():
            rows = [self._unwired(self._site(host)) for host in hosts]
            left = (self._holds_entry(self._site(host), if_unreadable=True) for host in known)
            if not self._is_dry_run and not any(left):
                self._written = remove_launcher(self._launcher)
        where = "in the database" if self._settings.database_url else f"in {self._home}"
        self._notes.append(f"the memories stay {where}; nothing of them was touched")
        return rows

    def show(self, launch: Launch, rows: Sequence[Row]) -> None:
        """Prints the report: JSON for programs, a table for a person."""
        if launch.json or not sys.stdout.isatty():
            launcher = {"path": str(self._launcher), "status": self._written} if self._written else {}
            told = [
                {name: fact for name, fact in row._asdict().items() if fact and name not in _UNTOLD}
                for row in rows
            ]
            output.print_json(
                {"dry_run": self._is_dry_run, "hosts": told, "launcher": launcher, "notes": self._notes}
            )
            return
        if self._is_dry_run:
            output.print_text("This is what would be done; nothing was changed.")
        output.print_table(
            ("host", "status", "file"),
            [(row.title, self._status(row), "" if row.status == SKIPPED else row.file) for row in rows],
        )
        output.print_text("\n".join((*(line for row in rows for line in _remarks(row)), *self._notes)))

    def _status(self, row: Row) -> str:
        is_plan = self._is_dry_run and row.status in (WIRED, REPAIRED, REMOVED)
        return f"would be {row.status}" if is_plan else row.status

    def _site(self, host: Host) -> Site:
        return find_site(host, host.entry(str(self._launcher), self._environment), self._ledger)

    def _looked_at(self, site: Site) -> Row:
        """What would be done for one host, or why nothing can be."""
        is_wired = self._holds_entry(site)
        if not (site.signs or is_wired):
            return site.row(SKIPPED, detail="it was not found on this machine")
        if not (site.is_certain or is_wired or site.host.name in self._agents or self.asks):
            hint = f"if you use it: m3 setup --agents {site.host.name}"
            return site.row(SKIPPED, detail=f"of it, only {site.signs} was found", hint=hint)
        return site.attempt(site.look, site.snippet())

    def _agreed(self, site: Site, row: Row) -> Row:
        """The same row, or that the person declined."""
        if not self.asks or row.status not in _INTENTS:
            return row
        intent = _INTENTS[row.status].format(row.title, row.file)
        is_wanted = confirmed(f"{intent} (found: {site.signs})?", site.is_certain)
        return row if is_wanted else site.row(DECLINED)

    def _wired(self, site: Site) -> Row:
        row = site.attempt(site.wire, site.snippet())
        if row.status == FAILED:
            return row
        folder, hint = Path(host_environment().home), "" if row.status == UNCHANGED else site.host.then
        return site.attempt(lambda: row._replace(tools=prove(site.host, site.entry, folder), hint=hint))

    def _unwired(self, site: Site) -> Row:
        row = site.attempt(site.look_at_removal if self._is_dry_run else site.unwire)
        is_others = row.code == ServerNameTaken.code
        return site.row(UNCHANGED, detail=row.detail) if is_others else row

    @staticmethod
    def _holds_entry(site: Site, *, if_unreadable: bool = False) -> bool:
        """Whether the host's file has an entry of ours."""
        try:
            return site.holds_entry()
        except (M3Error, ValueError):
            return if_unreadable

    @contextmanager
    def _locked(self) -> Generator[None]:
        """One setup at a time in this home, which is made."""
        make_home(self._home)
        lock = self._home / "setup.lock"
        with files.told(lock, "locked"), file_lock(lock, _LOCK_SECONDS) as held:
            if not held:
                raise FileUnavailable("another m3 setup is running", "wait until it is done, then try again")
            yield


def _remarks(row: Row) -> Iterator[str]:
    said = [row.detail] if row.detail else []
    said += [f"{row.tools} tools listed"] if row.tools else []
    said += [row.hint if row.status == FAILED else f"next: {row.hint}"] if row.hint else []
    if said:
        yield f"{row.title}: {'; '.join(said)}"
    if row.snippet:
        yield f"What belongs into {row.file}:\n{row.snippet}"


def _offer_operator(launch: Launch) -> None:
    """Offers to set the operator's passphrase where none is set; what goes wrong is said, no more."""
    from m3_memory.surfaces.cli import operator

    question = (
        "Set an operator's passphrase now, to be asked for wherever only you decide:"
        " reviews, trust, erasing, agents' rights, whole stores?"
    )
    try:
        if not operator.told(launch, "status")["is_set"] and confirmed(question, default=False):
            operator.told(launch, "init")
            output.print_text("The passphrase is set.", sys.stderr)
    except M3Error as error:
        output.print_text(f"{error.message}; m3 operator init does it later", sys.stderr)
