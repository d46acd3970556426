from __future__ import annotations

from typing import Any

import pytest

from toolcrib.model.server import Launch, RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.sign_in_options import SignInOptions
from toolcrib.trust.review_key import review_key

LOCAL = StdioLaunch("npx", ("-y", "notes"), {"NOTES_TOKEN": "abc", "TOOLSETS": "read"})
REMOTE = RemoteLaunch("https://notes.example.com/mcp", {"Authorization": "Bearer abc"})


def key(launch: Launch, **more: Any) -> str:
    return review_key(ServerSpec("any", launch, **more))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (LOCAL, StdioLaunch("npx", ("-y", "notes"), {"NOTES_TOKEN": "xyz", "TOOLSETS": "read"})),
        (LOCAL, StdioLaunch("npx", ("-y", "notes"), {"NOTES_TOKEN": "${keyring:notes}", "TOOLSETS": "read"})),
        (REMOTE, RemoteLaunch(REMOTE.url, {"authorization": "Bearer ${NEW}"})),
    ],
)
def test_a_rotated_token_keeps_the_pins(before: Launch, now: Launch) -> None:
    assert key(before) == key(now)
    assert key(before) == review_key(ServerSpec("renamed", now, description="another"))


@pytest.mark.parametrize(
    "now",
    [
        StdioLaunch("npx", ("-y", "notes@2"), LOCAL.env),
        StdioLaunch("node", LOCAL.args, LOCAL.env),
        StdioLaunch("npx", LOCAL.args, {**LOCAL.env, "TOOLSETS": "all"}),
        StdioLaunch("npx", LOCAL.args, {**LOCAL.env, "NODE_OPTIONS": "--require x"}),
        StdioLaunch("npx", LOCAL.args, LOCAL.env, cwd="/elsewhere"),
        StdioLaunch("npx", LOCAL.args, LOCAL.env, pass_env=("HOME",)),
        REMOTE,
    ],
)
def test_whatever_else_is_started_is_another_server(now: Launch) -> None:
    assert key(LOCAL) != key(now)


def test_another_address_header_or_account_is_another_server() -> None:
    others = [
        key(RemoteLaunch("https://notes.example.org/mcp", REMOTE.headers)),
        key(RemoteLaunch(REMOTE.url, {**REMOTE.headers, "X-Tenant": "a"})),
        key(REMOTE, oauth=SignInOptions(account="work")),
    ]
    assert len({key(REMOTE), *others}) == 4
