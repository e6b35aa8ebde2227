"""The store's secret key, sealed for a file: readable only with the operator's passphrase.

Without the key, tombstones and the markers in the place of secrets would mean nothing in the restored store;
in clear it would let whoever holds the file test guesses against them.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from m3_memory.domains.agents.service.operators import stretched
from m3_memory.errors import DamagedExport, NeedsOperator

if TYPE_CHECKING:
    from collections.abc import Mapping

_METHOD = "scrypt:65536:8:2"
_KEY_BYTES = 32


def seal(passphrase: str, origin: str, key: bytes) -> dict[str, str]:
    """What an export's first line holds of the key: the same for one store and passphrase, every time.

    The pad comes from the passphrase and the store's origin, and never meets another key than this store's.
    """
    pad, prover = _derived(passphrase, origin)
    sealed = _mixed(key, pad).hex()
    return {"method": _METHOD, "key": sealed, "proof": _proof(prover, origin, sealed)}


def open_seal(passphrase: str, origin: str, sealed: Mapping[str, object]) -> bytes:
    """The key. Raises NeedsOperator for another passphrase, DamagedExport for a seal that can't be read."""
    match sealed:
        case {"method": method, "key": str(key), "proof": str(proof)} if method == _METHOD:
            pad, prover = _derived(passphrase, origin)
        case _:
            raise DamagedExport(
                "the export has no seal that this version can open",
                "export the store again: m3 export --whole-store",
            )
    if not hmac.compare_digest(_proof(prover, origin, key).encode(), proof.encode()):
        raise NeedsOperator(
            "that is not the passphrase the export was sealed with",
            "it is the one the operator had when the export was written; nothing was done",
        )
    return _mixed(bytes.fromhex(key), pad)


def _derived(passphrase: str, origin: str) -> tuple[bytes, bytes]:
    """A pad and a key for its proof."""
    salt = hashlib.sha256(f"m3-memory export seal {origin}".encode()).digest()
    made = stretched(passphrase, _METHOD, salt, 2 * _KEY_BYTES)
    return made[:_KEY_BYTES], made[_KEY_BYTES:]


def _mixed(key: bytes, pad: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(key, pad, strict=True))


def _proof(prover: bytes, origin: str, sealed: str) -> str:
    return hmac.new(prover, f"{origin}\x1f{sealed}".encode(), hashlib.sha256).hexdigest()
