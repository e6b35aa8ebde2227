"""The secret detector: what looks like a secret is replaced by a marker that names its kind alone.

Found are tokens by their shape (secret_shapes), passwords in URLs, authorization headers, and values assigned
to names that promise a secret. A name never goes, only its value. Code that reads a secret from elsewhere,
placeholders, type annotations and prose about secrets are ordinary content.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from m3_memory.kernel.limits import JsonValue
from m3_memory.kernel.secret_shapes import SHAPES, Shape, compiled
from m3_memory.kernel.text import WITHOUT_INVISIBLE

_Span: TypeAlias = tuple[int, int, str]

_MAX_ROUNDS = 8
_MARKER = re.compile(r"(?<=\[)secret:[a-z0-9-]+:[0-9a-f]{8}(?=\])")
_MARKER_DIGITS = 8

# A name that ends so promises a secret: `password` always, `key` nearly so, `token` if the value looks it.
_NAME = r"""(?:
    (?P<password> pass(?:word|wd|phrase|code) | (?<![a-z])pass | (?<![a-z])pwd
      | 密码 | 密碼 | パスワード | 비밀번호 | пароль | passwort | kennwort | contraseña )
    | (?P<key> (?:api|app|access|account|private|secret|signing|encryption|shared|master|auth|client)
        [\ _-]?(?:access[\ _-]?)?(?:key|secret|token) )
    | (?P<token> token | secret | credentials? | authorization )
)"""
_VALUE = r"""(?:
    [bruf@]{0,2} (?P<quote> \\{0,3}(?:\"{3}|'{3}|["'`]) )
        (?P<quoted> (?:(?!(?P=quote))(?:\\.|[^\\\r\n]))++ ) (?P=quote)
    | (?P<bare> (?: [^\s"'`<>,;&|\\。、，；「」（）] | &(?![&\s]|(?:amp;)?[\w.-]{0,40}=) )++ )
)"""
_SIGN = r"""(?P<sign>
    [ \t]{0,8} :[ \t]{0,4} [a-z_][\w.\[\]|]{0,40}  # with a type between
        (?: [ \t]{1,4}=(?!=) | =(?=[bruf]{0,2}["']) ) [ \t]{0,8}
    | [ \t]{0,8} (?: := | => | =(?![=>]) | :(?!:) | ： ) [ \t]{0,8}
)"""
_ASSIGNMENT = rf"(?ix) {_NAME} (?:\\{{0,3}}[\"'`])?\]? {_SIGN} {_VALUE}"
_FLAG = rf"(?ix) (?<!-)--(?=[a-z])[a-z-]{{0,30}}? {_NAME} (?P<sign>[ \t]{{1,4}})(?!-) {_VALUE}"
_ELEMENT = rf"(?ix) <[\w:-]{{0,30}}? {_NAME} (?P<quote>>)(?P<quoted>[^<>\r\n]++)</"
_NAMED = ((":", _ASSIGNMENT), ("=", _ASSIGNMENT), ("：", _ASSIGNMENT), ("--", _FLAG), ("</", _ELEMENT))
_PROMISING = (
    *("pass", "pwd", "token", "secret", "credential", "key", "authorization", "kennwort", "contraseña"),
    *("密码", "密碼", "パスワード", "비밀번호", "пароль"),
)

# Each tells where a value is by what stands around it, whatever its name; needles in lower case.
_SCHEME = r"(?i)(?<![a-z])(?:bearer|basic)\s{1,4}(?P<value>[a-z0-9._~+/=-]{16,})"
_HEADER = (
    r"""(?i)authorization["'`]?\s{0,4}[:=]\s{0,4}["'`]?(?:bearer|basic|digest|token|apikey|bot)\s{1,4}"""
    r"(?P<value>[a-z0-9._~+/=:-]{6,})"
)
# Commands and the flag that takes their password; what is glued to it and what follows it differ by command.
_FLAG_VALUE = r"""["']?(?P<value>(?<=["'])[^"'\r\n]{1,256}|[^\s"'][^\s"']{0,255})"""
_BETWEEN = r"[ \t][^\r\n|;&]{0,200}?(?<=[ \t])"
_COMMANDS = (
    ("mysql", rf"mysql[a-z-]{{0,12}}{_BETWEEN}-p"),
    ("mariadb", rf"mariadb[a-z-]{{0,12}}{_BETWEEN}-p"),
    ("sshpass", r"sshpass[ \t]{1,4}(?:-v[ \t]{1,4})?-p[ \t]{0,4}"),
    ("redis-cli", rf"redis-cli{_BETWEEN}-a[ \t]{{1,4}}"),
    ("mongo", rf"mongo(?:sh|dump|restore)?{_BETWEEN}-p[ \t]{{1,4}}"),
    (" login", rf"(?:docker|podman|helm[ \t]registry)[ \t]login{_BETWEEN}-p[ \t]{{0,4}}"),
)
_SURROUNDED = (
    *(Shape("password", needle, rf"(?<![\w-]){flag}{_FLAG_VALUE}") for needle, flag in _COMMANDS),
    Shape("url-password", "://", r"""://[^\s/:@"'<>]{0,256}:(?P<value>[^\s/"'<>?]{1,512})@"""),
    Shape("password", "-u", r"(?<!\S)-u[ =]{1,4}[\"']?[\w.@-]{1,64}:(?P<value>[^\s\"']{1,256})"),
    Shape("password", "--user", r"--user[ =]{1,4}[\"']?[\w.@-]{1,64}:(?P<value>[^\s\"']{1,256})"),
    Shape("authorization", "authorization", _HEADER),
    Shape("authorization", "bearer", _SCHEME),
    Shape("authorization", "basic", _SCHEME),
)

_NUMBERED = ("://", "-u", "--user", "mongo")
"""Where digits alone are a port or a group's number."""

_PORTS = re.compile(r"[\d.]+(?::\d+)+(?:/\w+)?")

_TEMPLATE = re.compile(
    r"<[^<>]*> | \[[^\[\]]*\] | \$?\{+[^{}]*\}+ | \$\(?[a-z_][\w.]*\)? | %\(?\w+\)?[sd%]? | [:@#][a-z_]+"
    r"| [x*.•…]{3,} | .*\byour[-_\ ].* | .*(?:\$\{|\{[a-z_][\w.]*\}).*",
    re.IGNORECASE | re.VERBOSE,
)
_EMPTY_WORDS = frozenset(
    """
    changeme example placeholder redacted removed hidden masked none null nil undefined true false todo tbd
    string str bytes required optional default empty unset missing
    password passwd passphrase passcode pass pwd secret token key apikey accesskey secretkey credential
    credentials
    """.split()
)
_PATH = r"[A-Za-z_$][\w$]*+(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*+)"
_CALL = re.compile(rf"{_PATH}*+!?[(\[{{]|[(\[{{]")  # a call, an index, a macro; a bracket alone
_CODE = re.compile(rf"{_PATH}++$|(?:u?int|float|[uif])\d{{1,3}}$")  # an attribute, a type
_ELSEWHERE = re.compile(r"[a-z]+://|[~.]?/|(?:[a-z0-9_.-]+/)+[a-z0-9_.-]*$")  # a URL, a path
_LETTER_FORMS = (
    *range(0xFF10, 0xFF1A),
    *range(0xFF21, 0xFF3B),
    *range(0xFF41, 0xFF5B),
    *range(0x1D400, 0x1D800),
)
_PLAIN: dict[int, str] = {
    form: plain
    for form in (*_LETTER_FORMS, *map(ord, "－＝＿"))
    if (plain := unicodedata.normalize("NFKC", chr(form))).isascii()
}
"""Full-width and mathematical forms of ASCII letters and digits, which search takes for these."""

_DISGUISES = re.compile(f"[{''.join(map(chr, (*WITHOUT_INVISIBLE, *_PLAIN)))}]")

_LEAST_TEXT = len("-u a:b")
"""Characters of the shortest text that holds a secret and what tells that it is one."""

_LEAST_CHARACTERS = {"password": 4, "key": 8, "token": 8}


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret that was replaced, and by what."""

    kind: str
    marker: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what was found, in order."""

    text: str
    findings: tuple[Finding, ...]


def redact(text: str, key: bytes) -> Redacted:
    """The text with every secret replaced by `[secret:<kind>:<8 hex digits>]`.

    The digits are the start of HMAC-SHA256(key, secret): in one store a secret always has the same marker.
    A second pass finds nothing more. Time is linear in the text. Characters that take no room and other forms
    of ASCII letters hide no secret, as they hide no word from the search.
    """
    if len(text) < _LEAST_TEXT:
        return Redacted(text, ())
    findings: list[Finding] = []
    for _ in range(_MAX_ROUNDS):  # a secret taken out can bare another one, rarely
        spans = _merged(text)
        if not spans:
            break
        text, found = _replaced(text, spans, key)
        findings += found
    return Redacted(text, tuple(finding for finding in findings if finding.marker in text))


def redact_json(value: JsonValue, key: bytes) -> tuple[JsonValue, tuple[Finding, ...]]:
    """A JSON value with the secrets of its texts and keys replaced, and all under a key that promises one."""
    findings: list[Finding] = []
    return _redacted_json(value, "", key, findings), tuple(findings)


def _redacted_json(value: JsonValue, name: str, key: bytes, findings: list[Finding]) -> JsonValue:
    match value:
        case dict():
            return {
                _redacted_name(inner, key, findings): _redacted_json(item, inner, key, findings)
                for inner, item in value.items()
            }
        case list():
            return [_redacted_json(item, name, key, findings) for item in value]
        case None | bool():
            return value
        case _:
            text = str(value)
    result = redact(text, key)
    if kind := _kind_named(name, result.text):
        result = Redacted(*_marked(text, kind, key))
    findings += result.findings
    return value if result.text == text else result.text


def _redacted_name(name: str, key: bytes, findings: list[Finding]) -> str:
    result = redact(name, key)
    findings += result.findings
    return result.text


def _kind_named(name: str, value: str) -> str | None:
    """What a value is if the name alone tells."""
    named = compiled(_ASSIGNMENT).search(f"{_undisguised(_masked(name))}='x'") if name else None
    return _kind_quoted(_promise(named), named[_promise(named)], value) if named else None


def _marked(secret: str, kind: str, key: bytes) -> tuple[str, tuple[Finding, ...]]:
    digest = hmac.digest(key, secret.encode("utf-8", "surrogatepass"), "sha256").hex()
    marker = f"[secret:{kind}:{digest[:_MARKER_DIGITS]}]"
    return marker, (Finding(kind, marker),)


def _replaced(text: str, spans: list[_Span], key: bytes) -> tuple[str, list[Finding]]:
    parts: list[str] = []
    findings: list[Finding] = []
    done = 0
    for start, end, kind in spans:
        marker, found = _marked(_undisguised(text[start:end]), kind, key)
        parts += (text[done:start], marker)
        findings += found
        done = end
    return "".join((*parts, text[done:])), findings


def _merged(text: str) -> list[_Span]:
    """The places to replace, in order; where two overlap, one that covers both, named by the longer."""
    merged: list[_Span] = []
    for start, end, kind in sorted(_all_spans(_masked(text)), key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, named = merged[-1]
            merged[-1] = (first, max(last, end), named)
        else:
            merged.append((start, end, kind))
    return merged


def _masked(text: str) -> str:
    """The text, as long as before, with our own markers as placeholders that no rule takes up."""
    return _MARKER.sub(lambda marker: "…" * len(marker[0]), text)


def _all_spans(text: str) -> Iterator[_Span]:
    yield from _spans(text)
    if text.isascii() or not _DISGUISES.search(text):
        return
    kept = [place for place, character in enumerate(text) if ord(character) not in WITHOUT_INVISIBLE]
    for start, end, kind in _spans(_undisguised(text)):
        yield kept[start], kept[end - 1] + 1, kind


def _undisguised(text: str) -> str:
    """The text without what takes no room, and with plain ASCII letters; each of the rest one character."""
    return text if text.isascii() else text.translate(WITHOUT_INVISIBLE).translate(_PLAIN)


def _spans(text: str) -> Iterator[_Span]:
    for shape in SHAPES:
        if shape.needle in text:
            yield from _shaped(shape, text)
    lowered = text.lower()
    for shape in _SURROUNDED:
        if shape.needle in lowered:
            yield from _surrounded(shape, text)
    if _is_promising(lowered):
        for pattern in dict.fromkeys(pattern for needle, pattern in _NAMED if needle in text):
            yield from _assigned(compiled(pattern), text)


def _is_promising(lowered: str) -> bool:
    return any(word in lowered for word in _PROMISING)


def _shaped(shape: Shape, text: str) -> Iterator[_Span]:
    for match in shape.matches(text):
        if set(match[0][-8:]) - set("xX*."):
            yield match.start(), match.end(), shape.kind


def _surrounded(shape: Shape, text: str) -> Iterator[_Span]:
    for match in shape.matches(text):
        value = match["value"]
        is_random = shape.kind != "authorization" or _looks_random(value)
        is_number = value.isdigit() and shape.needle in _NUMBERED
        if is_random and not (is_number or _PORTS.fullmatch(value) or _TEMPLATE.fullmatch(value)):
            yield *match.span("value"), shape.kind


def _assigned(pattern: re.Pattern[str], text: str) -> Iterator[_Span]:
    for match in pattern.finditer(text):
        promise = _promise(match)
        if match["quote"]:
            kind = _kind_quoted(promise, match[promise], match["quoted"])
            span = match.span("quoted")
        else:
            value = _trimmed(match["bare"])
            kind = _kind_bare(promise, match, value)
            span = (match.start("bare"), match.start("bare") + len(value))
        if kind:
            yield *span, kind


def _promise(match: re.Match[str]) -> str:
    return next(group for group in ("password", "key", "token") if match[group])


def _kind_quoted(promise: str, name: str, value: str) -> str | None:
    says_nothing = _is_placeholder(value) or value[0].isspace() or value[0] == "+" or value[-1] == "+"
    is_prose = " " in value and _is_promising(value.lower())
    if says_nothing or is_prose or (name.lower() == "pass" and value.isdigit()):
        return None
    match promise:
        case "password":
            return promise
        case "key":
            return promise if len(value) >= 6 and not _ELSEWHERE.match(value) else None
        case _:
            is_secret = len(value) >= _LEAST_CHARACTERS["token"] and _is_mixed(value) and " " not in value
            return promise if is_secret and not _ELSEWHERE.match(value) else None


def _kind_bare(promise: str, match: re.Match[str], value: str) -> str | None:
    name = match[promise]
    is_shell = name.isupper() and match["sign"] == "="
    if _is_placeholder(value) or _is_code(promise, match, value, is_shell):
        return None
    is_path = _ELSEWHERE.match(value)
    if is_shell:
        return promise if not (is_path and name == "PWD") else None
    if is_path:
        return None
    if (
        match["sign"] == "="
        and promise != "token"
        and match.string[match.end() : match.end() + 1] not in {",", ")"}
    ):
        return promise if not (value.isdigit() and name.lower() == "pass") else None
    if value.isdigit():
        return promise if promise == "password" and name.lower() != "pass" and len(value) >= 4 else None
    return promise if len(value) >= _LEAST_CHARACTERS[promise] and _is_mixed(value) else None


def _is_code(promise: str, match: re.Match[str], value: str, is_shell: bool) -> bool:
    """Whether it reads the secret from elsewhere. A password after `=` may look like an attribute.

    So there an attribute counts as code only where it promises a secret itself, or has no digits and spaces
    around the sign; and a variable only as the last argument of a call, by a name as `hashed_password`.
    """
    if _CALL.match(value):
        return not (is_shell and _is_cut_short(value))
    if not _CODE.match(value):
        is_last = match["bare"][len(value) :].startswith(")")
        return is_last and "_" in value and _is_promising(value.lower())
    if promise != "password" or match["sign"].strip() != "=" or _is_promising(value.lower()):
        return True
    return match["sign"] != "=" and not _is_mixed(value)


def _is_cut_short(value: str) -> bool:
    """Whether it holds a bracket that opens, goes on and never closes: no call, but a password with one."""
    last_open = max(map(value.rfind, "([{"))
    return 0 < last_open < len(value) - 1 and last_open > max(map(value.rfind, ")]}"))


def _is_placeholder(value: str) -> bool:
    letters = "".join(filter(str.isalnum, value)).lower()
    return not letters or letters in _EMPTY_WORDS or _TEMPLATE.fullmatch(value) is not None


def _is_mixed(value: str) -> bool:
    """Letters together with digits or signs that words and names of types do not have."""
    rest = value.strip("!?*")
    has_letter = any(map(str.isalpha, rest))
    return has_letter and any(character.isdigit() or character in "!@#$%^*+=~" for character in rest)


def _looks_random(value: str) -> bool:
    """Digits, or capitals in the middle."""
    return any(map(str.isdigit, value)) or (any(map(str.isupper, value[1:])) and any(map(str.islower, value)))


def _trimmed(value: str) -> str:
    """Without what a sentence or a bracket around it adds at the end."""
    spare = {closing: value.count(closing) - value.count(opening) for opening, closing in ("()", "[]", "{}")}
    end = len(value)
    while end and (value[end - 1] in ".:*" or spare.get(value[end - 1], 0) > 0):
        end -= 1
        if value[end] in spare:
            spare[value[end]] -= 1
    return value[:end]
