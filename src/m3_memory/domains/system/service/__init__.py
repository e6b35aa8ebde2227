"""What the system slice does: tools about tools, and the doctor."""

from __future__ import annotations

from m3_memory.domains.system.service.catalog import ToolCall, list_domains, load_domain, run_batch, run_one
from m3_memory.domains.system.service.doctor import examine

__all__ = ["ToolCall", "examine", "list_domains", "load_domain", "run_batch", "run_one"]
