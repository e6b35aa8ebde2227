"""What arguments may ask for: identity only to be repeated or narrowed, other projects only under a grant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.errors import NeedsGrant, WiderIdentity

if TYPE_CHECKING:
    from m3_memory.kernel.caller import Caller, Grant

_SHOWN_CHARACTERS = 80


def ensure_own(caller: Caller, **claimed: str) -> None:
    """Checks arguments such as `user_id` or `agent_id` that may only name the caller itself.

    The empty text means the caller's own. Raises WiderIdentity for any other name.
    """
    for name, value in claimed.items():
        own = caller.user_id if name == "user_id" else caller.agent_id
        if value not in ("", own):
            shown = value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
            raise WiderIdentity(
                f"{name} {shown!r} is not who is calling; that is {own!r}",
                f"leave {name} out: identity comes from how the server was started",
            )


def ensure_granted(caller: Caller, grant: Grant) -> None:
    """Raises NeedsGrant where an operator has not given the caller's agent this."""
    if not caller.may(grant):
        raise NeedsGrant(
            f"this needs the grant {grant}, which {caller.agent_id} does not have",
            f"the operator gives it: m3 agents grant {caller.agent_id} {grant}",
        )
