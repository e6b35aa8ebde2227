from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from m3_memory.config import (
    SETTINGS,
    Settings,
    host_environment,
    is_unexpanded,
    load_settings,
    make_home,
    show_settings,
)
from m3_memory.errors import InvalidSettings, StoreUnreachable
from tests.rights import without_root_rights


def environment(home: Path, **variables: str) -> dict[str, str]:
    return {"M3_HOME": str(home), **variables}


def written(home: Path, text: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / "m3_config.toml").write_text(text, encoding="utf-8")
    return environment(home)


def refusal(environment: dict[str, str]) -> str:
    with pytest.raises(InvalidSettings) as raised:
        load_settings(environment)
    assert raised.value.hint
    return raised.value.message


def test_without_a_file_everything_has_its_default(home: Path) -> None:
    assert load_settings(environment(home)) == Settings(home)
    assert Settings(home).store == str(home / "m3.db")
    assert not home.exists()


def test_the_home_is_a_folder_of_the_users_unless_a_variable_names_another(home: Path) -> None:
    assert load_settings({}).home == Path("~/.m3").expanduser()
    assert load_settings({"M3_HOME": ""}).home == Path("~/.m3").expanduser()
    assert load_settings({"M3_HOME": "~/elsewhere"}).home == Path("~/elsewhere").expanduser()
    assert load_settings(environment(home)).home == home


@pytest.mark.parametrize(
    "text", ["${M3_HOME}", "${env:M3_HOME}", "$M3_HOME", "%M3_HOME%", "memories", "~nobody-here/m3"]
)
def test_a_home_that_names_no_folder_for_certain_is_refused(text: str) -> None:
    assert text in refusal({"M3_HOME": text})


def test_the_file_sets_what_it_names_and_nothing_else(home: Path) -> None:
    found = load_settings(
        written(home, 'secrets = "refuse"\ndurability = "full"\ntimeout_seconds = 5\nuser_id = "ann"\n')
    )
    assert found == Settings(home, secrets="refuse", durability="full", timeout_seconds=5.0, user_id="ann")
    assert isinstance(found.timeout_seconds, float)


def test_a_file_saved_by_a_windows_editor_is_read(home: Path) -> None:
    home.mkdir()
    (home / "m3_config.toml").write_bytes(b'\xef\xbb\xbfsecrets = "allow"\r\nuser_id = "ann"\r\n')
    assert load_settings(environment(home)) == Settings(home, secrets="allow", user_id="ann")


def test_a_variable_goes_before_the_file_and_an_empty_one_is_absent(home: Path) -> None:
    given = written(home, 'embedder = "off"\n')
    assert load_settings(given | {"M3_EMBEDDER": "hashing"}).embedder == "hashing"
    assert load_settings(given | {"M3_EMBEDDER": ""}).embedder == "off"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('secret = "allow"', "secret"),
        ('secrets = "alow"', "secrets"),
        ("secrets = true", "secrets"),
        ('timeout_seconds = "30"', "timeout_seconds"),
        ("timeout_seconds = true", "timeout_seconds"),
        ("timeout_seconds = 0", "timeout_seconds"),
        ("timeout_seconds = nan", "timeout_seconds"),
        ("timeout_seconds = inf", "timeout_seconds"),
        ('user_id = ""', "user_id"),
        ('user_id = " ann"', "user_id"),
        ('user_id = "a\\nb"', "user_id"),
        ("user_id = 7", "user_id"),
        ('[embedder]\nname = "off"', "embedder"),
        ('home = "/elsewhere"', "home"),
        ('database_url = "mysql://localhost/x"', "database_url"),
    ],
)
def test_a_wrong_entry_is_refused_naming_file_and_key(home: Path, text: str, key: str) -> None:
    message = refusal(written(home, text))
    assert str(home / "m3_config.toml") in message
    assert key in message


def test_a_wrong_variable_is_refused_by_its_name(home: Path) -> None:
    assert "M3_EMBEDDER" in refusal(environment(home, M3_EMBEDDER="large"))
    assert "M3_DATABASE_URL" in refusal(environment(home, M3_DATABASE_URL="localhost/m3"))


@pytest.mark.parametrize("held", [b'secrets = "allow"\nuser_id = ', b'secrets = "allow"\n\xff', b"\x00"])
def test_a_broken_file_stops_everything_so_no_laxer_rule_for_secrets_holds(home: Path, held: bytes) -> None:
    home.mkdir()
    (home / "m3_config.toml").write_bytes(held)
    assert str(home / "m3_config.toml") in refusal(environment(home))


def test_a_file_that_is_a_folder_is_refused(home: Path) -> None:
    (home / "m3_config.toml").mkdir(parents=True)
    assert str(home / "m3_config.toml") in refusal(environment(home))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="dropping root's rights needs Linux")
def test_a_file_that_cannot_be_read_is_refused(home: Path) -> None:
    given = written(home, 'secrets = "allow"\n')
    (home / "m3_config.toml").chmod(0)
    done = subprocess.run(
        without_root_rights([sys.executable, "-m", "m3_memory", "config"]),
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert str(home / "m3_config.toml") in done.stderr


def test_a_wrong_address_is_not_repeated_in_the_message(home: Path) -> None:
    with pytest.raises(InvalidSettings) as raised:
        load_settings(environment(home, M3_DATABASE_URL="pgsql://ann:hunter2@db/m3"))
    assert "hunter2" not in raised.value.message + raised.value.hint


ENDPOINT = 'embedder = "endpoint"\nembedder_model = "bge-m3"\n'


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://localhost:11434/v1/", "http://localhost:11434/v1/embeddings"),
        ("http://127.0.0.2:1234/v1/embeddings", "http://127.0.0.2:1234/v1/embeddings"),
        ("https://[::1]/openai", "https://[::1]:443/openai/embeddings"),
    ],
)
def test_an_endpoint_on_this_machine_is_asked_where_the_settings_say(
    home: Path, url: str, asked: str
) -> None:
    address = load_settings(written(home, f'{ENDPOINT}embedder_url = "{url}"')).embedder_address
    assert address.shown == asked


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://192.168.1.5:11434/v1",
        "http://0.0.0.0:11434/v1",
        "http://localhost.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://127.1/v1",
        "http://2130706433/v1",
        "http://0x7f000001/v1",
        "http://[::ffff:192.168.1.5]/v1",
    ],
)
def test_no_other_machine_gets_texts_unless_it_is_named_once_more(home: Path, url: str) -> None:
    setting = f'{ENDPOINT}embedder_url = "{url}"\n'
    assert "is not this machine" in refusal(written(home, setting))
    assert refusal(written(home, setting + 'embedder_remote_host = "other.example.com"'))
    host = url.partition("//")[2].partition("/")[0].removesuffix(":11434").strip("[]")
    found = load_settings(written(home, f'{setting}embedder_remote_host = "{host}"')).embedder_address
    assert found.host == host


@pytest.mark.parametrize(
    "text",
    [
        'embedder = "endpoint"\nembedder_url = "http://localhost:11434"',
        'embedder = "endpoint"\nembedder_model = "bge-m3"',
        f'{ENDPOINT}embedder_url = "http://ann:hunter2@localhost/v1"',
        f'{ENDPOINT}embedder_url = "http://localhost/v1?key=hunter2"',
        f'{ENDPOINT}embedder_url = "http://localhost:hunter2/v1"',
        f'{ENDPOINT}embedder_url = "http:///v1"',
        f'{ENDPOINT}embedder_url = "httpx://localhost/v1"',
        f'{ENDPOINT}embedder_url = "http://localhost/v1 hunter2"',
        'embedder = "folder"',
        'embedder = "folder"\nembedder_folder = "models"',
        'embedder = "folder"\nembedder_folder = "~nobody-here/models"',
        'embedder_api_key = "hunter2"',
    ],
)
def test_settings_that_name_no_model_to_ask_are_refused(home: Path, text: str) -> None:
    assert "hunter2" not in refusal(written(home, text))


def test_a_key_is_taken_from_the_environment_and_never_shown(home: Path) -> None:
    given = written(home, f'{ENDPOINT}embedder_url = "http://localhost:11434"')
    given |= {"M3_EMBEDDER_API_KEY": "sk-hunter2"}
    found = load_settings(given)
    assert found.embedder_api_key == "sk-hunter2"
    assert "hunter2" not in repr(found)
    assert {row.name: row.value for row in show_settings(given)}["embedder_api_key"] == "***"
    assert "hunter2" not in refusal(environment(home, M3_EMBEDDER_API_KEY="hunter2\r\nX: y"))
    assert "hunter2" not in refusal(environment(home, M3_EMBEDDER_API_KEY="hunter2é"))


def test_a_key_travels_to_another_machine_by_https_alone(home: Path) -> None:
    key = {"M3_EMBEDDER_API_KEY": "sk-hunter2"}
    elsewhere = f'{ENDPOINT}embedder_remote_host = "gpu.lan"\nembedder_url = '
    assert "unencrypted" in refusal(written(home, elsewhere + '"http://gpu.lan:8000/v1"') | key)
    assert load_settings(written(home, elsewhere + '"https://gpu.lan:8000/v1"') | key)
    assert load_settings(written(home, elsewhere + '"http://gpu.lan:8000/v1"'))


def test_prefixes_keep_their_spaces_and_lines(home: Path) -> None:
    text = 'embedder_query_prefix = "Instruct: find\\nQuery: "\nembedder_document_prefix = "passage: "'
    found = load_settings(written(home, text))
    assert found.embedder_query_prefix == "Instruct: find\nQuery: "
    assert found.embedder_document_prefix == "passage: "


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:hunter2@db:5432/m3", "postgresql://ann:***@db:5432/m3"),
        ("postgresql://ann:hunter2@x@db/m3", "postgresql://ann:***@db/m3"),
        ("postgresql:///m3?user=ann&password=hunter2&x=1", "postgresql:///m3?user=ann&password=***&x=1"),
        ("postgresql://ann@db/m3", "postgresql://ann@db/m3"),
        ("postgresql://db:5432/m3", "postgresql://db:5432/m3"),
    ],
)
def test_passwords_are_used_and_never_shown(home: Path, url: str, shown: str) -> None:
    given = environment(home, M3_DATABASE_URL=url)
    settings = load_settings(given)
    assert settings.store == url
    assert "hunter2" not in repr(settings)
    assert {row.name: row.value for row in show_settings(given)}["database_url"] == shown


def test_each_setting_is_shown_with_its_value_and_where_it_came_from(home: Path) -> None:
    given = written(home, 'secrets = "refuse"\nembedder = "off"\n') | {"M3_EMBEDDER": "hashing"}
    shown = {row.name: (row.value, row.source) for row in show_settings(given)}
    assert shown["secrets"] == ("refuse", str(home / "m3_config.toml"))
    assert shown["embedder"] == ("hashing", "environment variable M3_EMBEDDER")
    assert shown["durability"] == ("normal", "default")
    assert shown["home"] == (str(home), "environment variable M3_HOME")


def test_the_table_is_small_and_says_what_each_setting_means() -> None:
    assert len(SETTINGS) <= 40
    assert [row.name for row in SETTINGS if len(row.meaning) < 10] == []
    assert [row.name for row in SETTINGS if row.choices and row.default not in row.choices] == []


def test_a_new_home_is_its_users_alone(home: Path) -> None:
    previous = os.umask(0)
    try:
        make_home(home / "deeper")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((home / "deeper").stat().st_mode) == 0o700


def test_a_home_that_is_there_is_left_as_it_is(home: Path) -> None:
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    make_home(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


def test_a_home_that_cannot_be_made_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnreachable, match="file"):
        make_home(tmp_path / "file" / "m3")


def test_the_host_names_folder_and_session_by_its_own_variables() -> None:
    found = host_environment(
        {"CLAUDE_PROJECT_DIR": "/work/atlas", "CLAUDE_CODE_SESSION_ID": "s1", "TMPDIR": "/scratch"}
    )
    assert (found.project, found.project_variable, found.session_id) == (
        "/work/atlas",
        "CLAUDE_PROJECT_DIR",
        "s1",
    )
    assert {"/scratch", "/tmp"} <= set(found.temporary)
    assert host_environment({}).project == host_environment({}).session_id == ""


@pytest.mark.parametrize(
    "text",
    ["${workspaceFolder}", "${env:X}/sub", "$CLAUDE_PROJECT_DIR", "%CD%", "{{workspace}}", "{env:PWD}"],
)
def test_what_a_host_left_unexpanded_is_recognised(text: str) -> None:
    assert is_unexpanded(text)


@pytest.mark.parametrize("text", ["", "/home/ann/atlas", "/srv/$cash", "50% done", "{atlas}", "git@host:a/b"])
def test_ordinary_folders_and_names_are_not_taken_for_variables(text: str) -> None:
    assert not is_unexpanded(text)
