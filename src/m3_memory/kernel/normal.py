"""Two texts that say the same word for word: the normal form and the hashes of texts."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

from m3_memory.kernel.text import WITHOUT_INVISIBLE

_FULL_STOPS = (".", "。", "．", "｡", "۔", "।")

_PREPARED = {
    **WITHOUT_INVISIBLE,
    **{
        full + offset: chr(plain + offset)
        for full, plain in ((0xFF21, 0x41), (0xFF41, 0x61))
        for offset in range(26)
    },
}
# Each Greek or Cyrillic letter to the Latin one it looks like in lower case, else in upper case. Not mu and
# omega, whose folding would make milli out of micro and watt out of ohm.
LOOK_ALIKES = str.maketrans("авсԁенһіјкӏморԛѕтуѵԝхαβεζηικνορτυχ", "abcdehhijklmopqstyvwxabezhikvoptux")
"""Cyrillic and Greek small letters to the Latin ones they look like."""


def normal_form(text: str) -> str:
    """The text as duplicates, superseded and rejected values are compared by (data model §7).

    Folded: canonical composition, full-width letters, case, white space, zero-width and bidi marks, one final
    full stop, Cyrillic and Greek look-alikes of Latin letters. Never folded: digits of any kind,
    superscripts, words. Applying it twice changes nothing more.
    """
    if text.isascii():  # of what follows only case, white space and the full stop are left
        return _without_full_stop(" ".join(text.lower().split()))
    prepared = unicodedata.normalize("NFD", text.translate(_PREPARED))
    folded = unicodedata.normalize("NFD", prepared.casefold()).translate(LOOK_ALIKES)
    return _without_full_stop(" ".join(unicodedata.normalize("NFC", folded).split()))


def content_hash(text: str) -> str:
    """SHA-256 of the exact text as UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def normal_hash(text: str) -> str:
    """SHA-256 of the normal form, in hexadecimal: equal for two texts that say the same word for word."""
    return content_hash(normal_form(text))


def _without_full_stop(text: str) -> str:
    rest = text[:-1].rstrip() if text.endswith(_FULL_STOPS) else ""
    return text if not rest or rest.endswith(_FULL_STOPS) else rest
