from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ccos.counter import FILES, GITHUB, LIST_ISSUES, READ_FILE, World, definition, proposed
from toolcrib.approvals.approvals import EXPIRY_SECONDS, ProposalRequest
from toolcrib.ccos.export import CapabilityFiles
from toolcrib.ccos.file_names import file_name, file_names
from toolcrib.ccos.from_tool import manifest_of
from toolcrib.ccos.import_files import definition_of, propose_files, read_capability_files
from toolcrib.ccos.manifest import ApprovalStatus, Manifest
from toolcrib.ccos.rtfs_form import manifests_in
from toolcrib.errors import ConfigurationError, ValidationError
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.tool import Tool


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def capability(tool: dict[str, Any], spec: ServerSpec = GITHUB, status: ApprovalStatus = "pending") -> Manifest:
    return manifest_of(Tool.from_mcp(spec.name, tool), spec, status=status)


def test_each_server_has_a_folder_and_each_tool_a_file(tmp_path: Path) -> None:
    files = CapabilityFiles(tmp_path / "capabilities" / "servers")
    manifests = [capability(LIST_ISSUES), capability(definition("create_issue")), capability(definition("search_code"))]

    written = files.export(manifests)

    below = tmp_path / "capabilities" / "servers" / "pending" / "github"
    assert written == [below / "list_issues.rtfs", below / "create_issue.rtfs", below / "search_code.rtfs"]
    assert [manifests_in(file.read_text("utf-8"))[0] for file in written] == manifests
    assert json.loads((below / "server.json").read_text("utf-8"))["name"] == "github"


def test_another_directory_may_be_named(tmp_path: Path) -> None:
    written = CapabilityFiles(tmp_path / "usual").export([capability(LIST_ISSUES)], tmp_path / "elsewhere")

    assert written == [tmp_path / "elsewhere" / "github" / "list_issues.rtfs"]
    assert not (tmp_path / "usual").exists()


def test_what_may_be_used_is_shown_as_approved(tmp_path: Path) -> None:
    files = CapabilityFiles(tmp_path)
    states: tuple[ApprovalStatus, ...] = ("auto_approved", "approved", "pending", "revoked")
    servers = [ServerSpec(state, GITHUB.launch) for state in states]

    written = files.export(
        [capability(LIST_ISSUES, spec, status) for spec, status in zip(servers, states, strict=True)]
    )

    assert [file.parent.parent.name for file in written] == ["approved", "approved", "pending", "rejected"]


def test_files_of_tools_that_are_gone_are_removed_and_what_others_put_there_stays(tmp_path: Path) -> None:
    files = CapabilityFiles(tmp_path)
    files.export([capability(LIST_ISSUES), capability(definition("old_tool"))])
    folder = tmp_path / "pending" / "github"
    (folder / "notes.rtfs").write_text("mine", "utf-8")

    files.export([capability(LIST_ISSUES)])

    assert sorted(file.name for file in folder.iterdir()) == ["list_issues.rtfs", "notes.rtfs", "server.json"]


def test_a_list_of_files_that_was_tampered_with_removes_nothing_elsewhere(tmp_path: Path) -> None:
    files = CapabilityFiles(tmp_path)
    files.export([capability(LIST_ISSUES)])
    victim = tmp_path / "victim.rtfs"
    victim.write_text("keep me", "utf-8")
    facts = tmp_path / "pending" / "github" / "server.json"
    hostile = ["../../victim.rtfs", str(victim), "..", 7, "server.json"]
    facts.write_text(json.dumps({"name": "github", "capability_files": hostile}), "utf-8")

    files.export([capability(LIST_ISSUES)])
    files.remove("pending", "github")

    assert victim.read_text("utf-8") == "keep me"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..", ".", "a/b", "a\\b", "", "con", "NUL.txt", ".hidden", "x" * 300, "a\x00b", "~"]
)
def test_no_name_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    spec = ServerSpec(name, RemoteLaunch("https://x.example.com/"))

    written = CapabilityFiles(tmp_path / "root").export([capability({**LIST_ISSUES, "name": name}, spec)])

    assert len(written) == 1
    assert written[0].resolve().parent.parent == (tmp_path / "root" / "pending").resolve()
    assert written[0].is_file()
    assert [file.name for file in tmp_path.iterdir()] == ["root"]


def test_names_a_file_system_takes_for_one_get_files_of_their_own(tmp_path: Path) -> None:
    names = ["Read", "read", "READ", "re/ad", "re\\ad", "re ad"]

    written = CapabilityFiles(tmp_path).export([capability(definition(name)) for name in names])

    assert len({file.name.casefold() for file in written}) == len(names)
    assert written[0].name == "Read.rtfs"
    assert [manifests_in(file.read_text("utf-8"))[0].name for file in written] == names


def test_servers_a_file_system_takes_for_one_get_folders_of_their_own(tmp_path: Path) -> None:
    files = CapabilityFiles(tmp_path)
    upper, lower = (ServerSpec(name, GITHUB.launch) for name in ("GitHub", "github"))
    (tmp_path / "pending").mkdir()
    # As a file system that ignores case would answer.
    (tmp_path / "pending" / "github").mkdir()
    (tmp_path / "pending" / "github" / "server.json").write_text('{"name": "GitHub"}', "utf-8")

    first = files.export([capability(LIST_ISSUES, lower)])
    again = files.export([capability(LIST_ISSUES, lower)])

    assert first == again
    assert first[0].parent.name.startswith("github-")
    assert upper.name != lower.name


@given(st.lists(st.text(max_size=40), max_size=12))
def test_file_names_are_plain_and_different_whatever_the_names_are(names: list[str]) -> None:
    chosen = file_names(names)

    assert set(chosen) == set(names)
    assert len({name.casefold() for name in chosen.values()}) == len(chosen)
    for name in chosen.values():
        assert name
        assert Path(name).name == name
        assert not name.startswith((".", "-")) or name.isascii()
        assert all(character.isalnum() or character in "._-" for character in name)
        assert len(name) < 110


def test_a_usual_name_is_kept() -> None:
    assert [file_name(name) for name in ("list_issues", "a.b", "x-1")] == ["list_issues", "a.b", "x-1"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "root" / "pending"
    place.mkdir(parents=True)
    (place / "github").symlink_to(outside, target_is_directory=True)

    CapabilityFiles(tmp_path / "root").export([capability(LIST_ISSUES)])

    assert list(outside.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "pending").write_text("a file in the way", "utf-8")

    with pytest.raises(ConfigurationError, match="pending"):
        CapabilityFiles(tmp_path).export([capability(LIST_ISSUES)])


def test_nothing_secret_is_written(tmp_path: Path) -> None:
    CapabilityFiles(tmp_path).export([capability(LIST_ISSUES), capability(READ_FILE, FILES)])

    texts = [file.read_text("utf-8") for file in tmp_path.rglob("*") if file.is_file()]
    assert not any("s3cret" in text or "pw@" in text for text in texts)


def test_an_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    files = CapabilityFiles(tmp_path)
    file = files.export([capability(LIST_ISSUES)])[0]
    os.utime(file, (1, 1))

    files.export([capability(LIST_ISSUES)])

    assert file.stat().st_mtime == 1


# -- as the states of proposals change


def test_files_follow_the_state_of_the_proposal(world: World) -> None:
    made = world.review.propose(proposed(), "agent")
    assert world.written() == ["pending/notes/list_notes.rtfs", "pending/notes/server.json"]

    world.review.approve(made.id, "ada")
    assert world.written() == ["approved/notes/list_notes.rtfs", "approved/notes/server.json"]

    world.review.reject(made.id, "ada")
    assert world.written() == ["rejected/notes/list_notes.rtfs", "rejected/notes/server.json"]


def test_the_files_tell_whoever_decides_what_it_is_about(world: World) -> None:
    made = world.review.propose(proposed(goal="x"), "agent")
    facts = json.loads((world.files.root / "pending" / "notes" / "server.json").read_text("utf-8"))

    assert facts["launch"] == {"url": "https://notes.example.com/mcp", "transport": "http", "headers": {}}
    assert facts["approval"] | {"requested_at": 0} == {
        "approval_id": made.id,
        "server_id": "notes",
        "version": 1,
        "state": "pending",
        "requested_at": 0,
        "decided_by": "",
        "decided_at": None,
    }


def test_a_new_version_waits_beside_the_approved_one_and_then_takes_its_place(world: World) -> None:
    world.review.approve(world.review.propose(proposed(), "agent").id, "ada")
    second = world.review.propose(proposed(definitions=(definition("new_tool"),)), "agent")
    assert "approved/notes/list_notes.rtfs" in world.written()
    assert "pending/notes/new_tool.rtfs" in world.written()

    world.review.approve(second.id, "ada")
    assert world.written() == [
        "approved/notes/new_tool.rtfs",
        "approved/notes/server.json",
        "archived/notes__v1/list_notes.rtfs",
        "archived/notes__v1/server.json",
    ]


def test_a_rejected_new_version_leaves_the_approved_one(world: World) -> None:
    world.review.approve(world.review.propose(proposed(), "agent").id, "ada")
    second = world.review.propose(proposed(definitions=(definition("new_tool"),)), "agent")

    world.review.reject(second.id, "ada")

    assert "approved/notes/list_notes.rtfs" in world.written()
    assert "rejected/notes/new_tool.rtfs" in world.written()


def test_a_file_moved_by_hand_is_no_approval(world: World) -> None:
    made = world.review.propose(proposed(), "agent")
    world.specs["notes"] = made.spec
    (world.files.root / "approved").mkdir()
    (world.files.root / "pending" / "notes").rename(world.files.root / "approved" / "notes")

    assert world.marketplace.get("mcp.notes.list_notes") is None
    assert world.approvals.get(made.id).state == "pending"


def test_files_are_made_from_the_catalog_not_from_files_somebody_changed(world: World) -> None:
    made = world.review.propose(proposed(), "agent")
    (world.files.root / "pending" / "notes" / "list_notes.rtfs").write_text("(capability :mcp.evil.x)", "utf-8")

    world.review.approve(made.id, "ada")

    text = (world.files.root / "approved" / "notes" / "list_notes.rtfs").read_text("utf-8")
    assert manifests_in(text)[0].id == "mcp.notes.list_notes"


def test_files_of_an_expired_proposal_go_with_the_next_one(world: World) -> None:
    world.review.propose(proposed(), "agent")
    world.clock.advance(EXPIRY_SECONDS)

    world.review.propose(proposed("other", "https://other.example.com/"), "agent")

    assert [file for file in world.written() if file.startswith("pending/notes")] == []


def test_files_that_cannot_be_written_do_not_undo_a_decision(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = world.review.propose(proposed(), "agent")
    (world.files.root / "approved").write_text("in the way", "utf-8")

    assert world.review.approve(made.id, "ada").state == "approved"
    assert "can't be written" in caplog.text


# -- and back


def test_files_are_read_back_as_proposals_whatever_folder_they_lie_in(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    other.review.approve(other.review.propose(proposed(), "agent").id, "ada")

    read = read_capability_files(other.files.root)
    done = propose_files(read, world.review.propose, "ada", configured=world.specs)

    assert [(one.server, one.tools) for one in done] == [("notes", 1)]
    assert done[0].proposal is not None
    assert (done[0].proposal.state, done[0].proposal.source) == ("pending", "import")
    assert done[0].proposal.launch == RemoteLaunch("https://notes.example.com/mcp")
    assert world.marketplace.get("mcp.notes.list_notes") is None


def test_capabilities_come_back_equal_through_files_and_proposals(world: World, tmp_path: Path) -> None:
    original = manifest_of(
        Tool.from_mcp("notes", definition("list_notes", "List", q={"type": "string"}, tags={"type": "array", "items": {"type": "string"}})),
        ServerSpec("notes", RemoteLaunch("https://notes.example.com/mcp")),
        status="approved",
    )  # fmt: skip
    CapabilityFiles(tmp_path / "x").export([original])

    propose_files(read_capability_files(tmp_path / "x"), world.review.propose, "ada", configured={})

    known = world.catalog.get("mcp.notes.list_notes")
    assert known is not None
    assert known.manifest == original
    assert definition_of(original)["inputSchema"]["required"] == ["q", "tags"]


def test_a_server_that_is_configured_or_cannot_be_reached_is_left_alone_with_the_reason(world: World) -> None:
    world.files.export([capability(LIST_ISSUES), capability(READ_FILE, ServerSpec("local", StdioLaunch("x")))])

    done = propose_files(read_capability_files(world.files.root), world.review.propose, "ada", configured=world.specs)

    assert {one.server: bool(one.reason and one.proposal is None) for one in done} == {"github": True, "local": True}


def test_the_command_of_a_proposed_program_comes_back(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    launch = StdioLaunch("npx", ("-y", "notes"), cwd="~")
    other.review.propose(
        ProposalRequest(name="notes", launch=launch, source="x", definitions=[definition("list_notes")]), "agent"
    )

    done = propose_files(read_capability_files(other.files.root), world.review.propose, "ada", configured={})

    assert done[0].proposal is not None
    assert done[0].proposal.launch == launch


def test_an_address_with_a_variable_is_imported_as_a_high_risk(world: World, tmp_path: Path) -> None:
    file = CapabilityFiles(tmp_path / "in").export([capability(LIST_ISSUES)])[0]
    launch = {"url": "https://api.example.com/${AWS_KEY}"}
    (file.parent / "server.json").write_text(json.dumps({"name": "github", "launch": launch}), "utf-8")

    done = propose_files(read_capability_files(tmp_path / "in"), world.review.propose, "ada", configured={})

    assert done[0].proposal is not None
    assert done[0].proposal.risk.level == "high"
    assert "it would be given the value of AWS_KEY" in done[0].proposal.risk.reasons


def test_a_bad_file_costs_itself_alone(tmp_path: Path) -> None:
    CapabilityFiles(tmp_path).export([capability(LIST_ISSUES)])
    folder = tmp_path / "pending" / "github"
    (folder / "broken.rtfs").write_text("(capability", "utf-8")
    (folder / "binary.rtfs").write_bytes(b"\xff\xfe\x00")
    (folder / "huge.rtfs").write_text(";" * 1_000_001, "utf-8")
    (folder / "server.json").write_text("[" * 100_000, "utf-8")

    read = read_capability_files(tmp_path)

    assert list(read.manifests) == ["github"]
    assert sorted(Path(problem.source).name for problem in read.problems) == [
        "binary.rtfs",
        "broken.rtfs",
        "huge.rtfs",
        "server.json",
    ]


@pytest.mark.parametrize(
    "bad", [r'{"name": "odd", "launch": {"command": "x\ud800"}}', "[]", '{"name": NaN}', " " * 2**21]
)
def test_facts_that_cannot_be_kept_are_a_problem_and_the_other_servers_go_on(
    world: World, tmp_path: Path, bad: str
) -> None:
    odd = ServerSpec("odd", StdioLaunch("x"))
    folder = (
        CapabilityFiles(tmp_path / "in").export([capability(READ_FILE, odd), capability(LIST_ISSUES, odd)])[0].parent
    )
    (folder / "server.json").write_text(bad, "utf-8")
    CapabilityFiles(tmp_path / "in").export([capability(LIST_ISSUES, replace(GITHUB, name="rest"))])

    read = read_capability_files(tmp_path / "in")
    done = propose_files(read, world.review.propose, "ada", configured={})

    assert [problem.source for problem in read.problems] == [str(folder / "server.json")]
    assert {one.server: one.proposal is not None for one in done} == {"odd": False, "rest": True}


def test_a_single_file_is_read_and_nothing_is_an_error(tmp_path: Path) -> None:
    file = CapabilityFiles(tmp_path).export([capability(LIST_ISSUES)])[0]

    assert list(read_capability_files(file).manifests) == ["github"]
    assert read_capability_files(file).launches == {"github": RemoteLaunch("https://api.example.com/mcp")}
    with pytest.raises(ValidationError):
        read_capability_files(tmp_path / "nowhere")


@pytest.mark.parametrize("launch", [{"command": 7}, {"url": "file:///etc/passwd"}, {"url": "http://[x"}, "npx", None])
def test_a_launch_that_makes_no_sense_is_none(tmp_path: Path, launch: Any) -> None:
    local = replace(FILES, name="local")
    CapabilityFiles(tmp_path).export([capability(READ_FILE, local)])
    facts = tmp_path / "pending" / "local" / "server.json"
    facts.write_text(json.dumps({"name": "local", "launch": launch}), "utf-8")

    assert read_capability_files(tmp_path).launches == {}
