from __future__ import annotations

import pytest

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
    ],
)
def test_the_gateway_is_recognised_however_it_is_started(line):
    command, *args = line.split(" ")
    assert is_gateway(StdioLaunch(command, tuple(args)), OWN)


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
    ],
)
def test_others_are_not_taken_for_the_gateway(line):
    command, *args = line.split(" ")
    assert not is_gateway(StdioLaunch(command, tuple(args)), OWN)


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
