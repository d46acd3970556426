"""What may be shown and how: foreign text is cleaned, measured, wrapped and coloured."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Mapping
from typing import IO, Any

from toolcrib.model.clean_text import clean, clean_lines

NARROWEST = 40

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def width_of(text: str) -> int:
    """The columns a cleaned line takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def shorten(text: str, columns: int) -> str:
    """A cleaned line, cut with an ellipsis where it is wider than `columns`."""
    if width_of(text) <= columns:
        return text
    kept, left = "", columns - 1
    for character in text:
        left -= _columns(character)
        if left < 0:
            break
        kept += character
    return kept.rstrip() + "…" if columns > 0 else ""


def wrap(text: str, columns: int, *, breaks_words: bool = False) -> list[str]:
    """A cleaned line as lines of at most `columns`, each as far in as it began.

    A wider word stands alone, whole, so that an address can be copied; with `breaks_words` it goes on in the next line.
    """
    if width_of(text) <= columns:
        return [text]
    words = text.lstrip(" ").split(" ")
    if breaks_words:
        words = [piece for word in words for piece in _pieces(word, columns)]
    indent = " " * min(len(text) - len(text.lstrip(" ")), columns // 2)
    lines, line = [], indent + words[0]
    for word in words[1:]:
        if width_of(line) + 1 + width_of(word) > columns:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}"
    return [*lines, line]


class Terminal:
    """A stream as we write to it: whether colours and live displays suit it, and how wide it is."""

    def __init__(self, stream: IO[str], *, colour: bool, is_live: bool) -> None:
        self.stream = stream
        self.colour = colour
        self.is_live = is_live

    @classmethod
    def of(cls, stream: IO[str], choice: str, env: Mapping[str, str] | None = None) -> Terminal:
        """`choice` is always, never or auto; auto colours a terminal, unless NO_COLOR asks for none."""
        _replace_unwritable(stream)
        env = os.environ if env is None else env
        is_terminal = stream.isatty() and env.get("TERM") != "dumb"
        wanted = is_terminal and not env.get("NO_COLOR") and _shows_colours(env)
        return cls(stream, colour=choice == "always" or (choice == "auto" and wanted), is_live=is_terminal)

    @property
    def width(self) -> int | None:
        """Columns to keep within; None where the text goes to a file or a pipe."""
        return max(NARROWEST, self.size.columns) if self.is_live else None

    @property
    def size(self) -> os.terminal_size:
        """Columns and lines of the terminal this stream is, which need not be that of standard output."""
        usual = shutil.get_terminal_size()
        try:
            own = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):  # not a terminal, or not even a file
            return usual
        return own if own.columns and not os.environ.get("COLUMNS") else usual

    def paint(self, text: str, *styles: str) -> str:
        if not self.colour or not text or not styles:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def write(self, text: str = "") -> None:
        self.stream.write(f"{text}\n")

    def paragraph(self, text: str, indent: str = "", *styles: str) -> None:
        """Foreign text, cleaned, indented, and wrapped where the width is known; its own line ends are kept."""
        for line in clean_lines(text).split("\n"):
            columns = self.width
            pieces = [line] if columns is None else wrap(line, columns - len(indent))
            for piece in pieces:
                self.write(f"{indent}{self.paint(piece, *styles) if styles else piece}".rstrip())

    def item(self, lead: str, text: str, *styles: str, whole: bool = False) -> None:
        """Foreign text after a short lead; where it wraps, it goes on below where it began.

        `styles` colour the lead, or the `whole` of it.
        """
        columns = self.width
        indent = " " * (width_of(lead) if columns is None else min(width_of(lead), columns // 2))
        line = clean(text)
        first, *more = [line] if columns is None else wrap(line, max(NARROWEST // 2, columns - width_of(lead)))
        lines = [lead + first, *(indent + piece for piece in more)]
        for number, line in enumerate(lines):
            painted = line.strip() if whole else lead.strip() if number == 0 else ""
            self.write(line.replace(painted, self.paint(painted, *styles), 1).rstrip() if styles else line.rstrip())


def _pieces(word: str, columns: int) -> list[str]:
    """A word in parts that fit: after a sign that parts paths and names where there is one, else anywhere."""
    pieces = []
    while width_of(word) > columns:
        end = _end_within(word, columns)
        pieces.append(word[:end])
        word = word[end:]
    return [*pieces, word]


def _end_within(word: str, columns: int) -> int:
    end = taken = 0
    for character in word:
        taken += _columns(character)
        if taken > columns:
            break
        end += 1
    # Between folders rather than within a name; a single sign at the start parts nothing.
    for signs in ("/\\", ",:;-_.@=&?"):
        parted = max(word.rfind(sign, 1, end) for sign in signs) + 1
        if parted:
            return parted
    return max(end, 1)


def home_as_tilde(path: str, env: Mapping[str, str] | None = None) -> str:
    """A path as people write it, below `~` where it is in their home."""
    env = os.environ if env is None else env
    home = (env.get("HOME") or env.get("USERPROFILE") or "").rstrip("/\\")
    if home and (path == home or path.startswith((f"{home}/", f"{home}\\"))):
        return "~" + path[len(home) :]
    return path


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _shows_colours(env: Mapping[str, str]) -> bool:
    # The old Windows console prints escape codes as they are.
    return sys.platform != "win32" or any(env.get(name) for name in ("WT_SESSION", "ANSICON", "TERM"))


def _replace_unwritable(stream: Any) -> None:
    # An encoding without our signs must not end a command in the middle of its answer.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
