"""Every feature of the protocol, for each pairing of client and server, on both transports; the table is in docs/protocol.md."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.matrix.features import FEATURES, Feature
from tests.matrix.pairing import Pairing, all_pairings
from tests.protocol_page import rows_differ
from tests.servers.launch import Launch

# Logging is deprecated in the newest revision, and alive.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

YES, NOT_YET, NOT_THERE = "yes", "not yet", "-"
FEATURE_SECONDS = 25.0


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["stdio", "HTTP"])
async def test_the_matrix(
    tmp_path: Path, unmeasured_environment: dict[str, str], everything_server: Launch, transport: str
) -> None:
    async with all_pairings(transport, tmp_path, unmeasured_environment, everything_server) as pairings:
        assert [pair.client.protocol_version for pair in pairings] == ["2025-11-25"] * 2 + ["2026-07-28"] * 2
        halves = await asyncio.gather(*(seen(two) for two in (pairings[:2], pairings[2:])))
        columns = [column for half in halves for column in half]

    troubles = [
        f"{pair.name}, {feature.name}: {trouble}"
        for pair, column in zip(pairings, columns, strict=True)
        for feature, (_, trouble) in zip(FEATURES, column, strict=True)
        if trouble
    ]
    rows = [
        f"| {feature.name} | {' | '.join(cell for cell, _ in cells)} |"
        for feature, cells in zip(FEATURES, zip(*columns, strict=True), strict=True)
    ]
    assert rows_differ(f"matrix, {transport}", rows) == [], "\n".join(troubles)


async def seen(pairings: Sequence[Pairing]) -> list[list[tuple[str, str]]]:
    """What came of each feature for one client, one after the other: several would hear each other's events."""
    return [[await cell(pair, feature) for feature in FEATURES] for pair in pairings]


async def cell(pair: Pairing, feature: Feature) -> tuple[str, str]:
    if pair.era not in feature.eras:
        return NOT_THERE, ""
    try:
        async with asyncio.timeout(FEATURE_SECONDS):
            await feature.check(pair)
    except Exception as trouble:  # noqa: BLE001 - the page says that it does not work; the reason is shown if that is news
        return NOT_YET, repr(trouble)
    return YES, ""
