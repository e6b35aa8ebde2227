"""The host's own prompt: which of two contradicting memories holds, asked of whoever sits there.

An answer is the agent's act with a person's word behind it, never an operator's; no answer decides nothing.
"""

from __future__ import annotations

from m3_memory.surfaces.mcp.versions import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from m3_memory.surfaces.mcp.values import Json, Object, Outcome

WAIT_SECONDS = 25.0
"""How long a call waits for an answer; what contradicts is stored by then, and stays asked."""

DECISIONS = {"newer": "accept", "both": "reject", "older": "withdraw"}
"""What a person may answer, and the decision that is."""

_SHOWN_CHARACTERS = 600
_FORMS, _MODES = since("2025-06-18"), since("2025-11-25")


def offers_forms(capabilities: Json, revision: int) -> bool:
    """Whether a client of this revision shows forms to its user."""
    offer = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return revision >= _FORMS and isinstance(offer, dict) and (not offer or "form" in offer)


def question(arguments: Object, outcome: Outcome, revision: int) -> Object | None:
    """What to ask about a write that met one contradicting memory; None for any other outcome."""
    said = arguments.get("content")
    match outcome.structured:
        case {"status": "disputed", "review_id": str(), "conflicts": [{"content": str(older)}]} if isinstance(
            said, str
        ):
            pass
        case _:
            return None
    form: Object = {
        "message": f"Two memories contradict each other. Which holds?\n\nOlder: {_shown(older)}"
        f"\n\nNewer: {_shown(said)}",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "holds": {
                    "type": "string",
                    "title": "Which holds",
                    "description": "newer takes the older's place; both stay; older: the newer is deleted",
                    "enum": [*DECISIONS],
                }
            },
            "required": ["holds"],
        },
    }
    return form | {"mode": "form"} if revision >= _MODES else form


def decision(result: Json) -> str:
    """The decision that a client's result is; "" for declined, cancelled, or nothing of use."""
    match result:
        case {"action": "accept", "content": {"holds": str(holds)}}:
            return DECISIONS.get(holds, "")
        case _:
            return ""


def _shown(text: str) -> str:
    """A text as a prompt shows it: without what would act on a terminal or turn the text's direction."""
    plain = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
    return plain if len(plain) <= _SHOWN_CHARACTERS else f"{plain[:_SHOWN_CHARACTERS]}…"
