from __future__ import annotations

import pytest

from toolcrib.model.items import spellings
from toolcrib.model.tool import Tool


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("file:///work/../etc/passwd", "file:///etc/passwd"),
        ("file:///work/./a", "file:///work/a"),
        ("file:///%65tc/x", "file:///etc/x"),
        ("file:///work/%2e%2e/etc", "file:///etc"),
        ("FILE:///etc", "file:///etc"),
        ("db://Tables/a?b=../c", "db://tables/a?b=../c"),
        ("file:///../../etc", "file:///etc"),
    ],
)
def test_an_address_is_judged_as_written_and_as_meant(written: str, meant: str) -> None:
    assert spellings(written) == (written, meant)


@pytest.mark.parametrize("uri", ["memo:///a", "file:///a/b.txt", "test://static/1", "urn:a:b", "no address", ""])
def test_a_plain_address_has_one_spelling(uri: str) -> None:
    assert spellings(uri) == (uri,)


def test_an_item_reads_like_a_tool() -> None:
    prompt = Tool.item("s", "prompt", {"name": "review", "arguments": [{"name": "a", "required": True}, 3, {"x": 1}]})
    file = Tool.item("s", "resource", {"uri": "file:///a", "name": "A file", "mimeType": "text/plain"})
    table = Tool.item("s", "template", {"uriTemplate": "db://{t}{?page}", "name": "table"})

    assert (prompt.id, prompt.title) == ("s:prompt:review", "review")
    assert prompt.input_schema == {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert (file.id, file.description) == ("s:resource:file:///a", "A file (text/plain)")
    assert table.input_schema["required"] == ["t"]
    assert list(table.input_schema["properties"]) == ["t", "page"]
    assert file.annotations["readOnlyHint"] is True
