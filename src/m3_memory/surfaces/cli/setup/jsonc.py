"""JSON with comments and last commas, read, and changed in one place with every other byte kept.

A new member has lines of its own, indented as what stands around it. Then the new text is read again, and
must say what was asked for and nothing else. What can't be read or changed so raises ValueError.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn, cast

_STRING = r'"(?:[^"\\]++|\\.)*+"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*+|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*+[}}\]])", re.DOTALL)
_COMMENTS_ON_THE_LINE = re.compile(r"(?:[ \t]*+(?://[^\r\n]*+|/\*(?:[^*\r\n]|\*(?!/))*+\*/))*")
_LINE_END = re.compile(r"\r\n|\n|\r")
_BLANK = " \t\r\n"
_PUNCTUATION = re.compile(f"[{_BLANK},:]*")


def read(text: str) -> object:
    """The value of a text."""
    return _Document(text).value


def put(text: str, path: tuple[str, ...], value: object) -> str:
    """The text with the member at `path` set, the objects on the way made where they lack."""
    document = _Document(text)
    depth, holder, member = document.reach(path)
    for outer in reversed(path[depth + 1 :]):
        value = {outer: value}
    if member is None:
        return document.changed(document.adding(holder, path[depth], value), path[: depth + 1], value)
    written = document.written(value, document.indent(member.start))
    return document.changed([_Edit(member.value, member.end, written)], path, value)


def drop(text: str, path: tuple[str, ...]) -> str:
    """The text without the member at `path`; the same text if there is none."""
    document = _Document(text)
    _, holder, member = document.reach(path)
    return document.changed(document.removing(holder, member), path) if member else text


class _Edit(NamedTuple):
    start: int
    end: int
    text: str = ""


class _Member(NamedTuple):
    key: str
    start: int
    value: int
    end: int


class _Object(NamedTuple):  # from `start` to `end`, the braces not included
    start: int
    end: int
    members: tuple[_Member, ...]


class _Document:
    """One text. In `_plain` its comments are blank, in `_strict` last commas too; all are equally long."""

    def __init__(self, text: str) -> None:
        self.text = self._plain = self._strict = text
        try:
            self.value = _decoded(text)
        except ValueError:
            self._plain = _COMMENT.sub(_blanked, text)
            self._strict = _LAST_COMMA.sub(_blanked, self._plain)
            self.value = _decoded(self._strict)

    def reach(self, path: tuple[str, ...]) -> tuple[int, _Object, _Member | None]:
        """The member at `path` and its holder, or the innermost holder there is, with its depth."""
        holder = self._object(len(self._strict) - len(self._strict.lstrip(_BLANK)))
        self._newline = found[0] if (found := _LINE_END.search(self.text)) else "\n"
        first = holder.members[0] if holder.members else None
        self._unit = (self.indent(first.start) if first else "") or "  "
        for depth, key in enumerate(path):
            found = [member for member in holder.members if member.key == key]
            if len(found) > 1:
                raise ValueError(f"{json.dumps(key)} stands there twice")
            if not found or depth == len(path) - 1:
                return depth, holder, found[0] if found else None
            holder = self._object(found[0].value)
        raise ValueError("no key was named")

    def adding(self, holder: _Object, key: str, value: object) -> list[_Edit]:
        """A new last member, behind comments on the line of the one before."""
        last = holder.members[-1] if holder.members else None
        comma = self._plain.find(",", last.end, holder.end) if last else -1
        before = max(last.end, comma + 1) if last else len(self.text[: holder.end].rstrip(_BLANK))
        place = _after(_COMMENTS_ON_THE_LINE, self.text, before) if last else before
        indent = self.indent(last.start) if last else self.indent(holder.start) + self._unit
        member = (
            f"{self._newline}{indent}{json.dumps(key, ensure_ascii=False)}: {self.written(value, indent)}"
        )
        closed = last or _LINE_END.search(self.text, place, holder.end)
        end = "," if comma >= 0 else "" if closed else self._newline + self.indent(holder.start)
        member_edit = _Edit(place, place, member + end)
        return [_Edit(last.end, last.end, ","), member_edit] if last and comma < 0 else [member_edit]

    def removing(self, holder: _Object, member: _Member) -> list[_Edit]:
        """Takes out a member, one comma, and the white space that only it needed."""
        number = holder.members.index(member)
        before, behind = holder.members[:number], holder.members[number + 1 :]
        comma = self._plain.find(",", member.end, behind[0].start if behind else holder.end)
        rest = self.text[max(member.end, comma + 1) : holder.end + 1].lstrip(" \t")
        if comma < 0 and before:
            comma = self._plain.find(",", before[-1].end, member.start)
        start = len(self.text[: member.start].rstrip(_BLANK))
        if start == holder.start and rest.lstrip(_BLANK) == "}":
            return [_Edit(holder.start, holder.end)]
        notes = [note for note in _COMMENT.finditer(self.text) if note.start() < start <= note.end()]
        stays = rest[0] == "/" or (notes and notes[0][0][:2] == "//" and rest[0] not in "\r\n")
        for line_end in _LINE_END.finditer(self.text, start, member.start):
            start = member.start if stays else line_end.start()
        return [_Edit(start, member.end), *([_Edit(comma, comma + 1)] if comma >= 0 else [])]

    def changed(self, edits: list[_Edit], path: tuple[str, ...], *values: object) -> str:
        """The text after these edits, which must have changed what stands at `path` and nothing else."""
        text = self.text
        for edit in sorted(edits, key=lambda edit: edit[:2])[::-1]:
            text = text[: edit.start] + edit.text + text[edit.end :]
        if read(text) != _expected(self.value, path, values):
            raise ValueError("it can't be changed without touching more than that")
        return text

    def written(self, value: object, indent: str) -> str:
        """A value on lines indented so."""
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit).split("\n")
        return (self._newline + indent).join(lines)

    def _object(self, index: int) -> _Object:
        if self._strict[index] != "{":
            raise ValueError("something else stands where an object should")
        members: list[_Member] = []
        place = _after(_PUNCTUATION, self._strict, index + 1)
        while self._strict[place] != "}":
            key, end = _DECODER.raw_decode(self._strict, place)
            value = _after(_PUNCTUATION, self._strict, end)
            end = _DECODER.raw_decode(self._strict, value)[1]
            members.append(_Member(key, place, value, end))
            place = _after(_PUNCTUATION, self._strict, end)
        return _Object(index + 1, place, tuple(members))

    def indent(self, index: int) -> str:
        """The white space that the line of this place begins with."""
        before = self.text[max(self.text.rfind("\n", 0, index), self.text.rfind("\r", 0, index)) + 1 : index]
        return before[: len(before) - len(before.lstrip(" \t"))]


def _after(pattern: re.Pattern[str], text: str, index: int) -> int:
    found = pattern.match(text, index)
    return found.end() if found else index


def _expected(value: object, path: tuple[str, ...], values: tuple[object, ...]) -> object:
    held = dict(cast("dict[str, object]", value))
    key, *rest = path
    if rest:
        held[key] = _expected(held[key], tuple(rest), values)
    elif values:
        held[key] = values[0]
    else:
        del held[key]
    return held


def _blanked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refused)


def _decoded(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
