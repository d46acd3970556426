"""A tool as weighted text fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from toolcrib.model.tool import Tool
from toolcrib.search.terms import said_once, terms

MAX_DESCRIPTION_CHARACTERS = 1_200
MAX_TEXT_CHARACTERS = 300
MAX_PARAMETERS = 32
MAX_CHOICES = 32
MAX_TAGS = 32

# An option that most tools of a server share (`tenant`, `workspace_id`) says nothing about any one of them.
_COMMON_SHARE = 0.6
_COMMON_FROM_TOOLS = 5


@dataclass(frozen=True, slots=True)
class Field:
    """How much a term in this field counts, and how strongly a longer field dilutes it.

    `usual_length` is a constant rather than the catalog's average, so that a tool's weights never depend on its
    neighbours: adding a server touches nothing that is already indexed.
    """

    weight: float
    length_effect: float
    usual_length: float


NAME = Field(weight=1.2, length_effect=0.6, usual_length=2.5)
TITLE = Field(weight=0.8, length_effect=0.6, usual_length=3)
SERVER = Field(weight=1.6, length_effect=0.5, usual_length=3)
DESCRIPTION = Field(weight=1.0, length_effect=0.6, usual_length=20)
PARAMETER_NAMES = Field(weight=0.6, length_effect=0.5, usual_length=5)
PARAMETER_TEXTS = Field(weight=0.4, length_effect=0.4, usual_length=20)
TAGS = Field(weight=1.0, length_effect=0.6, usual_length=2)

Document = Sequence[tuple[Field, Sequence[str]]]


def server_documents(tools: Sequence[Tool], tags: Sequence[Sequence[str]]) -> Iterator[Document]:
    """The documents of all tools of one server, in order; `tags` runs along `tools`."""
    parameters = [dict(_parameters(tool.input_schema)) for tool in tools]
    common = _common_names(parameters)
    for tool, own_tags, own in zip(tools, tags, parameters, strict=True):
        telling = {name: text for name, text in own.items() if name not in common}
        yield _document(tool, own_tags, telling)


def _document(tool: Tool, tags: Sequence[str], parameters: Mapping[str, str]) -> Document:
    return (
        (NAME, terms(telling_name(tool)[:MAX_TEXT_CHARACTERS])),
        (TITLE, terms(tool.title[:MAX_TEXT_CHARACTERS])),
        (SERVER, terms(tool.server[:MAX_TEXT_CHARACTERS])),
        (DESCRIPTION, said_once(terms(tool.description[:MAX_DESCRIPTION_CHARACTERS]))),
        (PARAMETER_NAMES, terms(" ".join(parameters))),
        (PARAMETER_TEXTS, terms(" ".join(parameters.values()))),
        (TAGS, terms(" ".join(tag[:MAX_TEXT_CHARACTERS] for tag in tags[:MAX_TAGS]))),
    )


def telling_name(tool: Tool) -> str:
    """The name without what all addresses of a kind begin with, such as `resource:file://`."""
    return tool.name.partition("://")[2] if tool.kind in ("resource", "template") and "://" in tool.name else tool.name


def _common_names(parameters: Sequence[Mapping[str, str]]) -> frozenset[str]:
    if len(parameters) < _COMMON_FROM_TOOLS:
        return frozenset()
    counts = Counter(name for own in parameters for name in own)
    return frozenset(name for name, count in counts.items() if count > _COMMON_SHARE * len(parameters))


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, parameter in islice(properties.items(), MAX_PARAMETERS):
            yield str(name)[:MAX_TEXT_CHARACTERS], _parameter_text(parameter)


def _parameter_text(parameter: object) -> str:
    """What a parameter is described as, and the words it may be set to."""
    if not isinstance(parameter, Mapping):
        return ""
    description, choices = parameter.get("description"), parameter.get("enum")
    words = [description, *islice(choices if isinstance(choices, list) else (), MAX_CHOICES)]
    return " ".join(word[:MAX_TEXT_CHARACTERS] for word in words if isinstance(word, str))[:MAX_TEXT_CHARACTERS]
