"""What tests of sign-ins share: the authority and the server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.signin.authority import Authority, Vault
from tests.signin.house import House


@pytest.fixture
async def house() -> AsyncIterator[House]:
    authority = Authority()
    vault = Vault(authority)
    async with authority.serving(), vault.serving() as url:
        yield House(authority, vault, url)
