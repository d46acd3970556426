"""What a file that came with a folder would bring, for the person who decides about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.approvals.risk import Risk, assess
from toolcrib.approvals.shown_launch import shown_launch, without_own_secrets
from toolcrib.cli.launch_text import launch_lines
from toolcrib.cli.terminal import Terminal
from toolcrib.config.diagnostics import Findings
from toolcrib.config.project_files import as_written, is_project_file, read_project_file
from toolcrib.model.clean_text import clean, clean_lines
from toolcrib.model.server import Launch, ServerSpec

_OURS = Risk("high", ("it can start programs with your rights, and change every setting and rule",))


@dataclass(frozen=True, slots=True)
class Held:
    """The servers of a client's file, or all of any other one word by word; `problems` are what would be left out."""

    servers: Sequence[ServerSpec] = ()
    problems: Sequence[str] = ()
    # None of a client's file.
    text: str | None = None

    @property
    def risk(self) -> Risk:
        """That of all its servers together."""
        if self.text is not None:
            return _OURS
        each = [assess(spec.launch, ()) for spec in self.servers]
        reasons = tuple(dict.fromkeys(reason for risk in each for reason in risk.reasons))
        return Risk("high" if any(risk.level == "high" for risk in each) else "medium", reasons)

    def json(self) -> dict[str, Any]:
        servers = [{"name": spec.name, "launch": shown_launch(_shown(spec))} for spec in self.servers]
        more = {} if self.text is None else {"content": self.text}
        return {"servers": servers, **more, **({"problems": list(self.problems)} if self.problems else {})}

    def print(self, out: Terminal) -> None:
        """In full: nothing is shortened."""
        for line in (self.text or "").splitlines():
            out.write(f"    {line}")
        for spec in self.servers:
            out.paragraph(clean(spec.name), "  ", "bold")
            for label, words in launch_lines(_shown(spec)):
                out.paragraph(f"{label}: {clean(words)}", "    ")
        for problem in self.problems:
            out.paragraph(f"left out: {problem}", "  ")
        if not (self.servers or self.text):
            said = (
                "It names no server that could be used."
                if self.text is None
                else "It is empty, and used in place of your own."
            )
            out.paragraph(said, "  ")


def held_by(file: Path, content: bytes) -> Held:
    """What a file with this content brings: what is shown is what was read once, whatever is there a moment later."""
    if not is_project_file(file):
        return Held(text=clean_lines(content.decode("utf-8", "replace")))
    findings = Findings()
    specs = read_project_file(file, content, findings)
    return Held(specs, [str(problem) for problem in (*findings.fatal, *findings.problems)])


def _shown(spec: ServerSpec) -> Launch:
    return without_own_secrets(as_written(spec.launch))
