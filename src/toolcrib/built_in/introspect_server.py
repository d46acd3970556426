"""`toolcrib:introspect_server`: an agent proposes a server; only a person can approve it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.approvals.proposal import Proposal
from toolcrib.ccos.manifest import public_url
from toolcrib.ccos.review import Review
from toolcrib.config.endpoints import launch_from_endpoint
from toolcrib.config.sharing import relative_paths
from toolcrib.errors import InvalidArguments, Problem, ToolcribError
from toolcrib.masking.texts import cover_keys
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.clean_text import escape_unsafe
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import FROM_PROPOSAL, Launch, Origin, RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.tool import summarize

MOST_PREVIEWS = 10
NOT_RUN = "a command runs only after a person approves it, so its tools are not known yet"
_FACTS = ("name", "title", "version", "websiteUrl")
_MOST_FACT_CHARACTERS = 200
# A shell would set a variable; here it would be the name of a program.
_ASSIGNMENT = re.compile(r"\w+=")


class UnapprovedReader(Protocol):
    """Reads a server that nobody has approved, without credentials and within the outbound rules."""

    async def read(self, spec: ServerSpec) -> ServerReading:
        """What the server tells; raises ToolcribError where it may not be asked or does not answer."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What could be found out about the server, and else why not."""

    reading: ServerReading | None = None
    note: str = ""


class IntrospectServer:
    """Runs the tool. A command is never run here, and no token is ever sent."""

    def __init__(self, review: Review, reader: UnapprovedReader) -> None:
        self._review = review
        self._reader = reader

    async def __call__(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        launch = _launch(str(arguments["endpoint"]))
        name = str(arguments.get("name") or "").strip() or _name_of(launch)
        told = await self._told(name, launch)
        request = ProposalRequest(
            name=name,
            launch=_with_token(launch, str(arguments.get("auth_env_var") or "")),
            source=f"agent {call.caller.name}"[:_MOST_FACT_CHARACTERS],
            description=told_description(told.reading),
            auth_env_var=str(arguments.get("auth_env_var") or ""),
            goal=str(arguments.get("goal") or ""),
            note=told.note,
            definitions=told.reading.tools if told.reading is not None else (),
            server_info=told_facts(told.reading),
        )
        proposal = await asyncio.to_thread(self._review.propose, request, call.caller.name)
        return _answer(await asyncio.to_thread(_body, proposal))

    async def _told(self, name: str, launch: Launch) -> _Told:
        if isinstance(launch, StdioLaunch):
            return _Told(note=NOT_RUN)
        try:
            return _Told(await self._reader.read(ServerSpec(name, launch, origin=Origin(FROM_PROPOSAL))))
        except ToolcribError as error:
            return _Told(note=f"its tools could not be read: {error.message}")


def _launch(endpoint: str) -> Launch:
    try:
        launch = launch_from_endpoint(endpoint)
    except ValueError as error:
        raise _wrong(str(error)) from None
    if "${" in endpoint:
        raise _wrong("variables are not allowed in it; name the one for its token in auth_env_var")
    if isinstance(launch, RemoteLaunch):
        _check_url(launch.url)
    else:
        _check_command(launch)
    return launch


def _check_command(launch: StdioLaunch) -> None:
    if not launch.command.strip() or launch.command.startswith("-") or _ASSIGNMENT.match(launch.command):
        raise _wrong("expected a command line that begins with the name of a program")
    if words := relative_paths(launch):
        raise _wrong(f"write the whole path: {cover_keys(words[0])} is another place in another folder")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        has_user = parts.username is not None or parts.password is not None
        has_host = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise _wrong("expected an http or https address") from None
    if not has_host:
        raise _wrong("expected an address with a host")
    if has_user:
        raise _wrong("leave credentials out of the address; name a variable in auth_env_var")


def _with_token(launch: Launch, variable: str) -> Launch:
    """The launch a person is asked to approve: with a reference to the token, which nobody has looked at."""
    if not variable or not isinstance(launch, RemoteLaunch):
        return launch
    return RemoteLaunch(launch.url, {"Authorization": f"Bearer ${{{variable}}}"}, launch.transport)


def _name_of(launch: Launch) -> str:
    if isinstance(launch, StdioLaunch):
        words = [word for word in (*launch.args, launch.command) if not word.startswith("-")]
        return words[0].rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition("@")[0] or "server"
    return urlsplit(launch.url).hostname or "server"


def _body(proposal: Proposal) -> dict[str, Any]:
    launch = proposal.launch
    previews = [_preview(one) for one in proposal.definitions[:MOST_PREVIEWS] if not _looks_hostile(one)]
    return {
        "success": True,
        "approval_id": proposal.id,
        "state": proposal.state,
        "server_name": proposal.server,
        "source": public_url(launch.url) if isinstance(launch, RemoteLaunch) else cover_keys(launch.command),
        "capability_files_count": len(proposal.definitions),
        "discovered_endpoints_count": len(proposal.definitions),
        "endpoint_previews": previews,
        **({"note": proposal.note} if proposal.note else {}),
        "agent_guidance": "The server is only proposed. It can't be used until a person approves it; you can't.",
        "next_steps": [
            f"Ask the person to look at it: toolcrib approvals show {proposal.id}",
            f"and to decide: toolcrib approvals approve {proposal.id}",
        ],
    }


def _looks_hostile(definition: Mapping[str, Any]) -> bool:
    """Whether an agent should not be shown it: nobody has looked at the words of this stranger yet."""
    # Only here, in a thread: it has hundreds of patterns to prepare.
    return any(finding.is_hard for finding in import_module("toolcrib.scanner.scan").scan(definition))


def _preview(definition: Mapping[str, Any]) -> dict[str, str]:
    description = definition.get("description")
    name = str(definition.get("name"))[:_MOST_FACT_CHARACTERS]
    return {"name": name, "summary": summarize(description if isinstance(description, str) else "")}


def told_facts(reading: ServerReading | None) -> dict[str, str]:
    """What a server says of itself that a person may want to see; each of it bounded."""
    info = reading.identity.server_info if reading is not None else {}
    told = {key: info.get(key) for key in _FACTS}
    return {key: value[:_MOST_FACT_CHARACTERS] for key, value in told.items() if isinstance(value, str)}


def told_description(reading: ServerReading | None) -> str:
    """One line in the server's own words."""
    described = reading.identity.server_info.get("description") if reading is not None else ""
    return summarize(described) if isinstance(described, str) else ""


def _wrong(message: str) -> InvalidArguments:
    return InvalidArguments([Problem("endpoint", message)])


def _answer(body: Mapping[str, Any]) -> ToolResult:
    text = escape_unsafe(msgspec.json.encode(body).decode())
    return ToolResult.of({"content": [{"type": "text", "text": text}]})
