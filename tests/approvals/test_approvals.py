from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ccos.counter import FILES, GITHUB, World, definition, proposed
from tests.fakes import spec, tool
from toolcrib.approvals.approvals import EXPIRY_SECONDS, MOST_PENDING, Approvals, ProposalRequest
from toolcrib.approvals.change import Change
from toolcrib.approvals.change_requests import ask_about
from toolcrib.approvals.proposal import MOVES, Proposal, State, from_row, to_row
from toolcrib.approvals.risk import assess
from toolcrib.approvals.store import ProposalRow
from toolcrib.cli.capability_parsers import STATES as SHOWN_STATES
from toolcrib.errors import ApprovalNotFound, ApprovalRefused
from toolcrib.model.server import RemoteLaunch, StdioLaunch

READ = Change("tool", "read", "changed", "f1", tool("read"), '{"name":"read"}')
SEND = Change("tool", "send", "new", "f2", tool("send"))
LOCAL = StdioLaunch("npx", ("-y", "x"), {"A": "b"}, env_file=".env", pass_env=("LANG",), cwd="/srv")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_proposal_waits_and_says_all_that_was_proposed(world: World) -> None:
    made = world.approvals.propose(proposed(goal="read my notes", description="Notes"), "agent")

    assert (made.state, made.server, made.version, made.decision) == ("pending", "notes", 1, None)
    assert made.expires_at - made.requested_at == EXPIRY_SECONDS == 168 * 3600
    assert world.approvals.get(made.id) == made == world.approvals.get("notes")
    assert world.happenings() == ["approval_requested"]


def test_a_person_approves_and_the_record_says_who_when_and_why(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")
    world.clock.advance(60)

    approved = world.approvals.approve(made.id, "ada", "we need it")

    assert approved.state == "approved"
    assert approved.decision is not None
    assert (approved.decision.by, approved.decision.reason) == ("ada", "we need it")
    assert approved.decision.at == made.requested_at + 60
    assert world.approvals.approved() == {"notes": approved}


def test_what_changed_since_it_was_shown_is_not_approved(world: World) -> None:
    shown = world.approvals.propose(proposed(), "agent")
    now = world.approvals.propose(proposed(definitions=(definition("delete_notes"),)), "agent")

    with pytest.raises(ApprovalRefused, match="changed after it was shown; look at it again"):
        world.review.approve(shown.id, "ada", expected=shown)
    assert world.approvals.get(shown.id).state == "pending"
    assert world.review.approve(shown.id, "ada", expected=now).definitions == now.definitions


def test_a_rejected_server_is_not_proposed_again_but_a_person_may_think_better_of_it(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")
    world.approvals.reject(made.id, "ada", "no")

    with pytest.raises(ApprovalRefused):
        world.approvals.propose(proposed(), "agent")
    assert world.approvals.approve(made.id, "ada").state == "approved"
    assert world.approvals.reject(made.id, "ada").state == "rejected"


def test_a_proposal_nobody_decides_expires_and_can_be_made_anew(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")
    world.clock.advance(EXPIRY_SECONDS)

    assert world.approvals.get(made.id).state == "expired"
    with pytest.raises(ApprovalRefused):
        world.approvals.approve(made.id, "ada")
    again = world.approvals.propose(proposed(), "agent")
    assert (again.id, again.version, again.state) != (made.id, made.version, made.state)


def test_two_processes_that_let_a_proposal_expire_at_once_do_not_fail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.approvals.propose(proposed(), "agent")
    world.clock.advance(EXPIRY_SECONDS)
    change = world.store.change_proposal

    def late(row: ProposalRow, *, was: str) -> bool:
        change(row, was=was)  # the other one
        return change(row, was=was)

    monkeypatch.setattr(world.store, "change_proposal", late)
    assert [(one.id, one.state) for one in world.approvals.all()] == [(made.id, "expired")]
    assert world.approvals.get(made.id).state == "expired"


def test_proposing_again_what_waits_is_the_same_request_with_what_was_learnt_since(world: World) -> None:
    first = world.approvals.propose(proposed(definitions=()), "agent")
    world.clock.advance(60)
    second = world.approvals.propose(proposed(), "agent")
    third = world.approvals.propose(proposed(definitions=()), "agent")

    assert first.id == second.id == third.id
    assert not first.was_read
    assert second.was_read
    assert third == second  # a reading that failed forgets nothing
    assert second.expires_at == first.expires_at


def test_a_new_reading_of_an_approved_server_is_a_new_version_that_supersedes_it(world: World) -> None:
    first = world.approvals.approve(world.approvals.propose(proposed(), "agent").id, "ada")
    second = world.approvals.propose(proposed(definitions=(definition("new_tool"),)), "agent")

    assert (second.version, second.state, second.server) == (2, "pending", "notes")
    assert world.approvals.approved()["notes"].id == first.id
    world.approvals.approve(second.id, "ada")
    superseded = world.approvals.get(first.id)
    assert (superseded.state, superseded.superseded_by) == ("superseded", 2)
    assert world.approvals.approved()["notes"].id == second.id
    with pytest.raises(ApprovalRefused):
        world.approvals.approve(first.id, "ada")


def test_a_proposal_that_another_version_wrote_in_its_own_way_is_refused_by_its_id(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")
    world.store.change_proposal(replace(to_row(made), body="{}"), was="pending")

    assert world.approvals.all() == []
    with pytest.raises(ApprovalRefused, match="another version of Toolcrib wrote it"):
        world.review.approve(made.id, "ada")


def test_a_proposal_never_takes_the_name_of_another_server(world: World) -> None:
    other = world.approvals.propose(proposed("github", "https://evil.example.com/mcp"), "agent")
    own = world.approvals.propose(proposed("toolcrib"), "agent")
    world.approvals.propose(proposed("notes"), "agent")
    same_name = world.approvals.propose(proposed("notes", "https://elsewhere.example.com/"), "agent")

    assert other.server == "github-2"
    assert own.server == "toolcrib-2"
    assert same_name.server == "notes-2"


def test_what_is_configured_needs_no_proposal(world: World) -> None:
    for known in (GITHUB, FILES):
        with pytest.raises(ApprovalRefused, match="already configured"):
            world.approvals.propose(ProposalRequest(name=known.name, launch=known.launch, source="agent"), "agent")


def test_so_many_proposals_may_wait(world: World) -> None:
    for number in range(MOST_PENDING):
        world.approvals.propose(proposed(f"server-{number}"), "agent")

    with pytest.raises(ApprovalRefused):
        world.approvals.propose(proposed("one-more"), "agent")


def test_an_unknown_request_is_refused_with_the_nearest(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")

    with pytest.raises(ApprovalNotFound) as refused:
        world.approvals.get("nots")
    assert refused.value.details["nearest"] == ["notes"]
    assert world.approvals.get(made.id)


def test_two_persons_do_not_decide_twice(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")
    seen = world.store.proposal(made.id)
    assert seen is not None
    world.approvals.reject(made.id, "ada")

    class Late(type(world.store)):  # type: ignore[misc]
        """Gives what was there before the other person decided."""

        def proposal(self, id: str) -> ProposalRow | None:
            return seen

        def change_proposal(self, row: ProposalRow, *, was: str) -> bool:
            return world.store.change_proposal(row, was=was)

    late = Approvals(Late(), now=world.clock, new_id=lambda: "x")
    with pytest.raises(ApprovalRefused, match="meanwhile"):
        late.approve(made.id, "bob")
    assert world.approvals.get(made.id).state == "rejected"


def test_definitions_too_large_to_keep_are_left_out_and_said_so(world: World) -> None:
    large = [definition(f"tool_{number}", "x" * 1_000_000) for number in range(6)]

    made = world.approvals.propose(proposed(definitions=tuple(large)), "agent")

    assert len(made.definitions) == 4
    assert made.note.startswith("2 more tools")


def test_the_states_a_person_can_ask_for_are_those_there_are() -> None:
    assert set(MOVES) == set(SHOWN_STATES)


@pytest.mark.parametrize(("before", "after"), list(product(MOVES, MOVES)))
def test_only_the_moves_of_the_table_are_made(world: World, before: State, after: State) -> None:
    made = world.approvals.propose(proposed(), "agent")
    known = replace(made, state=before)
    world.store.change_proposal(to_row(known), was="pending")

    with suppress(ApprovalRefused):
        _try(world, known, after)

    is_move = after == before or after in MOVES[before]
    assert world.approvals.get(made.id).state == (after if is_move else before)


def _try(world: World, known: Proposal, after: State) -> None:
    """All that could bring a proposal into this state."""
    if after == "approved":
        world.approvals.approve(known.id, "ada")
    elif after == "rejected":
        world.approvals.reject(known.id, "ada")
    elif after == "expired":
        world.clock.advance(EXPIRY_SECONDS)
    elif after == "superseded":
        world.approvals.withdraw(known, "nothing is left to decide")
        later = world.approvals.propose(proposed(definitions=(definition("another"),)), "agent")
        world.approvals.approve(later.id, "ada")
    else:
        world.approvals.renew(known)


def test_what_is_decided_is_not_withdrawn(world: World) -> None:
    made = world.approvals.propose(proposed(), "agent")
    rejected = world.approvals.reject(made.id, "ada")

    world.approvals.withdraw(rejected, "nothing is left to decide")
    assert world.approvals.get(made.id).state == "rejected"


ACTIONS = st.sampled_from(
    [
        "propose",
        "propose other tools",
        "approve",
        "reject",
        "approve the oldest",
        "reject the oldest",
        "it changes",
        "it changes again",
        "it goes back",
        "a day",
        "a week",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(ACTIONS, max_size=14))
def test_whatever_happens_one_version_at_most_is_in_force_and_only_persons_put_it_there(
    tmp_path: Path, actions: list[str]
) -> None:
    world = World(tmp_path)
    seen: dict[str, State] = {}
    for action in actions:
        with suppress(ApprovalRefused, ApprovalNotFound):
            _act(world, action)
        known = world.approvals.all()
        now = {proposal.id: proposal.state for proposal in known}
        for id, state in now.items():
            before = seen.get(id)
            assert (state == "pending") if before is None else state == before or state in MOVES[before]
        for subject in ("server", "tools"):
            states = [proposal.state for proposal in known if proposal.subject == subject]
            assert states.count("approved") <= 1
            assert states.count("pending") <= 1
        assert seen.keys() <= now.keys()
        seen = now
    decided = [event for event in world.events if event.what in {"approval_approved", "approval_rejected"}]
    assert {event.by for event in decided} <= {"ada"}


def _act(world: World, action: str) -> None:
    if action.startswith("propose"):
        tools = (definition("another"),) if action != "propose" else (definition("list_notes"),)
        world.review.propose(proposed(definitions=tools), "agent")
    elif action.startswith("it "):
        changes = {"it changes": [READ], "it changes again": [READ, SEND], "it goes back": []}[action]
        ask_about(world.approvals, spec("used"), "key", changes)
    elif action.endswith("the oldest"):
        oldest = next((one.id for one in world.approvals.all()), "notes")
        (world.review.approve if action.startswith("approve") else world.review.reject)(oldest, "ada")
    elif action == "approve":
        for server in ("notes", "used"):
            with suppress(ApprovalRefused, ApprovalNotFound):
                world.review.approve(server, "ada")
    elif action == "reject":
        for server in ("notes", "used"):
            with suppress(ApprovalRefused, ApprovalNotFound):
                world.review.reject(server, "ada")
    else:
        world.clock.advance(EXPIRY_SECONDS if action == "a week" else 86_400)


def test_a_proposal_is_kept_as_it_is(world: World) -> None:
    remote = world.approvals.propose(proposed(goal="x", note="y", auth_env_var="TOKEN"), "agent")
    local = world.approvals.propose(ProposalRequest(name="l", launch=LOCAL, source="cli"), "ada")

    for made in (remote, local, world.approvals.approve(remote.id, "ada", "fine")):
        assert from_row(to_row(made)) == made


def test_a_row_of_another_version_of_toolcrib_is_left_alone(world: World) -> None:
    world.store.add_proposal(ProposalRow("apr-x", "strange", 1, "sleeping", 1.0, "{}"))
    made = world.approvals.propose(proposed(), "agent")

    assert [proposal.id for proposal in world.approvals.all()] == [made.id]


def test_the_risk_names_what_could_do_harm() -> None:
    quiet = assess(RemoteLaunch("https://x.example.com"), [definition("list_notes")])
    program = assess(StdioLaunch("npx", ("x", "${HOME_TOKEN}")), [])
    tools = [
        definition("sudo_run"),
        definition("deleteUser"),
        {**definition("x"), "annotations": {"destructiveHint": True}},
    ]
    harmful = assess(RemoteLaunch("http://x.example.com", {"Authorization": "Bearer ${KEY}"}), tools)

    assert (quiet.level, quiet.reasons) == ("medium", ("nobody has vouched for it",))
    assert program.level == harmful.level == "high"
    assert any("HOME_TOKEN" in reason for reason in program.reasons)
    said = " ".join(harmful.reasons)
    assert all(word in said for word in ("not encrypted", "KEY", "administration", "deletion", "destructive"))


def test_a_variable_in_an_address_or_in_the_name_of_a_program_is_a_high_risk() -> None:
    address = assess(RemoteLaunch("https://x.example.com/?k=${AWS_KEY}"), [definition("list_notes")])
    program = assess(StdioLaunch("${HOME_KEY}/run"), [definition("list_notes")])

    assert (address.level, address.reasons[-1]) == ("high", "it would be given the value of AWS_KEY")
    assert (program.level, program.reasons[-1]) == ("high", "it would be given the value of HOME_KEY")


def test_what_a_program_would_be_given_besides_is_in_the_risk() -> None:
    reasons = assess(LOCAL, [definition("list_notes")]).reasons

    assert "it would be given the value of LANG" in reasons
    assert "it would be given what is in .env" in reasons


def test_a_package_that_can_change_by_itself_is_in_the_risk() -> None:
    whatever = assess(StdioLaunch("npx", ("-y", "notes-mcp")), []).reasons
    exact = assess(StdioLaunch("npx", ("-y", "notes-mcp@1.2.3")), []).reasons

    assert "notes-mcp has no exact version: whoever publishes it can change later what runs here" in whatever
    assert not any("version" in reason for reason in exact)


@pytest.mark.parametrize("mark", [";", "&", "|", "<", ">", "`", "$("])
def test_what_a_shell_would_act_on_is_named_in_the_risk(mark: str) -> None:
    reason = f'its command line has characters that a shell acts on: "{mark}"'

    assert reason in assess(StdioLaunch("sh", ("-c", f"notes {mark} more")), []).reasons
    assert not any("shell" in reason for reason in assess(StdioLaunch("npx", ("-y", "notes (a)", "$HOME")), []).reasons)


def test_nothing_of_a_proposal_is_configured_by_itself() -> None:
    proposal = Proposal("apr-1", "notes", RemoteLaunch("https://x.example.com"), "agent", 0.0, 1.0)

    assert proposal.spec.origin.source == "proposal"
