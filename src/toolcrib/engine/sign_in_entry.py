"""What the entry of a server says about signing in to it."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.config.launching import ReadyLaunch, may_sign_in
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.references import References
from toolcrib.errors import NeedsConfiguration, SignInFailed
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.sign_in_options import SignInOptions
from toolcrib.signin.record import Registration, canonical_resource


def resource_of(spec: ServerSpec, ready: ReadyLaunch) -> str:
    """The address to sign in at; raises SignInFailed where signing in makes no sense."""
    launch = ready.launch
    if isinstance(launch, StdioLaunch):
        raise sign_in_failed(
            spec.name, "not_remote", "it is a program on this machine, and signs in by itself if it has to"
        )
    assert isinstance(launch, RemoteLaunch)
    if not spec.oauth.is_allowed:
        raise sign_in_failed(spec.name, "not_allowed", "its entry says `oauth: false`")
    if not may_sign_in(spec, ready.given):
        hint = "Remove the Authorization header from its entry, or the variable with its token, to sign in instead."
        raise sign_in_failed(spec.name, "has_token", "it gets a token from its entry or from a variable", hint)
    return canonical_resource(launch.url)


def registered_by_hand(options: SignInOptions) -> Registration | None:
    """The client that a person registered themselves."""
    if not options.client_id:
        return None
    method = "" if options.client_secret else "none"
    return Registration(id=options.client_id, secret=options.client_secret, method=method, issuer=options.issuer)


def resolved_options(spec: ServerSpec, env: Mapping[str, str]) -> SignInOptions:
    """The options of the entry with its references resolved; raises NeedsConfiguration."""
    references = References(env if spec.site is None else spec.site.env, OsKeyring().get)
    options = spec.oauth
    resolved = SignInOptions(
        account=options.account,
        grant=options.grant,
        scopes=references.resolved(options.scopes),
        client_id=references.resolved(options.client_id),
        client_secret=references.resolved(options.client_secret),
        private_key=references.resolved(options.private_key),
        signing_algorithm=options.signing_algorithm,
        resource=references.resolved(options.resource),
        issuer=references.resolved(options.issuer),
        callback_port=options.callback_port,
    )
    if references.missing:
        names = ", ".join(dict.fromkeys(references.missing))
        raise NeedsConfiguration(f"signing in to {spec.name} needs {names}", server=spec.name)
    return resolved


def sign_in_failed(server: str, reason: str, message: str, hint: str = "") -> SignInFailed:
    """The error for a sign-in that did not come to its end; `reason` is one word."""
    return SignInFailed(f"the sign-in to {server} failed: {message}", server=server, reason=reason, hint=hint)
