"""`(capability …)` forms to values and back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rtfs.type_samples import hostile_texts, identifiers, literals, texts, types
from toolcrib.errors import RtfsError
from toolcrib.rtfs.capability import Capability, Provider
from toolcrib.rtfs.forms import MapForm, VectorForm, keyword, literal
from toolcrib.rtfs.read_capability import read_capabilities
from toolcrib.rtfs.types import INT, STRING, Entry, Map, Vector
from toolcrib.rtfs.write_capability import capability_text

LIST_ISSUES = """\
(capability :mcp.github.list_issues
  :version "1.0.0"
  :description "List issues in a GitHub repository"
  :input-schema [:map
    [:owner :string]
    [:repo :string]
    [:state {:optional true} :string]]
  :output-schema [:vector [:map
    [:id :int]
    [:title :string]
    [:state :string]]]
  :provider {:type :mcp
             :server-url "https://api.github.com/mcp"
             :tool-name "list_issues"}
  :domains ["github" "github.issues"]
  :categories ["crud.read"])
"""
CAPABILITY = Capability(
    "mcp.github.list_issues",
    version="1.0.0",
    description="List issues in a GitHub repository",
    input_schema=Map((Entry("owner", STRING), Entry("repo", STRING), Entry("state", STRING, optional=True))),
    output_schema=Vector(Map((Entry("id", INT), Entry("title", STRING), Entry("state", STRING)))),
    provider=Provider("mcp", "https://api.github.com/mcp", "list_issues"),
    domains=("github", "github.issues"),
    categories=("crud.read",),
)
KNOWN_KEYS = {
    *"version name description input-schema output-schema provider domains categories permissions effects".split()
}


def capabilities_text(capabilities: Iterable[Capability]) -> str:
    """A whole file."""
    return "".join(f"{capability_text(capability)}\n" for capability in capabilities)


def test_the_published_capability_is_read_and_written_exactly() -> None:
    assert read_capabilities(LIST_ISSUES) == (CAPABILITY,)
    assert capabilities_text([CAPABILITY]) == LIST_ISSUES


def test_the_older_spelling_is_read_and_the_published_one_is_written() -> None:
    older = """
    (do ; as another program writes it
      (capability "mcp.github.list_issues"
        :provider {:type "mcp" :server_endpoint "https://x.test/mcp" :tool_name "list_issues"
                   :timeout_seconds 30 :protocol_version "2025-06-18"}
        :input_schema :any
        :effects [:network]))
    """
    found = read_capabilities(older)[0]
    assert found.provider == Provider(
        "mcp",
        "https://x.test/mcp",
        "list_issues",
        ((keyword("timeout_seconds"), literal(30)), (keyword("protocol_version"), literal("2025-06-18"))),
    )
    written = capability_text(found)
    assert written.startswith("(capability :mcp.github.list_issues\n")
    assert ':server-url "https://x.test/mcp"' in written
    assert ':effects ["network"]' in written
    assert read_capabilities(written) == (found,)


def test_several_forms_in_one_file_are_read_in_their_order() -> None:
    text = "(capability :a) #| and |# (do (capability :b) (do (capability :c)))"
    assert [one.id for one in read_capabilities(text)] == ["a", "b", "c"]
    assert read_capabilities("; nothing here\n") == ()


def test_unknown_keys_are_kept_in_their_order() -> None:
    text = (
        '(capability :a :metadata {:x 1 "y" [true nil]} :language :python :implementation (fn [x] (+ x 1)) :later 2.5)'
    )
    found = read_capabilities(text)[0]
    assert [key for key, _ in found.others] == ["metadata", "language", "implementation", "later"]
    assert found.others[0][1] == MapForm(
        (keyword("x"), literal(1), literal("y"), VectorForm((literal(True), literal(None))))
    )
    assert read_capabilities(capability_text(found)) == (found,)


def test_what_a_capability_does_not_have_is_not_written() -> None:
    assert capability_text(Capability("a")) == "(capability :a)"
    assert capability_text(Capability("has a space")) == '(capability "has a space")'


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        (":int", 1, 1, "expected (capability"),
        ("(server :a)", 1, 1, "expected (capability"),
        ("()", 1, 1, "expected (capability"),
        ("(capability)", 1, 1, "ID"),
        ("(capability 5)", 1, 13, "string or a keyword"),
        ("(capability :a\n  :version)", 2, 3, "no value"),
        ("(capability :a\n  version 1)", 2, 3, "expected a key"),
        ("(capability :a :version 1)", 1, 25, "string or a keyword"),
        ("(capability :a :version 'x')", 1, 25, "neither"),
        ('(capability :a :version "1" :version "2")', 1, 29, "twice"),
        ("(capability :a :input-schema :int :input_schema :int)", 1, 35, "twice"),
        ("(capability :a :x 1 :x 2)", 1, 21, "twice"),
        ("(capability :a :input-schema [:vectr])", 1, 31, "does not begin a type"),
        ("(capability :a :provider :mcp)", 1, 26, "expected a map"),
        ("(capability :a :provider {:type})", 1, 26, "expected a map"),
        ("(capability :a :provider {[1] 2})", 1, 27, "key of a map"),
        ('(capability :a :provider {:server-url "a" :server_endpoint "b"})', 1, 43, "twice"),
        ("(capability :a :domains :x)", 1, 25, "vector of strings"),
        ("(capability :a", 1, 1, "never closed"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(RtfsError) as caught:
        read_capabilities(text)
    assert (caught.value.line, caught.value.column) == (line, column), caught.value.message
    assert said in caught.value.message


def capabilities(text: st.SearchStrategy[str]) -> st.SearchStrategy[Capability]:
    words = st.lists(text, max_size=3).map(tuple)
    schemas = st.one_of(st.none(), types)
    kept = st.lists(
        st.tuples(identifiers.filter(lambda key: key.replace("_", "-") not in KNOWN_KEYS), literals),
        max_size=2,
        unique_by=lambda pair: pair[0],
    )
    providers = st.builds(Provider, text, text, text)
    return st.builds(
        Capability,
        text,
        text,
        text,
        text,
        schemas,
        schemas,
        st.one_of(st.none(), providers),
        words,
        words,
        words,
        words,
        kept.map(tuple),
    )


@given(capabilities(texts))
def test_what_is_written_is_read_back_the_same(capability: Capability) -> None:
    assert read_capabilities(capability_text(capability)) == (capability,)


@given(st.lists(capabilities(hostile_texts), max_size=3))
def test_no_text_of_a_server_breaks_out_of_its_place(written: list[Capability]) -> None:
    text = capabilities_text(written)
    text.encode("utf-8")
    found = read_capabilities(text)
    assert len(found) == len(written)
    assert capabilities_text(found) == text
    for ours, read in zip(written, found, strict=True):
        assert [key for key, _ in read.others] == [key for key, _ in ours.others]
        assert (read.input_schema, read.output_schema) == (ours.input_schema, ours.output_schema)
        assert len(read.domains) == len(ours.domains)


@given(st.one_of(st.text(), st.text(alphabet='()[]{}:a "\\;#|,\n?&1.-').map(lambda text: f"(capability {text})")))
def test_any_text_is_capabilities_or_a_clear_error(text: str) -> None:
    try:
        found = read_capabilities(text)
    except RtfsError:
        return
    assert read_capabilities(capabilities_text(found)) == found
