from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import Clock, spec, tool
from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.catalog.freshness import Freshness
from toolcrib.catalog.store import ServerRecord
from toolcrib.errors import StoreUnavailable
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import DeclaredTool, ServerSpec, StdioLaunch
from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.catalog_view import CatalogView

IDENTITY = Identity("modern", "2026-07-28", {"name": "files", "version": "1.0"})
ENTRY = spec("files")
NO_RULES = RuleBook(())


def reading(*definitions: dict[str, Any], ttl_seconds: float | None = None) -> ServerReading:
    return ServerReading(IDENTITY, definitions, ttl_seconds)


class Shop:
    """A view over a catalog in memory, with a clock moved by hand."""

    def __init__(self, *specs: ServerSpec, rules: Iterable[ToolRule] = (), cache_seconds: float = 3600.0, **more: Any):
        self.clock = Clock()
        self.store = MemoryCatalog()
        self.view = self.beside(cache_seconds=cache_seconds, **more)
        self.view.configure(specs or (ENTRY,), RuleBook(tuple(rules)))

    def beside(self, *, cache_seconds: float = 3600.0, **more: Any) -> CatalogView:
        """Another gateway's view on the same catalog."""
        return CatalogView(
            self.store,
            now=self.clock,
            cache_seconds=cache_seconds,
            freshness=Freshness(),
            built_in=BUILT_IN_TOOLS,
            **more,
        )

    def save(self, *definitions: dict[str, Any], entry: ServerSpec = ENTRY) -> None:
        self.clock.advance(1)
        self.view.save(entry, reading(*definitions))
        self.view.follow_others()

    def found(self, query: str, **more: Any) -> list[str]:
        """What a search finds on the servers behind the counter."""
        return [name for name in self.found_in_all(query, **more) if not name.startswith("toolcrib:")]

    def found_in_all(self, query: str, **more: Any) -> list[str]:
        options = {"server": None, "limit": 10, "include_disabled": False, **more}
        return [visible.tool.id for visible, _ in self.view.search(query, **options)]


class Broken(MemoryCatalog):
    """A catalog on a disk that fails."""

    is_broken = False

    def change_token(self) -> int:
        self._check()
        return super().change_token()

    def servers(self) -> dict[str, ServerRecord]:
        self._check()
        return super().servers()

    def _check(self) -> None:
        if self.is_broken:
            raise StoreUnavailable("the disk is gone")


# -- what is shown


def test_tools_of_the_catalog_are_on_the_shelf_in_the_servers_order() -> None:
    shop = Shop()
    shop.save(tool("write_file"), tool("read_file"))

    assert list(shop.view.tools("files")) == ["write_file", "read_file"]
    assert shop.view.tool_count() == 2


def test_a_server_that_is_not_configured_shows_nothing() -> None:
    shop = Shop()
    shop.save(tool("read_file"))
    shop.view.configure([], NO_RULES)

    assert not shop.view.knows("files")
    assert shop.view.find("files", "read_file") is None
    assert shop.view.tools("files") == {}
    assert shop.found("read file") == []


def test_an_entry_that_is_switched_off_is_not_behind_the_counter() -> None:
    shop = Shop(replace(ENTRY, enabled=False))

    assert shop.view.specs == {}


def test_declared_tools_are_shown_until_the_server_was_read() -> None:
    shop = Shop(replace(ENTRY, declared_tools=(DeclaredTool("read_file", "Read a file."),)))

    assert shop.view.find("files", "read_file").tool.description == "Read a file."
    assert shop.found("read a file")[0] == "files:read_file"
    shop.save(tool("open_file"))
    assert list(shop.view.tools("files")) == ["open_file"]


def test_a_prefix_is_part_of_the_public_name_and_not_of_the_servers_own() -> None:
    shop = Shop(replace(ENTRY, prefix="fs_"))
    shop.save(tool("read"))

    visible = shop.view.find("files", "fs_read")
    assert (visible.tool.id, visible.upstream_name) == ("files:fs_read", "read")
    assert shop.view.find("files", "read") is None
    assert shop.found("fs_read")[0] == "files:fs_read"


def test_the_entrys_own_lists_are_applied_to_the_servers_own_names() -> None:
    shop = Shop(replace(ENTRY, prefix="fs_", allow_tools=("read", "write"), deny_tools=("write",)))
    shop.save(tool("read"), tool("write"), tool("delete"))

    enabled = {name: (visible.enabled, visible.reason) for name, visible in shop.view.tools("files").items()}
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
    shop = Shop(replace(ENTRY, allow_tools=allow, deny_tools=deny))
    shop.save(tool("read"), tool("write"))
    assert [name for name, visible in shop.view.tools(ENTRY.name).items() if visible.enabled] == left


def test_rules_decide_and_tag_under_the_public_name() -> None:
    rules = [ToolRule(("fs_delete*",), None, False, ("dangerous",)), ToolRule(("files:*",), None, None, ("disk",))]
    shop = Shop(replace(ENTRY, prefix="fs_"), rules=rules)
    shop.save(tool("read"), tool("delete"))

    assert [(s.enabled, s.tags) for s in shop.view.tools("files").values()] == [
        (True, ("disk",)),
        (False, ("dangerous", "disk")),
    ]


def test_a_list_on_the_entry_can_only_take_away() -> None:
    shop = Shop(replace(ENTRY, allow_tools=("read",)), rules=[ToolRule(("write",), None, False, ())])
    shop.save(tool("read"), tool("write"))

    assert [visible.enabled for visible in shop.view.tools("files").values()] == [True, False]


def test_rules_that_surprise_are_reported_over_the_tools_known() -> None:
    shop = Shop(rules=[ToolRule(("*nothing*",), None, True, ())])
    shop.save(tool("read"))

    assert any("nothing" in warning for warning in shop.view.warnings)


# -- the built-in server


def test_the_built_in_server_is_known_found_and_not_among_the_servers() -> None:
    shop = Shop()

    assert shop.view.knows("toolcrib")
    assert "toolcrib" not in shop.view.specs
    assert shop.found_in_all("read more of a large result")[0] == "toolcrib:read_result"
    assert shop.view.tool_count() == 0


def test_whitelist_mode_does_not_switch_the_built_in_tools_off() -> None:
    shop = Shop(rules=[ToolRule(("read_file",), None, True, ())])
    shop.save(tool("read_file"), tool("write_file"))

    assert all(visible.enabled for visible in shop.view.tools("toolcrib").values())
    assert not shop.view.find("files", "write_file").enabled


def test_only_a_rule_that_names_the_built_in_server_denies_its_tools() -> None:
    by_tool = Shop(rules=[ToolRule(("*",), None, False, ()), ToolRule(("read_result",), None, False, ())])
    by_name = Shop(rules=[ToolRule(("toolcrib:*",), None, False, ())])

    assert all(visible.enabled for visible in by_tool.view.tools("toolcrib").values())
    assert not any(visible.enabled for visible in by_name.view.tools("toolcrib").values())


# -- searching


def test_disabled_tools_are_found_only_when_asked_for() -> None:
    shop = Shop(rules=[ToolRule(("delete*",), None, False, ())])
    shop.save(tool("delete_file"), tool("read_file"))

    assert "files:delete_file" not in shop.found("delete file")
    assert shop.found("delete file", include_disabled=True)[0] == "files:delete_file"


def test_a_search_can_be_limited_to_one_server() -> None:
    web = spec("web")
    shop = Shop(ENTRY, web)
    shop.save(tool("read_file"))
    shop.save(tool("read_page"), entry=web)

    assert shop.found("read", server="web") == ["web:read_page"]
    assert shop.found("read", server="nowhere") == []


def test_tags_of_rules_are_searched() -> None:
    shop = Shop(rules=[ToolRule(("x1",), None, None, ("payments",))])
    shop.save(tool("x1", "Does it."), tool("x2", "Does it."))

    assert shop.found("payments") == ["files:x1"]


def test_no_more_tools_than_the_limit_are_indexed() -> None:
    shop = Shop(max_indexed=2)
    shop.save(tool("alpha"), tool("beta"), tool("gamma"))

    assert (shop.found("beta"), shop.found("gamma")) == (["files:beta"], [])


def test_another_limit_applies_from_the_next_configuration_on() -> None:
    shop = Shop(max_indexed=1)
    shop.save(tool("read_file"), tool("write_file"))
    assert len(shop.found("file")) == 1

    shop.view.retime(3600.0, Freshness(), max_indexed=10, max_enabled=10)
    shop.view.configure((ENTRY,), NO_RULES)

    assert len(shop.found("file")) == 2


def test_more_enabled_tools_than_expected_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(max_enabled=1)
    shop.save(tool("alpha"), tool("beta"))

    with caplog.at_level(logging.WARNING):
        shop.found("alpha")

    assert "more than maxTools (1)" in caplog.text


# -- keeping up


def test_a_new_reading_is_shown_and_found_at_once() -> None:
    shop = Shop()
    shop.save(tool("read_file"))
    assert shop.found("read file") == ["files:read_file"]

    shop.save(tool("open_file"))

    assert shop.found("open file") == ["files:open_file"]
    assert shop.view.find("files", "read_file") is None


def test_what_another_gateway_read_is_shown_after_a_look() -> None:
    shop = Shop()
    other = shop.beside()
    other.configure([ENTRY], NO_RULES)
    assert shop.found("read file") == []

    shop.clock.advance(1)
    other.save(ENTRY, reading(tool("read_file")))
    shop.view.follow_others()

    assert shop.found("read file") == ["files:read_file"]


def test_a_shelf_looked_at_before_the_first_look_at_others_is_not_stuck() -> None:
    shop = Shop()
    shop.view.save(ENTRY, reading(tool("old")))
    assert list(shop.view.tools("files")) == ["old"]

    shop.clock.advance(1)
    shop.view.save(ENTRY, reading(tool("new")))
    shop.view.follow_others()

    assert list(shop.view.tools("files")) == ["new"]


def test_tools_written_down_while_the_index_is_made_are_found() -> None:
    other = spec("other")
    shop = Shop(ENTRY, other)
    assert not shop.view.tools("files")
    shop.view.save(ENTRY, reading(tool("read_file")))
    shop.view.invalidate("other")
    shop.found("the index is made")

    shop.view.follow_others()

    assert shop.found("read_file") == ["files:read_file"]


def test_cached_shelves_are_looked_up_again_after_their_time() -> None:
    shop = Shop(cache_seconds=60.0)
    shop.save(tool("old"))
    shop.view.tools("files")
    shop.store.save_reading("files", ENTRY.launch_fingerprint(), reading(tool("new")), shop.clock())

    assert list(shop.view.tools("files")) == ["old"]
    shop.clock.advance(61)
    assert list(shop.view.tools("files")) == ["new"]


def test_a_tool_that_left_the_catalog_since_the_index_was_made_is_not_given() -> None:
    shop = Shop(cache_seconds=0.0)
    shop.save(tool("read_file"))
    assert shop.found("read file") == ["files:read_file"]

    shop.store.save_reading("files", ENTRY.launch_fingerprint(), reading(tool("other")), shop.clock())

    assert shop.found("read file") == []
    assert shop.found("read file", include_disabled=True) == []


def test_a_dropped_shelf_is_looked_up_again() -> None:
    shop = Shop()
    shop.save(tool("old"))
    shop.view.tools("files")
    shop.store.save_reading("files", ENTRY.launch_fingerprint(), reading(tool("new")), shop.clock())

    shop.view.drop_tools("files")

    assert list(shop.view.tools("files")) == ["new"]


def test_a_failing_disk_leaves_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    broken = Broken()
    shop.store = broken
    shop.view = shop.beside()
    shop.view.configure([ENTRY], NO_RULES)
    shop.save(tool("read_file"))
    shop.found("read file")

    broken.is_broken = True
    shop.view.follow_others()

    assert shop.found("read file") == ["files:read_file"]
    assert "the disk is gone" in caplog.text
    shop.view.invalidate()
    assert shop.view.identity("files") is None


# -- freshness


def test_servers_never_read_launched_anew_or_too_old_are_due() -> None:
    fresh, old, moved, unread = (spec(name) for name in ("fresh", "old", "moved", "unread"))
    shop = Shop(fresh, old, moved, unread)
    shop.view.save(old, reading())
    shop.clock.advance(24 * 3600)
    shop.save(entry=fresh)
    shop.save(entry=moved)
    shop.view.configure([fresh, old, replace(moved, launch=StdioLaunch("new")), unread], NO_RULES)

    assert shop.view.due() == ["old", "moved", "unread"]
    assert [shop.view.is_old(name) for name in ("fresh", "old", "unread")] == [False, True, False]


def test_an_identity_counts_only_for_the_launch_it_was_met_at() -> None:
    shop = Shop()
    shop.save(tool("read"))
    assert shop.view.identity("files") == IDENTITY

    shop.view.configure([replace(ENTRY, launch=StdioLaunch("new"))], NO_RULES)

    assert shop.view.identity("files") is None
    assert shop.view.identity("nobody") is None


def test_a_reading_of_the_former_launch_does_not_pass_for_one_of_the_new() -> None:
    shop = Shop()
    shop.view.configure([replace(ENTRY, launch=StdioLaunch("new"))], NO_RULES)

    shop.save(tool("read"), entry=ENTRY)

    assert shop.view.due() == ["files"]


def test_nothing_is_written_down_of_a_server_that_left() -> None:
    shop = Shop()
    shop.view.configure([], NO_RULES)

    shop.view.save(ENTRY, reading(tool("read")))
    shop.view.save_failure(ENTRY, "too late")

    assert shop.store.servers() == {}


def test_a_failure_is_remembered_and_the_tools_stay() -> None:
    shop = Shop()
    shop.save(tool("read"))
    shop.view.save_failure(ENTRY, "it did not start")
    shop.view.follow_others()

    assert shop.view.record("files").error == "it did not start"
    assert list(shop.view.tools("files")) == ["read"]
    assert shop.view.was_read("files")
