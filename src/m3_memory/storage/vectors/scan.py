"""Masks and bounds over mapped slots: what a view lets through, and how near each of those can be at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from m3_memory.storage.vectors.layout import (
    SLOTS_PER_BLOCK,
    TRUST_CODES,
    Doubles,
    Floats,
    Integers,
    Mask,
    Records,
    hashed,
    microseconds,
)

if TYPE_CHECKING:
    from m3_memory.storage.predicates import Filter, View

_DENSE = 0.3
"""Above this share of admitted slots reading all of them in order is quicker than picking them out."""


def admitted(blocks: Records, view: View, audiences: Sequence[int]) -> Mask:
    """Which slots pass the view's five conditions; the shape is (blocks, slots of a block)."""
    narrowing = view.filter
    as_of, known_at = microseconds([view.as_of, view.known_at])
    mask: Mask = _among(blocks["audience"], np.array(audiences, np.int64))
    if not narrowing.whenever:
        mask &= blocks["valid_from"] <= as_of
        mask &= blocks["valid_to"] > as_of
    mask &= blocks["expires_at"] > known_at
    trusted = np.zeros(256, np.bool_)
    trusted[[TRUST_CODES[state] for state in narrowing.trust_states if state in TRUST_CODES]] = True
    mask &= trusted[blocks["trust"]]
    mask &= _among(blocks["variant"], _hashes("", narrowing.variant))
    _narrow(mask, blocks, narrowing)
    return mask


def _narrow(mask: Mask, blocks: Records, narrowing: Filter) -> None:
    if narrowing.types:
        mask &= _among(blocks["type"], _hashes(*narrowing.types))
    if narrowing.excluded_types:
        mask &= ~_among(blocks["type"], _hashes(*narrowing.excluded_types))
    if narrowing.agent_id:
        mask &= blocks["agent"] == hashed(narrowing.agent_id)
    if narrowing.conversation_id:
        mask &= blocks["conversation"] == hashed(narrowing.conversation_id)
    if narrowing.valid_since:
        mask &= blocks["valid_to"] > microseconds([narrowing.valid_since])[0]
    if narrowing.valid_until:
        mask &= blocks["valid_from"] < microseconds([narrowing.valid_until])[0]


def _among(column: Integers, values: Integers) -> Mask:
    """Which of the column are among these. Others write to the file meanwhile: so it is read once."""
    return np.isin(column.copy(), values)


def _hashes(*texts: str) -> Integers:
    return np.array([hashed(text) for text in texts], np.int64)


def upper_bounds(blocks: Records, mask: Mask, queries: Doubles) -> Floats:
    """The most each slot's cosine with each query can be, a row a query; minus infinity if not admitted."""
    wanted = queries.astype(np.float32)
    bounds = np.zeros((len(wanted), *mask.shape), np.float32)
    rows = blocks["row"]
    # 512 rows at a time: they stay in the processor's cache, and for one query BLAS calls up no threads.
    buffer = np.empty((SLOTS_PER_BLOCK, wanted.shape[1]), np.float32)
    chosen = np.nonzero(mask)
    if len(chosen[0]) > _DENSE * mask.size:
        for number in np.flatnonzero(mask.any(axis=1)):
            np.copyto(buffer, rows[number])
            bounds[:, number] = wanted @ buffer.T
    else:
        for first in range(0, len(chosen[0]), SLOTS_PER_BLOCK):
            blocks_of, slots_of = (axis[first : first + SLOTS_PER_BLOCK] for axis in chosen)
            picked = rows[blocks_of, slots_of]
            np.copyto(buffer[: len(picked)], picked)
            bounds[:, blocks_of, slots_of] = wanted @ buffer[: len(picked)].T
    bounds *= blocks["scale"]
    bounds += np.where(mask, blocks["slack"], np.float32(-np.inf))
    return bounds.reshape(len(wanted), -1)
