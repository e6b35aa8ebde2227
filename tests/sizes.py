"""How much a test does: small by default, the sizes the issues name under `./test --full`."""

from __future__ import annotations

import os
from typing import TypeVar

Value = TypeVar("Value")

FULL = os.environ.get("M3_TEST_SIZE") == "full"


def size(small: Value, full: Value) -> Value:
    """`small` in the everyday run, `full` under `./test --full`; the promise tested is the same."""
    return full if FULL else small
