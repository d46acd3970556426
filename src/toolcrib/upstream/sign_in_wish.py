"""What a sign-in starts from: who signs in where and what for, and how a person is led through it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from toolcrib.signin.record import Grant, Registration
from toolcrib.upstream.device_flow import ShowCode


@dataclass(frozen=True, slots=True)
class SignInWish:
    """Where somebody signs in, as whom, and what for."""

    server: str
    resource: str
    account: str = ""
    grant: Grant = "code"
    scopes: str = ""
    client_name: str = "Toolcrib"
    client_metadata_url: str = ""
    redirect: str = ""
    seconds: float = 300.0
    # Use a code that is typed in elsewhere, where the service offers that.
    prefers_device: bool = False
    # How the service calls the server, where that is not its address.
    indicator: str = ""
    # What signs the proof of who we are, where we have no secret.
    private_key: str = field(default="", repr=False)
    signing_algorithm: str = "RS256"
    # Who we are to the service already: registered by hand, or at a sign-in before.
    registration: Registration | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Person:
    """How a person is sent to a page, and what they bring back from it."""

    send_to: Callable[[str, str], Awaitable[None]]
    """(address, state)"""
    comes_back: Callable[[], Awaitable[dict[str, str]]]
    show_code: ShowCode
