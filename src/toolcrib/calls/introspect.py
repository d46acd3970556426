"""What a tool returns, found out by one harmless call where its server does not say."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.calls.payload import payload
from toolcrib.errors import InvalidArguments, StoreUnavailable, ToolcribError
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.learnt import LearntShape
from toolcrib.model.tool import Tool
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.schema.infer import infer_schema
from toolcrib.schema.safe_values import plausible_arguments, safe_arguments
from toolcrib.topics.harmless import refusal
from toolcrib.workspace.catalog_view import CatalogView

log = logging.getLogger(__name__)

INTROSPECTION = Caller(name="introspection", face="introspection", key="introspection")
MAX_RESULT_BYTES = 64 * 1024
# Somebody waits for the answer; a tool that only reads and takes longer is not worth it.
TRIAL_SECONDS = 30.0
_LOOKS_FAILED = re.compile(r"missing required|required parameter|error|unauthori[sz]ed|forbidden", re.IGNORECASE)

Ask = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]
Schema = Mapping[str, Any]


async def introspect_output(
    tool: Tool, ask: Ask, given: Mapping[str, Any] | None = None, *, seconds: float = TRIAL_SECONDS
) -> Schema | None:
    """The schema of what the tool returns, from its definition, else from one call with safe arguments, at most two.

    A tool that may change something is never called. `given` are arguments a person chose for this tool. None where
    nothing could be found out within so many seconds.
    """
    if tool.output_schema:
        return tool.output_schema
    if reason := refusal(tool):
        log.info("%s: no trial call was made: %s", tool.id, reason)
        return None
    tried: list[Mapping[str, Any]] = []
    for make_up in (safe_arguments, plausible_arguments):
        try:
            arguments = make_up(tool.input_schema, given)
            if arguments in tried:
                break
            tried.append(arguments)
            async with asyncio.timeout(seconds):
                return _schema_of(await ask(arguments))
        except (_Failed, InvalidArguments, OverflowError, RecursionError) as failed:
            log.debug("%s: the trial call with these arguments failed: %s", tool.id, failed)
        except (ToolcribError, TimeoutError) as error:
            log.info("%s: could not find out what it returns: %s", tool.id, str(error) or "no answer in time")
            return None
    return None


def chosen_arguments(inputs: Mapping[str, Schema], server: str, names: Sequence[str]) -> Mapping[str, Any]:
    """What a person chose for a tool of these names, by `server:tool` or by the tool alone; else nothing."""
    keys = (*(f"{server}:{name}" for name in names), *names)
    return next((inputs[key] for key in keys if key in inputs), {})


class _Failed(Exception):
    """An answer that tells of a failure, not of what the tool returns."""


def _schema_of(result: ToolResult) -> Schema:
    if result.is_error or len(result.raw) > MAX_RESULT_BYTES:
        raise _Failed("the tool reported a failure or gave a very large answer")
    try:
        value = payload(result)
        if _looks_failed(value):
            raise _Failed("the answer reads like a failure")
        return infer_schema(value)
    except (ValueError, msgspec.MsgspecError, RecursionError) as unfit:
        raise _Failed(str(unfit)) from None


def _looks_failed(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value.get("error") or value.get("errors"))
    return isinstance(value, str) and _LOOKS_FAILED.search(value) is not None


class Introspector:
    """Finds out what tools return; its calls pass the same checks and the same audit as any."""

    def __init__(
        self,
        view: CatalogView,
        call_tool: CallTool,
        *,
        inputs: Callable[[], Mapping[str, Mapping[str, Any]]],
    ) -> None:
        self._view = view
        self._call_tool = call_tool
        self._inputs = inputs

    async def output_schema(self, visible: VisibleTool) -> Schema | None:
        """What is declared or was learnt already, else what a harmless call shows; kept for later."""
        tool = visible.tool
        known = await asyncio.to_thread(self._view.known_shape, visible)
        if known is not None and known.schema:
            return known.schema
        # The server's own name tells whether it only reads; a prefix of ours says nothing about that.
        own = Tool(tool.server, visible.upstream_name, tool.definition)
        given = chosen_arguments(self._inputs(), tool.server, (tool.name, own.name))
        found = await introspect_output(own, lambda arguments: self._ask(tool, arguments), given)
        if found is not None and not tool.output_schema:
            await asyncio.to_thread(self._keep, visible, found)
        return found

    async def _ask(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        raw = msgspec.json.encode(arguments)
        return await self._call_tool(ToolCall(tool.server, tool.name, dict(arguments), raw, INTROSPECTION))

    def _keep(self, visible: VisibleTool, schema: Schema) -> None:
        tool, spec = visible.tool, visible.spec
        if spec is None:
            return
        shape = LearntShape(
            spec.launch_key,
            visible.upstream_name,
            tool.fingerprint,
            schema,
            origin="introspection",
            learnt_at=self._view.catalog.now(),
        )
        try:
            self._view.catalog.store.save_shape(shape)
        except StoreUnavailable as trouble:
            log.debug("%s: what it returns could not be saved: %s", tool.id, trouble.message)
