"""A text as a model reads it: what disguises its words is undone, in lower case."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

# For patterns; hidden characters are looked for in all of a text.
MOST_CHARACTERS = 20_000

_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_ACCENTS = re.compile("(?<=[A-Za-z])[\u0300-\u036f\u0488\u0489\u20d0-\u20ff]+")
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһӏԛԝвмнткɡıαονρτικυγηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕКМНОРСТУХІЈЅԌօսոհցᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijsdhlqwbmhtkgiaovptikuynwABEZHIKMNOPTYXABEKMHOPCTYXIJSGounhgabcdefghijklmnoprstuvwyz",
)
_WORD = re.compile(r"[^\s_-]+")
_LATIN = re.compile("[A-Za-z]")
_OTHER_LETTERS = re.compile("[\u0370-\u058f]")
# Up to this length a text is taken for a name, which another name may have been made to look like.
_NAME = 32
_QUOTES = str.maketrans("\u2019\u2018\u201c\u201d\u00ab\u00bb\u00b4", '\'\'""""\'')
_MARKS = re.compile(r"<!--|-->|[*_#=~]{2,}|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_SPACE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[\s]*")
# A line goes on in the next one unless that begins like a new thought.
_GOES_ON = re.compile(r"(?<![.!?:;>\n])\n(?=[a-z`'\"(])")
_SPACED = re.compile(r"(?<!\w)(?:\w(?:[.*-]| {1,3})){4,}\w(?!\w)")
_LEET = str.maketrans("013457$@!", "oieastsai")
_LEET_WORD = re.compile(r"(?=[\w$@!]{0,40}[a-z][013457$@!])[\w$@!]{3,40}")


@lru_cache(256)
def reading_forms(text: str) -> tuple[str, ...]:
    """The text without its disguises; twice where digits may stand for letters."""
    plain = _plain(text[:MOST_CHARACTERS])
    unleeted = _LEET_WORD.sub(lambda word: word[0].translate(_LEET), plain)
    return (plain,) if unleeted == plain else (plain, unleeted)


def folded(text: str) -> str:
    """A name or a text in Latin letters wherever its own look like them."""
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", text.translate(_TAGS))
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    # In a text of another alphabet a word that looks like a Latin one is a word of its own.
    is_latin = len(_LATIN.findall(text)) > len(_OTHER_LETTERS.findall(text)) or len(text) <= _NAME
    return _WORD.sub(lambda word: _folded_word(word[0], is_latin), text)


def _plain(text: str) -> str:
    text = folded(html.unescape(text)).translate(_QUOTES)
    text = _SPACED.sub(lambda found: _closed_up(found[0]), text)
    text = _LINES.sub("\n", _SPACE.sub(" ", _MARKS.sub(" ", text)))
    return _GOES_ON.sub(" ", text).lower().strip()


def _closed_up(letters: str) -> str:
    """Words from letters that stand apart; two spaces or more are those between words."""
    return "".join(re.sub(r"[ .*-]", "", word) + " " for word in letters.split("  ")).strip()


def _folded_word(word: str, is_latin: bool) -> str:
    """The word in Latin letters, if it has some already or, in a Latin text, all of it looks like them."""
    other = word.translate(_LOOK_ALIKES)
    return other if (is_latin and other.isascii()) or _LATIN.search(word) else word
