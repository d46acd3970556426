"""What the encoder reads of a tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from toolcrib.model.tool import Tool
from toolcrib.search.document import telling_name
from toolcrib.search.terms import said_once

MAX_DESCRIPTION_CHARACTERS = 1_200
MAX_NAME_CHARACTERS = 200
MAX_PARAMETERS = 16

_SEPARATORS = re.compile(r"[\s_\-./:]+")
_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Pages of a registry that were taken for descriptions: "Deploy Server … Try in Playground list-databases".
_REGISTRY_PAGE = re.compile(r"^Deploy Server\b.*?\bTry in Playground\b", re.DOTALL)
_NO_DESCRIPTION = re.compile(r"(?:tool )?description not (?:available|accessible)[^.]*\.?", re.IGNORECASE)


def document_text(tool: Tool) -> str:
    """Server, name, description and parameter names in the order the encoder was trained on."""
    return compose(
        server_words(tool.server), name_words(telling_name(tool)), description_words(tool), parameter_words(tool)
    )


def compose(server: str, name: str, description: str, parameters: str) -> str:
    """One text of the four parts, any of which may be empty."""
    head = f"{server} {name}".strip()
    return f"{head}: {description}".rstrip() + (f" | {parameters}" if parameters else "")


def server_words(server: str) -> str:
    """A server's name in words; capitals inside a word stay, for brands are written so."""
    return " ".join(_SEPARATORS.sub(" ", server[:MAX_NAME_CHARACTERS]).split())


def name_words(name: str) -> str:
    """A name in words, split at separators and where the case changes."""
    return " ".join(_SEPARATORS.sub(" ", _CASE_CHANGE.sub(" ", name[:MAX_NAME_CHARACTERS])).split())


def description_words(tool: Tool) -> str:
    """The description without what registries put around it; the title where there is none."""
    text = _REGISTRY_PAGE.sub("", tool.description[: 2 * MAX_DESCRIPTION_CHARACTERS]).strip()
    if not text or _NO_DESCRIPTION.fullmatch(text):
        text = tool.title
    return " ".join(said_once(text.split()))[:MAX_DESCRIPTION_CHARACTERS]


def parameter_words(tool: Tool) -> str:
    """The names of the first parameters, in words."""
    properties = tool.input_schema.get("properties")
    names = properties if isinstance(properties, Mapping) else ()
    return ", ".join(filter(None, (name_words(str(name)) for name in islice(names, MAX_PARAMETERS))))
