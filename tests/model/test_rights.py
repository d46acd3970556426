from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import tool
from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.model.tool import Tool
from toolcrib.model.tool_rule import ToolRule
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.rules.rulebook import RuleBook

SERVERS = ("github", "gitlab", "mail")
NAMES = ("get_issue", "create_issue", "delete_issue")
TAGS = ("work", "home")

patterns = st.sampled_from(["git*", "github", "mail", "*", "nobody"])
books = st.sampled_from(
    [RuleBook([ToolRule(("delete*",), None, False)]), RuleBook([ToolRule(("*issue",), "github", True)])]
)
some_rights = st.builds(
    Rights,
    servers=st.none() | st.lists(patterns, max_size=2).map(tuple),
    tags=st.none() | st.lists(st.sampled_from(TAGS), max_size=2).map(tuple),
    read_only=st.booleans(),
    rules=st.none() | books,
    label=st.sampled_from(["", "token ci", "profile work"]),
)


def offered() -> list[VisibleTool]:
    tools = [Tool.from_mcp(server, tool(name)) for server in SERVERS for name in NAMES]
    return [
        VisibleTool(one, one.name, tags=tags, spec=ServerSpec(one.server, StdioLaunch("x")))
        for one in tools
        for tags in ((), TAGS[:1], TAGS)
    ]


OFFERED = offered()


def allowed(rights: Rights) -> list[VisibleTool]:
    return [one for one in OFFERED if not rights.refusal(one)]


@given(some_rights, some_rights, some_rights)
def test_rights_only_narrow(one: Rights, other: Rights, third: Rights) -> None:
    both = one.and_also(other).and_also(third)

    assert allowed(both) == [tool for tool in OFFERED if all(tool in allowed(part) for part in (one, other, third))]
    assert {server for server in SERVERS if both.may_see(server)} == {
        server for server in SERVERS if all(part.may_see(server) for part in (one, other, third))
    }


@given(some_rights)
def test_everything_takes_nothing_away(rights: Rights) -> None:
    assert rights.and_also(EVERYTHING) == EVERYTHING.and_also(rights) == rights.and_also(rights) == rights
    assert EVERYTHING.and_also(EVERYTHING) is EVERYTHING
    assert allowed(EVERYTHING) == OFFERED


def test_rights_that_allow_the_same_by_the_same_words_are_equal() -> None:
    def made() -> Rights:
        book = RuleBook([ToolRule(("delete*",), None, False)])
        return Rights(("git*",), rules=book, label="profile work").and_also(Rights(read_only=True, label="token ci"))

    assert made() == made()
    assert len({made(), made()}) == 1
    assert made().labels == ("profile work", "token ci")


def test_the_reason_says_whose_rights_they_are() -> None:
    rights = Rights(("git*",), label="profile work").and_also(Rights(read_only=True, label="token ci"))
    reasons = {one.tool.id: rights.refusal(one) for one in OFFERED}

    assert reasons["mail:get_issue"] == "profile work has no right to the server"
    assert reasons["github:create_issue"] == "token ci may only use tools that change nothing"
    assert reasons["github:get_issue"] == ""
