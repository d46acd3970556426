"""Findings and kinds of pins as they are stored."""

from __future__ import annotations

from typing import get_args

import msgspec

from toolcrib.model.finding import Finding
from toolcrib.model.items import ItemKind
from toolcrib.model.pin import PinnedKind

KINDS: tuple[PinnedKind, ...] = (*get_args(ItemKind), "server")

_decode_findings = msgspec.json.Decoder(tuple[Finding, ...]).decode


def findings_to_json(findings: tuple[Finding, ...]) -> str:
    return msgspec.json.encode(findings).decode()


def read_findings(text: str) -> tuple[Finding, ...]:
    return _decode_findings(text)


def read_kinds(words: str) -> frozenset[PinnedKind]:
    """The kinds in a row; a newer version may know others."""
    return frozenset(kind for kind in KINDS if kind in words.split())
