"""`m3 review`: the questions that wait for a person, shown side by side, and decided by the operator."""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from m3_memory.errors import InvalidArgument, M3Error
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import answer, called
from m3_memory.surfaces.cli.person import place_in_words
from m3_memory.surfaces.cli.signing_in import as_operator
from m3_memory.surfaces.cli.status import find_status

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Answer, Doors, Session

DECIDING = {
    "accept": "do what the plan says",
    "reject": "leave everything as it stands",
    "withdraw": "delete the newer memory",
    "bury": "reject the newer one for good",
    "edit": "accept, in better words",
}

_SKIP, _QUIT = "skip", "quit"
_LETTERS = {name[0]: name for name in (*DECIDING, _SKIP, _QUIT)}
_AT_ONCE = 100
_ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def run(launch: Launch, given: Namespace, doors: Doors) -> int:
    """Without a verb a person at a terminal is asked about each question; programs get the list.

    That, what decides, and its undo ask for the operator's passphrase, once, if anything waits; the list is
    of this place alone.
    """
    with closing(doors.open_session(launch)) as session:
        talks = not launch.json and sys.stdin.isatty() and sys.stdout.isatty()
        everywhere = find_status(launch).seen.get("reviews", 0) if talks else 0
        if talks and everywhere and not given.verb:
            return _ask_about(session.as_operator(as_operator), launch.project)
        if given.verb in ("", "list"):
            found = _called(session, "review_list", {"limit": _AT_ONCE})
            return _print(launch, found, everywhere)
        if not given.id:
            raise InvalidArgument(f"m3 review {given.verb} takes the id of a question", "m3 review list")
        operator = session if given.verb == "show" else session.as_operator(as_operator)
        shown = _called(operator, "review_list", {"review_id": given.id})
        (review,) = shown["reviews"]
        if given.verb == "show":
            return _print(launch, shown)
        if given.verb == "undo":
            undone = _called(operator, "memory_undo", {"operation": review.get("operation_id", "")})
            answer(launch, undone, "memory_undo")
        elif (given.verb == "edit") != bool(given.text):
            raise InvalidArgument(
                "--text goes with m3 review edit", "m3 review edit ID --text 'better words'"
            )
        else:
            answer(launch, _decided(operator, review, given.verb, given.text))
    return 0


def lines_of(reviews: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Questions as a person reads them: by subject, texts under each other, what differs marked."""
    subject = None
    for review in reviews:
        if review["subject"] != subject:
            subject = review["subject"]
            yield f"About {subject}"
        yield f"  {review['kind']} {review['review_id']}: {_inline(review['reason'])} [{review['state']}]"
        yield f"    {place_in_words(review['audience'])}"
        yield from (f"    {name}: {_inline(value)}" for name, value in review["evidence"].items())
        texts = _marked([memory.get("content", "") for memory in review["memories"]])
        numbers: dict[str, str] = {}
        for memory, text in zip(review["memories"], texts, strict=True):
            numbers[memory["id"]] = f"[{len(numbers) + 1}]"
            by = f", by {memory['agent_id']}, from {memory['valid_from']}" if "agent_id" in memory else ""
            yield f"    {numbers[memory['id']]} {memory['id']} ({memory['state']}{by})"
            titled = [f"title: {memory['title']}"] if memory.get("title") else []
            yield from (f"      | {_inline(line)}" for line in [*titled, *text.splitlines()])
        if left := review.get("memories_left"):
            yield f"    and {left} more memories"
        yield from (f"    accept: {_numbered(_inline(step), numbers)}" for step in review["plan"])
        yield f"    asked by {review['asked_by']} at {review['opened_at']}, lapses at {review['lapses_at']}"


def _inline(value: object) -> str:
    """A value on one line, whatever it says: nothing of it may look like a line of ours."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ⏎ ".join(said.splitlines())


def _numbered(step: str, numbers: Mapping[str, str]) -> str:
    """A step with the numbers of the memories shown above in the place of their ids."""
    return _ID.sub(lambda found: numbers.get(found[0], found[0]), step)


def _marked(texts: Sequence[str]) -> list[str]:
    """Two texts with the words that differ between brackets; any other number as they are."""
    if len(texts) != 2 or not all(texts):
        return list(texts)
    one, other = (text.split(" ") for text in texts)
    told: tuple[list[str], list[str]] = ([], [])
    for same, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        for words, into in ((one[a:b], told[0]), (other[c:d], told[1])):
            if words:
                into.append(" ".join(words) if same == "equal" else f"[{' '.join(words)}]")
    return [" ".join(parts) for parts in told]


def _print(launch: Launch, found: Answer, everywhere: int = 0) -> int:
    if launch.json or not sys.stdout.isatty():
        output.print_json(found)
    else:
        elsewhere = max(0, everywhere - found["total"])
        waiting = f"{found['total']} wait here{f', {elsewhere} elsewhere: m3 review' if elsewhere else ''}"
        output.print_text("\n".join([*lines_of(found["reviews"]), f"{waiting}; {found['when_lapsed']}"]))
    return 0


def _ask_about(session: Session, project: str) -> int:
    """Shows each question, wherever it was asked or of one project, and asks what is to become of it."""
    reviews = _called(session, "review_list", {"limit": _AT_ONCE})["reviews"]
    for review in reviews:
        if project and place_in_words(review["audience"]) != f"project {project}":
            continue
        output.print_text("\n".join(lines_of([review])))
        choice = _chosen(review["decisions"])
        text = output.asked("The text in full, on one line: ") if choice == "edit" else ""
        if choice == _QUIT or text is None:
            break
        if choice == _SKIP or (choice == "edit" and not text.strip()):
            output.print_text("nothing was decided\n")
            continue
        try:
            decided = _decided(session, review, choice, text)
        except M3Error as error:  # an answer before this one may have changed what it is about
            output.print_text(f"not done: {error.message}; {error.hint}\n")
            continue
        done = "; ".join([decided["status"], *map(_inline, decided["done"])])
        output.print_text(f"{done}; m3 review undo {review['review_id']} takes it back\n")
    output.print_text(f"{_called(session, 'review_list', {'limit': 1})['total']} still wait")
    return 0


def _chosen(decisions: Sequence[str]) -> str:
    fit = [*decisions, *(["edit"] if "accept" in decisions else []), _SKIP, _QUIT]
    while True:
        line = output.asked(f"{', '.join(fit)}: ")
        word = _QUIT if line is None else line.strip().lower() or _SKIP
        said = _LETTERS.get(word, word)
        if said in fit:
            return said
        output.print_text("; ".join(f"{name}: {DECIDING[name]}" for name in fit if name in DECIDING))


def _decided(session: Session, review: Mapping[str, Any], verb: str, text: str) -> dict[str, Any]:
    decision = {"decision": "accept", "content": text} if verb == "edit" else {"decision": verb}
    shown = {"review_id": review["review_id"], "digest": review["digest"]}
    return _called(session, "review_decide", shown | decision)


def _called(session: Session, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return called(session, tool, arguments).structured or {}
