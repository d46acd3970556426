"""A made-up home with clients in it, and the command line as its owner types it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.adoption.adopt import carry_out
from toolcrib.adoption.plan import Plan
from toolcrib.adoption.release import ReleasePlan, carry_out_release
from toolcrib.adoption.site import Site
from toolcrib.adoption.steps import Replace
from toolcrib.cli.main import main
from toolcrib.clients.table import CLIENTS
from toolcrib.config.os_keyring import OsKeyring

DESKTOP = b"""{
  "mcpServers": {
    "clock": {
      "command": "python",
      "args": ["-m", "toolcrib.demo.clock"]
    }
  },
  "theme": "dark"
}
"""
CURSOR = b"""// my cursor
{
  "mcpServers": {
    "clock": {"command": "python", "args": ["-m", "toolcrib.demo.clock"]}, // the same clock
    "notes": {"command": "notes", "env": {"NOTES_TOKEN": "s3cr3t-n0tes", "DIR": "/n"}},
    "here": {"command": "x", "cwd": "${workspaceFolder}"}, /* stays */
  },
}
"""
VSCODE = b"""{\r
\t"inputs": [{"type": "promptString", "id": "pin"}],\r
\t// servers\r
\t"servers": {\r
\t\t"bank": {"type": "stdio", "command": "bank", "env": {"PIN": "${input:pin}"}},\r
\t\t"notes": {"type": "stdio", "command": "other-notes"}\r
\t}\r
}"""
CODEX = b"""model = "x" # mine

# the wiki
[mcp_servers.wiki]
url = "https://wiki.example.com/mcp"
headers = { Authorization = "Bearer w1k1-t0ken" }

[tools]
web = true
"""


@dataclass
class Home:
    """The home of the test that runs."""

    @property
    def site(self) -> Site:
        return Site.of(os.environ)

    def file(self, client: str) -> Path:
        return CLIENTS[client].file(self.site.machine)

    def give(self, client: str, content: bytes) -> Path:
        file = self.file(client)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def give_all(self) -> dict[Path, bytes]:
        """Four clients with servers; their files with what is in them."""
        contents = {"claude-desktop": DESKTOP, "cursor": CURSOR, "vscode": VSCODE, "codex": CODEX}
        return {self.give(client, content): content for client, content in contents.items()}

    @property
    def own(self) -> Path:
        return self.site.own_path

    def carry_out(self, plan: Plan | ReleasePlan, *, replace: Replace = os.replace) -> None:
        """Do what was planned, as the commands do."""
        with self.site.writing("test", replace=replace) as writer:
            if isinstance(plan, Plan):
                carry_out(writer, self.site, plan, OsKeyring())
            else:
                carry_out_release(writer, self.site, plan, OsKeyring())

    def run(self, *words: str) -> int:
        return main(list(words))

    def answer(self, capsys: Any, *words: str) -> dict[str, Any]:
        """The JSON a command answers; the exit code is in `exit`."""
        capsys.readouterr()
        code = main([words[0], "--json", *words[1:]])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return {**found, "exit": code}


def contents(files: dict[Path, bytes]) -> dict[Path, bytes]:
    """The same files as they are now."""
    return {file: file.read_bytes() for file in files}
