"""Whether a server would run in Toolcrib as it runs in its client; if not, why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.config.secret_refs import UnresolvedReference, resolve
from toolcrib.model.server import Launch, StdioLaunch

_ONLY_THE_CLIENT: Mapping[str, str] = {
    "headersHelper": "its headers come from a program that its client runs",
    "http_headers_helper": "its headers come from a program that its client runs",
    "env_keys": "its values are in the keychain of its client",
    "oauth": "its client signs in for it",
    "auth": "its client signs in for it",
    "authProviderType": "its client signs in for it",
    "sandboxEnabled": "it runs in the sandbox of its client",
    "uses": "its client fetches it by name",
}
_CLIENT_VARIABLE = re.compile(
    r"\$\{((?:workspace\w*|workspaceRoot|file\w*|relativeFile\w*|cwd|execPath|selectedText|lineNumber|userHome"
    r"|pathSeparator|/|extensionPath|CLAUDE_PLUGIN_ROOT)(?::[^}]*)?)\}"
)
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")


class _EveryVariable(Mapping[str, str]):
    """An environment in which everything is set: what is still missing no environment can give."""

    def __getitem__(self, name: str) -> str:
        return name

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def why_it_stays(raw: Any, launch: Launch) -> str:
    """What only the client can do for this server; empty when it can move."""
    if isinstance(raw, Mapping):
        for key, why in _ONLY_THE_CLIENT.items():
            if raw.get(key):
                return why
    for text in texts_of(launch):
        found = _CLIENT_VARIABLE.search(text) or _TEMPLATE.search(text)
        if found:
            return f"it names {found[0]}, which only its client knows"
        try:
            resolve(text, _EveryVariable())
        except UnresolvedReference as missing:
            return f"it needs {', '.join(missing.names)}, which only its client can give"
    return ""


def texts_of(launch: Launch) -> Iterator[str]:
    """Every text of a launch that may refer to something."""
    if isinstance(launch, StdioLaunch):
        yield from (launch.command, *launch.args, *launch.env.values(), launch.env_file or "", launch.cwd or "")
    else:
        yield from (launch.url, *launch.headers.values())
