"""Where programs keep their files on this machine."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class Machine:
    """A user's home, environment and platform; everything else follows from them."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    system: str = sys.platform

    @property
    def app_config(self) -> Path:
        """The folder in which desktop programs keep their settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self.named_by("APPDATA", self.home / "AppData" / "Roaming")
        return self.dot_config

    @property
    def local_app_data(self) -> Path:
        return self.named_by("LOCALAPPDATA", self.home / "AppData" / "Local")

    @property
    def dot_config(self) -> Path:
        """The folder in which programs of the command line keep their settings, on a Mac too."""
        return self.named_by("XDG_CONFIG_HOME", self.home / ".config")

    def named_by(self, variable: str, otherwise: Path) -> Path:
        """The path an environment variable names, where it is set."""
        named = self.env.get(variable)
        return Path(named) if named else otherwise

    def editor_user(self, editor: str = "Code") -> Path:
        """The user folder of VS Code or one of its relatives."""
        return self.app_config / editor / "User"


Places = tuple[Path, ...]


def nowhere(_: Machine) -> Places:
    return ()


def claude_desktop(machine: Machine) -> Places:
    file = "claude_desktop_config.json"
    return (machine.app_config / "Claude" / file, machine.app_config / "claude" / file)


def claude_desktop_of_the_store(machine: Machine) -> Places:
    if machine.system != "win32":
        return ()
    tail = "LocalCache/Roaming/Claude/claude_desktop_config.json"
    return _found(machine.local_app_data / "Packages", f"Claude_*/{tail}")


def claude_code(machine: Machine) -> Places:
    return (machine.named_by("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json",)


def cursor(machine: Machine) -> Places:
    return (machine.home / ".cursor" / "mcp.json",)


def vscode(machine: Machine) -> Places:
    return (machine.editor_user() / "mcp.json",)


def vscode_variants(machine: Machine) -> Places:
    """Profiles, older settings, and the relatives of VS Code that have no importer of their own."""
    users = [machine.editor_user(editor) for editor in ("Code", "Code - Insiders", "VSCodium")]
    return (
        *(user / "mcp.json" for user in users[1:]),
        *(user / "settings.json" for user in users),
        *(file for user in users for file in _found(user / "profiles", "*/mcp.json")),
    )


def windsurf(machine: Machine) -> Places:
    return (machine.home / ".codeium" / "windsurf" / "mcp_config.json", machine.home / ".windsurf" / "mcp.json")


def windsurf_plugin(machine: Machine) -> Places:
    return (machine.home / ".codeium" / "mcp_config.json",)


def docker_mcp(machine: Machine) -> Places:
    return (machine.home / ".docker" / "mcp-servers.json",)


def docker_toolkit(machine: Machine) -> Places:
    return (machine.home / ".docker" / "mcp" / "registry.yaml",)


def beside_docker_registry(file: Path) -> Places:
    """The files that say what an entry of the Toolkit's registry means."""
    if file.name != "registry.yaml":
        return ()
    folder = file.parent
    return (folder / "config.yaml", folder / "tools.yaml", *_found(folder, "catalogs/*.yaml"))


def cline(machine: Machine) -> Places:
    file = "cline_mcp_settings.json"
    older = "globalStorage/saoudrizwan.claude-dev/settings"
    return (
        machine.home / ".cline" / "data" / "settings" / file,
        *(machine.editor_user(editor) / older / file for editor in _EDITORS),
    )


def roo(machine: Machine) -> Places:
    return tuple(
        machine.editor_user(editor) / "globalStorage/rooveterinaryinc.roo-cline/settings" / file
        for editor in _EDITORS
        for file in ("mcp_settings.json", "cline_mcp_settings.json")
    )


def zed(machine: Machine) -> Places:
    folder = machine.app_config / "Zed" if machine.system == "win32" else machine.dot_config / "zed"
    return (folder / "settings.json",)


def continue_dev(machine: Machine) -> Places:
    folder = machine.named_by("CONTINUE_GLOBAL_DIR", machine.home / ".continue")
    return (folder / "config.yaml", folder / "config.json")


def goose(machine: Machine) -> Places:
    if root := machine.env.get("GOOSE_PATH_ROOT"):
        return (Path(root) / "config" / "config.yaml",)
    of_windows = machine.app_config / "Block" / "goose" / "config"
    folder = of_windows if machine.system == "win32" else machine.dot_config / "goose"
    return (folder / "config.yaml",)


def codex(machine: Machine) -> Places:
    return (machine.named_by("CODEX_HOME", machine.home / ".codex") / "config.toml",)


def gemini(machine: Machine) -> Places:
    return (machine.named_by("GEMINI_CLI_HOME", machine.home) / ".gemini" / "settings.json",)


def antigravity(machine: Machine) -> Places:
    return (machine.home / ".gemini" / "antigravity" / "mcp_config.json",)


def junie(machine: Machine) -> Places:
    return (machine.home / ".junie" / "mcp" / "mcp.json",)


def junie_others(machine: Machine) -> Places:
    return tuple(file for file in _found(machine.home / ".junie" / "mcp", "*.json") if file.name != "mcp.json")


def jetbrains(machine: Machine) -> Places:
    return (machine.home / ".ai" / "mcp" / "mcp.json",)


def jetbrains_products(machine: Machine) -> Places:
    return _found(machine.app_config / "JetBrains", "*/options/llm.mcpServers.xml")


def copilot_jetbrains(machine: Machine) -> Places:
    folder = machine.local_app_data if machine.system == "win32" else machine.dot_config
    return (folder / "github-copilot" / "intellij" / "mcp.json",)


def copilot_cli(machine: Machine) -> Places:
    file = "mcp-config.json"
    usual = machine.named_by("COPILOT_HOME", machine.home / ".copilot") / file
    moved = machine.env.get("XDG_CONFIG_HOME")
    return (usual, Path(moved) / "copilot" / file, Path(moved) / file) if moved else (usual,)


def lm_studio(machine: Machine) -> Places:
    return (machine.home / ".lmstudio" / "mcp.json", machine.home / ".cache" / "lm-studio" / "mcp.json")


def opencode(machine: Machine) -> Places:
    folder = machine.dot_config / "opencode"
    return (folder / "opencode.json", folder / "opencode.jsonc", folder / "config.json")


def opencode_others(machine: Machine) -> Places:
    """OpenCode reads all files of its folder, and those that variables name, as one."""
    usual = opencode(machine)
    main = next((place for place in usual if place.exists()), usual[0])
    named = [Path(file) for file in (machine.env.get("OPENCODE_CONFIG"),) if file]
    if folder := machine.env.get("OPENCODE_CONFIG_DIR"):
        named += [Path(folder) / "opencode.json", Path(folder) / "opencode.jsonc"]
    return tuple(dict.fromkeys(place for place in (*usual, *named) if place != main))


def qwen(machine: Machine) -> Places:
    return (machine.named_by("QWEN_HOME", machine.home / ".qwen") / "settings.json",)


def kiro(machine: Machine) -> Places:
    return (machine.home / ".kiro" / "settings" / "mcp.json",)


def warp(machine: Machine) -> Places:
    return (machine.home / ".warp" / ".mcp.json",)


def amazon_q(machine: Machine) -> Places:
    return (machine.home / ".aws" / "amazonq" / "mcp.json",)


def amazon_q_agents(machine: Machine) -> Places:
    folder = machine.home / ".aws" / "amazonq"
    return (folder / "agents" / "default.json", *_found(folder, "cli-agents/*.json"))


def crush(machine: Machine) -> Places:
    of_windows = machine.local_app_data / "crush"
    folder = of_windows if machine.system == "win32" else machine.dot_config / "crush"
    return (machine.named_by("CRUSH_GLOBAL_CONFIG", folder) / "crush.json",)


def _found(folder: Path, pattern: str) -> Places:
    """Files of a folder whose names nobody knows beforehand, in a stable order and not without end."""
    try:
        return tuple(sorted(itertools.islice(folder.glob(pattern), _MOST_FILES)))
    except OSError:
        return ()
