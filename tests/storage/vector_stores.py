"""Small SQLite stores of vectors and beliefs, and what a search over them must answer, in plain Python."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from m3_memory.kernel.caller import Caller, Scope
from m3_memory.kernel.clock import FOREVER, Clock, ManualClock, SystemClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Reader, Writer
from m3_memory.storage.dialect import Near
from m3_memory.storage.history import Event, append
from m3_memory.storage.predicates import Filter, View, view_of
from m3_memory.storage.sql import Row, Sql, Value, sql
from m3_memory.storage.vectors import VectorCache

CALLER = Caller("local", "agent", "conversation")
AUDIENCES = (*CALLER.audiences(), replace(CALLER, project="elsewhere").audience(Scope.AGENT), "user/somebody")
DIMENSION = 8
TIMES = (*(f"20{year}-01-01T00:00:00.000000Z" for year in range(20, 30)), FOREVER)
WORDS = ("", "red", "green", "blue")


@dataclass(frozen=True, slots=True)
class Belief:
    """The columns of a belief that a view filters by; `audience` is its number, from 1."""

    audience: int = 1
    type: str = "note"
    agent_id: str = ""
    conversation_id: str = ""
    variant: str = ""
    valid_from: str = TIMES[0]
    valid_to: str = FOREVER
    expires_at: str = FOREVER
    trust_state: str = "accepted"


class CountingReader:
    """A reader that counts the rows it hands on."""

    def __init__(self, reader: Reader) -> None:
        self.count = 0
        self._reader = reader
        self.dialect, self.user_id, self.now = reader.dialect, reader.user_id, reader.now
        self.origin, self.secret_key = reader.origin, reader.secret_key

    def rows(self, statement: Sql) -> list[Row]:
        found = self._reader.rows(statement)
        self.count += len(found)
        return found

    def row(self, statement: Sql) -> Row | None:
        return next(iter(self.rows(statement)), None)


class VectorStore:
    """A store whose memories are a belief and vectors each, without text. Each verb is one transaction."""

    def __init__(self, path: Path, clock: Clock | None = None, dimension: int = DIMENSION) -> None:
        self.dimension = dimension
        self.database = open_database(path, clock or SystemClock())
        with self.database.read("local") as reader:
            is_new = not reader.rows(sql("SELECT 1 FROM audiences"))
        if is_new:
            with self.database.write("local") as writer:
                _prepare(writer, dimension)

    def add(self, vectors: Sequence[bytes], belief: Belief | None = None) -> int:
        """A new memory; the number of its item."""
        return self.add_many([(vectors, belief or Belief())])[0]

    def add_many(self, memories: Sequence[tuple[Sequence[bytes], Belief]]) -> list[int]:
        """New memories, all in one transaction."""
        with self.database.write("local") as writer:
            return [insert(writer, vectors, belief) for vectors, belief in memories]

    def close_belief(self, item: int) -> None:
        """The store holds the item no longer."""
        with self.database.write("local") as writer:
            _end(writer, item)
            _note(writer, item, "belief")

    def succeed(self, item: int, belief: Belief) -> None:
        """Another belief of the same item, whether one is open or not."""
        with self.database.write("local") as writer:
            _end(writer, item)
            _believe(writer, item, belief)
            _note(writer, item, "belief")

    def set_vectors(self, item: int, vectors: Sequence[bytes]) -> None:
        """The item's vectors are these from now on."""
        with self.database.write("local") as writer:
            writer.execute(sql("DELETE FROM memory_embeddings WHERE item = ?", item))
            _embed(writer, item, vectors)
            _note(writer, item, "vector")

    def remove(self, item: int) -> None:
        """Nothing of the item stays but its number."""
        with self.database.write("local") as writer:
            writer.execute(sql("INSERT INTO guard_lifted (reason) VALUES ('test')"))
            writer.execute(sql("DELETE FROM memory_validity WHERE item = ?", item))
            writer.execute(sql("DELETE FROM memory_embeddings WHERE item = ?", item))
            writer.execute(sql("DELETE FROM guard_lifted"))
            _note(writer, item, "remove")


def insert(writer: Writer, vectors: Sequence[bytes], belief: Belief) -> int:
    """A new memory inside a transaction of the caller's; the number of its item."""
    (row,) = writer.rows(sql("SELECT max(coalesce((SELECT max(item) FROM search_changes), 0)) + 1"))
    item = row[0]
    assert isinstance(item, int)
    _believe(writer, item, belief)
    _embed(writer, item, vectors)
    _note(writer, item, "insert")
    return item


def random_vector(rng: random.Random, dimension: int = DIMENSION) -> bytes:
    """A unit vector, of any direction alike."""
    return unit([rng.gauss(0, 1) for _ in range(dimension)])


def unit(numbers: Sequence[float]) -> bytes:
    """These numbers at length one, as a store keeps them."""
    length = math.hypot(*numbers)
    return struct.pack(f"<{len(numbers)}e", *(number / length for number in numbers))


def random_belief(rng: random.Random) -> Belief:
    start = rng.randrange(len(TIMES) - 1)
    return Belief(
        audience=rng.choices(range(1, len(AUDIENCES) + 1), (6, 2, 2, 2, 1))[0],
        type=rng.choice(("note", "fact")),
        agent_id=rng.choice(WORDS),
        conversation_id=rng.choice(WORDS),
        variant=rng.choice(("", "", "", "red", "green")),
        valid_from=TIMES[start],
        valid_to=rng.choice((TIMES[rng.randrange(start + 1, len(TIMES))], FOREVER)),
        expires_at=rng.choice((*TIMES[5:], FOREVER, FOREVER)),
        trust_state=rng.choice(("accepted", "accepted", "verified", "candidate", "rejected")),
    )


def random_filter(rng: random.Random, known_at: str) -> Filter:
    """A filter that narrows by a few things; `known_at` is a store time it may ask for."""
    every = Filter(
        as_of=rng.choice(TIMES[:-1]),
        known_at=known_at,
        trust_states=rng.choice((("candidate",), ("accepted", "candidate"))),
        variant=rng.choice(("red", "green")),
        scopes=rng.choice(((Scope.AGENT,), (Scope.USER, Scope.SESSION))),
        types=rng.choice((("note",), ("note", "fact"))),
        excluded_types=("fact",),
        agent_id=rng.choice(WORDS[1:]),
        conversation_id=rng.choice(WORDS[1:]),
        valid_since=rng.choice(TIMES[:-1]),
        valid_until=rng.choice(TIMES[:-1]),
        whenever=True,
    )
    names = rng.sample(sorted(Filter.__dataclass_fields__), rng.choice((0, 1, 1, 2, 2, 3)))
    return replace(Filter(), **{name: getattr(every, name) for name in names})


def expected(reader: Reader, view: View, query: bytes, limit: int) -> list[tuple[int, float]]:
    """The nearest items by reading everything and applying the rules of the data model one after another."""
    names = {row[0]: row[1] for row in reader.rows(sql("SELECT audience, name FROM audiences"))}
    beliefs = reader.rows(
        sql(
            "SELECT memory_id, item, audience, type, agent_id, conversation_id, variant, valid_from,"
            " valid_to, expires_at, trust_state, recorded_from, recorded_to FROM memory_validity"
            " ORDER BY belief"
        )
    )
    newest = {row[0]: row[10] for row in beliefs}
    shown = {row[1] for row in beliefs if _shows(view, row, names, newest)}
    best: dict[int, float] = {}
    for item, vector in reader.rows(sql("SELECT item, vector FROM memory_embeddings WHERE space = 1")):
        assert isinstance(item, int)
        assert isinstance(vector, bytes)
        if item in shown:
            best[item] = max(best.get(item, -2.0), round(_cosine(vector, query), 9))
    return sorted(best.items(), key=lambda found: (-found[1], found[0]))[:limit]


def _shows(view: View, row: Row, names: Mapping[Value, Value], newest: Mapping[Value, Value]) -> bool:
    memory, _, audience, kind, agent, conversation, variant, start, end, expiry, trust, recorded, closed = (
        map(str, row)
    )
    narrowing, known_at = view.filter, view.filter.known_at
    return (
        names[int(audience)] in view.audiences
        and (recorded <= known_at < closed if known_at else closed == FOREVER)
        and (narrowing.whenever or start <= view.as_of < end)
        and expiry > view.known_at
        and trust in narrowing.trust_states
        and (not known_at or newest[memory] != "rejected")
        and variant in ("", narrowing.variant)
        and (not narrowing.types or kind in narrowing.types)
        and kind not in narrowing.excluded_types
        and narrowing.agent_id in ("", agent)
        and narrowing.conversation_id in ("", conversation)
        and (not narrowing.valid_since or end > narrowing.valid_since)
        and (not narrowing.valid_until or start < narrowing.valid_until)
    )


def view(reader: Reader, narrowing: Filter | None = None) -> View:
    return view_of(reader, CALLER, narrowing or Filter())


Found = list[tuple[int, float]]
FEW = 400
"""More rows than a search reads that the file serves; every store that counts them holds more."""


def nearest(
    reader: Reader, cache: VectorCache, query: bytes, limit: int = 5, by: Filter | None = None
) -> Found:
    (found,) = cache.nearest(reader, view(reader, by), Near(1, [query], limit))
    return [(item, round(cosine, 9)) for item, cosine in found]


def answers_right(
    store: VectorStore, cache: VectorCache, rng: random.Random, by: Filter | None = None
) -> bool:
    query, limit = random_vector(rng, store.dimension), rng.choice((1, 5, 70))
    with store.database.read("local") as reader:
        return nearest(reader, cache, query, limit, by) == expected(reader, view(reader, by), query, limit)


def finds(store: VectorStore, cache: VectorCache, vectors: Mapping[int, bytes]) -> bool:
    """Whether each of these items is the nearest to its own vector."""
    with store.database.read("local") as reader:
        return all(nearest(reader, cache, vector, 1) == [(item, 1.0)] for item, vector in vectors.items())


def rows_read(store: VectorStore, cache: VectorCache) -> int:
    query = random_vector(random.Random(1), store.dimension)
    with store.database.read("local") as reader:
        counting = CountingReader(reader)
        nearest(counting, cache, query)
        return counting.count


def filled(path: Path, count: int, dimension: int = DIMENSION) -> VectorStore:
    store, rng = VectorStore(path, ManualClock(), dimension), random.Random(count)
    store.add_many([([random_vector(rng, dimension)], Belief()) for _ in range(count)])
    return store


def change(store: VectorStore, rng: random.Random, items: list[int]) -> None:
    """One random verb on one random item, or a new memory."""
    common = unit([float(rng.randrange(2)) for _ in range(DIMENSION - 1)] + [1.0])
    vectors = [rng.choice((common, random_vector(rng))) for _ in range(rng.choice((0, 1, 1, 1, 3)))]
    item = rng.choice(items) if items else 0
    verb = rng.randrange(8) if items else 0
    if verb < 4:
        items.append(store.add(vectors, random_belief(rng)))
    elif verb == 4:
        store.close_belief(item)
    elif verb == 5:
        store.succeed(item, random_belief(rng))
    elif verb == 6:
        store.set_vectors(item, vectors)
    else:
        store.remove(item)
        items.remove(item)


def file_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.vectors-1")


def _cosine(vector: bytes, query: bytes) -> float:
    left, right = (struct.unpack(f"<{len(each) // 2}e", each) for each in (vector, query))
    dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return dot / (math.hypot(*left) * math.hypot(*right))


def _prepare(writer: Writer, dimension: int) -> None:
    for name in AUDIENCES:
        writer.execute(sql("INSERT INTO audiences (owner, name) VALUES (?, ?)", writer.owner, name))
    for digest in ("first", "second"):
        writer.execute(
            sql(
                "INSERT INTO embedding_spaces (name, weights_digest, dimension, text_rules, state)"
                " VALUES ('model', ?, ?, 'plain', 'active')",
                digest,
                dimension,
            )
        )


def _believe(writer: Writer, item: int, belief: Belief) -> None:
    columns = (belief.valid_from, belief.valid_to, writer.store_time, FOREVER, belief.trust_state)
    copies = (belief.audience, belief.type, belief.agent_id, belief.conversation_id, belief.variant)
    writer.execute(
        sql(
            "INSERT INTO memory_validity (memory_id, item, version, valid_from, valid_to, recorded_from,"
            " recorded_to, trust_state, expires_at, audience, type, agent_id, conversation_id, variant,"
            " opened_by) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            str(UUID(int=item)),
            item,
            *columns,
            belief.expires_at,
            *copies,
        )
    )


def _embed(writer: Writer, item: int, vectors: Sequence[bytes]) -> None:
    for number, vector in enumerate(vectors):
        writer.execute(
            sql(
                "INSERT INTO memory_embeddings (item, space, window_number, vector) VALUES (?, 1, ?, ?)",
                item,
                number,
                vector,
            )
        )


def _end(writer: Writer, item: int) -> None:
    writer.execute(
        sql(
            "UPDATE memory_validity SET recorded_to = ?, closed_by = 1 WHERE item = ? AND recorded_to = ?",
            writer.store_time,
            item,
            FOREVER,
        )
    )


def _note(writer: Writer, item: int, kind: str) -> None:
    writer.execute(sql("INSERT INTO search_changes (item, kind) VALUES (?, ?)", item, kind))
    if kind != "vector":
        append(writer, Event("create", str(UUID(int=item)), 1, 1, "test", "operation"))
