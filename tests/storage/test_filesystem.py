"""Where a store lies is told from the table of mounts and from what services leave behind."""

from __future__ import annotations

import pytest

from m3_memory.errors import UnsafeFolder
from m3_memory.storage.filesystem import LOCAL, FileSystem, file_system_of

# As /proc/self/mountinfo looks on a machine with a bit of everything.
LINUX = r"""
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
23 22 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
40 22 0:40 / /home rw,relatime shared:20 - btrfs /dev/sda3 rw,space_cache=v2,subvol=/@home
41 22 0:45 / /mnt/nas rw,relatime shared:21 - nfs4 nas:/export rw,vers=4.2,hard,proto=tcp,local_lock=none
42 22 0:46 / /mnt/old rw,relatime shared:22 - nfs nas:/old rw,vers=3,nolock,local_lock=all,addr=192.168.1.2
43 22 0:47 / /mnt/my\040share rw,relatime shared:23 - cifs //nas/my\040share rw,vers=3.1.1,username=ann,nobrl
44 22 0:48 / /mnt/smb rw,relatime shared:24 - smb3 //nas/smb rw,vers=3.1.1,username=ann
45 22 0:49 / /home/ann/remote rw,nosuid,nodev,relatime shared:25 - fuse.sshfs ann@host:/srv rw,user_id=1000
46 22 0:50 / /home/ann/drive rw,nosuid,nodev,relatime shared:26 - fuse.rclone gdrive: rw,user_id=1000
47 22 8:17 / /media/stick rw,nosuid,nodev shared:27 - fuseblk /dev/sdb1 rw,user_id=0,allow_other
48 22 0:51 / /home/ann/secret rw,nosuid,nodev - fuse.gocryptfs /home/ann/cipher rw,user_id=1000
49 22 0:52 / /mnt/c rw,noatime - 9p C:\134 rw,aname=drvfs;path=C:\;uid=1000,mmap,access=client,trans=fd
50 22 0:53 / /srv rw,relatime - virtiofs shared rw
51 22 0:54 / /tmp rw,nosuid,nodev shared:28 - tmpfs tmpfs rw,size=8G
52 40 0:55 / /home/bob rw,relatime shared:29 - autofs /etc/auto.home rw,fd=6,pgrp=1
53 52 0:56 / /home/bob rw,relatime shared:30 - nfs4 nas:/bob rw,vers=4.2,local_lock=none
54 22 0:57 / /mnt/stacked rw - nfs4 nas:/x rw
55 54 8:33 / /mnt/stacked rw - xfs /dev/sdc1 rw,attr2
56 22 0:58 / /var/lib/ov rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
57 22 0:59 / /mnt/bucket rw - fuse.s3fs s3fs rw,user_id=0
"""

MACOS = """
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect, root data)
//ann@nas._smb._tcp.local/home on /Volumes/home (smbfs, nodev, nosuid, mounted by ann)
nas:/export on /Volumes/export (nfs, nodev, nosuid, mounted by ann)
//ann@old/Ann's on /Volumes/Ann's disk (afpfs, nodev, nosuid, mounted by ann)
host:/srv on /Users/ann/remote (macfuse, nodev, nosuid, synchronous, mounted by ann)
"""


def nothing(_path: str) -> bool:
    return False


def found(path: str, mounts: str = LINUX) -> FileSystem:
    return file_system_of(path, mounts, nothing)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/.m3/m3.db",
        "/root/.m3/m3.db",
        "/media/stick/m3.db",
        "/home/ann/secret/m3.db",
        "/tmp/m3.db",
        "/mnt/m3.db",
        "/mnt/nasty/m3.db",
        "/mnt/stacked/m3.db",
        "/var/lib/ov/m3.db",
        "/m3.db",
    ],
)
def test_a_disk_of_this_machine_is_local(path: str) -> None:
    assert found(path) == LOCAL


@pytest.mark.parametrize(
    ("path", "name", "top"),
    [
        ("/mnt/nas/m3/m3.db", "nfs4", "/mnt/nas"),
        ("/mnt/smb/m3.db", "smb3", "/mnt/smb"),
        ("/home/ann/remote/m3.db", "fuse.sshfs", "/home/ann/remote"),
        ("/mnt/c/Users/ann/.m3/m3.db", "9p", "/mnt/c"),
        ("/srv/m3.db", "virtiofs", "/srv"),
        ("/home/bob/.m3/m3.db", "nfs4", "/home/bob"),
    ],
)
def test_what_other_machines_may_write_to_is_shared(path: str, name: str, top: str) -> None:
    where = found(path)
    assert where == FileSystem(name, top)
    assert name in where.notices[0]


@pytest.mark.parametrize(
    ("path", "name", "top"),
    [
        ("/Volumes/home/m3.db", "smbfs", "/Volumes/home"),
        ("/Volumes/export/m3.db", "nfs", "/Volumes/export"),
        ("/Volumes/Ann's disk/m3.db", "afpfs", "/Volumes/Ann's disk"),
        ("/Users/ann/remote/m3.db", "macfuse", "/Users/ann/remote"),
    ],
)
def test_the_mounts_of_macos_are_understood(path: str, name: str, top: str) -> None:
    assert found(path, MACOS) == FileSystem(name, top)
    assert found("/Users/ann/.m3/m3.db", MACOS) == LOCAL


@pytest.mark.parametrize("name", ["9p", "virtiofs", "fuse.fuse-overlayfs"])
def test_the_root_of_a_container_is_its_own(name: str) -> None:
    table = f"1 0 0:20 / / rw,relatime - {name} none rw\n2 1 0:21 / /mnt/in rw - {name} host rw\n"
    assert found("/root/.m3/m3.db", table) == LOCAL
    assert found("/root/.m3/m3.db", table.replace(name, "nfs4")).is_shared


@pytest.mark.parametrize(
    ("path", "is_shared"),
    [
        (r"\\nas\home\m3.db", True),
        (r"\\?\UNC\nas\home\m3.db", True),
        (r"\\wsl.localhost\Debian\home\ann\m3.db", True),
        (r"C:\Users\ann\.m3\m3.db", False),
        (r"\\?\C:\Users\ann\.m3\m3.db", False),
    ],
)
def test_a_network_share_of_windows_is_told_by_its_path(path: str, is_shared: bool) -> None:
    assert found(path, "").is_shared is is_shared


@pytest.mark.parametrize("path", ["/mnt/old/m3.db", "/mnt/my share/m3.db"])
def test_where_locks_hold_on_one_machine_only_no_store_may_be(path: str) -> None:
    with pytest.raises(UnsafeFolder, match="one machine only") as raised:
        found(path)
    assert "M3_HOME" in raised.value.hint


@pytest.mark.parametrize(
    ("path", "top"),
    [
        ("/home/ann/Dropbox/m3/m3.db", "/home/ann/Dropbox"),
        ("/Users/ann/Dropbox (Personal)/m3.db", "/Users/ann/Dropbox (Personal)"),
        (
            "/Users/ann/Library/Mobile Documents/com~apple~CloudDocs/m3.db",
            "/Users/ann/Library/Mobile Documents",
        ),
        (
            "/Users/ann/Library/CloudStorage/GoogleDrive-ann@example.com/My Drive/m3.db",
            "/Users/ann/Library/CloudStorage/GoogleDrive-ann@example.com",
        ),
        (r"C:\Users\ann\OneDrive\Documents\m3.db", r"C:\Users\ann\OneDrive"),
        (r"C:\Users\ann\OneDrive - Contoso\m3.db", r"C:\Users\ann\OneDrive - Contoso"),
        (r"G:\My Drive\m3.db", r"G:\My Drive"),
        ("/home/ann/Nextcloud/.m3/m3.db", "/home/ann/Nextcloud"),
        ("/home/ann/drive/m3.db", "/home/ann/drive (fuse.rclone)"),
        ("/mnt/bucket/m3.db", "/mnt/bucket (fuse.s3fs)"),
    ],
)
def test_no_store_may_be_where_a_service_copies_files_by_itself(path: str, top: str) -> None:
    with pytest.raises(UnsafeFolder) as raised:
        found(path)
    assert raised.value.message.startswith(f"{top} belongs to a service")
    assert "M3_HOME" in raised.value.hint


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/code/Dropbox/m3.db",
        "/home/ann/Dropbox-notes/m3.db",
        "/home/ann/.dropbox/m3.db",
        "/srv/data/OneDrive/m3.db",
        "/Users/ann/Library/Application Support/m3/m3.db",
    ],
)
def test_a_name_alone_in_another_place_says_nothing(path: str) -> None:
    assert found(path, "") == LOCAL


@pytest.mark.parametrize(
    "mark",
    [
        "/data/notes/.stfolder",
        "/data/notes/.dropbox.cache",
        "/data/.nextcloudsync.log",
        "/data/notes/.sync/ID",
    ],
)
def test_a_service_is_told_by_what_it_leaves_in_a_folder_above(mark: str) -> None:
    with pytest.raises(UnsafeFolder, match="lies, belongs to a service"):
        file_system_of("/data/notes/m3/m3.db", LINUX, lambda path: path == mark)
    assert file_system_of("/other/m3/m3.db", LINUX, lambda path: path == mark) == LOCAL


@pytest.mark.parametrize("mounts", ["", "nonsense", "1 2 3 - ext4", "\n\n", "x on y", LINUX[:200]])
def test_a_table_that_is_not_understood_leaves_the_store_where_it_is(mounts: str) -> None:
    assert found("/home/ann/.m3/m3.db", mounts) == LOCAL
