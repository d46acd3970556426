"""Many servers at once: so many at a time, in the order given, within a deadline, and none spoils it for the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import TypeVar

from toolcrib.discovery.results import DiscoveredMCPTool, ServerOutcome
from toolcrib.errors import CallTimeout, ToolcribError
from toolcrib.model.server import ServerSpec

Told = Callable[[ServerOutcome], None]
AttemptFailed = Callable[[ServerSpec, ToolcribError], None]
DiscoverOne = Callable[[ServerSpec, "Slot"], Awaitable[Sequence[DiscoveredMCPTool]]]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Slot(AbstractAsyncContextManager[None]):
    """One place among so many; entering waits for it, and says so when it is taken. `failed` hears of each attempt in it
    that failed, also where another one follows.
    """

    def __init__(
        self, places: asyncio.Semaphore, entered: Callable[[], None], failed: Callable[[ToolcribError], None]
    ) -> None:
        self._places = places
        self._entered = entered
        self._failed = failed

    async def __aenter__(self) -> None:
        await self._places.acquire()
        self._entered()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()
        if isinstance(error, ToolcribError):
            self._failed(error)


async def each_within(
    items: Sequence[_Item],
    work: Callable[[_Item, Slot], Coroutine[None, None, _Result]],
    *,
    most_at_once: int,
    seconds: float | None,
    started: Callable[[_Item], None],
    attempt_failed: Callable[[_Item, ToolcribError], None] = lambda *_: None,
) -> list[_Result | None]:
    """What the work gives for each item, in the order given; None for one that was ended because the time was over."""
    places = asyncio.Semaphore(max(1, most_at_once))
    slots = [Slot(places, partial(started, item), partial(attempt_failed, item)) for item in items]
    tasks = [asyncio.create_task(work(item, slot)) for item, slot in zip(items, slots, strict=True)]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
    finally:
        late = [task for task in tasks if not task.done()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
    return [None if task.cancelled() else task.result() for task in tasks]


async def discover_each(
    specs: Sequence[ServerSpec],
    discover: DiscoverOne,
    *,
    most_at_once: int,
    deadline_seconds: float | None = None,
    started: Callable[[ServerSpec], None] = lambda _: None,
    attempt_failed: AttemptFailed = lambda *_: None,
    finished: Told = lambda _: None,
) -> list[ServerOutcome]:
    """An outcome for each server in the order given; what is not there at the deadline is a failure of that server."""

    def told(outcome: ServerOutcome) -> ServerOutcome:
        finished(outcome)
        return outcome

    async def one(spec: ServerSpec, slot: Slot) -> ServerOutcome:
        return told(await _outcome(spec, discover, slot))

    outcomes = await each_within(
        specs,
        one,
        most_at_once=most_at_once,
        seconds=deadline_seconds,
        started=started,
        attempt_failed=attempt_failed,
    )
    return [outcome or told(_late(spec, deadline_seconds or 0)) for spec, outcome in zip(specs, outcomes, strict=True)]


async def _outcome(spec: ServerSpec, discover: DiscoverOne, slot: Slot) -> ServerOutcome:
    try:
        return ServerOutcome(spec, tuple(await discover(spec, slot)))
    except ToolcribError as error:
        return ServerOutcome(spec, error=error)


def _late(spec: ServerSpec, deadline_seconds: float) -> ServerOutcome:
    message = f"not read within the {deadline_seconds:g} s allowed for all servers"
    return ServerOutcome(spec, error=CallTimeout(message, server=spec.name, hint="Allow more time, or try again."))
