"""The measurements of promised figures, once and small: that they can be made, not how long they take."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from bench import targets
from bench.cache_trace import Habits, day, missed_share, traced_days
from bench.report import Report
from toolcrib.discovery.cache import DAY_SECONDS

CALM = Habits(servers=20, restless_servers=0, quiet_change_chance=0)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory and processor time are read from /proc")


def asked(habits: Habits) -> list[str]:
    return [moment.server for moment in day(habits, random.Random(7), 0.0) if not moment.is_change]


def test_on_a_day_without_changes_each_server_is_read_once_and_once_more_the_day_after(tmp_path: Path) -> None:
    first, second = traced_days(tmp_path / "trace.db", CALM, 2)

    questions = asked(CALM)
    assert (first.misses, first.hits) == (len(set(questions)), len(questions) - len(set(questions)))
    assert 0 < second.misses <= CALM.servers


def test_each_announcement_of_other_tools_costs_one_more_reading_at_most(tmp_path: Path) -> None:
    restless = Habits(servers=20, restless_servers=5, quiet_change_chance=0)
    calm, busy = (traced_days(tmp_path / f"{n}.db", habits, 1)[0] for n, habits in enumerate((CALM, restless)))

    changes = sum(moment.is_change for moment in day(restless, random.Random(7), 0.0))
    assert changes == 5 * 24
    assert calm.misses < busy.misses <= calm.misses + changes
    assert busy.hits + busy.misses == calm.hits + calm.misses


def test_a_trace_has_what_its_habits_say_and_popular_tools_are_asked_for_most() -> None:
    habits = Habits()
    questions = asked(habits)

    assert len(questions) == habits.clients * habits.sessions * habits.tasks * (habits.hits_of_a_search + 2)
    moments = day(habits, random.Random(7), 5 * DAY_SECONDS)
    assert moments == sorted(moments)
    assert all(5 * DAY_SECONDS <= moment.at < 6 * DAY_SECONDS for moment in moments)
    counts = sorted((questions.count(server) for server in set(questions)), reverse=True)
    assert sum(counts[:10]) > 0.3 * len(questions)


def test_the_cache_answers_more_than_four_of_five_questions_of_the_trace(tmp_path: Path) -> None:
    # The trace is the same every time and needs no clock, so this is no measurement of time.
    assert all(missed_share(stats) < 20 for stats in traced_days(tmp_path / "trace.db", Habits(), 2))


@on_linux
@pytest.mark.timeout(180)
def test_every_figure_of_a_gateway_process_can_be_measured(tmp_path: Path) -> None:
    report = Report("once")
    (tmp_path / "empty").mkdir()
    targets.add_memory_when_empty(report, tmp_path / "empty")
    targets.measure_gateway(report, tmp_path, rounds=3, servers=3)

    values = {figure.name: figure.value for figure in report.figures}
    assert all(value > 0 for value in values.values())
    # What does not depend on the machine.
    assert values["definitions of all 30 tools"] > 3_000
    assert values["five definitions and instructions"] < 700
