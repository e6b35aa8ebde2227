"""The type of a memory by rules, for writers that leave the choice to us."""

from __future__ import annotations

import re

_JUDGED_CHARACTERS = 2_000

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.VERBOSE))
    for kind, pattern in (
        ("snippet", r"^```"),
        (
            "to_do",
            r"^[^\w\n]{0,20} (?: todo | fixme | remember\ to | don't\ forget | we\ (?:still\ )?need\ to ) \b",
        ),
        (
            "preference",
            r"""\b (?: prefers? | preferred | likes?\ to | dislikes? | rather\ not | favou?rite
                     | always\ (?:use|wants?) ) \b""",
        ),
        (
            "decision",
            r"\b (?: decided | decision | we\ (?:chose|choose|will\ use|agreed|settled) | instead\ of ) \b",
        ),
        (
            "plan",
            r"\b (?: plan(?:s|ned)?\ to | next\ (?:sprint|week|month) | roadmap | milestone ) \b",
        ),
        (
            "procedure",
            r"""\b (?: how\ to | steps?:
                     | to\ (?:deploy|release|run|build|install|test)\b.{0,80}\b(?:run|use) )
                | ^[ \t]{0,40} 1[.)]\s""",
        ),
        (
            "config",
            r"""(?-i:\b [A-Z][A-Z0-9]+_[A-Z0-9_]+ \b)
                | \b (?: port | setting | flag | environment\ variable | config(?:ured)? ) \b""",
        ),
        ("reference", r"\b https?://\S+ | \b see\ (?:the\ )? (?:docs?|documentation|page|rfc) \b"),
    )
)


def classify(content: str) -> str:
    """One of snippet, to_do, preference, decision, plan, procedure, config and reference; else note.

    The first rule that fits the first 2,000 characters decides; no model is asked. Time is linear in them.
    """
    judged = content[:_JUDGED_CHARACTERS]
    return next((kind for kind, rule in _RULES if rule.search(judged)), "note")
