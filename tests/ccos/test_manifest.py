from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ccos.counter import FILES, GITHUB, LIST_ISSUES, definition
from toolcrib.ccos.from_tool import effects_of, manifest_of, tool_to_manifest
from toolcrib.ccos.manifest import Manifest, Provenance, capability_id, public_url, server_in_id
from toolcrib.ccos.rtfs_form import from_body, manifest_text, manifests_in, to_body
from toolcrib.errors import RtfsError
from toolcrib.model.server import Origin, RemoteLaunch, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.rtfs.write_type import rtfs_text

PUBLISHED_EXAMPLE = """\
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
PUBLISHED_DEFINITION = {
    "name": "list_issues",
    "description": "List issues in a GitHub repository",
    "inputSchema": {
        "type": "object",
        "properties": {
            "owner": {"type": "string"},
            "repo": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "closed", "all"]},
        },
        "required": ["owner", "repo"],
    },
    "outputSchema": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "title": {"type": "string"}, "state": {"type": "string"}},
            "required": ["id", "title", "state"],
        },
    },
}
PUBLISHED_SERVER = ServerSpec("github", RemoteLaunch("https://api.github.com/mcp"))


def made(tool: dict[str, Any], spec: ServerSpec = PUBLISHED_SERVER, **more: Any) -> Manifest:
    return manifest_of(Tool.from_mcp(spec.name, tool), spec, status="auto_approved", **more)


def test_the_published_example_is_written_exactly_so() -> None:
    assert manifest_text(made(PUBLISHED_DEFINITION)) == PUBLISHED_EXAMPLE


def test_the_published_example_is_read_back_to_an_equal_manifest() -> None:
    assert manifests_in(PUBLISHED_EXAMPLE) == [made(PUBLISHED_DEFINITION)]


def test_a_manifest_says_what_is_known_of_a_tool() -> None:
    manifest = made(LIST_ISSUES, GITHUB)

    assert (manifest.id, manifest.name, manifest.version) == ("mcp.github.list_issues", "list_issues", "1.0.0")
    assert manifest.domains == ("github", "github.issues")
    assert manifest.categories == ("crud.read",)
    assert manifest.effects == (":network",)
    assert (manifest.effect_type, manifest.permissions) == ("effectful", ())
    assert manifest.metadata == {
        "mcp_server_name": "github",
        "mcp_server_endpoint": "https://api.example.com/mcp",
        "discovery_source": "mcp_unified_service",
    }
    assert manifest.provenance.content_hash == Tool.from_mcp("github", LIST_ISSUES).fingerprint
    assert rtfs_text(manifest.input_schema) == "[:map [:owner :string]]"  # type: ignore[arg-type]
    assert manifest.output_schema is None


def test_nothing_secret_of_a_launch_is_in_a_manifest() -> None:
    for spec in (GITHUB, FILES):
        assert "s3cret" not in to_body(made(LIST_ISSUES, spec))
        assert "pw" not in to_body(made(LIST_ISSUES, spec))
    assert made(LIST_ISSUES, FILES).provider.server_url == "stdio:files"


@dataclass(frozen=True)
class Discovered:
    tool_name: str = "list_issues"
    definition: Any = None
    output_schema_json: Any = None


@pytest.mark.parametrize(
    ("source", "status"),
    [("toolcrib", "auto_approved"), ("cursor", "auto_approved"), ("registry", "pending"), ("proposal", "pending")],
)
def test_what_comes_from_a_stranger_is_pending(source: str, status: str) -> None:
    manifest = tool_to_manifest(Discovered(definition=LIST_ISSUES), replace(PUBLISHED_SERVER, origin=Origin(source)))

    assert manifest.approval_status == status
    assert manifest.may_be_used is (status != "pending")


def test_an_output_that_was_learnt_is_in_the_manifest() -> None:
    learnt = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}

    manifest = tool_to_manifest(Discovered(definition=LIST_ISSUES, output_schema_json=learnt), PUBLISHED_SERVER)

    assert rtfs_text(manifest.output_schema) == "[:map [:total :int]]"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("server", "tool", "id"),
    [
        ("github", "list_issues", "mcp.github.list_issues"),
        ("modelcontextprotocol/github", "list issues", "mcp.modelcontextprotocol.github.list_issues"),
        ("my server", "Read", "mcp.my_server.Read"),
    ],
)
def test_ids_name_server_and_tool(server: str, tool: str, id: str) -> None:
    assert capability_id(server, tool) == id


def test_names_that_fit_no_keyword_keep_different_ids() -> None:
    ids = {capability_id("files", name) for name in ("文件", "图片", "délivrer", "delivrer", "a(b", "a)b", "")}

    assert len(ids) == 7
    assert all(id.isascii() for id in ids)


def test_the_server_is_told_by_an_id_where_it_can_be() -> None:
    assert server_in_id("mcp.my.server.read_file", "read_file") == "my.server"
    assert server_in_id("mcp.files.other", "read_file") == ""
    assert server_in_id("own.thing", "thing") == ""


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("https://user:pw@host:8443/path?token=x#y", "https://host:8443/path"),
        ("http://[::1]:80/mcp", "http://[::1]:80/mcp"),
        ("http://[broken", ""),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, public: str) -> None:
    assert public_url(url) == public


@pytest.mark.parametrize(
    ("told", "effects"),
    [
        ({"annotations": {"effects": ["read", ":network"]}}, (":network", ":read")),
        ({"annotations": {"effect": "write"}}, (":write",)),
        ({"_meta": {"ccos_effects": '["fs", {"id": "db"}]'}}, (":db", ":fs")),
        ({"_meta": {"effects": [{"label": "a"}, {"name": "b"}, 7, None]}}, (":a", ":b")),
        ({"annotations": {"effects": "{broken"}}, (":network",)),
        ({"annotations": {"effects": ["", ":"]}}, (":network",)),
        ({"annotations": "none", "_meta": 3}, (":network",)),
    ],
)
def test_effects_are_taken_from_what_the_server_says(told: dict[str, Any], effects: tuple[str, ...]) -> None:
    assert effects_of(Tool.from_mcp("x", {"name": "x", **told})) == effects


def test_a_tool_that_says_it_only_reads_is_provisionally_pure() -> None:
    manifest = made({**LIST_ISSUES, "annotations": {"readOnlyHint": True, "effects": ["a"]}})

    assert manifest.effect_type == "pure_provisional"
    assert manifests_in(manifest_text(manifest)) == [manifest]


WORDS = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp", "Cf"]), max_size=30)
SCHEMAS = st.recursive(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]),
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda members: {"type": "object", "properties": members}, st.dictionaries(WORDS, inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(
    name=WORDS.filter(bool),
    description=st.text(max_size=60),
    schema=SCHEMAS,
    server=st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True),
)
def test_every_manifest_of_a_tool_survives_its_file_and_its_row(
    name: str, description: str, schema: Any, server: str
) -> None:
    tool = {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {"x": schema}}}
    manifest = made(tool, ServerSpec(server, RemoteLaunch("https://x.example.com/mcp")), upstream_name=name)

    assert manifests_in(manifest_text(manifest)) == [manifest]
    kept = from_body(to_body(manifest))
    assert (kept, kept.provenance, kept.approval_status) == (manifest, manifest.provenance, manifest.approval_status)


def test_a_public_name_that_differs_from_the_servers_own_is_kept() -> None:
    manifest = manifest_of(
        Tool("disk", "disk_read", definition("read")), ServerSpec("disk", RemoteLaunch("https://x/")), status="approved",
        upstream_name="read",
    )  # fmt: skip

    assert (manifest.name, manifest.provider.tool_name) == ("disk_read", "read")
    assert manifests_in(manifest_text(manifest)) == [manifest]


def test_what_a_file_says_of_its_state_counts_for_nothing() -> None:
    text = '(capability :mcp.a.b :approval-status :approved :provider {:type "mcp" :server_endpoint "https://a/" :tool_name "b"})'

    manifest = manifests_in(text)[0]

    assert manifest.approval_status == "pending"
    assert (manifest.provider.server_url, manifest.provider.tool_name, manifest.server) == ("https://a/", "b", "a")


@pytest.mark.parametrize(
    "hostile", ['"', "\\", '")\n(capability :mcp.evil.x', "\x00\x1b[2J", "\u202e", "\ud800", ";", "#|"]
)
def test_no_text_of_a_server_breaks_out_of_its_string(hostile: str) -> None:
    tool = {
        "name": f"t{hostile}",
        "description": hostile,
        "inputSchema": {"type": "object", "properties": {hostile: {}}},
    }
    found = manifests_in(manifest_text(made(tool)))

    assert len(found) == 1
    assert found[0].server == "github"


def test_a_broken_text_is_refused_with_its_place() -> None:
    with pytest.raises(RtfsError) as refused:
        manifests_in("(capability :mcp.a.b\n  :version ]")
    assert refused.value.line == 2


def test_provenance_does_not_make_a_manifest_another() -> None:
    manifest = made(LIST_ISSUES)

    assert replace(manifest, provenance=Provenance("elsewhere"), approval_status="revoked") == manifest
    assert json.loads(to_body(manifest))["approval_status"] == "auto_approved"
