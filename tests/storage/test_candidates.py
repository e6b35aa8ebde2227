"""Candidates by words and by vectors: the same on both engines, and never from what the caller can't see."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from m3_memory.kernel.analyser import audience_token
from m3_memory.kernel.caller import Caller, Scope
from m3_memory.kernel.clock import later
from m3_memory.kernel.fingerprint import Fingerprint
from m3_memory.storage import embeddings
from m3_memory.storage.candidates import SMALL, worded
from m3_memory.storage.database import Database, Writer
from m3_memory.storage.dialect import Near
from m3_memory.storage.predicates import Filter, view_of
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number
from tests.storage.rows import remember

HERE = Caller("local", "agent", "conversation", project="here")
THERE = replace(HERE, project="there")


def _audience(writer: Writer, caller: Caller) -> int:
    name = caller.audience(Scope.AGENT)
    found = writer.row(sql("SELECT audience FROM audiences WHERE name = ?", name))
    if found:
        return number(found[0])
    return writer.insert(
        sql("INSERT INTO audiences (owner, name) VALUES (?, ?) RETURNING audience", writer.owner, name)
    )


def _word(writer: Writer, name: str, words: str, caller: Caller = HERE) -> int:
    """Writes a memory of these words in the caller's place; returns its item."""
    audience = _audience(writer, caller)
    belief = remember(writer, name, audience=audience)
    (item,) = writer.rows(sql("SELECT item FROM memory_validity WHERE belief = ?", belief))
    tokens = f"{audience_token(audience)} {words}"
    writer.execute(sql("INSERT INTO search_documents VALUES (?, ?, ?)", item[0], tokens, tokens.count(" ")))
    writer.execute(
        sql(
            "INSERT INTO search_totals VALUES (?, 1, ?) ON CONFLICT (audience) DO UPDATE SET"
            " documents = search_totals.documents + 1, tokens = search_totals.tokens + excluded.tokens",
            audience,
            tokens.count(" "),
        )
    )
    return number(item[0])


def _found(database: Database, terms: Sequence[str], limit: int = 100, caller: Caller = HERE) -> list[str]:
    with database.read("local") as reader:
        view = view_of(reader, caller, Filter())
        items = database.dialect.text_candidates(reader, view, terms, limit)
        ids = {row[0]: row[1] for row in reader.rows(sql("SELECT item, memory_id FROM memory_items"))}
    return [str(ids[item]) for item in items]


@pytest.fixture
def words(database: Database) -> Database:
    """A few memories here, and one there."""
    with database.write("local") as writer:
        _word(writer, "release", "cut a release branch with m3")
        _word(writer, "deploy", "deploy the release with care")
        _word(writer, "odd", 'it\'s c:\\temp a|b a&b !x x:* (y) "z" %d ? naïve 日本 f.oo::bar')
        _word(writer, "elsewhere", "cut a release of something else", THERE)
    return database


def test_any_of_the_words_is_enough(words: Database) -> None:
    assert sorted(_found(words, ["branch", "deploy"])) == ["deploy", "release"]
    assert _found(words, ["nowhere"]) == []
    assert _found(words, []) == []


def test_words_of_another_place_are_not_found(words: Database) -> None:
    assert sorted(_found(words, ["release", "something"])) == ["deploy", "release"]
    assert _found(words, ["release", "something"], caller=THERE) == ["elsewhere"]
    assert _found(words, ["release"], caller=replace(HERE, user_id="other")) == []


@pytest.mark.case("B01")
@pytest.mark.parametrize(
    "term",
    ["it's", "c:\\temp", "a|b", "a&b", "!x", "x:*", "(y)", '"z"', "%d", "?", "naïve", "日本", "f.oo::bar"],
)
def test_a_word_is_never_syntax(words: Database, term: str) -> None:
    assert _found(words, [term]) == ["odd"]


@pytest.mark.parametrize("term", ["'", "\\", "|", "&", "!", ":*", "(", '"', "''", "AND", "a OR", "*", "re*"])
def test_syntax_alone_finds_nothing(words: Database, term: str) -> None:
    assert _found(words, [term]) == []


def test_what_is_no_longer_held_is_not_found(words: Database) -> None:
    with words.write("local") as writer:
        writer.execute(
            sql(
                "UPDATE memory_validity SET recorded_to = ?, closed_by = 1 WHERE memory_id = 'release'",
                later(writer.store_time),
            )
        )
    assert _found(words, ["release"]) == ["deploy"]


def test_rows_out_of_sight_take_no_place_from_those_in_sight(database: Database) -> None:
    with database.write("local") as writer:
        _word(writer, "mine", "needle in a long row of other words that make it a worse match")
        for count in range(50):
            _word(writer, f"theirs {count}", "needle", THERE)
    assert _found(database, ["needle"], limit=3) == ["mine"]


def test_rare_words_come_before_common_ones(database: Database) -> None:
    with database.write("local") as writer:
        _word(writer, "both", "common rare")
        _word(writer, "rare", "rare word alone")
        for count in range(30):
            _word(writer, f"common {count}", "common word again")
    assert _found(database, ["common", "rare"], limit=4) == ["both", "rare", "common 29", "common 28"]
    assert _found(database, ["common"], limit=2) == ["common 29", "common 28"]


def test_how_common_words_are_is_counted(words: Database) -> None:
    with words.read("local") as reader:
        view = view_of(reader, HERE, Filter())
        known = words.dialect.term_statistics(reader, view, ["release", "deploy", "it's", "nowhere"])
    assert known.documents == 3
    assert known.average_length == pytest.approx(24 / 3)
    assert dict(known.documents_with) == {"release": 2, "deploy": 1, "it's": 1}


def test_a_store_of_many_rows_finds_the_few_that_match(database: Database) -> None:
    with database.write("local") as writer:
        for count in range(SMALL + 50):
            _word(writer, f"filler {count}", f"filler number{count} row")
        _word(writer, "wanted", "the needle in it")
    with database.read("local") as reader:
        words = worded(reader, view_of(reader, HERE, Filter()), ["needle", "filler", "number7"])
        ids = {row[0]: row[1] for row in reader.rows(sql("SELECT item, memory_id FROM memory_items"))}
    assert {ids[item] for item in words.found} == {"wanted", "filler 7"}
    assert words.known.documents_with["filler"] == SMALL + 50


OTHERS = (THERE, replace(HERE, user_id="other"), replace(HERE, circle="apart"))


def test_what_others_write_changes_no_candidate_and_no_score(database: Database) -> None:
    """However much, whatever words, however long: an answer depends on the caller's own audiences."""
    asked = ["needle", "filler", "row", "number7", "nowhere"]
    with database.write("local") as writer:
        for count in range(SMALL + 50):
            _word(writer, f"mine {count}", f"filler number{count} row {'needle ' * (count % 5 == 0)}end")

    def answers() -> list[object]:
        with database.read("local") as reader:
            view = view_of(reader, HERE, Filter())
            chosen = database.dialect.text_candidates(reader, view, asked, 20)
            return [chosen, worded(reader, view, asked)]

    before = answers()
    with database.write("local") as writer:
        for count in range(150):
            _word(writer, f"theirs {count}", "needle nowhere row needle", OTHERS[count % 3])
            _word(writer, f"long {count}", f"number7 {'padding ' * 40}end", OTHERS[count % 3])
    assert answers() == before
    with database.write("local") as writer:
        _word(writer, "mine too", "needle nowhere row needle")
    assert answers() != before


def test_a_question_may_have_as_many_words_as_fit_in_it(database: Database) -> None:
    many = [f"w{count}" for count in range(1_999)]
    with database.write("local") as writer:
        for count in range(SMALL + 1):
            _word(writer, f"filler {count}", "filler row")
        _word(writer, "all", " ".join(many))
    assert _found(database, many) == ["all"]
    with database.read("local") as reader:
        words = worded(reader, view_of(reader, HERE, Filter()), many)
    assert len(words.found) == 1
    assert words.known.documents_with["w1998"] == 1


def _vector(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}e", *numbers)


def test_the_nearest_vectors_come_first_each_item_once(database: Database) -> None:
    with database.write("local") as writer:
        space = embeddings.space_for(writer, Fingerprint("model", "digest", 4, "rules"))
        other = embeddings.space_for(writer, Fingerprint("model", "other digest", 4, "rules"))
        assert embeddings.space_for(writer, Fingerprint("model", "digest", 4, "rules")) == space != other
        items = {
            "near": [_vector(0.5, 0, 0.75, 0), _vector(1, 0, 0, 0)],
            "middle": [_vector(0.8, 0.6, 0, 0)],
            "far": [_vector(0, 1, 0, 0)],
            "opposite": [_vector(-1, 0, 0, 0)],
        }
        numbers = {name: _word(writer, name, "word") for name in items}
        for name, vectors in items.items():
            embeddings.insert_vectors(writer, numbers[name], space, vectors)
        unseen = _word(writer, "there", "word", THERE)
        embeddings.insert_vectors(writer, unseen, space, [_vector(1, 0, 0, 0)])
        embeddings.insert_vectors(writer, numbers["far"], other, [_vector(1, 0, 0, 0)])
        copied = _word(writer, "copied", "word")
        embeddings.copy_vectors(writer, numbers["middle"], copied)
        removed = _word(writer, "removed", "word")
        embeddings.copy_vectors(writer, numbers["near"], removed)
        embeddings.remove_vectors(writer, removed)
        assert embeddings.window_count(writer, numbers["near"], space) == 2
        assert embeddings.having_vectors(writer, [removed, numbers["near"]]) == {numbers["near"]}
    with database.read("local") as reader:
        assert embeddings.space_of(reader, Fingerprint("model", "digest", 4, "rules")) == space
        assert embeddings.space_of(reader, Fingerprint("model", "digest", 5, "rules")) is None
        view = view_of(reader, HERE, Filter())
        query = [_vector(1, 0, 0, 0)]
        (nearest,) = database.dialect.vector_candidates(reader, view, Near(space, query, 10))
        (few,) = database.dialect.vector_candidates(reader, view, Near(space, query, 2))
    expected = [numbers["near"], numbers["middle"], copied, numbers["far"], numbers["opposite"]]
    assert [item for item, _ in nearest] == expected
    assert [cosine for _, cosine in nearest] == pytest.approx([1, 0.8, 0.8, 0, -1], abs=1e-3)
    assert few == nearest[:2]
