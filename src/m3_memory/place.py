"""Which project a caller stands in: its identity, found without running git.

The first of these that is given decides: `--project`; the host's own variable; the client's root if it has
exactly one; the working directory.

* `--project` that begins with `/`, `~`, `.` or a drive, or holds a backslash, or a `file:` address, is a
  folder; anything else is a name, or a remote in any of its forms.
* A folder in a repository is named by the remote `origin` as `host/path`. A remote that is a folder of this
  machine stands for the repository there. Without a remote, the real path of the top directory is the name:
  of the main repository for a worktree, of the folder itself where there is no repository.
* Home, the root and temporary folders are no project, and a repository whose top is one of them counts as
  none, so that a `~/.git` does not swallow every folder below. A plain folder below a temporary one is no
  project either; a repository there is one.
"""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from m3_memory.config import HostEnvironment, is_unexpanded
from m3_memory.errors import InvalidArgument
from m3_memory.repository import (
    Repository,
    find_repository,
    is_folder,
    normal_remote,
    remote_folder,
    repository_at,
)

_LONGEST_NAME = 1000
_MOST_HOPS = 4
_FOLDER = re.compile(r"[/~.]|[A-Za-z]:[\\/]|file:|.*\\", re.IGNORECASE)
_DRIVE_IN_ADDRESS = re.compile(r"/(?=[A-Za-z]:)")
_SCHEME = re.compile(r"(?:[A-Za-z]\w*::)?[A-Za-z][\w+.-]*://")
_PORT = re.compile(r":\d*$")
_IN_URL = re.compile(r"[^/?#]*@|[^/?#@\[:]*:(?!\d*(?:[/?#]|$)).*@", re.DOTALL)
_OUTSIDE_URL = re.compile(
    r"[^/?#@:\s]*:[^/?#\s]*@"  # user:password@
    r"|[^/?#@:\s]+@(?=[^\s/@:]+:|(?:[\w-]+\.)+[A-Za-z]{2,}(?:/|$))"  # user@ before a host
)
_TEMPORARY = "a temporary folder"
_FLAG = "--project"


class Place(NamedTuple):
    """Where a caller stands. `project` is empty in no project; `source` says what decided.

    `folder` is the top folder of the project, as text; empty for a project that was given by its name.
    """

    project: str
    source: str
    notices: tuple[str, ...] = ()
    folder: str = ""


def is_named(requested: str, host: HostEnvironment) -> bool:
    """Whether the launch or the host names the place, so that nobody needs to ask the client."""
    return any(text and not is_unexpanded(text) for text in (requested, host.project))


def find_place(requested: str, host: HostEnvironment, roots: tuple[str, ...] = (), folder: str = "") -> Place:
    """The place of a caller; `folder` stands for the working directory.

    Raises InvalidArgument for a requested name that can be none.
    """
    notices: list[str] = []
    for source, text in ((_FLAG, requested), (host.project_variable, host.project)):
        if is_unexpanded(text):
            notices.append(f"{source} holds a variable that was not replaced ({text}); it counts as absent")
        elif text:
            named = source == _FLAG and not _FOLDER.match(text)
            place = Place(_name(text), source) if named else _place_of(text, source, host)
            return place._replace(notices=(*notices, *place.notices))
    addresses = [root for root in roots if root.lower().startswith("file:")]
    only = addresses[0] if len(addresses) == 1 else ""
    place = _place_of(only or folder, "the client's root" if only else "the working directory", host)
    return place._replace(notices=(*notices, *place.notices))


def _place_of(text: str, source: str, host: HostEnvironment) -> Place:
    try:
        path = _real_path(text, host.home)
    except (OSError, ValueError, RuntimeError):
        return Place("", source, (f"{source} can't be followed; {_no_project('no place')}",))
    notices = () if path.is_dir() else (f"{source} names no folder that exists: {_written(path)}",)
    refused = _refused(path, host)
    if path not in refused and (repository := find_repository(path, refused.keys())):
        problem = (f"{repository.problem}; its path names the project",) if repository.problem else ()
        name = _identity(repository, _MOST_HOPS)
        return Place(name, source, (*notices, *problem), _written(repository.top))
    is_temporary = any(refused.get(folder) == _TEMPORARY for folder in path.parents)
    if reason := refused.get(path, _TEMPORARY if is_temporary else ""):
        return Place("", source, (*notices, _no_project(reason)))
    return Place(_written(path), source, notices, _written(path))


def _refused(path: Path, host: HostEnvironment) -> dict[Path, str]:
    """The folders that are no project and hold none by being above it, each with what it is."""
    refused = {Path(folder).resolve(): _TEMPORARY for folder in host.temporary}
    if host.home:
        refused[Path(host.home).resolve()] = "the home folder"
    refused[Path(path.anchor)] = "the root folder"
    return refused


def _no_project(reason: str) -> str:
    return f"no project: this is {reason}; what is written here is seen outside projects only"


def _identity(repository: Repository, hops: int) -> str:
    address = _without_credentials(repository.remote)
    if name := normal_remote(address):
        return unicodedata.normalize("NFC", name)
    if not address or not is_folder(repository.remote) or address != repository.remote.strip():
        return _written(repository.top)
    folder = remote_folder(repository.remote, repository.top)
    origin = repository_at(folder)
    return _identity(origin, hops - 1) if origin is not None and hops else _written(folder)


def _name(text: str) -> str:
    address = _without_credentials(text)
    name = unicodedata.normalize("NFC", (normal_remote(address) or _bare(address))[: _LONGEST_NAME + 1])
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidArgument(
            f"--project is no name: it must be 1 to {_LONGEST_NAME} printable characters",
            "give a folder, a name, or the address of a remote",
        )
    return name


def _without_credentials(address: str) -> str:
    """An address without user and password, also where the rest of it makes no remote."""
    text = address.strip()
    scheme = _SCHEME.match(text)
    start = scheme.end() if scheme else 0
    found = (_IN_URL if scheme else _OUTSIDE_URL).match(text, start)
    return text[:start] + text[found.end() :] if found else text


def _bare(address: str) -> str:
    """A name as written; of an address that names no path on its host, the host."""
    scheme = _SCHEME.match(address)
    if scheme is None:
        return address.strip()
    host = re.split(r"[?#]", address[scheme.end() :])[0].rstrip("/")
    return host if "/" in host else _PORT.sub("", host).lower()


def _real_path(text: str, home: str) -> Path:
    if text.lower().startswith("file:"):
        text = _DRIVE_IN_ADDRESS.sub("", unquote(urlsplit(text).path), count=1)
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    return Path(text).resolve()


def _written(path: Path) -> str:
    """A path as text that every store can keep: what is no UTF-8 in it is written out."""
    return unicodedata.normalize("NFC", os.fsencode(path).decode("utf-8", "backslashreplace"))
