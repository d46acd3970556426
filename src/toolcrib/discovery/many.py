"""Many servers at once: so many at a time, in the order given, within a deadline, and none spoils it for the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from toolcrib.discovery.found import DiscoveredMCPTool, ServerOutcome
from toolcrib.errors import CallTimeout, ToolcribError
from toolcrib.model.server import ServerSpec

Told = Callable[[ServerOutcome], None]
DiscoverOne = Callable[[ServerSpec, "Slot"], Awaitable[Sequence[DiscoveredMCPTool]]]


class Slot(AbstractAsyncContextManager[None]):
    """One place among so many; entering waits for it, and says so when it is taken."""

    def __init__(self, places: asyncio.Semaphore, entered: Callable[[], None]) -> None:
        self._places = places
        self._entered = entered

    async def __aenter__(self) -> None:
        await self._places.acquire()
        self._entered()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()


async def discover_each(
    specs: Sequence[ServerSpec],
    discover: DiscoverOne,
    *,
    most_at_once: int,
    deadline_seconds: float | None = None,
    started: Callable[[ServerSpec], None] = lambda _: None,
    finished: Told = lambda _: None,
) -> list[ServerOutcome]:
    """An outcome for each server in the order given; what is not there at the deadline is a failure of that server."""
    places = asyncio.Semaphore(max(1, most_at_once))

    async def one(spec: ServerSpec) -> ServerOutcome:
        outcome = await _outcome(spec, discover, Slot(places, lambda: started(spec)))
        finished(outcome)
        return outcome

    tasks = [asyncio.create_task(one(spec), name=f"discover {spec.name}") for spec in specs]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=deadline_seconds)
    finally:
        late = [task for task in tasks if not task.done()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
    outcomes = [_told(spec, task, deadline_seconds or 0) for spec, task in zip(specs, tasks, strict=True)]
    for task, outcome in zip(tasks, outcomes, strict=True):
        if task in late:
            finished(outcome)
    return outcomes


async def _outcome(spec: ServerSpec, discover: DiscoverOne, slot: Slot) -> ServerOutcome:
    try:
        return ServerOutcome(spec, tuple(await discover(spec, slot)))
    except ToolcribError as error:
        return ServerOutcome(spec, error=error)


def _told(spec: ServerSpec, task: asyncio.Task[ServerOutcome], deadline_seconds: float) -> ServerOutcome:
    if not task.cancelled():
        return task.result()
    message = f"not read within the {deadline_seconds:g} s allowed for all servers"
    return ServerOutcome(spec, error=CallTimeout(message, server=spec.name, hint="Allow more time, or try again."))
