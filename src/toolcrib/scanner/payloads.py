"""Instructions and commands in an encoding, and commands that would do harm."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from toolcrib.model.finding import Finding, Level
from toolcrib.scanner.evidence import heaviest
from toolcrib.scanner.excerpts import excerpt, shortened
from toolcrib.scanner.install_lines import is_install_line
from toolcrib.scanner.quoting import is_named_command
from toolcrib.scanner.reading_form import MOST_CHARACTERS, reading_forms
from toolcrib.scanner.texts import Text

# What is encoded has no innocent reason to speak like this, so that less evidence is enough.
_ENOUGH_ENCODED = 3
_MOST_LAYERS = 2
_MOST_CANDIDATES = 50
_SHORTEST = 8
_MOST_NAMED = 10
_SENTENCE = re.compile(r"[A-Za-z]{3,} [A-Za-z]{2,} [A-Za-z]{2,}")

_HARM = re.compile(
    r"\b(?:curl|wget|iwr|invoke-webrequest|fetch)\b[^\n|;]{0,200}\| ?(?:sudo )?(?:ba|z|da|fi)?sh\b|\b(?:curl|wget)\b[^\n|;]{0,200}\| ?(?:sudo )?(?:python|perl|node|ruby)\d?\b"
    r"|\brm -(?:rf|fr|r|r -f) (?:--no-preserve-root )?(?:[~/*]|\$home)|\bnc (?:-\w{1,5} ){0,4}-[ec]\b|/dev/tcp/|\bpowershell(?:\.exe)? (?:-\w{1,20} ){0,6}-(?:e|en|enc|encodedcommand)\b"
    r"|\bchmod \+x\b[^\n]{0,80}&&|\beval\(atob\(|\bbase64 (?:-d|--decode)\b[^\n]{0,40}\| ?(?:ba)?sh|\bmkfifo\b[^\n]{0,120}\bnc\b"
    r"|>{1,2} ?~/\.(?:bashrc|zshrc|profile|ssh)|\$\((?:curl|wget|nc)\b|`(?:curl|wget) [^`]{0,120}\$|\biex ?\(|\bcrontab -|\bmkfs\.|\bdd if=[^\n]{0,60}of=/dev/|:\(\) ?\{ ?:\|:"
    r"|\bpython3? -c ['\"][^\n]{0,120}(?:socket|urllib|exec\()|\b(?:scp|rsync|curl)\b[^\n]{0,60}(?:~/\.ssh|\.env\b|/etc/passwd|id_rsa)"
)
_LONG = re.compile(
    r"\S{24}|(?:[0-9a-fA-F]{2}[ :]){12}|%[0-9a-fA-F]{2}|\\[ux]"
    r"|[a-z0-9][A-Z][\w+/]{0,80}[ \n][\w+/]{0,80}[a-z0-9][A-Z]"
)
_BASE64 = re.compile(r"(?<![\w+/-])[\w+/-]{16,}={0,2}(?![\w+/-])", re.ASCII)
# The same in pieces, among which no plain word is.
_PIECES = re.compile(r"(?<![\w+/])(?:[A-Za-z0-9+/]{4,}[ \n]){2,}[A-Za-z0-9+/]{2,}={0,2}(?![\w+/])", re.ASCII)
_IS_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]*|[A-Z]*|[0-9]*")
_BASE32 = re.compile(r"(?<![A-Z2-7])[A-Z2-7]{24,}={0,6}(?![A-Z2-7=])")
_HEX = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}[ :]?){12,}(?![0-9a-fA-F])|(?:\\x[0-9a-fA-F]{2}){8,}")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}){4,}")
_PERCENT = re.compile(r"(?:[^\s%]{0,40}%[0-9a-fA-F]{2}){4,}\S{0,400}")
# The words that a text turned by 13 letters, or around, would not have by chance.
_TURNED = ("vtaber", "cebzcg", "vafgehpgvba", "frperg", "cnffjbeq", "hfre", ".ffu")
_REVERSED = ("erongi", "tpmorp", "snoitcurtsni", "terces", "drowssap", "resu eht", "hss.")


def payloads(text: Text) -> Iterator[Finding]:
    words = text.words[:MOST_CHARACTERS]
    yield from _commands(text, words)
    for inner in _decoded(words):
        if finding := _encoded(text.where, inner):
            yield finding
            return


def harmful_command(form: str) -> re.Match[str] | None:
    return _HARM.search(form)


def _commands(text: Text, words: str) -> Iterator[Finding]:
    form = reading_forms(words)[0]
    levels: list[tuple[Level, re.Match[str]]] = []
    for number, found in enumerate(_HARM.finditer(form)):
        # Nobody names commands that often.
        is_mild = number < _MOST_NAMED and (is_named_command(form, found) or is_install_line(text, form, found))
        levels.append(("soft" if is_mild else "hard", found))
        if not is_mild:
            break
    if levels:
        level, found = levels[-1]
        yield Finding("payload", level, text.where, "has a shell command that would do harm", excerpt(form, found))


def _encoded(where: str, inner: str) -> Finding | None:
    if is_hostile(inner):
        return Finding("payload", "hard", where, "hides instructions in an encoding", shortened(inner))
    if _SENTENCE.search(inner):
        return Finding("payload", "soft", where, "hides a text in an encoding", shortened(inner))
    return None


def is_hostile(inner: str) -> bool:
    """Whether words that were encoded are an order or a command."""
    return heaviest(inner).points >= _ENOUGH_ENCODED or harmful_command(reading_forms(inner)[0]) is not None


def _decoded(words: str, layer: int = 1) -> Iterator[str]:
    for inner in _once_decoded(words):
        if len(inner) >= _SHORTEST and (inner.isprintable() or "\n" in inner):
            yield inner
            if layer < _MOST_LAYERS:
                yield from _decoded(inner, layer + 1)


def _once_decoded(words: str) -> Iterator[str]:
    lower = words.lower()
    if any(stem in lower for stem in _TURNED):
        yield codecs.decode(words, "rot13")
    if any(stem in lower for stem in _REVERSED):
        yield words[::-1]
    if _LONG.search(words):
        for pattern, decode in _DECODERS:
            for number, found in enumerate(pattern.finditer(words)):
                if number == _MOST_CANDIDATES:
                    break
                yield decode(found[0])


def _from_bytes(decode: Callable[[str], bytes]) -> Callable[[str], str]:
    def decoded(found: str) -> str:
        try:
            return decode(found).decode("utf-8")
        except (binascii.Error, ValueError):
            return ""

    return decoded


def _base64(found: str) -> bytes:
    raw = found.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(raw + "=" * (-len(raw) % 4))


def _base64_pieces(found: str) -> bytes:
    """Without the plain words before and after the pieces."""
    pieces = found.split()
    while pieces and _IS_PLAIN_WORD.fullmatch(pieces[0]):
        del pieces[0]
    while pieces and _IS_PLAIN_WORD.fullmatch(pieces[-1]):
        del pieces[-1]
    joined = "".join(pieces).rstrip("=") if len(pieces) > 1 else ""
    return _base64(joined[:-1] if len(joined) % 4 == 1 else joined)


def _base32(found: str) -> bytes:
    raw = found.rstrip("=")
    return base64.b32decode(raw + "=" * (-len(raw) % 8))


def _hex(found: str) -> bytes:
    return bytes.fromhex(re.sub(r"\\x|[ :]", "", found))


def _escapes(found: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda one: chr(int(one[1], 16)), found)


_DECODERS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (_BASE64, _from_bytes(_base64)),
    (_PIECES, _from_bytes(_base64_pieces)),
    (_BASE32, _from_bytes(_base32)),
    (_HEX, _from_bytes(_hex)),
    (_ESCAPES, _escapes),
    (_PERCENT, unquote),
)
