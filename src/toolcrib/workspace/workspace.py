"""One configuration seen through the engine: the servers and tools it shows, and the search over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from toolcrib.catalog.catalog import Catalog
from toolcrib.config.binding import bound
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import ServerSpec
from toolcrib.model.site import Site
from toolcrib.model.tool import Tool
from toolcrib.rules.rulebook import RuleBook
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.overlay import Found, Overlay, nothing_found
from toolcrib.workspace.profiles import ProfileRights
from toolcrib.workspace.search_index import SearchIndex
from toolcrib.workspace.tool_search import ToolSearch


class Workspace:
    """The settings in force, and what they make of the engine's catalog and index.

    `site` is where the client stands for which its servers are launched. `found` gives the servers that are shown besides
    the configured ones, where the settings want them.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        index: SearchIndex,
        *,
        site: Site | None = None,
        built_in: Sequence[Tool] = (),
        found: Found = nothing_found,
    ) -> None:
        self.settings = settings
        self._site = site
        self._found = found
        self._overlay = Overlay()
        self.view = CatalogView(catalog, built_in=built_in)
        self.search = ToolSearch(self.view, index, max_enabled=settings.max_tools)
        # Called whenever something else may be shown.
        self.listeners: set[Callable[[], None]] = set()
        catalog.call_on_change(self._tell)
        self.configure(settings, rule_book(settings))

    def configure(self, settings: Settings, rules: RuleBook) -> None:
        """Let other settings, with their rules, hold from now on; where a profile can't be read, nothing changes."""
        self.profiles = ProfileRights(settings)
        self.settings = settings
        self.search.configure(max_enabled=settings.max_tools)
        self._overlay = self._found_for(settings)
        self.view.configure(self._launched(settings), rules, self._overlay.reviewed)
        self._tell()

    def warnings(self) -> list[str]:
        """What rules and profiles do that their author may not expect, over the tools known now."""
        offered = self.view.offered()
        names = [(one.tool.server, one.tool.name) for there in offered.values() for one in there]
        return [*self.view.rules.check(names), *self.profiles.warnings(offered)]

    def close(self) -> None:
        """Follow the catalog no longer."""
        self.view.catalog.stop_calling(self._tell)
        self.search.close()

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()

    def show_found(self) -> bool:
        """Take over what is found now; whether that is something else than before."""
        if self._found_for(self.settings) == self._overlay:
            return False
        self.configure(self.settings, self.view.rules)
        return True

    def _found_for(self, settings: Settings) -> Overlay:
        return self._found() if settings.enabled and settings.peers_enabled else Overlay()

    def _launched(self, settings: Settings) -> Sequence[ServerSpec]:
        specs = self._overlay.over(offered(settings))
        return specs if self._site is None else bound(specs, self._site, settings.stateful_servers)


def offered(settings: Settings) -> tuple[ServerSpec, ...]:
    """The servers that are offered; none while discovery is switched off."""
    return tuple(spec for spec in settings.servers if spec.enabled) if settings.enabled else ()


def rule_book(settings: Settings) -> RuleBook:
    """The rules as they decide; a pattern that can't be read is reported with the file it stands in."""
    try:
        return RuleBook(settings.tool_rules, settings.rule_precedence)
    except ConfigurationError as error:
        source = str(settings.file or "")
        raise ConfigurationError([replace(problem, source=source) for problem in error.problems]) from error
