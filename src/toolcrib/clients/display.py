"""What AI clients show their models of a result; told from the name a client gives at the handshake.

Where a client cuts, a model works with half a result and does not know it. Each entry was read in the client's source or
in reports of its users; a client that is not here gets what the settings say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

# `structured`: structuredContent takes the place of content where both are given, and the text is lost.
Shown = Literal["content", "structured", "both"]


@dataclass(frozen=True, slots=True)
class ClientDisplay:
    """How much of a result a client shows, and which of content and structuredContent; None is as much as it gets.

    `is_quoted` says that it counts the text as the JSON string it came in.
    """

    shows: Shown
    max_bytes: int | None = None
    max_lines: int | None = None
    is_quoted: bool = False

    @property
    def counts_bytes_only(self) -> bool:
        """Whether nothing but the bytes of the text decides whether a result is cut."""
        return self.max_lines is None and not self.is_quoted and self.shows != "both"

    def size(self, text: str) -> int:
        """The bytes of a text as this client counts them."""
        written = json.dumps(text, ensure_ascii=False) if self.is_quoted else text
        return len(written.encode("utf-8", "replace"))

    def fitting(self, text: str) -> str:
        """As much of the beginning of a text as this client shows."""
        if self.max_lines is not None:
            text = "\n".join(text.split("\n", self.max_lines)[: self.max_lines])
        while text and self.max_bytes is not None and (size := self.size(text)) > self.max_bytes:
            # Characters differ in size: the rest may be all larger ones, so the cut is made again until it fits.
            text = text[: min(len(text) - 1, len(text) * self.max_bytes // size)]
        return text


ALL_OF_THE_CONTENT = ClientDisplay("content")

# By the beginning of the name: some clients add the name of the server, or of the editor they run in. The sizes are a
# little smaller than the clients' own, which leaves room for the frame of an answer.
DISPLAYS = {
    # A result above 25,000 tokens is refused or put into a file; dense JSON has two and a half characters to a token.
    "claude-code": ClientDisplay("structured", max_bytes=48 * 1024),
    # Ten KiB or 256 lines of the content as JSON: what is above is cut out of the middle.
    "codex": ClientDisplay("structured", max_bytes=10_000, max_lines=250, is_quoted=True),
    "cursor": ClientDisplay("structured"),
    # What is above goes to a file, of which the model is told.
    "gemini-cli": ClientDisplay("content", max_bytes=39_000),
    "qwen": ClientDisplay("content", max_bytes=24_000, max_lines=990),
    "opencode": ClientDisplay("content", max_bytes=50_000, max_lines=1_990),
    "github-copilot": ClientDisplay("both", max_bytes=19_000),
    "claude-ai": ALL_OF_THE_CONTENT,
}


def display_of(client: str) -> ClientDisplay:
    """How the client of that name shows results; one that is not known is taken to show all of the content."""
    name = client.lower()
    return next((shown for known, shown in DISPLAYS.items() if name.startswith(known)), ALL_OF_THE_CONTENT)
