"""A server's entry made ready to launch, together with a masker that knows every value it was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from toolcrib.config.entries import is_peer_address
from toolcrib.config.references import FromKeyring, References, no_keyring
from toolcrib.config.secret_refs import (
    bearer_for,
    child_environment,
    is_harmless,
    resolve_unapproved_launch,
    resolve_with,
)
from toolcrib.errors import NeedsConfiguration
from toolcrib.masking.entries import after_scheme, secret_words
from toolcrib.masking.known import KnownSecrets, labelled
from toolcrib.masking.masker import Masker
from toolcrib.masking.names import is_secret_name
from toolcrib.masking.shapes import is_ordinary
from toolcrib.masking.spans import MASK
from toolcrib.model.server import FROM_REGISTRY, Launch, RemoteLaunch, ServerSpec, StdioLaunch

# A shorter value under a name that says nothing is a level, a mode or a number.
_SHORTEST_UNDER_PLAIN_NAMES = 8

Named = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ReadyLaunch:
    """The launch with its references resolved; `given` are the variables of its process, or the headers of its requests.

    `folder` is where its process runs; None is our own folder.
    """

    launch: Launch = field(repr=False)
    given: Mapping[str, str] = field(repr=False)
    masker: Masker
    folder: str | None = None


def ready_launch(spec: ServerSpec, env: Mapping[str, str], from_keyring: FromKeyring = no_keyring) -> ReadyLaunch:
    """Resolve what the entry refers to; NeedsConfiguration says what is missing. May wait for a keyring to be unlocked.

    `env` counts where the entry is bound to no client with variables of its own.
    """
    env = env if spec.site is None else spec.site.env
    references = References(env, from_keyring)
    if spec.origin.source == FROM_REGISTRY:
        # Nobody has approved it: a reference in its entry must not name a secret of this machine.
        launch = resolve_unapproved_launch(spec.launch, server=spec.name)
    else:
        launch = resolve_with(references, spec.launch, env, server=spec.name)
    try:
        given = _given(spec, launch, env)
    except NeedsConfiguration as error:
        raise _masker(references, launch, {}).error(error) from None
    return ReadyLaunch(launch, given, _masker(references, launch, given), _folder(spec, launch))


def may_sign_in(spec: ServerSpec, given: Mapping[str, str]) -> bool:
    """Whether a sign-in counts for this server: a person configured it, by address, and gives it no other credentials.

    A peer knows us by our key.
    """
    if not isinstance(spec.launch, RemoteLaunch) or spec.is_foreign or is_peer_address(spec.launch.url):
        return False
    return spec.oauth.is_allowed and not any(name.lower() == "authorization" for name in given)


def _folder(spec: ServerSpec, launch: Launch) -> str | None:
    stated = launch.cwd if isinstance(launch, StdioLaunch) else None
    return stated or (spec.site.folder if spec.site is not None else None)


def _given(spec: ServerSpec, launch: Launch, env: Mapping[str, str]) -> dict[str, str]:
    if isinstance(launch, StdioLaunch):
        return child_environment(launch, env, server=spec.name)
    headers = dict(launch.headers)
    if bearer := bearer_for(spec, env):
        headers.setdefault("Authorization", f"Bearer {bearer}")
    return headers


def _masker(references: References, launch: Launch, given: Mapping[str, str]) -> Masker:
    # What came by a reference is shown as that reference; for one value under two names the first of these decides.
    found = [*_referred(references), *_handed_over(launch, given), *_written(launch, given)]
    return Masker(KnownSecrets(labelled(found)))


def _referred(references: References) -> Named:
    for reference, value in references.found.items():
        if not is_harmless(reference[2:-1]):
            yield reference, value


def _handed_over(launch: Launch, given: Mapping[str, str]) -> Named:
    """Variables by their names; headers that may be secret."""
    for name, value in given.items():
        if isinstance(launch, RemoteLaunch):
            secret = value[after_scheme(value) :]
            if is_secret_name(name) or not is_ordinary(secret):
                yield MASK, secret
        elif not is_harmless(name) and (is_secret_name(name) or _is_telling(value)):
            yield f"${{{name}}}", value


def _is_telling(value: str) -> bool:
    return len(value) >= _SHORTEST_UNDER_PLAIN_NAMES and not value.isdigit()


def _written(launch: Launch, given: Mapping[str, str]) -> Named:
    """The secret parts of what is written out: a password within an address, the value of an option."""
    words = [launch.url] if isinstance(launch, RemoteLaunch) else [launch.command, *launch.args]
    for secret in (*secret_words(words), *(part for value in given.values() for part in secret_words([value]))):
        yield MASK, secret
