"""Clients that can be asked, and what they were asked."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types

ROOT = "file:///work/of/the/person"


@dataclass
class Person:
    """Somebody in front of a client, with a model and a folder; `asked` is every question that reached them."""

    name: str = "Ann"
    asked: list[dict[str, Any]] = field(default_factory=list)
    allows_model: bool = True
    root: str = ROOT
    # What the client was told besides answers, as the SDK hands it over.
    told: list[Any] = field(default_factory=list)

    @property
    def callbacks(self) -> dict[str, Any]:
        """What the SDK's client is given, so that it declares elicitation, sampling and roots."""
        return {
            "elicitation_callback": self._elicited,
            "sampling_callback": self._sampled,
            "list_roots_callback": self._listed,
            "message_handler": self._told,
        }

    @property
    def messages(self) -> list[str]:
        return [question["message"] for question in self.asked if "message" in question]

    async def _elicited(self, _: Any, params: Any) -> types.ElicitResult:
        self._note(params)
        if "wants an answer of your model" in params.message:
            return types.ElicitResult(action="accept" if self.allows_model else "decline", content={"allow": "once"})
        return types.ElicitResult(action="accept", content=None if params.mode == "url" else {"name": self.name})

    async def _sampled(self, _: Any, params: Any) -> types.CreateMessageResult:
        self._note(params)
        said = types.TextContent(type="text", text=f"the model of {self.name}")
        return types.CreateMessageResult(role="assistant", content=said, model="m-1")

    async def _listed(self, _: Any) -> types.ListRootsResult:
        self.asked.append({"roots": True})
        return types.ListRootsResult(roots=[types.Root(uri=self.root, name=self.name)])  # type: ignore[arg-type]

    @property
    def completed(self) -> list[str]:
        """The pages that servers are done with, as far as the client was told."""
        return [one.params.elicitation_id for one in self.told if isinstance(one, types.ElicitCompleteNotification)]

    async def _told(self, message: Any) -> None:
        self.told.append(message)

    def _note(self, params: Any) -> None:
        self.asked.append(params.model_dump(by_alias=True, exclude_none=True, mode="json"))


ASKING_SERVER = Path(__file__).with_name("programs") / "asking_server.py"


def asking_server(era: str, log: Path | None = None) -> dict[str, Any]:
    """The entry of our small server that asks, of one era."""
    return {"command": sys.executable, "args": ["-I", "-S", str(ASKING_SERVER), era, *([str(log)] if log else [])]}
