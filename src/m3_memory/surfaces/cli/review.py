"""`m3 review`: the questions that wait for a person, shown side by side, and decided by the operator."""

from __future__ import annotations

import sys
from contextlib import closing
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from m3_memory.errors import InvalidArgument
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import answer
from m3_memory.surfaces.cli.signing_in import as_operator

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


def run(launch: Launch, given: Namespace, doors: Doors) -> int:
    """Without a verb a person at a terminal is asked about each question; programs get the list.

    That, what decides, and its undo ask for the operator's passphrase, once; the list is of this place alone.
    """
    with closing(doors.open_session(launch)) as session:
        talks = not launch.json and sys.stdin.isatty() and sys.stdout.isatty()
        if talks and not given.verb:
            return _ask_about(session.as_operator(as_operator))
        if given.verb in ("", "list"):
            found = _called(session, "review_list", {"limit": _AT_ONCE})
            return _print(launch, found, found["reviews"])
        if not given.id:
            raise InvalidArgument(f"m3 review {given.verb} takes the id of a question", "m3 review list")
        operator = session if given.verb == "show" else session.as_operator(as_operator)
        shown = _called(operator, "review_list", {"review_id": given.id})
        (review,) = shown["reviews"]
        if given.verb == "show":
            return _print(launch, shown, [review])
        if given.verb == "undo":
            undone = _called(operator, "memory_undo", {"operation": review.get("operation_id", "")})
            answer(launch, undone, "memory_undo")
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
        yield f"  {review['kind']} {review['review_id']}: {review['reason']} [{review['state']}]"
        yield from (f"    {name}: {value}" for name, value in review["evidence"].items())
        texts = _marked([memory.get("content", "") for memory in review["memories"]])
        for memory, text in zip(review["memories"], texts, strict=True):
            by = f", by {memory['agent_id']}, from {memory['valid_from']}" if "agent_id" in memory else ""
            yield f"    {memory['id']} ({memory['state']}{by})"
            yield from (f"      {line}" for line in text.splitlines())
        yield from (f"    accept: {step}" for step in review["plan"])
        yield f"    asked by {review['asked_by']} at {review['opened_at']}, lapses at {review['lapses_at']}"


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


def _print(launch: Launch, found: Answer, reviews: Sequence[Mapping[str, Any]]) -> int:
    if launch.json or not sys.stdout.isatty():
        output.print_json(found)
    else:
        output.print_text("\n".join([*lines_of(reviews), f"{found['total']} wait; {found['when_lapsed']}"]))
    return 0


def _ask_about(session: Session) -> int:
    """Shows each question, wherever it was asked, and asks what is to become of it."""
    for review in _called(session, "review_list", {"limit": _AT_ONCE})["reviews"]:
        output.print_text("\n".join(lines_of([review])))
        choice = _chosen()
        if choice == _QUIT:
            break
        if choice != _SKIP:
            text = _line("The text in full, on one line: ") if choice == "edit" else ""
            decided = _called_for(session, review, choice, text)
            output.print_text(f"{decided['status']}; m3 review undo {review['review_id']} takes it back\n")
    output.print_text(f"{_called(session, 'review_list', {'limit': 1})['total']} still wait")
    return 0


def _chosen() -> str:
    while True:
        said = _line(f"{', '.join(_LETTERS.values())}: ").strip().lower()
        if said in ("", *_LETTERS, *_LETTERS.values()):
            return _LETTERS.get(said, said) or _SKIP
        output.print_text("; ".join(f"{name}: {meaning}" for name, meaning in DECIDING.items()))


def _line(prompt: str) -> str:
    """What the person types; the end of input is quit."""
    sys.stderr.write(output.visible(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else _QUIT


def _decided(session: Session, review: Mapping[str, Any], verb: str, text: str) -> dict[str, Any]:
    if (verb == "edit") != bool(text):
        raise InvalidArgument("--text goes with m3 review edit", "m3 review edit ID --text 'better words'")
    return _called_for(session, review, verb, text)


def _called_for(session: Session, review: Mapping[str, Any], verb: str, text: str) -> dict[str, Any]:
    decision = {"decision": "accept", "content": text} if verb == "edit" else {"decision": verb}
    shown = {"review_id": review["review_id"], "digest": review["digest"]}
    return _called(session, "review_decide", shown | decision)


def _called(session: Session, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    outcome = session.call(tool, arguments)
    if outcome.error is not None:
        raise outcome.error
    return outcome.structured or {}
