from __future__ import annotations

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from m3_memory.kernel.normal import content_hash, is_normal_hash, normal_form, normal_hash


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The CEO is Bob", "the ceo is bob."),
        ("the ceo is bob", "  the\tceo\n is\u00a0bob "),
        ("the ceo is bob", "the ceo is bob 。"),
        ("password", "pass\u200bword\ufeff"),
        ("abc", "\u202eabc\u202c"),
        ("ABC", "ＡＢＣ"),
        ("caf\u00e9", "cafe\u0301"),
        ("the ceo is bob", "thе сеo is bоb"),
        ("POST", "РОЅТ"),
        ("kappa ATHOX", "κappa ΑΤΗΟΧ"),
        ("Straße", "STRASSE"),
        ("👩‍👧", "👩👧"),
        *[
            ("password", f"pass{mark}word")
            for mark in "\x00\x01\x1b\x7f\x9fㅤᅟᅠﾠ\u180b\u180f឴⠀\ufff9\U0001d173\U0001bca0\U000e0fff"
        ],
        ("cj gab", "ϲϳ ԍɑʙ"),
        ("git", "ɡit"),
    ],
)
def test_what_looks_the_same_has_one_normal_form(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)
    assert normal_hash(one) == normal_hash(other)
    assert content_hash(one) != content_hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("port 8001", "port 8002"),
        ("10\u00b2 rows", "102 rows"),
        ("m\u00b2", "m"),
        ("x\u2082", "x2"),
        ("１２", "12"),
        ("\u2460", "1"),
        ("\u00bd", "1/2"),
        ("it is safe", "it is not safe"),
        ("a = b", "a ≠ b"),
        ("do not", "don't"),
        ("use tabs", "use tab"),
        ("5 µm", "5 mm"),
        ("5 Ω", "5 W"),
        ("wait...", "wait"),
        ("v1.2", "v12"),
        ("a-b", "a b"),
        ("ready?", "ready"),
        ("Вот", "Вон"),
        ("ılık", "ilik"),
        ("a\x85b", "ab"),
        ("a\x1fb", "ab"),
    ],
)
def test_what_means_something_else_keeps_its_own(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


@given(st.text(max_size=40) | st.text("aА .。\u0301\u200b\u0345ßΣς\u3000İΐ", max_size=12))
@example("a. .")
@example("a..")
@example(". a .")
@example("a\u200b.")
def test_the_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(
    st.text("абвгдежзийклмнопрстуфхцчшщъыьэюя ", max_size=10),
    st.text("абвгдежзийклмнопрстуфхцчшщъыьэюя ", max_size=10),
)
def test_folding_look_alikes_merges_no_two_russian_texts(one: str, other: str) -> None:
    assert (normal_form(one) == normal_form(other)) == (one.split() == other.split())


def test_a_content_hash_is_of_the_exact_bytes() -> None:
    assert content_hash(" Text.\n") == hashlib.sha256(b" Text.\n").hexdigest()
    assert content_hash("é") == hashlib.sha256(b"\xc3\xa9").hexdigest()


def test_the_hashes_of_older_stores_are_still_their_texts() -> None:
    """Of texts without the characters that are folded since, the hash is what it was."""
    was = content_hash("pass\x01word ϲ")
    assert is_normal_hash(was, "Pass\x01word ϲ.")
    assert was != normal_hash("Pass\x01word ϲ.")
    assert is_normal_hash(normal_hash("Pass\x01word ϲ."), "Pass\x01word ϲ.")
    assert not is_normal_hash(content_hash("password d"), "Pass\x01word ϲ.")
    assert normal_hash("Прибор Café №5.") == content_hash("пpибop café №5")
