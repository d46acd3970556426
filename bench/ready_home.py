"""A home as somebody has it who uses Toolcrib every day: tools known, their meaning worked out, the code compiled."""

from __future__ import annotations

import compileall
import time
from collections.abc import Sequence
from pathlib import Path

import toolcrib
from bench.catalog import FIELDS, fill_home, server_names, tools_of
from bench.driver import Peer, toolcrib_environment
from bench.driver import toolcrib as gateway_command
from toolcrib.config.paths import Paths
from toolcrib.model.tool import Tool
from toolcrib.search.encoder import Encoder
from toolcrib.search.encoder_text import document_text
from toolcrib.search.index import ToolIndex
from toolcrib.search.text_key import text_hash
from toolcrib.storage.sqlite import SqliteCatalog

LONGEST_INDEXING_SECONDS = 120.0
PAUSE_SECONDS = 0.1


def ready_home(home: Path, servers: int, *, live: Sequence[str] = ()) -> Path:
    """The configuration of such a home with that many servers; a gateway ran there once."""
    home.mkdir(exist_ok=True)
    config = fill_home(home, servers, live=live)
    _give_vectors(home, servers)
    _index(home, config)
    return config


def compile_package() -> None:
    """Compile our code as an installer does: the SDK that we compare with was compiled when it was installed."""
    compileall.compile_dir(Path(toolcrib.__file__).parent, quiet=1)


def _give_vectors(home: Path, servers: int) -> None:
    """Every tool gets the vector of its like on the first server of the field: working out thousands takes minutes."""
    encoder = Encoder.shipped()
    known = {field: ToolIndex.kept_form(encoder.encode([*map(document_text, _tools(field))])) for field in FIELDS}
    vectors = {
        text_hash(document_text(tool)): vector
        for name in server_names(servers)
        for tool, vector in zip(_tools(name), known[name.partition("-")[0]], strict=True)
    }
    catalog = SqliteCatalog(Paths.of({"TOOLCRIB_HOME": str(home)}).catalog)
    catalog.save_vectors(encoder.identity, vectors)
    catalog.close()


def _tools(server: str) -> list[Tool]:
    return [Tool.from_mcp(server, definition) for definition in tools_of(server)]


def _index(home: Path, config: Path) -> None:
    """Let a gateway write the index: it has the vectors in it when it appears."""
    file = Paths.of({"TOOLCRIB_HOME": str(home)}).search_index
    end = time.monotonic() + LONGEST_INDEXING_SECONDS
    with Peer(gateway_command(config), "modern", toolcrib_environment(home)) as peer:
        peer.greet()
        while not file.exists():
            if time.monotonic() > end:
                raise RuntimeError(f"no search index after {LONGEST_INDEXING_SECONDS:g} s")
            time.sleep(PAUSE_SECONDS)
