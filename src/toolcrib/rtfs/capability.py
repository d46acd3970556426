"""A capability as one RTFS form describes it."""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib.rtfs.forms import Form, Literal
from toolcrib.rtfs.types import TypeExpr


@dataclass(frozen=True, slots=True)
class Provider:
    """Who does the work; `others` are further facts, kept as they were read."""

    type: str = "mcp"
    server_url: str = ""
    tool_name: str = ""
    others: tuple[tuple[Literal, Form], ...] = ()


@dataclass(frozen=True, slots=True)
class Capability:
    """What a capability file says; an empty field is one it does not have, `others` are keys we only keep."""

    id: str
    version: str = ""
    name: str = ""
    description: str = ""
    input_schema: TypeExpr | None = None
    output_schema: TypeExpr | None = None
    provider: Provider | None = None
    domains: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    others: tuple[tuple[str, Form], ...] = ()
