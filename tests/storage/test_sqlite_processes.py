from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolcrib.storage.sqlite import SqliteCatalog

ROUNDS = 30
OWNERS = ("a", "b", "c")


def test_three_gateways_started_at_once_lose_nothing_and_see_each_other(
    tmp_path: Path, start_child: Callable[..., Any]
) -> None:
    path = tmp_path / "state" / "catalogue.db"
    children = [start_child("catalog_child.py", path, owner, ROUNDS) for owner in OWNERS]
    for child in children:
        child.go_on()
    wrote = [child.line().split() for child in children]
    for child in children:
        child.go_on()
    seen = {child.rest()[0] for child in children}

    with closing(SqliteCatalog(path)) as catalog:
        assert seen == {f"sees {3 * ROUNDS + 1} {catalog.change_token()}"}
        for owner in OWNERS:
            for number in range(ROUNDS):
                tools = catalog.tools(f"{owner}-{number}")
                assert [tool.description for tool in tools] == [f"{owner} {number}"] * 5
        assert len({tool.description for tool in catalog.tools("shared")}) == 1
    assert {word for word, _, _ in wrote} == {"wrote"}
    assert max(int(changes) for _, _, changes in wrote) >= 2 * ROUNDS


def test_each_lease_goes_to_one_of_three_processes(tmp_path: Path, start_child: Callable[..., Any]) -> None:
    path = tmp_path / "catalogue.db"
    children = [start_child("catalog_child.py", path, owner, ROUNDS) for owner in OWNERS]
    for child in children:
        child.go_on()

    assert sum(int(child.line().split()[1]) for child in children) == ROUNDS


def test_a_gateway_that_leaves_takes_nothing_of_another_with_it(
    tmp_path: Path, start_child: Callable[..., Any]
) -> None:
    path = tmp_path / "catalogue.db"
    with closing(SqliteCatalog(path)) as catalog:
        catalog.record_failure("before", "before", "", 1.0)
        assert run_alone(start_child("catalog_child.py", path, "a", 1)) == "sees 3"
        catalog.record_failure("after", "after", "", 2.0)
        assert run_alone(start_child("catalog_child.py", path, "b", 1)) == "sees 5"
        assert list(catalog.servers()) == ["a-0", "after", "b-0", "before", "shared"]


def run_alone(child: Any) -> str:
    child.go_on()
    child.go_on()
    return " ".join(child.rest()[-1].split()[:2])


def test_three_gateways_finding_a_damaged_file_keep_one_copy_of_it(
    tmp_path: Path, start_child: Callable[..., Any]
) -> None:
    path = tmp_path / "catalogue.db"
    path.write_bytes(b"this is no database" * 100)
    children = [start_child("catalog_child.py", path, owner, ROUNDS) for owner in OWNERS]
    for child in children:
        child.go_on()
    for child in children:
        child.line()
        child.go_on()
        child.rest()

    with closing(SqliteCatalog(path)) as catalog:
        assert len(catalog.servers()) == 3 * ROUNDS + 1
    assert [file.name for file in tmp_path.glob("*.corrupt-*")] == ["catalogue.db.corrupt-1"]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
def test_a_full_disk_refuses_writes_while_reading_goes_on(tmp_path: Path, start_child: Callable[..., Any]) -> None:
    child = start_child("catalog_full_disk.py", tmp_path / "catalogue.db")
    child.go_on()

    assert child.rest() == ["refused STORE_UNAVAILABLE", "known before 20", "known after before 40"]
