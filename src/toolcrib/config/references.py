"""References in texts, `${NAME}` and its kin: replaced by their values, with a record of what was found and what was not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from toolcrib.config.documents import decode, read_bytes
from toolcrib.config.malformed import Malformed
from toolcrib.config.paths import home_folder
from toolcrib.errors import ConfigurationError

# `$$` comes first and is kept: it is part of passwords, and it shields the brace after it. `${$}` is a plain `$`.
REFERENCE = re.compile(
    r"""\$\$
      | \$\{(?P<dollar>\$)\}
      | \$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:[^}$]|\$(?!\{))*))?\}
      | \$\{(?P<foreign>\{[^{}]*\}|[A-Za-z_][\w.]*:[^}]*|[A-Za-z_]\w*\.[\w.]*)\}""",
    re.VERBOSE,
)
_MAX_SECRET_FILE_BYTES = 64 * 1024
_NAMED_NEED = re.compile(r"(?:input|file|command|config|secret|keyring):[^$]+")

FromKeyring = Callable[[str], str | None]
# Whether an entry may use a reference of this kind (`file`, `keyring`) to this place.
MayUse = Callable[[str, str], bool]


def no_keyring(_: str) -> None:
    """The lookup where there is no keyring."""


def anything(_kind: str, _place: str) -> bool:
    """The rule for what a person wrote: every reference counts."""
    return True


class References:
    """Replaces references with what the environment, files and the keyring hold; what comes in is not looked into.

    `missing` are the names without a value, `refused` the references that the entry may not use, `found` the values by
    their references. None of them holds any text around them.
    """

    def __init__(
        self, env: Mapping[str, str], from_keyring: FromKeyring = no_keyring, may_use: MayUse = anything
    ) -> None:
        self._env = env
        self._from_keyring = from_keyring
        self._may_use = may_use
        self.missing: list[str] = []
        self.refused: list[str] = []
        self.found: dict[str, str] = {}

    def resolved(self, text: str) -> str:
        return REFERENCE.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        if match["dollar"]:
            return "$"
        if match["name"] is not None:
            return self._variable(match["name"], match["default"])
        return match[0] if match["foreign"] is None else self._foreign(match[0], match["foreign"])

    def _variable(self, name: str, default: str | None) -> str:
        value = variable(name, self._env)
        if value:
            return self._noted(f"${{{name}}}", value)
        if value is None and default is None:
            self.missing.append(name)
        return default or ""

    def _foreign(self, written: str, reference: str) -> str:
        kind, _, rest = reference.partition(":")
        place = with_home(rest, self._env) if kind == "file" else rest
        if kind in ("file", "keyring") and not self._may_use(kind, place):
            self.refused.append(written)
            return written
        if kind == "file" and (content := _file_content(place)) is not None:
            return self._noted(written, content)
        if kind == "keyring" and (secret := self._from_keyring(rest)) is not None:
            return self._noted(written, secret)
        self.missing.append(need(reference.strip("{} ")))
        return written

    def _noted(self, reference: str, value: str) -> str:
        self.found[reference] = value
        return value


def variable(name: str, env: Mapping[str, str]) -> str | None:
    """The variable, or None where it is not set.

    A client that is asked to hand on a variable it does not have hands on the text that names it.
    """
    found = env.get(name)
    return None if found in (f"${name}", f"${{{name}}}", f"${{env:{name}}}") else found


def need(reference: str) -> str:
    """What a person has to give for a reference."""
    # What follows the colon of a reference we cannot read may be a value; after these words it is a name.
    return reference if _NAMED_NEED.fullmatch(reference) else reference.partition(":")[0]


def with_home(text: str, env: Mapping[str, str]) -> str:
    """A path that begins with `~`, from the home folder."""
    if text != "~" and not text.startswith(("~/", "~\\")):
        return text
    return f"{home_folder(env)}{text[1:]}"


def _file_content(path: str) -> str | None:
    """The text of a small file that holds one value, without the line break at its end."""
    if not Path(path).is_absolute():
        return None
    try:
        return decode(read_bytes(Path(path), _MAX_SECRET_FILE_BYTES)).rstrip("\r\n")
    except (ConfigurationError, Malformed):
        return None
