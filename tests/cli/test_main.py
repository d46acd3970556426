from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib import __version__
from toolcrib.cli.main import anygpt, main
from toolcrib.config.reference import settings_text
from toolcrib.config.settings import SCALARS


def exit_code(run: Callable[[list[str]], int], arguments: list[str]) -> int:
    """The exit code, whether it was returned or raised by the parser."""
    try:
        return run(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)


def process(*arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolcrib", *arguments]
    return subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(("run", "name"), [(main, "toolcrib"), (anygpt, "anygpt (toolcrib)")])
def test_the_version_is_told(run: Callable[[list[str]], int], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(run, ["--version"]) == 0
    assert capsys.readouterr().out == f"{name} {__version__}\n"


def test_the_package_runs_as_a_module() -> None:
    done = process("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"toolcrib {__version__}\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals there")
def test_on_a_terminal_plain_toolcrib_shows_help() -> None:
    outside, inside = os.openpty()
    try:
        done = process(stdin=inside)
    finally:
        os.close(inside)
        os.close(outside)

    assert done.returncode == 0
    assert all(command in done.stdout for command in ("serve", "trust", "settings", "--config"))


def test_without_any_standard_input_help_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert main([]) == 0
    assert "usage: toolcrib" in capsys.readouterr().out


def test_with_a_pipe_on_its_input_plain_toolcrib_serves_until_the_pipe_ends() -> None:
    done = process(stdin=subprocess.PIPE)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["--nonsense"], ["serve", "--port", "many"], ["serve", "extra"], ["trust", "a", "b"], ["--config"]],
)
def test_a_wrong_command_line_ends_with_one_and_says_why(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(main, arguments) == 1
    said = capsys.readouterr()
    assert said.err.startswith("usage: toolcrib")
    assert said.out == ""


@pytest.mark.parametrize("arguments", [[], ["other"], ["mcpp", "settings"]])
def test_the_other_name_knows_only_its_group(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(anygpt, arguments) == 1
    assert "mcp" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["settings"], ["--help"], ["serve", "--help"]])
def test_under_its_other_name_it_is_the_same_program(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, arguments) == 0
    ours = capsys.readouterr().out
    assert exit_code(anygpt, ["mcp", *arguments]) == 0
    assert capsys.readouterr().out.replace("anygpt mcp", "toolcrib") != ""
    assert exit_code(anygpt, ["mcp", "nonsense"]) == 1
    assert capsys.readouterr().err.startswith("usage: anygpt mcp")
    assert ours


def test_the_arguments_of_the_process_are_used_where_none_are_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["anygpt", "mcp", "settings"])
    assert anygpt() == 0
    monkeypatch.setattr(sys, "argv", ["toolcrib", "settings"])
    assert main() == 0
    assert capsys.readouterr().out == f"{settings_text()}\n" * 2


@pytest.mark.parametrize(
    ("content", "told"),
    [("discovery: [", "broken.yaml"), ("discovery: 5", "discovery"), ("discovery: {callTimeout: soon}", "callTimeout")],
)
def test_a_configuration_that_can_not_be_used_ends_with_two_and_says_what_to_edit(
    tmp_path: Path, content: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(content, encoding="utf-8")

    assert main(["--config", str(path), "serve"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("toolcrib: the configuration can't be used:")
    assert told in said.err


def test_a_configuration_file_that_is_not_there_ends_with_two(tmp_path: Path) -> None:
    assert main(["--config", str(tmp_path / "missing.yaml"), "serve", "--demo"]) == 2


def test_every_setting_is_listed_with_its_default_its_variable_and_what_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["settings"]) == 0

    listed = capsys.readouterr().out
    for scalar in SCALARS:
        assert f"{scalar.key}  (default: " in listed
        assert f"; {scalar.variable})" in listed
        assert scalar.description.replace("`", "") in listed
    assert "`" not in listed


@pytest.mark.parametrize("command", ["serve", "trust", "settings"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, [command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: toolcrib {command}")
