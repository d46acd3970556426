"""Server entries, as a list or as a map, become specs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.entries import KNOWN_KEYS, EntryReader
from toolcrib.config.gateway_entry import OwnAddress, is_gateway
from toolcrib.config.values import join, kind_of, unknown_keys
from toolcrib.model.server import BUILT_IN_SERVER, Origin, ServerSpec


def read_servers(section: Any, where: str, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """Every usable entry; one that is not costs itself alone, a section that is neither list nor map the whole file."""
    if section is None:
        return []
    if not isinstance(section, list | Mapping):
        findings.refuse(where, f"expected a list or a map of servers, found {kind_of(section)}", origin.file)
        return []
    specs = (read_entry(name, entry, place, origin, findings) for name, entry, place in named_entries(section, where))
    return [spec for spec in specs if spec is not None]


def unique_servers(specs: Iterable[ServerSpec], findings: Findings) -> list[ServerSpec]:
    """The servers of one file: the same one twice is one, another one of the same name is a problem."""
    kept: dict[str, ServerSpec] = {}
    for spec in specs:
        first = kept.setdefault(spec.name, spec)
        if first.launch != spec.launch:
            findings.skip(spec.name, "expected a name of its own, found a second server of this name", spec.origin.file)
        elif first != spec:
            # The second may be the one that was meant to keep tools away.
            findings.warn(
                f"server '{spec.name}' of {spec.origin.file} is there twice and not the same: the first one counts"
            )
    return list(kept.values())


def without_gateway(specs: Iterable[ServerSpec], own: OwnAddress, findings: Findings) -> list[ServerSpec]:
    """The specs less the gateway itself, under whatever name, and less others that took its name."""
    kept = []
    for spec in specs:
        if is_gateway(spec.launch, own):
            # In a client's file it is at home; in our own it is a mistake.
            if spec.origin.source == Origin().source:
                findings.warn(f"server '{spec.name}' of {spec.origin.file} is this gateway itself and is left out")
        elif spec.name.lower() == BUILT_IN_SERVER:
            findings.skip(
                spec.name, f"expected another name, '{BUILT_IN_SERVER}' is the gateway's own", spec.origin.file
            )
        else:
            kept.append(spec)
    return kept


def capped(specs: list[ServerSpec], most: int, findings: Findings) -> list[ServerSpec]:
    """At most so many servers; what is left out is reported."""
    if len(specs) > most:
        findings.skip("servers", f"expected at most {most} servers, found {len(specs)}; the rest is left out", "")
    return specs[:most]


def named_entries(section: list[Any] | Mapping[str, Any], where: str) -> Iterator[tuple[Any, Any, str]]:
    """Each entry with its name and its place in the file."""
    if isinstance(section, Mapping):
        for name, entry in section.items():
            yield name, entry, join(where, name)
        return
    for index, entry in enumerate(section):
        yield entry.get("name") if isinstance(entry, Mapping) else None, entry, join(where, index)


def read_entry(name: Any, entry: Any, where: str, origin: Origin, findings: Findings) -> ServerSpec | None:
    """One entry as a spec, or None and why not."""
    if isinstance(entry, str):
        entry = {"connection": entry}
    if not isinstance(entry, Mapping):
        findings.skip(where, f"expected a server entry, found {kind_of(entry)}", origin.file)
        return None
    if not isinstance(name, str) or not name.strip():
        findings.skip(join(where, "name"), f"expected the server's name, found {kind_of(name)}", origin.file)
        return None
    reader = EntryReader(entry, where, origin)
    spec = reader.spec(name.strip())
    findings.problems.extend(reader.problems)
    findings.warn(*(f"{origin.file}: {where}: {note}" for note in reader.notes))
    if origin.source == Origin().source:
        # Clients keep settings of their own in their entries; only in our file is an unknown key a mistake.
        findings.warn_of_keys(unknown_keys(reader.data, KNOWN_KEYS), where, origin.file)
    return spec
