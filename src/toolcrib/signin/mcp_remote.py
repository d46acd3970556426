"""Sign-ins that the bridge `mcp-remote` has made: where they are kept, and what they say. Written for its version 0.15."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.signin.judge import object_in, tokens_in
from toolcrib.signin.record import Registration, Tokens

_MOST_BYTES = 256 * 1024
_FOLDER = re.compile(r"mcp-remote-(?P<store>v)?(?P<version>\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class BridgeSignIn:
    """What can be taken over: tokens, and the client they were given to."""

    tokens: Tokens
    registration: Registration


def bridge_sign_in(home: Path, env: Mapping[str, str], url: str, headers: Mapping[str, str]) -> BridgeSignIn | None:
    """The newest sign-in of the bridge to this address that can be read; what can't be read is not there."""
    root = Path(env.get("MCP_REMOTE_CONFIG_DIR") or home / ".mcp-auth")
    for folder in _folders(root):
        for name in _names(url, headers):
            found = _read(folder / f"{name}_tokens.json", folder / f"{name}_client_info.json")
            if found is not None:
                return found
    return None


def _folders(root: Path) -> list[Path]:
    """The store that all newer versions share first, then one for each older version, the newest first."""
    try:
        found = [(match, path) for path in root.iterdir() if (match := _FOLDER.fullmatch(path.name))]
    except OSError:
        return []
    return [path for match, path in sorted(found, key=lambda one: _age(one[0]), reverse=True)]


def _age(match: re.Match[str]) -> tuple[bool, tuple[int, ...]]:
    return bool(match["store"]), tuple(int(part) for part in match["version"].split("."))


def _names(url: str, headers: Mapping[str, str]) -> Iterator[str]:
    """The names of its files: a hash of the address, and of the headers if it was given any."""
    if headers:
        ordered = json.dumps(
            {name: headers[name] for name in sorted(headers)}, separators=(",", ":"), ensure_ascii=False
        )
        yield _hash(f"{url}|{ordered}")
    yield _hash(url)


def _hash(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _read(tokens_file: Path, client_file: Path) -> BridgeSignIn | None:
    said, client = _object(tokens_file), _object(client_file)
    given_at = _written_at(tokens_file)
    # How long it holds is counted from when it was given; newer versions write down when it ends, in milliseconds.
    tokens = tokens_in(said, given_at)
    if tokens is None or not isinstance(client.get("client_id"), str):
        return None
    ends = said.get("expires_at")
    if isinstance(ends, int | float) and not isinstance(ends, bool):
        tokens = Tokens(
            access=tokens.access, refresh=tokens.refresh, scope=tokens.scope, given_at=given_at, expires_at=ends / 1000
        )
    return BridgeSignIn(tokens, _registration(client))


def _registration(client: Mapping[str, Any]) -> Registration:
    redirects = client.get("redirect_uris")
    secret = client.get("client_secret")
    method = client.get("token_endpoint_auth_method")
    return Registration(
        id=client["client_id"],
        secret=secret if isinstance(secret, str) else "",
        method=method if isinstance(method, str) else "",
        redirect=str(redirects[0]) if isinstance(redirects, list) and redirects else "",
        grant="code",
    )


def _object(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return object_in(file.read(_MOST_BYTES))
    except OSError:
        return {}


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
