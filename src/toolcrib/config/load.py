"""Files and environment become one `Settings`: the library's door to configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolcrib.clients.machine import Machine
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document
from toolcrib.config.endpoints import apply_endpoints
from toolcrib.config.file_requests import FileRecord
from toolcrib.config.find import FoundFile, Search, find_config, find_own
from toolcrib.config.gateway_entry import OwnAddress
from toolcrib.config.importers.praxis import is_praxis, read_praxis
from toolcrib.config.importers.praxis_peers import praxis_peers
from toolcrib.config.introspection import read_introspection
from toolcrib.config.merge import merge_servers, with_project
from toolcrib.config.paths import Paths, home_folder, working_folder
from toolcrib.config.peer_settings import check_peer_settings
from toolcrib.config.profiles import Profile, no_such_profile, read_profiles
from toolcrib.config.project_files import ProjectImport, import_project
from toolcrib.config.read_settings import check_groups, read_scalars, warn_of_unknown_settings
from toolcrib.config.sections import OTHER_KEYS, PRAXIS_SERVERS, server_sections, settings_section
from toolcrib.config.servers import capped, read_servers, unique_servers, without_gateway
from toolcrib.config.settings import Settings, Source
from toolcrib.config.sources import Imported, auto_sources, import_sources, read_source_list
from toolcrib.config.tool_rules import read_tool_rules
from toolcrib.config.trust import TrustedFiles
from toolcrib.config.values import kind_of
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.masking.texts import mask_text
from toolcrib.model.server import Origin, ServerSpec


def load_settings(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    home: Path | None = None,
) -> Settings:
    """Read the configuration; ConfigurationError lists everything that makes it unusable.

    Entries that are merely skipped are in `Settings.problems`, notices in `Settings.warnings`. Without `env` the
    variables of this process count.
    """
    env = os.environ if env is None else env
    named = Path(path) if path is not None else None
    return _Loading(env, cwd or working_folder(), home or home_folder(env)).settings(named)


class _Loading:
    """One reading: what it is given, and what it finds wrong on the way."""

    def __init__(self, env: Mapping[str, str], cwd: Path, home: Path) -> None:
        self._env = env
        self._cwd = cwd
        self._machine = Machine(home, env)
        self._paths = Paths.of(env)
        self._trusted = TrustedFiles(self._paths.trusted_files)
        self._requests = FileRecord(self._paths.waiting_files)
        self._findings = Findings()

    def settings(self, explicit: Path | None) -> Settings:
        search = find_config(
            explicit,
            env=self._env,
            cwd=self._cwd,
            home=self._machine.home,
            paths=self._paths,
            trusted=self._trusted,
            is_rejected=self._requests.is_rejected,
        )
        self._findings.warn(*search.notices)
        document = self._document(search.found)
        values = self._with_own_profiles(self._section_values(document, search.found), search)
        configured = self._configured_servers(document, search.found)
        imported = self._imported(values["sources"], search.found)
        project = self._project()
        settings = Settings(
            **values,
            file=search.found.path if search.found else None,
            source_states=(*imported.states, *project.states),
            untrusted_files=(*search.untrusted, *project.untrusted),
            watched_files=tuple(dict.fromkeys([*search.looked_for, *imported.files, *project.files])),
        )
        return self._completed(settings, configured, imported.specs, project.specs)

    def _document(self, found: FoundFile | None) -> Mapping[str, Any]:
        if found is None:
            return {}
        document = parse_document(found.content, found.path)
        if isinstance(document, Mapping):
            return document
        self._findings.refuse("", f"expected a map of settings, found {kind_of(document)}", str(found.path))
        return {}

    def _section_values(self, document: Mapping[str, Any], found: FoundFile | None) -> dict[str, Any]:
        """Every setting given by the section and the environment, by attribute name."""
        source = str(found.path) if found else ""
        where, section = settings_section(document)
        if not isinstance(section, Mapping):
            if section is not None:
                self._findings.refuse(where, f"expected a map of settings, found {kind_of(section)}", source)
            section = {}
        check_groups(section, where, source, self._findings)
        warn_of_unknown_settings(section, where, source, OTHER_KEYS, self._findings)
        prefix = f"{where}." if where else ""
        listed = read_source_list(section.get("sources"), f"{prefix}sources", source, self._findings)
        scalars = {
            **(praxis_peers(document, source, self._findings) if is_praxis(document) else {}),
            **read_scalars(section, where, source, self._env, self._findings),
        }
        check_peer_settings(scalars, source, self._findings)
        return {
            **scalars,
            "tool_rules": read_tool_rules(section.get("toolRules"), f"{prefix}toolRules", source, self._findings),
            "introspection_inputs": read_introspection(
                section.get("introspection"), f"{prefix}introspection", source, self._findings
            ),
            "profiles": read_profiles(section.get("profiles"), f"{prefix}profiles", source, self._findings),
            "sources": listed if found else auto_sources(),
        }

    def _with_own_profiles(self, values: dict[str, Any], search: Search) -> dict[str, Any]:
        """The values with the profiles of the person's own file, which a project's file can't make wider."""
        found = search.found
        profiles = values["profiles"]
        if found is not None and found.is_project:
            profiles = {**profiles, **self._own_profiles(search)}
        chosen = values.get("profile", "")
        if chosen and chosen not in profiles:
            source = str(found.path) if found else ""
            self._findings.refuse("profile", no_such_profile(chosen, profiles), source)
        return {**values, "profiles": profiles}

    def _own_profiles(self, search: Search) -> dict[str, Profile]:
        own = find_own(self._machine.home, self._paths)
        search.looked_for.extend(own.looked_for)
        if own.found is None:
            return {}
        where, section = settings_section(self._document(own.found))
        written = section.get("profiles") if isinstance(section, Mapping) else None
        return read_profiles(written, f"{where}.profiles".lstrip("."), str(own.found.path), self._findings)

    def _configured_servers(self, document: Mapping[str, Any], found: FoundFile | None) -> list[ServerSpec]:
        origin = Origin(file=str(found.path) if found else "")
        agents = is_praxis(document)
        specs = read_praxis(document, origin, self._findings) if agents else []
        for where, section in server_sections(document):
            if not (agents and where == PRAXIS_SERVERS):
                specs += read_servers(section, where, origin, self._findings)
        return unique_servers(specs, self._findings)

    def _imported(self, sources: tuple[Source, ...], found: FoundFile | None) -> Imported:
        folder = found.path.parent if found else self._cwd
        is_project = found is not None and found.is_project

        def may_read(path: Path, content: bytes) -> bool:
            # Trusting a project's file must not mean trusting whatever is in the files it names tomorrow.
            return not is_project or self._trusted.is_trusted(path, content)

        return import_sources(sources, self._machine, folder, may_read, self._findings)

    def _project(self) -> ProjectImport:
        """The servers that came with the folder; the home folder is no project."""
        if self._cwd == self._machine.home:
            return ProjectImport()
        found = import_project(self._cwd, self._trusted, self._requests.is_rejected, self._findings)
        if found.states:  # what a person agrees to from now on counts at once
            found.files.append(self._paths.trusted_files)
        return found

    def _completed(
        self,
        settings: Settings,
        configured: list[ServerSpec],
        imported: list[ServerSpec],
        project: list[ServerSpec],
    ) -> Settings:
        own = OwnAddress(settings.http_port, settings.http_path)
        usable = without_gateway(configured, own, self._findings)
        others = without_gateway(imported, own, self._findings)
        merged = merge_servers(usable, others, self._findings)
        merged = with_project(merged, without_gateway(project, own, self._findings), self._cwd)
        servers = without_gateway(apply_endpoints(merged, self._env, self._findings), own, self._findings)
        kept = capped(servers, settings.max_servers, self._findings)
        if self._findings.fatal:
            raise ConfigurationError(_shown([*self._findings.fatal, *self._findings.problems]))
        return _with_findings(settings, kept, self._findings)


def _with_findings(settings: Settings, servers: list[ServerSpec], findings: Findings) -> Settings:
    return replace(
        settings,
        servers=tuple(servers),
        problems=tuple(_shown(findings.problems)),
        warnings=tuple(dict.fromkeys(map(mask_text, findings.warnings))),
    )


def _shown(problems: Iterable[Problem]) -> list[Problem]:
    """The problems as they may be told: a value that was written where a name belongs is not."""
    return [Problem(mask_text(one.where), mask_text(one.message), one.source) for one in problems]
