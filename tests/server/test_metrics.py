"""What is counted for Prometheus, and that nobody reads it who may not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.journeys.http_gateway import write_config
from tests.server.http_face import Bare
from tests.server.slow_upstream import SlowServer
from tests.server.token_issuer import listening
from tests.upstream.http_servers import Script, serve
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.server.metrics import MOST_SERVERS, Metrics

LABELS = ("server", "outcome", "state", "version", "le")
CALL = ("far", "slow", {"say": "[1]"})


def metrics_url(face: Bare) -> str:
    return face.url.replace("/mcp", "/metrics")


async def read(face: Bare) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every value by name and labels."""
    answer = await face.http.get(metrics_url(face), headers={"authorization": f"Bearer {face.token}"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return values(answer.text)


def values(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {(one.name, tuple(one.labels[name] for name in LABELS if name in one.labels)): one.value for one in samples}


def with_token(face: Bare, token_file: Path) -> Bare:
    return Bare(face.http, face.url, token=token_file.read_text(encoding="ascii").strip())


async def test_calls_and_servers_are_counted_from_the_start(tmp_path: Path) -> None:
    slow = SlowServer()
    async with serve(Script(slow)) as far:
        config = write_config(tmp_path, {"far": {"url": far}}, http={"metrics": True})
        async with listening(config, tmp_path / "token") as nobody:
            face = with_token(nobody, tmp_path / "token")
            running = asyncio.create_task(face.execute(*CALL))
            await slow.is_waiting.wait()
            during = await read(face)
            slow.go.set()
            await running
            await face.execute("far", "no such tool", {})
            await face.execute('nowhere"}\nx 1', "a", {})
            after = await read(face)
    assert during[("toolcrib_calls_running", ())] == 1
    assert after[("toolcrib_calls_running", ())] == 0
    assert after[("toolcrib_calls_waiting", ())] == 0
    assert after[("toolcrib_servers", ("connected",))] == 1
    counted = {labels: value for (name, labels), value in after.items() if name == "toolcrib_calls_total"}
    assert counted == {("far", "OK"): 1, ("far", "TOOL_NOT_FOUND"): 1, ("unknown", "SERVER_NOT_FOUND"): 1}
    assert after[("toolcrib_call_seconds_count", ("far",))] == 2
    assert ("process_resident_memory_bytes", ()) in after


async def test_metrics_need_the_token_and_are_off_unless_a_person_wants_them(tmp_path: Path) -> None:
    config = write_config(tmp_path, {}, reloadInterval=0.05)
    async with listening(config, tmp_path / "token") as nobody:
        face = with_token(nobody, tmp_path / "token")
        holder = {"authorization": f"Bearer {face.token}"}
        url = metrics_url(face)
        assert (await face.http.get(url)).status_code == 401
        assert (await face.http.get(url, headers=holder)).status_code == 404
        write_config(tmp_path, {}, http={"metrics": True}, reloadInterval=0.05)
        async with asyncio.timeout(10):
            while (await face.http.get(url, headers=holder)).status_code == 404:
                pass
        assert (await face.http.get(url)).status_code == 401
        assert ("toolcrib_calls_running", ()) in await read(face)


def record(server: str, outcome: str = "OK") -> AuditRecord:
    return AuditRecord(0.0, "c", "http", server, "t", (), outcome, 5.0, 0, 0)


class Quiet:
    """An engine in which nothing happens."""

    def running_calls(self) -> int:
        return 0

    def servers_by_state(self) -> dict[str, int]:
        return {}

    def heard_by(self, hear: Any) -> Any:
        raise NotImplementedError


def test_however_many_servers_there_are_only_so_many_are_counted_by_name() -> None:
    metrics = Metrics(Quiet(), lambda: 0)
    for number in range(MOST_SERVERS + 50):
        metrics.note(record(f"s{number}"))
        metrics.note(record(f"made up {number}", "SERVER_NOT_FOUND"))
    metrics.note(record("s1", "approved"))  # of the same log, but no call
    counted = {
        labels: value for (name, labels), value in values(metrics.text().decode()).items() if name.endswith("_total")
    }
    assert counted[("other", "OK")] == 50
    assert counted[("unknown", "SERVER_NOT_FOUND")] == MOST_SERVERS + 50
    assert counted[("s1", "OK")] == 1
    assert len([labels for labels in counted if labels]) == MOST_SERVERS + 2


def test_what_most_people_do_not_use_is_not_loaded_with_the_http_face() -> None:
    code = "import sys, toolcrib.server.listening; print(*{'jwt', 'prometheus_client'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "\n"
