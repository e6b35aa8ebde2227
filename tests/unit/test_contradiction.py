"""What time does to a comparison: what a new statement repeats, ends, doubts, or stops before."""

from __future__ import annotations

from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.contradiction import Decision, Statement, decide
from m3_memory.kernel.normal import normal_hash

EIGHT = "The billing worker retries 8 times."
FIVE = "The billing worker retries 5 times."
OTHER = "The mail worker retries 5 times."


def said(
    memory_id: str, content: str, valid_from: str, valid_to: str = FOREVER, type_: str = "fact"
) -> Statement:
    return Statement(memory_id, type_, normal_hash(content), valid_from, valid_to, "", content)


def ended(decision: Decision) -> list[str]:
    return [memory_id for memory_id, _ in decision.updates]


def doubted(decision: Decision) -> list[tuple[str, str]]:
    return [(memory_id, comparison.reason) for memory_id, comparison in decision.unsure]


def test_a_newer_value_of_the_same_attribute_ends_the_older_one() -> None:
    decision = decide(said("", EIGHT, "2026-02-01"), [said("old", FIVE, "2026-01-01")], "2026-02-01")
    assert ended(decision) == ["old"]
    assert (decision.updates[0][1].old_value, decision.updates[0][1].new_value) == ("5", "8")


def test_another_subject_is_left_alone() -> None:
    decision = decide(said("", OTHER, "2026-02-01"), [said("old", FIVE, "2026-01-01")], "2026-02-01")
    assert decision == Decision()


def test_statements_of_equal_beginnings_are_for_a_person() -> None:
    decision = decide(said("", EIGHT, "2026-01-01"), [said("old", FIVE, "2026-01-01")], "2026-02-01")
    assert (ended(decision), doubted(decision)) == ([], [("old", "same_time")])


def test_a_replacement_with_an_end_of_its_own_is_for_a_person() -> None:
    new = said("", EIGHT, "2026-02-01", "2026-03-01")
    decision = decide(new, [said("old", FIVE, "2026-01-01")], "2026-02-01")
    assert (ended(decision), doubted(decision)) == ([], [("old", "ends_itself")])


def test_a_back_dated_statement_ends_nothing_newer_and_stops_where_the_newer_begins() -> None:
    later, last = said("later", FIVE, "2026-03-01"), said("last", FIVE.replace("5", "9"), "2026-06-01")
    decision = decide(said("", EIGHT, "2026-02-01"), [last, later], "2026-07-01")
    assert (ended(decision), doubted(decision), decision.bounded_by) == ([], [], "later")


def test_a_back_dated_statement_between_two_ends_the_older_and_stops_before_the_newer() -> None:
    standing = [said("first", FIVE, "2026-01-01", "2026-03-01"), said("third", OTHER, "2026-01-01")]
    standing.append(said("second", FIVE.replace("5", "9"), "2026-03-01"))
    decision = decide(said("", EIGHT, "2026-02-01"), standing, "2026-07-01")
    assert (ended(decision), decision.bounded_by) == (["first"], "second")


def test_what_ended_before_the_new_statement_begins_is_not_compared() -> None:
    decision = decide(
        said("", EIGHT, "2026-04-01"), [said("old", FIVE, "2026-01-01", "2026-02-01")], "2026-04-01"
    )
    assert decision == Decision()


def test_the_oldest_that_says_the_same_word_for_word_is_the_duplicate() -> None:
    standing = [said("second", EIGHT, "2026-01-02"), said("first", EIGHT.upper(), "2026-01-01")]
    assert decide(said("", f"  {EIGHT}", "2026-02-01"), standing).duplicate_of == "first"


def test_other_words_for_the_same_are_a_duplicate() -> None:
    standing = [said("old", "Session cookies of the booking site last 24 hours.", "2026-01-01")]
    new = said("", "On the booking site a session cookie is valid for one day.", "2026-02-01")
    assert decide(new, standing, "2026-02-01").duplicate_of == "old"


def test_a_duplicate_is_never_an_update_of_a_third() -> None:
    standing = [said("same", EIGHT, "2026-01-01"), said("other", FIVE, "2026-01-01")]
    assert decide(said("", EIGHT, "2026-02-01"), standing, "2026-02-01") == Decision(duplicate_of="same")


def test_a_statement_is_not_compared_with_its_own_memory() -> None:
    assert decide(said("one", EIGHT, "2026-02-01"), [said("one", FIVE, "2026-01-01")]) == Decision()


def test_records_of_events_are_compared_with_nothing() -> None:
    new = said("", EIGHT, "2026-02-01", type_="message")
    assert decide(new, [said("old", EIGHT, "2026-01-01", type_="message")]) == Decision()


def test_a_standing_statement_without_its_text_is_compared_by_its_words_alone() -> None:
    bare = Statement("old", "fact", normal_hash(EIGHT), "2026-01-01", FOREVER)
    assert decide(said("", EIGHT, "2026-02-01"), [bare]).duplicate_of == "old"
    assert decide(said("", FIVE, "2026-02-01"), [bare]) == Decision()
