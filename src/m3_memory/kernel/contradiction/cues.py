"""Cue words: what the wording says of time and of change. Evidence beside the values, never alone."""

from __future__ import annotations

import re

_PHRASES = {
    "now": r"now(?:adays)?|currently|these days|from (?:now|here) on|as of|since|starting|effective"
    r"|from (?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|ab (?:jetzt|sofort)|seit|inzwischen|jetzt|ahora|désormais|maintenant|depuis|again|once more"
    r"|finally|back to",
    "changed": r"moved|switch(?:ed)?|renamed?|replac(?:ed|es?)|migrat(?:ed|es?)|chang(?:ed|es?)|became"
    r"|turned|bumped|raised|lowered|upgraded?|downgraded?|increased?|reduced|decreased"
    r"|went (?:up|down|from|to)|extended|slipped|postponed|rescheduled|pushed (?:back|to)|revert(?:ed)?"
    r"|backed (?:that |it )?out|flipped|took over|taken over|hand(?:ed|s) over|ported|converted|adopted"
    r"|swapped|relocated|cut (?:to|from)|doubled|halved|dropped to|rewritten|rewrote|overturned"
    r"|rolled back|reversed|goes by",
    "retired": r"no longer|no more|any ?more|gone|deleted|removed|dropped|retired|deprecated"
    r"|decommissioned|sunset|shut down|abandoned|wiped|obsolete|instead|rather than|off the table"
    r"|former(?:ly)?|previous(?:ly)?|used to|(?:the|its) old one|quit|left"
    r"|sold|empty|void|ignored|stopped|ended|cancell?ed|superseded|not .{1,30} any ?more"
    r"|no need|nothing (?:is )?left|scrapped|ditched|unused"
    r"|dead|kaputt|nicht mehr|entfällt|ya no|ne .{1,30} plus|is out|discontinued|killed|ripped out"
    r"|does not exist|doesn't exist|410 gone|turned off|archived|lifted|expired",
    "correction": r"actually|correction|turns out|misread|was wrong|is wrong|mistake(?:n|nly)?|typo"
    r"|i meant|wrongly|eigentlich|in fact|contrary to|incorrect(?:ly)?|disregard|scratch that|sorry"
    r"|not .{1,40}(?:,| but) as",
    "also": r"also|too|as well|in addition|additionally|besides|alongside|both|another|auch|también"
    r"|aussi|plus|stays? supported|one more|on top of|extra",
    "plan": r"will|plan(?:s|ned|ning)?|ideas?|going to|next (?:year|quarter|sprint|month|week)"
    r"|want to try|propos(?:al|ed?|ing)|consider(?:ing)?|might|someday|to ?do|roadmap|would like|intend"
    r"|eventually|target|goal|aim(?:s|ing)?|not started|evaluat(?:e|ing)|in \d{4} we"
    r"|should (?:eventually|one day)|soon|until then|wants to",
    "past": r"until (?:\d{4}|[A-Z]\w+ \d{4}|then)|before \w+,|back (?:in|then)|originally|at first"
    r"|initially|in 20\d\d|years? ago|had been|hence|at the time",
    "exception": r"except(?:ions?)?|exempt|unless|apart from|other than|only (?:for|if|when|in|on)"
    r"|special case|does not apply|doesn't apply|override|overridden|that only|outside of"
    r"|with the exception",
    "condition": r"if|when(?:ever)?|in case|for (?:hot|emergency)\w*",
}  # fmt: skip
_CUE = {name: re.compile(rf"(?<!\w)(?:{phrase})(?!\w)", re.IGNORECASE) for name, phrase in _PHRASES.items()}


CHANGES = frozenset({"now", "changed", "retired", "correction"})
"""Cues of a change."""

ENDS = CHANGES - {"now"}
"""Cues that something is no more as it was."""

BESIDE = frozenset({"also", "plan", "exception", "past"})
"""Cues that what is said leaves true what was said before."""


def cues_of(text: str) -> frozenset[str]:
    """Which kinds of cues stand in a text."""
    return frozenset(name for name, cue in _CUE.items() if cue.search(text))
