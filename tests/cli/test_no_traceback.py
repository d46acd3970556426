"""Whatever is broken on the machine or odd in the words of a command: words and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.cli import exits
from toolcrib.cli.main import main

CONFIG = f"""
discovery:
  servers:
    clock: {{command: {json.dumps(sys.executable)}, args: [-m, toolcrib.demo.clock]}}
    gone: {{command: not-a-program-at-all}}
  registry: {{urls: ["http://127.0.0.1:1"]}}
  maxRetries: 0
"""
CODES = {exits.OK, exits.USAGE, exits.CONFIGURATION, exits.NOT_FOUND, exits.FAILED, exits.DISABLED}
COMMANDS = [
    "list",
    "list --json",
    "search time",
    "search time --json",
    "tools clock",
    "inspect clock current_time",
    "execute clock current_time",
    "config show",
    "config validate",
    "settings",
    "doctor",
    "logs clock",
    "calls",
    "calls --json --failed",
    "stats",
    "audit show",
    "audit verify --json",
    "audit export --format csv",
    "approvals list --all",
    "approvals show x",
    "approvals approve x",
    "approvals reject x",
    "capabilities list",
    "capabilities export",
    "capabilities import .",
    "capabilities find time",
    "registry search x",
    "registry sync",
    "registry show a/b",
    "trust",
    "trust toolcrib.yaml",
    "trust --forget toolcrib.yaml",
    "add zed -- echo hi",
    "add web https://127.0.0.1:1/mcp",
    "disable clock",
    "enable clock",
    "remove zed",
    "adopt --dry-run",
    "adopt --yes",
    "release --yes",
    "connect cursor --yes",
    "discover clock",
    "warm",
    "completion bash",
]


@pytest.fixture
def home() -> Path:
    """A machine on which everything has been used once: a read server, a trusted file, exported capabilities."""
    home = Path(os.environ["TOOLCRIB_HOME"])
    home.mkdir(parents=True)
    (home / "toolcrib.yaml").write_text(CONFIG, encoding="utf-8")
    Path("toolcrib.yaml").write_text("discovery: {}", encoding="utf-8")
    for words in ("trust toolcrib.yaml", "trust --forget toolcrib.yaml", "execute clock current_time"):
        assert main(words.split()) == exits.OK
    main(["capabilities", "export"])
    return home


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with the way a command ended, or nothing."""
    capsys.readouterr()
    try:
        code = main(words)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except Exception as error:  # noqa: BLE001 - that is the question
        return ascii(f"{words}: {error!r}")
    said = "".join(capsys.readouterr())
    is_fine = code in CODES and "Traceback" not in said and "nobody foresaw" not in said
    return "" if is_fine else ascii(f"{words}: exit code {code}: {said}")


def all_refused(words: list[list[str]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [complaint for command in words if (complaint := refused(command, capsys))]


def _home_is_a_file(home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("not a folder", encoding="utf-8")


def _home_and_folder_are_gone(home: Path) -> None:
    shutil.rmtree(home)
    shutil.rmtree(Path.cwd())


def _noise(home: Path) -> None:
    for file in (file for file in home.rglob("*") if file.is_file()):
        file.write_bytes(b"\xff\xfe\0 noise" * 500)


def _noise_beside_the_configuration(home: Path) -> None:
    _noise(home)
    (home / "toolcrib.yaml").write_text(CONFIG, encoding="utf-8")


def _folders(home: Path) -> None:
    for file in [file for file in home.rglob("*") if file.is_file()]:
        file.unlink()
        file.mkdir()


def _home_of_nobody(_: Path) -> None:
    os.environ["TOOLCRIB_HOME"] = "~nobody-of-that-name/toolcrib"


def _home_that_is_not_utf8(home: Path) -> None:
    moved = home.with_name("\udcff")
    home.rename(moved)
    os.environ["TOOLCRIB_HOME"] = str(moved)


def _home_of_a_long_name(_: Path) -> None:
    os.environ["TOOLCRIB_HOME"] = f"/{'a' * 5_000}"


TROUBLES = {
    "the state folder is a file": _home_is_a_file,
    "every file is noise": _noise,
    "every file but the configuration is noise": _noise_beside_the_configuration,
    "every file is a folder": _folders,
    "the state folder is in an unknown home": _home_of_nobody,
    "the state folder has an impossible name": _home_of_a_long_name,
}

if sys.platform == "linux":  # elsewhere there are no such names, or a folder that is in use can't be deleted
    TROUBLES["the state folder has a name that is not UTF-8"] = _home_that_is_not_utf8
    TROUBLES["the state folder and the working directory are gone"] = _home_and_folder_are_gone


@pytest.mark.timeout(180)
@pytest.mark.parametrize("break_it", TROUBLES.values(), ids=TROUBLES)
def test_no_command_ends_with_a_traceback_when(
    break_it: Callable[[Path], None], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    break_it(home)

    assert all_refused([command.split() for command in COMMANDS], capsys) == []
    served = subprocess.run(
        [sys.executable, "-m", "toolcrib", "serve"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (served.returncode in CODES, "Traceback" in served.stderr, "nobody foresaw" in served.stderr) == (
        True,
        False,
        False,
    )


ODD_WORDS = [
    "\udcff",
    "~nobody-of-that-name/x",
    "a" * 5_000,
    "/",
    "",
    "@/none",
    "@~nobody-of-that-name/x",
    "[",
    ":",
    "-",
]


@pytest.mark.timeout(180)
def test_no_word_makes_a_command_end_with_a_traceback(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert home.is_dir()
    commands = [command.split() for command in COMMANDS]
    odd = [[*command[:-1], word] for command in commands if len(command) > 1 for word in ODD_WORDS]
    odd += [["execute", "clock", "current_time", "--args", word] for word in ODD_WORDS]
    odd += [[command, "--config", word] for command in ("list", "config", "adopt", "release") for word in ODD_WORDS]

    # `import /` would look at every file of this machine.
    assert all_refused([words for words in odd if words != ["capabilities", "import", "/"]], capsys) == []


def test_a_mistake_of_ours_is_told_in_words_and_shown_in_full_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("toolcrib.cli.settings.run", fail)

    assert main(["settings"]) == exits.FAILED
    said = capsys.readouterr().err
    assert "nobody foresaw (ZeroDivisionError: division by zero)" in said
    assert "Traceback" not in said
    assert main(["settings", "-vv"]) == exits.FAILED
    assert "Traceback" in capsys.readouterr().err
