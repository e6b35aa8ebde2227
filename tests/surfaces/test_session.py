"""Who a launch makes the caller, whatever surface it leads to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.errors import InvalidArgument, InvalidSettings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch, read_launch
from m3_memory.surfaces.session import Session, open_session


class NamedClient:
    """A client with this name and these roots."""

    def __init__(self, name: str, *roots: str) -> None:
        self.name = name
        self.roots = roots


def no_roots() -> tuple[str, ...]:
    raise AssertionError("the client was asked for its roots")


@pytest.fixture
def started(home: Path, clock: ManualClock) -> Callable[..., App]:
    """Starts the product as this host would."""

    def start(project: str = "", session_id: str = "") -> App:
        host = HostEnvironment(project, "CLAUDE_PROJECT_DIR", session_id)
        return App(Settings(home, embedder="off"), clock, host)

    return start


def caller(app: App, launch: Launch, name: str = "") -> Caller:
    return app.caller_for(launch, name)[0]


@pytest.mark.parametrize(
    ("given", "client", "agent_id"),
    [
        ("", "claude-code", "claude-code"),
        ("", "Visual Studio Code", "visual-studio-code"),
        ("", "  ", "unknown"),
        ("", "", "unknown"),
        ("", "../\x1b[31m", "31m"),
        ("", "x" * 500, "x" * 64),
        ("reviewer", "claude-code", "reviewer"),
        ("${AGENT}", "claude-code", "claude-code"),
        ("", "Worker", "client-worker"),
        ("", "cli", "client-cli"),
        ("", "Operator", "client-operator"),
        ("", "x" + "\u0f73" * 500_000, "x"),
    ],
)
def test_the_agent_is_the_launchs_else_the_clients(
    started: Callable[..., App], given: str, client: str, agent_id: str
) -> None:
    assert caller(started(), Launch(agent=given), client).agent_id == agent_id


def test_an_agent_left_unexpanded_is_said(started: Callable[..., App]) -> None:
    _, notices = started().caller_for(Launch(agent="${AGENT}", project="atlas"), "claude-code")
    assert len(notices) == 1
    assert "${AGENT}" in notices[0]


@pytest.mark.parametrize("ours", ["worker", "operator"])
def test_a_name_of_our_own_is_no_agents(started: Callable[..., App], ours: str) -> None:
    with pytest.raises(InvalidArgument, match=f"--agent {ours}"):
        started().caller_for(Launch(agent=f" {ours.title()}"))


@pytest.mark.parametrize(
    ("given", "said"), [("${SESSION}", "${SESSION}"), ("x" * 201, "201"), ("a\x1bb", "printed")]
)
def test_a_session_id_that_is_not_used_is_said(started: Callable[..., App], given: str, said: str) -> None:
    launch = Launch(project="atlas")
    _, notices = started(session_id=given).caller_for(launch)
    assert ["session id" in notice and said in notice for notice in notices] == [True]
    assert started(session_id="s1").caller_for(launch)[1] == started().caller_for(launch)[1] == ()


def test_a_clients_name_never_leads_out_of_the_shared_circle(started: Callable[..., App]) -> None:
    assert {caller(started(), Launch(), name).circle for name in ("", "isolated", "local", "cli")} == {
        "local"
    }


def test_a_conversation_is_the_hosts_session_else_this_process(started: Callable[..., App]) -> None:
    app, other = started(), started()
    own = caller(app, Launch()).conversation_id
    assert own == caller(app, Launch(), "another client").conversation_id
    assert own != caller(other, Launch()).conversation_id
    assert caller(started(session_id="s1"), Launch()).conversation_id == "s1"
    for unusable in ("${SESSION}", "a\x1bb", "x" * 201):
        assert caller(started(session_id=unusable), Launch()).conversation_id != unusable


def test_a_client_is_asked_for_its_roots_only_if_nothing_else_names_a_place(
    started: Callable[..., App], tmp_path: Path
) -> None:
    asked: list[int] = []

    def roots() -> tuple[str, ...]:
        asked.append(1)
        return (tmp_path.resolve().as_uri(),)

    assert started().caller_for(Launch(project="atlas"), "", no_roots)[0].project == "atlas"
    started(project=str(tmp_path)).caller_for(Launch(), "", no_roots)
    found, _ = started().caller_for(Launch(), "", roots)
    assert (found.project, asked) == (str(tmp_path.resolve()), [1])


def test_a_place_stays_when_its_folder_goes_away_under_a_running_process(
    started: Callable[..., App], tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / "tree"
    folder.mkdir()
    app = started()
    launch = Launch(project=str(folder))
    before, notices = app.caller_for(launch)
    folder.rmdir()
    assert app.caller_for(launch) == (before, notices) == (before, ())
    assert started().caller_for(launch)[1]


def test_what_was_wrong_with_the_launch_is_in_the_answers(started: Callable[..., App]) -> None:
    session = Session(Launch(agent="${AGENT}", project="atlas"), started())
    answer = session.call(
        "memory_write", {"content": "blue", "type": "note"}, NamedClient("Cline")
    ).structured
    assert answer is not None
    assert ["${AGENT}" in warning for warning in answer["warnings"]] == [True]
    session.close()


def test_two_clients_of_one_session_are_two_agents(started: Callable[..., App]) -> None:
    session = Session(Launch(project="atlas"), started())
    for name in ("Cline", "Zed"):
        session.call("memory_write", {"content": f"{name} was here", "type": "note"}, NamedClient(name))
    found = session.call("memory_search", {"query": "here"}, NamedClient("Zed")).structured
    assert found is not None
    assert {hit["agent_id"] for hit in found["hits"]} == {"cline", "zed"}
    session.close()


def test_a_store_that_could_not_be_opened_is_tried_again(started: Callable[..., App], home: Path) -> None:
    session = Session(Launch(project="atlas"), started())
    home.write_text("in the way")
    failed = session.call("memory_write", {"content": "blue", "type": "note"})
    assert failed.error is not None
    assert failed.error.code == "store_unreachable"
    home.unlink()
    assert session.call("memory_write", {"content": "blue", "type": "note"}).error is None
    session.close()


def test_nothing_is_made_before_the_first_call_needs_the_store(
    started: Callable[..., App], home: Path
) -> None:
    session = Session(Launch(project="atlas"), started())
    assert session.call("tools_list_domains", {}).error is None
    assert not home.exists()
    assert session.call("memory_search", {"query": "blue"}).error is None
    assert home.exists()
    session.close()


def test_a_project_that_can_be_no_name_is_refused(started: Callable[..., App]) -> None:
    with pytest.raises(InvalidArgument):
        Session(Launch(project="\x1b"), started()).call("memory_search", {"query": "blue"})


def test_no_session_opens_on_settings_that_cannot_be_understood(home: Path) -> None:
    home.mkdir()
    (home / "m3_config.toml").write_text("secrets = ")
    with pytest.raises(InvalidSettings):
        open_session(Launch())


@pytest.mark.parametrize(
    ("arguments", "found", "rest"),
    [
        ([], ("", "", "", False), []),
        (["--agent", "a", "--project=p", "--tools", "all"], ("a", "p", "all", False), []),
        (["--project", ""], ("", "", "", False), []),
        (["--project", "-", "--json", "call"], ("", "-", "", True), ["call"]),
        (["--project", "p", "call", "--agent", "x"], ("", "p", "", False), ["call", "--agent", "x"]),
        (["--agent"], ("", "", "", False), ["--agent"]),
        (["--agent", "--tools", "all"], ("", "", "", False), ["--agent", "--tools", "all"]),
        (["--version"], ("", "", "", False), ["--version"]),
    ],
)
def test_flags_before_a_command_belong_to_the_launch(
    arguments: list[str], found: tuple[str, str, str, bool], rest: list[str]
) -> None:
    launch, left = read_launch(arguments)
    assert ((launch.agent, launch.project, launch.tools, launch.json), left) == (found, rest)
