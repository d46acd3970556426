"""Values that are in the keyring for a server, and of no use once it is removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolcrib.adoption.secrets import IN_KEYRING
from toolcrib.adoption.site import Site
from toolcrib.config.documents import read_bytes
from toolcrib.config.load import load_settings
from toolcrib.config.trust import TrustedFiles
from toolcrib.config.written_entry import entry_of


def left_secrets(site: Site, server: str, entry: Any) -> list[str]:
    """The names of what `add` and `adopt` put into the keyring for this removed entry, and nothing else refers to now.

    Raises ConfigurationError where a file can't be read: nobody knows then what it refers to.
    """
    named = dict.fromkeys(IN_KEYRING.findall(json.dumps(entry, default=str)))
    # Another name is one that a person chose, for whatever else it is good for.
    own = [name for name in named if name.startswith(f"{server}.")]
    if not own:
        return []
    journal = site.journal_file().journal()
    # Whoever releases the clients gets these back.
    needed = {seal.secret for seal in journal.seals.values()}
    needed.update(secret for record in journal.servers.values() for secret in record.secrets)
    texts = list(_texts(site))
    return [name for name in own if name not in needed and not any(_refers(text, name) for text in texts)]


def _refers(text: str, name: str) -> bool:
    return f"${{keyring:{name}}}" in text


def _texts(site: Site) -> Iterator[str]:
    """All that may refer to the keyring: our files, those that are trusted, and the servers of other sources."""
    files = {site.own_path, Site(site.machine, site.paths).own_path, *TrustedFiles(site.paths.trusted_files).paths()}
    yield from (read_bytes(file).decode("utf-8", "replace") for file in sorted(files) if file.exists())
    for config in {None, site.config}:
        yield from _configured(config)


def _configured(config: Path | None) -> Iterator[str]:
    for spec in load_settings(config).servers:
        yield json.dumps(entry_of(spec), ensure_ascii=False, default=str)
