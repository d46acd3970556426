"""What the project promises of itself: licence, types, commands, coverage."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_tests_must_reach_ninety_percent_of_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    target = re.search(r"^coverage:.*\n\t(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")

    assert project["tool"]["coverage"]["report"]["fail_under"] >= 90
    assert project["tool"]["coverage"]["run"]["source"] == ["toolcrib"]
    assert target is not None
    assert "--cov " in target[1]
    assert "make coverage" in workflow


def test_the_package_has_its_licence_its_types_and_both_commands() -> None:
    installed = importlib.metadata.distribution("toolcrib")

    assert {entry.name for entry in installed.entry_points if entry.group == "console_scripts"} == {
        "toolcrib",
        "anygpt",
    }
    assert installed.metadata["License-Expression"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "src" / "toolcrib" / "py.typed").exists()


def test_the_commands_of_the_package_lead_to_functions_that_are_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]

    assert set(scripts) == {"toolcrib", "anygpt"}
    for target in scripts.values():
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows what is committed")
def test_nothing_is_committed_that_is_installed_or_made_here() -> None:
    command = ("git", "-c", "safe.directory=*", "ls-files", "--cached", "--ignored", "--exclude-standard")
    committed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=30)

    assert committed.stdout == ""


def test_every_function_of_the_package_says_what_it_takes_and_gives() -> None:
    untyped = [
        f"{file.relative_to(ROOT)}:{function.lineno} {function.name}"
        for file in (ROOT / "src").rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_typed(function)
    ]

    assert untyped == []


def _is_typed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    all_told = all(one.annotation is not None for one in named if one.arg not in {"self", "cls"})
    # Without a return type a constructor still is one.
    return all_told and (function.returns is not None or function.name == "__init__")
