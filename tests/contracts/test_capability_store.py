"""One suite for every store of proposals and capabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from toolcrib.approvals.store import CapabilityRow, CapabilityStore, ProposalRow
from toolcrib.storage.memory_capabilities import MemoryCapabilities
from toolcrib.storage.sqlite_capabilities import SqliteCapabilities

PROPOSAL = ProposalRow("apr-1", "notes", 1, "pending", 10.0, '{"a":1}')
CAPABILITY = CapabilityRow("mcp.notes.list", "1.0.0", '{"b":1}', 10.0)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CapabilityStore]:
    makers: dict[str, Callable[[], CapabilityStore]] = {
        "memory": MemoryCapabilities,
        "sqlite": lambda: SqliteCapabilities(tmp_path / "catalogue.db"),
    }
    opened = makers[request.param]()
    yield opened
    opened.close()


def test_a_new_store_is_empty(store: CapabilityStore) -> None:
    assert (store.proposals(), store.capabilities(), store.capability_history("x")) == ([], [], [])
    assert (store.proposal("x"), store.capability("x"), store.remove_capability("x")) == (None, None, False)


def test_proposals_come_back_oldest_first(store: CapabilityStore) -> None:
    later = replace(PROPOSAL, id="apr-0", server="other", requested_at=20.0)

    assert store.add_proposal(later)
    assert store.add_proposal(PROPOSAL)
    assert store.proposals() == [PROPOSAL, later]
    assert store.proposal("apr-1") == PROPOSAL


def test_proposals_about_a_server_or_in_a_state_are_found_without_the_others(store: CapabilityStore) -> None:
    approved = replace(PROPOSAL, id="apr-2", version=2, state="approved")
    elsewhere = replace(PROPOSAL, id="apr-3", server="other", version=7)
    for row in (PROPOSAL, approved, elsewhere):
        store.add_proposal(row)

    assert store.proposals(server="notes") == [PROPOSAL, approved]
    assert store.proposals(state="pending") == [PROPOSAL, elsewhere]
    assert store.proposals(server="notes", state="approved") == [approved]
    assert store.proposals(server="nobody") == []
    assert [store.newest_version(name) for name in ("notes", "other", "nobody")] == [2, 7, 0]


def test_of_what_is_over_only_the_newest_proposals_stay(store: CapabilityStore) -> None:
    rows = [replace(PROPOSAL, id=f"apr-{version}", version=version, state="superseded") for version in range(1, 6)]
    others = [replace(PROPOSAL, id="apr-6", version=6), replace(rows[0], id="apr-7", server="other")]
    for row in (*rows, *others):
        store.add_proposal(row)
    store.drop_old_proposals("notes", {"superseded", "expired"}, keep=2)

    assert {row.id for row in store.proposals()} == {"apr-4", "apr-5", "apr-6", "apr-7"}
    assert store.newest_version("notes") == 6


def test_an_id_and_a_version_of_a_server_are_given_once(store: CapabilityStore) -> None:
    store.add_proposal(PROPOSAL)

    assert not store.add_proposal(replace(PROPOSAL, server="other"))
    assert not store.add_proposal(replace(PROPOSAL, id="apr-2"))
    assert store.add_proposal(replace(PROPOSAL, id="apr-2", version=2))


def test_a_proposal_is_changed_only_from_the_state_it_was_seen_in(store: CapabilityStore) -> None:
    store.add_proposal(PROPOSAL)
    approved = replace(PROPOSAL, state="approved", body="{}")

    assert store.change_proposal(approved, was="pending")
    assert not store.change_proposal(replace(PROPOSAL, state="rejected"), was="pending")
    assert store.proposal("apr-1") == approved
    assert not store.change_proposal(replace(PROPOSAL, id="unknown"), was="pending")


def test_what_is_replaced_or_removed_stays_in_the_history(store: CapabilityStore) -> None:
    second = replace(CAPABILITY, version="1.1.0", registered_at=20.0)

    assert store.save_capability(CAPABILITY, replaces=None)
    assert store.save_capability(second, replaces=CAPABILITY)
    assert store.capability("mcp.notes.list") == second
    assert store.remove_capability("mcp.notes.list")
    assert store.capability_history("mcp.notes.list") == [CAPABILITY, second]
    assert store.capabilities() == []


def test_a_registration_never_overwrites_what_it_did_not_see(store: CapabilityStore) -> None:
    store.save_capability(CAPABILITY, replaces=None)

    assert not store.save_capability(replace(CAPABILITY, body="{}"), replaces=None)
    assert not store.save_capability(replace(CAPABILITY, body="{}"), replaces=replace(CAPABILITY, version="0.9.0"))
    assert store.capabilities() == [CAPABILITY]
    assert store.capability_history(CAPABILITY.id) == []


def test_what_was_written_is_there_for_the_next_process(tmp_path: Path) -> None:
    first = SqliteCapabilities(tmp_path / "catalogue.db")
    first.add_proposal(PROPOSAL)
    first.close()
    first.close()

    second = SqliteCapabilities(tmp_path / "catalogue.db")
    assert second.proposals() == [PROPOSAL]
    second.close()
