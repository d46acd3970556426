"""Clients, servers and the engine are killed while thousands of calls run: is each request still answered once?

    python -m bench.torture [--calls N] [--draw N] [--json FILE]

Eight clients of both eras, each the process that an AI client starts, call three servers, eight calls at once each. Now
and then a client is killed and another one comes, or a server crashes; once the engine is killed. Each request of a client
that lives must be answered once: with a result, a clear error, or OUTCOME_UNKNOWN. What the engine has open is compared
before and after the second half of the calls, and when all is over no process and no socket may be left.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.driver import Era, toolcrib_environment
from bench.report import Figure, Report, arguments
from bench.torture_client import ClientGone, CountingClient, ProcessEnded
from tests.host.shared_engine import SharedWorkshop

ERAS: tuple[Era, ...] = ("legacy", "modern")
SERVERS = ("old", "new", "private")
LONGEST_WAIT_SECONDS = 25.0
CLEAR_ERRORS = frozenset({"OUTCOME_UNKNOWN", "SERVER_CONNECTION_ERROR", "OVERLOADED"})
BIG_CHARACTERS = 300_000


@dataclass(frozen=True)
class Ordeal:
    """What is done to everybody; the same `draw` does it to the same calls."""

    calls: int = 10_000
    clients: int = 8
    at_once: int = 8
    client_kills: int = 40
    crash_chance: float = 0.004
    draw: int = 7


@dataclass
class Tally:
    """How the requests ended, and whatever must not happen."""

    results: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    abandoned: int = 0
    told_twice: int = 0
    wrong: list[str] = field(default_factory=list)


class Torture:
    """One ordeal in one home."""

    def __init__(self, shop: SharedWorkshop, ordeal: Ordeal) -> None:
        self.tally = Tally()
        self._shop = shop
        self._ordeal = ordeal
        self._numbers = iter(range(0))
        chance = random.Random(ordeal.draw)
        self._client_kills = set(chance.sample(range(ordeal.calls), ordeal.client_kills))
        self._engine_kill = ordeal.calls // 4

    async def run(self) -> tuple[Counter[str], Counter[str]]:
        """What the engine has open once it was killed and replaced, and again after as many calls more."""
        shop, half = self._shop, self._ordeal.calls // 2
        eras = zip(SERVERS, ("legacy", "modern", "legacy"), ("auto", "auto", "never"), strict=True)
        servers = {name: shop.scripted(name, era, share=share) for name, era, share in eras}
        shop.configure(servers, maxResultBytes=8 * BIG_CHARACTERS)
        keeper = await self._client("modern")
        try:
            await self._part(range(half))
            before = await self._open_when_calm(keeper)
            await self._part(range(half, self._ordeal.calls))
            after = await self._open_when_calm(keeper)
        finally:
            await self._see_off(keeper)
        return before, after

    async def _part(self, numbers: range) -> None:
        self._numbers = iter(numbers)
        await asyncio.gather(*(self._place(number) for number in range(self._ordeal.clients)))

    async def _place(self, number: int) -> None:
        """One client after the other, each until it is killed or no call is left."""
        is_over = False
        while not is_over:
            client = await self._client(ERAS[number % 2])
            number += 1
            await asyncio.gather(*(self._worker(client) for _ in range(self._ordeal.at_once)))
            is_over = not client.is_killed
            await self._see_off(client)

    async def _worker(self, client: CountingClient) -> None:
        while not client.is_killed and (number := next(self._numbers, None)) is not None:
            if number == self._engine_kill:
                os.kill(self._shop.engine(), signal.SIGKILL)
            if number in self._client_kills:
                await asyncio.wait_for(client.kill(connector=number % 2 == 0), LONGEST_WAIT_SECONDS)
            await self._call(client, number)

    async def _call(self, client: CountingClient, number: int) -> None:
        await self._ask(client, number, *self._request(number))

    async def _ask(
        self, client: CountingClient, number: int, meta_tool: str, given: Mapping[str, Any], expected: str
    ) -> None:
        try:
            asked = client.ask("tools/call", {"name": meta_tool, "arguments": given})
            answer = await asyncio.wait_for(asked, LONGEST_WAIT_SECONDS)
        except ClientGone:
            self.tally.abandoned += 1
        except TimeoutError:
            self.tally.wrong.append(f"call {number} ({meta_tool} {given}) was never answered")
        except ProcessEnded:
            self.tally.wrong.append(f"call {number} ({meta_tool} {given}) was not answered: the process ended")
        else:
            self._judge(number, answer, expected)

    def _request(self, number: int) -> tuple[str, dict[str, Any], str]:
        """The meta-tool, its arguments, and what its answer must hold."""
        chance = random.Random(f"{self._ordeal.draw}/{number}")
        server, share = chance.choice(SERVERS), chance.random()
        if share < self._ordeal.crash_chance:
            return "execute_tool", {"server": server, "tool": "die", "arguments": {}}, "nothing"
        if share < 0.03:
            big = {"characters": BIG_CHARACTERS}
            return "execute_tool", {"server": server, "tool": "big", "arguments": big}, "a long text"
        if share < 0.08:
            return "search_tools", {"query": "repeat a text"}, "echo"
        if share < 0.12:
            return "list_mcp_servers", {}, "private"
        text = f"call {number} of draw {self._ordeal.draw}"
        return "execute_tool", {"server": server, "tool": "echo", "arguments": {"text": text}}, text

    def _judge(self, number: int, answer: Mapping[str, Any], expected: str) -> None:
        result = answer.get("result")
        if result is None:
            self.tally.wrong.append(f"call {number} was refused: {answer['error']}")
            return
        text = result["content"][0]["text"]
        if not result.get("isError"):
            self.tally.results += 1
            if expected not in text:
                self.tally.wrong.append(f"call {number} has the answer of another one: {text[:80]}")
            return
        code = json.loads(text)["error"]["code"]
        self.tally.errors[code] += 1
        if code not in CLEAR_ERRORS:
            self.tally.wrong.append(f"call {number} failed with {text[:300]}")

    async def _client(self, era: Era) -> CountingClient:
        started = CountingClient.started(self._shop.command, self._shop.environment, era)
        return await asyncio.wait_for(started, LONGEST_WAIT_SECONDS)

    async def _see_off(self, client: CountingClient) -> None:
        if client.is_killed:
            return
        code = await asyncio.wait_for(client.leave(), LONGEST_WAIT_SECONDS)
        if code:
            self.tally.wrong.append(f"a client ended with exit code {code}")
        # Answers that came twice, until the client had left.
        self.tally.told_twice += sum(times > 1 for times in client.answered.values())

    async def _open_when_calm(self, keeper: CountingClient) -> Counter[str]:
        """What the engine has open while one client is left and every server runs."""
        for server in SERVERS:
            call = {"server": server, "tool": "echo", "arguments": {"text": "calm"}}
            await self._ask(keeper, -1, "execute_tool", call, "calm")
        return await asyncio.to_thread(steady_descriptors, self._shop.engine())


def steady_descriptors(pid: int) -> Counter[str]:
    """What a process has open, by kind, once that has been the same for a second."""
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    last, since = descriptors(pid), time.monotonic()
    while time.monotonic() - since < 1.0 and time.monotonic() < deadline:
        time.sleep(0.1)
        if (now := descriptors(pid)) != last:
            last, since = now, time.monotonic()
    return last


def descriptors(pid: int) -> Counter[str]:
    """What a process has open: how many sockets, pipes and so on, and which files."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            kinds[str(entry.readlink()).partition(":[")[0]] += 1
        except FileNotFoundError:
            continue  # closed meanwhile
    return kinds


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--calls", type=int, default=Ordeal.calls, help=f"calls in all (default {Ordeal.calls})")
    parser.add_argument("--draw", type=int, default=Ordeal.draw, help=f"what is done when (default {Ordeal.draw})")
    options = parser.parse_args()
    report = Report(f"torture: {options.calls:,} calls from {Ordeal.clients} clients")
    ordeal = Ordeal(options.calls, client_kills=options.calls // 250, draw=options.draw)
    with (
        tempfile.TemporaryDirectory(prefix="tc") as home,
        tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as work,
    ):
        shop = SharedWorkshop(Path(work), toolcrib_environment(Path(home)))
        try:
            measure(report, shop, ordeal)
        finally:
            shop.kill_all()
    report.finish(options.json)
    return 0


def measure(report: Report, shop: SharedWorkshop, ordeal: Ordeal) -> None:
    torture, began = Torture(shop, ordeal), time.monotonic()
    before, after = asyncio.run(torture.run())
    took = time.monotonic() - began
    tally = torture.tally
    shop.end_engines()
    left = shop.left_behind()
    report.add(Figure("calls with a result", tally.results, note=f"{took:.0f} s"))
    for code, count in sorted(tally.errors.items()):
        report.add(Figure(f"calls with the error {code}", count))
    report.add(Figure("calls of killed clients, not awaited", tally.abandoned, note=f"{ordeal.client_kills} killed"))
    report.add(Figure("never answered, or wrongly", len(tally.wrong), "", 0, note="; ".join(tally.wrong[:3])))
    report.add(Figure("answered twice", tally.told_twice, "", 0))
    more = after - before
    report.add(Figure("descriptors of the engine, before", before.total()))
    report.add(Figure("more descriptors after half of the calls", more.total(), "", 0, note=str(dict(more) or "")))
    report.add(Figure("processes and sockets left", len(left), "", 0, note=" ".join(left)))


if __name__ == "__main__":
    sys.exit(main())
