"""The settings: one declaration per setting, and the only module that reads the environment.

Everything lives in one home folder (`M3_HOME`, by default `~/.m3`): the settings file `m3_config.toml` and
the store `m3.db`. A setting comes from its environment variable if it has one and that is set, else from the
file, else from its default. A file that can't be understood stops every call: nothing in it is guessed, so a
broken file never means that secrets are kept. No file in a project sets anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

from m3_memory.errors import InvalidSettings, StoreUnreachable

FILE_NAME = "m3_config.toml"
STORE_NAME = "m3.db"
_DEFAULT_HOME = "~/.m3"
_VARIABLE = re.compile(r"\$\{|^\$[A-Za-z_]|^%\w+%|^\{\{|^\{\w+:")
_PASSWORD = re.compile(r"(://[^:@/]*:).*(?=@)|(password=)[^&]*")

Raw: TypeAlias = "str | int | float | bool | list[Any] | dict[str, Any]"
Environment: TypeAlias = Mapping[str, str]


class Setting(NamedTuple):
    """One row of the settings table; the last three are read from the declaration it stands in.

    `low` and `high` bound a number, or the length of a text. A setting with a `prefix` is an address that may
    hold a password: it is never shown whole.
    """

    meaning: str
    variable: str = ""
    low: float = 0
    high: float = 500
    prefix: str = ""
    in_file: bool = True
    name: str = ""
    default: str | float = ""
    choices: tuple[str, ...] = ()


class Shown(NamedTuple):
    """One setting as people see it: its value (passwords hidden) and where that came from."""

    name: str
    value: str | float
    source: str
    meaning: str
    variable: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What this installation was told; made by `load_settings`, or by hand in tests.

    `home` has no default here, so that no code falls back on a person's own folder by accident.
    """

    home: Annotated[
        Path, Setting("Folder of the settings file and of the store.", "M3_HOME", high=4096, in_file=False)
    ]
    database_url: Annotated[
        str,
        Setting(
            "PostgreSQL store, as postgresql://user:password@host/name; if empty, m3.db in the home folder.",
            "M3_DATABASE_URL",
            high=4096,
            prefix="postgresql://",
        ),
    ] = field(default="", repr=False)
    embedder: Annotated[
        Literal["minilm", "hashing", "off"],
        Setting("Model for search by meaning; hashing is for tests, off means by words only.", "M3_EMBEDDER"),
    ] = "minilm"
    secrets: Annotated[
        Literal["redact", "refuse", "allow"],
        Setting("Passwords and keys found in a text are replaced by a marker, refused, or kept."),
    ] = "redact"
    durability: Annotated[
        Literal["normal", "full"],
        Setting("full waits for the disk at every write: a power failure loses nothing acknowledged."),
    ] = "normal"
    user_id: Annotated[str, Setting("Whose memories these are.", low=1, high=200)] = "local"
    timeout_seconds: Annotated[float, Setting("Longest time one call may take.", low=0.1, high=300)] = 30.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Setting("How much is written to the standard error stream.", "M3_LOG_LEVEL"),
    ] = "warning"

    @property
    def store(self) -> str:
        """What to open: the PostgreSQL address, or the path of the SQLite file."""
        return self.database_url or str(self.home / STORE_NAME)


def _table() -> tuple[Setting, ...]:
    hints = get_type_hints(Settings, include_extras=True)
    rows: list[Setting] = []
    for declared in fields(Settings):
        kind, row = get_args(hints[declared.name])
        default = _DEFAULT_HOME if declared.default is MISSING else declared.default
        rows.append(row._replace(name=declared.name, default=default, choices=get_args(kind)))
    return tuple(rows)


SETTINGS = _table()


def load_settings(environment: Environment | None = None) -> Settings:
    """The settings in force. Raises InvalidSettings, naming the file or variable and the key."""
    return _load(os.environ if environment is None else environment)[0]


def show_settings(environment: Environment | None = None) -> list[Shown]:
    """Every setting with its value and source, in the order of the table. Raises InvalidSettings."""
    settings, sources = _load(os.environ if environment is None else environment)
    return [
        Shown(
            row.name, _visible(row, getattr(settings, row.name)), sources[row.name], row.meaning, row.variable
        )
        for row in SETTINGS
    ]


def make_home(home: Path) -> None:
    """Makes the home folder, readable by its user alone; leaves one that is there as it is.

    Raises StoreUnreachable if it can't be made.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreachable(
            f"the folder {home} can't be made: {error.strerror or error}",
            "make it yourself, or name another with M3_HOME",
        ) from error


class HostEnvironment(NamedTuple):
    """What the system and the host that started this process say; empty where they say nothing."""

    project: str = ""
    project_variable: str = ""
    session_id: str = ""
    home: str = ""
    temporary: tuple[str, ...] = ()


# Which host sets which: Claude Code, Devin, Crush.
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "DEVIN_PROJECT_DIR", "CRUSH_PROJECT_DIR")
_SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "CRUSH_SESSION_ID")
_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_TEMPORARY_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108


def host_environment(environment: Environment | None = None) -> HostEnvironment:
    """The host's project folder and session, the user's home, the system's temporary folders."""
    given = os.environ if environment is None else environment
    project = next((name for name in _PROJECT_VARIABLES if given.get(name)), "")
    session = next((given[name] for name in _SESSION_VARIABLES if given.get(name)), "")
    temporary = tuple(given[name] for name in _TEMPORARY_VARIABLES if given.get(name))
    home = given.get("HOME") or str(Path("~").expanduser())
    return HostEnvironment(given.get(project, ""), project, session, home, temporary + _TEMPORARY_FOLDERS)


def is_unexpanded(text: str) -> bool:
    """Whether a host left a variable of its configuration in the text instead of its value."""
    return bool(_VARIABLE.search(text))


def _load(environment: Environment) -> tuple[Settings, dict[str, str]]:
    home = _home(environment.get("M3_HOME") or _DEFAULT_HOME)
    path = home / FILE_NAME
    values: dict[str, Any] = {row.name: row.default for row in SETTINGS}
    sources = dict.fromkeys(values, "default")
    for key, raw in _read_file(path).items():
        values[key] = _checked(_file_row(key, path), raw, str(path))
        sources[key] = str(path)
    for row in SETTINGS:
        if row.variable and (text := environment.get(row.variable)):
            sources[row.name] = f"environment variable {row.variable}"
            values[row.name] = _checked(row, text, sources[row.name])
    values["home"] = home
    return Settings(**values), sources


def _home(text: str) -> Path:
    if is_unexpanded(text):
        raise InvalidSettings(
            f"M3_HOME holds a variable that was not replaced: {text}",
            "write the folder out, or remove M3_HOME to use ~/.m3",
        )
    try:
        home = Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidSettings("this user has no home folder", "name a folder with M3_HOME") from error
    if not home.is_absolute():
        raise InvalidSettings(f"M3_HOME is not an absolute path: {text}", "write the whole path, from / or ~")
    return home


def _read_file(path: Path) -> dict[str, Raw]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidSettings(f"{path} can't be read: {error.strerror}", "make it readable") from error
    except UnicodeDecodeError as error:
        raise InvalidSettings(f"{path} is not UTF-8 text", "save it as UTF-8") from error
    import tomllib  # only who has a settings file pays for the parser

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"{path} is not valid TOML: {error}", "correct the line named") from error


def _file_row(key: str, path: Path) -> Setting:
    row = next((row for row in SETTINGS if row.name == key), None)
    if row is None:
        known = ", ".join(row.name for row in SETTINGS if row.in_file)
        raise InvalidSettings(f"{path}: unknown key {key}", f"the keys are: {known}")
    if not row.in_file:
        raise InvalidSettings(f"{path}: {key} can't be set in the file", f"set the variable {row.variable}")
    return row


def _checked(row: Setting, raw: Raw, source: str) -> str | float:
    if isinstance(row.default, str):
        return _checked_text(row, raw, source)
    number = raw if isinstance(raw, int | float) and not isinstance(raw, bool) else None
    if number is None or not row.low <= number <= row.high:
        raise _wrong(row, source, f"must be a number from {row.low:g} to {row.high:g}")
    return float(number)


def _checked_text(row: Setting, raw: Raw, source: str) -> str:
    if not isinstance(raw, str):
        raise _wrong(row, source, "must be a text in quotes")
    if row.choices and raw not in row.choices:
        raise _wrong(row, source, f"must be one of {', '.join(row.choices)}")
    if not row.low <= len(raw) <= row.high or not raw.isprintable() or raw != raw.strip():
        raise _wrong(row, source, f"must be {row.low:g} to {row.high:g} plain characters")
    if raw and not raw.startswith(row.prefix):
        raise _wrong(row, source, f"must begin with {row.prefix}")
    return raw


def _wrong(row: Setting, source: str, rule: str) -> InvalidSettings:
    return InvalidSettings(f"{source}: {row.name} {rule}", row.meaning)


def _visible(row: Setting, value: object) -> str | float:
    if isinstance(value, float):
        return value
    return _PASSWORD.sub(r"\1\2***", str(value)) if row.prefix else str(value)
