"""A local server that speaks the embeddings protocol: well, or in one of the ways servers go wrong.

It answers with the vectors of the hashing stub, so that what belongs together can be told from outside.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from numpy.typing import NDArray

from m3_memory.inference.hashing import DIMENSION, HashingEmbedder

Reply = Callable[["Exchange"], None]


def vector_of(text: str, model: str = "stub") -> list[float]:
    """What the server makes of a text: the stub's vector, turned for each model name in another way."""
    found = np.frombuffer(HashingEmbedder().embed([text])[0], "<f2").astype(np.float64)
    turned: list[float] = (_turn(model) @ found * 3).tolist()
    return turned


@cache
def _turn(model: str) -> NDArray[np.float64]:
    """A rotation: it keeps what is near near, and spreads it over all values as models do."""
    drawn = np.random.default_rng(crc32(model.encode())).standard_normal((DIMENSION, DIMENSION))
    return np.linalg.qr(drawn)[0]


@dataclass
class Exchange:
    """One request and the means to answer it. `count` counts the requests from 1."""

    handler: BaseHTTPRequestHandler
    body: dict[str, Any]
    count: int

    @property
    def texts(self) -> list[str]:
        return self.body["input"]

    def entries(self) -> list[dict[str, Any]]:
        """The right answer's entries."""
        return [
            {"object": "embedding", "index": place, "embedding": vector_of(text, self.body["model"])}
            for place, text in enumerate(self.texts)
        ]

    def send(self, content: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        body = content.encode() if isinstance(content, str) else content
        self.handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def send_entries(self, entries: list[dict[str, Any]]) -> None:
        self.send(json.dumps({"object": "list", "data": entries, "model": self.body["model"]}))


def well(exchange: Exchange) -> None:
    exchange.send_entries(exchange.entries())


@dataclass
class FakeEndpoint:
    """The running server: what it was asked, and how it answers from now on."""

    port: int
    reply: Reply = well
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    paths: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """Every text it ever got, in order."""
        return [text for body in self.asked for text in body["input"]]


@contextmanager
def running_endpoint(tls: ssl.SSLContext | None = None) -> Generator[FakeEndpoint]:
    """Runs one in a thread until the block ends; then whoever is still connected is hung up on."""
    fake = FakeEndpoint(0)
    taking = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with taking:
                fake.asked.append(body)
                fake.headers.append(dict(self.headers.items()))
                fake.paths.append(self.path)
                exchange = Exchange(self, body, len(fake.asked))
            fake.reply(exchange)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Says nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that went away is what some tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        fake.port = server.server_address[1]
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


def certificate_for(host: str, folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate that signs itself, in a file, and what a server with it needs."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    today = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    public, private = folder / f"{host}.crt", folder / f"{host}.key"
    public.write_bytes(signed.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context


def unused_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
