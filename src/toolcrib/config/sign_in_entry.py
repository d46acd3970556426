"""The `oauth` of an entry: how a person signs in to that server, or that nobody does."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.config.values import Reader, join, unknown_keys
from toolcrib.model.sign_in_options import SIGN_IN_GRANTS, SignInGrant, SignInOptions

SIGN_IN_KEYS: Mapping[str, str] = {
    "account": "A name for who signs in, where several entries reach the same address as different people.",
    "clientId": "The client that you registered with the service, where it takes no others.",
    "clientSecret": "Its secret, if it has one; write it as `${NAME}`.",
    "privateKey": "In place of a secret, with `client_credentials`: the private key (PEM) that signs who you are (`private_key_jwt`); write it as `${NAME}`.",
    "signingAlgorithm": "The algorithm of that signature; `RS256` by default.",
    "resource": "The name that the authorization server has for this server (the resource indicator), if it is not its address.",
    "scopes": "What to ask for, instead of what the server asks for: a list, or one text with spaces.",
    "grant": "`code` (the default): in the browser. `device`: with a code that you type in elsewhere. `client_credentials`: as the client itself, without a person.",
    "issuer": "The authorization server that `clientId` belongs to; required with `client_credentials`.",
    "callbackPort": "The port on this machine to which the browser comes back, instead of `oauth.callbackPort`.",
}
_LAST_PORT = 65_535
# With a private key only: what a shared secret signs proves less than the secret itself would.
SIGNING_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")


def sign_in_options(entry: Reader) -> tuple[SignInOptions, list[str]]:
    """The options, and warnings about them; what can't be used becomes a problem of the entry."""
    given = entry.data.get("oauth")
    if given is None or given is True:
        return SignInOptions(), []
    if given is False:
        return SignInOptions(is_allowed=False), []
    if not isinstance(given, Mapping):
        entry.expected("oauth", "false or a map", given)
        return SignInOptions(), []
    reader = Reader(given, join(entry.where, "oauth"), entry.source)
    options = SignInOptions(
        account=reader.text("account") or "",
        grant=_grant(reader),
        scopes=_scopes(reader),
        client_id=reader.text("clientId") or "",
        client_secret=reader.text("clientSecret") or "",
        private_key=reader.text("privateKey") or "",
        signing_algorithm=_algorithm(reader),
        resource=reader.text("resource") or "",
        issuer=reader.text("issuer") or "",
        callback_port=_port(reader),
    )
    has_proof = bool(options.client_secret or options.private_key)
    if options.grant == "client_credentials" and not (options.client_id and has_proof and options.issuer):
        reader.fail("grant", "client_credentials needs clientId, clientSecret or privateKey, and issuer")
    if options.private_key and options.grant != "client_credentials":
        reader.fail("privateKey", "a private key is used with `grant: client_credentials` only")
    entry.problems.extend(reader.problems)
    return options, [f"oauth.{key}: {message}" for key, message in unknown_keys(given, SIGN_IN_KEYS)]


def written_options(options: SignInOptions) -> bool | dict[str, str | int] | None:
    """The same in the words of an entry; None where there is nothing to say."""
    if not options.is_allowed:
        return False
    values: dict[str, str | int] = {
        "account": options.account,
        "clientId": options.client_id,
        "clientSecret": options.client_secret,
        "privateKey": options.private_key,
        "signingAlgorithm": options.signing_algorithm,
        "resource": options.resource,
        "scopes": options.scopes,
        "grant": "" if options.grant == "code" else options.grant,
        "issuer": options.issuer,
        "callbackPort": options.callback_port,
    }
    return {key: value for key, value in values.items() if value} or None


def _grant(reader: Reader) -> SignInGrant:
    stated = reader.text("grant")
    for word in SIGN_IN_GRANTS:
        if stated in (None, word):
            return word
    reader.fail("grant", f"expected {' or '.join(SIGN_IN_GRANTS)}, found another word")
    return SIGN_IN_GRANTS[0]


def _algorithm(reader: Reader) -> str:
    stated = reader.text("signingAlgorithm") or ""
    if stated and stated not in SIGNING_ALGORITHMS:
        reader.fail("signingAlgorithm", f"expected one of {', '.join(SIGNING_ALGORITHMS)}, found another word")
        return ""
    return stated


def _scopes(reader: Reader) -> str:
    if isinstance(reader.data.get("scopes"), list):
        return " ".join(reader.texts("scopes") or ())
    return " ".join((reader.text("scopes") or "").split())


def _port(reader: Reader) -> int:
    port = reader.count("callbackPort") or 0
    if port > _LAST_PORT:
        reader.fail("callbackPort", f"expected a port from 1 to {_LAST_PORT}")
        return 0
    return port
