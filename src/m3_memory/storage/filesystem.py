"""What kind of file system a store lies on: this machine's own, one that machines share, or a synced folder.

A write-ahead log keeps its index in memory that processes share, and a mapped file is memory too: both are
right among processes of one machine alone. A service that copies files by itself copies a database in the
middle of a write, and puts an older one back.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from m3_memory.errors import UnsafeFolder

MOVE = "move it to a disk of this machine and name that folder with M3_HOME, or in [stores.NAME]"


class Kind(StrEnum):
    LOCAL = "local"
    SHARED = "shared"
    SYNCED = "synced"


@dataclass(frozen=True, slots=True)
class FileSystem:
    """Where a store lies: the kind, its name for people (`nfs4`, `Dropbox`), and the folder where it begins.

    `locks_are_local` says that a shared one keeps each machine's locks to that machine.
    """

    kind: Kind
    name: str = ""
    top: str = ""
    locks_are_local: bool = False

    @property
    def is_shared(self) -> bool:
        return self.kind is Kind.SHARED

    @property
    def notices(self) -> tuple[str, ...]:
        """What people should know of a store there."""
        if not self.is_shared:
            return ()
        return (
            f"the store lies on {self.name} ({self.top}), which other machines may write to as well: it works"
            f" without write-ahead log and mapped files, and is slower; better {MOVE}",
        )

    def ensure_safe(self) -> None:
        """Raises UnsafeFolder where no store may be."""
        if self.kind is Kind.SYNCED:
            raise UnsafeFolder(
                f"{self.top} belongs to {self.name}, which copies files by itself and would damage the store",
                MOVE,
            )
        if self.locks_are_local:
            raise UnsafeFolder(
                f"{self.top} ({self.name}) is mounted so that locks hold on one machine only",
                f"mount it with locks, or {MOVE}",
            )


LOCAL = FileSystem(Kind.LOCAL)


class Disk(NamedTuple):
    """What a store lies on; `vfs` names an apsw virtual file system, for who tests on a failing disk."""

    file_system: FileSystem = LOCAL
    vfs: str | None = None


_SHARED = frozenset(
    """
    9p acfs afpfs afs beegfs ceph cifs coda davfs fuse gfs gfs2 glusterfs gpfs hgfs lustre macfuse ncp ncpfs
    nfs nfs3 nfs4 ocfs2 orangefs osxfuse osxfusefs prl_fs pvfs2 smb2 smb3 smbfs sshfs vboxsf virtiofs vmhgfs
    webdav
    """.split()
)
_LOCAL_FUSE = frozenset(
    "fuse.bindfs fuse.cryfs fuse.encfs fuse.fuse-overlayfs fuse.gocryptfs fuse.ntfs-3g".split()
)
_CLOUD_FUSE = {
    "fuse.blobfuse": "Azure Blob Storage",
    "fuse.blobfuse2": "Azure Blob Storage",
    "fuse.gcsfuse": "Google Cloud Storage",
    "fuse.google-drive-ocamlfuse": "Google Drive",
    "fuse.goofys": "S3",
    "fuse.mountpoint-s3": "S3",
    "fuse.onedriver": "OneDrive",
    "fuse.pcloud": "pCloud",
    "fuse.rclone": "rclone",
    "fuse.s3fs": "S3",
}
_LOCAL_LOCKS = frozenset({"nolock", "local_lock=all", "local_lock=posix", "nobrl"})

_ESCAPED = re.compile(r"\\([0-7]{3})")
_ON_MACOS = re.compile(r"(?P<source>.+?) on (?P<top>/.*?) \((?P<name>[\w.]+)(?P<options>[^()]*)\)")

_SEPARATOR = r"[/\\]"
_HOME = rf"(?:/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:\\Users\\[^\\]+){_SEPARATOR}"
_SERVICES = tuple(
    (re.compile(rf"({place})(?:{_SEPARATOR}|$)"), name)
    for place, name in (
        (r"/Users/[^/]+/Library/Mobile Documents", "iCloud Drive"),
        (r"/Users/[^/]+/Library/CloudStorage/[^/]+", "a cloud storage service"),
        (rf"{_HOME}iCloud ?Drive", "iCloud Drive"),
        (rf"{_HOME}Dropbox(?: \([^/\\]+\))?", "Dropbox"),
        (rf"{_HOME}OneDrive(?: - [^/\\]+)?", "OneDrive"),
        (rf"{_HOME}(?:Google ?Drive|My Drive)", "Google Drive"),
        (r"[A-Za-z]:\\My Drive", "Google Drive"),
        (rf"{_HOME}Nextcloud", "Nextcloud"),
        (rf"{_HOME}ownCloud", "ownCloud"),
        (rf"{_HOME}pCloud ?Drive", "pCloud"),
        (rf"{_HOME}Proton ?Drive", "Proton Drive"),
        (rf"{_HOME}Yandex\.Disk", "Yandex Disk"),
        (rf"{_HOME}Box Sync", "Box"),
        (rf"{_HOME}MEGAsync", "MEGA"),
    )
)
# What each service leaves at the top of a folder that it copies.
_MARKS = (
    (".stfolder", "Syncthing"),
    (".dropbox.cache", "Dropbox"),
    (".nextcloudsync.log", "Nextcloud"),
    (".owncloudsync.log", "ownCloud"),
    (".tmp.drivedownload", "Google Drive"),
    (os.path.join(".sync", "ID"), "Resilio Sync"),  # noqa: PTH118 - a part of a path, on either system
)


class _Mount(NamedTuple):
    top: str
    name: str
    options: frozenset[str]


def find_file_system(path: Path) -> FileSystem:
    """Where a store at this path would lie; local as far as the system tells nothing else."""
    return file_system_of(os.path.realpath(path.absolute()), _mount_table(), os.path.exists)


def file_system_of(path: str, mounts: str, exists: Callable[[str], bool]) -> FileSystem:
    """Where a store lies, from its real path and the table of mounts: Linux's mountinfo, or macOS's `mount`.

    `exists` is asked for the marks that services leave in folders above it.
    """
    if service := _service(path, exists):
        return service
    if path.startswith("\\\\") and not re.match(r"\\\\[?.]\\(?!UNC\\)", path):
        return FileSystem(Kind.SHARED, "a network share", path)
    mount = _mount_of(path, mounts)
    if mount is None or mount.name in _LOCAL_FUSE or _is_sandbox(mount):
        return LOCAL
    if cloud := _CLOUD_FUSE.get(mount.name):
        return FileSystem(Kind.SYNCED, cloud, mount.top)
    if mount.name in _SHARED or mount.name.startswith("fuse."):
        return FileSystem(Kind.SHARED, mount.name, mount.top, bool(mount.options & _LOCAL_LOCKS))
    return LOCAL


def _service(path: str, exists: Callable[[str], bool]) -> FileSystem | None:
    for pattern, name in _SERVICES:
        if found := pattern.match(path):
            return FileSystem(Kind.SYNCED, name, found[1])
    for folder in _above(path):
        for mark, name in _MARKS:
            if exists(os.path.join(folder, mark)):  # noqa: PTH118 - a text, not a path of this system
                return FileSystem(Kind.SYNCED, name, folder)
    return None


def _above(path: str) -> Iterator[str]:
    """The folders that hold the path, the nearest first."""
    above = os.path.dirname(path)  # noqa: PTH120 - a text, not a path of this system
    while above and above != path:
        yield above
        path, above = above, os.path.dirname(above)  # noqa: PTH120


def _mount_of(path: str, mounts: str) -> _Mount | None:
    """The mount that holds the path: the deepest, and of those at one folder the last."""
    holding = [mount for mount in _mounts(mounts) if _holds(mount.top, path)]
    return max(reversed(holding), key=lambda mount: len(mount.top), default=None)


def _is_sandbox(mount: _Mount) -> bool:
    """Whether this is the root of a container or virtual machine: its own, whatever brings it there."""
    return mount.top == "/" and (mount.name in ("9p", "virtiofs") or mount.name.startswith("fuse."))


def _holds(top: str, path: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _mounts(table: str) -> Iterator[_Mount]:
    for line in table.splitlines():
        before, dash, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if dash and len(left) >= 6 and len(right) >= 3:
            yield _Mount(_plain(left[4]), right[0], frozenset(f"{left[5]},{right[-1]}".split(",")))
        elif found := _ON_MACOS.fullmatch(line):
            options = frozenset(option.strip() for option in found["options"].split(","))
            yield _Mount(found["top"], found["name"], options)


def _plain(escaped: str) -> str:
    """A path of mountinfo without its octal escapes."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), escaped)


def _mount_table() -> str:
    with suppress(OSError, subprocess.SubprocessError):
        if sys.platform == "linux":
            return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        if sys.platform == "darwin":
            listed = subprocess.run(["/sbin/mount"], capture_output=True, timeout=2, check=True)
            return listed.stdout.decode("utf-8", "surrogateescape")
    return ""
