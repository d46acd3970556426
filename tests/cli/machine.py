"""A machine for the commands to run on: a configuration, a catalog of servers already read, and two ways to run one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli.main import main
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.workspace.workspace import offered

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "cli"
WORKSHOP = Path(__file__).resolve().parent / "programs" / "workshop.py"
BOUND_SECONDS = 45.0

# The three servers of the specification's samples; none of them can be started.
CONFIG = """
discovery:
  servers:
    github: {description: GitHub API integration, command: never-started, args: [github]}
    filesystem: {description: File system operations, command: never-started, args: [filesystem]}
    database: {command: never-started, args: [database]}
  toolRules:
    - {pattern: ['github:*', '/issue/'], enabled: true, tags: [github, issues]}
    - {server: filesystem, pattern: ['*'], enabled: true, tags: [filesystem]}
    - {pattern: ['*dangerous*', '*delete*'], enabled: false, tags: [dangerous]}
    - {pattern: ['database:*'], tags: [data]}
"""


def _tool(name: str, description: str, properties: Mapping[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema, **more}


_TEXT = {"type": "string"}
_ISSUE = {
    "repo": {"type": "string", "description": "Repository name (owner/repo)"},
    "title": {"type": "string", "description": "Issue title"},
    "body": {"type": "string", "description": "Issue body (markdown)"},
}
_EXAMPLE = {
    "description": "Create a bug report",
    "parameters": {
        "repo": "owner/repo",
        "title": "Bug: Application crashes on startup",
        "body": "## Steps to reproduce\n1. Launch app\n2. Crash occurs",
    },
}
TOOLS: Mapping[str, Sequence[dict[str, Any]]] = {
    "github": [
        _tool(
            "create_issue",
            "Create a new GitHub issue in a repository. The title is required.",
            _ISSUE,
            "repo",
            "title",
            _meta={"examples": [_EXAMPLE]},
        ),
        _tool("list_repos", "List GitHub repositories", {"owner": _TEXT}),
        _tool("delete_repo", "Delete a GitHub repository", {"repo": _TEXT}, "repo"),
    ],
    "filesystem": [
        _tool("read_file", "Read a file from disk", {"path": _TEXT}, "path"),
        _tool("délivrer_文件", "Hand a file over, whatever its script: 文件", {}),
    ],
}


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Machine:
    """Runs commands as a person would, within this process or as one of their own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.home = Path(os.environ["TOOLCRIB_HOME"])
        self.home.mkdir(parents=True, exist_ok=True)
        self.paths = Paths.of(os.environ)

    def configure(self, text: str) -> Path:
        file = self.paths.config_file
        file.write_text(text, "utf-8")
        return file

    def fill(self, tools: Mapping[str, Sequence[dict[str, Any]]], *, failed: Mapping[str, str] | None = None) -> None:
        """Fill the catalog as if these servers had been read, and those others had failed."""
        catalog = SqliteCatalog(self.paths.catalog)
        for spec in offered(load_settings()):
            if spec.name in tools:
                reading = ServerReading(Identity("legacy", "2025-11-25"), tuple(tools[spec.name]))
                catalog.save_reading(spec.name, spec.launch_key, reading, time.time())
            elif spec.name in (failed or {}):
                catalog.record_failure(spec.name, spec.launch_key, (failed or {})[spec.name], time.time())
        catalog.close()

    def workshop(self, *kinds: str, more: str = "") -> None:
        """Configure our own small servers, each named as its kind."""
        entries = {kind: {"command": sys.executable, "args": ["-I", "-S", str(WORKSHOP), kind]} for kind in kinds}
        self.configure(f"servers: {json.dumps(entries)}\n{more}")

    def run(self, *arguments: str) -> Ran:
        """Within this process; quick, and without a terminal."""
        self._capsys.readouterr()
        code = main(arguments)
        said = self._capsys.readouterr()
        return Ran(code, said.out, said.err)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-m", "toolcrib", *arguments], text=True, errors="replace", **options)

    def run_apart(self, *arguments: str, stdin: str = "") -> Ran:
        """As a process of its own, in pipes."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with self.start(*arguments, **pipes) as process:
            out, err = process.communicate(stdin, timeout=BOUND_SECONDS)
        return Ran(process.returncode, out, err)


def rows(table: str) -> dict[str, list[str]]:
    """The cells of each row of a table, by the name that follows the mark in the first one."""
    cells = [re.split(r"\s{2,}", line) for line in table.splitlines() if re.match(r"[✓·?✗!-] ", line)]
    return {row[0][2:]: row for row in cells}


def eventually(holds: Callable[[], Any], seconds: float = BOUND_SECONDS) -> None:
    """Wait until `holds` is true; fails when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.02)


def check_golden(name: str, text: str, **replaced: object) -> None:
    """Compare with the kept output; UPDATE_GOLDEN=1 in the environment keeps the new one instead."""
    for word, value in replaced.items():
        text = text.replace(str(value), f"<{word}>")
    text = re.sub(r"\d+\.\d s|(?<=failedAt\": )[0-9.]+", "<time>", text)
    # How sure the search is gets tuned; how it is written does not.
    text = re.sub(r"\d+% match|(?<=relevance\": )[0-9.]+", lambda found: re.sub(r"[0-9.]+", "<share>", found[0]), text)
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")
