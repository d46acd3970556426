"""What a profile leaves of the servers and tools of a configuration."""

from __future__ import annotations

import pytest

from tests.fakes import FakeServer, tool
from tests.gateways import counter, read_counter
from toolcrib.config.profiles import Profile
from toolcrib.errors import ConfigurationError
from toolcrib.model.caller import EVERYTHING, Caller, Rights
from toolcrib.model.tool_rule import ToolRule

NOTES = FakeServer("notes", [tool("read_note"), tool("delete_note"), tool("write_note")])
FILES = FakeServer("files", [tool("read_file")])
PROFILES = {
    "careful": Profile("careful", read_only=True),
    "notes": Profile("notes", servers=("note*",)),
    "few": Profile("few", tool_rules=(ToolRule(("*_note",), enabled=False), ToolRule(("read_*",), tags=("reading",)))),
}


async def seen(profile: str, everywhere: str = "", own: Rights = EVERYTHING) -> list[str]:
    """The tools that a client sees with this profile, and rights of its own."""
    async with read_counter(NOTES, FILES, profiles=PROFILES, profile=everywhere) as gateway:
        rights = gateway.rights(profile).and_also(own)
        return [one.name for one in await gateway.all_tools(caller=Caller(rights=rights))]


@pytest.mark.parametrize(
    ("profile", "everywhere", "left"),
    [
        ("", "", ["read_note", "delete_note", "write_note", "read_file"]),
        ("careful", "", ["read_note", "read_file"]),
        ("notes", "", ["read_note", "delete_note", "write_note"]),
        ("few", "", ["read_file"]),
        ("careful", "notes", ["read_note"]),
        ("notes", "few", []),
        ("gone", "", []),
        ("gone", "careful", []),
    ],
)
async def test_a_profile_only_takes_away_and_two_of_them_take_away_both(
    profile: str, everywhere: str, left: list[str]
) -> None:
    assert await seen(profile, everywhere) == left


async def test_a_token_narrows_a_profile_and_never_widens_it() -> None:
    assert await seen("notes", own=Rights(servers=("files",))) == []
    assert await seen("notes", own=Rights(read_only=True)) == ["read_note"]


async def test_a_rule_of_a_profile_that_can_not_be_read_is_named_with_its_place() -> None:
    broken = {"few": Profile("few", tool_rules=(ToolRule(("/(/",), enabled=False),))}

    with pytest.raises(ConfigurationError) as refusal:
        async with counter(NOTES, profiles=broken):
            pass

    assert [problem.where for problem in refusal.value.problems] == ["profiles.few.toolRules[0].pattern[0]"]


@pytest.mark.parametrize(("tool_name", "code"), [("read_note", ""), ("delete_note", "CONFIRMATION_REQUIRED")])
async def test_a_profile_can_ask_before_more_than_the_settings_do(tool_name: str, code: str) -> None:
    asking = {"asking": Profile("asking", confirm="destructive")}
    async with read_counter(NOTES, profiles=asking) as gateway:
        caller = Caller(rights=gateway.rights("asking"))
        outcome = await gateway.execute_tool("notes", tool_name, caller=caller)
        everybody = await gateway.execute_tool("notes", tool_name)

    assert (outcome.error.code if outcome.error else "") == code
    assert everybody.error is None
