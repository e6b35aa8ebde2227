"""Identity arguments."""

from __future__ import annotations

import pytest

from m3_memory.errors import WiderIdentity
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.narrowing import ensure_own


def test_a_claim_is_told_back_in_short() -> None:
    caller = Caller("ann", "reviewer", "one")
    ensure_own(caller, user_id="ann", agent_id="")
    with pytest.raises(WiderIdentity, match="user_id 'bob' is not who is calling; that is 'ann'"):
        ensure_own(caller, user_id="bob")
    with pytest.raises(WiderIdentity) as refused:
        ensure_own(caller, agent_id="x" * 3_000_000)
    assert len(refused.value.message) < 200
