"""Plaintext secrets in entries: found by name, put into the keyring, left out of backups, never shown."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from toolcrib.adoption.journal import Seal
from toolcrib.config.secret_refs import UnresolvedReference, resolve
from toolcrib.edit.changes import Place
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.model.server import Launch, ServerSpec, StdioLaunch

HIDDEN = "***"
_SECRET_NAME = re.compile(r"token|key|secret|passw|pwd|auth|credential|cookie", re.IGNORECASE)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_ONLY_A_REFERENCE = re.compile(r"(?:(?:Bearer|Basic|Token)\s+)?\$?\{[^}]*\}\}?|\$\w+", re.IGNORECASE)
_VALUE_MAPS = ("env", "envs", "environment", "headers", "http_headers")
_ADDRESSES = ("url", "serverUrl", "httpUrl", "uri")
_IN_KEYRING = re.compile(r"\$\{keyring:([^}]*)\}")
_FORMS: Mapping[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "ascii": lambda text: json.dumps(text)[1:-1],
    "plain": lambda text: text,
}


class Vault(Protocol):
    """Where secrets are put; `get` gives None for what is not there."""

    def get(self, name: str) -> str | None: ...
    def put(self, name: str, secret: str) -> None: ...
    def drop(self, name: str) -> None: ...
    def require(self) -> None: ...


def moved_to_vault(server: str, entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry with its plaintext secrets as `${keyring:…}`, and those secrets by name."""
    found: dict[str, str] = {}
    result = dict(entry)
    for key in ("env", "headers"):
        values = dict(entry.get(key) or {})
        for name, value in values.items():
            lead = match[0] if (match := _SCHEME.match(value)) else ""
            secret = _plain(value.removeprefix(lead))
            if secret and _SECRET_NAME.search(name):
                found[f"{server}.{name}"] = secret
                values[name] = f"{lead}${{keyring:{server}.{name}}}"
        if values:
            result[key] = values
    return result, found


def _plain(text: str) -> str:
    """What a text says when it refers to nothing; else nothing."""
    try:
        return resolve(text, {}) if not re.search(r"\$\{[A-Za-z_]", text) else ""
    except UnresolvedReference:
        return ""


def with_secrets(spec: ServerSpec, vault: Vault) -> ServerSpec:
    """The server with what the keyring holds in it, to compare it with one that says it in plain text."""
    launch = spec.launch
    plain = {
        name: _IN_KEYRING.sub(lambda match: vault.get(match[1]) or match[0], text) for name, text in _values(launch)
    }
    if isinstance(launch, StdioLaunch):
        return replace(spec, launch=replace(launch, env=plain))
    return replace(spec, launch=replace(launch, headers=plain))


def named_secrets(spec: ServerSpec, vault: Vault) -> dict[str, str]:
    """The secrets that a server of ours names, as far as the keyring has them."""
    names = [name for _, text in _values(spec.launch) for name in _IN_KEYRING.findall(text)]
    return {name: secret for name in names if (secret := vault.get(name))}


def _values(launch: Launch) -> Iterable[tuple[str, str]]:
    return (launch.env if isinstance(launch, StdioLaunch) else launch.headers).items()


def sealed(content: bytes, found: Mapping[str, str]) -> tuple[bytes, dict[str, Seal]]:
    """The bytes with each secret replaced by a mark, and what the marks stand for; `opened` is the way back."""
    text = content.decode()
    seals: dict[str, Seal] = {}
    for name, secret in sorted(found.items(), key=lambda item: -len(item[1])):
        form = next((form for form, write in _FORMS.items() if write(secret) in text), None)
        if form is None:
            message = f"writes the value of {name} in a way that cannot be left out of the backup"
            raise ConfigurationError([Problem("--secrets keyring", message)], hint="Use `--secrets keep`.")
        mark = f"toolcrib-sealed-{secrets.token_hex(8)}"
        seals[mark] = Seal(name, form)
        text = text.replace(_FORMS[form](secret), mark)
    return text.encode(), seals


def opened(content: bytes, seals: Mapping[str, Seal], vault: Vault) -> bytes:
    """The bytes as they were before they were sealed."""
    text = content.decode()
    for mark, seal in seals.items():
        if mark not in text:
            continue
        secret = vault.get(seal.secret)
        if secret is None:
            raise ConfigurationError([Problem("", f"the keyring has no '{seal.secret}' any more, or cannot be read")])
        text = text.replace(mark, _FORMS[seal.form](secret))
    return text.encode()


def hidden_values(raw: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """Every text of an entry that may be a secret, with what is shown instead."""
    if not isinstance(raw, Mapping):
        return
    for key, value in raw.items():
        here = (*place, key)
        if key in _VALUE_MAPS and isinstance(value, Mapping):
            yield from (((*here, name), HIDDEN) for name, text in value.items() if _may_be_secret(text))
        elif key in ("args", "command") and isinstance(value, list):
            yield from (((*here, index), text) for index, text in _hidden_words(value))
        elif isinstance(value, Mapping):
            yield from hidden_values(value, here)
        elif isinstance(value, str) and key in _ADDRESSES:
            if (shown := _shown_address(value)) != value:
                yield here, shown
        elif _SECRET_NAME.search(key) and _may_be_secret(value):
            yield here, HIDDEN


def _may_be_secret(value: Any) -> bool:
    return isinstance(value, str | int | float) and not _ONLY_A_REFERENCE.fullmatch(str(value))


def _hidden_words(words: list[Any]) -> Iterator[tuple[int, str]]:
    after_secret_option = False
    for index, word in enumerate(words):
        text = str(word)
        option, equals, value = text.partition("=")
        name, colon, rest = text.partition(":")
        if after_secret_option and _may_be_secret(text):
            yield index, HIDDEN
        elif equals and value and _SECRET_NAME.search(option):
            yield index, f"{option}={HIDDEN}"
        elif colon and rest and _SECRET_NAME.search(name) and "/" not in name:
            yield index, f"{name}:{HIDDEN}"
        elif (shown := _shown_address(text)) != text:
            yield index, shown
        after_secret_option = text.startswith("-") and not equals and bool(_SECRET_NAME.search(text))


def _shown_address(text: str) -> str:
    """An address without the person and the query in it."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return HIDDEN
    if parts.scheme not in ("http", "https"):
        return text
    host = parts.netloc.rpartition("@")[2]
    query = HIDDEN if parts.query else ""
    return urlunsplit((parts.scheme, host, parts.path, query, parts.fragment))
