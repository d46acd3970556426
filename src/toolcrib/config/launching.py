"""A server's entry made ready to launch, together with a masker that knows every value it was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from toolcrib.config.entries import is_peer_address
from toolcrib.config.inside import DEEPEST, INSIDE, depth_of
from toolcrib.config.origin_rules import check_env_file, may_use
from toolcrib.config.references import FromKeyring, References, no_keyring
from toolcrib.config.secret_refs import (
    bearer_for,
    child_environment,
    is_harmless,
    resolve_unapproved_launch,
    resolve_with,
)
from toolcrib.errors import NeedsConfiguration
from toolcrib.masking.entries import after_scheme, named_words, secret_words
from toolcrib.masking.known import KnownSecrets, labelled
from toolcrib.masking.masker import Masker
from toolcrib.masking.names import is_secret_name
from toolcrib.masking.shapes import is_ordinary
from toolcrib.masking.spans import MASK
from toolcrib.model.secret import Secret, hidden
from toolcrib.model.server import FROM_PROPOSAL, FROM_REGISTRY, Launch, RemoteLaunch, ServerSpec, StdioLaunch

# A shorter value under a name that says nothing is a level, a mode or a number.
_SHORTEST_UNDER_PLAIN_NAMES = 8


class _Found(NamedTuple):
    """A value that may be secret, and what is shown instead; `is_named` where its name or its place says that it is."""

    label: str
    value: str
    is_named: bool


@dataclass(frozen=True, slots=True)
class ReadyLaunch:
    """The launch with its references resolved; `given` are the variables of its process, or the headers of its requests.

    `folder` is where its process runs; None is our own folder.
    """

    launch: Launch = field(repr=False)
    given: Mapping[str, Secret]
    masker: Masker
    folder: str | None = None


def ready_launch(spec: ServerSpec, env: Mapping[str, str], from_keyring: FromKeyring = no_keyring) -> ReadyLaunch:
    """Resolve what the entry refers to; NeedsConfiguration says what is missing. May wait for a keyring to be unlocked.

    `env` counts where the entry is bound to no client with variables of its own.
    """
    env = env if spec.site is None else spec.site.env
    _check_depth(spec, env)
    references = References(env, from_keyring, may_use(spec.origin))
    if spec.origin.source in (FROM_REGISTRY, FROM_PROPOSAL):
        # Nobody has approved it: a reference in its entry must not name a secret of this machine.
        launch = resolve_unapproved_launch(spec.launch, server=spec.name)
    else:
        launch = resolve_with(references, spec.launch, env, server=spec.name)
        check_env_file(spec, launch)
    try:
        given = _given(spec, launch, env)
    except NeedsConfiguration as error:
        raise _masker(references, launch, {}).error(error) from None
    return ReadyLaunch(launch, hidden(given), _masker(references, launch, given), _folder(spec, launch))


def may_sign_in(spec: ServerSpec, given: Iterable[str]) -> bool:
    """Whether a sign-in counts for this server: a person configured it, by address, and gives it no other credentials.

    A peer knows us by our key.
    """
    if not isinstance(spec.launch, RemoteLaunch) or spec.is_foreign or is_peer_address(spec.launch.url):
        return False
    return spec.oauth.is_allowed and not any(name.lower() == "authorization" for name in given)


def _check_depth(spec: ServerSpec, env: Mapping[str, str]) -> None:
    if isinstance(spec.launch, StdioLaunch) and depth_of(env) >= DEEPEST:
        raise NeedsConfiguration(
            f"server '{spec.name}' is not started: this gateway runs inside {depth_of(env)} others",
            server=spec.name,
            hint="One of your servers is Toolcrib itself, with the same configuration: remove that entry.",
        )


def _folder(spec: ServerSpec, launch: Launch) -> str | None:
    stated = launch.cwd if isinstance(launch, StdioLaunch) else None
    return stated or (spec.site.folder if spec.site is not None else None)


def _given(spec: ServerSpec, launch: Launch, env: Mapping[str, str]) -> dict[str, str]:
    if isinstance(launch, StdioLaunch):
        # Over whatever the entry says of it.
        given = child_environment(launch, env, server=spec.name, origin=spec.origin)
        return {**given, INSIDE: str(depth_of(env) + 1)}
    headers = dict(launch.headers)
    if bearer := bearer_for(spec, env):
        headers.setdefault("Authorization", f"Bearer {bearer}")
    return headers


def _masker(references: References, launch: Launch, given: Mapping[str, str]) -> Masker:
    # What came by a reference is shown as that reference; for one value under two names the first of these decides.
    found = [*_referred(references), *_handed_over(launch, given), *_written(launch, given)]
    named = {one.value for one in found if one.is_named}
    known = KnownSecrets(labelled((one.label, one.value) for one in found))
    return Masker(known, unnamed={one.value for one in found} - named)


def _referred(references: References) -> Iterator[_Found]:
    for reference, value in references.found.items():
        name = reference[2:-1]
        if not is_harmless(name):
            # Whoever keeps a value in a file of its own or in the keyring has said enough.
            yield _Found(reference, value, is_named=":" in name or is_secret_name(name))


def _handed_over(launch: Launch, given: Mapping[str, str]) -> Iterator[_Found]:
    """Variables by their names; headers that may be secret."""
    for name, value in given.items():
        is_named = is_secret_name(name)
        if isinstance(launch, RemoteLaunch):
            secret = value[after_scheme(value) :]
            if is_named or not is_ordinary(secret):
                yield _Found(MASK, secret, is_named)
        elif not is_harmless(name) and (is_named or _is_telling(value)):
            yield _Found(f"${{{name}}}", value, is_named)


def _is_telling(value: str) -> bool:
    return len(value) >= _SHORTEST_UNDER_PLAIN_NAMES and not value.isdigit()


def _written(launch: Launch, given: Mapping[str, str]) -> Iterator[_Found]:
    """The secret parts of what is written out: a password within an address, the value of an option."""
    words = [launch.url] if isinstance(launch, RemoteLaunch) else [launch.command, *launch.args]
    for line in (words, *([value] for value in given.values())):
        for secret in named_words(line):
            yield from (_Found(MASK, part, is_named=True) for part in _with_its_password(secret))
        yield from (_Found(MASK, secret, is_named=False) for secret in secret_words(line))


def _with_its_password(secret: str) -> Iterator[str]:
    """What signs in as it is written; of `user:password` also the password, as the server has it afterwards."""
    yield secret
    if password := secret.partition(":")[2]:
        yield password
        yield unquote(password)
