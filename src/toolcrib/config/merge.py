"""The same server in several places is one; different servers of one name are all kept."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolcrib.clients.dialects import hidden
from toolcrib.config.bridges import program_name
from toolcrib.config.diagnostics import Findings
from toolcrib.config.names import shorten, slug
from toolcrib.config.sharing import minds_folder
from toolcrib.model.server import Launch, RemoteLaunch, ServerSpec, StdioLaunch, likely_transport

# Wherever these lie, they do the same; a path to any other program is part of what is started.
_RUNNERS = frozenset("npx npm pnpm pnpx yarn bun bunx node deno uv uvx pipx docker podman".split())
_YES = ("-y", "--yes")
_TOOLKIT_SOURCE = "docker-mcp"
_TOOLKIT_GATEWAY = ("mcp", "gateway", "run")


def merge_servers(configured: list[ServerSpec], imported: Iterable[ServerSpec], findings: Findings) -> list[ServerSpec]:
    """Configured servers win by name and by what they start; the rest is merged, later ones renamed where needed."""
    merged = _Merged(configured, findings)
    for spec in _without_toolkit_twins(list(imported), findings):
        merged.add(spec)
    return list(merged.by_name.values())


def with_project(servers: list[ServerSpec], project: Iterable[ServerSpec], folder: Path) -> list[ServerSpec]:
    """The servers and those of a project: one that is there already is not added, a name that is taken gets the folder's."""
    by_name = {spec.name: spec for spec in servers}
    known = {identity(spec.launch) for spec in servers}
    for spec in project:
        if identity(spec.launch) not in known:
            name = next(name for name in _names_to_try(spec, folder.name) if name not in by_name)
            by_name[name] = replace(_in_its_folder(spec, folder), name=name, title=_title(spec, name))
            known.add(identity(spec.launch))
    return list(by_name.values())


def _in_its_folder(spec: ServerSpec, folder: Path) -> ServerSpec:
    """The entry with its project's folder, if that matters: `run server.py` of two projects are two servers."""
    if not isinstance(spec.launch, StdioLaunch) or not minds_folder(spec):
        return spec
    return replace(spec, launch=replace(spec.launch, cwd=hidden(str(folder))))


def identity(launch: Launch) -> tuple[Any, ...]:
    """What makes two launches the same: not where a runner lies, nor `-y`, nor a slash at the end of an address."""
    if isinstance(launch, RemoteLaunch):
        return launch.url.rstrip("/"), _sorted_items(launch.headers)
    name = program_name(launch.command)
    is_runner = name in _RUNNERS
    args = tuple(arg for arg in launch.args if arg not in _YES) if name in ("npx", "bunx", "pnpx") else launch.args
    place = (launch.env_file, tuple(sorted(launch.pass_env)), launch.cwd)
    return name if is_runner else launch.command, args, _sorted_items(launch.env), *place


class _Merged:
    def __init__(self, configured: list[ServerSpec], findings: Findings) -> None:
        self.by_name = {spec.name: spec for spec in configured}
        self._own_names = frozenset(self.by_name)
        self._names = {identity(spec.launch): spec.name for spec in configured}
        self._findings = findings

    def add(self, spec: ServerSpec) -> None:
        same = self._names.get(identity(spec.launch))
        if same is not None:
            self._join(same, spec)
        elif spec.name in self._own_names:
            self._findings.warn(
                f"server '{spec.name}' of {spec.origin.source} is not used: the configuration has its own"
            )
        else:
            name = next(name for name in _names_to_try(spec, spec.origin.source) if name not in self.by_name)
            self._names[identity(spec.launch)] = name
            self.by_name[name] = replace(spec, name=name, title=_title(spec, name))

    def _join(self, name: str, spec: ServerSpec) -> None:
        """Take another client's copy into account; what a person configured here stays as it is."""
        kept = self.by_name[name]
        if name not in self._own_names:
            self.by_name[name] = replace(
                kept,
                launch=_agreed(kept.launch, spec.launch),
                # Off in one client and on in another: it is in use. A tool denied in one place stays denied.
                enabled=kept.enabled or spec.enabled,
                deny_tools=tuple(dict.fromkeys((*kept.deny_tools, *spec.deny_tools))),
                allow_tools=kept.allow_tools if kept.allow_tools is not None else spec.allow_tools,
            )


def _agreed(first: Launch, second: Launch) -> Launch:
    """Of two transports for one address, the one the address speaks for."""
    if first.transport == second.transport or not isinstance(first, RemoteLaunch):
        return first
    return replace(first, transport=likely_transport(first.url), is_transport_guessed=True)


def _without_toolkit_twins(specs: list[ServerSpec], findings: Findings) -> list[ServerSpec]:
    """Docker's gateway brings all servers of its Toolkit; with it there, they are not started beside it too."""
    gateway = next((spec for spec in specs if spec.enabled and _is_toolkit_gateway(spec.launch)), None)
    if gateway is None:
        return specs
    twins = [spec.name for spec in specs if _is_of_toolkit(spec)]
    if twins:
        shown = ", ".join(twins)
        findings.warn(f"servers of Docker's Toolkit come through '{gateway.name}' and are not imported again: {shown}")
    return [spec for spec in specs if not _is_of_toolkit(spec)]


def _is_toolkit_gateway(launch: Launch) -> bool:
    return (
        isinstance(launch, StdioLaunch)
        and program_name(launch.command) == "docker"
        and launch.args[:3] == _TOOLKIT_GATEWAY
        # With a choice of servers it may bring others than those of the registry.
        and not any(arg.startswith(("--servers", "--profile", "--registry", "--catalog")) for arg in launch.args)
    )


def _is_of_toolkit(spec: ServerSpec) -> bool:
    return spec.origin.source == _TOOLKIT_SOURCE and spec.origin.file.endswith("registry.yaml")


def _sorted_items(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _names_to_try(spec: ServerSpec, place: str) -> Iterator[str]:
    yield spec.name
    renamed = f"{spec.name}-{slug(place)}"
    yield shorten(renamed, renamed)
    for number in itertools.count(2):
        yield shorten(f"{renamed}-{number}", f"{renamed}-{number}")


def _title(spec: ServerSpec, name: str) -> str:
    return spec.title or (spec.name if name != spec.name else "")
