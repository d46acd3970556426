"""Small turns of phrase that several commands use."""

from __future__ import annotations

from toolcrib.errors import ConfigurationError, ToolcribError


def counted(number: int, noun: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def with_times(name: str, count: int) -> str:
    """A name, and how often it is there if that is more than once."""
    return f"{name} \N{MULTIPLICATION SIGN}{count}" if count > 1 else name


def in_words(error: ToolcribError) -> str:
    """What went wrong; where a file has to be edited, that comes first."""
    if isinstance(error, ConfigurationError) and not all(one.where.startswith("--") for one in error.problems):
        return f"the configuration can't be used:\n{error.message}"
    return error.message
