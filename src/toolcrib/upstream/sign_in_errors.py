"""What callers are told when a server wants a sign-in, or a token can't be renewed."""

from __future__ import annotations

from toolcrib.errors import SignInRequired, SignInUnavailable
from toolcrib.upstream.http_errors import token_variable

TOO_LITTLE = "the sign-in does not allow this"


def sign_in_required(server: str, why: str, *, scopes: str = "", is_first: bool = False) -> SignInRequired:
    """The error that names the command; `scopes` are those that the sign-in needs."""
    needs_more = why == TOO_LITTLE and bool(scopes)
    wanted = f' --scopes "{scopes}"' if needs_more else ""
    command = f"`toolcrib login {server}{wanted}`"
    hint = f"A person has to run {command}; then try again."
    if is_first:
        hint += f" If the server takes a fixed token instead, set {token_variable(server)}."
    message = f"{server} wants a sign-in, {command}: {why}"
    return SignInRequired(message, server=server, scopes=scopes, needs_more=needs_more, hint=hint)


def sign_in_unavailable(server: str, reason: str, wait: float, hint: str = "") -> SignInUnavailable:
    """The error for a sign-in that holds, but whose token can't be had."""
    return SignInUnavailable(
        f"the sign-in to {server} can't be used now: {reason}",
        server=server,
        hint=hint or "Try again later. The sign-in itself still holds.",
        retryAfterSeconds=round(wait, 1),
    )
