from __future__ import annotations

import pytest

from tests.peers.cards import KITCHEN
from toolcrib.model.availability import Availability
from toolcrib.model.peer import FROM_PEER, peer_url
from toolcrib.model.server import REMOTE_MCP, Origin, RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.tool import Tool
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.exposure import exposed, exposed_definition, unmatched

NOTES = ServerSpec("notes", StdioLaunch("notes"))
FILES = ServerSpec("files", StdioLaunch("files"))
PEER = ServerSpec("peer-garage", RemoteLaunch(peer_url(KITCHEN.peer_id)), origin=Origin(FROM_PEER))
WRITTEN_PEER = ServerSpec("garage", RemoteLaunch(peer_url(KITCHEN.peer_id)))
ENDPOINT = ServerSpec("endpoint", RemoteLaunch("https://example.com/mcp"), contract=REMOTE_MCP)


def visible(spec: ServerSpec | None, name: str, *tags: str, state: str = "enabled") -> VisibleTool:
    server = spec.name if spec else "toolcrib"
    tool = Tool.from_mcp(server, {"name": name, "description": "d", "_meta": {"secret": 1}})
    return VisibleTool(tool, name, Availability(state), tags, spec)


TOOLS = [
    visible(NOTES, "add", "safe"),
    visible(NOTES, "drop"),
    visible(FILES, "read", "safe"),
    visible(FILES, "off", "safe", state="disabled"),
    visible(FILES, "new", "safe", state="pending"),
    visible(FILES, "assumed", "safe", state="fallback"),
    visible(PEER, "far", "safe"),
    visible(WRITTEN_PEER, "far", "safe"),
    visible(ENDPOINT, "x_external", "safe"),
    visible(None, "read_result", "safe"),
]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], []),
        (["notes"], ["notes__add", "notes__drop"]),
        (["notes:a*", "files:read"], ["files__read", "notes__add"]),
        (["tag:safe"], ["files__read", "notes__add"]),
        (["*"], ["files__read", "notes__add", "notes__drop"]),
        (["Notes"], []),
    ],
)
def test_an_exposed_tool_is_named_by_server_and_tool_and_tools_of_peers_never_are(
    patterns: list[str], expected: list[str]
) -> None:
    assert list(exposed(TOOLS, patterns)) == expected


def test_two_tools_never_share_a_name(caplog: pytest.LogCaptureFixture) -> None:
    first = visible(ServerSpec("a", StdioLaunch("x")), "b__c")
    second = visible(ServerSpec("a__b", StdioLaunch("x")), "c")
    longest = visible(NOTES, "n" * 122)

    assert exposed([second, first, longest], ["*"]) == {"a__b__c": first}
    assert "a__b:c is not offered to peers" in caplog.text


@pytest.mark.parametrize(
    ("pattern", "read", "expected"),
    [
        ("notse", [], True),
        ("notes", [], False),
        ("notes:addd", [], False),
        ("notes:addd", ["notes"], True),
        ("notes:add", ["notes"], False),
        ("tag:unsafe", ["notes"], False),
        ("tag:unsafe", ["notes", "files"], True),
        ("garage", ["notes", "files"], True),
    ],
)
def test_a_pattern_that_fits_nothing_is_noticed_once_what_it_may_mean_is_known(
    pattern: str, read: list[str], expected: bool
) -> None:
    specs = [NOTES, FILES, PEER, WRITTEN_PEER, ENDPOINT]
    found = exposed([one for one in TOOLS if one.tool.server in read], [pattern]).values()
    assert (unmatched([pattern], found, specs, read.__contains__) == [pattern]) is expected


def test_peers_are_told_what_a_tool_does_and_nothing_else() -> None:
    assert exposed_definition("notes__add", TOOLS[0]) == {
        "name": "notes__add",
        "description": "d",
        "inputSchema": {"type": "object"},
    }
