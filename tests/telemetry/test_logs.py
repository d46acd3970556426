from __future__ import annotations

import logging

import pytest

from toolcrib.telemetry.logs import log_to_stderr


def logged(message: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    log_to_stderr(verbose=0, quiet=False, env={})
    logging.getLogger("toolcrib.upstream").warning("%s: %s", "files", message)
    return capsys.readouterr().err.splitlines()


def test_no_words_of_others_can_pass_for_a_log_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = logged("gone\nERROR toolcrib: all is lost\rWARNING toolcrib: b\r\nWARNING c\x85d\u2028e", capsys)

    assert lines[0] == "WARNING toolcrib.upstream: files: gone"
    assert all(line.startswith("    ") for line in lines[1:])


def test_terminal_codes_show_as_marks(capsys: pytest.CaptureFixture[str]) -> None:
    assert logged("a\x1b[2J\x1b]0;owned\x07b\x9b1m", capsys) == [
        "WARNING toolcrib.upstream: files: a\ufffd[2J\ufffd]0;owned\ufffdb\ufffd1m"
    ]


def test_a_message_without_end_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = logged("x" * 1_000_000, capsys)

    assert len(line) == 20_000


def test_a_message_is_not_cut_within_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    lead = len("WARNING toolcrib.upstream: files: ")
    (line,) = logged("y" * (20_000 - lead - 15) + " " + key, capsys)

    assert "ghp_" not in line
