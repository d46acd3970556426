from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.catalogs import FailingCatalog, save_tools
from tests.fakes import spec, tool
from tests.showroom import ENTRY, IDENTITY, NO_RULES, Showroom
from toolcrib.errors import ToolChanged, ToolDisabled, ToolPending, ToolQuarantined
from toolcrib.model.availability import Availability
from toolcrib.model.caller import Caller, Rights
from toolcrib.model.server import DeclaredTool, StdioLaunch
from toolcrib.model.tool_rule import ToolRule
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.search_index import SearchIndex

# -- what is shown


def test_tools_of_the_catalog_are_shown_in_the_servers_order() -> None:
    shop = Showroom()
    shop.save(tool("write_file"), tool("read_file"))

    assert list(shop.view.tools("files")) == ["write_file", "read_file"]
    assert shop.view.tool_count() == 2


def test_a_server_that_is_not_configured_shows_nothing() -> None:
    shop = Showroom()
    shop.save(tool("read_file"))
    shop.view.configure([], NO_RULES)

    assert not shop.view.knows("files")
    assert shop.view.find("files", "read_file") is None
    assert shop.view.tools("files") == {}
    assert shop.found("read file") == []


def test_an_entry_that_is_switched_off_is_not_behind_the_counter() -> None:
    shop = Showroom(replace(ENTRY, enabled=False))

    assert shop.view.specs == {}


def test_declared_tools_are_shown_until_the_server_was_read() -> None:
    shop = Showroom(replace(ENTRY, declared_tools=(DeclaredTool("read_file", "Read a file."),)))

    assert shop.view.find("files", "read_file").tool.description == "Read a file."
    assert shop.found("read a file")[0] == "files:read_file"
    shop.save(tool("open_file"))
    assert list(shop.view.tools("files")) == ["open_file"]


def test_a_prefix_is_part_of_the_public_name_and_not_of_the_servers_own() -> None:
    shop = Showroom(replace(ENTRY, prefix="fs_"))
    shop.save(tool("read"))

    visible = shop.view.find("files", "fs_read")
    assert (visible.tool.id, visible.upstream_name) == ("files:fs_read", "read")
    assert shop.view.find("files", "read") is None
    assert shop.found("fs_read")[0] == "files:fs_read"


def test_the_entrys_own_lists_are_applied_to_the_servers_own_names() -> None:
    shop = Showroom(replace(ENTRY, prefix="fs_", allow_tools=("read", "write"), deny_tools=("write",)))
    shop.save(tool("read"), tool("write"), tool("delete"))

    enabled = {
        name: (visible.enabled, visible.availability.reason) for name, visible in shop.view.tools("files").items()
    }
    assert enabled["fs_read"][0]
    assert enabled["fs_write"] == (False, "the server entry's denyTools names it")
    assert enabled["fs_delete"] == (False, "the server entry's allowTools does not name it")


@pytest.mark.parametrize(
    ("allow", "deny", "left"),
    [(("re*",), (), ["read"]), (None, ("?rite",), ["read"]), (("*",), ("w*", "re[abc]d"), [])],
)
def test_the_entrys_own_lists_may_hold_globs(
    allow: tuple[str, ...] | None, deny: tuple[str, ...], left: list[str]
) -> None:
    shop = Showroom(replace(ENTRY, allow_tools=allow, deny_tools=deny))
    shop.save(tool("read"), tool("write"))
    assert [name for name, visible in shop.view.tools(ENTRY.name).items() if visible.enabled] == left


def test_rules_decide_and_tag_under_the_public_name() -> None:
    rules = [ToolRule(("fs_delete*",), None, False, ("dangerous",)), ToolRule(("files:*",), None, None, ("disk",))]
    shop = Showroom(replace(ENTRY, prefix="fs_"), rules=rules)
    shop.save(tool("read"), tool("delete"))

    assert [(s.enabled, s.tags) for s in shop.view.tools("files").values()] == [
        (True, ("disk",)),
        (False, ("dangerous", "disk")),
    ]


def test_a_list_on_the_entry_can_only_take_away() -> None:
    shop = Showroom(replace(ENTRY, allow_tools=("read",)), rules=[ToolRule(("write",), None, False, ())])
    shop.save(tool("read"), tool("write"))

    assert [visible.enabled for visible in shop.view.tools("files").values()] == [True, False]


# -- the built-in server


def test_the_built_in_server_is_known_found_and_not_among_the_servers() -> None:
    shop = Showroom()

    assert shop.view.knows("toolcrib")
    assert "toolcrib" not in shop.view.specs
    assert shop.found_in_all("read more of a large result")[0] == "toolcrib:read_result"
    assert shop.view.tool_count() == 0


def test_whitelist_mode_does_not_switch_the_built_in_tools_off() -> None:
    shop = Showroom(rules=[ToolRule(("read_file",), None, True, ())])
    shop.save(tool("read_file"), tool("write_file"))

    assert all(visible.enabled for visible in shop.view.tools("toolcrib").values())
    assert not shop.view.find("files", "write_file").enabled


def test_only_a_rule_that_names_the_built_in_server_denies_its_tools() -> None:
    by_tool = Showroom(rules=[ToolRule(("*",), None, False, ()), ToolRule(("read_result",), None, False, ())])
    by_name = Showroom(rules=[ToolRule(("toolcrib:*",), None, False, ())])

    assert all(visible.enabled for visible in by_tool.view.tools("toolcrib").values())
    assert not any(visible.enabled for visible in by_name.view.tools("toolcrib").values())


# -- searching


def test_disabled_tools_are_found_only_when_asked_for() -> None:
    shop = Showroom(rules=[ToolRule(("delete*",), None, False, ())])
    shop.save(tool("delete_file"), tool("read_file"))

    assert "files:delete_file" not in shop.found("delete file")
    assert shop.found("delete file", include_disabled=True)[0] == "files:delete_file"


def test_a_search_can_be_limited_to_one_server() -> None:
    web = spec("web")
    shop = Showroom(ENTRY, web)
    shop.save(tool("read_file"))
    shop.save(tool("read_page"), entry=web)

    assert shop.found("read", server="web") == ["web:read_page"]
    assert shop.found("read", server="nowhere") == []


def test_tags_of_rules_are_searched() -> None:
    shop = Showroom(rules=[ToolRule(("x1",), None, None, ("payments",))])
    shop.save(tool("x1", "Does it."), tool("x2", "Does it."))

    assert shop.found("payments") == ["files:x1"]


def test_no_more_tools_than_the_limit_are_indexed() -> None:
    shop = Showroom(max_indexed=2)
    shop.save(tool("alpha"), tool("beta"), tool("gamma"))

    assert (shop.found("beta"), shop.found("gamma")) == (["files:beta"], [])


def test_another_limit_applies_from_the_next_search_on() -> None:
    shop = Showroom(max_indexed=1)
    shop.save(tool("read_file"), tool("write_file"))
    assert len(shop.found("file")) == 1

    shop.index.configure(max_tools=10)

    assert len(shop.found("file")) == 2


def test_more_enabled_tools_than_expected_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    shop = Showroom(max_enabled=1)
    shop.save(tool("alpha"), tool("beta"))

    with caplog.at_level(logging.WARNING):
        shop.found("alpha")

    assert "more than maxTools (1)" in caplog.text


# -- keeping up


def test_a_new_reading_is_shown_and_found_at_once() -> None:
    shop = Showroom()
    shop.save(tool("read_file"))
    assert shop.found("read file") == ["files:read_file"]

    shop.save(tool("open_file"))

    assert shop.found("open file") == ["files:open_file"]
    assert shop.view.find("files", "read_file") is None


def test_what_another_gateway_read_is_shown_after_a_look() -> None:
    shop = Showroom()
    other = Showroom(store=shop.store, clock=shop.clock)
    assert shop.found("read file") == []

    other.save(tool("read_file"))
    shop.catalog.look()

    assert shop.found("read file") == ["files:read_file"]


def test_tools_written_down_while_the_index_is_made_are_found() -> None:
    shop = Showroom(ENTRY, spec("other"))
    shop.search.index_next()
    shop.save(tool("read_file"))

    assert shop.found("read_file") == ["files:read_file"]


def test_what_is_held_in_memory_is_looked_up_again_after_its_time() -> None:
    class Forgetful(MemoryCatalog):
        """Another process's change, without a sign that anything changed."""

        def change_token(self) -> int:
            return 1

    shop = Showroom(store=Forgetful(), fresh_seconds=60.0)
    shop.save(tool("old"))
    assert list(shop.view.tools("files")) == ["old"]
    shop.save(tool("new"))
    assert list(shop.view.tools("files")) == ["old"]

    shop.clock.advance(61)
    shop.catalog.look()

    assert list(shop.view.tools("files")) == ["new"]


def test_a_tool_that_left_the_catalog_since_the_index_was_made_is_not_given() -> None:
    shop = Showroom()
    shop.save(tool("read_file"))
    assert shop.found("read file") == ["files:read_file"]

    shop.save(tool("other"))

    assert "files:read_file" not in shop.found("read file", include_disabled=True)


async def test_a_failing_disk_leaves_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    broken = FailingCatalog("change_token", "servers", is_broken=False)
    shop = Showroom(store=broken)
    shop.save(tool("read_file"))
    shop.found("read file")

    broken.is_broken = True
    await shop.catalog.follow()
    await shop.catalog.follow()

    assert shop.found("read file") == ["files:read_file"]
    assert shop.view.identity("files") == IDENTITY
    assert caplog.text.count("the disk is gone") == 1, "said once, not at every look"


# -- freshness


def test_an_edited_entry_shows_what_its_former_launch_had_until_it_is_read() -> None:
    moved = replace(ENTRY, launch=StdioLaunch("new"))
    shop = Showroom()
    shop.save(tool("old"))
    shop.view.configure([moved], NO_RULES)
    shop.leave(ENTRY)
    before = list(shop.view.tools("files"))

    shop.fail("it did not start", entry=moved)
    broken = list(shop.view.tools("files"))
    shop.save(tool("new"), entry=moved)

    assert (before, broken, list(shop.view.tools("files"))) == (["old"], ["old"], ["new"])
    assert not shop.view.is_launched_differently("files")


def test_two_entries_of_one_launch_show_the_same_tools_each_under_its_own_name() -> None:
    twin = replace(ENTRY, name="documents", prefix="doc_")
    shop = Showroom(ENTRY, twin)
    shop.save(tool("read_file"))

    assert [visible.tool.id for name in ("files", "documents") for visible in shop.view.tools(name).values()] == [
        "files:read_file",
        "documents:doc_read_file",
    ]
    assert sorted(shop.found("read file")) == ["documents:doc_read_file", "files:read_file"]


def test_an_identity_counts_only_for_the_launch_it_was_met_at() -> None:
    shop = Showroom()
    shop.save(tool("read"))
    assert shop.view.identity("files") == IDENTITY

    shop.view.configure([replace(ENTRY, launch=StdioLaunch("new"))], NO_RULES)

    assert shop.view.identity("files") is None
    assert shop.view.identity("nobody") is None


def test_a_reading_of_the_former_launch_does_not_pass_for_one_of_the_new() -> None:
    shop = Showroom()
    shop.view.configure([replace(ENTRY, launch=StdioLaunch("new"))], NO_RULES)

    shop.save(tool("read"), entry=ENTRY)
    shop.leave(ENTRY)

    assert shop.view.is_launched_differently("files")


def test_a_name_that_another_configuration_gave_another_server_shows_nothing_of_that_one() -> None:
    theirs = Showroom()
    theirs.save(tool("delete_everything"))
    ours = Showroom(replace(ENTRY, launch=StdioLaunch("something else")), store=theirs.store, clock=theirs.clock)

    ours.catalog.look()

    assert ours.view.tools("files") == {}
    assert not ours.view.was_read("files")
    assert list(theirs.view.tools("files")) == ["delete_everything"]


def test_a_failure_is_remembered_and_the_tools_stay() -> None:
    shop = Showroom()
    shop.save(tool("read"))
    shop.fail("it did not start")

    assert shop.view.record("files").error == "it did not start"
    assert list(shop.view.tools("files")) == ["read"]
    assert shop.view.was_read("files")


# -- callers


def test_a_caller_sees_what_its_rights_allow() -> None:
    web = spec("web")
    shop = Showroom(ENTRY, web, rules=[ToolRule(("read*",), None, None, ("safe",))])
    shop.save(tool("read_file"), tool("delete_file"))
    shop.save(tool("read_page"), entry=web)
    one_server, one_tag = Caller(rights=Rights(servers=("fi*",))), Caller(rights=Rights(tags=("safe",)))

    assert shop.found("read", caller=one_server) == ["files:read_file"]
    assert sorted(shop.found("file page", caller=one_tag)) == ["files:read_file", "web:read_page"]
    assert shop.view.find("web", "read_page", one_server) is None
    assert not shop.view.knows("web", one_server)
    refused = shop.view.find("files", "delete_file", one_tag)
    assert refused.availability == Availability("withheld", "this caller has a right to tools tagged safe only")
    assert shop.view.find("web", "read_page").enabled


def test_rights_take_away_and_never_give() -> None:
    shop = Showroom(rules=[ToolRule(("delete*",), None, False, ("safe",))])
    shop.save(tool("delete_file"))

    assert not shop.view.find("files", "delete_file", Caller(rights=Rights(tags=("safe",)))).enabled


# -- availability


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("disabled", ToolDisabled),
        ("withheld", ToolDisabled),
        ("changed", ToolChanged),
        ("pending", ToolPending),
        ("quarantined", ToolQuarantined),
    ],
)
def test_each_way_of_not_being_available_is_an_error_of_its_own(state: str, error: type[Exception]) -> None:
    availability = Availability(state, "so it is")

    refusal = availability.refusal("files:read")

    assert type(refusal) is error
    assert "files:read" in str(refusal)
    assert "so it is" in str(refusal)
    assert not availability.is_callable


@pytest.mark.parametrize(("state", "is_found"), [("enabled", True), ("fallback", False)])
def test_what_is_available_is_refused_to_nobody(state: str, is_found: bool) -> None:
    availability = Availability(state)

    assert availability.refusal("files:read") is None
    assert (availability.is_callable, availability.is_searchable) == (True, is_found)


# -- room in the index


def test_a_server_that_left_makes_room_for_another() -> None:
    shop = Showroom(spec("old"), max_indexed=2)
    save_tools(shop.store, "old", "a", "b")
    save_tools(shop.store, "new", "c", "d")
    shop.catalog.look()
    assert shop.found("a") + shop.found("b") == ["old:a", "old:b"]

    shop.view.configure([spec("new")], NO_RULES)

    assert shop.found("c") + shop.found("d") == ["new:c", "new:d"]


def test_more_room_brings_in_the_tools_that_were_left_out(tmp_path: Path) -> None:
    store, path = MemoryCatalog(), tmp_path / "index"
    save_tools(store, "files", "a", "b")
    small = Showroom(store=store, index=SearchIndex(store, path=path, max_tools=1))
    small.catalog.look()
    assert small.found("a") == ["files:a"]
    job = small.index.to_write()
    assert job is not None
    job()

    large = Showroom(store=store, index=SearchIndex(store, path=path, max_tools=100))
    large.catalog.look()

    assert large.found("b") == ["files:b"]
