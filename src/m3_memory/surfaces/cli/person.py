"""Answers as a person reads them on a terminal: what is there, briefly; JSON has the rest."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from m3_memory.generated import load_catalog
from m3_memory.kernel.clock import later
from m3_memory.kernel.counting import counted
from m3_memory.surfaces.cli.commands import in_shell_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SHOWN_CHARACTERS = 200
"""How much of a hit's content stands in a list."""

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{6}Z")
# What a state says by `as_of` (it held in the world until then), or by `known_at` (the store believed it).
_READ_BEFORE = {
    "superseded": "as-of",
    "ended": "as-of",
    "expired": "as-of",
    "deleted": "known-at",
    "withdrawn": "known-at",
}


def lines_for(tool: str, headline: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """An answer in lines, its headline first; `tool` is empty for what no tool answered and has no form."""
    yield from [headline] if headline else []
    yield from _FORMS.get(tool, _all_of)({name: value for name, value in answer.items() if name != "notices"})
    yield from _noted(answer.get("notices", ()))


def _hits(answer: Mapping[str, Any]) -> Iterator[str]:
    for number, hit in enumerate(answer["hits"], 1):
        title = f"{hit['title']}: " if hit["title"] else ""
        yield f"{number}. {title}{_shortened(hit['content'], hit['id'])}"
        until = f" until {_date(hit['valid_to'])}" if "valid_to" in hit else ""
        since = f"since {_date(hit['valid_from'])}{until}"
        facts = (hit["type"], since, hit["agent_id"], hit.get("store", ""))
        yield "   " + " · ".join([*filter(None, facts), *_marks(hit), f"{hit['score']:.2f}", hit["id"]])
        yield from [f"   {hit['why']}"] if hit["why"] else []
        yield from _disputes(hit)
    yield from answer["degraded"]
    yield from (f"{lost['store']}: {lost['message']}; {lost['hint']}" for lost in answer.get("unreached", ()))
    if not answer["hits"]:
        yield f"Looked in: {', '.join(map(place_in_words, answer['scope']))}"


def _listed(answer: Mapping[str, Any]) -> Iterator[str]:
    for row in answer["memories"]:
        title = f"{row['title']}: " if row["title"] else ""
        yield f"{title}{_shortened(row['content'], row['id'], row.get('cut_from'))}"
        used = f"used {counted(row['use_count'], 'time')}" if "use_count" in row else ""
        facts = (row["type"], f"stored {_date(row['recorded_at'])}", row["agent_id"], *_marks(row), used)
        yield "   " + " · ".join([*filter(None, facts), row["id"]])
        yield from _disputes(row)
    yield from (f"{each['count']:>8,} {each['type']}" for each in answer.get("by_type", ()))
    if "cursor" in answer:
        yield f"more: the same with --cursor {answer['cursor']}"


def _marks(row: Mapping[str, Any]) -> Iterator[str]:
    """How a memory is trusted, where that is not as ever."""
    yield from [row["trust_state"]] if row["trust_state"] != "accepted" else []
    yield from ["stale"] if row.get("stale") else []


def _disputes(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"   DISPUTED by {other}: verify first" for other in row.get("disputed_by", ()))


def _previewed(answer: Mapping[str, Any]) -> Iterator[str]:
    for hit in answer["hits"]:
        ranks = (f"{hit[by]}. {by.replace('_', ' ')}" for by in ("by_words", "by_meaning") if by in hit)
        yield f"{hit['rank']}. {hit['score']:.2f} {_shortened(hit['title'] or hit['content'], hit['id'])}"
        yield "   " + " · ".join([*ranks, hit["why"], *_marks(hit), hit["id"]])
        yield from _disputes(hit)
    yield f"{counted(answer['matching'], 'match', 'matches')} in all"
    yield from (f"besides, left out: {each['count']} ({each['because']})" for each in answer["hidden"])
    if about := answer.get("about"):
        rank = f"stands at {about['found']['rank']}" if "found" in about else about.get("because", "")
        yield f"{about['id']}: {rank}"
    yield from answer["degraded"]


def _page(answer: Mapping[str, Any]) -> Iterator[str]:
    yield answer["text"].rstrip()


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


def _undone(answer: Mapping[str, Any]) -> Iterator[str]:
    for memory in answer["memories"]:
        yield f"{memory['effect']:<10} {memory['id']}  {memory['text']}"
    for kept in answer["kept"]:
        why = kept["why"].replace("_", " ")
        if "by_event" in kept:
            why += f" by event {kept['by_event']} ({kept['by_kind']} by {kept['by_agent_id']})"
        elif "by_memory_id" in kept:
            why += f" of {kept['by_memory_id']}"
        yield f"kept       {kept['memory_id']}  event {kept['event']} ({kept['kind']}): {why}"
    yield from _warnings(answer)


def _graph(answer: Mapping[str, Any]) -> Iterator[str]:
    """Nodes by their distance, then edges between them as the nodes are numbered."""
    yield from _facts({name: answer[name] for name in ("since", "successor") if name in answer}, "")
    numbers = {node["id"]: number for number, node in enumerate(answer["nodes"], 1)}
    for node in answer["nodes"]:
        said = _shortened(node["title"] or node["snippet"], node["id"])
        past = "" if node["current"] else " (not current)"
        yield f"{'  ' * node['depth']}{numbers[node['id']]}. {said}{past} · {node['type']} · {node['id']}"
    for edge in answer["edges"]:
        yield f"{numbers[edge['from_id']]} --[{edge['relationship_type']}]--> {numbers[edge['to_id']]}"
    yield from answer["cut"]


def _tidied(answer: Mapping[str, Any]) -> Iterator[str]:
    """The headline has the counts; what is left is what was not done."""
    yield from (f"left out: {reason}" for reason in answer["skipped"])


def _due(answer: Mapping[str, Any]) -> Iterator[str]:
    for row in answer["memories"]:
        yield f"{_date(row['refresh_on'])}  {_shortened(row['title'] or row['content'], row['id'])}"
        yield "   " + " · ".join(filter(None, (row["type"], row.get("refresh_reason"), row["id"])))


def _near(answer: Mapping[str, Any]) -> Iterator[str]:
    for pair in answer["groups"]:
        titles = " | ".join(filter(None, (pair["title_a"], pair["title_b"])))
        yield f"{pair['score']:.2f} {pair['verdict']} ({pair['reason']}) {titles}"
        yield "   " + " · ".join(filter(None, (pair["a"], pair["b"], pair.get("review_id"))))
    yield from answer["degraded"]


def _exported(answer: Mapping[str, Any]) -> Iterator[str]:
    for line in answer["lines"]:
        if line["kind"] == "edge":
            yield f"{line['from_id']} --[{line['type']}]--> {line['to_id']}"
        else:
            yield f"{line['id']}  {line['type']}: {_shortened(line['content'], line['id'])}"
    if "next_cursor" in answer:
        yield f"more: --cursor {answer['next_cursor']}, or m3 export FILE for all"


def _imported(answer: Mapping[str, Any]) -> Iterator[str]:
    """What did not come in, and why: what did is in the headline."""
    if answer["imported"] and answer["trust_state"] == "candidate":
        yield "default reads leave candidates out: m3 memory list --trust-state candidate"
    told = {
        "accepted": "waited as candidates and are accepted now",
        "unchanged": "here already",
        "duplicates": "said by others already",
        "for_review": "with another text than here: wait for a person",
        "edges_without_ends": "edges whose ends are not here",
        "refused": "refused",
        "malformed": "could not be read",
    }
    yield from (f"{answer[name]:,} {meaning}" for name, meaning in told.items() if answer[name])
    for problem in answer["problems"]:
        yield f"line {problem['line']}: {problem['message']} [{problem['code']}]"
    yield from _warnings(answer)
    yield from [f"stopped {answer['stopped']}"] if "stopped" in answer else []


def _all_of(answer: Mapping[str, Any]) -> Iterator[str]:
    scope: object = answer.get("scope")
    places = map(place_in_words, cast("list[str]", scope)) if isinstance(scope, list) else ()
    yield from _facts({**answer, "scope": [*places] or answer.get("scope")}, "")


def _projects(answer: Mapping[str, Any]) -> Iterator[str]:
    """One project a line, the current one marked; below it its other names and the folders it was met in."""
    for project in answer["projects"]:
        last = f", the last of {_date(project['last_write_at'])}" if "last_write_at" in project else ""
        mark = "*" if project["current"] else " "
        yield f"{mark} {project['name']}  {counted(project['memories'], 'memory')}{last}"
        yield from (f"    also called {alias}" for alias in project["aliases"])
        yield from (f"    in {folder}" for folder in project["folders"] if folder != project["name"])


def _agents(answer: Mapping[str, Any]) -> Iterator[str]:
    for agent in answer["agents"]:
        trust = f"trust {agent['trust']:g}" if agent["trust"] != 1 else ""
        role = agent.get("role", "")
        facts = (agent["state"], f"circle {agent['circle']}", *agent["grants"], trust, role)
        yield f"{agent['agent_id']}  {' · '.join(filter(None, facts))}"


def _audit(answer: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong first; then what was looked at."""
    for user in answer["users"]:
        for flaw in user["flaws"]:
            yield f"{flaw['part']}: at {flaw['where']}: {flaw['detail']} [{flaw['kind']}]"
        older = f", {user['unchecked']:,} of them from before they were digested" if user["unchecked"] else ""
        beliefs = counted(user["beliefs"], "belief")
        yield f"{user['user_id']}: {counted(user['events'], 'event')}, {beliefs}{older}"
        yield f"  ends at event {user['head'][0]}, {user['head'][1]}"
    yield "all is whole" if answer["ok"] else "not all is whole"


def _each(answer: Mapping[str, Any]) -> Iterator[str]:
    for number, result in enumerate(answer["results"], 1):
        if error := result.get("error"):
            yield f"{number}. {error['code']}: {error.get('message', '')}"
        else:
            yield f"{number}. {result['status']} {result['id']}"
            yield from (f"   {line}" for line in _noted(result.get("warnings", ())))
    yield from _warnings(answer)


def _warnings(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from _noted(answer.get("warnings", ()))


def _noted(sentences: Sequence[str]) -> Iterator[str]:
    catalog = load_catalog() if sentences else {}
    for sentence in sentences:
        yield f"note: {in_shell_words(catalog, sentence)}"


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


def _shortened(content: str, memory_id: str, cut_from: int | None = None) -> str:
    """A text in one line, with its length and where the rest is if that is not all."""
    line = " ".join(content.split())
    if len(line) <= SHOWN_CHARACTERS and cut_from is None:
        return line
    length = cut_from or len(content)
    return f"{line[:SHOWN_CHARACTERS]}… ({length:,} characters; m3 memory get {memory_id})"


def place_in_words(audience: str) -> str:
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
    "memory_write_bulk": _each,
    "memory_update_bulk": _each,
    "memory_delete_bulk": _each,
    "memory_write_from_file": _written,
    "memory_get": _memory,
    "memory_history": _events,
    "memory_list": _listed,
    "memory_suggest": _previewed,
    "memory_search_multi_db": _hits,
    "m3_help_capabilities": _page,
    "memory_undo": _undone,
    "memory_unsupersede": _changed,
    "memory_graph": _graph,
    "memory_link": _warnings,
    "memory_unlink": _warnings,
    "memory_pin": _changed,
    "memory_unpin": _changed,
    "memory_export": _exported,
    "memory_import": _imported,
    "memory_maintenance": _tidied,
    "memory_set_retention": _warnings,
    "memory_refresh_queue": _due,
    "memory_dedup": _near,
    "m3 project list": _projects,
    "m3 agents list": _agents,
    "m3 audit verify": _audit,
    "agent_list": _agents,
}
