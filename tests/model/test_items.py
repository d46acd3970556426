from __future__ import annotations

import pytest

from toolcrib.model.address_spellings import spellings
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
        ("file:/etc/x", "file:///etc/x"),
        ("file:etc/x", "file:///etc/x"),
        ("file://localhost/etc/x", "file:///etc/x"),
        (" file:///etc/x\n", "file:///etc/x"),
        ("fi\tle:///e\ntc/x", "file:///etc/x"),
        ("file:///work\\..\\etc", "file:///etc"),
        ("file:///work/%5c../etc", "file:///work/etc"),
        ("file:///work/..", "file:///"),
        ("https://me@Inside.:443/a", "https://inside/a"),
        ("http:/inside/a", "http://inside/a"),
        ("http://inside", "http://inside/"),
    ],
)
def test_an_address_is_judged_as_written_and_as_meant(written: str, meant: str) -> None:
    assert meant in spellings(written)
    assert spellings(written)[0] == written


@pytest.mark.parametrize(
    ("written", "meanings"),
    [
        # Decoded first, the path ends at the question mark; taken apart first, it does not.
        ("file:///work/%3F/../../etc", {"file:///work/?/../../etc", "file:///etc"}),
        ("file:///work/a?/../../etc", {"file:///etc"}),
        # For files two slashes are one, for everybody else there is an empty name between them.
        ("file:///work//../etc", {"file:///work/etc", "file:///etc"}),
        ("file:////etc", {"file:///etc"}),
        # A backslash is a slash for some, and a part of a name for others.
        ("file:///work/a\\../../b", {"file:///work/b", "file:///b"}),
    ],
)
def test_an_address_that_servers_read_differently_is_judged_in_each_way(written: str, meanings: set[str]) -> None:
    assert set(spellings(written)) - {written} == meanings


@pytest.mark.parametrize(
    "uri", ["memo:///a", "file:///a/b.txt", "test://static/1", "https://a.b/c?d=http://e", "urn:a:b", "no address", ""]
)
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
