"""SQLite stores that can't be written: what can be read is read, and the rest is said plainly."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.storage.holder import holder
from tests.storage.rows import remember
from tests.storage.visitor import Visit, visit

pytestmark = pytest.mark.case("B49")


@pytest.fixture
def path(tmp_path: Path, clock: ManualClock) -> Path:
    """A store with one memory, alone in its folder, closed."""
    path = tmp_path / "kept" / "m3.db"
    path.parent.mkdir()
    database = open_database(path, clock)
    with database.write("local") as writer:
        remember(writer, "kept")
    database.close()
    return path


@contextmanager
def _unwritable(*paths: Path) -> Generator[None]:
    """For the block nobody may write these files and folders."""
    modes = [(path, path.stat().st_mode) for path in paths]
    for path, mode in modes:
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes:
            path.chmod(mode)


def test_a_store_that_can_be_written_is(path: Path) -> None:
    assert visit(path) == Visit(["kept"], "")


def test_a_read_only_file_is_read(path: Path) -> None:
    with _unwritable(path):
        assert visit(path) == Visit(["kept"], "store_read_only")


def test_a_read_only_folder_is_read(path: Path) -> None:
    with _unwritable(path.parent):
        assert visit(path) == Visit(["kept"], "store_read_only")


def test_a_read_only_file_in_a_read_only_folder_is_read(path: Path) -> None:
    with _unwritable(path, path.parent):
        assert visit(path) == Visit(["kept"], "store_read_only")


def test_what_others_write_is_read_from_a_read_only_folder(path: Path, clock: ManualClock) -> None:
    database = open_database(path, clock)
    with database.write("local") as writer:
        remember(writer, "new")
    with _unwritable(path.parent, *path.parent.iterdir()):
        assert visit(path) == Visit(["kept", "new"], "store_read_only")
    database.close()


def test_writes_that_cannot_be_read_are_said_to_be_there(path: Path) -> None:
    with holder("stay", str(path)) as other:
        assert other.says() == "open"
        other.go_on()
        assert other.says() == "written"
        other.kill()
    path.with_name("m3.db-shm").unlink()
    with _unwritable(path.parent, *path.parent.iterdir()):
        assert visit(path) == Visit("store_read_only", "store_read_only")
    assert visit(path) == Visit(["kept", "late"], "")


def test_a_lost_shared_memory_file_is_made_again(path: Path) -> None:
    with holder("stay", str(path)) as other:
        assert other.says() == "open"
        other.go_on()
        assert other.says() == "written"
        other.kill()
    path.with_name("m3.db-shm").unlink()
    assert visit(path) == Visit(["kept", "late"], "")


def test_no_store_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    with _unwritable(folder):
        assert visit(folder / "m3.db") == Visit("store_unreachable", "store_unreachable")
    assert visit(tmp_path / "nowhere" / "m3.db") == Visit("store_unreachable", "store_unreachable")


def test_a_file_that_may_not_be_read_is_said_to_be_so(path: Path) -> None:
    path.chmod(0o000)
    assert visit(path) == Visit("store_unreachable", "store_unreachable")


def test_a_file_that_is_no_store_is_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "m3.db"
    path.write_text("a shopping list, and not a short one: " * 100)
    assert visit(path) == Visit("store_damaged", "store_damaged")
    assert path.read_text().startswith("a shopping list")


def test_a_store_put_in_the_place_of_another_is_found(path: Path, tmp_path: Path, clock: ManualClock) -> None:
    database = open_database(path, clock)
    copy = tmp_path / "copy.db"
    database.dialect.copy_to(copy)
    with database.write("local") as writer:
        remember(writer, "lost")
    for name in ("m3.db", "m3.db-wal", "m3.db-shm"):
        path.with_name(name).unlink()
    copy.rename(path)
    with database.write("local") as writer:
        remember(writer, "new")
    database.close()
    assert visit(path).found == ["kept", "new"]
