"""A tool as a capability: what it is, what it takes and gives, who provides it and whether it may be used."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from toolcrib.masking.entries import masked_address
from toolcrib.model.server import Launch, RemoteLaunch
from toolcrib.rtfs.types import TypeExpr

ApprovalStatus = Literal["pending", "approved", "auto_approved", "revoked"]
EffectType = Literal["pure", "effectful", "pure_provisional"]

FIRST_VERSION = "1.0.0"
UNKNOWN_EFFECTS = (":network",)
SERVER_NAME = "mcp_server_name"
SERVER_ENDPOINT = "mcp_server_endpoint"
DISCOVERY_SOURCE = "discovery_source"
UNIFIED_SERVICE = "mcp_unified_service"

_ID_START = "mcp."
_SEPARATORS = re.compile(r"[/\\:@#|,;]+")
_SPACES = re.compile(r"\s+")
_OTHERS = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Provider:
    """Who does the work: the server's address without anything secret, and the tool under the server's own name."""

    server_url: str
    tool_name: str
    type: str = "mcp"
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a manifest is from, and the hash of the definition it was made of."""

    source: str = ""
    version: str = ""
    content_hash: str = ""
    custody_chain: tuple[str, ...] = ()
    registered_at: float | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """One capability. Two are equal when they describe the same; state and provenance do not count."""

    id: str
    name: str
    provider: Provider
    description: str = ""
    version: str = FIRST_VERSION
    input_schema: TypeExpr | None = None
    output_schema: TypeExpr | None = None
    domains: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    effects: tuple[str, ...] = UNKNOWN_EFFECTS
    effect_type: EffectType = "effectful"
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    agent_metadata: Mapping[str, str] = field(default_factory=dict, compare=False)
    approval_status: ApprovalStatus = field(default="pending", compare=False)
    provenance: Provenance = field(default_factory=Provenance, compare=False)
    attestation: str = field(default="", compare=False)

    @property
    def server(self) -> str:
        """The name of the server that provides it."""
        return self.metadata.get(SERVER_NAME, "")

    @property
    def may_be_used(self) -> bool:
        return self.approval_status in {"approved", "auto_approved"}


def capability_id(server: str, tool: str) -> str:
    """`mcp.<server>.<tool>`, in characters that fit a keyword; names that lose some keep a trace of what they were."""
    return f"{_ID_START}{_id_part(_SEPARATORS.sub('.', server))}.{_id_part(tool)}"


def server_in_id(id: str, tool: str) -> str:
    """The server that an id names, where it is the id of this tool; empty where that can't be told."""
    server = id.removeprefix(_ID_START).removesuffix(f".{_id_part(tool)}")
    return server if server and capability_id(server, tool) == id else ""


def public_address(launch: Launch, server: str) -> str:
    """How a server is reached, without what may be secret: no user, no query; of a program only its name here."""
    return public_url(launch.url) if isinstance(launch, RemoteLaunch) else f"stdio:{server}"


def public_url(url: str) -> str:
    """The address without user, query and fragment, and without keys in its path."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return ""
    return masked_address(urlunsplit((parts.scheme, host, parts.path, "", "")))


def _id_part(name: str) -> str:
    plain = _SPACES.sub("_", name.strip())
    safe = _OTHERS.sub("_", plain)
    if safe == plain and safe:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}-{digest}"
