"""What sign-ins need of whoever keeps them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from toolcrib.signin.record import SignIn


class SignInStore(Protocol):
    """Keeps sign-ins for all processes of a person. Called in threads; every method may raise StoreUnavailable."""

    def get(self, key: str) -> SignIn | None:
        """The sign-in of this key, with its secrets."""

    def put(self, record: SignIn) -> SignIn:
        """Keep it in place of the one with the same key; what is given back says where its secrets are."""

    def drop(self, key: str) -> None:
        """Forget it; one that is not there is no mistake."""

    def all(self) -> list[SignIn]:
        """Those that can be read, without their secrets if these are elsewhere."""

    def locked(self, key: str, seconds: float) -> AbstractContextManager[bool]:
        """Keep other processes from renewing this sign-in; False if one does and goes on for longer than `seconds`."""
