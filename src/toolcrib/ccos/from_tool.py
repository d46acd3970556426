"""A server's tool to its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from toolcrib.ccos.manifest import (
    DISCOVERY_SOURCE,
    SERVER_ENDPOINT,
    SERVER_NAME,
    UNIFIED_SERVICE,
    UNKNOWN_EFFECTS,
    ApprovalStatus,
    EffectType,
    Manifest,
    Provenance,
    Provider,
    capability_id,
    public_address,
)
from toolcrib.model.server import FROM_PROPOSAL, FROM_REGISTRY, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_naming import public_tool
from toolcrib.rtfs.published_form import published_form
from toolcrib.rtfs.spelling import writable
from toolcrib.rtfs.types import TypeExpr
from toolcrib.schema.convert import convert
from toolcrib.topics.categories import infer_categories
from toolcrib.topics.domains import infer_domains

# Servers of these origins were found, not chosen by a person.
UNTRUSTED_SOURCES = frozenset({FROM_PROPOSAL, FROM_REGISTRY, "peer"})
MOST_EFFECTS = 32

_EFFECT_KEYS = ("effects", "effect", "ccos_effects")
_EFFECT_NAMES = ("id", "label", "name")


class DiscoveredTool(Protocol):
    """What a discovery tells of a tool; the schemas are types where they were converted already."""

    @property
    def tool_name(self) -> str: ...

    @property
    def definition(self) -> Mapping[str, Any]: ...

    @property
    def output_schema_json(self) -> Mapping[str, Any] | None: ...


def tool_to_manifest(discovered: DiscoveredTool, config: ServerSpec, own_name: str = "") -> Manifest:
    """The manifest of a discovered tool; what nobody has approved is pending. `own_name` is what its server calls itself."""
    own = Tool(config.name, discovered.tool_name, discovered.definition)
    return manifest_of(
        public_tool(own, config, own_name),
        config,
        status=status_of(config),
        upstream_name=own.name,
        output_schema=discovered.output_schema_json,
    )


def status_of(config: ServerSpec) -> ApprovalStatus:
    """Whether what a server has may be used without asking: a person has chosen the server, or nobody has."""
    return "pending" if config.origin.source in UNTRUSTED_SOURCES else "auto_approved"


def manifest_of(
    tool: Tool,
    spec: ServerSpec,
    *,
    status: ApprovalStatus,
    upstream_name: str = "",
    output_schema: Mapping[str, Any] | None = None,
) -> Manifest:
    """The manifest of a tool under its public name; `upstream_name` is the server's own where it differs."""
    own_name = upstream_name or tool.name
    address = public_address(spec.launch, spec.name)
    return Manifest(
        id=capability_id(spec.name, tool.name),
        name=writable(tool.name),
        provider=Provider(address, writable(own_name)),
        description=writable(tool.description),
        input_schema=_published(tool.input_schema),
        output_schema=_published(output_schema or tool.output_schema),
        # The title is the server's full name, where it had to be shortened for the wire.
        domains=tuple(infer_domains(spec.title or spec.name, own_name)),
        categories=tuple(infer_categories(own_name)),
        effects=effects_of(tool),
        effect_type=_effect_type(tool),
        metadata={SERVER_NAME: spec.name, SERVER_ENDPOINT: address, DISCOVERY_SOURCE: UNIFIED_SERVICE},
        approval_status=status,
        provenance=Provenance(source=spec.origin.source, content_hash=tool.fingerprint),
    )


def effects_of(tool: Tool) -> tuple[str, ...]:
    """The effects a definition names, with a leading colon, sorted; `:network` where it names none."""
    places = (tool.annotations, tool.definition.get("_meta"), tool.definition.get("metadata"))
    named = (
        name
        for place in places
        if isinstance(place, Mapping)
        for key in _EFFECT_KEYS
        for name in _effect_names(place.get(key))
    )
    found = sorted({f":{writable(name).strip().lstrip(':')}" for name in named} - {":"})
    return tuple(found[:MOST_EFFECTS]) or UNKNOWN_EFFECTS


def _effect_names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not value.lstrip().startswith(("[", "{")):
            yield value
            return
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    if isinstance(value, Mapping):
        yield from (name for key in _EFFECT_NAMES if isinstance(name := value.get(key), str))
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str | Mapping) and not (isinstance(item, str) and item.lstrip().startswith("[")):
                yield from _effect_names(item)


def _effect_type(tool: Tool) -> EffectType:
    # Only the server's word: good enough to sort by, not to rely on.
    return "pure_provisional" if tool.annotations.get("readOnlyHint") is True else "effectful"


def _published(schema: Mapping[str, Any]) -> TypeExpr | None:
    return published_form(convert(schema).type) if schema else None
