"""Tokens that show by their shape whose they are: kind, a part of the text that must be there, the pattern.

Each pattern matches the secret alone, in time linear in the text. Boundaries are of ASCII letters and digits,
so a token glued to other scripts is found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_BEGIN = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret. `needle` stands in every text that holds one, and is cheap to look for."""

    kind: str
    needle: str
    pattern: str

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        return compiled(self.pattern).finditer(text)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when a text first needs it: all of them together take a tenth of a second."""
    return re.compile(pattern)


# A block without its end (a text cut in two) goes as far as it looks like one.
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\s|\\[nrt])*+[A-Za-z0-9+/=]{16,}+)*+)"
)

_ROWS = (
    ("private-key", "PRIVATE KEY", _PRIVATE_KEY),
    ("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Za-z]{30,}"),
    ("aws-access-key", "AKIA", rf"{_BEGIN}AKIA[A-Z0-9]{{16}}{_END}"),
    ("aws-access-key", "ASIA", rf"{_BEGIN}ASIA[A-Z0-9]{{16}}{_END}"),
    ("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
    ("github-token", "gh", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    (
        "gitlab-token",
        "gl",
        rf"{_BEGIN}gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{{16,}}",
    ),
    ("slack-token", "xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    ("slack-token", "xapp-", rf"{_BEGIN}xapp-\d-[A-Za-z0-9-]{{10,}}"),
    ("slack-webhook", "hooks.slack.com/", r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/_-]{20,}"),
    ("stripe-key", "_live_", rf"{_BEGIN}[rs]k_live_[A-Za-z0-9]{{10,}}"),
    ("stripe-key", "_test_", rf"{_BEGIN}[rs]k_test_[A-Za-z0-9]{{10,}}"),
    ("stripe-webhook", "whsec_", rf"{_BEGIN}whsec_[A-Za-z0-9+/=]{{16,}}"),
    ("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("openai-key", "sk-", rf"{_BEGIN}sk-(?:proj|svcacct|admin|None|or-v1|lf)-[A-Za-z0-9_-]{{16,}}"),
    ("openai-key", "sk-", rf"{_BEGIN}sk-[A-Za-z0-9]{{20,}}"),
    ("google-key", "AIza", rf"{_BEGIN}AIza[A-Za-z0-9_-]{{30,}}"),
    ("google-token", "ya29.", rf"{_BEGIN}ya29\.[A-Za-z0-9_-]{{20,}}"),
    ("google-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{16,}"),
    ("npm-token", "npm_", rf"{_BEGIN}npm_[A-Za-z0-9]{{30,}}"),
    ("pypi-token", "pypi-", rf"{_BEGIN}pypi-(?:AgE[A-Za-z0-9_-]{{16,}}|[A-Za-z0-9_]{{40,}})"),
    ("huggingface-token", "hf_", rf"{_BEGIN}hf_[A-Za-z0-9]{{28,}}"),
    ("twilio-key", "SK", rf"{_BEGIN}SK[0-9a-f]{{32}}{_END}"),
    ("twilio-account", "AC", rf"{_BEGIN}AC[0-9a-f]{{32}}{_END}"),
    ("sendgrid-key", "SG.", rf"{_BEGIN}SG\.[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}"),
    ("mailgun-key", "key-", rf"{_BEGIN}key-[0-9a-f]{{32}}{_END}"),
    ("telegram-token", ":AA", rf"{_BEGIN}\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}"),
    ("shopify-token", "shp", rf"{_BEGIN}shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}"),
    ("databricks-token", "dapi", rf"{_BEGIN}dapi[0-9a-f]{{32}}"),
    ("docker-token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    ("vault-token", "hvs.", rf"{_BEGIN}hvs\.[A-Za-z0-9_-]{{20,}}"),
    ("grafana-token", "glsa_", rf"{_BEGIN}glsa_[A-Za-z0-9_]{{30,}}"),
    ("groq-key", "gsk_", rf"{_BEGIN}gsk_[A-Za-z0-9]{{40,}}"),
    ("xai-key", "xai-", rf"{_BEGIN}xai-[A-Za-z0-9]{{40,}}"),
    ("replicate-token", "r8_", rf"{_BEGIN}r8_[A-Za-z0-9]{{30,}}"),
    ("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    ("notion-token", "ntn_", rf"{_BEGIN}ntn_[A-Za-z0-9]{{40,}}"),
    ("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("postman-key", "PMAK-", r"PMAK-[A-Za-z0-9-]{40,}"),
    ("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{40,}"),
    ("jwt", "eyJ", rf"{_BEGIN}eyJ[A-Za-z0-9_-]{{8,4096}}+\.[A-Za-z0-9_-]{{4,}}(?:\.[A-Za-z0-9_-]+){{0,3}}"),
)
SHAPES = tuple(Shape(*row) for row in _ROWS)
