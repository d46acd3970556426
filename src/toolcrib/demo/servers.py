"""Two harmless servers for a first look, when no other server is configured."""

from __future__ import annotations

import sys

from toolcrib.model.server import Origin, ServerSpec, StdioLaunch


def demo_servers() -> tuple[ServerSpec, ...]:
    return (
        _demo("clock", "Time and dates in any time zone (demo)"),
        _demo("words", "Counting and sorting words (demo)"),
    )


def _demo(name: str, description: str) -> ServerSpec:
    launch = StdioLaunch(sys.executable, ("-m", f"toolcrib.demo.{name}"))
    return ServerSpec(name, launch, description=description, origin=Origin("demo"))
