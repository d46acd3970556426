"""JSON as clients write it: comments and trailing commas are tolerated, duplicate keys are not."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from toolcrib.config.malformed import Malformed

# Strings come first in both, so that what looks like a comment inside one is kept.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")


class _Refused(ValueError):
    """Well-formed JSON that we do not take."""


def parse_json(text: str) -> Any:
    """Plain data from JSON with or without comments; an empty text is an empty map."""
    if not text.strip():
        return {}
    try:
        return _loads(text)
    except json.JSONDecodeError:
        return _parse_relaxed(text)
    except ValueError as error:
        raise Malformed(_reason(error)) from None


def _parse_relaxed(text: str) -> Any:
    plain = _STRING_OR_TRAILING_COMMA.sub(_blank, _STRING_OR_COMMENT.sub(_blank, text))
    try:
        return _loads(plain) if plain.strip() else {}
    except json.JSONDecodeError as error:
        raise Malformed(f"is not valid JSON: {error.msg}", error.lineno, error.colno) from None
    except ValueError as error:
        raise Malformed(_reason(error)) from None


def _blank(match: re.Match[str]) -> str:
    # Blanks of the same shape, so that lines and columns of later errors stay true.
    found = match[0]
    return found if found.startswith('"') else _NOT_NEWLINE.sub(" ", found)


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _Refused(f"has the key '{twice}' twice in one map")
    return data


def _no_constant(name: str) -> Any:
    raise _Refused(f"holds {name}, which is not a JSON number")


def _reason(error: ValueError) -> str:
    return str(error) if isinstance(error, _Refused) else "is not valid JSON: a number has too many digits"
