"""Plaintext secrets in entries: found by name, put into the keyring, left out of backups, never shown."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from toolcrib.adoption.journal import Seal
from toolcrib.config.secret_refs import UnresolvedReference, resolve
from toolcrib.edit.changes import Place
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.masking.entries import after_scheme, masked_entry
from toolcrib.masking.names import is_secret_name
from toolcrib.model.server import Launch, ServerSpec, StdioLaunch

IN_KEYRING = re.compile(r"\$\{keyring:([^}]*)\}")
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
            lead = value[: after_scheme(value)]
            secret = _plain(value.removeprefix(lead))
            if secret and is_secret_name(name):
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
        name: IN_KEYRING.sub(lambda match: vault.get(match[1]) or match[0], text) for name, text in _values(launch)
    }
    if isinstance(launch, StdioLaunch):
        return replace(spec, launch=replace(launch, env=plain))
    return replace(spec, launch=replace(launch, headers=plain))


def named_secrets(spec: ServerSpec, vault: Vault) -> dict[str, str]:
    """The secrets that a server of ours names, as far as the keyring has them."""
    names = [name for _, text in _values(spec.launch) for name in IN_KEYRING.findall(text)]
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


def hidden_values(raw: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Every text of an entry that may hold a secret, with what is shown instead."""
    yield from _differences(raw, masked_entry(raw), place)


def _differences(written: Any, shown: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(written, Mapping):
        for key, value in written.items():
            yield from _differences(value, shown[key], (*place, key))
    elif isinstance(written, list):
        for index, value in enumerate(written):
            yield from _differences(value, shown[index], (*place, index))
    elif written != shown:
        yield place, shown
