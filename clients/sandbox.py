"""A home of its own for each real client, and the client's own commands in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALLED = Path(__file__).parent.parent / ".clients"
TOOLCRIB = Path(sys.executable).with_name("toolcrib")
CLOCK = (sys.executable, "-m", "toolcrib.demo.clock")
BOUND_SECONDS = 120.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Sandbox:
    """An empty home with a folder to work in; nothing of this machine's user is in the environment."""

    home: Path

    @property
    def folder(self) -> Path:
        return self.home / "work"

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home),
            "TOOLCRIB_HOME": str(self.home / "toolcrib"),
            "PATH": os.pathsep.join(
                (str(INSTALLED / "node_modules" / ".bin"), str(TOOLCRIB.parent), os.environ["PATH"])
            ),
            "NO_COLOR": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        return {**own, **{name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}}

    def run(self, *command: str, **environment: str) -> str:
        """What a command says; it must succeed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=BOUND_SECONDS,
            check=False,
        )
        said = _COLOURS.sub("", (done.stdout + done.stderr).decode(errors="replace"))
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {said}"
        return said

    def toolcrib(self, *arguments: str) -> str:
        return self.run(str(TOOLCRIB), *arguments)


def _trust_for_gemini(sandbox: Sandbox) -> None:
    """Gemini CLI shows no servers in a folder that nobody said it may trust."""
    place = sandbox.home / ".gemini" / "trustedFolders.json"
    place.parent.mkdir()
    place.write_text(f'{{"{sandbox.folder}": "TRUST_FOLDER"}}')


def _nothing(_: Sandbox) -> None:
    """Most clients need no preparation."""


@dataclass(frozen=True)
class RealClient:
    """One client: how servers are added by its own command, where it writes them, and how it lists ours."""

    name: str
    file: str
    add: Callable[[str, Sequence[str]], tuple[str, ...]]
    listing: tuple[str, ...]
    # How its own list shows Toolcrib; some only list what is configured and connect to nothing.
    shows: str
    prepare: Callable[[Sandbox], None] = _nothing

    def add_server(self, sandbox: Sandbox, name: str, command: Sequence[str] = CLOCK) -> None:
        sandbox.run(*self.add(name, command))

    def content(self, sandbox: Sandbox) -> bytes:
        return (sandbox.home / self.file).read_bytes()


CLIENTS = (
    RealClient(
        "claude-code",
        ".claude.json",
        lambda name, command: ("claude", "mcp", "add", "-s", "user", name, "--", *command),
        ("claude", "mcp", "list"),
        r"^toolcrib: .* - ✔ Connected",
    ),
    RealClient(
        "codex",
        ".codex/config.toml",
        lambda name, command: ("codex", "mcp", "add", name, "--", *command),
        ("codex", "mcp", "list"),
        r"^toolcrib .* enabled",
    ),
    RealClient(
        "gemini",
        ".gemini/settings.json",
        lambda name, command: ("gemini", "mcp", "add", "-s", "user", name, command[0], "--", *command[1:]),
        ("gemini", "mcp", "list"),
        r"^✓ toolcrib: .* - Connected",
        _trust_for_gemini,
    ),
    RealClient(
        "opencode",
        ".config/opencode/opencode.jsonc",
        lambda name, command: ("opencode", "mcp", "add", name, "--", *command),
        ("opencode", "mcp", "list"),
        r"✓ toolcrib connected",
    ),
    RealClient(
        "copilot-cli",
        ".copilot/mcp-config.json",
        lambda name, command: ("copilot", "mcp", "add", name, "--", *command),
        ("copilot", "mcp", "list"),
        r"^\s*toolcrib \(local\)",
    ),
    RealClient(
        "qwen",
        ".qwen/settings.json",
        lambda name, command: ("qwen", "mcp", "add", "-s", "user", name, command[0], "--", *command[1:]),
        ("qwen", "mcp", "list"),
        r"^✓ toolcrib: .* - Connected",
    ),
)
