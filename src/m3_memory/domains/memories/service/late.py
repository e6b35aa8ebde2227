"""Late vectors: what a write without a model, or of a long text, left to a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Near, Vectors
from m3_memory.domains.memories.service.drafts import embedded_text
from m3_memory.domains.memories.service.late_check import check_late, near_late
from m3_memory.domains.memories.service.operations import operation
from m3_memory.errors import EmbedderUnavailable
from m3_memory.storage import embeddings

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.context import Context
    from m3_memory.storage.database import Writer

_LOAD_SECONDS = 30.0


def late_vectors(ctx: Context, item: int, *, anew: bool = False) -> Callable[[Writer], None]:
    """Embeds the windows of a version that have no vector yet, or all of them anew; the result stores them.

    The first vectors of a version bring the check that its write could not make, with the rights of its
    writer. Storing does nothing where the version was erased, or another job brought them, meanwhile.
    Raises EmbedderUnavailable while there is no model.
    """
    embedder = ctx.embedder.get(_LOAD_SECONDS)
    if embedder is None:
        raise EmbedderUnavailable(
            f"no model: {ctx.embedder.reason or 'it is still loading'}", "m3 doctor tells more"
        )
    fingerprint = embedder.fingerprint
    with ctx.read() as reader:
        version = queries.find_version(reader, item)
        space = embeddings.space_of(reader, fingerprint)
        known = 0 if space is None or anew else embeddings.window_count(reader, item, space)
    if version is None:
        return _nothing
    windows = embedder.windows(embedded_text(version.title, version.content, version.embed_text))
    vectors = embedder.embed(windows[known:])

    asked = version, Vectors(fingerprint, tuple(vectors))
    with ctx.read() as reader:
        looked = near_late(reader, asked) if ctx.settings.contradiction != "off" else Near()

    def store(writer: Writer) -> None:
        number = embeddings.space_for(writer, fingerprint)
        is_first = not embeddings.having_vectors(writer, [item])
        if anew:
            embeddings.remove_vectors(writer, item)
        if queries.find_version(writer, item) and embeddings.window_count(writer, item, number) == known:
            embeddings.insert_vectors(writer, item, number, vectors, known)
            queries.note_change(writer, item, "vector")
            if is_first and looked.seen:
                check_late(operation(ctx, writer), asked, looked)

    return store


def _nothing(_writer: Writer) -> None:
    """What there is to store for a version that was erased."""
