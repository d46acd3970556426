from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.program_meant import program_meant, words_meant


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
def test_a_program_of_an_activated_environment_is_named_in_full(tmp_path, mark):
    python = program(tmp_path / "env" / "bin" / "python")
    (tmp_path / "env" / mark).mkdir()
    assert program_meant("python", {"PATH": str(python.parent)}, tmp_path) == str(python)


def test_a_link_to_another_python_is_named_itself(tmp_path):
    """What it leads to would not know the packages of the environment."""
    real = program(tmp_path / "usr" / "bin" / "python3")
    link = tmp_path / "env" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    assert program_meant("python", {"PATH": str(link.parent)}, tmp_path) == str(link)


def test_a_program_that_is_found_everywhere_keeps_its_plain_name(tmp_path):
    runner = program(tmp_path / "bin" / "npx")
    assert program_meant("npx", {"PATH": str(runner.parent)}, tmp_path) == "npx"
    assert program_meant("not-installed-yet", {"PATH": str(runner.parent)}, tmp_path) == "not-installed-yet"


def test_a_path_is_meant_from_where_the_person_is(tmp_path):
    script = program(tmp_path / "build" / "server")
    assert program_meant("./build/server", {}, tmp_path) == str(script)
    assert program_meant("build/server", {}, tmp_path) == str(script)
    assert program_meant(str(script), {}, Path("/")) == str(script)
    assert program_meant("./not-built-yet", {}, tmp_path) == "./not-built-yet"


def test_what_is_added_from_a_folder_says_which_program_it_runs(home, capsys, tmp_path, monkeypatch):
    script = program(tmp_path / "server")
    monkeypatch.chdir(tmp_path)
    assert home.run("add", "mine", "--", f".{os.sep}server", "--stdio") == 0
    assert f"it runs {script}" in capsys.readouterr().out
    launch = OwnFile.read(home.own).servers["mine"].launch
    assert (launch.command, launch.args) == (str(script), ("--stdio",))


def test_a_file_among_the_arguments_is_meant_from_here_and_a_folder_from_where_the_client_is(tmp_path):
    (tmp_path / "src").mkdir()
    for file in ("notes.py", "src/run.js", "notes"):
        (tmp_path / file).touch()
    words = [
        "-m",
        "notes.py",
        "./src/run.js",
        "notes",
        "src",
        ".",
        "./absent.py",
        "--config=notes.py",
        "a/b@1.2",
        "~/x",
    ]

    meant = words_meant(words, tmp_path)

    assert meant[1:3] == [str(tmp_path / "notes.py"), str(tmp_path / "src/run.js")]
    assert [meant[0], *meant[3:]] == [words[0], *words[3:]]
