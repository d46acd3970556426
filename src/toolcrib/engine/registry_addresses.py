"""Which registries the settings name."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem

log = logging.getLogger(__name__)


def registry_addresses(settings: Settings) -> tuple[str, ...]:
    """The base addresses in order, each once; ConfigurationError for one that is no web address."""
    addresses = tuple(dict.fromkeys(url.strip().rstrip("/") for url in settings.registry_urls))
    problems = [
        Problem(
            "registry.urls", "expected http or https addresses without a user name in them", str(settings.file or "")
        )
        for address in addresses
        if not _is_usable(address)
    ]
    if problems:
        raise ConfigurationError(problems[:1])
    return addresses


def hint_registries(settings: Settings) -> tuple[str, ...]:
    """The registries whose copies give hints; none where the copies or the registries are switched off."""
    if not settings.registry_mirror:
        return ()
    try:
        return registry_addresses(settings)
    except ConfigurationError as error:
        log.warning("no hints from the registries: %s", error.message)
        return ()


def _is_usable(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    return is_web and parts.username is None and not parts.query and not parts.fragment
