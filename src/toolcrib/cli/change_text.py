"""Changed definitions in words for people, and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.approvals.change import Change, Verdict
from toolcrib.cli.terminal import Terminal
from toolcrib.model.clean_text import clean, spelled_out
from toolcrib.model.finding import Finding
from toolcrib.model.pin import PinnedKind
from toolcrib.model.tool import Tool
from toolcrib.schema.convert import convert
from toolcrib.schema.signature import signature
from toolcrib.trust.word_diff import FieldChange, Part, changed_fields

# Of words that stayed so many are shown on either side of those that did not.
CONTEXT_WORDS = 12

_KINDS: Mapping[PinnedKind, str] = {
    "tool": "Tool",
    "prompt": "Prompt",
    "resource": "Resource",
    "template": "Resource template",
    "server": "What the server says of itself",
}
_VERDICTS: Mapping[Verdict, str] = {"changed": "changed", "new": "new", "hostile": "looks hostile"}
_MARKS = {"removed": ("[-", "-]", "red"), "added": ("{+", "+}", "green")}
# The brackets of marks in foreign text, also where a mark of ours beside it would complete them.
_FORGED = re.compile(r"\[(?=-)|(?<=-)\]|\{(?=\+)|(?<=\+)\}")
_FORGED_BESIDE_OURS = re.compile(rf"{_FORGED.pattern}|[\[{{]\Z|\A[\]}}]")


def print_changes(out: Terminal, changes: Sequence[Change]) -> None:
    """All that somebody who decides has to see: each changed word, and the whole of what is new."""
    for change in changes:
        out.write()
        out.paragraph(_heading(change), "  ", "bold")
        for finding in change.findings:
            out.paragraph(finding_line(finding), "    ", "red" if finding.is_hard else "yellow")
        changed = changed_fields(_read(change.before), change.now) if change.before else []
        for field in changed:
            out.write(f"    {_without_marks(clean(field.where))}: {_marked(out, field)}")
        if not changed:  # it is new, or what was agreed to looks hostile only now
            _print_whole(out, change)


def change_json(change: Change) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": change.kind,
        "name": change.name,
        "verdict": change.verdict,
        "fingerprint": change.fingerprint,
        "now": dict(change.now),
    }
    if change.before:
        told["before"] = _read(change.before)
    if change.renamed_from:
        told["renamedFrom"] = change.renamed_from
    if change.findings:
        told["findings"] = [finding_json(finding) for finding in change.findings]
    return told


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "level": finding.level,
        "where": finding.where,
        "why": finding.why,
        "excerpt": finding.excerpt,
    }


def _heading(change: Change) -> str:
    name = f" {change.name}" if change.name else ""
    renamed = f", renamed from {change.renamed_from}" if change.renamed_from else ""
    return clean(f"{_KINDS[change.kind]}{name} ({_VERDICTS.get(change.verdict, change.verdict)}{renamed})")


def finding_line(finding: Finding) -> str:
    """What was found, where and why, in one line."""
    excerpt = f": {finding.excerpt}" if finding.excerpt else ""
    return clean(f"{finding.rule} at {finding.where or '/'}: {finding.why}{excerpt}")


def _print_whole(out: Terminal, change: Change) -> None:
    if change.kind == "tool":
        tool = Tool("", change.name, change.now)
        out.paragraph(clean(signature(tool.name, convert(tool.input_schema).type)), "    ")
    print_members(out, change.now, with_name=change.kind == "server")


def print_members(out: Terminal, definition: Mapping[str, Any], *, with_name: bool = False) -> None:
    """Every word of a definition, each with its place; without its name where a heading has it."""
    for field in changed_fields({}, definition):
        if with_name or field.where != "name":
            text = spelled_out("".join(part.text for part in field.parts))
            out.paragraph(f"{_without_marks(clean(field.where))}: {_without_marks(text)}", "    ")


def _marked(out: Terminal, field: FieldChange) -> str:
    """The words that went and came, with some that stayed around them."""
    last = len(field.parts) - 1
    return "".join(
        _around(part.text, is_first=number == 0, is_last=number == last)
        if part.operation == "same"
        else _with_marks(out, part)
        for number, part in enumerate(field.parts)
    )


def _with_marks(out: Terminal, part: Part) -> str:
    opens, closes, colour = _MARKS[part.operation]
    return out.paint(f"{opens}{_between_marks(spelled_out(part.text))}{closes}", colour)


def _around(text: str, *, is_first: bool, is_last: bool) -> str:
    words = text.split(" ")
    if len(words) <= 2 * CONTEXT_WORDS:
        return _between_marks(spelled_out(text))
    before = "" if is_first else " ".join(words[:CONTEXT_WORDS]) + " "
    after = "" if is_last else " " + " ".join(words[-CONTEXT_WORDS:])
    return _between_marks(spelled_out(f"{before}…{after}"))


def _without_marks(text: str) -> str:
    """Text in which nothing passes for a mark of ours."""
    return _FORGED.sub(_escaped, text)


def _between_marks(text: str) -> str:
    return _FORGED_BESIDE_OURS.sub(_escaped, text)


def _escaped(bracket: re.Match[str]) -> str:
    return f"\\u{ord(bracket[0]):04x}"


def _read(text: str) -> dict[str, Any]:
    read = json.loads(text)
    return read if isinstance(read, dict) else {}
