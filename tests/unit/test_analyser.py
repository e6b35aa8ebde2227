from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from m3_memory.kernel.analyser import MAX_TOKEN_CHARACTERS, analyse, audience_token, query_terms

PUNCTUATED = "the ask-codex step reads src/main.py at 12:30 (GB/s), don't skip `foo::bar`"
SCRIPTS = (
    "日本語メモ ģimene Привет سَلام\u200f 👩‍👩‍👧‍👦 cafe\u0301 zero\u200dwidth Ελλάδα "
    "हिन्दी ภาษาไทย 데이터베이스"
)

pieces = st.sampled_from(
    [
        *"aZ9_-./:\\'@ \n(*\"",
        "get",
        "User",
        "v1.2.3",
        "3.11",
        "don't",
        "'s",
        "n't",
        "日",
        "メモ",
        "e\u0301",
        "👩‍👧",
        "ß",
        "İ",
    ]
)
anything = st.text(max_size=60) | st.lists(pieces, max_size=30).map("".join)


def finds(question: str, text: str) -> bool:
    """Whether every word of the question is in the text."""
    terms = query_terms(question)
    return bool(terms) and set(terms) <= set(analyse(text))


@pytest.mark.case("B01")
@pytest.mark.parametrize("question", ["ask-codex", "src/main.py", "don't", "GB/s", "foo::bar", "12:30"])
def test_punctuated_words_are_found(question: str) -> None:
    assert finds(question, PUNCTUATED)
    assert not finds(question, "a step that reads something else at noon")


@pytest.mark.case("B01")
@pytest.mark.parametrize(
    "question", [*"\"*()^`'%_\\", "{}", "[]", "::", "->", "…", "", " \n", "\u200b", "≠ €", "\x00\x1b"]
)
def test_bare_signs_ask_for_nothing(question: str) -> None:
    assert query_terms(question) == []


@pytest.mark.case("B01")
@pytest.mark.parametrize("question", ["-x", "AND", "NEAR", "a OR", "col:val"])
def test_what_other_engines_take_for_syntax_is_words(question: str) -> None:
    assert query_terms(question)
    assert not finds(question, PUNCTUATED)
    assert finds(question, f"{PUNCTUATED}, and near -x a col:val or so")


@pytest.mark.case("B03")
@pytest.mark.parametrize(
    "question",
    [
        *(
            "日本",
            "本語",
            "メモ",
            "日本語メモ",
            "語",
            "ģimene",
            "gimene",
            "ĢIMENE",
            "Привет",
            "привет",
            "سلام",
        ),
        *(
            "👩‍👩‍👧‍👦",
            "👧",
            "caf\u00e9",
            "cafe\u0301",
            "cafe",
            "CAFÉ",
            "zerowidth",
            "ελλαδα",
            "हिन्दी",
            "ภาษา",
            "데이터",
        ),
    ],
)
def test_every_script_is_found_in_every_form(question: str) -> None:
    assert finds(question, SCRIPTS)


@pytest.mark.case("B03")
@pytest.mark.parametrize("question", ["本日", "語日", "हिन्दू", "Привед", "👨", "데베"])
def test_other_words_of_these_scripts_are_not_found(question: str) -> None:
    assert not finds(question, SCRIPTS)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("getUserName", "call getUserName()"),
        ("getusername", "call getUserName()"),
        ("get_user_name", "call getUserName()"),
        ("user name", "call getUserName() or get_user_name()"),
        ("HTTPServer", "class HTTPServer:"),
        ("http server", "class HTTPServer:"),
        ("postgresql", "PostgreSQL 18"),
        ("main.py", "edit src/app/main.py:42"),
        ("main", "edit src\\app\\main.py"),
        ("os.path.join", "use os.path.join here"),
        ("someone@example.com", "write to Someone@Example.com."),
        ("v1.2.3", "released v1.2.3 today"),
        ("1.2.3", "released v1.2.3 today"),
        ("1.2", "released 1.2.3 today"),
        ("v2", "moved to v2.1.0"),
        ("3.11", "needs python3.11"),
        ("3.11", "needs Python 3.11.7"),
        ("LED-4102", "fails with LED-4102"),
        ("led4102", "fails with LED-4102"),
        ("4102", "fails with LED-4102"),
        ("E0308", "error[E0308]: mismatched types"),
        ("HTTP 404", "answers HTTP 404"),
        ("404", "answers HTTP-404"),
        ("utf8", "as UTF-8"),
        ("sha-256", "a SHA256 digest"),
        ("8080", "on 127.0.0.1:8080"),
        ("127.0.0.1", "on 127.0.0.1:8080"),
        ("2026-03", "since 2026-03-29T12:30:00Z"),
        ("2026-03-29", "since 2026-03-29T12:30:00Z"),
        ("email", "send an e-mail"),
        ("deploying services", "the deployed service"),
        ("user", "the user's choice"),
        ("école", "à l'école"),
        ("strasse", "Hauptstraße Straße"),
        ("lodz", "in Łódź"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("full width", "ｆｕｌｌ　ｗｉｄｔｈ"),
        ("42", "٤٢"),
    ],
)
def test_words_and_identifiers_are_found_whole_and_in_parts(question: str, text: str) -> None:
    assert finds(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("1.2.3", "released 1.2.4 today"),
        ("1.2.3", "released 1.2 today"),
        ("1.23", "released 1.2.3 today"),
        ("12:30", "about 1230 rows"),
        ("LED-4102", "fails with LED-4103"),
        ("E0308", "error E0309"),
        ("getUserName", "getUserNames2"),
        ("2026-03-29", "since 2026-03-28"),
    ],
)
def test_near_identifiers_are_told_apart(question: str, text: str) -> None:
    assert not finds(question, text)


def test_stop_words_are_left_out_of_questions_only() -> None:
    assert query_terms("what is the port of the billing service") == ["port", "bill", "servic"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert "the" in analyse("the port")


def test_a_question_names_each_word_once() -> None:
    assert query_terms("port ports Port") == ["port"]
    assert analyse("port ports Port") == ["port"] * 3


@given(anything)
@example(PUNCTUATED)
@example(SCRIPTS)
@example("x" * 200)
def test_a_token_is_safe_for_every_index(text: str) -> None:
    for token in analyse(text) + query_terms(text):
        assert token.split() == [token]
        assert 0 < len(token) <= MAX_TOKEN_CHARACTERS
        assert not set(token) & set("\x00'\"\\:&|!()<>*@,;%_")
        kinds = {unicodedata.category(character) for character in token if character != "."}
        assert all(kind[0] in "LMNS" or kind == "Cn" for kind in kinds)
        assert token.encode()


@given(anything, st.integers(0, 10**9))
def test_no_text_can_pretend_to_be_in_an_audience(text: str, number: int) -> None:
    token = audience_token(number)
    assert token.split() == [token]
    assert token not in analyse(f"{token} {text}{token}{text}")
    assert token not in query_terms(f"{token} {text}{token}{text}")


def test_audiences_have_tokens_of_their_own() -> None:
    assert len({audience_token(number) for number in range(1_000)}) == 1_000


@given(anything)
def test_a_question_in_the_words_of_a_text_finds_it(text: str) -> None:
    assert set(query_terms(text)) <= set(analyse(text))


@given(anything)
def test_composed_and_decomposed_text_have_the_same_tokens(text: str) -> None:
    assert analyse(unicodedata.normalize("NFC", text)) == analyse(unicodedata.normalize("NFD", text))


def test_a_word_too_long_for_an_index_is_found_whole_and_told_from_its_like() -> None:
    long = "a1" * 100
    assert finds(long, f"key {long} end")
    assert not finds(f"{long}x", f"key {long} end")


@pytest.mark.parametrize(
    "piece", ["a", "aB", "a/", "1.", "1", "a'", "'s", "n't", "v1", "日", "👧", "e\u0301", "/", "a1-"]
)
def test_a_text_of_one_endless_piece_is_read_to_the_end(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    assert finds("kestrel", f"{text} kestrel")
    assert set(query_terms(text)) <= set(analyse(text))


def test_the_last_sentence_of_a_long_text_is_analysed() -> None:
    text = "filler words all along. " * 2_000 + "The kestrel nests in the belfry."
    assert finds("kestrel belfry", text)
