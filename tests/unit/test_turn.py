from __future__ import annotations

import pytest

from m3_memory.kernel.analyser import analyse
from m3_memory.kernel.turn import indexed, marks, role_mark, speaker_mark

CAROLINE = tuple(map(speaker_mark, analyse("Caroline")))


@pytest.mark.parametrize("type_", ["conversation", "message", "chat_log"])
def test_a_turn_that_opens_with_a_name_was_said_by_it(type_: str) -> None:
    assert marks(type_, "Caroline: I moved to Bergen.", "{}") == CAROLINE


@pytest.mark.parametrize(
    ("type_", "content"),
    [
        ("fact", "Caroline: moved to Bergen"),
        ("conversation", "I moved to Bergen: it rains"),
        ("conversation", "12:30 is the time"),
        ("conversation", ": nothing"),
    ],
)
def test_other_openings_are_no_names(type_: str, content: str) -> None:
    assert marks(type_, content, "{}") == ()


def test_metadata_says_who_spoke_and_in_which_role() -> None:
    assert marks("note", "I moved.", '{"speaker":"Caroline","role":"user"}') == (*CAROLINE, role_mark("user"))
    assert marks("conversation", "Ann: hello", '{"speaker":"Caroline"}') == CAROLINE


@pytest.mark.parametrize("metadata", ['{"role":"admin"}', '{"role":["user"]}', '{"role":7}', '{"x":"role"}'])
def test_what_is_no_role_is_no_mark(metadata: str) -> None:
    assert marks("note", "I moved.", metadata) == ()


def test_a_mark_is_never_a_word_of_a_text() -> None:
    said = indexed("conversation", "", "Caroline: @by.caroline @role.user says @1", '{"role":"user"}')
    assert said[: len(CAROLINE) + 1] == (*CAROLINE, role_mark("user"))
    assert not any(token.startswith("@") for token in said[len(CAROLINE) + 1 :])
