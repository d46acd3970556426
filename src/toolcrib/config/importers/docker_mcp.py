"""Docker MCP: the `mcpServers` file of the first version, and the Toolkit's own files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolcrib.clients.dialects import SHOUTED_BRACES, Ours, reference
from toolcrib.clients.machine import Places, found_in
from toolcrib.clients.sections import Entry, Manner, list_of, map_of, mcp_servers, texts_of
from toolcrib.config.diagnostics import Findings
from toolcrib.config.endpoints import variable_stem
from toolcrib.config.importers.client_entries import EntryImport, importer
from toolcrib.config.importers.docker_templates import Templates
from toolcrib.model.server import Origin, ServerSpec

REGISTRY, CONFIG, TOOLS, CATALOGS = "registry.yaml", "config.yaml", "tools.yaml", "catalogs"
_MANNER = Manner(dialect=SHOUTED_BRACES, keys={"allowTools": "allowTools", "tools": "tools"})
_read_plain_file = importer(mcp_servers(Manner(dialect=SHOUTED_BRACES)))


def beside_registry(file: Path) -> Places:
    """The files that say what an entry of the Toolkit's registry means."""
    if file.name != REGISTRY:
        return ()
    folder = file.parent
    return (folder / CONFIG, folder / TOOLS, *found_in(folder, f"{CATALOGS}/*.yaml"))


def read_docker_mcp(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of the plain file, or those enabled in the Toolkit, described by its catalogs."""
    if REGISTRY not in map_of(document):
        return _read_plain_file(document, origin, findings)
    known: dict[str, Any] = {}
    for name, catalog in document.items():
        if name.startswith(CATALOGS):
            known = {**map_of(map_of(catalog).get("registry")), **known}
    section = {}
    for name, enabled in map_of(map_of(document[REGISTRY]).get("registry")).items():
        entry = map_of(known.get(name))
        if reason := _why_not(entry):
            findings.skip(f"registry.{name}", reason, origin.file)
            continue
        settings = {**map_of(map_of(document.get(CONFIG)).get(name)), **map_of(map_of(enabled).get("config"))}
        chosen = map_of(document.get(TOOLS)).get(name)
        section[name] = {**_entry(entry, Templates({name: settings})), "allowTools": chosen}
    return EntryImport(_MANNER, "registry", origin, findings).specs(section)


def _why_not(entry: Entry) -> str:
    if not entry:
        return "expected a server that a catalog of Docker's describes, found none of this name"
    if entry.get("type") == "poci":
        return "runs one container per tool, which only Docker's own gateway does"
    return "" if _address(entry) or entry.get("image") else "expected an image or an address in Docker's catalog"


def _entry(entry: Entry, templates: Templates) -> dict[str, Any]:
    described = {
        "description": entry.get("description") if isinstance(entry.get("description"), str) else None,
        "tools": [{"name": tool["name"]} for tool in list_of(entry.get("tools")) if map_of(tool).get("name")] or None,
    }
    address = _address(entry)
    return {**described, **(_remote(entry, address) if address else _container(entry, templates))}


def _address(entry: Entry) -> Any:
    return map_of(entry.get("remote")).get("url") or entry.get("sseEndpoint")


def _remote(entry: Entry, url: Any) -> dict[str, Any]:
    remote = map_of(entry.get("remote"))
    return {"url": url, "type": remote.get("transport_type") or ("http" if remote else "sse"), **_headers(remote)}


def _headers(remote: Entry) -> dict[str, Any]:
    return {"headers": remote["headers"]} if isinstance(remote.get("headers"), Mapping) else {}


def _container(entry: Entry, templates: Templates) -> dict[str, Any]:
    """One `docker run`; values go through the environment, so that no list of processes shows them."""
    env = dict(_variables(entry, templates))
    options = [word for name in env for word in ("-e", name)]
    for volume in templates.filled_list(entry.get("volumes")):
        options += ["-v", volume]
    if entry.get("user"):
        options += ["-u", templates.filled(entry["user"])]
    if entry.get("disableNetwork") is True:
        options += ["--network", "none"]
    for host in texts_of(entry.get("extraHosts")):
        options += ["--add-host", host]
    command = templates.filled_list(entry.get("command"))
    args = ["run", "-i", "--rm", "--init", *options, entry["image"], *command]
    return {"command": "docker", "args": args, "env": env}


def _variables(entry: Entry, templates: Templates) -> Iterator[tuple[str, Ours]]:
    for variable in map(map_of, list_of(entry.get("env"))):
        if isinstance(name := variable.get("name"), str) and (value := templates.filled(variable.get("value", ""))):
            yield name, value
    for secret in map(map_of, list_of(entry.get("secrets"))):
        if isinstance(name := secret.get("env"), str):
            yield name, reference(name)
        elif isinstance(kept := secret.get("name"), str):
            # Docker hands it over by other means; we cannot, and say so when the server is started.
            yield variable_stem(kept), Ours(f"${{secret:{kept}}}")
