"""The generated catalog, for those who list tools without importing any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load_catalog() -> dict[str, Any]:
    """What `python -m m3_memory.generate` wrote last; `catalog.reference.catalog_file` tells its form."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("catalog.json").read_bytes())
    return found
