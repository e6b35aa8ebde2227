"""The command line from outside: what is printed where, and the exit code."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import m3_memory
from tests.rights import without_root_rights
from tests.surfaces.command_line import COMMAND, CommandLine, command_line
from tests.unit.git_folders import origin, repository

CONTENT = "The release is cut from the branch stable"


@pytest.fixture
def m3(tmp_path: Path) -> CommandLine:
    """A command line standing in a project, searching by words only."""
    return command_line(repository(tmp_path / "atlas", origin()))


@pytest.fixture
def written(m3: CommandLine) -> str:
    """The id of a memory written through the command line."""
    found: str = m3.run("memory", "write", CONTENT, "--type", "decision").answer["id"]
    return found


def test_a_memory_written_in_one_process_is_found_in_the_next(m3: CommandLine, written: str) -> None:
    hits = m3.run("memory", "search", "release branch", "--k", "3").answer["hits"]
    assert [(hit["id"], hit["content"], hit["agent_id"]) for hit in hits] == [(written, CONTENT, "cli")]


def test_every_way_to_name_a_tool_and_its_arguments_makes_the_same_call(
    m3: CommandLine, written: str
) -> None:
    answers = [
        m3.run("memory", "get", written),
        m3.run("memory", "get", "--id", written),
        m3.run("memory", "memory_get", f"--id={written}"),
        m3.run("call", "memory_get", json.dumps({"id": written})),
        m3.run("call", "memory_get", "-", stdin=json.dumps({"id": written})),
        m3.run("--json", "memory", "get", written),
        m3.run("memory", "get", written, "--json"),
    ]
    assert answers[0].answer["memory"]["content"] == CONTENT
    assert [done.answer for done in answers] == [answers[0].answer] * len(answers)
    through_dispatcher = m3.run(
        "admin", "m3-call", "--tool", "memory_get", "--args", json.dumps({"id": written})
    )
    assert through_dispatcher.answer["result"] == answers[0].answer


def test_the_content_can_come_from_standard_input_as_it_is(m3: CommandLine) -> None:
    text = "first line\n\n  indented, 日本語メモ 👩‍👩‍👧‍👦\n"
    made = m3.run("memory", "write", "-", "--type", "note", stdin=text).answer
    assert m3.run("memory", "get", made["id"]).answer["memory"]["content"] == text


def test_bytes_on_standard_input_that_are_no_utf_8_are_refused_and_placed(m3: CommandLine) -> None:
    for words in (("memory", "write", "-", "--type", "note"), ("call", "memory_write", "-")):
        done = m3.run(*words, stdin="caf\udce9")
        assert (done.code, done.error["code"]) == (2, "invalid_content")
        assert "byte 4" in done.error["message"]
    assert m3.run("memory", "search", "caf").answer["hits"] == []


def test_required_arguments_may_all_stand_by_position(m3: CommandLine, written: str) -> None:
    new = "The release is cut from the branch main"
    made = m3.run("memory", "supersede", written, "--no-embed", new).answer
    assert made["superseded"] == [written]
    again = m3.run("memory", "supersede", "--content", CONTENT, made["id"], "--type", "note").answer
    found = m3.run("memory", "get", again["id"]).answer["memory"]
    assert (found["content"], found["type"]) == (CONTENT, "note")


def test_a_text_that_begins_with_a_dash_and_has_words_is_a_text(m3: CommandLine) -> None:
    for text in ("- one_item of a list", "--one_item of a list", "-5"):
        made = m3.run("memory", "write", text, "--type", "note").answer
        assert m3.run("memory", "get", made["id"]).answer["memory"]["content"] == text


def test_a_shell_may_leave_the_type_to_the_rules_and_a_program_may_not(m3: CommandLine) -> None:
    text = "We decided to cut releases from main"
    by_rules = m3.run("memory", "write", text, "--type", "auto").answer["type"]
    assert m3.run("memory", "write", f"{text} only").answer["type"] == by_rules
    refused = m3.run("call", "memory_write", json.dumps({"content": text}))
    assert (refused.code, refused.error["code"]) == (2, "invalid_argument")


def test_switches_objects_and_numbers_arrive_as_what_they_are(m3: CommandLine) -> None:
    made = m3.run(
        *("memory", "write", CONTENT, "--type", "note", "--no-embed", "--importance", "0.25"),
        *("--metadata", '{"ticket": 7}', "--valid_from", "2026-03-29"),
    ).answer
    found = m3.run("memory", "get", made["id"]).answer["memory"]
    assert made["vector"] == "none"
    assert (found["metadata"], found["importance"]) == ({"ticket": 7}, 0.25)
    assert found["valid_from"] == "2026-03-29T00:00:00.000000Z"


def test_the_project_comes_from_the_folder_the_flag_or_the_host(m3: CommandLine, written: str) -> None:
    elsewhere = replace(m3, folder=m3.folder.parent)
    hosted = replace(elsewhere, environment=m3.environment | {"CLAUDE_PROJECT_DIR": str(m3.folder)})
    missing = elsewhere.run("memory", "get", written)
    assert (missing.code, missing.error["code"]) == (4, "not_found")
    for found in (
        elsewhere.run("--project", str(m3.folder), "memory", "get", written),
        elsewhere.run("--project=git@github.com:acme/atlas.git", "memory", "get", written),
        hosted.run("memory", "get", written),
    ):
        assert found.answer["id"] == written


def test_a_session_of_the_host_is_the_conversation_of_its_commands(m3: CommandLine) -> None:
    in_session = replace(m3, environment=m3.environment | {"CLAUDE_CODE_SESSION_ID": "s1"})
    made = in_session.run("memory", "write", CONTENT, "--type", "note", "--scope", "session").answer
    assert in_session.run("memory", "get", made["id"]).answer["memory"]["content"] == CONTENT
    other = replace(m3, environment=m3.environment | {"CLAUDE_CODE_SESSION_ID": "s2"})
    assert other.run("memory", "get", made["id"]).code == 4


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["memory", "write", "   ", "--type", "note"], 2, "invalid_content"),
        (["memory", "write"], 2, "invalid_argument"),
        (["memory", "write", "\udcff", "--type", "note"], 2, "invalid_content"),
        (["memory", "search", "x", "--k", "0"], 2, "invalid_argument"),
        (["memory", "search", "x", "--k", "5", "--k=6"], 2, "invalid_argument"),
        (["memory", "search", "x", "--colour", "red"], 2, "invalid_argument"),
        (["memory", "search", "x", "--quer", "y"], 2, "invalid_argument"),
        (["memory", "search", "x", "--query", "y"], 2, "invalid_argument"),
        (["memory", "search", "x", "y"], 2, "invalid_argument"),
        (["memory", "search", "x", "--project", "y"], 3, "needs_grant"),
        (["memory", "search", "x", "--as-of", "yesterday"], 2, "invalid_time"),
        (["memory", "serch", "x"], 2, "unknown_tool"),
        (["call", "memory_serch", "{}"], 2, "unknown_tool"),
        (["call", "memory_search", "{"], 2, "invalid_argument"),
        (["call", "memory_search", "[]"], 2, "invalid_argument"),
        (["memories"], 2, "invalid_argument"),
        (["memory", "get", "x", "--id", "y"], 2, "invalid_argument"),
        (["config", "embedder"], 2, "invalid_argument"),
        (["--project"], 2, "invalid_argument"),
        (["--colour", "memory"], 2, "invalid_argument"),
        (["--agent", "claude", "memory", "search", "x"], 2, "invalid_argument"),
        (["--project", "a\x1bb", "memory", "search", "x"], 2, "invalid_argument"),
        (["memory", "write", "x", "--type", "note", "--user-id", "ann"], 3, "wider_identity"),
        (["memory", "get", "00000000-0000-0000-0000-000000000000"], 4, "not_found"),
    ],
)
def test_what_goes_wrong_has_a_code_a_hint_and_an_exit_code(
    m3: CommandLine, arguments: list[str], exit_code: int, code: str
) -> None:
    done = m3.run(*arguments)
    assert (done.code, done.error["code"]) == (exit_code, code)
    assert done.error["message"]
    assert done.error["hint"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["memory", "serch", "x"], "search"),
        (["search", "x"], "m3 memory search"),
        (["memory-get", "x"], "m3 memory get"),
        (["memoy", "search", "x"], "m3 memory?"),
        (["docter"], "m3 doctor"),
        (["memory", "write", "x", "--tpye", "note"], "--type"),
        (["memory", "search", "x", "--limit", "3"], "--k"),
        (["memory", "supersede", "--id", "x", "y"], "--old-id"),
        (["gdpr", "forgt"], "did you mean forget?"),
        (["memory", "search", "ledger", "port"], "in quotes: 'ledger port'"),
        (["memory", "supersede", "ID", "the", "new", "text"], "in quotes: 'the new text'"),
        (["memory", "search", "x", "--query", "y"], "by name already: query"),
    ],
)
def test_a_near_miss_is_answered_with_what_was_likely_meant(
    m3: CommandLine, arguments: list[str], hint: str
) -> None:
    done = m3.run(*arguments)
    assert done.code == 2
    assert hint in done.error["hint"]


@pytest.mark.case("B01")
def test_a_query_may_be_anything_a_shell_can_pass(m3: CommandLine, written: str) -> None:
    for query in ("-x", "--", "--k", "-", "AND", '"', "*", "{}"):
        answer = m3.run("memory", "search", "--query", query).answer
        assert answer["hits"] == []
        assert answer["empty_because"]
    for words in (["--query=-x"], ["--", "-x"], ["--", "--"]):
        assert m3.run("memory", "search", *words).answer["hits"] == []
    assert m3.run("memory", "search", "--query", "release").answer["hits"][0]["id"] == written


def test_a_home_that_cannot_be_made_is_unavailable_and_named(m3: CommandLine) -> None:
    (m3.folder / "file").write_text("")
    home = str(m3.folder / "file" / "m3")
    done = replace(m3, environment=m3.environment | {"M3_HOME": home}).run("memory", "search", "x")
    assert (done.code, done.error["code"]) == (5, "store_unreachable")
    assert home in done.error["message"]


def test_a_broken_settings_file_stops_a_write_and_says_where(m3: CommandLine, home: Path) -> None:
    home.mkdir()
    (home / "m3_config.toml").write_text('secrets = "allow"\nsecrets = ')
    done = m3.run("memory", "write", CONTENT, "--type", "note")
    assert (done.code, done.error["code"]) == (2, "invalid_settings")
    assert str(home / "m3_config.toml") in done.error["message"]
    assert not (home / "m3.db").exists()


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["config"], ["memory"], ["memory", "get", "-h"]]
)
def test_asking_what_there_is_touches_no_store(m3: CommandLine, home: Path, arguments: list[str]) -> None:
    done = m3.run(*arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out
    assert not home.exists()


def test_the_version_is_the_packages(m3: CommandLine) -> None:
    assert m3.run("--version").out == f"{m3_memory.__version__}\n"


def test_help_names_every_command_and_every_domain_lists_its_verbs(m3: CommandLine) -> None:
    helped = m3.run("--help").out
    domains = [entry["name"] for entry in m3.run("admin", "tools-list-domains").answer["domains"]]
    assert [
        name for name in (*domains, "config", "doctor", "backup", "migrate", "worker") if name not in helped
    ] == []
    assert {"search", "write"} <= set(m3.run("memory").answer)


def test_help_of_a_tool_names_all_it_accepts(m3: CommandLine) -> None:
    helped = m3.run("memory", "write", "--help").out
    for flag in ("CONTENT", "--valid-from", "--no-reassert", "--user-id", "--timeout"):
        assert flag in helped


def test_settings_are_shown_with_where_they_came_from(m3: CommandLine) -> None:
    shown = {row["name"]: row for row in m3.run("config").answer["settings"]}
    assert (shown["embedder"]["value"], shown["embedder"]["source"]) == (
        "off",
        "environment variable M3_EMBEDDER",
    )
    assert (shown["secrets"]["value"], shown["secrets"]["source"]) == ("redact", "default")


def test_the_first_migration_makes_the_store_and_the_second_changes_nothing(
    m3: CommandLine, home: Path
) -> None:
    assert m3.run("migrate").answer["migrated"]
    assert (home / "m3.db").exists()
    assert m3.run("migrate").answer["migrated"] == []


def test_a_backup_is_a_whole_store_that_overwrites_nothing(m3: CommandLine, written: str, home: Path) -> None:
    in_home, in_folder, again = [
        Path(m3.run("backup", *where).answer["backup"]) for where in ([], ["copies"], ["copies"])
    ]
    assert in_home.parent == home / "backups"
    assert in_folder.parent == again.parent == m3.folder / "copies"
    assert in_folder != again
    restored = m3.folder / "restored"
    restored.mkdir()
    in_folder.rename(restored / "m3.db")
    there = replace(m3, environment=m3.environment | {"M3_HOME": str(restored)})
    assert there.run("memory", "get", written).answer["memory"]["content"] == CONTENT
    in_the_way = m3.run("backup", str(again))
    assert (in_the_way.code, in_the_way.error["code"]) == (5, "store_unreachable")


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_answers_and_help_are_whole_in_a_plain_locale(m3: CommandLine, variables: dict[str, str]) -> None:
    plain = replace(m3, environment=m3.environment | variables)
    made = plain.run("memory", "write", "-", "--type", "note", stdin="日本語メモ é 👍").answer
    assert plain.run("memory", "get", made["id"]).answer["memory"]["content"] == "日本語メモ é 👍"
    assert plain.run("--help").code == plain.run("memory", "write", "--help").code == 0
    assert plain.run("memory", "écrire").error["code"] == "unknown_tool"


def test_a_reader_that_stops_reading_is_no_crash(m3: CommandLine, written: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "memory", "get", written],
        cwd=m3.folder,
        env=m3.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_a_terminal_is_sent_text_and_json_only_when_asked(m3: CommandLine, written: str) -> None:
    code, text = m3.on_terminal("memory", "get", written)
    assert code == 0
    assert f"content: {CONTENT}" in text
    code, as_json = m3.on_terminal("memory", "get", written, "--json")
    assert (code, json.loads(as_json)["memory"]["content"]) == (0, CONTENT)
    code, failed = m3.on_terminal("memory", "serch", "x")
    assert code == 2
    assert "[unknown_tool]" in failed
    assert m3.on_terminal("config")[1].startswith("setting")


def test_a_person_reads_what_came_of_each_item(m3: CommandLine) -> None:
    said = {"content": CONTENT, "type": "fact"}
    code, text = m3.on_terminal("memory", "write_bulk", "--items", json.dumps([said, said, {"type": "fact"}]))
    assert code == 0
    headline, first, second, third = text.splitlines()
    assert headline == "Created 1, duplicates 1, failed 1"
    assert first.removeprefix("1. created ") == second.removeprefix("2. duplicate ")
    assert third == "3. invalid_argument: content is missing"


def test_a_person_reads_a_hit_in_three_lines_and_only_what_there_is(m3: CommandLine) -> None:
    long = "release " * 40
    made = m3.run("memory", "write", f"{long}\nend", "--type", "note", "--valid-from", "2026-01-15").answer
    code, text = m3.on_terminal("memory", "search", "release")
    head, first, facts, why, *others = text.splitlines()
    assert (code, head) == (0, "Top 1 results:")
    assert first == f"1. {long[:200]}… (324 characters; m3 memory get {made['id']})"
    assert facts.startswith("   note · since 2026-01-15 · cli · ")
    assert facts.endswith(made["id"])
    assert why.strip()
    assert len(others) == 1
    assert "by words only" in others[0]


def test_a_person_is_told_where_a_search_looked_that_found_nothing(m3: CommandLine, written: str) -> None:
    text = m3.on_terminal("memory", "search", "zebra")[1]
    assert "Looked in: project github.com/acme/atlas, this session, what holds everywhere" in text
    assert "Looked in" not in m3.on_terminal("memory", "search", "release")[1]


def test_a_person_reads_a_write_in_two_lines_and_an_event_in_one(m3: CommandLine) -> None:
    written = m3.on_terminal("memory", "write", CONTENT, "--type", "decision")[1].splitlines()
    memory_id = written[0].removeprefix("Created: ")
    assert written[1:] == ["type: decision"]
    history = m3.on_terminal("memory", "history", memory_id)[1].splitlines()
    assert history[1].endswith("Z  create · version 1 · cli")
    assert len(history) == 2


@pytest.mark.parametrize("ending", [["supersede", "--content", "another release branch"], ["delete"]])
def test_a_person_is_told_how_to_read_what_is_no_longer_current(
    m3: CommandLine, written: str, ending: list[str]
) -> None:
    verb, *more = ending
    m3.run("memory", verb, written, *more)
    text = m3.on_terminal("memory", "get", written)[1]
    assert CONTENT not in text
    command = text.partition("its text: m3 ")[2].split()
    assert command
    assert f"content: {CONTENT}" in m3.on_terminal(*command)[1]


def test_a_person_is_given_hints_in_the_words_of_the_shell(m3: CommandLine, written: str) -> None:
    m3.run("memory", "supersede", written, "The release is cut from main")
    in_json = m3.run("memory", "write", CONTENT, "--type", "decision").error["hint"]
    on_terminal = m3.on_terminal("memory", "write", CONTENT, "--type", "decision")[1]
    assert "reassert=true" in in_json
    assert "m3 memory write it with --reassert or with the --valid-from" in on_terminal


def test_the_doctor_names_the_store_the_project_and_a_store_just_made(m3: CommandLine, home: Path) -> None:
    first, second = m3.run("doctor").answer, m3.run("doctor").answer
    assert (first["store"], first["project"]) == (str(home / "m3.db"), "github.com/acme/atlas")
    assert any("just now" in note for note in first["notes"])
    assert not any("just now" in note for note in second["notes"])


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_stored_text_cannot_act_on_the_terminal_that_shows_it(m3: CommandLine, more: list[str]) -> None:
    acting = "red \x1b[31m bell \x07 turned \u202e back \u2066 line \x85 é 日本"
    made = m3.run("memory", "write", acting, "--type", "note").answer
    assert m3.run("memory", "get", made["id"]).answer["memory"]["content"] == acting
    code, sent = m3.on_terminal("memory", "get", made["id"], *more)
    assert code == 0
    assert "é 日本" in sent
    assert [mark for mark in ("\x1b", "\x07", "\u202e", "\u2066", "\x85") if mark in sent] == []
    assert r"\u202e" in sent


@pytest.mark.case("B49")
def test_a_read_only_home_answers_reads_and_refuses_writes(m3: CommandLine, written: str, home: Path) -> None:
    bound = replace(m3, command=tuple(without_root_rights(COMMAND)))
    assert bound.run("memory", "get", written).answer["id"] == written
    for path in (*home.iterdir(), home):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        assert bound.run("memory", "search", "release").answer["hits"][0]["id"] == written
        refused = bound.run("memory", "write", "another", "--type", "note")
        assert (refused.code, refused.error["code"]) == (5, "store_read_only")
    finally:
        home.chmod(0o700)


def test_a_store_on_postgresql_is_named_by_a_variable(m3: CommandLine, postgres_url: str, home: Path) -> None:
    there = replace(m3, environment=m3.environment | {"M3_DATABASE_URL": postgres_url})
    made = there.run("memory", "write", CONTENT, "--type", "note").answer
    assert there.run("memory", "search", "release").answer["hits"][0]["id"] == made["id"]
    assert m3.run("memory", "get", made["id"]).code == 4
    unreachable = m3.environment | {"M3_DATABASE_URL": "postgresql://ann:hunter2@127.0.0.1:1/m3"}
    failed = replace(m3, environment=unreachable).run("memory", "search", "release")
    assert (failed.code, failed.error["code"]) == (5, "store_unreachable")
    assert "hunter2" not in failed.err
