"""Text becomes the word pieces that the model was trained on; long text becomes overlapping windows."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3_memory.inference.windows import windows
from m3_memory.inference.wordpiece import WordPiece

VOCABULARY = (
    (files("m3_memory.inference.minilm") / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
)
TOKENIZER = WordPiece(VOCABULARY)
CAPACITY = 254
OVERLAP = 48


def pieces(text: str) -> list[str]:
    return [VOCABULARY[number] for word in TOKENIZER.words(text) for number in word.pieces]


def size(text: str) -> int:
    return len(pieces(text))


def cut(text: str) -> list[str]:
    return windows(text, TOKENIZER.words(text), CAPACITY, OVERLAP)


# What the original tokenizer of the model answers.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We release v1.2.3 on Thursdays.", "we release v ##1 . 2 . 3 on thursday ##s ."),
        ("Café naïve ÜBER Füchse", "cafe naive uber fu ##chs ##e"),
        ("e\u0301te\u0301", "et ##e"),
        ("snake_case camelCase", "snake _ case camel ##case"),
        ("don't (never)", "don ' t ( never )"),
        ("“quoted”—dash…", "“ quoted ” — dash …"),
        ("line\nbreak\u00a0here\u3000too", "line break here too"),
        ("数据库 backup", "[UNK] [UNK] [UNK] backup"),
        ("東京ー2号", "東 京 ー ##2 [UNK]"),
        ("한국", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ"),
        ("ΟΔΟΣ İstanbul", "ο ##δ ##ο ##σ istanbul"),
        ("a≠b", "a = b"),
        ("zero\u200bwidth a\x00b", "zero ##wi ##dt ##h ab"),
        ("🙂 ok", "[UNK] ok"),
        ("100€", "100 ##€"),
        ("x" * 101, "[UNK]"),
        ("x" * 100, "xx" + " ##xx" * 49),
    ],
)
def test_a_text_is_split_as_in_training(text: str, expected: str) -> None:
    assert pieces(text) == expected.split()


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x1f", "\ud800", "\u200b\ufeff"])
def test_what_holds_no_letters_has_no_words(text: str) -> None:
    assert TOKENIZER.words(text) == []


def test_a_text_cannot_speak_in_special_pieces() -> None:
    assert pieces("[SEP] [CLS]") == ["[", "sep", "]", "[", "cl", "##s", "]"]


def test_a_word_knows_its_place_in_the_text() -> None:
    text = "Fix  naïve 数 auth.py"
    assert [text[word.start : word.end] for word in TOKENIZER.words(text)] == [
        "Fix",
        "naïve",
        "数",
        "auth",
        ".",
        "py",
    ]


def test_a_text_that_fits_is_one_window() -> None:
    assert size("word " * CAPACITY) == CAPACITY
    assert cut("word " * CAPACITY) == ["word " * CAPACITY]
    assert len(cut("word " * (CAPACITY + 1))) == 2


def test_windows_begin_and_end_at_white_space_where_there_is_any() -> None:
    names = [f"module{number}.function_name" for number in range(400)]
    parts = cut(" ".join(names))
    assert len(parts) > 5
    assert {name for part in parts for name in part.split()} == set(names)


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"step {number}: check the list." for number in range(2000)),
        "数据库迁移需要备份" * 5556,
        "".join(f"part{number}.name_of-" for number in range(2800)),
        "".join(f"{number * 0x9E3779B97F4A7C15 % 2**256:064x}," for number in range(2**200, 2**200 + 770)),
        "😀" * 50_000,
        "a" * 50_000,
    ],
    ids=["words", "ideographs", "no white space", "digests", "emoji", "one letter"],
)
def test_the_longest_memory_is_covered_by_windows_that_fit(text: str) -> None:
    parts = cut(text)
    assert max(map(size, parts)) <= CAPACITY
    assert sum(map(size, parts)) <= size(text) + OVERLAP * (len(parts) - 1)
    assert covers(parts, text)


@settings(max_examples=50)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["naïve ", "x.y", "数据", "é", "\x00", "Thursdays ", "x" * 120, "\u0301"]),
            st.text(),
        ),
        max_size=40,
    )
)
def test_windows_cover_any_text_and_fit(chunks: list[str]) -> None:
    text = "".join(chunk * 25 for chunk in chunks)
    parts = cut(text)
    assert max(map(size, parts)) <= CAPACITY
    assert covers(parts, text)


def covers(parts: list[str], text: str) -> bool:
    """Whether the parts can be laid over the text in order with no gap from its start to its end."""
    reached = 0
    for part in parts:
        start = text.rfind(part, 0, reached + len(part))
        if start < 0:
            return False
        reached = max(reached, start + len(part))
    return reached == len(text)
