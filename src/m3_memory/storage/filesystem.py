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
from pathlib import Path, PurePath
from typing import NamedTuple

from m3_memory.errors import UnsafeFolder

MOVE = "move it to a disk of this machine and name that folder with M3_HOME, or in [stores.NAME]"


class FileSystem(NamedTuple):
    """What a store lies on if machines share it, such as `nfs4`, and the folder where that begins.

    Both are empty for a disk of this machine.
    """

    name: str = ""
    top: str = ""

    @property
    def is_shared(self) -> bool:
        return bool(self.name)

    @property
    def notices(self) -> tuple[str, ...]:
        """What people should know of a store there."""
        if not self.is_shared:
            return ()
        return (
            f"the store lies on {self.name} ({self.top}), which other machines may write to as well: it works"
            f" without write-ahead log and mapped files, and is slower; better {MOVE}",
        )


LOCAL = FileSystem()


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
_CLOUD_FUSE = frozenset(
    """
    fuse.blobfuse fuse.blobfuse2 fuse.gcsfuse fuse.google-drive-ocamlfuse fuse.goofys fuse.mountpoint-s3
    fuse.onedriver fuse.pcloud fuse.rclone fuse.s3fs
    """.split()
)
_LOCAL_LOCKS = frozenset({"nolock", "local_lock=all", "local_lock=posix", "nobrl"})

# Where services put the folders that they copy, and what they leave at the top of those elsewhere.
_SYNCED = re.compile(
    r"(?:(?:/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:\\Users\\[^\\]+)[/\\](?:Dropbox(?: \([^/\\]+\))?"
    r"|OneDrive(?: - [^/\\]+)?|iCloud ?Drive|Google ?Drive|My Drive|Nextcloud|ownCloud|pCloud ?Drive"
    r"|Proton ?Drive|Yandex\.Disk|Box Sync|MEGAsync)"
    r"|/Users/[^/]+/Library/(?:Mobile Documents|CloudStorage/[^/]+)|[A-Za-z]:\\My Drive)(?=[/\\]|$)"
)
_MARKS = (
    *(".stfolder", ".dropbox.cache", ".nextcloudsync.log", ".owncloudsync.log", ".tmp.drivedownload"),
    ".sync/ID",
)

_ESCAPED = re.compile(r"\\([0-7]{3})")
_ON_MACOS = re.compile(r"(?P<source>.+?) on (?P<top>/.*?) \((?P<name>[\w.]+)(?P<options>[^()]*)\)")


class _Mount(NamedTuple):
    top: str
    name: str
    options: frozenset[str]


def find_file_system(path: Path) -> FileSystem:
    """Where a store at this path would lie; a local disk as far as the system tells nothing else.

    Raises UnsafeFolder where none may be.
    """
    return file_system_of(os.path.realpath(path.absolute()), _mount_table(), os.path.exists)


def file_system_of(path: str, mounts: str, exists: Callable[[str], bool]) -> FileSystem:
    """Where a store lies, from its real path and the table of mounts: Linux's mountinfo, or macOS's `mount`.

    `exists` is asked for the marks that services leave in folders above it. Raises UnsafeFolder.
    """
    if named := _SYNCED.match(path):
        raise _is_copied(named[0])
    for folder in PurePath(path).parents:
        for mark in _MARKS:
            if exists(f"{folder}/{mark}"):
                raise _is_copied(f"{folder}, where {mark} lies,")
    if path.startswith("\\\\") and not re.match(r"\\\\[?.]\\(?!UNC\\)", path):
        return FileSystem("a network share", path)
    mount = _mount_of(path, mounts)
    return LOCAL if mount is None else _of_mount(mount)


def _of_mount(mount: _Mount) -> FileSystem:
    if mount.name in _LOCAL_FUSE or _is_sandbox(mount):
        return LOCAL
    if mount.name in _CLOUD_FUSE:
        raise _is_copied(f"{mount.top} ({mount.name})")
    if mount.name not in _SHARED and not mount.name.startswith("fuse."):
        return LOCAL
    if mount.options & _LOCAL_LOCKS:
        raise UnsafeFolder(
            f"{mount.top} ({mount.name}) is mounted so that locks hold on one machine only",
            f"mount it with locks, or {MOVE}",
        )
    return FileSystem(mount.name, mount.top)


def _is_copied(folder: str) -> UnsafeFolder:
    return UnsafeFolder(
        f"{folder} belongs to a service that copies files by itself, which would damage the store", MOVE
    )


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
