"""Two texts that say the same word for word: the normal form and the hashes of texts."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

from m3_memory.kernel.text import WITHOUT_INVISIBLE, WITHOUT_UNSEEN

_FULL_STOPS = (".", "。", "．", "｡", "۔", "।")

_WIDE = {
    full + offset: chr(plain + offset)
    for full, plain in ((0xFF21, 0x41), (0xFF41, 0x61))
    for offset in range(26)
}
# Each Greek or Cyrillic letter to the Latin one it looks like in lower case, else in upper case. Not mu and
# omega, whose folding would make milli out of micro and watt out of ohm.
_FORMER_LOOK_ALIKES = str.maketrans(
    "авсԁенһіјкӏморԛѕтуѵԝхαβεζηικνορτυχ", "abcdehhijklmopqstyvwxabezhikvoptux"
)
LOOK_ALIKES = _FORMER_LOOK_ALIKES | str.maketrans("ϲϳԍɑɡʙ", "cjgagb")
"""Cyrillic, Greek and phonetic small letters to the Latin ones they look like. None that is a common letter
where it stands for itself: п, Turkish ı, Armenian օ and ս."""

_PREPARED = WITHOUT_UNSEEN | _WIDE
_FORMER = WITHOUT_INVISIBLE | _WIDE, _FORMER_LOOK_ALIKES


def normal_form(text: str) -> str:
    """The text as duplicates, superseded and rejected values are compared by (data model §7).

    Folded: canonical composition, full-width letters, case, white space, what shows nothing, one final full
    stop, Cyrillic and Greek look-alikes of Latin letters. Never folded: digits of any kind, superscripts,
    words. Applying it twice changes nothing more.
    """
    return _form(text, _PREPARED, LOOK_ALIKES)


def _form(text: str, prepared: dict[int, str | None], look_alikes: dict[int, int]) -> str:
    plain = text.translate(prepared)
    if plain.isascii():  # only case, white space and the full stop are left
        return _without_full_stop(" ".join(plain.lower().split()))
    decomposed = unicodedata.normalize("NFD", plain).casefold()
    folded = unicodedata.normalize("NFD", decomposed).translate(look_alikes)
    return _without_full_stop(" ".join(unicodedata.normalize("NFC", folded).split()))


def content_hash(text: str) -> str:
    """SHA-256 of the exact text as UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def normal_hash(text: str) -> str:
    """SHA-256 of the normal form, in hexadecimal: equal for two texts that say the same word for word."""
    return content_hash(normal_form(text))


def is_normal_hash(digest: object, text: str) -> bool:
    """Whether this is the text's normal hash, as it is now or as stores up to 0.3 hold it.

    The two differ only for texts with characters that were not folded then. Such rows keep their hash.
    """
    return digest in (normal_hash(text), content_hash(_form(text, *_FORMER)))


def _without_full_stop(text: str) -> str:
    rest = text[:-1].rstrip() if text.endswith(_FULL_STOPS) else ""
    return text if not rest or rest.endswith(_FULL_STOPS) else rest
