"""Answers as a person reads them on a terminal: what is there, briefly; JSON has the rest."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from m3_memory.generated import load_catalog
from m3_memory.kernel.clock import later
from m3_memory.surfaces.cli.commands import in_shell_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SHOWN_CHARACTERS = 200
"""How much of a hit's content stands in a list."""

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{6}Z")
# What a state says by `as_of` (it held in the world until then), or by `known_at` (the store believed it).
_READ_BEFORE = {"superseded": "as-of", "ended": "as-of", "expired": "as-of", "deleted": "known-at"}


def lines_for(tool: str, headline: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """An answer in lines, its headline first; `tool` is empty for what no tool answered."""
    yield from [headline] if headline else []
    yield from _FORMS.get(tool, _all_of)(answer)


def _hits(answer: Mapping[str, Any]) -> Iterator[str]:
    for number, hit in enumerate(answer["hits"], 1):
        title = f"{hit['title']}: " if hit["title"] else ""
        yield f"{number}. {title}{_shortened(hit['content'], hit['id'])}"
        until = f" until {_date(hit['valid_to'])}" if "valid_to" in hit else ""
        trust = hit["trust_state"] if hit["trust_state"] != "accepted" else ""
        facts = (hit["type"], f"since {_date(hit['valid_from'])}{until}", hit["agent_id"], trust)
        yield "   " + " · ".join([*filter(None, facts), f"{hit['score']:.2f}", hit["id"]])
        if hit["why"]:
            yield f"   {hit['why']}"
    yield from answer["degraded"]
    if not answer["hits"]:
        yield f"Looked in: {', '.join(map(_place, answer['scope']))}"


def _written(answer: Mapping[str, Any]) -> Iterator[str]:
    if "type" in answer:
        yield f"type: {answer['type']}"
    if "review_id" in answer:
        yield f"waits for review: {answer['review_id']}"
    for conflict in answer["conflicts"]:
        yield f"conflicts with {conflict['id']}: {_shortened(conflict['content'], conflict['id'])}"
        yield f"  {conflict['reason']}"
    yield from _warnings(answer)


def _changed(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["changed"]:
        yield f"version {answer['version']}: {', '.join(answer['changed'])}"
    yield from _warnings(answer)


def _memory(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from _facts({name: answer[name] for name in ("since", "successor") if name in answer}, "")
    if memory := answer.get("memory"):
        yield from _facts({name: value for name, value in memory.items() if name != "id"}, "")
    elif flag := _READ_BEFORE.get(answer.get("state", "")):
        yield f"its text: m3 memory get {answer['id']} --{flag} {later(answer['since'], -1)}"


def _events(answer: Mapping[str, Any]) -> Iterator[str]:
    """One line an event; the surface is said where it is not the agent's own name."""
    for event in answer["events"]:
        other = f" {event['other_id']}" if "other_id" in event else ""
        reason = f": {event['reason']}" if event.get("reason") else ""
        by = " by ".join(dict.fromkeys((event["agent_id"], event["surface"])))
        yield f"{_plain(event['at'])}  {event['kind']}{other} · version {event['version']} · {by}{reason}"


def _all_of(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from _facts(answer, "")


def _warnings(answer: Mapping[str, Any]) -> Iterator[str]:
    catalog = load_catalog() if answer["warnings"] else {}
    for warning in answer["warnings"]:
        yield f"note: {in_shell_words(catalog, warning)}"


def _facts(value: object, indent: str) -> Iterator[str]:
    """Nested lists and objects by indentation, without what is empty; further lines indented too."""
    match value:
        case dict():
            for key, inner in cast("dict[str, object]", value).items():
                if inner in ("", [], {}, None):
                    continue
                if isinstance(inner, dict | list):
                    yield f"{indent}{key}:"
                    yield from _facts(cast("object", inner), f"{indent}  ")
                else:
                    yield f"{indent}{key}: {_plain(inner, indent)}"
        case list():
            for inner in cast("list[object]", value):
                first, *others = [*_facts(inner, f"{indent}  ")] or [indent]
                yield f"{indent}- {first.removeprefix(f'{indent}  ')}"
                yield from others
        case _:
            yield f"{indent}{_plain(value, indent)}"


def _plain(value: object, indent: str = "") -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if moment := _MOMENT.fullmatch(text):
        return f"{moment[1]}T{moment[2]}Z"
    return text.replace("\n", f"\n{indent}  ")


def _date(moment: str) -> str:
    return moment.partition("T")[0]


def _shortened(content: str, memory_id: str) -> str:
    """A text in one line, with its length and where the rest is if that is not all."""
    line = " ".join(content.split())
    if len(line) <= SHOWN_CHARACTERS:
        return line
    return f"{line[:SHOWN_CHARACTERS]}… ({len(content):,} characters; m3 memory get {memory_id})"


def _place(audience: str) -> str:
    """An audience in words: `agent/<user>/<circle>/<project or ->`, `session/…`, `user/<user>`."""
    kind, *parts = audience.split("/")
    match kind:
        case "agent" if parts[-1] == "-":
            return "no project"
        case "agent":
            return f"project {unquote(parts[-1])}"
        case "user":
            return "what holds everywhere"
        case _:
            return f"this {kind}"


_FORMS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "memory_search": _hits,
    "memory_write": _written,
    "memory_supersede": _written,
    "memory_update": _changed,
    "memory_delete": _changed,
    "memory_restore": _changed,
    "memory_get": _memory,
    "memory_history": _events,
}
