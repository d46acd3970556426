"""What tools of real servers bring in and can carry away."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.model.tool import Tool


def flows(server: str, name: str, parameters: tuple[str, ...] = (), **hints: Any) -> set[str]:
    schema = {"type": "object", "properties": {parameter: {"type": "string"} for parameter in parameters}}
    return set(Tool.from_mcp(server, {"name": name, "inputSchema": schema, "annotations": hints}).data_flows)


@pytest.mark.parametrize(
    ("server", "name", "parameters", "expected"),
    [
        ("filesystem", "read_text_file", ("path",), {"private"}),
        ("filesystem", "write_file", ("path", "content"), set()),
        ("memory", "read_graph", (), {"private"}),
        ("postgres", "query", ("sql",), {"private"}),
        ("fetch", "fetch", ("url",), {"foreign", "outward"}),
        ("playwright", "browser_navigate", ("url",), {"foreign", "outward"}),
        ("github", "get_issue", ("owner", "repo", "number"), {"foreign"}),
        ("github", "add_issue_comment", ("body",), {"outward"}),
        ("slack", "slack_post_message", ("channel", "text"), {"outward"}),
        ("gmail", "read_email", ("id",), {"private", "foreign"}),
        ("slack", "slack_get_channel_history", ("channel_id",), {"foreign"}),
        ("gmail", "send_email", ("to", "body"), {"outward"}),
        ("time", "get_current_time", ("timezone",), set()),
        ("git", "git_log", ("repo_path",), set()),
        ("calc", "add", ("a", "b"), set()),
    ],
)
def test_names_and_parameters_tell(server: str, name: str, parameters: tuple[str, ...], expected: set[str]) -> None:
    assert flows(server, name, parameters) == expected


def test_what_a_server_says_of_a_tool_counts() -> None:
    assert flows("crm", "sync", openWorldHint=True, readOnlyHint=False) == {"outward"}
    assert flows("mail", "send_mail", openWorldHint=False) == set()
    assert flows("vault", "unseal", readOnlyHint=True) == {"private"}


def test_resources_are_read() -> None:
    resource = Tool.item("docs", "resource", {"uri": "file:///home/me/a.txt", "name": "a"})
    assert set(resource.data_flows) == {"private"}
