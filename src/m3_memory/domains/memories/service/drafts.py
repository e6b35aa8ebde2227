"""From what a caller gives to a draft that can be stored: checked, secrets out, analysed, embedded."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from m3_memory.domains.memories.model import Draft, Vectors, VectorStatus, WriteRequest
from m3_memory.domains.memories.service.chunks import tried
from m3_memory.domains.memories.service.nearness import near_all
from m3_memory.errors import EmbedderUnavailable, InvalidArgument, M3Error, NeedsGrant, SecretRefused
from m3_memory.inference.embedder import EmbedderState
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
from m3_memory.kernel.turn import indexed
from m3_memory.kernel.vocabulary import AUTO_TYPE, MEMORY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from m3_memory.context import Context
    from m3_memory.inference.embedder import Embedder

INLINE_WINDOWS = 4
"""Windows of a text that a write embeds itself; a job brings the rest."""

_TEXTS_AT_ONCE = 64
"""Texts embedded between two looks at the clock."""

_LIMITS = (
    ("title", MAX_TITLE_CHARACTERS),
    ("embed_text", MAX_CONTENT_CHARACTERS),
    ("refresh_reason", MAX_REASON_CHARACTERS),
    ("conversation_id", MAX_LABEL_CHARACTERS),
    ("source", MAX_LABEL_CHARACTERS),
    ("model_id", MAX_LABEL_CHARACTERS),
    ("variant", MAX_LABEL_CHARACTERS),
)
TEXTS = frozenset({"content", "metadata", *(name for name, _ in _LIMITS)})
"""Everything of a write that is text of the caller's, and so may hold a secret."""


def prepare(ctx: Context, request: WriteRequest, given: frozenset[str] = TEXTS) -> Draft:
    """Everything about a write that needs no lock. Raises InvalidInput errors; nothing is stored by them.

    `given` names the texts that are new: those pass the secret detector, what was stored before does not.
    """
    return embedded(ctx, _prepared(ctx, request, given))


def prepare_all(
    ctx: Context, requests: Sequence[WriteRequest], embedding_seconds: float = math.inf
) -> list[Draft | M3Error]:
    """As `prepare` for each; a request that can't be stored is an error in its place.

    When `embedding_seconds` are over, or the call's time is, the vectors still missing are left to jobs.
    """
    prepared = prepared_all(ctx, requests)
    drafts = [draft for draft in prepared if isinstance(draft, Draft)]
    ready = iter(embedded_all(ctx, drafts, embedding_seconds))
    return [next(ready) if isinstance(draft, Draft) else draft for draft in prepared]


def prepared_all(ctx: Context, requests: Sequence[WriteRequest]) -> list[Draft | M3Error]:
    """As `prepare_all`, still without vectors."""
    return [tried(_prepared, ctx, request, TEXTS) for request in requests]


def _prepared(ctx: Context, request: WriteRequest, given: frozenset[str]) -> Draft:
    """The draft, still without vectors."""
    return _draft(request, *_without_secrets(ctx, _checked_texts(request), given))


def clean_draft(request: WriteRequest) -> Draft:
    """A draft of texts that passed the secret detector, without vectors. Raises InvalidInput errors."""
    return _draft(request, _checked_texts(request), ())


def _draft(request: WriteRequest, said: Mapping[str, Any], findings: Sequence[str]) -> Draft:
    content, title = str(said["content"]), str(said["title"])
    type_, notices = _type(request, content)
    if request.valid_from and request.valid_to:  # without a start it is judged when the write knows its time
        Interval(request.valid_from, request.valid_to)
    return Draft(
        **said,
        type=type_,
        content_hash=content_hash(content),
        normal_hash=normal_hash(content),
        scope=checked_scope(request.scope or Scope.AGENT),
        importance=request.importance,
        valid_from=request.valid_from,
        valid_to=request.valid_to or FOREVER,
        refresh_on=request.refresh_on,
        embed=request.embed,
        tokens=indexed(type_, title, content, said["metadata"]),
        names_start=bool(request.valid_from),
        reassert=request.reassert,
        warnings=(*notices, *findings),
    )


def embedded_text(title: str, content: str, embed_text: str) -> str:
    """The text whose meaning stands for a memory."""
    return embed_text or (f"{title}\n{content}" if title else content)


def embedded(ctx: Context, draft: Draft) -> Draft:
    """The draft with the vectors of its text's first windows, or why there are none yet."""
    return embedded_all(ctx, [draft])[0]


def embedded_all(ctx: Context, drafts: Sequence[Draft], seconds: float = math.inf) -> list[Draft]:
    """As `embedded` for each, and with what is near in meaning.

    What is not done after so many seconds, or when the call's time is up, is left to jobs.
    """
    until = ctx.clock.monotonic() + seconds
    wanting = [place for place, draft in enumerate(drafts) if draft.embed]
    vectors: dict[int, Vectors] = {}
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left())) if wanting else None
    while embedder and wanting and _is_time(ctx, until):
        now, wanting = wanting[:_TEXTS_AT_ONCE], wanting[_TEXTS_AT_ONCE:]
        try:
            found = _embedded(embedder, [drafts[place] for place in now], ctx.seconds_left() / 2)
            vectors |= zip(now, found, strict=True)
        except EmbedderUnavailable as error:
            vectors |= dict.fromkeys([*now, *wanting], _later(f"{error.message}; {error.hint}"))
            wanting = []
    vectors |= dict.fromkeys(
        wanting, _later("the call had no time left for it") if embedder else _deferred(ctx)
    )
    ready = [replace(d, vectors=vectors[n]) if n in vectors else d for n, d in enumerate(drafts)]
    if ctx.settings.contradiction == "off" or not any(draft.vectors.vectors for draft in ready):
        return ready
    with ctx.read() as reader:
        return near_all(reader, ctx.caller, ready)


def _is_time(ctx: Context, until: float) -> bool:
    return ctx.clock.monotonic() < until and ctx.seconds_left() > 0


def _embedded(embedder: Embedder, drafts: Sequence[Draft], seconds: float) -> Iterator[Vectors]:
    """The vectors of each draft's first windows; those of the rest are left to a job."""
    windows = [embedder.windows(embedded_text(d.title, d.content, d.embed_text)) for d in drafts]
    flat = iter(embedder.embed([window for of in windows for window in of[:INLINE_WINDOWS]], seconds))
    for of in windows:
        vectors = tuple(islice(flat, min(len(of), INLINE_WINDOWS)))
        missing = len(of) - len(vectors)
        warnings = (f"the last {missing} of {len(of)} windows are embedded by a job",) if missing else ()
        status = VectorStatus.PENDING if missing else VectorStatus.READY
        yield Vectors(embedder.fingerprint, vectors, missing, status, warnings)


def _deferred(ctx: Context) -> Vectors:
    """Vectors left to a job; nothing is said of it to those who switched the model off."""
    if ctx.embedder.state is EmbedderState.OFF:
        return Vectors(missing=1, status=VectorStatus.PENDING)
    return _later(ctx.embedder.reason or "the model is still loading")


def _later(why: str) -> Vectors:
    return Vectors(missing=1, status=VectorStatus.PENDING, warnings=(f"findable by words now; {why}",))


def _checked_texts(request: WriteRequest) -> dict[str, str]:
    """Every text of the request by its name, as it will be stored."""
    texts = {"content": checked_text(request.content, "content", MAX_CONTENT_CHARACTERS)}
    for name, limit in _LIMITS:
        text: str = getattr(request, name)
        texts[name] = checked_text(text, name, limit) if text else ""
    texts["metadata"] = _written(checked_metadata(request.metadata)) if request.metadata else "{}"
    return texts


_SCOPES = frozenset(Scope)


def checked_scope(name: str) -> Scope:
    """A scope that memories can be written to and read from."""
    if name not in _SCOPES:
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


def _type(request: WriteRequest, content: str) -> tuple[str, tuple[str, ...]]:
    """The type of the statement, and what to say of a choice that was not the caller's."""
    if request.type and request.type != AUTO_TYPE and not request.auto_classify:
        return checked_type(request.type), ()
    chosen = classify(content)
    return chosen, (f"type {chosen} was chosen by rules; no model was asked",)


def _without_secrets(
    ctx: Context, texts: dict[str, str], given: frozenset[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    new = {name: text for name, text in texts.items() if text and name in given and name != "metadata"}
    cleaned, findings = without_secrets(ctx, new, texts["metadata"] if "metadata" in given else "{}")
    if "metadata" not in given:
        del cleaned["metadata"]
    return texts | cleaned, findings


def without_secrets(
    ctx: Context, texts: Mapping[str, str], metadata: object = "{}"
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Texts by name, and metadata as JSON text, with secrets replaced; and a sentence for each replaced.

    Raises SecretRefused where the settings say so.
    """
    if ctx.settings.secrets == "allow":
        return {**texts, "metadata": str(metadata)}, ()
    cleaned, markers = _marked(texts, metadata, b"")
    if markers:  # the store is asked for its key only where there is something to mark with it
        with ctx.read() as reader:
            cleaned, markers = _marked(texts, metadata, reader.secret_key)
    if markers and ctx.settings.secrets == "refuse":
        raise SecretRefused(
            f"a secret was found ({', '.join(markers)}); nothing was stored",
            "remove it, or name where it is kept instead",
        )
    return cleaned, tuple(f"a secret was replaced in {marker}" for marker in markers)


def _marked(texts: Mapping[str, str], metadata: object, key: bytes) -> tuple[dict[str, str], list[str]]:
    """The texts with markers made by this key, and for each marker where it stands."""
    found = {name: redact(text, key) for name, text in texts.items()}
    markers = [f"{name}: {finding.marker}" for name, text in found.items() for finding in text.findings]
    cleaned = {name: text.text for name, text in found.items()} | {"metadata": str(metadata)}
    if metadata != "{}":
        labels, in_labels = redact_json(json.loads(str(metadata)), key)
        markers += [f"metadata: {finding.marker}" for finding in in_labels]
        cleaned["metadata"] = _written(labels) if in_labels else str(metadata)
    return cleaned, markers


def _written(metadata: object) -> str:
    """Metadata as it is stored."""
    return json.dumps(metadata, ensure_ascii=False, sort_keys=True)
