"""Read one file, YAML, JSON, TOML, XML or a script's object literal, into plain data; a hostile file costs an error, never a hang."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from toolcrib.config.json_text import parse_json
from toolcrib.config.malformed import MAX_DEPTH, Malformed, check_depth
from toolcrib.errors import ConfigurationError, Problem

MAX_FILE_BYTES = 10 * 1024 * 1024
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# By the ending of a file, what reads it: loaded with the first such file, since each brings a parser along.
_PARSERS = {
    ".yaml": "yaml_text.parse_yaml",
    ".yml": "yaml_text.parse_yaml",
    ".toml": "toml_text.parse_toml",
    ".xml": "xml_text.parse_xml",
    ".ts": "ts_data.parse_ts",
    ".js": "ts_data.parse_ts",
}


def read_bytes(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file; pipes, devices and folders are refused without waiting for them."""
    try:
        # Asked before opening: merely opening some devices has effects.
        _require_regular(path, path.stat())
        with open(os.open(path, _OPEN_FLAGS), "rb") as stream:
            _require_regular(path, os.fstat(stream.fileno()))
            content = stream.read(max_bytes + 1)
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror or type(error).__name__}")
    except ValueError:
        _refuse(path, "is not a possible file name")
    if len(content) > max_bytes:
        _refuse(path, f"is larger than {max_bytes // 1024} KiB, the most that is read")
    return content


def parse_document(content: bytes, path: Path) -> Any:
    """Plain data from the bytes of a file; `path` names it in errors and gives its format, JSON where its ending is not known."""
    parse = _parser(path.suffix.lower())
    try:
        data = parse(decode(content))
        check_depth(data)
    except Malformed as error:
        raise ConfigurationError([Problem(error.place, error.message, str(path))]) from None
    except RecursionError:
        _refuse(path, f"is nested deeper than {MAX_DEPTH} levels")
    return data


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        _refuse(path, f"is {kind}; expected a configuration file")


def decode(content: bytes) -> str:
    """UTF-8 text, with or without a byte order mark."""
    if content.startswith(_UTF16_MARKS) or b"\x00" in content[:4]:
        raise Malformed("is UTF-16 or UTF-32 text; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Malformed("is not UTF-8 text", line) from None


def _refuse(path: Path, message: str) -> NoReturn:
    raise ConfigurationError([Problem("", message, str(path))]) from None


def _parser(ending: str) -> Callable[[str], Any]:
    module, _, name = _PARSERS.get(ending, "").partition(".")
    if not module:
        return parse_json
    parse: Callable[[str], Any] = getattr(import_module(f"toolcrib.config.{module}"), name)
    return parse
