"""Agent cards: made of what peers may use, signed, read and judged."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NoReturn

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolcrib.errors import PeerRefused
from toolcrib.model.nesting import deeper_than
from toolcrib.model.peer import AgentCard
from toolcrib.peers.card_members import card_members
from toolcrib.peers.clocks import LATEST, check_clock
from toolcrib.peers.identity import Identity
from toolcrib.peers.signatures import canonical, check_signature, signature_of, strict_object

MOST_TOOLS = 200
MOST_BYTES = 256 * 1024
# What a card needs beside its tools: names, the time, the signature.
_FRAME_BYTES = 4 * 1024
_MOST_LEVELS = 64
_KIND = "agent-card+jws"
# What of the things an agent may do we can: we speak MCP, and we speak it to peers.
CAPABILITIES = ("mcp", "p2p")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]{1,64}){1,8}")


class _Parameter(msgspec.Struct):
    """A parameter in the older spelling of cards."""

    name: str
    type: str = ""
    description: str = ""
    required: bool = False


class _CardTool(msgspec.Struct):
    name: Annotated[str, Meta(min_length=1, max_length=128)]
    description: str | UnsetType = UNSET
    parameters: dict[str, Any] | list[_Parameter] = msgspec.field(default_factory=lambda: {"type": "object"})
    title: str | UnsetType = UNSET
    output_schema: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="outputSchema")
    annotations: dict[str, Any] | UnsetType = UNSET


class _Endpoint(msgspec.Struct):
    port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    path: str = "/mcp"


class _Card(msgspec.Struct):
    name: Annotated[str, Meta(min_length=1, max_length=128)]
    peer_id: str = msgspec.field(name="peerId")
    timestamp: Annotated[int, Meta(ge=0, le=LATEST)]
    version: Annotated[str, Meta(max_length=64)] = ""
    capabilities: Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(max_length=32)] = []
    tools: Annotated[list[_CardTool], Meta(max_length=MOST_TOOLS)] = []
    tool_count: Annotated[int, Meta(ge=0, le=1_000_000)] = msgspec.field(default=0, name="toolCount")
    endpoint: _Endpoint = msgspec.field(default_factory=_Endpoint)
    tls: Annotated[str, Meta(max_length=128)] = ""


class _Signature(msgspec.Struct):
    protected: Annotated[str, Meta(max_length=1024)]
    signature: Annotated[str, Meta(max_length=256)]


def own_card(
    identity: Identity,
    *,
    name: str,
    version: str,
    definitions: Sequence[Mapping[str, Any]],
    port: int,
    tls: str,
    now: float,
) -> AgentCard:
    """Our card with as many of the exposed tools as it may hold; `port` is 0 where nobody listens."""
    card = AgentCard(
        name=name,
        version=version,
        peer_id=identity.peer_id,
        capabilities=CAPABILITIES,
        definitions=_bounded(definitions),
        tool_count=len(definitions),
        timestamp=int(now),
        port=port,
        tls=tls,
    )
    return replace(card, etag=_etag(card_members(card)))


def signed_card(card: AgentCard, identity: Identity) -> bytes:
    """The card as it is sent."""
    body = card_members(card)
    return canonical({**body, "signatures": [signature_of(body, identity, _KIND)]})


def read_card(
    body: bytes,
    *,
    now: float,
    certificate_hash: str | None,
    newer_than: int = 0,
    max_bytes: int = MOST_BYTES,
    own_id: str = "",
) -> AgentCard:
    """The card of a peer; raises PeerRefused with a reason for anything that can't be believed.

    `certificate_hash` is that of the connection it came on, None where the transport proved the peer's id.
    `newer_than` is the time of the last card that was accepted.
    """
    if len(body) > max_bytes:
        raise PeerRefused(f"its card is larger than {max_bytes} bytes", reason="oversize")
    document = _document(body)
    signatures = document.pop("signatures", None)
    card = _card(document)
    _check_signed(document, signatures, card.peer_id)
    if card.peer_id == own_id:
        raise PeerRefused("it is our own card", reason="ourselves")
    check_clock(card.timestamp, card.timestamp, now)
    if card.timestamp < newer_than:
        raise PeerRefused("its card is older than the one it sent before", reason="replayed")
    if certificate_hash is not None and card.tls != certificate_hash:
        raise PeerRefused("its certificate is not the one its card names", reason="certificate")
    return card


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = strict_object(body)
        canonical(document)  # what can't be written the one way can't have been signed
    except (ValueError, RecursionError):
        _unreadable("its card is not proper JSON")
    if deeper_than(document, _MOST_LEVELS):
        _unreadable(f"its card is nested more than {_MOST_LEVELS} levels deep")
    return document


def _check_signed(document: Mapping[str, Any], signatures: object, peer_id: str) -> None:
    try:
        (given,) = msgspec.convert(signatures, list[_Signature])
    except (msgspec.ValidationError, ValueError):
        raise PeerRefused("its card is not signed, or not once", reason="unsigned") from None
    if check_signature(document, given.protected, given.signature, _KIND) != peer_id:
        raise PeerRefused("its card was signed by somebody else", reason="signature")


def _card(document: Mapping[str, Any]) -> AgentCard:
    spelled = {"peerId": document.get("peer_id"), **document}
    try:
        read = msgspec.convert(spelled, _Card)
    except msgspec.ValidationError as error:
        _unreadable(f"its card does not fit: {error}")
    if not _PATH.fullmatch(read.endpoint.path):
        _unreadable("its card names an odd path")
    return AgentCard(
        name=read.name,
        version=read.version,
        peer_id=read.peer_id,
        capabilities=tuple(read.capabilities),
        definitions=tuple(_definition(tool) for tool in read.tools),
        tool_count=max(read.tool_count, len(read.tools)),
        timestamp=read.timestamp,
        port=read.endpoint.port,
        path=read.endpoint.path,
        tls=read.tls,
        etag=_etag(document),
    )


def _definition(tool: _CardTool) -> dict[str, Any]:
    schema = _schema(tool.parameters) if isinstance(tool.parameters, list) else tool.parameters
    rest = {
        "title": tool.title,
        "description": tool.description,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    }
    return {
        "name": tool.name,
        "inputSchema": schema,
        **{key: value for key, value in rest.items() if value is not UNSET},
    }


def _schema(parameters: Sequence[_Parameter]) -> dict[str, Any]:
    """An object schema for parameters in the older spelling."""
    properties = {}
    for one in parameters:
        told = {"type": one.type, "description": one.description}
        properties[one.name] = {key: value for key, value in told.items() if value}
    return {"type": "object", "properties": properties, "required": [one.name for one in parameters if one.required]}


def _etag(body: Mapping[str, Any]) -> str:
    counted = {key: value for key, value in body.items() if key not in ("timestamp", "etag")}
    return hashlib.sha256(canonical(counted)).hexdigest()[:16]


def _bounded(definitions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    kept: list[Mapping[str, Any]] = []
    room = MOST_BYTES - _FRAME_BYTES
    for definition in sorted(definitions, key=lambda one: str(one["name"])):
        size = _size(definition)
        if size is None or size > room:
            continue
        kept.append(definition)
        room -= size
    return tuple(kept[:MOST_TOOLS])


def _size(definition: Mapping[str, Any]) -> int | None:
    """How much room it takes, or None where others could not read it."""
    # In a card it lies two levels deeper.
    if deeper_than(definition, _MOST_LEVELS - 2):
        return None
    try:
        return len(canonical(definition)) + 1
    except ValueError:
        return None


def _unreadable(why: str) -> NoReturn:
    raise PeerRefused(why, reason="unreadable")
