from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.gateway_entry import OwnAddress, is_gateway
from toolcrib.model.server import RemoteLaunch, StdioLaunch

OWN = OwnAddress(8665, "/mcp")


@pytest.mark.parametrize(
    "line",
    [
        "toolcrib",
        "toolcrib serve",
        "/usr/local/bin/toolcrib serve --http",
        "C:\\tools\\Toolcrib.EXE",
        "anygpt mcp serve",
        "uvx toolcrib",
        "uvx toolcrib@1.2.0",
        "uvx --from toolcrib[all]==1.0 anything",
        "uvx --python 3.12 toolcrib serve",
        "uv tool run toolcrib",
        "uv run toolcrib",
        "uv run --directory somewhere python -m toolcrib",
        "pipx run toolcrib",
        "python -m toolcrib",
        "python3.12 -u -m toolcrib serve",
        "py -m toolcrib",
        "cmd /c uvx toolcrib",
        "env X=1 toolcrib",
        "env -i PATH=/bin TOKEN='a b' toolcrib serve",
        "/usr/bin/env -u HOME -C /tmp -- uvx toolcrib",
        "env -S 'X=1 toolcrib serve'",
        "env '-SX=1 toolcrib'",
        "env '--split-string=X=1 toolcrib'",
        "sh -c 'exec toolcrib'",
        "sh -c toolcrib",
        "bash -lc 'cd /srv && exec toolcrib serve'",
        "bash --login -c 'source ~/.profile; X=1 toolcrib'",
        "zsh -ic 'toolcrib 2>/dev/null'",
        "sh -c 'exec \"$HOME/.local/bin/toolcrib\" serve'",
        "sh -c 'set -e\nexec uvx toolcrib'",
        "env X=1 sh -c 'exec env Y=2 nohup python -m toolcrib'",
        "cmd /c 'toolcrib serve'",
        "cmd /d /c toolcrib",
        "powershell -NoProfile -Command 'toolcrib serve'",
        "nohup toolcrib",
        "nice -n 5 toolcrib",
        "timeout -k 5 600 toolcrib",
        "stdbuf -oL toolcrib",
        "sudo -u ada -E toolcrib serve",
    ],
)
def test_the_gateway_is_recognised_however_it_is_started(line):
    assert is_gateway(launch_of(line), OWN)


def launch_of(line):
    command, *args = line.split(" ") if "\\" in line else shlex.split(line)
    return StdioLaunch(command, tuple(args))


@pytest.mark.parametrize(
    "line",
    [
        "anygpt chat",
        "uvx other-mcp toolcrib",
        "npx toolcrib-helper",
        "python server.py toolcrib",
        "uvx toolcribs",
        "python -m http.server",
        "uvx",
        "python",
        "env",
        "env X=toolcrib other-mcp",
        "env X=1 other-mcp toolcrib",
        "env -u toolcrib other-mcp",
        "sh",
        "sh -c",
        "sh toolcrib",
        "sh -c 'echo toolcrib'",
        "sh -c 'exec other-mcp --name toolcrib'",
        "sh -c 'cd toolcrib && npx other-mcp'",
        "sh -c 'unclosed \"quote toolcrib'",
        "timeout toolcrib other-mcp",
        "nice -n toolcrib other-mcp",
    ],
)
def test_others_are_not_taken_for_the_gateway(line):
    assert not is_gateway(launch_of(line), OWN)


@given(st.lists(st.text(max_size=12) | st.sampled_from(["env", "sh", "-c", "bash", "exec", "-S", "X=1", ";", "nohup"])))
def test_any_words_are_the_gateway_or_not(words):
    assert is_gateway(StdioLaunch("env", tuple(words)), OWN) in {True, False}


def test_a_command_that_wraps_itself_without_end_is_judged_all_the_same():
    assert not is_gateway(StdioLaunch("env", ("env",) * 1000), OWN)


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("http://127.0.0.1:8665/mcp", True),
        ("http://localhost:8665/mcp/", True),
        ("http://[::1]:8665/mcp", True),
        ("http://127.0.0.1:8666/mcp", False),
        ("http://127.0.0.1:8665/other", False),
        ("https://example.com:8665/mcp", False),
        ("http://127.0.0.1:x/mcp", False),
    ],
)
def test_the_gateway_is_recognised_by_its_own_address(url, is_own):
    assert is_gateway(RemoteLaunch(url), OWN) is is_own
