"""A file that is replaced is the old one or the new one, whole, and its user's alone."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from m3_memory.atomic_file import replacing


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("flush", [True, False])
def test_a_file_has_its_new_content_only_once_the_block_has_ended(tmp_path: Path, flush: bool) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with replacing(path, flush=flush) as beside:
        beside.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert _names(tmp_path) == ["kept"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are Unix's")
def test_it_is_its_users_alone_whatever_lay_in_its_way(tmp_path: Path) -> None:
    path, victim = tmp_path / "secret", tmp_path / "victim"
    victim.write_bytes(b"untouched")
    with replacing(path) as beside:
        pass
    beside.symlink_to(victim)
    with replacing(path) as again:
        again.write_bytes(b"mine")
        assert stat.S_IMODE(again.stat().st_mode) == 0o600
    assert (again, stat.S_IMODE(path.stat().st_mode)) == (beside, 0o600)
    assert victim.read_bytes() == b"untouched"


def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path) as beside:
            beside.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"old"
    assert _names(tmp_path) == ["kept"]
