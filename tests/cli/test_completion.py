"""Completion in the shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.machine import TOOLS, Machine


def _offered(machine: Machine, *words: str) -> list[str]:
    ran = machine.run("__complete", *words)
    assert ran.code == 0
    assert ran.err == ""
    return ran.out.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["se"], ["search", "serve", "settings"]),
        (["tools", ""], ["database", "filesystem", "github"]),
        (["inspect", "github", "c"], ["create_issue"]),
        (["execute", "--json", "github", ""], ["create_issue", "delete_repo", "list_repos"]),
        (["search", "word", "--server", "g"], ["github"]),
        (["calls", "-f", "--server", "g"], ["github"]),
        (["stats", "--by", ""], ["client", "server", "tool"]),
        (["calls", "--fo"], ["--follow"]),
        (["logs", "-f", "g"], ["github"]),
        (["config", "s"], ["show", "sources"]),
        (["--color", "a"], ["always", "auto"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["tools", "github", "--t"], ["--tags"]),
        (["doctor", "github", "d"], ["database"]),
        (["tools", "github", ""], []),
        (["inspect", "nobody", ""], []),
        (["--config", "nowhere.yaml", "tools", ""], []),
        (
            ["nonsense", ""],
            sorted(
                [
                    "list",
                    "search",
                    "tools",
                    "inspect",
                    "execute",
                    "config",
                    "logs",
                    "doctor",
                    "serve",
                    "trust",
                    "settings",
                    "completion",
                ]
            ),
        ),
    ],
)
def test_what_fits_is_offered(words: list[str], offered: list[str], seeded: Machine) -> None:
    assert set(offered) <= set(_offered(seeded, *words))
    if words[-1] or len(offered) < 4:
        assert _offered(seeded, *words) == offered


def test_a_name_a_shell_would_act_on_is_never_offered(seeded: Machine) -> None:
    names = ["$(reboot)", "a b", "`x`", "a;b", "x\ny", "fine_name", "\x1b[2J", "it's"]
    seeded.fill({**TOOLS, "github": [{"name": name, "inputSchema": {}} for name in names]})
    assert _offered(seeded, "inspect", "github", "") == ["fine_name"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_accepted_by_its_shell(shell: str, machine: Machine, tmp_path: Path) -> None:
    script = machine.run("completion", shell).out
    assert "toolcrib __complete" in script
    program = shutil.which(shell)
    if program is not None:
        file = tmp_path / "script"
        file.write_text(script, "utf-8")
        subprocess.run([program, "-n", str(file)], check=True, timeout=20)


def test_bash_completes_servers_from_the_catalog(seeded: Machine, tmp_path: Path) -> None:
    program = shutil.which("bash")
    assert program is not None
    ours = tmp_path / "toolcrib"
    ours.write_text(f'#!/bin/sh\nexec {sys.executable} -m toolcrib "$@"\n', "utf-8")
    ours.chmod(0o755)
    commands = 'eval "$(toolcrib completion bash)"; COMP_WORDS=(toolcrib tools f); COMP_CWORD=2; _toolcrib; echo "${COMPREPLY[@]}"'
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run([program, "-c", commands], env=env, capture_output=True, text=True, check=True, timeout=30)
    assert ran.stdout == "filesystem\n"
    assert ran.stderr == ""
