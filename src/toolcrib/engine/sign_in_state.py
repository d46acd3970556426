"""What is kept of the sign-in to a server, in words that hold no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.config.launching import may_sign_in, ready_launch
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.paths import Paths
from toolcrib.engine.from_settings import sign_in_files
from toolcrib.errors import NeedsConfiguration, StoreUnavailable
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.signin.record import SignIn, record_key


@dataclass(frozen=True, slots=True)
class SignInState:
    """Whether somebody is signed in, until when their token holds, and why they no longer are."""

    is_signed_in: bool
    expires_at: float | None = None
    renews: bool = False
    ended_because: str = ""


def sign_in_state(spec: ServerSpec, env: Mapping[str, str]) -> SignInState | None:
    """The state of a server's sign-in; None where there is none, or none counts."""
    key = _key_of(spec, env)
    if key is None:
        return None
    try:
        record = sign_in_files(Paths.of(env)).get(key)
    except StoreUnavailable as trouble:
        return SignInState(is_signed_in=False, ended_because=trouble.message)
    return None if record is None else _state_of(record)


def _key_of(spec: ServerSpec, env: Mapping[str, str]) -> str | None:
    """The key of the sign-in that counts for a server."""
    if not isinstance(spec.launch, RemoteLaunch):
        return None
    try:
        ready = ready_launch(spec, env, OsKeyring().get)
    except NeedsConfiguration:
        return None
    if not isinstance(ready.launch, RemoteLaunch) or not may_sign_in(spec, ready.given):
        return None
    return record_key(ready.launch.url, spec.oauth.account)


def _state_of(record: SignIn) -> SignInState:
    tokens = record.tokens
    if tokens is None:
        return SignInState(is_signed_in=False, ended_because=record.ended_because)
    return SignInState(is_signed_in=True, expires_at=tokens.expires_at, renews=bool(tokens.refresh))
