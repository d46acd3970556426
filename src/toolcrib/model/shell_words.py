"""Words for a command line that a person may copy into a shell."""

from __future__ import annotations

import shlex


def shell_word(text: str) -> str:
    """One word, quoted where it needs to be; what does not show on a terminal is written as an escape."""
    if text.isprintable():
        return shlex.quote(text)
    shown = (_escaped(character) for character in text)
    return f"$'{''.join(shown)}'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
