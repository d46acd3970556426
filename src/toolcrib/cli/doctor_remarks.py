"""What `toolcrib doctor` says besides how each server did: packages, sandboxes, the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolcrib.config.package_versions import unpinned_packages
from toolcrib.engine.checkup import why_no_sandbox
from toolcrib.errors import ToolcribError
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.storage.audit_check import check_log


def remarks(specs: Sequence[ServerSpec], audit_log: Path) -> Iterator[str]:
    """Sentences for people; nothing where nothing is worth a word."""
    for name, packages in _unpinned(specs).items():
        for package in packages:
            yield f"{name}: {package} has no exact version, so what runs can change by itself."
    if any(isinstance(spec.launch, StdioLaunch) and spec.launch.sandbox is not None for spec in specs):
        _, why_not = why_no_sandbox()
        yield f"No sandbox can be had here: {why_not}." if why_not else "Sandboxes can be had here."
    if why_not := _what_is_wrong(audit_log):
        yield f"The audit log is not as it was written: {why_not}. `toolcrib audit verify` shows more."


def remarks_json(specs: Sequence[ServerSpec], audit_log: Path) -> dict[str, Any]:
    reason, words = why_no_sandbox()
    wrong = _what_is_wrong(audit_log)
    return {
        "sandbox": {"available": not reason, **({"reason": reason, "message": words} if reason else {})},
        "unpinned": _unpinned(specs),
        "audit": {"whole": not wrong, **({"message": wrong} if wrong else {})},
    }


def _unpinned(specs: Sequence[ServerSpec]) -> Mapping[str, list[str]]:
    return {spec.name: found for spec in specs if (found := unpinned_packages(spec.launch))}


def _what_is_wrong(audit_log: Path) -> str:
    try:
        breaks = check_log(audit_log).breaks
    except ToolcribError as problem:
        return problem.message
    return breaks[0].what if breaks else ""
