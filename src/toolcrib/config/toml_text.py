"""TOML as plain data."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from toolcrib.config.malformed import MAX_DEPTH, Malformed

# tomllib takes quadratic time over long dotted keys; nothing this deep would be accepted anyway.
_DEEP_DOTTED_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MAX_DEPTH}}}")
_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def parse_toml(text: str) -> Any:
    """Plain data from one TOML document."""
    if _DEEP_DOTTED_KEY.search(text):
        raise Malformed(f"is nested deeper than {MAX_DEPTH} levels")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _TOML_PLACE.search(message)
        line, column = (int(place[1]), int(place[2])) if place and place[1] else (None, None)
        raise Malformed(f"is not valid TOML: {_TOML_PLACE.sub('', message)}", line, column) from None
    except ValueError:
        raise Malformed("is not valid TOML: a number or date is out of range") from None
