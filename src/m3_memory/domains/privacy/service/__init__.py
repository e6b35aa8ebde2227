"""What the privacy slice decides and does: what leaves a store, and what comes in."""

from __future__ import annotations

from m3_memory.domains.privacy.service.exporting import export_all, export_page
from m3_memory.domains.privacy.service.files import entries_of
from m3_memory.domains.privacy.service.forgetting import forget, subject_of
from m3_memory.domains.privacy.service.importing import import_entries, import_text
from m3_memory.domains.privacy.service.subject_access import subject_access

__all__ = [
    "entries_of",
    "export_all",
    "export_page",
    "forget",
    "import_entries",
    "import_text",
    "subject_access",
    "subject_of",
]
