"""The shape of each tool's results, learnt from the first few and watched from then on; off the way of calls."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from toolcrib.calls.payload import payload
from toolcrib.catalog.store import CatalogStore
from toolcrib.errors import StoreUnavailable
from toolcrib.model.call import Target, ToolResult
from toolcrib.model.learnt import LearntShape
from toolcrib.schema.fit import misfit
from toolcrib.schema.infer import Shape
from toolcrib.schema.validate import ArgumentChecker

log = logging.getLogger(__name__)

FIRST_RESULTS = 5
MAX_RESULT_BYTES = 64 * 1024
# Once a shape is settled, one result in so many is compared with it.
CHECKED_ONE_IN = 64
MOST_WAITING = 64
MOST_SHAPES = 1_000
MOST_WATCHED = 20_000
# By then the answer is on its way to the caller.
PAUSE_SECONDS = 0.25
LAST_SECONDS = 1.0

Key = tuple[str, str]


@dataclass(slots=True)
class _Attention:
    """How much is still to be seen of a tool: results to take, then results to let pass."""

    fingerprint: str
    to_take: int = FIRST_RESULTS
    to_skip: int = CHECKED_ONE_IN


@dataclass(slots=True)
class _KnownShape:
    """What is known of one tool's results so far."""

    tool_id: str
    learnt: LearntShape
    shape: Shape


class OutputShapes:
    """Learns in a worker thread, one result at a time, at most a few hundred results waiting; belongs to the event loop."""

    def __init__(self, store: CatalogStore, *, is_enabled: Callable[[], bool], now: Callable[[], float]) -> None:
        self._store = store
        self._is_enabled = is_enabled
        self._now = now
        self._checker = ArgumentChecker()
        self._attention: dict[Key, _Attention] = {}
        self._known_shapes: OrderedDict[Key, _KnownShape] = OrderedDict()
        self._waiting: deque[tuple[Target, ToolResult]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._working: asyncio.Task[None] | None = None

    def offer(self, target: Target, result: ToolResult) -> None:
        """Take the result to learn from later, if this tool is not known well enough yet or its turn has come."""
        if len(result.raw) > MAX_RESULT_BYTES or not self._is_wanted(target) or result.is_error:
            return
        if len(self._waiting) < MOST_WAITING and self._is_enabled():
            # A copy: what came in may be a part of a much larger message, which would be kept with it.
            self._waiting.append((target, ToolResult(bytes(result.raw))))
            self._start_soon()

    async def settle(self) -> None:
        """Learn now from everything that waits."""
        while self._working is not None or self._waiting:
            self._start()
            if self._working is not None:
                await asyncio.wait({self._working})

    async def close(self) -> None:
        """Learn from what waits, unless that takes long."""
        if self._waiting or self._working is not None:
            try:
                async with asyncio.timeout(LAST_SECONDS):
                    await self.settle()
            except TimeoutError:
                self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _is_wanted(self, target: Target) -> bool:
        key = (target.launch_key, target.upstream_name)
        attention = self._attention.get(key)
        if attention is None or attention.fingerprint != target.tool.fingerprint:
            if len(self._attention) >= MOST_WATCHED:
                self._attention.clear()
            attention = self._attention[key] = _Attention(target.tool.fingerprint)
        if attention.to_take > 0:
            attention.to_take -= 1
            return True
        attention.to_skip = attention.to_skip - 1 if attention.to_skip > 0 else CHECKED_ONE_IN
        return attention.to_skip == 0

    def _start_soon(self) -> None:
        if self._timer is None and self._working is None:
            self._timer = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._start)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._working is None and self._waiting:
            self._working = asyncio.create_task(self._work(), name="learn from results")

    async def _work(self) -> None:
        try:
            while self._waiting:
                target, result = self._waiting.popleft()
                await asyncio.to_thread(self._learn_or_leave, target, result)
        finally:
            self._working = None

    def _learn_or_leave(self, target: Target, result: ToolResult) -> None:
        try:
            self._learn(target, payload(result))
        except (StoreUnavailable, ValueError, msgspec.MsgspecError, RecursionError) as trouble:
            log.debug("%s: could not learn from this result: %s", target.tool.id, trouble)

    def _learn(self, target: Target, value: Any) -> None:
        known_shape = self._known_shape(target)
        before = known_shape.learnt
        if target.tool.output_schema:
            known_shape.learnt = self._compared(target, before, value)
        elif before.samples < FIRST_RESULTS:
            known_shape.shape.add(value)
            known_shape.learnt = replace(
                before, samples=before.samples + 1, origin="calls", schema=known_shape.shape.schema
            )
        elif where := misfit(before.schema, value):
            known_shape.shape.add(value)
            known_shape.learnt = replace(before, drift=before.drift or where, schema=known_shape.shape.schema)
        if known_shape.learnt is not before:
            self._keep(known_shape, before)

    def _compared(self, target: Target, before: LearntShape, value: Any) -> LearntShape:
        """A tool that declares what it returns is only held to that."""
        if before.drift or not self._checker.check(target.tool.output_schema, value).problems:
            return before
        return replace(before, origin="declared", drift="the declared schema", samples=before.samples + 1)

    def _keep(self, known_shape: _KnownShape, before: LearntShape) -> None:
        if known_shape.learnt.drift and not before.drift:
            tool, where = known_shape.tool_id, known_shape.learnt.drift
            log.warning("%s: a result does not have the expected shape: %s", tool, where)
        known_shape.learnt = replace(known_shape.learnt, learnt_at=self._now())
        self._store.save_shape(known_shape.learnt)

    def _known_shape(self, target: Target) -> _KnownShape:
        """What was learnt of the tool under this definition, here, earlier or by another gateway; else a fresh start."""
        key = (target.launch_key, target.upstream_name)
        known_shape = self._known_shapes.get(key)
        fingerprint = target.tool.fingerprint
        if known_shape is None or known_shape.learnt.fingerprint != fingerprint:
            known = self._store.learnt_shape(*key)
            fresh = LearntShape(*key, fingerprint, {}, samples=0)
            learnt = known if known is not None and known.fingerprint == fingerprint else fresh
            known_shape = self._known_shapes[key] = _KnownShape(
                target.tool.id, learnt, Shape(learnt.schema if learnt.samples else None)
            )
        self._known_shapes.move_to_end(key)
        if len(self._known_shapes) > MOST_SHAPES:
            self._known_shapes.popitem(last=False)
        return known_shape
