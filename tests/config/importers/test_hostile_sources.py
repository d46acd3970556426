from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.config.conftest import write
from toolcrib.config.diagnostics import Findings
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.model.server import Origin

GOOD = '{"mcpServers": {"good": {"command": "good-mcp"}}}'
XML = ".config/JetBrains/IDE/options/llm.mcpServers.xml"
BOMB = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;&b;">]><application>&c;</application>'
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

HOSTILE = {
    "50 MB": (".cursor/mcp.json", b'{"mcpServers": {}}' + b" " * 50_000_000, "larger than"),
    "deep JSON": (".cursor/mcp.json", b'{"mcpServers":' + b"[" * 100_000, "nested deeper"),
    "a key twice": (".cursor/mcp.json", b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "twice"),
    "UTF-16": (".cursor/mcp.json", '{"mcpServers": {}}'.encode("utf-16"), "UTF-16"),
    "UTF-16 without its mark": (".cursor/mcp.json", '{"mcpServers": {}}'.encode("utf-16-le"), "UTF-16"),
    "not text": (".cursor/mcp.json", b'{"a": "\xff\xfe\xfa"}', "not UTF-8"),
    "not JSON": (".cursor/mcp.json", b"mcpServers: {}", "not valid JSON"),
    "YAML tags": (".config/goose/config.yaml", b"extensions: !!python/object/apply:os.system [id]", "tag"),
    "YAML aliases": (".config/goose/config.yaml", ALIASES.encode(), "holds more than"),
    "two YAML documents": (".config/goose/config.yaml", b"a: 1\n---\nb: 2\n", "more than one document"),
    "deep YAML": (".config/goose/config.yaml", b"[" * 5_000, "nested deeper"),
    "deep TOML": (".codex/config.toml", b"a = " + b"[" * 5_000, "nested deeper"),
    "long TOML key": (".codex/config.toml", b"a." * 50_000 + b"a = 1", "nested deeper"),
    "not TOML": (".codex/config.toml", b"[mcp_servers", "not valid TOML"),
    "XML entities": (XML, BOMB.encode(), "document type"),
    "an outside entity": (XML, b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document type"),
    "deep XML": (XML, b"<a>" * 5_000, "nested deeper"),
    "much XML": (XML, b"<a>" + b"<b/>" * 150_000 + b"</a>", "holds more than"),
    "not XML": (XML, b"<a><b></a>", "not valid XML"),
}


@pytest.mark.parametrize(("place", "content", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_one_clear_error_and_the_others_are_imported(machine, place, content, message):
    write(machine.home / ".claude.json", GOOD)
    hostile = write(machine.home / place, "")
    hostile.write_bytes(content)
    loaded = machine.load()
    assert [spec.name for spec in loaded.servers] == ["good"]
    assert [problem.source for problem in loaded.problems] == [str(hostile)]
    assert message in loaded.problems[0].message
    assert [state.path for state in loaded.source_states if state.state == "broken"] == [str(hostile)]


def test_a_pipe_delays_nobody(machine):
    write(machine.home / ".claude.json", GOOD)
    (machine.home / ".cursor").mkdir()
    os.mkfifo(machine.home / ".cursor" / "mcp.json")
    loaded = machine.load()
    assert [spec.name for spec in loaded.servers] == ["good"]
    assert "not a regular file" in loaded.problems[0].message


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + GOOD.encode(), b"\xef\xbb\xbf// by hand\r\n" + GOOD.encode()])
def test_a_byte_order_mark_is_no_harm(machine, content):
    write(machine.home / ".cursor" / "mcp.json", "").write_bytes(content)
    assert [spec.name for spec in machine.load().servers] == ["good"]


def test_a_broken_catalog_of_dockers_costs_only_its_own_servers(machine):
    folder = machine.home / ".docker" / "mcp"
    write(folder / "registry.yaml", "registry: {one: {ref: ''}, two: {ref: ''}}")
    write(folder / "catalogs" / "good.yaml", "registry: {one: {image: example/one}}")
    broken = write(folder / "catalogs" / "bad.yaml", "registry: {two: !evil {image: example/two}}")
    loaded = machine.load()
    assert [spec.name for spec in loaded.servers] == ["one"]
    assert [problem.source for problem in loaded.problems] == [str(broken), str(folder / "registry.yaml")]
    assert broken in loaded.watched_files


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
SECTIONS = ("mcpServers", "servers", "mcp", "mcp_servers", "extensions", "context_servers", "agent", "experimental")
KEYS = (
    "command args env url type headers transport timeout disabled enabled cmd uri envs env_keys http_headers tools "
    "env_vars bearer_token_env_var env_http_headers httpUrl includeTools requestOptions apiKey uses name servers "
    "external_mcp_endpoints modelContextProtocolServers requestInit source settings available_tools"
).split()
ENTRIES = st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=5)
DOCUMENTS = ANYTHING | st.dictionaries(
    st.sampled_from(SECTIONS),
    ANYTHING | ENTRIES | st.lists(ENTRIES, max_size=3) | st.dictionaries(st.text(max_size=4), ENTRIES),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(document=DOCUMENTS)
def test_no_document_breaks_an_importer(document):
    for client, kind in SOURCE_TYPES.items():
        origin = Origin(client, "/h/file")
        assert all(spec.origin == origin for spec in kind.read(document, origin, Findings()))


@settings(max_examples=60)
@given(ANYTHING, ANYTHING, ANYTHING, ENTRIES)
def test_no_toolkit_of_dockers_breaks_its_importer(registry, config, tools, entry):
    catalog = {"registry": {"a": {"image": "x", **entry}, "b": registry}}
    documents = {"registry.yaml": {"registry": {"a": registry, "b": {}}}, "config.yaml": config, "tools.yaml": tools}
    for document in (
        {**documents, "catalogs/c.yaml": catalog},
        {"registry.yaml": registry, "catalogs/c.yaml": tools},
    ):
        origin = Origin("docker-mcp", "/h/file")
        assert all(spec.origin == origin for spec in SOURCE_TYPES["docker-mcp"].read(document, origin, Findings()))
