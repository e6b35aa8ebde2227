"""The settings: one declaration per setting, and the only module that reads the environment.

Everything lives in one home folder (`M3_HOME`, by default `~/.m3`): the settings file `m3_config.toml` and
the store `m3.db`. A setting comes from its environment variable if it has one and that is set, else from the
file, else from its default. A file that can't be understood stops every call: nothing in it is guessed, so a
broken file never means that secrets are kept. No file in a project sets anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

from m3_memory.declared_stores import MAIN, DeclaredStore, read_stores
from m3_memory.errors import InvalidSettings, StoreUnreachable
from m3_memory.setting import Raw, Setting, checked, expanded, visible

if TYPE_CHECKING:
    from m3_memory.kernel.endpoint import Address

FILE_NAME = "m3_config.toml"
STORE_NAME = "m3.db"
_DEFAULT_HOME = "~/.m3"
_VARIABLE = re.compile(r"\$\{|^\$[A-Za-z_]|^%\w+%|^\{\{|^\{\w+:")
_STORES = "stores"

Environment: TypeAlias = Mapping[str, str]


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
        Literal["minilm", "endpoint", "folder", "hashing", "off"],
        Setting(
            "Model for search by meaning: the one inside, a server's, or a folder's; off means by words only,"
            " hashing is for tests.",
            "M3_EMBEDDER",
        ),
    ] = "minilm"
    embedder_url: Annotated[
        str,
        Setting(
            "endpoint: address of an OpenAI-compatible server, such as http://localhost:11434/v1.",
            high=1000,
            prefix="http",
        ),
    ] = ""
    embedder_model: Annotated[str, Setting("endpoint: the model's name there.", high=200)] = ""
    embedder_remote_host: Annotated[
        str,
        Setting(
            "endpoint: the host of embedder_url once more, if that is not this machine; it reads all texts."
        ),
    ] = ""
    embedder_api_key: Annotated[
        str,
        Setting(
            "endpoint: the key it asks for; kept in the environment alone, shown and stored nowhere.",
            "M3_EMBEDDER_API_KEY",
            high=4096,
            in_file=False,
            is_secret=True,
        ),
    ] = field(default="", repr=False)
    embedder_folder: Annotated[
        str,
        Setting(
            "folder: where the model's files are: model.onnx, its vocabulary, its config.json.", high=4096
        ),
    ] = ""
    embedder_query_prefix: Annotated[
        str, Setting("endpoint, folder: what the model wants to read before a question.", is_verbatim=True)
    ] = ""
    embedder_document_prefix: Annotated[
        str, Setting("endpoint, folder: what the model wants to read before a text.", is_verbatim=True)
    ] = ""
    secrets: Annotated[
        Literal["redact", "refuse", "allow"],
        Setting("Passwords and keys found in a text are replaced by a marker, refused, or kept."),
    ] = "redact"
    contradiction: Annotated[
        Literal["auto", "propose", "off"],
        Setting(
            "What a statement that contradicts another does: end the older, open a question, or nothing.",
            "M3_CONTRADICTION",
        ),
    ] = "auto"
    durability: Annotated[
        Literal["normal", "full"],
        Setting("full waits for the disk at every write: a power failure loses nothing acknowledged."),
    ] = "normal"
    user_id: Annotated[str, Setting("Whose memories these are.", low=1, high=200)] = "local"
    timeout_seconds: Annotated[float, Setting("Longest time one call may take.", low=0.1, high=300)] = 30.0
    backup_hours: Annotated[
        float,
        Setting("Hours between scheduled backups of the main SQLite store; 0 makes none.", high=8760),
    ] = 24.0
    backup_keep: Annotated[
        float, Setting("How many scheduled backups are kept; other backups stay.", low=1, high=1000)
    ] = 7.0
    importance_half_life_days: Annotated[
        float,
        Setting(
            "Days without use in which importance counts half as much for ranking; 0: always in full.",
            high=100_000,
        ),
    ] = 138.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Setting("How much is written to the standard error stream.", "M3_LOG_LEVEL"),
    ] = "warning"
    stores: tuple[DeclaredStore, ...] = ()
    """The named stores that the file declares beside the main one, by name."""

    @property
    def store(self) -> str:
        """What to open: the PostgreSQL address, or the path of the SQLite file."""
        return self.database_url or str(self.home / STORE_NAME)

    @property
    def backup_folder(self) -> Path:
        """Where backups go unless another folder is named."""
        return self.home / "backups"

    @property
    def embedder_address(self) -> Address:
        """Where the endpoint is. Raises InvalidSettings for one that may not be asked."""
        from m3_memory.kernel.endpoint import read_address  # only who has one pays for it

        return read_address(self.embedder_url, self.embedder_remote_host, has_key=bool(self.embedder_api_key))

    def backups_of(self, store: str) -> Path:
        """The folder that copies of this store go to: one of its own, unless it is the main one."""
        return self.backup_folder if store in ("", MAIN) else self.backup_folder / store

    @property
    def all_stores(self) -> dict[str, DeclaredStore]:
        """Every store by its name, the main one first."""
        return {store.name: store for store in (DeclaredStore(MAIN, self.store), *self.stores)}


def _table() -> tuple[Setting, ...]:
    hints = get_type_hints(Settings, include_extras=True)
    rows: list[Setting] = []
    for declared in fields(Settings):
        if declared.name == _STORES:
            continue
        kind, row = get_args(hints[declared.name])
        default = _DEFAULT_HOME if declared.default is MISSING else declared.default
        rows.append(row._replace(name=declared.name, default=default, choices=get_args(kind)))
    return tuple(rows)


SETTINGS = _table()


def load_settings(environment: Environment | None = None) -> Settings:
    """The settings in force. Raises InvalidSettings, naming the file or variable and the key."""
    return _load(os.environ if environment is None else environment)[0]


def show_settings(environment: Environment | None = None) -> list[Shown]:
    """Every setting with its value and source, in the order of the table, then the named stores.

    Raises InvalidSettings.
    """
    settings, sources = _load(os.environ if environment is None else environment)
    shown = [
        Shown(
            row.name, visible(row, getattr(settings, row.name)), sources[row.name], row.meaning, row.variable
        )
        for row in SETTINGS
    ]
    return shown + [_shown_store(store, sources[_STORES]) for store in settings.stores]


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


# Which host sets which: Claude Code, Devin, Crush, Cursor. Cursor's names every folder of a window.
_FOLDERS_VARIABLE = "WORKSPACE_FOLDER_PATHS"
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "DEVIN_PROJECT_DIR", "CRUSH_PROJECT_DIR", _FOLDERS_VARIABLE)
_SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "CRUSH_SESSION_ID")
_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_TEMPORARY_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108


def host_environment(environment: Environment | None = None) -> HostEnvironment:
    """The host's project folder and session, the user's home, the system's temporary folders."""
    given = os.environ if environment is None else environment
    project = next((name for name in _PROJECT_VARIABLES if _is_project(name, given.get(name, ""))), "")
    session = next((given[name] for name in _SESSION_VARIABLES if given.get(name)), "")
    temporary = tuple(given[name] for name in _TEMPORARY_VARIABLES if given.get(name))
    home = given.get("HOME") or str(expanded("~"))
    return HostEnvironment(given.get(project, ""), project, session, home, temporary + _TEMPORARY_FOLDERS)


def set_variables(names: Iterable[str], environment: Environment | None = None) -> dict[str, str]:
    """Those of the variables named, such as hosts move their folders by, that are set to something."""
    given = os.environ if environment is None else environment
    return {name: given[name] for name in names if given.get(name)}


def is_unexpanded(text: str) -> bool:
    """Whether a host left a variable of its configuration in the text instead of its value."""
    return bool(_VARIABLE.search(text))


def _is_project(variable: str, value: str) -> bool:
    """Whether a variable's value names one folder; of several, none is the project."""
    return bool(value) and (variable != _FOLDERS_VARIABLE or ("," not in value and Path(value).is_absolute()))


def _load(environment: Environment) -> tuple[Settings, dict[str, str]]:
    home = _home(environment.get("M3_HOME") or _DEFAULT_HOME)
    path = home / FILE_NAME
    values: dict[str, Any] = {row.name: row.default for row in SETTINGS}
    sources = dict.fromkeys(values, "default") | {_STORES: str(path)}
    written = _read_file(path)
    values[_STORES] = read_stores(written.pop(_STORES, {}), home, str(path))
    for key, raw in written.items():
        values[key] = checked(_file_row(key, path), raw, str(path))
        sources[key] = str(path)
    for row in SETTINGS:
        if row.variable and (text := environment.get(row.variable)):
            sources[row.name] = f"environment variable {row.variable}"
            values[row.name] = checked(row, text, sources[row.name])
    values["home"] = home
    return _fitting(Settings(**values)), sources


def _home(text: str) -> Path:
    if is_unexpanded(text):
        raise InvalidSettings(
            f"M3_HOME holds a variable that was not replaced: {text}",
            "write the folder out, or remove M3_HOME to use ~/.m3",
        )
    home = expanded(text)
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
        known = ", ".join([*(row.name for row in SETTINGS if row.in_file), "[stores.NAME]"])
        raise InvalidSettings(f"{path}: unknown key {key}", f"the keys are: {known}")
    if not row.in_file:
        raise InvalidSettings(f"{path}: {key} can't be set in the file", f"set the variable {row.variable}")
    return row


def _fitting(settings: Settings) -> Settings:
    """The same settings, if what they say together makes sense."""
    for store in settings.stores:
        where = f"{settings.home / FILE_NAME}: stores.{store.name}"
        if is_unexpanded(store.location):
            raise InvalidSettings(f"{where} holds a variable, which nothing replaces here", "write it out")
        if store.location == settings.store:
            raise InvalidSettings(f"{where} is the main store", "take its table out")
    if settings.embedder == "endpoint":
        _ = settings.embedder_address
        if not settings.embedder_model:
            raise InvalidSettings("embedder_model names no model", "write its name as the server lists it")
    if settings.embedder == "folder" and not expanded(settings.embedder_folder).is_absolute():
        raise InvalidSettings("embedder_folder names no folder", "write the whole path, from / or ~")
    return settings


def _shown_store(store: DeclaredStore, source: str) -> Shown:
    value = f"{store.shown} (read-only)" if store.read_only else store.shown
    return Shown(f"{_STORES}.{store.name}", value, source, store.description or "A named store.", "")
