"""Trying one server for real: start it, read it, call a tool that only reads, and say what is wrong in stable codes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolcrib.config.launching import ready_launch
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.secret_refs import bearer_variables
from toolcrib.engine.sign_in_state import SignInState, sign_in_state
from toolcrib.errors import (
    AuthenticationFailed,
    CallTimeout,
    NeedsConfiguration,
    ServerConnectionError,
    ToolcribError,
    ToolExecutionError,
)
from toolcrib.gateway import Gateway
from toolcrib.model.call import ExecutionResult
from toolcrib.model.caller import Caller
from toolcrib.model.finding import Finding
from toolcrib.model.secret import revealed
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.model.view import ToolDetails, ToolSummary
from toolcrib.upstream.program import find_program
from toolcrib.upstream.sandbox import why_unavailable
from toolcrib.wire.protocol import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, UNSUPPORTED_PROTOCOL_VERSION

CALLER = Caller("doctor", "cli", "cli")


@dataclass(frozen=True, slots=True)
class Checkup:
    """How one server did; `code` is empty where all went well, `called` names the tool that was tried."""

    server: str
    tools: int | None = None
    called: str = ""
    seconds: float = 0.0
    code: str = ""
    message: str = ""
    next_step: str = ""
    # Tools whose arguments can't be checked before a call, with the reason.
    not_checked: Mapping[str, str] = field(default_factory=dict)
    sign_in: SignInState | None = None
    # Tools that a person has to look at before they can be used.
    waiting: int = 0
    # What is odd in definitions, each with the name of the tool or item; what looks hostile besides waits.
    findings: Sequence[tuple[str, Finding]] = ()
    # Of those the names that can't be used before a person has looked at them; the others can.
    kept_away: frozenset[str] = frozenset()

    @property
    def is_fine(self) -> bool:
        return not self.code


def why_no_sandbox() -> tuple[str, str]:
    """Why no server can run in a sandbox here, as a code and in words; both are empty where one can."""
    return why_unavailable()


async def check_server(gateway: Gateway, spec: ServerSpec, env: Mapping[str, str], now: Callable[[], float]) -> Checkup:
    """Try a server; whatever goes wrong is in the answer."""
    checkup = await _tried(gateway, spec, env, now)
    # Afterwards: what was tried may have renewed the token, or learnt that the sign-in has ended.
    return replace(checkup, sign_in=await asyncio.to_thread(sign_in_state, spec, env))


async def _tried(gateway: Gateway, spec: ServerSpec, env: Mapping[str, str], now: Callable[[], float]) -> Checkup:
    began = now()
    tools: int | None = None
    not_checked: dict[str, str] = {}
    waiting = 0
    try:
        _check_entry(spec, env)
        await gateway.read_server(spec.name)
        listed = await gateway.list_tools(spec.name, include_disabled=True)
        tools = len(listed)
        waiting = sum(tool.waits for tool in listed)
        not_checked = await _not_checked(gateway, spec.name, [tool.name for tool in listed if not tool.unreviewed])
        called = await _call_harmless(gateway, spec.name, [tool.name for tool in listed if tool.enabled])
    except _Trouble as trouble:
        found = (trouble.code, trouble.message, trouble.next_step)
        return Checkup(spec.name, tools, "", now() - began, *found, not_checked)
    except ToolcribError as error:
        code, next_step = _explained(error, spec)
        return Checkup(spec.name, tools, "", now() - began, code, error.message, next_step, not_checked)
    odd = gateway.findings(spec.name)
    kept_away = await _kept_away(gateway, spec.name, {name for name, _ in odd}, listed)
    told = Checkup(spec.name, tools, called, now() - began, not_checked=not_checked, waiting=waiting)
    return replace(told, findings=odd, kept_away=kept_away)


async def _kept_away(gateway: Gateway, server: str, odd: set[str], listed: Sequence[ToolSummary]) -> frozenset[str]:
    if not odd:
        return frozenset()
    items = await gateway.list_items("prompt", "resource", "template", server=server)
    return frozenset(odd - {one.name for one in (*listed, *items) if one.enabled})


class _Trouble(Exception):
    """Something found wrong that no error of ours stands for."""

    def __init__(self, code: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step


def _check_entry(spec: ServerSpec, env: Mapping[str, str]) -> None:
    """What can be said of an entry before anything is started: its variables are set, its program is there."""
    ready = ready_launch(spec, env, OsKeyring().get)
    launch = ready.launch
    if not isinstance(launch, StdioLaunch):
        return
    try:
        find_program(spec.name, launch.command, revealed(ready.given), ready.folder)
    except ServerConnectionError as error:
        is_folder_missing = ready.folder is not None and not Path(ready.folder).is_dir()
        code = "WORKING_FOLDER_NOT_FOUND" if is_folder_missing else "COMMAND_NOT_FOUND"
        shown = ready.masker.error(error)
        raise _Trouble(code, shown.message, shown.hint) from error


async def _not_checked(gateway: Gateway, server: str, tools: list[str]) -> dict[str, str]:
    found = {tool: await gateway.get_tool_details(server, tool) for tool in tools}
    return {tool: details.not_checked for tool, details in found.items() if details and details.not_checked}


async def _call_harmless(gateway: Gateway, server: str, tools: list[str]) -> str:
    """Call the first tool that says it only reads and requires nothing; its name, or nothing where there is none."""
    for tool in tools:
        details = await gateway.get_tool_details(server, tool)
        if details is not None and _is_harmless(details):
            outcome = await _called(gateway, server, tool)
            if outcome.error is not None:
                step = "The server runs, but its tool fails: the message above is the tool's own."
                raise _Trouble(outcome.error.code, f"{tool}: {outcome.error.message}", outcome.error.hint or step)
            return tool
    return ""


async def _called(gateway: Gateway, server: str, tool: str) -> ExecutionResult:
    """A trial call; it gets no more time than the list of tools did, since a person waits for all servers together."""
    seconds = gateway.settings.list_timeout_seconds
    try:
        async with asyncio.timeout(seconds):
            return await gateway.execute_tool(server, tool, {}, caller=CALLER)
    except TimeoutError:
        raise _Trouble("SERVER_TIMEOUT", f"{tool}: no answer within {seconds:g} s", "See why it is slow.") from None


def _is_harmless(details: ToolDetails) -> bool:
    annotations = details.definition.get("annotations")
    says_so = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
    return says_so and not any(parameter.required for parameter in details.parameters)


def _explained(error: ToolcribError, spec: ServerSpec) -> tuple[str, str]:
    """The stable code of a failure, and what to do about it."""
    if isinstance(error, AuthenticationFailed):
        variables = bearer_variables(spec)
        token = f"Set a token in {variables[0]}, or" if variables else "Give"
        return error.code, error.hint or f"{token} an Authorization header in the server's entry."
    if isinstance(error, NeedsConfiguration):
        return error.code, error.hint or "Set what is missing in the environment or in the server's entry."
    if isinstance(error, CallTimeout):
        return "SERVER_TIMEOUT", error.hint or "Raise startupTimeout for this server, or see why it is slow."
    if isinstance(error, ToolExecutionError) and error.rpc_code == UNSUPPORTED_PROTOCOL_VERSION:
        spoken = f"{HANDSHAKE_PROTOCOL_VERSIONS[0]} to {LATEST_MODERN_VERSION}"
        return "PROTOCOL_VERSION_UNSUPPORTED", f"Update the server: Toolcrib speaks revisions {spoken} of MCP."
    if isinstance(error, ToolExecutionError):
        return "SERVER_PROTOCOL_ERROR", error.hint or _look_at(spec)
    return error.code, error.hint or _look_at(spec)


def _look_at(spec: ServerSpec) -> str:
    if spec.launch.transport == "stdio":
        return f"`toolcrib logs {spec.name}` shows what it wrote before it ended."
    return "Check the URL in the server's entry, and that the server is up."
