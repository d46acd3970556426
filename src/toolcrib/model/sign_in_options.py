"""How a person signs in to a server, as its entry says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

SignInGrant = Literal["code", "device", "client_credentials"]
SIGN_IN_GRANTS: tuple[SignInGrant, ...] = ("code", "device", "client_credentials")


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """The `oauth` of an entry. Values may hold `${NAME}`, resolved when somebody signs in."""

    is_allowed: bool = True
    # Several entries may reach one address, each as somebody else.
    account: str = ""
    grant: SignInGrant = "code"
    scopes: str = ""
    # A client that was registered by hand, where the service takes no others.
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    # In place of a secret: what signs the proof of who we are (PEM).
    private_key: str = field(default="", repr=False)
    signing_algorithm: str = ""
    # How the authorization server calls this server, where that is not its address.
    resource: str = ""
    issuer: str = ""
    callback_port: int = 0
