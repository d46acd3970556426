"""A machine on which whatever strangers can name or write holds characters that hide or steer something."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.machine import Machine, Ran
from tests.cli.recorded_calls import a_call, record
from tests.fakes import tool
from tests.peers.cards import KITCHEN, STRANGER, definition, known_peer
from tests.servers.registry import Registry, entry, npm
from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.config.load import load_settings
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.model.named_token import NamedToken
from toolcrib.model.server import StdioLaunch
from toolcrib.storage.sqlite_peers import SqlitePeers
from toolcrib.storage.token_file import TokenFile

EVIL = "\u202etxt\u2028line\x1b[2J\u200b\x9b\x7f\rover"
# As much of it as the name of a file may hold on every system.
NAME = "".join(one for one in EVIL if one >= " ")
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
# What is left of it in a text, a name, an identifier, an address, a word for a shell, and in JSON.
HARMLESS = re.compile(
    r"\ufffdtxt\ufffdline|txt-?line[\[_-]2j|%E2%80%AEtxt|\\xe2\\x80\\xaetxt|\\u202etxt\\+u2028line", re.IGNORECASE
)

SERVER = Path(__file__).with_name("programs") / "hidden_words.py"
NOTE = "io.github.mallory/note"
STATUS: Mapping[str, Any] = {
    "version": "1",
    "pid": 1,
    "startedAt": 0.0,
    "memoryBytes": 0,
    "http": "",
    "clients": [{"name": EVIL, "folder": f"/work/{EVIL}", "config": EVIL}],
    "servers": [{"name": "evil", "transport": "stdio", "users": {EVIL: 2}}],
    "calls": [{"client": EVIL, "server": "evil", "tool": EVIL, "runningMs": 1.0}],
}
"""What an engine says of its clients."""


class HostileHome:
    """Made once; `words` are what the names in the lines of commands stand for."""

    def __init__(self, machine: Machine, registry: Registry) -> None:
        self.machine = machine
        self.words: dict[str, str] = {"EVIL": EVIL, "NAME": NAME, "ENTRY": NOTE}
        registry.entries = [
            entry(NOTE, f"A note{EVIL}", title=EVIL, packages=[npm("note", packageArguments=[{"value": EVIL}])])
        ]
        self._configure(registry.url)
        self._read()
        self._record()
        self._propose()
        self._write_files()

    def run(self, line: str) -> Ran:
        """What a command says, its words in capitals replaced by what they stand for."""
        words = (re.sub("[A-Z]{2,}", lambda found: self.words[found[0]], word) for word in line.split())
        return self.machine.run(*words)

    def _configure(self, registry: str) -> None:
        def server(*arguments: str) -> dict[str, Any]:
            command = {"command": sys.executable, "args": ["-I", "-S", str(SERVER), *arguments]}
            return {**command, "description": f"An entry{EVIL}"}

        discovery = {
            "servers": {"evil": server(), "broken": server("broken")},
            "toolRules": [{"pattern": ["*"], "tags": [EVIL]}],
            "sources": [{"type": "cursor"}, {"type": "mcp-json", "path": f"gone{NAME}.json"}],
            "registry": {"urls": [registry], "rate": 1000},
            "trust": {"scan": False},
            "peers": True,
            "maxRetries": 0,
        }
        # YAML allows no bare DEL, which JSON does.
        self.machine.configure(json.dumps({"discovery": discovery}).replace("\x7f", "\\u007f"))

    def _read(self) -> None:
        self.machine.run("discover", "evil")
        names = [one["name"] for one in self.machine.run("tools", "evil", "--json").json["tools"]]
        self.words["TOOL"] = next(name for name in names if name.startswith("read"))
        listed = self.machine.run("capabilities", "list", "--json").json["capabilities"]
        self.words["CAPABILITY"] = next(one["id"] for one in listed if one["id"].startswith("mcp.evil.read"))
        now, poisoned = time.time(), [definition("add", EVIL)]
        peers = [
            known_peer(KITCHEN, "kitchen", poisoned, now=now, title=EVIL, trouble=EVIL),
            known_peer(STRANGER, "stranger", poisoned, now=now, server=f"peer{EVIL}", title=EVIL),
        ]
        SqlitePeers(self.machine.paths.catalog).save_peers(peers)

    def _record(self) -> None:
        who = {"server": f"server{EVIL}", "client": f"client{EVIL}", "at": time.time()}
        record(self.machine, [a_call(f"tool{EVIL}", **who), a_call("ping", outcome=f"FAILED{EVIL}", **who)])
        may = {"servers": (f"files{EVIL}",), "tags": (EVIL,)}
        token = NamedToken("abc", f"ci{EVIL}", "0" * 64, time.time(), **may)
        TokenFile(self.machine.paths.named_tokens).change(lambda kept: (*kept, token))
        for file in (self.machine.paths.logs_dir / "evil.log", self.machine.paths.engine_log):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(f"Oh{EVIL}\n".encode())

    def _propose(self) -> None:
        request = ProposalRequest(
            name=f"atlas{EVIL}",
            launch=StdioLaunch("npx", (EVIL,), env={f"A{EVIL}": EVIL}),
            source=f"agent{EVIL}",
            description=EVIL,
            goal=EVIL,
            note=EVIL,
            definitions=(tool(f"find{EVIL}", f"Finds.{EVIL}"),),
            server_info={"name": EVIL, "version": EVIL},
        )
        with read_capabilities(load_settings()) as capabilities:
            self.words["REQUEST"] = capabilities.review.propose(request, f"agent{EVIL}").id

    def _write_files(self) -> None:
        schema = {"type": "object", "properties": {EVIL: {"type": "string", "enum": [EVIL]}}, "required": [EVIL]}
        client = Path(os.environ["HOME"], ".cursor", "mcp.json")
        files = {
            client: {"mcpServers": {f"notes{EVIL}": {"command": "notes", "args": [EVIL]}}},
            Path(".mcp.json"): {"mcpServers": {f"notes{EVIL}": {"command": "notes", "args": [EVIL]}}},
            Path("types.json"): {"name": EVIL, "inputSchema": schema},
            Path("odd.json"): {"servers": {}, f"odd{EVIL}": 1},
            Path(f"folder{NAME}", "toolcrib.json"): {"servers": {}},
            Path("forms", f"form{NAME}.rtfs"): "no form",
        }
        for file, content in files.items():
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(content), "utf-8")
        Path("type.rtfs").write_text(f'[:enum "{EVIL}" "b"]', "utf-8", newline="")
        self.machine.run("trust", str(Path(f"folder{NAME}", "toolcrib.json")))
