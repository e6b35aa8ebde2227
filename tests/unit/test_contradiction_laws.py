"""Laws of the comparison of two texts, over statements made from templates."""

from __future__ import annotations

from itertools import permutations, product
from string import ascii_lowercase
from typing import NamedTuple

import pytest

from m3_memory.kernel.contradiction import Verdict, compare, words
from m3_memory.kernel.stemmer import stem


class Text(NamedTuple):
    content: str
    title: str = ""


def verdict(old: str, new: str) -> Verdict:
    return compare(Text(old), Text(new)).verdict


SUBJECTS = ("billing", "checkout", "search", "Kestrel", "orders-api", "user_event")
TEMPLATES = (
    ("The {subject} worker retries {value} times.", ("3", "5", "eight")),
    ("The {subject} service listens on port {value}.", ("8080", "9090", "7001")),
    ("The {subject} job runs at {value}.", ("02:00", "03:30", "14:15")),
    ("The {subject} cache keeps entries for {value}.", ("30 seconds", "5 minutes", "2 h")),
    ("Uploads of the {subject} service are limited to {value}.", ("10 MB", "512 KB", "2 GiB")),
    (
        "The {subject} configuration lives in {value}.",
        ("config/app.yml", "settings/main.toml", "/etc/app.conf"),
    ),
    ("The {subject} service is deployed with {value}.", ("Helm", "Ansible", "Terraform")),
    ("The {subject} service runs on Python {value}.", ("3.9", "3.11", "3.12.1")),
    ("Tracing of the {subject} service is {value}.", ("enabled", "disabled")),
)
CASES = [
    pytest.param(template, values, id=template) for template, values in TEMPLATES
]  # fmt: skip


@pytest.mark.parametrize(("template", "values"), CASES)
def test_changing_only_the_value_is_an_update(template: str, values: tuple[str, ...]) -> None:
    for subject, (old, new) in product(SUBJECTS, permutations(values, 2)):
        one, other = (template.format(subject=subject, value=value) for value in (old, new))
        assert verdict(one, other) is Verdict.UPDATE, (one, other)


@pytest.mark.parametrize(("template", "values"), CASES)
def test_changing_the_subject_is_distinct_whatever_the_value(template: str, values: tuple[str, ...]) -> None:
    for (old, new), first, second in product(permutations(SUBJECTS, 2), values, values):
        one, other = template.format(subject=old, value=first), template.format(subject=new, value=second)
        assert verdict(one, other) is Verdict.DISTINCT, (one, other)


@pytest.mark.parametrize(("template", "values"), CASES)
def test_a_text_with_itself_is_a_duplicate_in_any_case_and_spacing(
    template: str, values: tuple[str, ...]
) -> None:
    text = template.format(subject=SUBJECTS[0], value=values[0])
    for same in (text, text.upper(), text.lower(), f"  {text.replace(' ', '  ')} ", text.rstrip(".")):
        assert verdict(text, same) is Verdict.DUPLICATE


@pytest.mark.parametrize(("template", "values"), CASES)
def test_look_alikes_spaces_and_invisible_marks_change_no_verdict(
    template: str, values: tuple[str, ...]
) -> None:
    old, new = (template.format(subject="billing", value=value) for value in values[:2])
    disguised = new.replace("a", "а").replace("e", "е").replace(" ", "  ").replace("n", "n\u200b")
    assert verdict(old, disguised) is verdict(old, new)


@pytest.mark.parametrize(("template", "values"), CASES)
def test_what_is_distinct_is_so_in_both_orders(template: str, values: tuple[str, ...]) -> None:
    texts = [
        t.format(subject=s, value=v) for (t, _), s in product(TEMPLATES, SUBJECTS[:2]) for v in values[:1]
    ]
    for one, other in product([template.format(subject=SUBJECTS[3], value=values[1])], texts):
        assert verdict(one, other) is verdict(other, one) is Verdict.DISTINCT, (one, other)


def test_five_hundred_services_on_five_hundred_ports_are_five_hundred_statements() -> None:
    texts = [Text(f"service svc-{number} listens on port {8000 + number}") for number in range(500)]
    texts += [Text(f"service {name} listens on port 80") for name in ("alpha", "beta", "gamma")]
    new = Text("service svc-500 listens on port 9999")
    assert {compare(old, new).verdict for old in texts} == {Verdict.DISTINCT}
    assert {compare(old, texts[7]).verdict for old in texts if old is not texts[7]} == {Verdict.DISTINCT}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Redis for staging listens on port 6380.", "Redis for production listens on port 6379."),
        ("The minimum bid is 5 coins.", "The maximum bid is 500 coins."),
        ("The gateway's read timeout is 30 seconds.", "The gateway's write timeout is 10 seconds."),
        ("Customers on the free plan get 1,000 calls.", "Customers on the paid plan get 50,000 calls."),
        ("On Linux the log is /var/log/app.", "On macOS the log is ~/Library/Logs/app."),
        ("Release step 2 bumps the version to 3.", "Release step 5 bumps the version to 4."),
        ("API v1 returns XML.", "API v2 returns JSON."),
        ("Alice reviews the code of Bob.", "Bob reviews the code of Alice."),
        ("Error 4102 means an unbalanced batch.", "Error 4103 means a frozen account."),
        ("Redis is used for sessions.", "Redis is used for rate limiting."),
        ("Team Ibis owns cobalt.", "Team Ibis owns meadow."),
        ("The importer supports CSV.", "The importer supports Parquet since 2.3."),
        ("The iOS app requires iOS 15.", "The iOS app is 48 MB large."),
        ("Search runs on Elasticsearch.", "Next year we plan to replace Elasticsearch for search."),
        ("Pull requests need two approvals.", "Except for docs: those pull requests need one approval."),
        ("The dashboards are built with Svelte.", "Until 2023 the dashboards were built with Angular."),
        ("The site accepts Google accounts.", "The site also accepts GitHub accounts."),
        ("The cleanup job takes 4 minutes.", "The nightly deploy now takes 9 minutes."),
    ],
)
def test_both_stay_true(old: str, new: str) -> None:
    assert verdict(old, new) is Verdict.DISTINCT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cache TTL is 60 s.", "Cache TTL is 5 minutes now."),
        ("We use Jest for unit tests.", "Switched unit tests from Jest to Vitest."),
        ("Config lives in config/app.yml.", "Config moved to settings/app.toml."),
        ("Feature flag new_nav is off.", "Feature flag new_nav is on."),
        ("Deploys require two approvals.", "Deploys now require one approval."),
        ("CI runs on Jenkins.", "CI no longer runs on Jenkins; it is on GitHub Actions."),
        ("The user prefers tabs.", "The user now prefers spaces."),
        ("The nightly job runs at 02:00.", "The nightly job was rescheduled to 04:30."),
        ("The frontend uses React 18.", "Upgraded the frontend to React 19."),
        ("Reports of the ledger are sent at 07:00.", "At 09:30 the ledger sends its reports."),
    ],
)
def test_the_new_one_takes_the_place_of_the_old(old: str, new: str) -> None:
    assert verdict(old, new) is Verdict.UPDATE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Reports of the ledger are sent at 07:00.", "At 09:30 the ledger archives its reports."),
        ("The thumbnail worker has 512 MB of memory.", "Disk of the thumbnail worker: 2 GB."),
        ("The search index is rebuilt at 02:00.", "At 04:00 the search index is copied to the replica."),
        ("The user's sessions expire after 30 minutes.", "After 90 days a user's sessions are purged."),
        ("A retry waits 2 seconds.", "The wait before the last retry is 30 seconds."),
        ("The worker waits 20 seconds for the queue.", "The worker waits 60 seconds at shutdown."),
        ("The ledger reports are sent at 07:00.", "At 09:30 the ledger deletes its old reports."),
    ],
)
def test_another_value_beside_a_word_of_its_own_ends_nothing(old: str, new: str) -> None:
    assert verdict(old, new) is not Verdict.UPDATE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Max request body at the gateway: 2048 KiB.", "Max request body at the gateway: 2 MiB."),
        ("Sessions last 24 hours.", "Sessions last one day."),
        ("The worker tries eight times.", "The worker tries 8 times."),
        ("The backup takes 90 minutes.", "The backup takes 1.5 hours."),
    ],
)
def test_the_same_quantity_in_other_units_or_words_is_a_duplicate(old: str, new: str) -> None:
    assert verdict(old, new) is Verdict.DUPLICATE


def test_a_title_tells_two_subjects_with_like_contents_apart() -> None:
    old, new = (
        Text("Listens on port 6380.", "Redis on staging"),
        Text("Listens on port 6379.", "Redis on production"),
    )
    assert compare(old, new).verdict is Verdict.DISTINCT
    assert compare(old, Text("Listens on port 6379.", "Redis on staging")).verdict is Verdict.UPDATE


def test_a_note_of_many_facts_is_not_ended_by_one_of_them() -> None:
    facts = [
        "The cache TTL is 60 s.",
        "Uploads go to Frankfurt.",
        "Alice reviews migrations.",
        "Helm deploys it.",
    ]
    note = Text(" ".join((*facts, "Postgres 15 holds invoices.", "Tracing samples two percent of requests.")))
    assert compare(note, Text("The cache TTL was raised to 90 s.")).verdict is not Verdict.UPDATE
    assert compare(Text(facts[0]), Text("The cache TTL was raised to 90 s.")).verdict is Verdict.UPDATE


@pytest.mark.parametrize("verb", ["took", "was", "lasted"])
def test_what_happened_at_two_times_is_two_events(verb: str) -> None:
    old, new = f"The full restore {verb} 47 minutes.", f"The full restore {verb} 71 minutes."
    assert verdict(old, new) is Verdict.UNSURE


def test_long_texts_that_part_late_are_no_repetitions() -> None:
    same = " ".join(f"Chapter {number} tells of the gear {number * 7}." for number in range(300))
    assert verdict(f"{same} The end is blue.", f"{same} The end is red.") is Verdict.DISTINCT
    assert verdict(same, f"{same} ") is Verdict.DUPLICATE
    words = " ".join(f"word{number}" for number in range(90))
    assert verdict(f"{words} port 80", f"{words} port 81") is not Verdict.DUPLICATE


@pytest.mark.parametrize("letters", ["ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"])
@pytest.mark.parametrize(
    "shape", ["service {} listens on port {}", "{} listens on port {}", "The quota of team {} is {}"]
)
def test_single_letters_name_one_of_several(shape: str, letters: str) -> None:
    """Also those that are small words somewhere: an article, a conjunction."""
    said = [shape.format(letter, 8001 + place) for place, letter in enumerate(letters)]
    assert {verdict(one, other) for one in said for other in said if one != other} == {Verdict.DISTINCT}
    assert verdict(said[3], shape.format(letters[3], 9999)) is Verdict.UPDATE


VOCABULARIES = (
    *(words.FUNCTION, words.LIGHT, words.VERBS, words.NEGATIONS, words.ENDINGS, words.LEAVING, words.PAST),
    *(words.SYNONYMS, words.QUALIFIERS, words.STATES, words.NUMBERS, words.MULTIPLIERS, words.UNITS),
    *(words.MONTHS, words.WEEKDAYS, words.NUMBERED, words.MANY_VALUED, words.OPPOSED),
)
PARTS = {
    "two letters": ["".join(pair) for pair in product(ascii_lowercase, repeat=2)],
    "vocabularies": sorted({word for each in VOCABULARIES for word in each if word.isalpha()}),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("name", ["{}-api", "api-{}", "eu-{}-api"])
def test_every_part_of_a_compound_is_a_part_of_the_name(name: str, parts: list[str]) -> None:
    """Also those that are small words, verbs, negations, numbers or synonyms elsewhere."""
    shape = "service {} listens on port {}"
    for place, part in enumerate(parts):
        for other in {parts[place - 1], "invoice"}:
            one, two = (shape.format(name.format(word), len(word + part)) for word in (part, other))
            is_distinct = verdict(one, two) is verdict(two, one) is Verdict.DISTINCT
            assert is_distinct or stem(part) == stem(other), (one, two)
        said, changed = (shape.format(name.format(part), port) for port in (8001, 9001))
        assert verdict(said, changed) is Verdict.UPDATE, said


@pytest.mark.parametrize("shape", ["The quota of team {} is {}", "The {} worker retries {} times"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("de-api", "it-api"),
        ("de_api", "it_api"),
        ("api.no.io", "api.not.io"),
        ("billing-api", "invoice-api"),
        ("api-no", "api-not"),
        ("x", "x-no"),
    ],
)
def test_names_that_differ_in_a_small_part_are_two(shape: str, one: str, other: str) -> None:
    for old, new in permutations((one, other)):
        assert verdict(shape.format(old, 3), shape.format(new, 5)) is Verdict.DISTINCT
    assert verdict(shape.format(one, 3), shape.format(one, 5)) is Verdict.UPDATE


@pytest.mark.parametrize(
    "shape",
    ["The quota of team {} is {}", "The {} worker retries {} times", "service {} listens on port {}"],
)
@pytest.mark.parametrize("name", ["a-b", "api-orders", "eu-west-api", "api-no", "svc-7-b"])
def test_the_same_parts_in_another_order_are_another_name(shape: str, name: str) -> None:
    first, *others = permutations(name.split("-"))
    for other in map("-".join, others):
        for old, new in permutations(("-".join(first), other)):
            assert verdict(shape.format(old, 3), shape.format(new, 5)) is Verdict.DISTINCT
            assert verdict(shape.format(old, 3), shape.format(new, 3)) is Verdict.DISTINCT
    assert verdict(shape.format(name, 3), shape.format(name, 5)) is Verdict.UPDATE


def test_the_parts_of_a_date_are_no_name() -> None:
    old, new = "The release date is 2027-01-02.", "The release date is 2027-02-01."
    assert verdict(old, new) is Verdict.UPDATE


def test_a_compound_s_genitive_is_the_same_name() -> None:
    assert verdict("The de-api's quota is 3.", "The de-api's quota is 5.") is Verdict.UPDATE
    assert verdict("The de-api's quota is 3.", "The quota of the de-api is 5.") is not Verdict.DISTINCT
    assert verdict("The de-api's quota is 3.", "The it-api's quota is 5.") is Verdict.DISTINCT


def test_letters_of_another_script_in_a_latin_word_are_the_latin_ones() -> None:
    plain = "The limit of the billing queue is active"
    for disguised in ("limїt", "billiпg", "billiոg", "օf", "qսeսe", "άctive", "billiηg", "qұeұe"):
        word = {"l": "limit", "b": "billing", "օ": "of", "q": "queue", "ά": "active"}[disguised[0]]
        assert verdict(plain, plain.replace(word, disguised)) is Verdict.DUPLICATE, disguised
    assert verdict("The beam is 5 μm wide.", "The beam is 5 mm wide.") is not Verdict.DUPLICATE
    assert verdict("Сервер пишет логи.", "Сервер читает логи.") is not Verdict.DUPLICATE


def test_numbers_and_units_in_compounds_stay_quantities() -> None:
    assert verdict("A timeout of twenty-five seconds.", "A timeout of 25 seconds.") is Verdict.DUPLICATE
    assert verdict("The cache has a five-minute TTL.", "The cache has a ten-minute TTL.") is Verdict.UPDATE
