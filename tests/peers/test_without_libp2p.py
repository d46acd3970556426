"""`peers.libp2p` where its packages are not installed: one clear message, and everything else goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.machines import machine
from tests.peers.test_meeting import both_trust, comes_to

WITHOUT = "raise ModuleNotFoundError(\"No module named 'fastecdsa'\", name='fastecdsa')"


@pytest.fixture(autouse=True)
def _no_libp2p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "libp2p.py").write_text(WITHOUT)
    source = Path(__file__).resolve().parents[2] / "src"
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{source}")


async def test_without_the_extra_the_message_names_it_and_peers_are_met_over_https(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = FakeServer("notes", [tool("add")], tools={"add": lambda _: text("done")})
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes",), peers_libp2p=True) as kitchen:
        await eventually(lambda: _told(caplog), 30)
        async with machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)) as study:
            await both_trust(study, kitchen)
            await comes_to("", study, "peer-kitchen", "notes__add")

    (told,) = _told(caplog)
    for words in ("peers.libp2p", "pip install 'toolcrib[libp2p]'", "C compiler", "GMP", "over HTTPS only"):
        assert words in told


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one for one in caplog.messages if "libp2p" in one]
