"""Typed reading from plain data; every misfit becomes a problem, and no value is repeated in it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from toolcrib.config.names import did_you_mean
from toolcrib.errors import Problem


class Reader:
    """Reads the keys of one map. Values may be secrets: problems name the kind of thing found, never what it says."""

    def __init__(self, data: Mapping[str, Any], where: str, source: str) -> None:
        self.data = data
        self.where = where
        self.source = source
        self.problems: list[Problem] = []

    def fail(self, key: str, message: str) -> None:
        self.problems.append(Problem(join(self.where, key), message, self.source))

    def expected(self, key: str, expected: str, found: Any) -> None:
        self.fail(key, f"expected {expected}, found {kind_of(found)}")

    def text(self, key: str) -> str | None:
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.expected(key, "text", value)
            return None
        if "\x00" in value:
            self.fail(key, "expected text, found a NUL character in it")
            return None
        return value

    def flag(self, key: str) -> bool | None:
        value = self.data.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.expected(key, "true or false", value)
        return None

    def seconds(self, key: str) -> float | None:
        return self._seconds(key, self.data.get(key))

    def seconds_map(self, key: str) -> dict[str, float]:
        """A map to seconds; a null value leaves its name out."""
        value = self.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.expected(key, "a map of names to seconds", value)
            return {}
        read = {str(name): self._seconds(join(key, str(name)), item) for name, item in value.items()}
        return {name: seconds for name, seconds in read.items() if seconds is not None}

    def _seconds(self, key: str, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            number = f"{value}" if isinstance(value, int | float) else kind_of(value)
            self.fail(key, f"expected a number of seconds above 0, found {number}")
            return None
        return float(value)

    def rate(self, key: str) -> float | None:
        """A number of times a second, above 0."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            self.expected(key, "a number above 0, of times a second", value)
            return None
        return float(value)

    def count(self, key: str) -> int | None:
        """A whole number, 1 or more."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.expected(key, "a whole number, 1 or more", value)
            return None
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; numbers in it are taken as they are written."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            self.expected(key, "a list of texts", value)
            return None
        return tuple(self._plain_text(join(key, index), item) for index, item in enumerate(value))

    def text_map(self, key: str) -> dict[str, str]:
        """A map to texts; a null value leaves its name out."""
        value = self.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.expected(key, "a map of names to texts", value)
            return {}
        return {name: self._plain_text(join(key, name), item) for name, item in value.items() if item is not None}

    def _plain_text(self, key: str, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        if isinstance(value, str) and "\x00" not in value:
            return value
        self.expected(key, "text", value)
        return ""


def kind_of(value: Any) -> str:
    """What kind of thing a value is, in words that do not repeat it."""
    if value is None:
        return "nothing"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a map"}
    kind = kinds.get(type(value), "something else")
    is_empty = isinstance(value, str | list | dict) and not value
    return f"an empty {kind.removeprefix('a ')}" if is_empty else kind


def unknown_keys(data: Mapping[str, Any], known: Collection[str]) -> list[tuple[str, str]]:
    """Each key that is not known, with a message naming the nearest one that is."""
    return [(key, f"unknown key{did_you_mean(key, known)}") for key in data if key not in known]


def join(where: str, key: str | int) -> str:
    """A path inside a file: `servers.github.args[0]`."""
    if isinstance(key, int):
        return f"{where}[{key}]"
    return f"{where}.{key}" if where and key else where or key
