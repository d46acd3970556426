"""Whatever a file of a client holds, importing it brings servers and findings, and nothing else happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.importers.golden_cases import FOLDER, USUAL_NAMES, Case
from tests.fuzz.fuzzing import VALUES, damaged, fuzzed
from tests.processor_time import within
from toolcrib.clients.machine import Machine
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document
from toolcrib.config.settings import Source
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.config.sources import import_sources
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import ServerSpec

CASES = [Case.read(file) for file in sorted(FOLDER.glob("*.txt"))]
SEEDS = {name: [case.input.encode() for case in CASES if case.client == name] for name in SOURCE_TYPES}
PIECES = (
    b"${",
    b"$(id)",
    b"{{x}}",
    b"[" * 200,
    b"- &a [*a]\n",
    b"\t",
    b"\xff",
    b"!!python/name:os.system ",
    b"<!DOCTYPE a>",
    b'"""',
    b"9" * 500,
)
WORDS = "mcpServers servers command args env url headers type tools disabled timeout cwd extensions cmd uri name mcp_servers transport envFile inputs"
ENTRIES = st.recursive(
    VALUES,
    lambda inner: st.dictionaries(st.sampled_from(WORDS.split()) | st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)
ENDINGS = (".json", ".yaml", ".toml", ".xml", ".ts")


@pytest.mark.parametrize("kind", SOURCE_TYPES)
def test_fuzz_a_damaged_file_of_a_client_brings_servers_and_findings_only(kind: str, tmp_path: Path) -> None:
    @fuzzed(25)
    @given(st.one_of(damaged(SEEDS[kind], PIECES), ENTRIES.map(written)))
    def run(content: bytes) -> None:
        with within():
            imported(kind, content, tmp_path)

    run()


def written(value: object) -> bytes:
    return json.dumps(value).encode()


def imported(kind: str, content: bytes, home: Path) -> None:
    machine, findings = Machine(home, {"TOKEN": "x"}, "linux"), Findings()
    usual = SOURCE_TYPES[kind].places(machine)
    file = usual[0] if usual else home / USUAL_NAMES[kind]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    found = import_sources([Source(kind, str(file))], machine, home, lambda *_: True, findings)
    for spec in found.specs:
        assert isinstance(spec, ServerSpec)
        assert len(spec.launch_key) == 64
    assert all(isinstance(str(problem), str) for problem in findings.problems)
    assert findings.warnings is not None


@fuzzed(300)
@given(st.sampled_from(ENDINGS), damaged([seed for seeds in SEEDS.values() for seed in seeds], PIECES))
def test_fuzz_a_damaged_document_is_data_or_a_refusal(ending: str, content: bytes) -> None:
    with within():
        try:
            data = parse_document(content, Path(f"file{ending}"))
        except ConfigurationError as refusal:
            assert refusal.problems
            return
    assert data is None or isinstance(data, dict | list | str | int | float | bool) or hasattr(data, "isoformat")
