"""The operating system's keyring, through the optional package `keyring`; nothing of it is loaded before it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from toolcrib.errors import ConfigurationError, Problem

SERVICE = "toolcrib"


class OsKeyring:
    """Secrets by name, all under one service; `option` asks for it, and `otherwise` is what to do without one."""

    def __init__(
        self,
        option: str = "--secrets keyring",
        otherwise: str = "keep the values where they are with `--secrets keep`",
    ) -> None:
        self._option = option
        self._otherwise = otherwise

    def get(self, name: str) -> str | None:
        """The secret, or None when it cannot be had."""
        try:
            found = import_module("keyring").get_password(SERVICE, name)
        except Exception:  # noqa: BLE001 - each backend fails in its own way; to the reader all are "not there"
            return None
        return found if isinstance(found, str) else None

    def put(self, name: str, secret: str) -> None:
        package = self._package()
        try:
            package.set_password(SERVICE, name, secret)
        except Exception as error:  # noqa: BLE001 - as for `get`
            raise self._unusable(f"the keyring refused to store '{name}': {type(error).__name__}") from None
        if self.get(name) != secret:
            raise self._unusable(f"the keyring did not keep '{name}'")

    def drop(self, name: str) -> None:
        """Forget the secret; one that is not there is no mistake."""
        try:
            import_module("keyring").delete_password(SERVICE, name)
        except Exception:  # noqa: BLE001 - as for `get`
            return

    def require(self) -> None:
        """Raise when there is no keyring to put anything into."""
        package = self._package()
        if package.get_keyring().priority <= 0:
            raise self._unusable("this machine has no usable keyring")

    def _package(self) -> Any:
        try:
            return import_module("keyring")
        except ImportError:
            raise self._unusable("the package keyring is not installed") from None

    def _unusable(self, message: str) -> ConfigurationError:
        hint = f"Install one with `pip install toolcrib[keyring]`, or {self._otherwise}."
        return ConfigurationError([Problem(self._option, message)], hint=hint)
