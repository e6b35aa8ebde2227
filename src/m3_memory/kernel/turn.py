"""Whose words a turn of a conversation is: kept in the word index beside the words, as marks.

A mark is a token that no text holds, so it is found like a word and never taken for one.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from m3_memory.kernel.analyser import MARK_PREFIX, analyse

TURN_TYPES = frozenset({"chat_log", "conversation", "message"})
"""Types whose memories are turns: what somebody said, not what was found worth keeping."""

_SPEAKER = re.compile(r"([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}): ")
_ROLES = frozenset({"user", "assistant", "system", "tool"})


def indexed(type_: str, title: str, content: str, metadata: str) -> tuple[str, ...]:
    """What the word index holds of a memory, but for its audience: its marks, then its words."""
    return (*marks(type_, content, metadata), *analyse(f"{title}\n{content}" if title else content))


def marks(type_: str, content: str, metadata: str) -> tuple[str, ...]:
    """The marks of a memory: its speaker's name by its words, and its role.

    Metadata, a JSON object as text, says them by `speaker` and `role`; else a turn that opens with
    `Name: ` was said by that name. Empty for what nobody said.
    """
    said: dict[str, Any] = {}
    if '"speaker"' in metadata or '"role"' in metadata:
        said = cast("dict[str, Any]", json.loads(metadata))
    speaker = said.get("speaker")
    if not speaker and type_ in TURN_TYPES and (opening := _SPEAKER.match(content)):
        speaker = opening[1]
    found = [speaker_mark(word) for word in analyse(str(speaker))] if speaker else []
    role = said.get("role")
    return (*dict.fromkeys(found), *([role_mark(role)] if isinstance(role, str) and role in _ROLES else ()))


def speaker_mark(word: str) -> str:
    """The mark of a speaker whose name holds this word, given as the analyser gives it."""
    return f"{MARK_PREFIX}by.{word}"


def role_mark(role: str) -> str:
    """The mark of who speaks in a session: user, assistant, system or tool."""
    return f"{MARK_PREFIX}role.{role}"
