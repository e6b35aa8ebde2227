"""From what a caller gives to a draft that can be stored: checked, secrets out, analysed, embedded."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import Draft, Vectors, VectorStatus, WriteRequest
from m3_memory.errors import InvalidArgument, NeedsGrant, SecretRefused
from m3_memory.inference.embedder import EmbedderState
from m3_memory.kernel.analyser import analyse
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.classification import classify
from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.interval import Interval
from m3_memory.kernel.limits import (
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    checked_metadata,
    checked_text,
)
from m3_memory.kernel.normal import content_hash, normal_hash
from m3_memory.kernel.redaction import redact, redact_json
from m3_memory.kernel.vocabulary import AUTO_TYPE, MEMORY_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.context import Context
    from m3_memory.inference.embedder import Embedder

INLINE_WINDOWS = 4
"""Windows of a text that a write embeds itself; a job brings the rest."""

_LABELS = ("conversation_id", "source", "model_id", "variant")
TEXTS = frozenset({"content", "title", "embed_text", "refresh_reason", "metadata", *_LABELS})
"""Everything of a write that is text of the caller's, and so may hold a secret."""


def prepare(ctx: Context, request: WriteRequest, given: frozenset[str] = TEXTS) -> Draft:
    """Everything about a write that needs no lock. Raises InvalidInput errors; nothing is stored by them.

    `given` names the texts that are new: those pass the secret detector, what was stored before does not.
    """
    checked = _checked(request)
    cleaned, findings = _without_secrets(ctx, checked, given)
    chosen, notices = _typed(cleaned)
    _interval(chosen)
    draft = Draft(
        type=chosen.type,
        title=chosen.title,
        content=chosen.content,
        content_hash=content_hash(chosen.content),
        normal_hash=normal_hash(chosen.content),
        metadata=str(chosen.metadata),
        scope=chosen.scope,
        conversation_id=chosen.conversation_id,
        source=chosen.source,
        model_id=chosen.model_id,
        variant=chosen.variant,
        importance=chosen.importance,
        valid_from=chosen.valid_from,
        valid_to=chosen.valid_to or FOREVER,
        refresh_on=chosen.refresh_on,
        refresh_reason=chosen.refresh_reason,
        embed=chosen.embed,
        embed_text=chosen.embed_text,
        tokens=tuple(analyse(f"{chosen.title}\n{chosen.content}" if chosen.title else chosen.content)),
        names_start=bool(chosen.valid_from),
        reassert=chosen.reassert,
        warnings=(*notices, *findings),
    )
    return replace(draft, vectors=vectors_for(ctx, draft))


def embedded_text(title: str, content: str, embed_text: str) -> str:
    """The text whose meaning stands for a memory."""
    return embed_text or (f"{title}\n{content}" if title else content)


def vectors_for(ctx: Context, draft: Draft) -> Vectors:
    """The vectors of the text's first windows, or why there are none yet."""
    if not draft.embed:
        return Vectors()
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left()))
    if embedder is None:
        return _deferred(ctx)
    windows = embedder.windows(embedded_text(draft.title, draft.content, draft.embed_text))
    vectors = tuple(embedder.embed(windows[:INLINE_WINDOWS]))
    missing = len(windows) - len(vectors)
    warnings = (f"the last {missing} of {len(windows)} windows are embedded by a job",) if missing else ()
    status = VectorStatus.PENDING if missing else VectorStatus.READY
    return Vectors(space_of(embedder), vectors, missing, status, warnings)


def space_of(embedder: Embedder) -> tuple[str, str, int, str]:
    """What names the model's embedding space in the store."""
    known = embedder.fingerprint
    return known.name, known.weights_digest, known.dimension, known.text_rules


def _deferred(ctx: Context) -> Vectors:
    """Vectors left to a job; nothing is said of it to those who switched the model off."""
    off = ctx.embedder.state is EmbedderState.OFF
    why = ctx.embedder.reason or "the model is still loading"
    warnings = () if off else (f"findable by words now; {why}",)
    return Vectors(missing=1, status=VectorStatus.PENDING, warnings=warnings)


def _checked(request: WriteRequest) -> WriteRequest:
    if request.title:
        checked_text(request.title, "title", MAX_TITLE_CHARACTERS)
    if request.embed_text:
        checked_text(request.embed_text, "embed_text", MAX_CONTENT_CHARACTERS)
    if request.refresh_reason:
        checked_text(request.refresh_reason, "refresh_reason", MAX_REASON_CHARACTERS)
    for name in _LABELS:
        if label := getattr(request, name):
            checked_text(label, name, MAX_LABEL_CHARACTERS)
    return replace(
        request,
        content=checked_text(request.content, "content", MAX_CONTENT_CHARACTERS),
        scope=checked_scope(request.scope or Scope.AGENT),
        metadata=_written(checked_metadata(request.metadata)),
    )


def checked_scope(name: str) -> Scope:
    """A scope that memories can be written to and read from."""
    if name not in tuple(Scope):
        raise InvalidArgument(
            f"scope {name!r} is not one of: user, session, agent, org", "leave it out for agent"
        )
    if name == Scope.ORG:
        raise NeedsGrant(
            "organisations do not exist on this store", "use scope user for what holds everywhere"
        )
    return Scope(name)


def checked_type(name: str) -> str:
    """A memory type of the closed list."""
    if name not in MEMORY_TYPES:
        raise InvalidArgument(
            f"type {name!r} is not one of: {AUTO_TYPE}, {', '.join(MEMORY_TYPES)}",
            "choose the nearest, or auto to let rules choose",
        )
    return name


def _interval(request: WriteRequest) -> None:
    """Refuses an empty or inverted interval; one without a start is judged when the write knows its time."""
    if request.valid_from and request.valid_to:
        Interval(request.valid_from, request.valid_to)


def _typed(request: WriteRequest) -> tuple[WriteRequest, tuple[str, ...]]:
    if request.type and request.type != AUTO_TYPE and not request.auto_classify:
        return replace(request, type=checked_type(request.type)), ()
    chosen = classify(request.content)
    return replace(request, type=chosen), (f"type {chosen} was chosen by rules; no model was asked",)


def _without_secrets(
    ctx: Context, request: WriteRequest, given: frozenset[str]
) -> tuple[WriteRequest, tuple[str, ...]]:
    texts = {name: str(getattr(request, name)) for name in sorted(given - {"metadata"})}
    cleaned, findings = without_secrets(ctx, texts, request.metadata if "metadata" in given else "{}")
    metadata = cleaned.pop("metadata")
    if "metadata" in given:
        cleaned["metadata"] = metadata
    return replace(request, **cleaned), findings


def without_secrets(
    ctx: Context, texts: Mapping[str, str], metadata: object = "{}"
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Texts by name, and metadata as JSON text, with secrets replaced; and a sentence for each replaced.

    Raises SecretRefused where the settings say so.
    """
    if ctx.settings.secrets == "allow":
        return {**texts, "metadata": str(metadata)}, ()
    with ctx.read() as reader:
        key = reader.secret_key
    found = {name: redact(text, key) for name, text in texts.items()}
    labels, in_labels = redact_json(json.loads(str(metadata)), key)
    markers = [f"{name}: {finding.marker}" for name, text in found.items() for finding in text.findings]
    markers += [f"metadata: {finding.marker}" for finding in in_labels]
    if markers and ctx.settings.secrets == "refuse":
        raise SecretRefused(
            f"a secret was found ({', '.join(markers)}); nothing was stored",
            "remove it, or name where it is kept instead",
        )
    cleaned = {name: text.text for name, text in found.items()}
    cleaned["metadata"] = _written(labels) if in_labels else str(metadata)
    return cleaned, tuple(f"a secret was replaced in {marker}" for marker in markers)


def _written(metadata: object) -> str:
    """Metadata as it is stored."""
    return json.dumps(metadata, ensure_ascii=False, sort_keys=True)
