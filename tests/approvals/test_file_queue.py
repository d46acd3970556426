"""Requests about files of project folders: the same states and moves as those about servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes import Clock
from toolcrib.approvals.approvals import EXPIRY_SECONDS
from toolcrib.approvals.events import Event
from toolcrib.approvals.file_queue import FileQueue
from toolcrib.approvals.proposal import MOVES, State
from toolcrib.config.file_requests import FileRecord, digest_of
from toolcrib.config.settings import UntrustedFile
from toolcrib.config.trust import TrustedFiles
from toolcrib.errors import ApprovalNotFound, ApprovalRefused, ConfigurationError


class Project:
    """A folder with a file of servers, and everything that is kept about it."""

    def __init__(self, root: Path) -> None:
        self.file = root / "project" / ".mcp.json"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.unlink(missing_ok=True)
        self.kept, self.agreed = root / "waiting-files.json", root / "trusted.json"
        for file in (self.kept, self.agreed):
            file.unlink(missing_ok=True)
        self.clock, self.events = Clock(), list[Event]()
        self.trusted = TrustedFiles(self.agreed)
        self.queue = FileQueue(FileRecord(self.kept), self.trusted, now=self.clock, tell=self.events.append)

    def write(self, content: str) -> None:
        self.file.write_text(content, encoding="utf-8")

    def met(self) -> None:
        """What every gateway does that finds the file."""
        if self.file.exists() and not self.trusted.is_trusted(self.file):
            self.queue.meet([UntrustedFile(self.file, digest_of(self.file))])

    def states(self) -> list[str]:
        return [one.state for one in self.queue.all()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("a")
    made.met()
    return made


def test_who_approved_a_file_when_and_why_is_kept(project: Project) -> None:
    (request,) = project.queue.all()
    project.clock.advance(60)
    approved = project.queue.approve(request.id, "ada", "we need it")

    assert (approved.state, approved.by, approved.reason) == ("approved", "ada", "we need it")
    assert approved.at == request.since + 60
    assert project.trusted.is_trusted(project.file)
    assert project.queue.all() == [approved] == [project.queue.get(str(project.file))]
    assert [(one.what, one.by, one.reason) for one in project.events] == [("approval_approved", "ada", "we need it")]


def test_an_approval_can_be_taken_back_and_given_again(project: Project) -> None:
    (request,) = project.queue.all()
    project.queue.approve(request.id, "ada")

    rejected = project.queue.reject(request.id, "bob", "changed my mind")
    assert (rejected.state, rejected.by, rejected.reason) == ("rejected", "bob", "changed my mind")
    assert not project.trusted.is_trusted(project.file)
    project.met()
    assert project.states() == ["rejected"]
    assert project.queue.approve(request.id, "ada").state == "approved"


def test_the_approval_of_an_edited_file_supersedes_the_earlier_one_of_which_all_is_kept(project: Project) -> None:
    (first,) = project.queue.all()
    project.queue.approve(first.id, "ada", "the first one")
    project.write("b")
    project.met()
    second = project.queue.get(str(project.file))
    assert (second.state, second.version) == ("pending", 2)

    project.queue.approve(second.id, "bob")

    earlier = project.queue.get(first.id)
    assert (earlier.state, earlier.by, earlier.reason) == ("superseded", "ada", "the first one")
    assert project.states() == ["superseded", "approved"]


def test_what_nobody_decided_expires_and_is_asked_about_anew(project: Project) -> None:
    (first,) = project.queue.all()
    project.clock.advance(EXPIRY_SECONDS)

    assert project.states() == ["expired"]
    with pytest.raises(ApprovalRefused):
        project.queue.approve(first.id, "ada")
    project.met()
    assert project.states() == ["expired", "pending"]


def test_a_file_that_changed_after_it_was_shown_is_not_approved(project: Project) -> None:
    (request,) = project.queue.all()
    project.write("b")

    with pytest.raises(ApprovalRefused):
        project.queue.approve(request.id, "ada")
    assert not project.trusted.is_trusted(project.file)
    assert project.states() == ["superseded"]


def test_what_an_older_version_kept_is_read(project: Project) -> None:
    digest = digest_of(project.file)
    project.kept.write_text(json.dumps([{"path": str(project.file), "sha256": digest, "since": 5.0, "rejected": True}]))
    assert project.states() == ["rejected"]

    project.agreed.write_text(json.dumps({str(project.file.resolve()): digest}))
    (known,) = project.queue.all()
    assert (known.state, known.by) == ("approved", "")
    assert project.trusted.is_trusted(project.file)

    project.kept.unlink()
    (known,) = project.queue.all()
    assert (known.state, known.path, known.since) == ("approved", str(project.file.resolve()), 0.0)
    assert project.queue.reject(known.id, "ada").state == "rejected"
    assert not project.trusted.is_trusted(project.file)


ACTIONS = st.sampled_from(
    [
        "write a",
        "write b",
        "remove",
        "approve newest",
        "approve oldest",
        "reject newest",
        "reject oldest",
        "trust",
        "forget",
        "a day",
        "a week",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.lists(ACTIONS, max_size=14))
def test_only_the_moves_of_the_table_are_made_and_only_persons_put_a_file_in_force(
    tmp_path: Path, actions: list[str]
) -> None:
    project = Project(tmp_path)
    seen: dict[str, State] = {}
    for action in actions:
        with suppress(ApprovalRefused, ApprovalNotFound, ConfigurationError):
            _act(project, action)
        seen = _looked(project, seen, is_trusting=action == "trust")
        project.met()
        seen = _looked(project, seen, is_trusting=False)
    assert {event.by for event in project.events} <= {"ada"}


def _looked(project: Project, seen: Mapping[str, State], *, is_trusting: bool) -> dict[str, State]:
    """The state of each request, after a look at whether it may have got there."""
    known = project.queue.all()
    now: dict[str, State] = {one.id: one.state for one in known}  # type: ignore[misc]
    for id, state in now.items():
        before = seen.get(id)
        # A file may be trusted before any gateway has met it.
        is_first = state == "pending" or (state == "approved" and is_trusting)
        assert is_first if before is None else state == before or state in MOVES[before]
    assert seen.keys() <= now.keys()
    assert [*now.values()].count("approved") <= 1
    assert [*now.values()].count("pending") <= 1
    in_force = [one for one in known if one.state == "approved" and one.sha256 == digest_of(project.file)]
    assert bool(in_force) is project.trusted.is_trusted(project.file)
    return now


def _act(project: Project, action: str) -> None:
    verb, _, what = action.partition(" ")
    if verb == "write":
        project.write(what)
    elif verb == "remove":
        project.file.unlink(missing_ok=True)
    elif verb in ("approve", "reject"):
        known = project.queue.all()
        wanted = known[0 if what == "oldest" else -1].id if known else "file-00000000"
        (project.queue.approve if verb == "approve" else project.queue.reject)(wanted, "ada")
    elif verb == "trust":
        project.queue.trust(project.file, "ada", expected=digest_of(project.file))
    elif verb == "forget":
        project.queue.forget(project.file, "ada")
    else:
        project.clock.advance(EXPIRY_SECONDS if what == "week" else 86_400)
