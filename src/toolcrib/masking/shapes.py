"""What secrets look like: keys of well-known services, and words that nobody would choose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from toolcrib.masking.spans import Span, places

# The keys of services, by how they begin: what follows the beginning, for each of them.
_BEGINNINGS: dict[str, str] = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{16,}"),
    "github_pat_": r"\w{20,}",
    **dict.fromkeys(("glpat-", "glptt-", "gldt-", "glrt-", "glsoat-", "glcbt-", "glft-"), r"[\w-]{16,}"),
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[\w-]{10,}"),
    **dict.fromkeys(("AKIA", "ASIA"), r"[A-Z0-9]{16}"),
    "AIza": r"[\w-]{30,}",
    "ya29.": r"[\w-]{20,}",
    "GOCSPX-": r"[\w-]{20,}",
    **dict.fromkeys(("ATATT3", "ATCTT3"), r"[\w=-]{20,}"),
    "AGE-SECRET-KEY-1": r"[A-Z0-9]{20,}",
    "https://hooks.slack.com/services/": r"[\w/]+",
    "-----BEGIN ": r"[A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|(?=-----BEGIN)|(?=\n?\Z))",
}
# These also stand within ordinary words: such a key is a word of its own.
_BEGINNINGS_OF_WORDS: dict[str, str] = {
    "sk-": r"(?=[\w-]{0,200}\d)[\w-]{20,}",
    **dict.fromkeys(("pk_live_", "rk_live_", "sk_live_", "rk_test_", "sk_test_", "whsec_"), r"\w{16,}"),
    **dict.fromkeys(("ntn_", "hf_", "lin_api_", "lin_oauth_", "pplx-", "gsk_", "xai-", "r8_"), r"[A-Za-z0-9]{20,}"),
    **dict.fromkeys(("phc_", "phx_", "apify_api_"), r"[A-Za-z0-9]{20,}"),
    **dict.fromkeys(("figd_", "figu_", "tvly-", "nvapi-", "sbp_", "sb_secret_", "hvb.", "hvs."), r"[\w-]{16,}"),
    **dict.fromkeys(("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."), r"[\w-]{20,}"),
    **dict.fromkeys(("sntrys_", "sntryu_"), r"[\w=+/-]{20,}"),
    **dict.fromkeys(("shpat_", "shpca_", "shppa_", "shpss_", "fc-", "dapi"), r"[A-Fa-f0-9]{32}"),
    **dict.fromkeys(("doo_v1_", "dop_v1_", "dor_v1_"), r"[a-f0-9]{40,}"),
    "eyJ": r"[\w-]{8,}+\.[\w-]{8,}(?:\.[\w-]*)*",
    "secret_": r"[A-Za-z0-9]{40,}",
    "npm_": r"[A-Za-z0-9]{30,}",
    "tc_": r"[0-9a-f]{10}_[\w-]{40,}",  # our own, for single programs
    "pypi-": r"[\w-]{40,}",
    "SG.": r"[\w-]{16,}\.[\w-]{16,}",
}
# Telegram puts the number of the bot first.
_BOT_KEY = (":AA", re.compile(r"[\w-]{30,}"))

_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_HASH = re.compile(r"[0-9A-Fa-f]{32,}")
_OPAQUE_CHARACTERS = re.compile(r"[\w.~+=%:-]{16,}", re.ASCII)
_PIECE = re.compile(r"[A-Za-z0-9]+")
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# A made-up word is made of runs: of letters in one case, or of digits. Words have long runs, keys have short ones.
_LONGEST_RUN_OF_KEYS = 3.2
_FEWEST_WILD = 14

_ORDINARY = re.compile(
    r"[A-Za-z]{1,16}|[\d.,: +-]+|(?:[a-z]{2,}-)+\d{1,2}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:https?://[\w.-]+(?::\d+)?|~|\.{0,2}|[A-Za-z]:|[A-Za-z]+)(?:[/\\][\w .@+-]*)+"
)


@cache  # made at the first need: most commands never come to it
def _keys() -> list[tuple[str, re.Pattern[str], bool]]:
    """How each key begins, what follows, and whether it is a word of its own."""
    anywhere = [(start, re.compile(rest), False) for start, rest in _BEGINNINGS.items()]
    return anywhere + [(start, re.compile(rest), True) for start, rest in _BEGINNINGS_OF_WORDS.items()]


def key_spans(text: str) -> Iterator[Span]:
    """Every key of a well-known service in a text."""
    for beginning, rest, is_word in _keys():
        done = 0
        for at in places(text, beginning):
            if at < done or (is_word and at and (text[at - 1].isalnum() or text[at - 1] in "_-")):
                continue
            if key := rest.match(text, at + len(beginning)):
                done = key.end()
                yield Span(at, done)
    beginning, rest = _BOT_KEY
    for at in places(text, beginning):
        if at and text[at - 1].isdigit() and (key := rest.match(text, at + len(beginning))):
            yield Span(at + 1, key.end())


def is_ordinary(value: str) -> bool:
    """Whether a value is one of those that anybody could have: a word, a number, a region, a path, a plain address."""
    if not _ORDINARY.fullmatch(value):
        return _UUID.fullmatch(value) is not None
    return not any(map(is_opaque, re.split(r"[/\\]", value)))


def is_hash(word: str) -> bool:
    return _HASH.fullmatch(word) is not None


def is_opaque(word: str, *, is_address: bool = False) -> bool:
    """Whether a word of an entry is a key rather than a name; in an address, ids are keys too."""
    if _UUID.fullmatch(word):
        return is_address
    if is_hash(word):
        return True
    return bool(_OPAQUE_CHARACTERS.fullmatch(word)) and _wild_characters(word) >= _FEWEST_WILD


def _wild_characters(word: str) -> int:
    return sum(len(piece) for piece in _PIECE.findall(word) if _is_wild(piece))


def _is_wild(piece: str) -> bool:
    runs = _RUN.findall(piece)
    has_digits = any(run.isdigit() for run in runs)
    return has_digits and len(runs) > 1 and len(piece) / len(runs) < _LONGEST_RUN_OF_KEYS
