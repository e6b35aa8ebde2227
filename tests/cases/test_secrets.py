"""Secrets are out of a text before anything reaches the disk, and the answer says so."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.storage.sql import sql
from m3_memory.surfaces.session import Session
from tests.stored import stored
from tests.surfaces.command_line import command_line
from tests.surfaces.doors import Door, facts

TOKEN = "ghp_" + "Zq7Xw2Rt9P" * 3 + "Lm4N5v"
PASSWORD = "tr0ub4dor-and-staples"
SECRETS = {
    TOKEN: "the token {} is for CI",
    "AKIA" + "QZ7W3RT9PLM4N5VX": "aws_access_key_id = {}",
    PASSWORD: "PGPASSWORD={} psql",
    "hunter22hunter22": "postgres://ann:{}@db.example.com/app",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJlLW9mLXRoaXM": "Authorization: Bearer {}",
}
"""A secret, and a sentence about it in which the name of the field stays."""


class Product:
    """The whole product over one store, as one agent."""

    def __init__(self, settings: Settings, clock: ManualClock) -> None:
        self.app = App(settings, clock, HostEnvironment())
        self._session = Session(Launch(agent="claude", project="atlas"), self.app)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = self._session.call(tool, arguments)
        assert found.structured is not None, found.text
        return found.structured

    def refusal(self, tool: str, **arguments: Any) -> str:
        found = self._session.call(tool, arguments)
        assert found.error is not None
        assert found.error.code == "secret_refused"
        return found.text

    def close(self) -> None:
        self.app.close()


@pytest.fixture
def product(settings: Settings, clock: ManualClock) -> Generator[Product]:
    with closing(Product(settings, clock)) as made:
        yield made


def everything(product: Product) -> bytes:
    """All that the store holds, by its rows and by the bytes of every file beside it."""
    files = [path.read_bytes() for path in product.app.settings.home.rglob("*") if path.is_file()]
    return b"".join([repr(stored(product.app.database)).encode(), *files])


Planted = tuple[str, str, str, dict[str, Any]]
"""The secret, the argument that holds it, the tool, and the whole call."""


def planted(product: Product) -> Iterator[Planted]:
    """A call with each secret in each text that a write, an update and a supersede keep."""
    for number, (secret, sentence) in enumerate(SECRETS.items()):
        text = sentence.format(secret)
        for place, secretive in {
            "content": {"content": text},
            "title": {"title": text},
            "metadata": {"metadata": {"deep": [{"note": text}]}},
            "embed_text": {"embed_text": text},
            "refresh_reason": {"refresh_on": "2027-01-01", "refresh_reason": text},
        }.items():
            old = product.call("memory_write", content=f"Old {place} {number}", type="note")["id"]
            write = {"content": f"Note {place} {number}", "type": "note", **secretive}
            yield secret, place, "memory_write", write
            if place != "embed_text":
                yield secret, place, "memory_update", {"id": old, **said_anew(secretive, "update")}
            if place != "refresh_reason":
                newer = {"content": f"New {place} {number}", **said_anew(secretive, "supersede")}
                yield secret, place, "memory_supersede", {"old_id": old, **newer}


def said_anew(secretive: dict[str, Any], tool: str) -> dict[str, Any]:
    """Not the same statement as the one that was written."""
    quoted = f"The {tool} of the kitchen ledger, page nine, quotes: "
    return {name: f"{quoted}{value}" if name == "content" else value for name, value in secretive.items()}


def test_no_byte_of_a_secret_reaches_the_disk(product: Product) -> None:
    """B71 In every text of a write, an update and a supersede; the answer names where it was."""
    for secret, place, tool, arguments in planted(product):
        answer = product.call(tool, **arguments)
        assert any(place in said and "[secret:" in said for said in answer["warnings"]), (tool, place, secret)
        assert secret not in repr(answer)
    kept = everything(product)
    for secret in SECRETS:
        assert secret.encode() not in kept
    for control in (
        b"aws_access_key_id = [secret:",
        b"postgres://ann:[secret:",
        b"Note title 1",
        b"New title 1",
    ):
        assert control in kept


def test_what_is_embedded_holds_no_secret(product: Product) -> None:
    """B71."""
    made = product.call("memory_write", content=f"token {TOKEN}", type="note")
    content = product.call("memory_get", id=made["id"])["memory"]["content"]
    with product.app.database.read("local") as reader:
        (row,) = reader.rows(sql("SELECT vector FROM memory_embeddings"))
    (expected,) = HashingEmbedder().embed([content])
    assert TOKEN not in content
    if product.app.settings.database_url:
        return  # pgvector keeps numbers of its own form
    assert row[0] == expected


def test_one_secret_has_one_marker_in_one_store(product: Product) -> None:
    """B71 So that two memories about it still say the same; and no secret is found twice."""
    first = product.call("memory_write", content=f"The key is {TOKEN}", type="note")
    again = product.call("memory_write", content=f"The key is {TOKEN}", type="note")
    assert (again["status"], again["id"]) == ("duplicate", first["id"])
    redacted = product.call("memory_get", id=first["id"])["memory"]["content"]
    third = product.call("memory_write", content=redacted, type="note")
    assert (third["status"], [w for w in third["warnings"] if "secret" in w]) == ("duplicate", [])


def test_secrets_are_refused_where_the_settings_say_so(settings: Settings, clock: ManualClock) -> None:
    """B71 Nothing is kept then, and the refusal does not repeat the secret."""
    with closing(Product(replace(settings, secrets="refuse"), clock)) as product:
        calls = list(planted(product))
        before = stored(product.app.database)
        for secret, place, tool, arguments in calls:
            said = product.refusal(tool, **arguments)
            assert place in said
            assert secret not in said
        assert stored(product.app.database) == before


def test_secrets_are_kept_where_the_settings_say_so(settings: Settings, clock: ManualClock) -> None:
    """B71 The control of the tests above: their secrets are found when they are there."""
    with closing(Product(replace(settings, secrets="allow"), clock)) as product:
        for secret, sentence in SECRETS.items():
            made = product.call("memory_write", content=sentence.format(secret), type="note")
            assert made["warnings"] == []
            assert product.call("memory_get", id=made["id"])["memory"]["content"] == sentence.format(secret)
            assert secret.encode() in everything(product)


def test_code_that_only_speaks_of_secrets_is_left_alone(product: Product) -> None:
    """B71."""
    for content in (
        'password = os.environ["DB_PASSWORD"]',
        "def check(password: str) -> bool: ...",
        "The token is kept in the vault under ci/deploy",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    ):
        made = product.call("memory_write", content=content, type="code")
        assert made["warnings"] == []
        assert product.call("memory_get", id=made["id"])["memory"]["content"] == content


def test_every_door_takes_secrets_out(door: Door, settings: Settings) -> None:
    """B71."""
    made = facts(door, "memory_write", content=f"The key is {TOKEN}", type="note")
    assert any("secret" in warning for warning in made["warnings"])
    assert TOKEN not in facts(door, "memory_get", id=made["id"])["memory"]["content"]
    for path in settings.home.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


def test_a_talkative_log_holds_no_secret(tmp_path: Path) -> None:
    """B71 Nor does an error message that repeats an argument."""
    m3 = command_line(tmp_path, M3_LOG_LEVEL="debug", PYTHONWARNINGS="always")
    kept = m3.run("memory", "write", f"PGPASSWORD={PASSWORD}", "--type", "note")
    assert (kept.code, PASSWORD in kept.out + kept.err) == (0, False)
    for bad in (["--type", "opinion"], ["--type", "note", "--valid-from", "yesterday"]):
        refused = m3.run("memory", "write", f"PGPASSWORD={PASSWORD}", *bad)
        assert (refused.code, PASSWORD in refused.out + refused.err) == (2, False)
