"""A vault and its authority, as a person with one configured server meets them."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.signin.authority import Authority, Vault
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.paths import Paths
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.gateway import Gateway
from toolcrib.model.call import ExecutionError
from toolcrib.signin.record import Endpoints, Registration, SignIn, Tokens
from toolcrib.storage.sign_in_files import SignInFiles


class House:
    """The two servers, the person's configuration, and the sign-ins that are kept."""

    def __init__(self, authority: Authority, vault: Vault, url: str) -> None:
        self.authority = authority
        self.vault = vault
        self.url = url
        self.paths = Paths.of(os.environ)
        self.store = SignInFiles(self.paths.sign_ins_dir, OsKeyring())

    def sign_in(self, *, life: float | None = 3600.0, **more: Any) -> SignIn:
        """A sign-in of an hour ago, whose token holds for `life` seconds from now."""
        now = time.time()
        access, refresh = self.authority.give("read", self.url)
        tokens = Tokens(
            access=access,
            refresh=refresh,
            given_at=now - 3600,
            expires_at=None if life is None else now + life,
            scope="read",
        )
        there = self.authority.address
        record = SignIn(
            resource=self.url,
            server="vault",
            issuer=there,
            indicator=self.url,
            endpoints=Endpoints(token=f"{there}/token", revocation=f"{there}/revoke"),
            registration=Registration(id="client-of-before", issuer=there),
            signed_in_at=now - 3600,
            **{"tokens": tokens, **more},
        )
        return self.store.put(record)

    @property
    def record(self) -> SignIn | None:
        """The sign-in that is kept now, with its tokens."""
        [*found] = self.store.all()
        return self.store.get(found[0].key) if found else None

    @property
    def tokens(self) -> Tokens:
        record = self.record
        assert record is not None
        assert record.tokens is not None
        return record.tokens

    @property
    def renewals(self) -> int:
        return len(self.authority.asked("/token", "refresh_token"))

    def configure(self, *, more: dict[str, Any] | None = None, **entry: Any) -> Path:
        """Write the person's own configuration."""
        servers = {"vault": {"url": self.url, "type": "http", **entry}, **(more or {})}
        self.paths.config_file.parent.mkdir(parents=True, exist_ok=True)
        self.paths.config_file.write_text(json.dumps({"servers": servers}), "utf-8")
        return self.paths.config_file

    @asynccontextmanager
    async def gateway(self, **entry: Any) -> AsyncIterator[Gateway]:
        async with open_gateway(self.configure(**entry), read_due=False) as gateway:
            yield gateway


async def said(gateway: Gateway, text: str = "hello", tool: str = "open_drawer") -> Any:
    """What a call of the vault answers."""
    outcome = await gateway.execute_tool("vault", tool, {"text": text})
    assert outcome.error is None, outcome.error
    return outcome.value


async def error_of(gateway: Gateway, tool: str = "open_drawer") -> ExecutionError:
    outcome = await gateway.execute_tool("vault", tool, {"text": "hello"})
    assert outcome.error is not None
    return outcome.error


async def soon_said(gateway: Gateway, seconds: float = 10.0) -> Any:
    """The same once the gateway tries again, which it does a moment after a failure."""
    for _ in range(int(seconds / 0.05)):
        outcome = await gateway.execute_tool("vault", "open_drawer", {"text": "hello"})
        if outcome.error is None:
            return outcome.value
        await asyncio.sleep(0.05)
    raise AssertionError(outcome.error)
