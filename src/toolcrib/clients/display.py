"""What an AI client shows its model of a result; each record says so of its client.

The facts were read in the clients' sources or in reports of their users. The sizes in records are a little smaller than
the clients' own, which leaves room for the frame of an answer.
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
