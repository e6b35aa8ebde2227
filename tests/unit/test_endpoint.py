"""A model behind an endpoint is asked politely and believed in nothing."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from m3_memory.config import Settings
from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.endpoint import Endpoint
from tests.endpoints import (
    Exchange,
    FakeEndpoint,
    Reply,
    certificate_for,
    running_endpoint,
    unused_port,
    vector_of,
    well,
)

TEXTS = ("the kettle is blue", "the train leaves at nine", "Zürich hat 🙂 viele Brunnen")
MINUTE = 60.0


@pytest.fixture
def fake() -> Generator[FakeEndpoint]:
    with running_endpoint() as found:
        yield found


class Opened:
    """An endpoint as the product opens it, with what it reported and how long it would have waited."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.lost: list[EmbedderUnavailable] = []
        self.pauses: list[float] = []
        given: dict[str, Any] = {"embedder_model": "stub", "timeout_seconds": 3 * MINUTE}
        self.settings = Settings(Path("unused"), embedder_url=url, **given | settings)
        self.model = Endpoint(self.settings, self.lost.append, self.pauses.append)

    def embed(self, *texts: str, seconds: float = MINUTE) -> list[list[float]]:
        return [values(vector) for vector in self.model.embed(texts, seconds)]

    def failure(self, *texts: str, seconds: float = MINUTE) -> str:
        with pytest.raises(EmbedderUnavailable) as raised:
            self.model.embed(texts or TEXTS, seconds)
        assert raised.value.hint
        return raised.value.message


def values(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // 2}e", vector))


def unit(text: str, model: str = "stub") -> list[float]:
    found = vector_of(text, model)
    length = math.sqrt(sum(value * value for value in found))
    return [value / length for value in found]


def first(number: int, bad: Reply) -> Reply:
    """Answers the first requests after the opening's one badly, then well."""
    return lambda exchange: bad(exchange) if exchange.count <= number + 1 else well(exchange)


def status(code: int, body: str = "{}", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange: exchange.send(body, code, named)


def hang_up(exchange: Exchange) -> None:
    """Promises more than it sends."""
    exchange.handler.send_response(200)
    exchange.handler.send_header("Content-Length", "100000")
    exchange.handler.end_headers()
    exchange.handler.wfile.write(b'{"data": [')
    exchange.handler.close_connection = True


def test_texts_get_their_vectors_at_length_one(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    for found, text in zip(opened.embed(*TEXTS), TEXTS, strict=True):
        assert found == pytest.approx(unit(text), abs=1e-3)
    assert opened.model.fingerprint.dimension == 256
    assert set(fake.paths) == {"/v1/embeddings"}
    assert opened.embed() == []


def test_many_texts_are_sent_in_batches(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    texts = [f"text number {number}" for number in range(70)]
    assert len(opened.embed(*texts)) == 70
    assert [len(body["input"]) for body in fake.asked[1:]] == [32, 32, 6]


def test_questions_and_texts_get_their_prefixes(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url, embedder_query_prefix="query: ", embedder_document_prefix="passage: ")
    asked = values(opened.model.embed_query("tea"))
    assert asked == pytest.approx(unit("query: tea"), abs=1e-3)
    assert opened.embed("tea")[0] == pytest.approx(unit("passage: tea"), abs=1e-3)
    assert opened.model.fingerprint != Opened(fake.url).model.fingerprint


def test_the_key_is_sent_and_told_nowhere(fake: FakeEndpoint) -> None:
    key = "sk-very-secret"
    opened = Opened(fake.url, embedder_api_key=key)
    assert fake.headers[0]["Authorization"] == f"Bearer {key}"
    fake.reply = status(401, json.dumps({"error": f"the key {key} is wrong"}))
    told = [opened.failure(), repr(opened.settings), str(opened.lost), str(opened.model.fingerprint)]
    assert not any(key in text for text in told)
    fake.reply = well
    Opened(fake.url)
    assert "Authorization" not in fake.headers[-1]


def test_vectors_in_another_order_are_put_right(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    fake.reply = lambda exchange: exchange.send_entries(exchange.entries()[::-1])
    for found, text in zip(opened.embed(*TEXTS), TEXTS, strict=True):
        assert found == pytest.approx(unit(text), abs=1e-3)


def changed(change: Callable[[list[dict[str, Any]]], object]) -> Reply:
    """A good answer after a change to its entries."""

    def reply(exchange: Exchange) -> None:
        entries = exchange.entries()
        change(entries)
        exchange.send_entries(entries)

    return reply


def with_vector(vector: object) -> Reply:
    return changed(lambda entries: entries[0].update(embedding=vector))


def sends(content: str | bytes) -> Reply:
    return lambda exchange: exchange.send(content)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (changed(lambda entries: entries.pop()), "a vector for each text"),
        (changed(lambda entries: entries.append(entries[0] | {"index": 3})), "4 vectors for 3 texts"),
        (changed(lambda entries: entries[1].update(index=0)), "a vector for each text"),
        (changed(lambda entries: entries[1].update(index="1")), "a vector for each text"),
        (changed(lambda entries: entries[1].pop("index")), "a vector for each text"),
        (with_vector([0.1] * 255), "a vector for each text"),
        (
            changed(lambda entries: [entry["embedding"].pop() for entry in entries]),
            "255 values instead of 256",
        ),
        (with_vector([0.0] * 256), "zero"),
        (with_vector([1e999] * 256), "not finite"),
        (with_vector([1e308] * 256), "not finite"),
        (with_vector([10**400, *[0.1] * 255]), "no list of numbers"),
        (
            changed(lambda entries: [entry.update(embedding=["0.1"] * 256) for entry in entries]),
            "no list of numbers",
        ),
        (
            changed(lambda entries: [entry.update(embedding=[True] * 256) for entry in entries]),
            "no list of numbers",
        ),
        (with_vector([]), "a vector for each text"),
        (changed(lambda entries: [entry.update(embedding=[]) for entry in entries]), "0 values"),
        (with_vector("AAAA"), "a vector for each text"),
        (sends("<html>It works!</html>"), "a vector for each text"),
        (sends('{"data": {}}'), "a vector for each text"),
        (sends("[]"), "a vector for each text"),
        (sends("[" * 50_000), "a vector for each text"),
        (sends(b"\xff\xfe"), "a vector for each text"),
    ],
)
def test_an_answer_that_is_not_right_is_refused_whole(fake: FakeEndpoint, reply: Reply, said: str) -> None:
    opened = Opened(fake.url)
    fake.reply = reply
    assert said in opened.failure()
    assert len(opened.lost) == 1
    assert len(fake.asked) == 2


def test_an_answer_of_no_end_is_not_read_to_its_end(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    fake.reply = lambda exchange: exchange.send(b" " * 17_000_000)
    assert "bytes" in opened.failure()
    assert len(fake.asked) == 2


@pytest.mark.parametrize("reply", [status(429), status(500), status(503), hang_up])
def test_what_may_pass_is_tried_again(fake: FakeEndpoint, reply: Reply) -> None:
    opened = Opened(fake.url)
    fake.reply = first(2, reply)
    assert len(opened.embed(*TEXTS)) == 3
    assert opened.pauses == [0.25, 1.0]
    assert opened.lost == []


def test_what_does_not_pass_is_given_up_after_the_third_time(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    fake.reply = status(503)
    assert "503" in opened.failure()
    assert len(fake.asked) == 4
    assert len(opened.lost) == 1


def test_a_server_that_asks_for_a_pause_is_left_alone(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    fake.reply = status(429, Retry_After="3")
    assert "429" in opened.failure()
    assert (len(fake.asked), opened.pauses, len(opened.lost)) == (2, [], 1)


def test_no_pause_is_longer_than_the_time_there_is(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    fake.reply = status(503)
    assert "503" in opened.failure("tea", seconds=0.2)
    assert opened.pauses == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 422])
def test_a_refusal_is_not_tried_again(fake: FakeEndpoint, code: int) -> None:
    opened = Opened(fake.url)
    fake.reply = status(code)
    assert opened.failure()
    assert len(fake.asked) == 2
    assert opened.pauses == []
    assert bool(opened.lost) == (code in {401, 403, 404})


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(fake: FakeEndpoint, code: int) -> None:
    with running_endpoint() as elsewhere:
        opened = Opened(fake.url)
        fake.reply = status(code, Location=f"{elsewhere.url}/embeddings")
        assert "not followed" in opened.failure()
        assert elsewhere.asked == []


def test_proxies_of_the_environment_are_not_asked(
    fake: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_endpoint() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "")
        Opened(fake.url).embed("tea")
        assert proxy.asked == []


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (400, "the input length exceeds the context length"),
        (400, "This model's maximum context length is 512 tokens"),
        (413, "`inputs` must have less than 512 tokens. Given: 700"),
        (500, "input is too large to process. increase the physical batch size"),
    ],
)
def test_a_text_that_the_server_finds_too_long_is_halved(fake: FakeEndpoint, code: int, body: str) -> None:
    def reply(exchange: Exchange) -> None:
        if any(len(text) > 150 for text in exchange.texts):
            status(code, json.dumps({"error": body}))(exchange)
        else:
            well(exchange)

    opened = Opened(fake.url)
    fake.reply = reply
    long = " ".join(f"word{number}" for number in range(40))
    found = opened.embed("tea", long, "coffee")
    assert found[0] == pytest.approx(unit("tea"), abs=1e-3)
    assert found[2] == pytest.approx(unit("coffee"), abs=1e-3)
    assert math.sqrt(sum(value * value for value in found[1])) == pytest.approx(1, abs=2e-3)
    told = sum(a * b for a, b in zip(found[1], unit(long), strict=True))
    assert told > 0.8
    assert opened.lost == []


def test_a_server_that_finds_everything_too_long_is_not_asked_for_ever(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    fake.reply = status(400, "too long")
    assert "short text" in opened.failure("word " * 60)
    assert len(fake.asked) < 10


def test_a_long_text_becomes_windows_that_together_hold_all_of_it(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    words = [f"word{number}" for number in range(2000)]
    found = opened.model.windows(" ".join(words))
    assert len(found) > 5
    assert {word for window in found for word in window.split()} == set(words)
    assert opened.model.windows("tea") == ["tea"]
    assert all(len(window) <= 400 for window in opened.model.windows("数据库" * 400))


def test_nobody_there_is_said_and_not_waited_for() -> None:
    with pytest.raises(EmbedderUnavailable, match="can't be reached"):
        Opened(f"http://127.0.0.1:{unused_port()}/v1")


@pytest.fixture
def silent() -> Generator[int]:
    """The port of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_silent_server_costs_no_more_than_the_time_set(silent: int) -> None:
    with pytest.raises(EmbedderUnavailable, match="in time"):
        Opened(f"http://127.0.0.1:{silent}", timeout_seconds=0.15)


def test_a_server_that_falls_silent_is_given_up_at_once(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url, timeout_seconds=0.6)
    over = threading.Event()
    fake.reply = lambda exchange: well(exchange) if over.wait(MINUTE) else None
    assert "in time" in opened.failure("tea")
    assert len(fake.asked) == 2
    assert len(opened.lost) == 1
    over.set()


def test_a_call_in_a_hurry_gives_up_without_giving_up_the_server(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url)
    over = threading.Event()
    fake.reply = lambda exchange: well(exchange) if over.wait(MINUTE) else None
    for seconds in (0.05, 0.0, -1.0):
        assert "time this call has" in opened.failure("tea", seconds=seconds)
    assert opened.lost == []
    over.set()
    fake.reply = well
    assert opened.embed("tea")


def test_a_server_that_dribbles_is_cut_off_when_the_time_is_up(fake: FakeEndpoint) -> None:
    opened = Opened(fake.url, timeout_seconds=0.6)
    over = threading.Event()

    def dribble(exchange: Exchange) -> None:
        exchange.handler.send_response(200)
        exchange.handler.send_header("Content-Length", "100000")
        exchange.handler.end_headers()
        while not over.wait(0.02):
            exchange.handler.wfile.write(b" ")

    fake.reply = dribble
    assert "in time" in opened.failure("tea")
    over.set()


def test_localhost_is_this_machine_and_a_host_that_was_named_gets_texts_too(fake: FakeEndpoint) -> None:
    for host, named in (("localhost", ""), ("0.0.0.0", "0.0.0.0")):
        assert Opened(f"http://{host}:{fake.port}", embedder_remote_host=named).embed("tea")
    assert len(fake.asked) == 4


def test_a_server_whose_certificate_is_not_trusted_gets_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, own = certificate_for("localhost", tmp_path)
    _, other = certificate_for("example.com", tmp_path)
    for tls in (own, other):
        with running_endpoint(tls) as fake:
            with pytest.raises(EmbedderUnavailable, match="not trusted"):
                Opened(f"https://localhost:{fake.port}")
            assert fake.asked == []
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with running_endpoint(own) as fake:
        assert Opened(f"https://localhost:{fake.port}").embed("tea")
        assert fake.asked
        with pytest.raises(EmbedderUnavailable, match="not trusted"):
            Opened(f"https://127.0.0.1:{fake.port}")


def test_the_same_model_is_known_again_and_another_under_its_name_is_not(fake: FakeEndpoint) -> None:
    first_time, again = (Opened(fake.url).model.fingerprint for _ in range(2))
    assert first_time == again
    fake.reply = lambda exchange: exchange.send_entries(
        [{"index": place, "embedding": vector_of(text[::-1])} for place, text in enumerate(exchange.texts)]
    )
    other = Opened(fake.url).model.fingerprint
    assert (other.name, other.dimension) == (first_time.name, first_time.dimension)
    assert other.weights_digest != first_time.weights_digest
