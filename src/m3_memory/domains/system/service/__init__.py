"""What the system slice does: tools about tools, and the doctor."""

from __future__ import annotations

from m3_memory.domains.system.service.catalog import (
    capabilities,
    index,
    list_domains,
    load_domain,
    run_batch,
    run_one,
)
from m3_memory.domains.system.service.doctor import accept_head, examine

__all__ = [
    "accept_head",
    "capabilities",
    "examine",
    "index",
    "list_domains",
    "load_domain",
    "run_batch",
    "run_one",
]
