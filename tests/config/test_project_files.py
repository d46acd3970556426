"""Servers that came with a project's folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.config.conftest import Machine, write
from toolcrib.config.launching import ready_launch
from toolcrib.config.project_files import PROJECT_FILES, is_project_file
from toolcrib.config.settings import Settings, UntrustedFile
from toolcrib.errors import NeedsConfiguration
from toolcrib.model.server import Origin, RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.trust.review_key import review_key

KEYS = {".mcp.json": "mcpServers", ".cursor/mcp.json": "mcpServers", ".vscode/mcp.json": "servers"}


def project(machine: Machine, entries: dict[str, Any], name: str = ".mcp.json", *, trusted: bool = True) -> Path:
    file = write(machine.cwd / name, json.dumps({KEYS[name]: entries}))
    if trusted:
        machine.trusted.trust(file)
    return file


def names(settings: Settings) -> list[str]:
    return [spec.name for spec in settings.servers]


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_a_project_file_joins_only_after_trust_and_not_after_an_edit(machine: Machine, name: str) -> None:
    write(machine.paths.config_dir / "toolcrib.yaml", "servers: {mine: {command: y}}")
    file = project(machine, {"local": {"command": "run-me"}}, name, trusted=False)
    before = machine.load()
    assert names(before) == ["mine"]
    assert [one.path for one in before.untrusted_files] == [file]
    assert any(str(file) in warning and "toolcrib trust" in warning for warning in before.warnings)
    assert file in before.watched_files

    machine.trusted.trust(file)
    joined = machine.load()
    assert names(joined) == ["mine", "local"]
    assert joined.servers[1].origin == Origin("project", str(file))
    assert (joined.untrusted_files, joined.warnings) == ((), ())

    project(machine, {"local": {"command": "run-something-else"}}, name, trusted=False)
    assert names(machine.load()) == ["mine"]


@pytest.mark.parametrize("name", [".mcp.json", ".cursor/mcp.json", ".cursor", "toolcrib.yaml"])
def test_a_link_to_what_was_trusted_in_another_folder_is_not_trusted(machine: Machine, name: str) -> None:
    """There the same words may start other programs: `./run.sh`, or `${workspaceFolder}/run.py`."""
    other = machine.cwd.parent / "other"
    entry = {"a": {"command": "sh", "args": ["./run.sh"]}}
    key = "servers" if name == "toolcrib.yaml" else "mcpServers"
    file = write(other / (name if name != ".cursor" else ".cursor/mcp.json"), json.dumps({key: entry}))
    machine.trusted.trust(file)
    link = machine.cwd / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(other / name)

    assert names(machine.load()) == []

    machine.trusted.trust(machine.cwd / file.relative_to(other))
    assert names(machine.load()) == ["a"]
    machine.cwd = other
    assert names(machine.load()) == ["a"]


@pytest.mark.parametrize("link", [".vscode/mcp.json", ".cursor/mcp.json", "toolcrib.json", "anygpt.config.json"])
def test_a_link_that_has_what_was_trusted_read_in_another_way_is_not_trusted(machine: Machine, link: str) -> None:
    """Who trusts `.mcp.json` is shown `mcpServers`, and nothing that the same file says to others."""
    unseen = {"servers": {"unseen": {"command": "y"}}, "discovery": {"servers": {"unseen": {"command": "y"}}}}
    file = write(machine.cwd / ".mcp.json", json.dumps({"mcpServers": {"seen": {"command": "x"}}, **unseen}))
    (machine.cwd / link).parent.mkdir(exist_ok=True)
    (machine.cwd / link).symlink_to(file)
    machine.trusted.trust(file)

    assert names(machine.load()) == ["seen"]


@pytest.mark.parametrize("name", [".cursor", ".vscode"])
def test_a_project_may_be_a_folder_that_is_called_like_that_of_a_client(machine: Machine, name: str) -> None:
    folder = machine.cwd / name
    entry = {"command": "run-me", "args": ["${workspaceFolder}"]}
    file = write(folder / ".mcp.json", json.dumps({"mcpServers": {"local": entry}}))
    assert is_project_file(file)
    inside = replace(machine, cwd=folder)
    inside.trusted.trust(file)
    launch = inside.load().servers[0].launch

    assert isinstance(launch, StdioLaunch)
    assert launch.args == (str(folder),)


def test_a_file_that_is_no_json_waits_like_any_other_and_costs_itself_alone(machine: Machine) -> None:
    file = write(machine.cwd / ".mcp.json", "{")
    assert [type(one) for one in machine.load().untrusted_files] == [UntrustedFile]

    machine.trusted.trust(file)
    settings = machine.load()
    assert [problem.source for problem in settings.problems] == [str(file)]


def test_the_home_folder_is_no_project(machine: Machine) -> None:
    write(machine.home / ".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    machine.cwd = machine.home

    assert machine.load().untrusted_files == ()


def test_a_name_that_is_taken_gets_the_folders_name_and_a_server_that_is_there_is_not_doubled(
    machine: Machine,
) -> None:
    write(machine.paths.config_dir / "toolcrib.yaml", "servers: {notes: {command: mine}, same: {command: same}}")
    project(machine, {"notes": {"command": "theirs"}, "other": {"command": "same"}})

    settings = machine.load()

    assert names(settings) == ["notes", "same", "notes-work"]
    assert isinstance(settings.servers[0].launch, StdioLaunch)
    assert settings.servers[0].launch.command == "mine"


def test_the_folder_of_the_workspace_is_known(machine: Machine) -> None:
    project(machine, {"a": {"command": "x", "args": ["${workspaceFolder}/run.py"]}}, ".vscode/mcp.json")

    (spec,) = machine.load().servers

    assert isinstance(spec.launch, StdioLaunch)
    assert spec.launch.args == (f"{machine.cwd}/run.py",)


def test_the_same_words_in_two_projects_are_two_servers(machine: Machine) -> None:
    """What one of them offers is neither shown for the other nor compared with what was agreed to of it."""
    entries = {"own": {"command": "uv", "args": ["run", "server.py"]}, "web": {"url": "https://a.example/mcp"}}
    project(machine, entries)
    own, web = machine.load().servers
    machine.cwd = machine.cwd.parent / "other"
    project(machine, entries)
    other, same = machine.load().servers

    assert own.launch_key != other.launch_key
    assert review_key(own) != review_key(other)
    assert web.launch_key == same.launch_key
    assert ready_launch(other, machine.env).folder == str(machine.cwd)


@pytest.mark.parametrize(
    "variable",
    "LD_PRELOAD NODE_OPTIONS PYTHONPATH GIT_SSH_COMMAND node_options PYTHONPYCACHEPREFIX PYTHON_PRESITE PYTHON AWS_CONFIG_FILE"
    " KUBECONFIG R_PROFILE_USER JULIA_LOAD_PATH ERL_AFLAGS ELIXIR_ERL_OPTIONS GTK_MODULES GTK_PATH TS_NODE_PROJECT"
    " QT_PLUGIN_PATH GIO_EXTRA_MODULES COREPACK_NPM_REGISTRY PSQLRC MAKEFLAGS GIT_COMMON_DIR RESTIC_PASSWORD_COMMAND LD_AUDIT TOOLCRIB_TOKEN".split(),
)
def test_a_project_may_not_set_variables_that_make_programs_run_other_code(machine: Machine, variable: str) -> None:
    project(machine, {"a": {"command": "x", "env": {variable: "y"}}, "b": {"command": "z", "env": {"LEVEL": "1"}}})

    settings = machine.load()

    assert names(settings) == ["b"]
    assert variable in str(settings.problems[0])


@pytest.mark.parametrize(
    "variable",
    "PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHON_GIL NODE_ENV NODE_NO_WARNINGS"
    " R_API_KEY VK_PLAYER_ID JULIA_NUM_THREADS QT_QPA_PLATFORM AWS_REGION AWS_PROFILE GTK_THEME LD_SDK_KEY PYTHONANYWHERE_SITE PYTHON_BACKEND_URL YARN_API_KEY".split(),
)
def test_a_project_may_set_variables_that_name_no_code(machine: Machine, variable: str) -> None:
    project(machine, {"a": {"command": "x", "env": {variable: "1"}}})

    assert names(machine.load()) == ["a"]


@pytest.mark.parametrize(
    ("value", "is_used"),
    [("${KUBECONFIG}", True), ("${TEAM_KUBECONFIG}", True), ("${KUBECONFIG:-./x}", False), ("${file:x}", False)],
)
def test_a_project_may_pass_on_a_file_that_the_person_has_chosen(
    machine: Machine, value: str, *, is_used: bool
) -> None:
    project(machine, {"a": {"command": "x", "env": {"KUBECONFIG": value}}})

    assert names(machine.load()) == (["a"] if is_used else [])


@pytest.mark.parametrize("reference", ["${file:SECRET}", "${file:LINK}", "${keyring:github.token}"])
def test_a_project_is_given_nothing_from_the_keyring_and_no_file_outside_its_folder(
    machine: Machine, reference: str
) -> None:
    secret = write(machine.home / "secret.txt", "a-secret-value")
    link = machine.cwd / "link.txt"
    link.symlink_to(secret)
    text = reference.replace("SECRET", str(secret)).replace("LINK", str(link))
    file = project(machine, {}, ".cursor/mcp.json")
    spec = ServerSpec("a", StdioLaunch("x", env={"GIVEN": text}), origin=Origin("project", str(file)))

    with pytest.raises(NeedsConfiguration) as refusal:
        ready_launch(spec, machine.env, lambda name: "a-secret-value")

    assert "may not use" in refusal.value.message
    assert "a-secret-value" not in str(refusal.value)


def test_a_project_may_use_variables_and_files_of_its_own(machine: Machine) -> None:
    write(machine.cwd / "token.txt", "of-the-project\n")
    env = {"A": "${LEVEL_OF_TEST}", "B": "${file:PLACE}".replace("PLACE", str(machine.cwd / "token.txt"))}
    project(machine, {"a": {"command": "x", "env": env}}, ".cursor/mcp.json")
    (spec,) = machine.load().servers

    given = ready_launch(spec, {**machine.env, "LEVEL_OF_TEST": "three"}).given

    assert (given["A"].reveal(), given["B"].reveal()) == ("three", "of-the-project")


def test_a_file_of_variables_outside_of_the_project_is_refused(machine: Machine) -> None:
    outside = write(machine.home / ".env", "TOKEN=a-secret-value")
    project(machine, {"a": {"command": "x", "envFile": str(outside)}}, ".vscode/mcp.json")
    (spec,) = machine.load().servers

    with pytest.raises(NeedsConfiguration):
        ready_launch(spec, machine.env)


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "node_options", "KUBECONFIG"])
def test_a_file_of_variables_of_a_project_may_not_make_programs_run_other_code(machine: Machine, variable: str) -> None:
    file = write(machine.cwd / ".env", "LEVEL=1\n")
    project(machine, {"a": {"command": "x", "envFile": str(file)}}, ".vscode/mcp.json")
    (spec,) = machine.load().servers
    assert ready_launch(spec, machine.env).given["LEVEL"].reveal() == "1"

    write(file, f"LEVEL=1\n{variable}=./other.so\n")  # nobody is shown it, and the trusted file stays the same

    with pytest.raises(NeedsConfiguration, match=f"may not use {variable} of"):
        ready_launch(spec, machine.env)


def test_a_project_gets_no_token_for_the_name_that_it_gives_itself(machine: Machine) -> None:
    project(machine, {"github": {"url": "https://elsewhere.example/mcp"}})
    (spec,) = machine.load().servers
    assert isinstance(spec.launch, RemoteLaunch)

    assert ready_launch(spec, {**machine.env, "GITHUB_TOKEN": "a-secret-value"}).given == {}


@pytest.mark.parametrize("source", ["registry", "proposal"])
def test_what_nobody_approved_is_given_nothing_of_this_machine(machine: Machine, source: str) -> None:
    secret = write(machine.home / "secret.txt", "a-secret-value")
    env = {**machine.env, "GITHUB_TOKEN": "a-secret-value"}
    for text in ("${GITHUB_TOKEN}", "${keyring:x}", f"${{file:{secret}}}"):
        launch = RemoteLaunch("https://elsewhere.example/mcp", {"X-Given": text})
        with pytest.raises(NeedsConfiguration):
            ready_launch(ServerSpec("github", launch, origin=Origin(source)), env, lambda _: "a-secret-value")
    with pytest.raises(NeedsConfiguration):
        ready_launch(ServerSpec("github", StdioLaunch("x"), origin=Origin(source)), env)
