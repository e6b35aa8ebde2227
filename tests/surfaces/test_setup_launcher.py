"""The launcher that entries name: it finds m3 wherever its Python went, or says what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from m3_memory.surfaces.cli.setup.launcher import launcher_path, launcher_text
from tests.surfaces.mcp_wire import Wire, request
from tests.surfaces.setup_homes import CURSOR, Home, new_home, statuses

SAYS_WHO = 'printf "%s|" "$0" "$@"'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with an awkward path, in which Cursor is wired."""
    made = new_home(tmp_path / 'it\'s $HOME; `x` \\ "y"')
    made.has_cursor(CURSOR)
    made.setup()
    return made


def start(home: Home, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Starts the launcher as a host does."""
    return subprocess.run(
        [home.launcher, *arguments],
        cwd=home.folder,
        env=home.m3.environment | variables,
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def written_for(home: Home, python: str = sys.executable, package: str = "/gone") -> None:
    """The launcher as it stands after its Python, or the package in it, went away."""
    home.launcher.write_bytes(launcher_text(home.launcher, "linux", python, package))


def test_it_starts_the_python_that_setup_ran_on_with_every_argument_as_given(home: Home) -> None:
    hello = start(home, "--version")
    assert (hello.returncode, hello.stdout) == (0, home.m3.run("--version").out)
    done = start(
        home, "--project", "a b 'c' $d", "memory", "write", 'say "hi"  *', "--type", "note", "--no-embed"
    )
    found = start(home, "--project", "a b 'c' $d", "memory", "search", "say hi", M3_EMBEDDER="off")
    assert done.returncode == 0
    assert 'say \\"hi\\"  *' in found.stdout


@pytest.mark.parametrize("name", ["m3", "mcp-memory"])
def test_where_its_python_is_gone_it_starts_another_m3_on_the_path(home: Home, name: str) -> None:
    other = home.has_program(name, SAYS_WHO)
    for gone in ({"python": "/no/python"}, {"package": "/no/package"}):
        written_for(home, **gone)
        done = start(home, "--agent", "cursor", "--project", "x y")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{other}|--agent|cursor|--project|x y|"


@pytest.mark.parametrize(
    "place", [".local/bin", ".local/share/pipx/venvs/m3-memory/bin", ".local/share/uv/tools/m3-memory/bin"]
)
def test_then_it_looks_where_tools_install_programs(home: Home, place: str) -> None:
    written_for(home)
    other = home.folder / place / "m3"
    other.parent.mkdir(parents=True)
    shutil.move(home.has_program("aside", SAYS_WHO), other)
    assert start(home, "--agent", "cursor").stdout == f"{other}|--agent|cursor|"


def test_where_there_is_none_it_says_what_to_do_on_standard_error(home: Home) -> None:
    written_for(home, "/old place/python3")
    done = start(home, "--agent", "cursor")
    assert (done.returncode, done.stdout) == (5, "")
    assert "/old place/python3" in done.stderr
    assert "m3 setup" in done.stderr


def test_it_never_starts_itself_nor_a_program_that_leads_back_to_it(home: Home) -> None:
    written_for(home)
    (home.folder / "bin" / "m3").symlink_to(home.launcher)
    assert start(home).returncode == 5
    home.has_program("mcp-memory", f"exec {home.folder}/back")
    back = home.folder / "back"
    back.symlink_to(home.launcher)
    shutil.copy(home.launcher, home.folder / "bin" / "mcp-memory")
    assert start(home).returncode == 5


def test_a_folder_of_the_path_that_is_not_whole_is_not_looked_into(home: Home) -> None:
    """Nor the folder it is started in, which is somebody's project."""
    written_for(home)
    home.has_program("aside", SAYS_WHO).rename(home.folder / "m3")
    assert start(home, PATH=f":.:bin:{home.m3.environment['PATH']}").returncode == 5


def test_modules_of_the_project_it_is_started_in_are_not_imported(home: Home) -> None:
    for name in ("json", "m3_memory", "os", "threading"):
        (home.folder / f"{name}.py").write_text("raise SystemExit('a module of the project ran')")
    with Wire(command=[str(home.launcher)], cwd=home.folder, env=home.m3.environment) as server:
        server.open()
        assert server.result(request("tools/list"))["tools"]


def test_setup_run_again_from_another_python_leads_the_entries_there(home: Home, tmp_path: Path) -> None:
    written_for(home, "/old/python")
    before = home.contents()
    answer = home.m3.run("setup").answer
    assert answer["launcher"]["status"] == "written"
    assert statuses({row["agent"]: row for row in answer["hosts"]})["cursor"] == "unchanged"
    assert start(home, "--version").returncode == 0
    assert home.contents() == before


def test_a_launcher_that_lost_its_rights_gets_them_again(home: Home) -> None:
    home.launcher.chmod(0o600)
    assert home.setup()["cursor"]["tools"]
    assert start(home, "--version").returncode == 0


def test_a_program_that_stands_where_the_launcher_belongs_is_not_overwritten(home: Home) -> None:
    """A virtual environment made in the home folder has its own m3 there."""
    home.launcher.write_text("#!/bin/sh\nexit 0\n")
    done = home.m3.run("setup")
    assert (done.code, done.error["code"]) == (5, "file_unavailable")
    home.setup("--remove")
    assert home.launcher.read_text() == "#!/bin/sh\nexit 0\n"


def test_a_home_that_is_moved_away_leaves_a_launcher_that_can_be_written_anew(home: Home) -> None:
    shutil.rmtree(home.folder / ".m3")
    assert statuses(home.setup())["cursor"] == "unchanged"
    assert start(home, "--version").returncode == 0
    home.setup("--remove")
    assert '"m3": {' not in home.cursor_file.read_text()


def test_on_windows_it_is_a_batch_file_with_its_own_line_ends_and_quotes() -> None:
    path = launcher_path(Path("home"), "win32")
    text = launcher_text(path, "win32", r"C:\Program Files\100% m3\python.exe", r"C:\m3").decode()
    assert path.name == "m3.cmd"
    assert r'set "M3_PYTHON=C:\Program Files\100%% m3\python.exe"' in text
    assert text.count("\n") == text.count("\r\n")
    assert "@PYTHON@" not in text


def test_a_home_without_a_user_folder_still_starts(home: Home) -> None:
    alone = replace(home.m3, environment={"PATH": "/usr/bin:/bin"}, command=(str(home.launcher),))
    assert alone.run("--version").code == 0
