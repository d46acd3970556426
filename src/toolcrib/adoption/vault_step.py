"""Secrets that move to the keyring: one step among those that write files, and undone with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from toolcrib.adoption.secrets import Vault
from toolcrib.adoption.steps import Placing


@dataclass(slots=True)
class KeepSecrets:
    """Put these secrets into the vault; what it had under their names comes back when the rest fails."""

    vault: Vault
    secrets: Mapping[str, str] = field(repr=False)
    path: Path = Path("keyring")
    _earlier: dict[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def changes_something(self) -> bool:
        return bool(self.secrets)

    def check(self) -> None:
        if self.secrets:
            self.vault.require()

    def apply(self, placing: Placing) -> None:
        del placing  # No file is written.
        for name, secret in self.secrets.items():
            self._earlier[name] = self.vault.get(name)
            self.vault.put(name, secret)

    def verify(self) -> None:
        """The vault has looked itself whether it kept each of them."""

    def undo(self, placing: Placing) -> None:
        del placing
        for name, earlier in self._earlier.items():
            if earlier is None:
                self.vault.drop(name)
            else:
                self.vault.put(name, earlier)
