"""Servers that a registry names and nobody has approved: reached from outside only, and told nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from toolcrib.model.addresses import is_public_host
from toolcrib.model.server import FROM_PROPOSAL, FROM_REGISTRY, GIVEN_AUTH, Origin, RemoteLaunch, ServerSpec


def as_unapproved(spec: ServerSpec) -> ServerSpec:
    """The server marked as coming from a registry: no variable, file or token of ours goes into its launch."""
    return replace(spec, origin=Origin(FROM_REGISTRY, spec.origin.file))


def is_reachable(spec: ServerSpec, *, private: bool) -> bool:
    """Whether it may be contacted unapproved: an address, and one that is not inside our own network.

    A registry must not be able to make us knock at doors behind our firewall; nor to start a program.
    """
    if not isinstance(spec.launch, RemoteLaunch):
        return False
    try:
        host = urlsplit(spec.launch.url).hostname or ""
    except ValueError:
        return False
    return bool(host) and (private or is_public_host(host))


def with_auth(spec: ServerSpec, headers: Mapping[str, str] | None) -> ServerSpec:
    """The server with these headers in place of whatever would sign us in; a process has none, and an unapproved one gets none."""
    is_unapproved = spec.origin.source in {FROM_REGISTRY, FROM_PROPOSAL}
    if headers is None or is_unapproved or not isinstance(spec.launch, RemoteLaunch):
        return spec
    others = {name: value for name, value in spec.launch.headers.items() if name.lower() not in _lowered(headers)}
    # These are values, not references: nothing in them is to be resolved.
    given = {name: value.replace("${", "${$}{") for name, value in headers.items()}
    launch = replace(spec.launch, headers={**others, **given})
    return replace(spec, launch=launch, origin=Origin(GIVEN_AUTH, spec.origin.file))


def _lowered(headers: Mapping[str, str]) -> set[str]:
    return {"authorization", *(name.lower() for name in headers)}
