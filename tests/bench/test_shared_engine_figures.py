"""The measurements of the shared engine, once and small: that they can be made, not how long they take."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import commands, connected_calls, many_clients, policy, startup
from bench.report import Report

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory and processor time are read from /proc"),
    pytest.mark.timeout(180),
]


def test_clients_that_share_an_engine_have_one_process_of_each_server(tmp_path: Path) -> None:
    report = Report("once")
    many_clients.measure_shared(report, "shared", [tmp_path] * 3, 2)
    many_clients.measure_alone(report, [tmp_path] * 3, 2)

    values = {figure.name: figure.value for figure in report.figures}
    assert values["shared: engines"] == 1
    assert values["shared: processes of servers"] == 2
    assert values["in-process: processes of servers"] == 6
    assert values["shared: a connector"] < values["shared: engine with one client"]


def test_servers_that_look_at_the_folder_have_a_process_for_each_folder(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    report = Report("once")
    many_clients.measure_shared(report, "shared", folders, 2, fixed_folder=False)

    assert {figure.name: figure.value for figure in report.figures}["shared: processes of servers"] == 4


def test_calls_commands_and_starts_can_be_measured() -> None:
    report = Report("once")
    connected_calls.compare(report, "small call", "echo", {"text": "x"}, 20, 10, "modern")
    connected_calls.throughput(report, "legacy", 10)
    policy.compare(report, 20, 1, "modern", batch=10)
    startup.add_shared(report, startup.measure_shared(1, (1,)))

    assert all(figure.value > 0 for figure in report.figures)
    assert all(times[0] > 0 for times in commands.measure(1).values())
