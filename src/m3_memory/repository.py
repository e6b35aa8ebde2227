"""Which repository a folder belongs to, read from git's own files; git is never run.

Nothing a repository says can make this read elsewhere than in git folders: includes, `insteadOf` and the
environment are ignored, and only plain files of at most a mebibyte are opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

_LIMIT_BYTES = 1 << 20
_LONGEST_REMOTE = 1000
_HEADER = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VALUE_PART = re.compile(r'\\.|[^\\"#;]+|["#;]')
_CONTINUED = re.compile(r"(?<!\\)\\\n")
_HELPER = re.compile(r"[A-Za-z]\w*::(?=\S+://)")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://(.*)", re.DOTALL)
_SCP = re.compile(r"(?:[^/@\s\[]+@)?(\[[^\]/]+\]|[^/:\[\]\s]+):(.*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_FILE = re.compile(r"file://(localhost)?(?=/)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository found on disk.

    `top` is the real path of its top directory (for a worktree: of its main repository; for a bare one: its
    own), `remote` what the remote `origin` is set to, as written, empty if it has none. `problem` says in a
    sentence what could not be read.
    """

    top: Path
    remote: str = ""
    problem: str = ""


def find_repository(start: Path, never: Collection[Path] = ()) -> Repository | None:
    """The repository that holds the real path `start`; one whose top is in `never` counts as none."""
    for folder in (start, *start.parents):
        found = None if folder in never else repository_at(folder)
        if found is not None and found.top not in never:
            return found
    return None


def repository_at(folder: Path) -> Repository | None:
    """The repository whose top directory, worktree or bare git folder this real path is."""
    marker = folder / ".git"
    if _is_git_folder(marker):
        return _opened(folder, _real(marker))
    if _is_git_folder(folder):
        return _opened(None, folder)
    target = _first_line(marker).partition("gitdir:")
    if target[0] or not target[1]:
        return None
    git = _real(folder / target[2].strip())
    if _is_git_folder(git):
        return _opened(folder, git)
    return Repository(folder, problem=f"the git folder of {folder} is not where its .git file says")


def normal_remote(url: str) -> str:
    """A remote as `host/path`, without scheme, credentials, port, `.git` and host case.

    `git@host:path` and the URL forms of one address give the same text.

    Empty for a folder of this machine and for what names no path on a host.
    """
    text = _HELPER.sub("", url.strip())
    host, path = ("", "") if is_folder(text) else _host_and_path(text)
    host = host.rpartition("@")[2].strip("[]").lower()
    path = "/".join(part for part in path.split("/") if part).removesuffix(".git").rstrip("/")
    joined = f"{host}/{path}"
    usable = host and path and len(joined) <= _LONGEST_REMOTE and joined.isprintable()
    return joined if usable else ""


def _host_and_path(text: str) -> tuple[str, str]:
    if scheme := _SCHEME.fullmatch(text):
        host, _, path = re.split(r"[?#]", scheme[1])[0].partition("/")
        return re.sub(r":\d*$", "", host), unquote(path)
    scp = _SCP.fullmatch(text)
    if scp is None:
        return "", ""
    host = scp[1].strip("[]")
    return (host.partition(":")[0] if host.count(":") == 1 else host), scp[2]


def is_folder(remote: str) -> bool:
    """Whether a remote is a folder of this machine: `file:///…`, `/…`, `C:/…` or a relative path."""
    text = remote.strip()
    if _FILE.match(text) or _DRIVE.match(text):
        return True
    return not (_SCHEME.fullmatch(text) or _SCP.fullmatch(text))


def remote_folder(remote: str, top: Path) -> Path:
    """The real path of the folder that a remote names, seen from the repository's top directory."""
    text = remote.strip()
    path = unquote(_FILE.sub("", text)) if _FILE.match(text) else text
    folder = top / path
    with_suffix = folder.parent / f"{folder.name}.git"
    missing = not _mode(folder) and _mode(with_suffix)
    return _real(with_suffix if missing else folder)


def _opened(top: Path | None, git: Path) -> Repository:
    shared = _first_line(git / "commondir")
    common = _real(git / shared) if shared else git
    config = _text(common / "config")
    problem = "" if config is not None else f"the settings of the git folder {common} can't be read"
    values = list(_entries(config or ""))
    if top is None or shared:
        top = _main_top(common, values)
    return Repository(top, _origin(values), problem)


def _main_top(common: Path, values: list[tuple[str, str, str]]) -> Path:
    parent = common.parent
    if common.name == ".git":
        return parent
    worktree = next((value for section, key, value in values if (section, key) == ("core", "worktree")), "")
    if worktree:
        return _real(common / worktree)
    pointed = _first_line(parent / ".git").partition("gitdir:")[2].strip()
    return parent if pointed and _real(parent / pointed) == common else common


def _origin(values: list[tuple[str, str, str]]) -> str:
    urls = [value for section, key, value in values if (section, key) == ("remote.origin", "url")]
    while "" in urls:  # an empty value clears those before it
        del urls[: urls.index("") + 1]
    return urls[0] if urls else ""


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """(section, key, value) of every assignment in the text of a git settings file."""
    section = ""
    for line in _CONTINUED.sub("", text.replace("\r\n", "\n")).split("\n"):
        rest = line.strip()
        while header := _HEADER.match(rest):
            subsection = re.sub(r"\\(.)", r"\1", header[2]) if header[2] is not None else None
            section = header[1].lower() + ("" if subsection is None else f".{subsection}")
            rest = rest[header.end() :].strip()
        key, equals, value = rest.partition("=")
        if equals and not key.startswith(("#", ";")):
            yield section, key.strip().lower(), _value(value)


def _value(raw: str) -> str:
    written = ""
    quoted = False
    for part in _VALUE_PART.findall(raw):
        if part == '"':
            quoted = not quoted
        elif part in ("#", ";") and not quoted:
            break
        else:
            written += {"\\n": "\n", "\\t": "\t", "\\b": "\b"}.get(part, part.removeprefix("\\"))
    return written.strip()


def _is_git_folder(path: Path) -> bool:
    if not os.path.lexists(path / "HEAD"):
        return False
    whole = stat.S_ISDIR(_mode(path / "objects")) and stat.S_ISDIR(_mode(path / "refs"))
    return whole or stat.S_ISREG(_mode(path / "commondir"))


def _mode(path: Path) -> int:
    """What kind of thing the path is; 0 for what isn't there or can't be looked at."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _first_line(path: Path) -> str:
    return (_text(path) or "").partition("\n")[0].strip()


def _text(path: Path) -> str | None:
    """What a plain file of bearable size holds, else None; to open a pipe could wait for ever."""
    if not stat.S_ISREG(_mode(path)):
        return None
    try:
        with path.open("rb") as file:
            held = file.read(_LIMIT_BYTES + 1)
    except OSError:
        return None
    return held.decode("utf-8-sig", "surrogateescape") if len(held) <= _LIMIT_BYTES else None


def _real(path: Path) -> Path:
    """The path without links; as it is where it can't be followed (a loop, a NUL)."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
