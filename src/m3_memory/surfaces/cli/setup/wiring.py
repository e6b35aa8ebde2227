"""One host on this machine: what is found of it, and its entry put there, repaired or taken out.

Whatever else stands in its file stays.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from codecs import BOM_UTF8
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from m3_memory.config import host_environment, set_variables
from m3_memory.errors import FileUnavailable, HostFileInvalid, M3Error, ServerNameTaken
from m3_memory.surfaces.cli.setup import files, jsonc
from m3_memory.surfaces.cli.setup.files import FileChanged, Snapshot
from m3_memory.surfaces.cli.setup.ledger import NO_FILE, Record, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.integrations.hosts import Entry, Host
    from m3_memory.surfaces.cli.setup.ledger import Ledger

WIRED, UNCHANGED, REPAIRED, REMOVED, FAILED = "wired", "unchanged", "repaired", "removed", "failed"

_BY_FILE = "file"
_TRIES = 3
_COMMAND_SECONDS = 30.0
_FOLDER = "folder"


class Row(NamedTuple):
    """What was done for one host, in which file and by what; or why not, and what to do."""

    title: str
    agent: str
    status: str
    file: str
    how: str = ""
    detail: str = ""
    hint: str = ""
    code: str = ""
    snippet: str = ""
    tools: int = 0
    exit_code: int = 0


class _Plan(NamedTuple):
    status: str
    snapshot: Snapshot
    content: bytes
    made: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """One host: its file, the entry that belongs there, and what was found; what is missing is empty."""

    host: Host
    entry: Entry
    ledger: Ledger
    file: Path
    program: str
    folder: str
    own_program: str

    @property
    def signs(self) -> str:
        """What was found of the host, in words."""
        return " and ".join(filter(None, (self.program, self.folder)))

    @property
    def is_certain(self) -> bool:
        """Whether both signs are there: a folder alone may be another program's, or left over."""
        return bool(self.program and self.folder)

    def row(self, status: str, **facts: Any) -> Row:
        """A row of the report."""
        return Row(self.host.title, self.host.name, status, str(self.file), **facts)

    def attempt(self, act: Callable[[], Row], snippet: str = "", tries: int = _TRIES) -> Row:
        """The row of what is done; or of why it can't be, with what a person may paste.

        It is done again where somebody else wrote the file meanwhile.
        """
        try:
            return act()
        except FileChanged:
            if tries > 1:
                return self.attempt(act, snippet, tries - 1)
            error = FileUnavailable(
                f"{self.file} is written by somebody else all the time",
                f"close {self.host.title}, then try again",
            )
        except ValueError as reason:
            error = HostFileInvalid(
                f"{self.file} can't be edited: {reason}; it was left as it is",
                "correct it and run m3 setup again, or see to the entry yourself",
            )
        except M3Error as raised:
            error = raised
        said = {"detail": error.message, "hint": error.hint, "code": error.code, "snippet": snippet}
        return self.row(FAILED, **said, exit_code=error.exit_code)

    def snippet(self) -> str:
        """What a person pastes into the host's file."""
        servers, name = self.host.entry_path
        return json.dumps({servers: {name: self.host.updated({}, self.entry)}}, indent=2, ensure_ascii=False)

    def look(self) -> Row:
        """What wiring would do. Raises ValueError, FileUnavailable and ServerNameTaken."""
        plan = self._plan()
        return self.row(plan.status, how="" if plan.status == UNCHANGED else self._way(plan))

    def holds_entry(self) -> bool:
        """Whether there is an entry of ours to take out. Raises as `look`."""
        return self._stored(self._read(files.take(self.file).content)[1]) is not None

    def look_at_removal(self) -> Row:
        """What taking the entry out would do. Raises as `look`."""
        return self.row(REMOVED if self.holds_entry() else UNCHANGED)

    def wire(self) -> Row:
        """Puts the entry there, or brings it up to date. Raises as `look`, and FileChanged."""
        plan, note = self._plan(), ""
        if plan.status == WIRED and (way := self._way(plan)) != _BY_FILE:
            self._keep(plan)
            if not (note := self._ask_host()):
                self._note(plan, files.take(self.file).content)
                return self.row(WIRED, how=way)
            plan = self._plan()
        if plan.status == UNCHANGED:
            return self.row(UNCHANGED, detail=note)
        self._keep(plan)
        before = self.ledger.find(self.file)
        self._note(plan, plan.content)
        try:
            files.replace(plan.snapshot, plan.content)
        except (M3Error, FileChanged):
            self.ledger.note(self.file, before)
            raise
        return self.row(plan.status, how=_BY_FILE, detail=note)

    def unwire(self) -> Row:
        """Takes the entry out: every byte as it was if only setup changed the file, else the entry alone.

        Raises as `look`, and FileChanged.
        """
        how = self._take_out(files.take(self.file), self.ledger.find(self.file))
        self.ledger.note(self.file, None)
        return self.row(REMOVED if how else UNCHANGED, how=how)

    def _keep(self, plan: _Plan) -> None:
        if plan.snapshot.content is not None and plan.status == WIRED:
            self.ledger.keep_copy(plan.snapshot.content)

    def _plan(self) -> _Plan:
        snapshot = files.take(self.file)
        text, value = self._read(snapshot.content)
        stored = self._stored(value)
        wanted = self.host.updated(stored or {}, self.entry)
        status = WIRED if stored is None else UNCHANGED if wanted == stored else REPAIRED
        made = () if self.host.servers in value else (self.host.servers,)
        made += () if self.file.parent.is_dir() else (_FOLDER,)
        content = _encoded(jsonc.put(text, self.host.entry_path, wanted), snapshot)
        return _Plan(status, snapshot, content, made)

    def _way(self, plan: _Plan) -> str:
        """By what an entry is put there: a host's command would lose comments, and what a person added."""
        own = self.host.own_command
        if own is None or not self.own_program or plan.status != WIRED:
            return _BY_FILE
        try:
            json.loads(plan.snapshot.content or b"{}")
        except ValueError:
            return _BY_FILE
        return " ".join((own.program, *own.add[:2]))

    def _note(self, plan: _Plan, content: bytes | None) -> None:
        """Every byte can be put back if the file had no entry of ours, and only setup wrote it since."""
        known, was = self.ledger.find(self.file), digest(plan.snapshot.content)
        if plan.status == WIRED:
            # Nobody, the host's command included, may have changed anything else in the file meanwhile.
            is_alone = self._without_entry(content) == self._without_entry(plan.snapshot.content)
            record = Record(was if is_alone else "", digest(content), plan.made)
        else:
            before = known.before if known and known.after == was else ""
            record = Record(before, digest(content), known.made if known else ())
        self.ledger.note(self.file, record)

    def _without_entry(self, content: bytes | None) -> dict[str, Any]:
        _, value = self._read(content)
        servers, name = self.host.entry_path
        return value | {servers: {key: held for key, held in self._servers(value).items() if key != name}}

    def _ask_host(self) -> str:
        """Lets the host's own command do it; returns what went wrong, empty if the entry stands there."""
        own = self.host.own_command
        assert own is not None
        try:
            done = subprocess.run(
                [self.own_program, *own.adding(self.entry)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{own.program} failed, so the file was edited: {error}"
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-300:]
            return f"{own.program} failed, so the file was edited: {said or done.returncode}"
        if self._plan().status != UNCHANGED:
            return f"{own.program} wrote no such entry to {self.file}, so the file was edited"
        return ""

    def _take_out(self, snapshot: Snapshot, record: Record | None) -> str:
        """Takes the entry out; says how, empty where there is none."""
        if record and record.after == digest(snapshot.content) and snapshot.content is not None:
            if record.before == NO_FILE:
                return self._remove(snapshot, record)
            if (before := self.ledger.copy_of(record.before)) is not None:
                files.replace(snapshot, before)
                return "file as it was before"
        text, value = self._read(snapshot.content)
        if self._stored(value) is None:
            return ""
        text = jsonc.drop(text, self.host.entry_path)
        if record and self.host.servers in record.made and not self._servers(self._read(text.encode())[1]):
            text = jsonc.drop(text, (self.host.servers,))
        if record and record.before == NO_FILE and not self._read(text.encode())[1]:
            return self._remove(snapshot, record)
        files.replace(snapshot, _encoded(text, snapshot))
        return _BY_FILE

    def _remove(self, snapshot: Snapshot, record: Record) -> str:
        files.remove(snapshot)
        if _FOLDER in record.made:
            with suppress(OSError):
                self.file.parent.rmdir()
        return "file removed: there was none before"

    def _read(self, content: bytes | None) -> tuple[str, dict[str, Any]]:
        """A file's text, without the mark it may begin with, and its value; an empty one holds nothing."""
        text = (content or b"").decode("utf-8-sig")
        text = text if text.strip() else "{}\n"
        return text, _object(jsonc.read(text), "it")

    def _servers(self, value: dict[str, Any]) -> dict[str, Any]:
        return _object(value.get(self.host.servers, {}), self.host.servers)

    def _stored(self, value: dict[str, Any]) -> Mapping[str, Any] | None:
        """The entry of our name, if there is one. Raises ServerNameTaken for somebody else's."""
        name = self.host.entry_path[1]
        stored = self._servers(value).get(name)
        if stored is not None and not self.host.is_ours(stored):
            raise ServerNameTaken(
                f"{self.file} has a server {name} that is not this product; it was left as it is",
                "give that server another name, then run m3 setup again",
            )
        return stored


def find_site(host: Host, entry: Entry, ledger: Ledger) -> Site:
    """Looks for one host, told by its program and the folder it keeps for the user; nothing is run."""
    home = Path(host_environment().home)
    variables = set_variables([host.folder.variable, host.file.variable])
    folder = host.folder.below(home, variables)
    named = next((name for name in host.programs if shutil.which(name)), "")
    own = shutil.which(host.own_command.program) if host.own_command else None
    return Site(
        host=host,
        entry=entry,
        ledger=ledger,
        file=host.file.below(home, variables),
        program=named or next((path for path in host.applications if Path(path).exists()), ""),
        folder=str(folder) if folder.is_dir() else "",
        own_program=own or "",
    )


def _object(value: object, name: str) -> dict[str, Any]:
    match value:
        case dict():
            return cast("dict[str, Any]", value)
        case _:
            raise ValueError(f"{name} holds no object")


def _encoded(text: str, like: Snapshot) -> bytes:
    return text.encode("utf-8-sig" if like.present.startswith(BOM_UTF8) else "utf-8")
