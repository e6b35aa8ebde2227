"""The operator: a person who proves it by a passphrase, of which the store keeps a scrypt verifier.

The passphrase itself is kept nowhere. Setting and changing it are events in the owner's history; one that was
taken out of the store by hand still stands there.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import unicodedata
from typing import TYPE_CHECKING

from m3_memory.domains.agents import queries
from m3_memory.domains.agents.model import (
    CHANGED,
    LONGEST_PASSPHRASE,
    SET,
    SHORTEST_PASSPHRASE,
    OperatorStatus,
    Proof,
    Verifier,
)
from m3_memory.domains.memories.service.writes import operation
from m3_memory.errors import InvalidArgument, NeedsOperator

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.storage.database import Reader

IS_SET = "an operator's passphrase is set already"

PARAMETERS = "scrypt:65536:8:2"
_SALT_BYTES = _DIGEST_BYTES = 32


def status(ctx: Context) -> OperatorStatus:
    """Whether the caller's user has an operator's passphrase, and what the history says of it."""
    with ctx.read() as reader:
        return status_of(reader)


def status_of(reader: Reader) -> OperatorStatus:
    """The same, of the reader's user, in a transaction that is open."""
    found = queries.verifier_of(reader)
    event = told(queries.last_event(reader))
    return OperatorStatus(bool(found), found.set_at if found else None, event, bool(event and not found))


def told(event: tuple[str, str] | None) -> str | None:
    """An event that set a passphrase, in words."""
    return f"the {event[1]} at {event[0]}" if event else None


def set_passphrase(ctx: Context, passphrase: str) -> OperatorStatus:
    """Sets the first passphrase. Raises InvalidArgument for one too short, and where one is set already."""
    return _set(ctx, passphrase, None)


def change_passphrase(ctx: Context, proof: Proof, passphrase: str) -> OperatorStatus:
    """Sets another passphrase in the place of the one just proved; every earlier proof is void.

    Raises InvalidArgument for one too short, NeedsOperator where the proof holds no more.
    """
    return _set(ctx, passphrase, proof)


def _set(ctx: Context, passphrase: str, proof: Proof | None) -> OperatorStatus:
    check_passphrase(passphrase)
    salt = os.urandom(_SALT_BYTES)
    made = Verifier(PARAMETERS, salt, stretched(passphrase, PARAMETERS, salt))
    with ctx.write() as writer:
        found = queries.verifier_of(writer)
        if found and proof is None:
            raise InvalidArgument(IS_SET, "m3 operator change asks for it and takes a new one")
        if proof and not (found and proof.holds(ctx.clock.monotonic(), found.set_at)):
            raise NeedsOperator(
                "the passphrase given is no longer the operator's", "try again with the new one"
            )
        before = _written(found) if found else ""
        event = operation(ctx, writer).record(
            "grant", "", 0, reason=CHANGED if found else SET, before=before, after=_written(made)
        )
        queries.put_verifier(writer, made, event)
        return status_of(writer)


def is_signed_in(ctx: Context, proof: Proof | None) -> bool:
    """Whether the proof still is one, for this store and user. Raises NeedsOperator where nothing is set."""
    found, store = _set_in(ctx)
    if proof is None or (proof.store, proof.user_id) != (store, ctx.caller.user_id):
        return False
    return proof.holds(ctx.clock.monotonic(), found.set_at)


def prove(ctx: Context, passphrase: str) -> Proof:
    """The proof that who typed this is the operator. Raises NeedsOperator for any other passphrase.

    Each guess costs some 64 MB and a third of a second.
    """
    found, store = _set_in(ctx)
    if not hmac.compare_digest(stretched(passphrase, found.parameters, found.salt), found.digest):
        raise NeedsOperator("that is not the operator's passphrase", "nothing was done; try again")
    return Proof(store, ctx.caller.user_id, found.set_at, ctx.clock.monotonic())


def ensure_only(ctx: Context) -> None:
    """Raises NeedsOperator where another user of the store has an operator: theirs is not to be taken."""
    with ctx.read() as reader:
        if queries.has_another_operator(reader):
            raise NeedsOperator(
                "another user of this store has an operator: it can't be taken as a whole by one of them",
                "export what you may see; or copy the database as its administrator",
            )


def _set_in(ctx: Context) -> tuple[Verifier, str]:
    """What the caller's operator is verified by, and in which store."""
    with ctx.read() as reader:
        if found := queries.verifier_of(reader):
            return found, reader.origin
    raise NeedsOperator(
        "no operator's passphrase is set for this store", "type m3 operator init at a terminal"
    )


def check_passphrase(passphrase: str) -> None:
    """Raises InvalidArgument for a new passphrase that is too short or too long."""
    if not SHORTEST_PASSPHRASE <= len(passphrase) <= LONGEST_PASSPHRASE:
        raise InvalidArgument(
            f"a passphrase has {SHORTEST_PASSPHRASE} to {LONGEST_PASSPHRASE:,} characters",
            "four or five words that nobody would guess are a good one",
        )


def _written(verifier: Verifier) -> str:
    """A verifier as the history digests it."""
    return f"{verifier.parameters}:{verifier.salt.hex()}:{verifier.digest.hex()}"


def stretched(passphrase: str, parameters: str, salt: bytes, length_bytes: int = _DIGEST_BYTES) -> bytes:
    """Key material by the parameters stated; a terminal's way to compose letters does not matter."""
    cost, block_size, parallelism = (int(part) for part in parameters.removeprefix("scrypt:").split(":"))
    return hashlib.scrypt(
        unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"),
        salt=salt,
        n=cost,
        r=block_size,
        p=parallelism,
        maxmem=256 * cost * block_size,
        dklen=length_bytes,
    )
