"""The words that engine and connector exchange after the greeting, each a line: a word, then perhaps a text."""

from __future__ import annotations

# From the engine.
TAKEN = "taken"  # the descriptors are in use; from now on the journal says how far we got
SAY = "say"  # a line for the client's log
END = "end"  # the exit code
ALONE = "alone"  # run the gateway in your own process, for this reason
AGAIN = "again"  # another engine takes over: come again, with the journal
# From the connector.
STOP = "stop"
RELOAD = "reload"


def line(word: str, text: str = "") -> bytes:
    """A word as it is sent; a text of several lines stays one."""
    flat = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "")
    return f"{word} {flat}".rstrip().encode("utf-8", "backslashreplace") + b"\n"


def split(received: bytes) -> tuple[str, str]:
    """The word and its text."""
    word, _, flat = received.decode("utf-8", "replace").rstrip("\n").partition(" ")
    return word, "\\".join(part.replace("\\n", "\n") for part in flat.split("\\\\"))
