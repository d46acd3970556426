"""Servers written as one text: an address, a container, or a command line; also from `<NAME>_MCP_ENDPOINT`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from toolcrib.config.diagnostics import Findings
from toolcrib.config.read_settings import ENVIRONMENT
from toolcrib.model.server import (
    BUILT_IN_SERVER,
    Launch,
    Origin,
    RemoteLaunch,
    ServerSpec,
    StdioLaunch,
    likely_transport,
)

_ENDPOINT_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]*)_MCP_ENDPOINT")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def launch_from_endpoint(text: str) -> Launch:
    """How to reach what the text names; ValueError says what was expected."""
    scheme, separator, rest = text.strip().partition("://")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return _launch_from_command_line(text)
    match scheme.lower():
        case "http" | "https" if rest:
            url = text.strip()
            return RemoteLaunch(url, transport=likely_transport(url), is_transport_guessed=True)
        case "docker" if _CONTAINER.fullmatch(rest):
            return StdioLaunch("docker", ("exec", "-i", rest, rest))
        case _:
            raise ValueError(
                "expected http://..., https://..., docker://<container> or a command line, found something else"
            )


def variable_stem(name: str) -> str:
    """How a server's name is spelled in the names of environment variables."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def apply_endpoints(specs: list[ServerSpec], env: Mapping[str, str], findings: Findings) -> list[ServerSpec]:
    """The specs with the addresses the environment gives: those win over a file; an unknown name is a new server."""
    found = _endpoints(env, findings)
    matched = {variable_stem(spec.name) for spec in specs}
    moved = [_moved(spec, found.get(variable_stem(spec.name))) for spec in specs]
    added = [
        ServerSpec(stem.lower().replace("_", "-"), launch, origin=Origin(ENVIRONMENT))
        for stem, launch in found.items()
        if stem not in matched
    ]
    return [*moved, *added]


def _endpoints(env: Mapping[str, str], findings: Findings) -> dict[str, Launch]:
    found: dict[str, Launch] = {}
    for variable in sorted(env):
        match = _ENDPOINT_VARIABLE.fullmatch(variable)
        if not match or not env[variable].strip():
            continue
        if match[1].lower() == BUILT_IN_SERVER or len(match[1]) > 64:
            findings.skip(variable, "names a server that cannot have this name", ENVIRONMENT)
            continue
        try:
            found[match[1]] = launch_from_endpoint(env[variable])
        except ValueError as error:
            findings.skip(variable, str(error), ENVIRONMENT)
    return found


def _moved(spec: ServerSpec, launch: Launch | None) -> ServerSpec:
    if launch is None:
        return spec
    if isinstance(launch, RemoteLaunch) and isinstance(spec.launch, RemoteLaunch):
        launch = replace(spec.launch, url=launch.url)
    return replace(spec, launch=launch)


def _launch_from_command_line(text: str) -> StdioLaunch:
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError("expected a command line, found an open quote in it") from None
    if not words:
        raise ValueError("expected an address or a command line, found an empty text")
    return StdioLaunch(words[0], tuple(words[1:]))
