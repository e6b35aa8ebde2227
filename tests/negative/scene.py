"""A store with somebody who looks, memories of their own, and canaries that must never show.

A canary is a memory whose words, title, metadata, labels, agent and id are found nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Belief
from m3_memory.inference.embedder import EmbedderSource
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock, plus
from m3_memory.storage import history, open_database
from m3_memory.storage.predicates import Filter, view_of
from tests.callers import Agent

READER = Caller("ann", "claude", "monday", project="site")
OWN = (
    ("the passphrase of the front door is pear", "agent"),
    ("the passphrase of the cellar is apple", "user"),
    ("the passphrase of the garden gate is quince", "session"),
)
"""What the reader may find: nearly the words of the canaries."""

_LETTERS_ELSEWHERE = "abcdeghijk"
_LETTERS_HERE = "nopqrstuvw"
"""Not f: its words and others of the text cancel out in the hashing stub's few dimensions."""

DAY_SECONDS = 24 * 60 * 60


@dataclass(frozen=True)
class Canary:
    """A memory that must not show, and who may see it. `letter` tells it from the others."""

    name: str
    letter: str
    owner: Agent
    id: str

    @property
    def word(self) -> str:
        return f"zq{self.letter}word"

    @property
    def content(self) -> str:
        return f"the passphrase of the {self.word} door is plum"

    @property
    def title(self) -> str:
        return f"about zq{self.letter}title"

    @property
    def note(self) -> str:
        return f"zq{self.letter}note"

    @property
    def conversation(self) -> str:
        return f"zq{self.letter}talk"

    @property
    def agent(self) -> str:
        return self.owner.caller.agent_id

    @property
    def words(self) -> tuple[str, ...]:
        """What only the text has."""
        return (self.word, f"zq{self.letter}title", self.note)

    @property
    def traces(self) -> tuple[str, ...]:
        """What gives the canary away, in lower case; the end of an id is its own, the beginning a time."""
        return (*self.words, self.conversation, self.agent, self.id[-8:])

    def written(self, scope: str = "agent") -> Canary:
        """The same, once its owner has written it."""
        answer = self.owner.call(
            "memory_write",
            content=self.content,
            title=self.title,
            metadata={"note": self.note},
            conversation_id=self.conversation,
            type="fact",
            scope=scope,
            refresh_on="2026-01-01",
        )
        return replace(self, id=answer["id"])

    def asked_about(self) -> Canary:
        """The same, once its owner has put a question about it to a person."""
        steps = [{"act": "verify", "id": self.id}]
        self.owner.call("review_propose", steps=steps, reason=f"is it so? {self.note}")
        return self


FOREIGN: Mapping[str, tuple[Callable[[Caller], Caller], str]] = {
    "of another user": (lambda reader: replace(reader, user_id="bob"), "agent"),
    "of another user, wherever they are": (lambda reader: replace(reader, user_id="bob"), "user"),
    "of a user whose name begins like this one's": (
        lambda reader: replace(reader, user_id="ann/local"),
        "agent",
    ),
    "of another circle": (lambda reader: replace(reader, circle="apart"), "agent"),
    "of another circle's session of that name": (lambda reader: replace(reader, circle="apart"), "session"),
    "of another project": (lambda reader: replace(reader, project="shop"), "agent"),
    "of a project below this one": (lambda reader: replace(reader, project="site/shop"), "agent"),
    "of no project": (lambda reader: replace(reader, project=""), "agent"),
    "of another conversation's session": (
        lambda reader: replace(reader, conversation_id="tuesday"),
        "session",
    ),
}
"""Places the reader does not hold: the caller who stands there, and the scope written to."""


@dataclass
class Scene:
    """One store: the reader, what the reader wrote, canaries by name."""

    location: str
    embedder: EmbedderSource
    clock: ManualClock = field(default_factory=ManualClock)
    own: list[str] = field(default_factory=list[str])
    canaries: dict[str, Canary] = field(default_factory=dict[str, Canary])

    def __post_init__(self) -> None:
        self.reader = Agent(open_database(self.location, self.clock), self.clock, READER, self.embedder)
        for content, scope in OWN:
            self.clock.advance(1)
            answer = self.reader.call("memory_write", content=content, type="fact", scope=scope)
            self.own.append(answer["id"])

    def close(self) -> None:
        self.reader.database.close()

    def restart(self) -> None:
        """The store closed and opened again."""
        self.close()
        self.reader = replace(self.reader, database=open_database(self.location, self.clock))

    def add_foreign(self) -> None:
        """A canary in every place that the reader does not hold."""
        for letter, (name, (place, scope)) in zip(_LETTERS_ELSEWHERE, FOREIGN.items(), strict=False):
            self.clock.advance(1)
            owner = replace(self.reader, caller=replace(place(READER), agent_id=f"zq{letter}agent"))
            self.canaries[name] = Canary(name, letter, owner, "").written(scope).asked_about()

    def add_own(self, names: Iterable[str]) -> None:
        """Canaries in the reader's own place, current as yet, one for each name."""
        for letter, name in zip(_LETTERS_HERE, names, strict=False):
            self.clock.advance(1)
            colleague = self.reader.who(agent_id=f"zq{letter}agent")
            self.canaries[name] = Canary(name, letter, colleague, "").written()

    def hide(self, canary: Canary) -> None:
        """Makes a canary of the reader's own place no longer current, in the way it is named for."""
        self.clock.advance(1)
        HIDDEN[canary.name](self, canary)
        self.clock.advance(1)


def replaced(scene: Scene, canary: Canary, **columns: object) -> None:
    """Closes the canary's belief and opens one that differs in these columns, as no verb does."""
    with scene.reader.database.write(READER.user_id) as writer:
        belief = queries.newest_belief(writer, view_of(writer, READER, Filter()), canary.id)
        assert belief is not None
        event = history.append(
            writer, history.Event("trust", canary.id, belief.version, 1, "test", "planted")
        )
        assert queries.close_belief(writer, belief, event)
        queries.open_belief(writer, changed(belief, opened_by=event, **columns))


def changed(belief: Belief, **columns: object) -> Belief:
    return replace(belief, **columns)


def _superseded(scene: Scene, canary: Canary) -> None:
    said = {"content": "no passphrase any more", "title": "doors", "metadata": {"note": "new"}}
    scene.reader.call("memory_supersede", old_id=canary.id, **said)


def _ended(scene: Scene, canary: Canary) -> None:
    scene.reader.call("memory_update", id=canary.id, valid_to=scene.clock.now())


def _deleted(scene: Scene, canary: Canary) -> None:
    scene.reader.call("memory_delete", id=canary.id)


def _rejected(scene: Scene, canary: Canary) -> None:
    operator = replace(scene.reader, caller=scene.reader.caller.as_operator())
    operator.call("memory_set_trust", id=canary.id, state="rejected")


def _with(**columns: str) -> Callable[[Scene, Canary], None]:
    return lambda scene, canary: replaced(scene, canary, **columns)


def _expired(scene: Scene, canary: Canary) -> None:
    replaced(scene, canary, expires_at=scene.clock.now())


def _not_yet(scene: Scene, canary: Canary) -> None:
    replaced(scene, canary, valid_from=plus(scene.clock.now(), DAY_SECONDS))


HIDDEN: Mapping[str, Callable[[Scene, Canary], None]] = {
    "superseded": _superseded,
    "ended": _ended,
    "deleted": _deleted,
    "expired": _expired,
    "not_yet_valid": _not_yet,
    "rejected": _rejected,
    "candidate": _with(trust_state="candidate"),
    "variant": _with(variant="experiment"),
}
"""Ways to stop being current, by the state that memory_get names."""
