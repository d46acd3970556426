"""By what a server is known to those who agreed to it: what it starts or contacts, without the values of secrets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from toolcrib.masking.names import is_secret_name
from toolcrib.model.server import Launch, RemoteLaunch, ServerSpec


def review_key(spec: ServerSpec) -> str:
    """Equal for entries that start or contact the same thing, whatever token they give it.

    A new token keeps what was agreed to. Another command, argument, address or plain setting is another server.
    """
    told = [_launch(spec.launch), spec.oauth.account or ""]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def _launch(launch: Launch) -> Mapping[str, Any]:
    if isinstance(launch, RemoteLaunch):
        return {"transport": launch.transport, "url": launch.url, "headers": sorted(map(str.lower, launch.headers))}
    return {
        "transport": launch.transport,
        "command": launch.command,
        "args": list(launch.args),
        "env": {name: _plain_value(name, value) for name, value in launch.env.items()},
        "envFile": launch.env_file,
        "passEnv": sorted(launch.pass_env),
        "cwd": launch.cwd,
    }


def _plain_value(name: str, value: str) -> str:
    """A value that says how the server works; nothing of one that is, or may lead to, a secret."""
    return "" if is_secret_name(name) or "${" in value else value
