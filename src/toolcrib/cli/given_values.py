"""Values for a new server: written out, taken from a variable, or asked for and put into the keyring."""

from __future__ import annotations

import getpass
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ValidationError
from toolcrib.masking.entries import after_scheme
from toolcrib.masking.names import is_secret_name
from toolcrib.masking.shapes import is_opaque
from toolcrib.masking.texts import cover_keys, stands_for_a_value
from toolcrib.model.secret import Secret

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IN_CAPITALS = re.compile(r"[A-Z_][A-Z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class GivenValues:
    """What the entry says for each name, and the secrets that go to the keyring for it."""

    written: Mapping[str, str]
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    # Names whose values other programs could see on our command line.
    seen: tuple[str, ...] = ()
    # Variables that are referred to and not set here.
    unset: tuple[str, ...] = ()

    def keep(self) -> None:
        """Put the secrets into the keyring."""
        for name, secret in self.secrets.items():
            _keyring().put(name, secret.reveal())


def variables(server: str, given: Iterable[str], secrets: Iterable[str]) -> GivenValues:
    """The variables of a command: `NAME=VALUE`, or `NAME` for the variable of this name where it is started."""
    plain = dict(_variable(text) for text in given)
    kept = {name: _asked(name) for name in _checked(secrets, _NAME)}
    references = {name: f"${{keyring:{server}.{name}}}" for name in kept}
    unset = tuple(name for name, value in plain.items() if value == f"${{{name}}}" and name not in os.environ)
    return GivenValues({**plain, **references}, _in_keyring(server, kept), tuple(_seen(plain)), unset)


def headers(server: str, given: Iterable[str], secrets: Iterable[str]) -> GivenValues:
    """The headers of an address: `NAME:VALUE`; a secret one for Authorization is a bearer token."""
    plain = dict(_header(text) for text in given)
    kept = {name: _asked(name) for name in _checked(secrets, _HEADER)}
    references = {name: f"{_scheme(name, secret)}${{keyring:{server}.{name}}}" for name, secret in kept.items()}
    return GivenValues({**plain, **references}, _in_keyring(server, kept), tuple(_seen(plain)))


def _variable(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if found and name.strip():
        return name.strip(), value
    # The text may be a secret and is not repeated.
    if found or not _is_variable(text):
        raise ValidationError(
            "--env: expected NAME=VALUE, or the NAME of a variable: one that is set here, or one in capital letters"
        )
    return text, f"${{{text}}}"


def _is_variable(text: str) -> bool:
    """Whether a text is certainly the name of a variable, and no value that somebody forgot to name."""
    if text in os.environ:
        return _NAME.fullmatch(text) is not None
    return _IN_CAPITALS.fullmatch(text) is not None and not is_opaque(text) and cover_keys(text) == text


def _header(text: str) -> tuple[str, str]:
    name, found, value = text.partition(":")
    if not found or not name.strip():
        raise ValidationError("--header: expected NAME:VALUE")
    return name.strip(), value.strip()


def _checked(names: Iterable[str], form: re.Pattern[str]) -> Iterator[str]:
    for name in names:
        if not form.fullmatch(name):
            raise ValidationError("--secret: expected a NAME alone; its value is asked for")
        yield name


def _asked(name: str) -> Secret:
    """The value from the terminal, where it does not show, or from standard input."""
    _keyring().require()
    if sys.stdin is None:
        raise ValidationError(f"there is nobody to ask for {name}; give the value on standard input")
    try:
        text = getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    except EOFError:  # Ctrl-D
        text = ""
    if not text:
        raise ValidationError(f"no value was given for {name}")
    return Secret(text)


def _keyring() -> OsKeyring:
    return OsKeyring("--secret", "refer to a variable of yours: `--env NAME`, or `--header 'NAME:${VARIABLE}'`")


def _in_keyring(server: str, secrets: Mapping[str, Secret]) -> dict[str, Secret]:
    return {f"{server}.{name}": secret for name, secret in secrets.items()}


def _scheme(header: str, secret: Secret) -> str:
    """What stands before a token; people paste it together with that, too."""
    return "Bearer " if header.lower() == "authorization" and not after_scheme(secret.reveal()) else ""


def _seen(written: Mapping[str, str]) -> Iterator[str]:
    for name, value in written.items():
        if value and is_secret_name(name) and not stands_for_a_value(value[after_scheme(value) :]):
            yield name
