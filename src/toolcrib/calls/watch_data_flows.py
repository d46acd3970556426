"""One session that reads private data, reads what strangers wrote and then sends something away: a stranger may be behind it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from toolcrib.calls.chain import CallTool
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.data_flow import DataFlow, OnMix

log = logging.getLogger(__name__)

MIXED = "mixed-flow"
# More sessions than these at once are rare, and one that is forgotten begins anew.
MOST_SESSIONS = 1_000
_NEEDED: tuple[DataFlow, ...] = ("private", "foreign")


class _Session:
    """What a session has read: the first tool for each flow."""

    def __init__(self) -> None:
        self.first: dict[DataFlow, str] = {}
        self.is_told = False


class WatchDataFlows:
    """Remembers by session what came in, and says so, or has a person asked, when the call that could carry it away comes."""

    def __init__(self, on_mix: Callable[[], OnMix]) -> None:
        self._on_mix = on_mix
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        on_mix = self._on_mix()
        # The built-in tools send nothing away by themselves, and what they lead to is watched as itself.
        if call.target is None or call.target.spec is None or on_mix == "ignore" or not call.target.tool.data_flows:
            return await call_next(call)
        flows = call.target.tool.data_flows
        session = self._session_of(call)
        if "outward" in flows and all(flow in session.first for flow in _NEEDED):
            call = self._mixed(call, session, on_mix)
        result = await call_next(call)
        for flow in flows:
            session.first.setdefault(flow, f"{call.server}:{call.tool}")
        return result

    def _mixed(self, call: ToolCall, session: _Session, on_mix: OnMix) -> ToolCall:
        call.notes.findings.append(MIXED)
        if not session.is_told:
            session.is_told = True
            log.warning(
                "%s has read private data (%s) and text from outside (%s), and now calls %s:%s, which "
                "can send data away. Check that you wanted this. `trust.onMix: confirm` asks you before such calls.",
                call.caller.shown,
                *(session.first[flow] for flow in _NEEDED),
                call.server,
                call.tool,
            )
        # A rule that says `confirm: false` was written for this tool.
        if on_mix == "confirm" and call.target is not None and call.target.confirm is None:
            return call.but(target=replace(call.target, confirm=True))
        return call

    def _session_of(self, call: ToolCall) -> _Session:
        key = (call.caller.key, call.caller.session)
        session = self._sessions.setdefault(key, _Session())
        self._sessions.move_to_end(key)
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session
