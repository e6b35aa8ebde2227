"""The program that entries name: it finds the Python that m3 Memory runs on, or says what to do."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path

import m3_memory
from m3_memory.errors import FileUnavailable, Unavailable
from m3_memory.surfaces.cli.setup import files

_EXECUTABLE = 0o755
_SIGN = b'Starts m3 Memory for the hosts that "m3 setup" wired'
_PACKAGE = Path(m3_memory.__file__).parent


def launcher_path(home: Path, platform: str = sys.platform) -> Path:
    """Where the launcher stands; hosts run other folders, so the path is whole."""
    return home / "bin" / ("m3.cmd" if platform == "win32" else "m3")


def launcher_text(
    path: Path, platform: str = sys.platform, python: str = sys.executable, package: str = str(_PACKAGE)
) -> bytes:
    """The launcher for this Python and this installation of the package."""
    is_batch = platform == "win32"
    template = Path(__file__).with_name("launcher.cmd" if is_batch else "launcher.sh")
    text = template.read_text(encoding="utf-8")
    for name, value in {"PYTHON": python, "PACKAGE": package, "SELF": str(path)}.items():
        text = text.replace(f"@{name}@", value.replace("%", "%%") if is_batch else shlex.quote(value))
    text = text.replace("@EXIT_CODE@", str(Unavailable.exit_code))
    return text.replace("\n", "\r\n" if is_batch else "\n").encode("utf-8", "surrogateescape")


def write_launcher(path: Path) -> str:
    """Brings the launcher up to date; returns `written` or `unchanged`.

    Raises FileUnavailable, also for another program that stands there, such as that of an environment.
    """
    snapshot, text = files.take(path), launcher_text(path)
    if path.is_symlink() or (snapshot.content is not None and _SIGN not in snapshot.content):
        raise FileUnavailable(
            f"{path} is not the launcher that m3 setup writes",
            "move it away, or name another home with M3_HOME",
        )
    if snapshot.content == text and path.stat().st_mode & _EXECUTABLE == _EXECUTABLE:
        return "unchanged"
    files.replace(snapshot, text, _EXECUTABLE)
    return "written"


def remove_launcher(path: Path) -> str:
    """Takes the launcher away, and its folder if nothing else is in it; returns `removed`, empty for none.

    Raises FileUnavailable.
    """
    snapshot = files.take(path)
    if path.is_symlink() or _SIGN not in snapshot.present:
        return ""
    files.remove(snapshot)
    with suppress(OSError):
        path.parent.rmdir()
    return "removed"
