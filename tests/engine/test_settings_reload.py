"""A reload and a restart leave the same gateway behind, whichever setting was edited."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine.inner_values import differences, inner_values
from toolcrib.config.setting_field import Scalar
from toolcrib.config.settings import SCALARS
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.gateway import Gateway
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.http import build_app, connection_limits
from toolcrib.server.http_connections import House

RELOADING = [scalar for scalar in SCALARS if scalar.reloads]
OTHER_TEXTS = {"registry.urls": ["https://registry.example"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "toolcrib.json"


def write(file: Path, **edited: Any) -> None:
    """A configuration with one server that nothing here starts, and these settings by their keys."""
    section: dict[str, Any] = {"servers": {"files": {"command": "never-started"}}}
    for key, value in edited.items():
        *outer, last = key.split(".")
        place = section
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
    file.write_text(json.dumps({"discovery": section}), encoding="utf-8")


def other_value(scalar: Scalar) -> Any:
    """A value that is allowed and is not the default."""
    match scalar.kind:
        case "flag":
            return not scalar.default
        case "texts":
            return OTHER_TEXTS.get(scalar.key, ["other.example"])
        case "text":
            return scalar.choices[-1] if scalar.choices else f"{scalar.default}-other"
        case _ if scalar.default is None:
            return 7
        case _:
            larger = scalar.default + 1
            return larger if scalar.maximum is None or larger <= scalar.maximum else scalar.default / 2


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[tuple[Gateway, Sequence[object]]]:
    """A gateway, and all there is to look into: itself with everything behind it, and its HTTP face."""
    async with open_gateway(file, read_due=False) as gateway:
        server = MCPDiscoveryServer(gateway).sdk_server
        app = build_app(server, lambda: gateway.settings, host="127.0.0.1", token=None)
        yield gateway, (gateway, app, House(lambda: connection_limits(gateway.settings)))


@pytest.mark.parametrize("scalar", RELOADING, ids=lambda scalar: scalar.key)
async def test_a_reload_takes_a_setting_over_as_a_restart_does(scalar: Scalar, file: Path):
    write(file)
    async with opened(file) as (gateway, parts):
        write(file, **{scalar.key: other_value(scalar)})
        await gateway.reload()
        reloaded = inner_values(parts)
    async with opened(file) as (gateway, parts):
        assert getattr(gateway.settings, scalar.name) != scalar.default
        assert differences(reloaded, inner_values(parts)) == {}
