"""The child in which read-only files are read-only, whoever runs the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.rights import without_root_rights

_APPEND = "import sys; open(sys.argv[1], 'a').write('more')"


def _append(path: Path) -> subprocess.CompletedProcess[str]:
    command = without_root_rights([sys.executable, "-c", _APPEND, str(path)])
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_child_without_roots_rights_is_refused_a_read_only_file(tmp_path: Path) -> None:
    file = tmp_path / "note"
    file.write_text("kept")
    file.chmod(0o444)
    ran = _append(file)
    assert ran.returncode != 0
    assert "PermissionError" in ran.stderr
    assert file.read_text() == "kept"


def test_the_same_child_writes_to_a_file_that_allows_it(tmp_path: Path) -> None:
    file = tmp_path / "note"
    file.write_text("kept")
    ran = _append(file)
    assert ran.returncode == 0, ran.stderr
    assert file.read_text() == "keptmore"
