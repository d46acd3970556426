from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.conftest import write
from toolcrib.clients.machine import Machine
from toolcrib.config.source_types import SOURCE_TYPES

HOME = Path("/home/mia")
MAC = "Library/Application Support"
ROAMING = "AppData/Roaming"

# One place for all platforms, or the places on Linux, macOS and Windows.
PLACES = {
    "claude-desktop": tuple(f"{folder}/Claude/claude_desktop_config.json" for folder in (".config", MAC, ROAMING)),
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": tuple(f"{folder}/Code/User/mcp.json" for folder in (".config", MAC, ROAMING)),
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "roo": tuple(
        f"{folder}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
        for folder in (".config", MAC, ROAMING)
    ),
    "zed": (".config/zed/settings.json", ".config/zed/settings.json", f"{ROAMING}/Zed/settings.json"),
    "continue": ".continue/config.yaml",
    "goose": (
        ".config/goose/config.yaml",
        ".config/goose/config.yaml",
        f"{ROAMING}/Block/goose/config/config.yaml",
    ),
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "antigravity": ".gemini/antigravity/mcp_config.json",
    "junie": ".junie/mcp/mcp.json",
    "jetbrains": ".ai/mcp/mcp.json",
    "copilot-jetbrains": (
        ".config/github-copilot/intellij/mcp.json",
        ".config/github-copilot/intellij/mcp.json",
        "AppData/Local/github-copilot/intellij/mcp.json",
    ),
    "copilot-cli": ".copilot/mcp-config.json",
    "lm-studio": ".lmstudio/mcp.json",
    "opencode": ".config/opencode/opencode.json",
    "kiro": ".kiro/settings/mcp.json",
    "warp": ".warp/.mcp.json",
    "amazon-q": ".aws/amazonq/mcp.json",
    "crush": (".config/crush/crush.json", ".config/crush/crush.json", "AppData/Local/crush/crush.json"),
    "docker-mcp": ".docker/mcp-servers.json",
}
EXPECTED = [
    (client, system, places if isinstance(places, str) else places[index])
    for client, places in PLACES.items()
    for index, system in enumerate(("linux", "darwin", "win32"))
]


@pytest.mark.parametrize(("client", "system", "place"), EXPECTED)
def test_each_client_is_looked_for_where_it_keeps_its_file(client, system, place):
    assert SOURCE_TYPES[client].places(Machine(HOME, {}, system))[0] == HOME / place


def test_every_client_with_a_usual_place_is_in_the_table():
    machine = Machine(HOME)
    assert {name for name, kind in SOURCE_TYPES.items() if kind.places(machine)} == PLACES.keys()


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("claude-desktop", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("goose", "GOOSE_PATH_ROOT", "config/config.yaml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("continue", "CONTINUE_GLOBAL_DIR", "config.yaml"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("copilot-cli", "COPILOT_HOME", "mcp-config.json"),
        ("crush", "CRUSH_GLOBAL_CONFIG", "crush.json"),
    ],
)
def test_folders_named_by_the_environment_are_followed(client, variable, file):
    machine = Machine(HOME, {variable: "/elsewhere"}, "linux")
    assert SOURCE_TYPES[client].places(machine)[0] == Path("/elsewhere") / file


def test_opencode_reads_all_of_its_files_and_those_the_environment_names():
    machine = Machine(HOME, {"OPENCODE_CONFIG": "/named.json", "OPENCODE_CONFIG_DIR": "/elsewhere"}, "linux")
    assert [
        str(file.relative_to(HOME) if file.is_relative_to(HOME) else file)
        for file in SOURCE_TYPES["opencode"].more(machine)
    ] == [
        ".config/opencode/opencode.jsonc",
        ".config/opencode/config.json",
        "/named.json",
        "/elsewhere/opencode.json",
        "/elsewhere/opencode.jsonc",
    ]


@pytest.mark.parametrize(("variable", "client"), [("APPDATA", "vscode"), ("LOCALAPPDATA", "crush")])
def test_the_folders_of_windows_are_followed(variable, client):
    machine = Machine(HOME, {variable: "/data"}, "win32")
    assert Path("/data") in SOURCE_TYPES[client].places(machine)[0].parents


def test_files_whose_names_nobody_knows_beforehand_are_found(tmp_path):
    store = tmp_path / "AppData/Local/Packages/Claude_x1/LocalCache/Roaming/Claude/claude_desktop_config.json"
    profile = tmp_path / "AppData/Roaming/Code/User/profiles/1f/mcp.json"
    for file in (store, profile):
        write(file, "{}")
    machine = Machine(tmp_path, {}, "win32")
    assert SOURCE_TYPES["claude-desktop"].more(machine) == (store,)
    assert profile in SOURCE_TYPES["vscode"].more(machine)


def test_a_folder_full_of_files_is_not_read_without_end(tmp_path):
    for number in range(200):
        write(tmp_path / f".junie/mcp/{number}.json", "{}")
    assert len(SOURCE_TYPES["junie"].more(Machine(tmp_path))) == 64
