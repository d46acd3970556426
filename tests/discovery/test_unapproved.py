from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import spec
from toolcrib.config.secret_refs import bearer_for, resolve_unapproved_launch
from toolcrib.discovery.unapproved import as_unapproved, is_reachable, with_auth
from toolcrib.errors import NeedsConfiguration
from toolcrib.model.server import FROM_PROPOSAL, FROM_REGISTRY, Origin, RemoteLaunch, StdioLaunch


def at(url: str) -> RemoteLaunch:
    return RemoteLaunch(url)


@pytest.mark.parametrize(
    "url",
    ["https://example.com/mcp", "http://93.184.216.34/", "https://[2606:2800:220:1::1]/mcp", "https://a.b.example"],
)
def test_an_address_of_the_outside_world_may_be_visited(url: str) -> None:
    assert is_reachable(spec(launch=at(url)), private=False)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/mcp",
        "http://LOCALHOST.:80/mcp",
        "http://db.internal/",
        "http://printer.local/",
        "http://router.lan/",
        "http://intranet/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.0.0.1/",
        "http://2130706433/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://100.64.0.1/",
        "http://0.0.0.0/",
        "http://[::1]/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://",
        "http://[bad/",
        "",
    ],
)
def test_an_address_of_our_own_network_or_none_at_all_may_not(url: str) -> None:
    assert not is_reachable(spec(launch=at(url)), private=False)


def test_a_program_may_never_be_started_for_a_stranger() -> None:
    program = as_unapproved(spec(launch=StdioLaunch("npx", ("-y", "evil"))))

    assert not is_reachable(program, private=True)
    with pytest.raises(NeedsConfiguration, match="not started until you add it"):
        resolve_unapproved_launch(program.launch, server="evil")


@given(st.text(max_size=60))
def test_no_address_makes_the_check_stumble(text: str) -> None:
    assert is_reachable(spec(launch=at(f"http://{text}/")), private=False) in {True, False}


def test_a_plain_dollar_of_a_stranger_stays_one() -> None:
    launch = RemoteLaunch("https://example.com/?a=${$}5", {"x-price": "$5 $$"})

    resolved = resolve_unapproved_launch(launch, server="shop")

    assert (resolved.url, dict(resolved.headers)) == ("https://example.com/?a=$5", {"x-price": "$5 $$"})


@pytest.mark.parametrize("source", [FROM_REGISTRY, FROM_PROPOSAL])
def test_a_stranger_gets_no_credentials_even_when_some_are_given(source: str) -> None:
    stranger = replace(spec("github", launch=at("https://example.com")), origin=Origin(source))

    assert with_auth(stranger, {"Authorization": "Bearer t", "X-Key": "k"}) == stranger
    assert bearer_for(stranger, {"GITHUB_MCP_TOKEN": "t", "MCP_AUTH_TOKEN": "t"}) is None


def test_a_program_has_no_headers_to_change() -> None:
    program = spec()

    assert with_auth(program, {"Authorization": "x"}) == program
