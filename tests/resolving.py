"""The launch of an entry as the gateway would resolve it, without starting anything."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.config.references import FromKeyring, References, no_keyring
from toolcrib.config.secret_refs import resolve_with
from toolcrib.model.server import Launch


def resolve_launch(
    launch: Launch, env: Mapping[str, str], *, server: str, from_keyring: FromKeyring = no_keyring
) -> Launch:
    return resolve_with(References(env, from_keyring), launch, env, server=server)
