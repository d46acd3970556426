"""Files of ours that somebody else has written in, and what peers say: read, refused or found out, never a crash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzzing import VALUES, damaged, fuzzed
from tests.processor_time import within
from toolcrib.adoption.journal import JournalFile
from toolcrib.calls.audit_log import AuditRecord
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.from_settings import audit_file
from toolcrib.engine.introductions import introductions_in
from toolcrib.errors import ConfigurationError, PeerRefused, ToolcribError
from toolcrib.peers.card import read_card
from toolcrib.storage.audit_check import check_log
from toolcrib.storage.audit_trail import files_of_log
from toolcrib.wire.jsonrpc import on_one_line

PEER = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
CARDS = [
    b'{"name":"a","version":"1","peer_id":"%b","timestamp":1,"endpoint":{"path":"/mcp"},"tools":[],"tls":"x","signatures":[{"protected":"a","signature":"b"}]}'
    % PEER.encode(),
    b'{"peers":[{"peer_id":"%b","addresses":["https://192.0.2.1:8665","/ip4/192.0.2.7/tcp/4001"]}]}' % PEER.encode(),
    b'{"version":1,"clients":{"cursor":{"files":[]}}}',
]
PIECES = (
    b"[" * 1_500,
    b'{"a":' * 1_500,
    b"\xff\xfe",
    b"\x80",
    b"null",
    b"1e999",
    b"9" * 5_000,
    b'"signatures":[]',
    b"\\ud800",
)


@fuzzed(300)
@given(damaged(CARDS, PIECES))
def test_fuzz_what_a_peer_says_is_believed_or_refused(body: bytes) -> None:
    with within():
        assert isinstance(introductions_in(body, ()), list)
        with pytest.raises(PeerRefused):  # none of them is signed
            read_card(body, now=1.0, certificate_hash=None)


@fuzzed(150)
@given(damaged(CARDS, PIECES))
def test_fuzz_a_damaged_journal_of_adoptions_is_read_or_refused(content: bytes) -> None:
    try:
        JournalFile(Path("journal.json"), content).journal()
    except (ConfigurationError, ToolcribError) as refusal:
        assert refusal.message


def test_fuzz_every_damage_to_the_audit_log_is_found(tmp_path: Path) -> None:
    path = Paths.of(os.environ).audit_log
    log = audit_file(Settings(), Paths.of(os.environ))
    for number in range(6):
        assert log.append(AuditRecord(1000.0, "agent", "stdio", "files", f"tool {number}", ("a",), "OK", 1.0, 10, 20))
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert check_log(path).breaks == ()

    @fuzzed(150)
    @given(damaged([whole], (lines[2], lines[4], b"\n", b"{}\n", b"\xff", b'"n":3')))
    def run(content: bytes) -> None:
        path.write_bytes(content)
        with within():
            checked = check_log(path)
        # A blank line, or the last line end, says nothing.
        if [line for line in content.split(b"\n") if line] != [line for line in whole.split(b"\n") if line]:
            assert checked.breaks or checked.unchained
        for line in files_of_log(path):
            assert line.exists()

    run()


@fuzzed(100)
@given(VALUES, st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_fuzz_one_line_stays_one(value: object, end: bytes) -> None:
    text = repr(value).encode("utf-8", "replace").replace(b" ", end)
    assert not {0x0A, 0x0D} & set(on_one_line(text))
