"""Manifests to RTFS texts and back: one file form for people, one stored form for the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import msgspec

from toolcrib.ccos.manifest import (
    DISCOVERY_SOURCE,
    FIRST_VERSION,
    SERVER_ENDPOINT,
    SERVER_NAME,
    UNIFIED_SERVICE,
    UNKNOWN_EFFECTS,
    ApprovalStatus,
    EffectType,
    Manifest,
    Provenance,
    Provider,
    server_in_id,
)
from toolcrib.rtfs.capability import Capability
from toolcrib.rtfs.capability import Provider as WrittenProvider
from toolcrib.rtfs.forms import Form, Literal, MapForm, keyword, literal
from toolcrib.rtfs.read_capability import read_capabilities
from toolcrib.rtfs.write_capability import capability_text

_EFFECT_TYPE = "effect-type"
_METADATA = "metadata"
_EFFECT_TYPES: tuple[EffectType, ...] = get_args(EffectType)


def manifest_text(manifest: Manifest) -> str:
    """One `(capability …)` form in the published layout."""
    return capability_text(_written(manifest)) + "\n"


def manifests_in(text: str) -> list[Manifest]:
    """Every capability of a text, pending whatever the text says; raises RtfsError with line and column."""
    return [_read(capability) for capability in read_capabilities(text)]


class _Stored(msgspec.Struct, omit_defaults=True):
    rtfs: str
    approval_status: ApprovalStatus
    agent_metadata: dict[str, str] = {}
    provenance: Provenance = msgspec.field(default_factory=Provenance)
    attestation: str = ""


_decode = msgspec.json.Decoder(_Stored).decode


def to_body(manifest: Manifest) -> str:
    """The manifest as the catalog keeps it."""
    stored = _Stored(
        manifest_text(manifest),
        manifest.approval_status,
        dict(manifest.agent_metadata),
        manifest.provenance,
        manifest.attestation,
    )
    return msgspec.json.encode(stored).decode()


def from_body(body: str) -> Manifest:
    """The manifest that was kept; raises msgspec.DecodeError or RtfsError where there is none in it."""
    stored = _decode(body)
    return replace(
        manifests_in(stored.rtfs)[0],
        approval_status=stored.approval_status,
        agent_metadata=stored.agent_metadata,
        provenance=stored.provenance,
        attestation=stored.attestation,
    )


def _written(manifest: Manifest) -> Capability:
    provider = manifest.provider
    return Capability(
        id=manifest.id,
        version=manifest.version,
        name=manifest.name if manifest.name != provider.tool_name else "",
        description=manifest.description,
        input_schema=manifest.input_schema,
        output_schema=manifest.output_schema,
        provider=WrittenProvider(provider.type, provider.server_url, provider.tool_name),
        domains=manifest.domains,
        categories=manifest.categories,
        permissions=manifest.permissions,
        effects=manifest.effects if manifest.effects != UNKNOWN_EFFECTS else (),
        others=tuple(_others(manifest)),
    )


def _others(manifest: Manifest) -> Iterator[tuple[str, Form]]:
    """What the published form has no key for, where it is not as always."""
    if manifest.effect_type != "effectful":
        yield _EFFECT_TYPE, keyword(manifest.effect_type)
    usual = _usual_metadata(manifest.id, manifest.provider)
    told = {key: value for key, value in sorted(manifest.metadata.items()) if usual.get(key) != value}
    if told:
        yield _METADATA, MapForm(tuple(literal(text) for pair in told.items() for text in pair))


def _read(capability: Capability) -> Manifest:
    written = capability.provider or WrittenProvider()
    provider = Provider(written.server_url, written.tool_name or capability.name, written.type)
    others = dict(capability.others)
    return Manifest(
        id=capability.id,
        name=capability.name or provider.tool_name or capability.id,
        provider=provider,
        description=capability.description,
        version=capability.version or FIRST_VERSION,
        input_schema=capability.input_schema,
        output_schema=capability.output_schema,
        domains=capability.domains,
        categories=capability.categories,
        permissions=capability.permissions,
        effects=tuple(f":{effect.lstrip(':')}" for effect in capability.effects) or UNKNOWN_EFFECTS,
        effect_type=_effect_type(others.get(_EFFECT_TYPE)),
        metadata=_usual_metadata(capability.id, provider) | _texts(others.get(_METADATA)),
        provenance=Provenance(source="rtfs"),
    )


def _usual_metadata(id: str, provider: Provider) -> dict[str, str]:
    """What a manifest made from a tool says of its server, as far as its id and provider tell."""
    told = {SERVER_NAME: server_in_id(id, provider.tool_name), SERVER_ENDPOINT: provider.server_url}
    return {**{key: value for key, value in told.items() if value}, DISCOVERY_SOURCE: UNIFIED_SERVICE}


def _effect_type(form: Form | None) -> EffectType:
    told = form.text if isinstance(form, Literal) else ""
    return next((known for known in _EFFECT_TYPES if known == told), "effectful")


def _texts(form: Form | None) -> dict[str, str]:
    """The texts of a map; what is no text is left out."""
    if not isinstance(form, MapForm):
        return {}
    pairs = zip(form.items[::2], form.items[1::2], strict=False)
    return {key.text: value.text for key, value in pairs if isinstance(key, Literal) and isinstance(value, Literal)}
