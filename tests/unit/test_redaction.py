from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.limits import JsonValue
from m3_memory.kernel.redaction import Finding, redact, redact_json

KEY = b"the key of one store"


def made_up(prefix: str, length: int, alphabet: str = "aB3dE6gH9") -> str:
    """A token of a known shape, put together here so that no scanner takes this file for a leak."""
    return prefix + (alphabet * length)[:length]


def block(kind: str, end: str = "-----END {}-----") -> str:
    return "\n".join((f"-----BEGIN {kind}-----", made_up("MII", 64), made_up("x", 64), end.format(kind)))


JWT = ".".join((made_up("eyJ", 20), made_up("eyJ", 30), made_up("", 40)))

TOKENS = {
    "github-token": made_up("ghp" + "_", 36),
    "github-token 2": made_up("github_pat" + "_", 60, "aB3dE6gH_"),
    "gitlab-token": made_up("glpat" + "-", 20),
    "aws-access-key": made_up("AKI" + "A", 16, "AB3DE6GH9"),
    "slack-token": made_up("xox" + "b-", 40, "12345-"),
    "stripe-key": made_up("sk_" + "live_", 24),
    "openai-key": made_up("sk" + "-", 48),
    "openai-key 2": made_up("sk-" + "proj-", 60, "aB3-E6_H9"),
    "anthropic-key": made_up("sk-" + "ant-api03-", 90, "aB3-E6_H9"),
    "google-key": made_up("AIz" + "a", 35),
    "npm-token": made_up("npm" + "_", 36),
    "pypi-token": made_up("pypi-" + "AgEIcHlwaS5vcmc", 60),
    "huggingface-token": made_up("hf" + "_", 34),
    "twilio-key": made_up("S" + "K", 32, "0a1b2c3d"),
    "sendgrid-key": ".".join(("S" + "G", made_up("", 22), made_up("", 43))),
    "jwt": JWT,
    "private-key": block("RSA PRIVATE" + " KEY"),
    "private-key 2": block("PRIVATE" + " KEY"),
    "private-key 3": block("PGP PRIVATE" + " KEY BLOCK"),
}

PLACES = (
    "{}",
    "use {} here.",
    "令牌{}。",
    "密钥是{}是的",
    '"{}"',
    "`{}`",
    "({})",
    "https://h/x?t={}",
    "a={};",
    "*{}*",
    "x:{},y",
)


@pytest.mark.case("B71")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "token"), TOKENS.items(), ids=TOKENS.keys())
def test_a_token_goes_wherever_it_stands(kind: str, token: str, place: str) -> None:
    before, after = place.split("{}")
    result = redact(place.format(token), KEY)
    assert [finding.kind for finding in result.findings] == [kind.split()[0]]
    assert result.text == f"{before}{result.findings[0].marker}{after}"


@pytest.mark.case("B71")
@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("PASSWORD=", "x", ""),
        ("PGPASSWORD=", "hunter2", " psql -h db"),
        ("export DB_PASS=", "swordfish", "\n"),
        ("TOKEN=", "abc", ""),
        ("PASSWORD=", "ab(c1", ""),
        ("SECRET_KEY = '", "django-insecure-abc", "'"),
        ('api_key: "', "abc123def", '"'),
        ("apiKey: '", "abc123def", "',"),
        ('{"password": "', "hunter2", '", "port": 5432}'),
        ('{"password":"', 'with \\" a quote', '"}'),
        ('{\\"password\\": \\"', "hunter2", '\\"}'),
        ('config["password"] = "', "correct horse battery staple", '"'),
        ('password: str = "', "hunter2", '"'),
        ("password: ", "hunter2", "\nport: 5432"),
        ("password = ", "hunter2", ""),
        ("password=", "Summer2024!", ""),
        ("DB_PASSWORD=", "Summer2024!", "\n"),
        ("PGPASSWORD=", "x!", " psql"),
        ("password: ", "Summer2024!", ""),
        ("passwd: ", "Tr0ub4dor&3", ""),
        ("password=", "user.name99", ""),
        ("PASSWORD=", "first.last", ""),
        ("password = ", "user.name99", ""),
        ("mysql -p", "S3cret99", ""),
        ("mysql -h db -u root -p", "123456", " app"),
        ("mysqldump -p'", "two words", "' app > app.sql"),
        ("mariadb --user=root -p", "x!", ""),
        ("sshpass -p ", "X", " ssh kim@host"),
        ("sshpass -p '", "correct horse", "' ssh -p 2222 host"),
        ("redis-cli -h cache -a ", "hunter2", " ping"),
        ("mongosh --host db -u app -p ", "s3cr3t", ""),
        ("docker login -u kim -p ", "hunter2", " registry"),
        ("(password=", "swordfish", ")"),
        ("the password=", "swordfish", "."),
        ("Server=db;Pwd=", "hunter2", ";"),
        ("https://host/login?password=", "hunter2", "&next=/"),
        ("psql --password ", "hunter2", " -h db"),
        ("tool --api-key=", "abc123def", ""),
        ("<password>", "hunter2", "</password>"),
        ("aws_secret_access_key = ", made_up("", 40, "aB3/E6+H9"), ""),
        ("Secret Access Key: ", made_up("", 40, "aB3/E6+H9"), ""),
        ("密码：", "abc123", "。"),
        ("access_token=", made_up("", 64, "0123456789abcdef"), ""),
        ("session secret: ", made_up("", 64, "0123456789abcdef"), ""),
        ("Authorization: Bearer ", "abc123def456", ""),
        ('curl -H "Authorization: Basic ', "dXNlcjpwYXNz", '" https://h'),
        ('headers = {"Authorization": "Bearer ', "abc.DEF-123", '"}'),
        ("bearer ", made_up("", 30), ""),
        ("postgres://app:", "hunter2", "@db/x"),
        ("redis://:", "p@ss:w0rd", "@host:6379/0"),
        ("https://user:", "p%40ss", "@host"),
        ("curl -u kim:", "hunter2", " https://h"),
        ("hooks.slack" + ".com/services/", "T0000000/B0000000/" + made_up("", 24), ""),
    ],
)
def test_a_value_goes_and_its_name_stays(before: str, secret: str, after: str) -> None:
    result = redact(f"{before}{secret}{after}", KEY)
    assert len(result.findings) == 1
    assert result.text == f"{before}{result.findings[0].marker}{after}"


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD"]',
        "password = os.getenv('X')",
        "password = getpass.getpass('Enter: ')",
        "password = config.database.password",
        "this.password=settings.password;",
        "connect(password=self.password, user=user)",
        "password = form.text",
        "User(username=username, password=hashed_password)",
        "jsonify(access_token=access_token)",
        'password=env!("DB_PASSWORD")',
        "password = vec![0u8; 32]",
        "password=config.get(name)",
        'mysql -p"$DB_PASSWORD" -h db',
        "mysql -h db -u root -p app",
        "mysql -P3306 -h db",
        "docker run --name mysql -p3306:3306 -p 8080:80 image",
        "docker run --name mongo -p 27017:27017 mongo",
        "sshpass -e ssh -p 2222 host",
        "mkdir -p secret && ssh -p 22 host",
        "token = get_token()",
        "const token = await fetchToken(user)",
        "self.token = token",
        "connect(user=user, password=password, token=token)",
        "connect(password=pw, x=1)",
        "def login(password: str, token: str | None = None) -> None:",
        "password: String!",
        "token: AccessToken",
        "secret: u64",
        "type Token = string",
        "password = None",
        'password = ""',
        "password: ***",
        "password=%s AND token = :token OR secret = ?",
        'token = "<token>"',
        "api_key=your-api-key",
        'API_KEY="YOUR_API_KEY_HERE"',
        "TOKEN=${TOKEN}",
        "TOKEN=$TOKEN",
        "PASSWORD=$(cat /run/secrets/db)",
        'f"password={password}"',
        'print("password: " + value)',
        'raise ValueError("token: " + token)',
        "ghp_" + "x" * 36,
        "the password is rotated weekly",
        "Password: the one in the vault",
        '"password": "Enter your password"',
        '"password": {"type": "string"}',
        "API key: rotated in 2026",
        "Authorization: Basic authentication is required",
        "Bearer token authentication",
        "max_tokens=4096, token_count: 512, tokens: 8",
        '{"token": "the", "pos": "DET"}',
        'if token == "IDENT":',
        "bypass=1234 compass: north",
        "pass: 12, fail: 3",
        'volume: {secret: "my-tls-secret"}',
        "secret: prod/db2/password",
        "token_url: https://host/oauth2/token",
        "password: !vault |",
        "PWD=/home/kim",
        "commit 3fa9c1d23fa9c1d23fa9c1d23fa9c1d23fa9c1d2",
        "sha256:" + "0a1b2c3d" * 8,
        "01a22d51-f890-71fd-98d1-4d12fca8de93",
        "ssh-ed25519 " + made_up("AAAA", 64) + " kim@host",
        "data:image/png;base64," + made_up("iVBOR", 200),
        block("CERTIFICATE"),
        block("PUBLIC KEY"),
        "http://host:8080/a@b and ssh://git@host:22/x and git@github.com:a/b.git",
        "docker run -u 1000:1000 image",
        "task-management-system-with-a-long-name and sk-learn",
        "v1.2.3, 12:30, LED-4102, GB/s, `foo::bar`",
        "eval(input()); SELECT * FROM users; <b>bold</b>",
    ],
)
def test_ordinary_content_is_left_alone(text: str) -> None:
    assert redact(text, KEY).text == text


def test_a_marker_names_kind_and_keyed_digest_and_not_the_secret() -> None:
    token = TOKENS["github-token"]
    digest = hmac.digest(KEY, token.encode(), hashlib.sha256).hex()[:8]
    result = redact(f"{token} again {token}", KEY)
    marker = f"[secret:github-token:{digest}]"
    assert result.text == f"{marker} again {marker}"
    assert result.findings == (Finding("github-token", marker),) * 2
    assert redact(token, b"another store").text != marker


def test_a_key_block_cut_in_two_goes_as_far_as_it_looks_like_one() -> None:
    cut = block("PRIVATE" + " KEY", end="")
    result = redact(f"before {cut}\nThis sentence stays.", KEY)
    assert result.text == f"before {result.findings[0].marker}\n\nThis sentence stays."


def test_a_key_block_written_with_escaped_line_ends_goes_whole() -> None:
    text = json.dumps({"key": block("EC PRIVATE" + " KEY")})
    assert json.loads(redact(text, KEY).text) == {"key": redact(text, KEY).findings[0].marker}


fragments = st.sampled_from(
    [
        *TOKENS.values(),
        *(
            "password",
            "token",
            "PASSWORD=",
            "api_key: ",
            "secret=",
            "Authorization: Bearer ",
            "://u:",
            "@h",
            "--token ",
        ),
        *(
            "hunter2",
            "x",
            " ",
            "\n",
            '"',
            "'",
            "\\",
            "[",
            "]",
            "(",
            ")",
            "{",
            "<",
            ":",
            "=",
            ".",
            "*",
            "日",
            "-u a:",
        ),
        *("[secret:", "[secret:jwt:0a1b2c3d]", "secret", "0a1b2c3d]"),
    ]
)


@given(st.lists(fragments, max_size=14).map("".join) | st.text(max_size=60))
def test_a_second_pass_finds_nothing_more(text: str) -> None:
    once = redact(text, KEY).text
    assert redact(once, KEY).text == once


@given(st.text(max_size=40), st.sampled_from([*TOKENS.values()]), st.text(max_size=20))
def test_no_token_of_a_known_shape_survives(before: str, token: str, after: str) -> None:
    assert token not in redact(f"{before} {token} {after}", KEY).text


ADVERSARIAL = {
    "dashes": "-" * 50_000 + " password",
    "jwt starts": "-eyJ" * 12_500,
    "names": "secret_access_" * 3_500,
    "open quotes": "token='\"" * 6_000,
    "escaped quotes": 'password=\\"' * 5_000,
    "backslashes": "token=" + "\\" * 50_000,
    "spaces": "password:" + " " * 50_000,
    "brackets": "password=" + ")" * 50_000,
    "opening brackets": "PASSWORD=a" + "(" * 50_000,
    "attributes": "password=" + "a." * 25_000 + "(",
    "templates": 'password="' + "{a" * 25_000 + '"',
    "elements": "<a" * 25_000 + "password",
    "flags": "--a" * 16_000 + " password",
    "commands": "mysql " * 8_000 + "-p",
    "ampersands": "password=" + "&a" * 25_000,
    "URLs": "://a:" * 10_000,
    "key blocks": ("-----BEGIN " + "PRIVATE KEY-----") * 1_800,
}


@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_texts_made_to_stall_a_search_are_read_to_the_end(text: str) -> None:
    """Each takes minutes where a rule is worse than linear."""
    token = TOKENS["github-token"]
    assert token not in redact(f"{text} {token}", KEY).text


def test_json_is_redacted_value_by_value() -> None:
    given_value: JsonValue = {
        "db": {"password": "hunter2", "port": 5432, "passwords": None},
        "pin": {"password": 123456},
        "notes": ["token " + TOKENS["jwt"], True, 1.5],
        "api_key": ["abc123def"],
        "password": 'a "quoted" one',
        "token": "the",
    }
    value, findings = redact_json(given_value, KEY)
    markers = [finding.marker for finding in findings]
    assert [finding.kind for finding in findings] == ["password", "password", "jwt", "key", "password"]
    assert value == {
        "db": {"password": markers[0], "port": 5432, "passwords": None},
        "pin": {"password": markers[1]},
        "notes": [f"token {markers[2]}", True, 1.5],
        "api_key": [markers[3]],
        "password": markers[4],
        "token": "the",
    }
    assert redact_json(value, KEY) == (value, ())


def test_a_secret_that_is_a_key_of_json_goes_too() -> None:
    token = TOKENS["github-token"]
    value, findings = redact_json(
        {token: {"note": "a"}, "env": {"mysql -pS3cret99": 1}, "fine": [token]}, KEY
    )
    markers = [finding.marker for finding in findings]
    assert [finding.kind for finding in findings] == ["github-token", "password", "github-token"]
    assert value == {markers[0]: {"note": "a"}, "env": {f"mysql -p{markers[1]}": 1}, "fine": [markers[2]]}
    assert redact_json(value, KEY) == (value, ())


DISGUISES: dict[str, Callable[[str], str]] = {
    "zero width": "\u200b".join,
    "full width": lambda text: "".join(
        chr(ord(letter) + 0xFEE0) if letter.isalnum() else letter for letter in text
    ),
    "mixed": lambda text: f"{text[:3]}\u2060\ufe0f{text[3:9]}\u00ad{text[9:]}",
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES.keys())
def test_a_secret_is_found_under_what_the_search_does_not_see(disguise: Callable[[str], str]) -> None:
    token = TOKENS["github-token"]
    plain = redact(f"before {token} after", KEY)
    found = redact(f"zum\u200bBeispiel {disguise(token)} ☀️ after", KEY)
    assert found.findings == plain.findings
    assert found.text == f"zum\u200bBeispiel {plain.findings[0].marker} ☀️ after"
    assert redact(found.text, KEY).findings == ()
    (kept, findings) = redact_json({disguise("password"): "correct horse"}, KEY)
    assert [finding.kind for finding in findings] == ["password"]
    assert "horse" not in str(kept)


@pytest.mark.parametrize("text", ["a\u200bb", "ｆｕｌｌ　ｗｉｄｔｈ", "☀️ the token\u200b is rotated weekly"])
def test_disguised_prose_stays_as_written(text: str) -> None:
    assert redact(text, KEY).text == text
