"""Runs a command without root's right to ignore file permissions.

CI is root, and root writes to read-only files. A command wrapped by `without_root_rights` keeps its user and
loses the capabilities that override permissions, so that a read-only file is read-only for it too. For anyone
but root nothing changes. Linux only: elsewhere root has no capabilities to give up, and it is refused.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2


def without_root_rights(command: Sequence[str]) -> list[str]:
    """The command line that runs `command`, a program and its arguments, with its rights dropped."""
    return [sys.executable, __file__, *command]


def _drop() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"capability {capability} can't be dropped")


if __name__ == "__main__":
    if os.geteuid() == 0:
        _drop()
    os.execv(sys.argv[1], sys.argv[1:])
