from __future__ import annotations

from toolcrib.model.tool import Tool
from toolcrib.search.explain import WordMatch
from toolcrib.search.index import ToolIndex

ISSUE = Tool.from_mcp(
    "github",
    {
        "name": "create_issue",
        "description": "Open a ticket",
        "inputSchema": {"type": "object", "properties": {"title": {"type": "string", "description": "Short words"}}},
    },
)


def test_each_word_is_explained_by_the_fields_that_hold_it() -> None:
    index = ToolIndex([ISSUE], tags=lambda _: ["work"])
    explained = index.explain("add the github issues with a title for work quickly", ISSUE)
    assert not explained.is_named
    assert explained.words == (
        WordMatch("add", ("name",), is_kin=True),
        WordMatch("github", ("server",)),
        WordMatch("issues", ("name",)),
        WordMatch("title", ("parameters",)),
        WordMatch("work", ("tags",)),
        WordMatch("quickly", ()),
    )


def test_a_name_in_full_is_said_to_be_one() -> None:
    index = ToolIndex([ISSUE])
    assert index.explain("create issue", ISSUE).is_named
    assert index.explain("github:create_issue", ISSUE).is_named
