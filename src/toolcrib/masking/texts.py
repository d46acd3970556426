"""Secrets in running text that nobody has told us of: recognised by their shape, or by the name before them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from toolcrib.masking.names import is_secret_in_text, is_secret_name
from toolcrib.masking.shapes import key_spans
from toolcrib.masking.spans import MASK, Span, covered, places

# Longer than what people put before an @; without a bound a long text without one would be read again and again.
_LONGEST = 400
_MOST_ROUNDS = 8
# A character of a value that stands without quotes; a reference counts as one.
_VALUE = r"""(?:\$\{[^{}\s]*\}|[^\s"'`,;&<>(){}\[\]\\])"""
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_.-")
_SMALL_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_STEMS = ("token", "secret", "passw", "passphrase", "passcode", "pwd", "credential", "jwt", "dsn", "key")
_LAST_WORD = re.compile(r"[A-Za-z]{2,12}$")
_AFTER_NAME = re.compile(
    rf"""\\*["']?\s*(?P<sign>:=|=>|=|:)\s*
         (?:\\+["'](?P<escaped>[^"'\\]*)|"(?P<double>(?:[^"\\]|\\.)*)|'(?P<single>(?:[^'\\]|\\.)*)|(?P<bare>{_VALUE}+))
       |\s+(?:(?:is|was)\s+)?["']?(?P<next>{_VALUE}+)""",
    re.VERBOSE,
)
_USER = re.compile(
    rf"""://(?:([^\s/?#"'<>]{{1,{_LONGEST}}})
            |([^\s/?#@:\["'<>]{{0,64}}:(?!\d+(?:[/?#]|$))[^\s"'<>]{{0,{_LONGEST}}}))@""",
    re.VERBOSE,
)
_PLAIN_USER = re.compile(r"[A-Za-z][A-Za-z._-]{0,15}:?")
_QUERY = re.compile(r"""[?&#;]([\w.~%\[\]-]{1,64})=([^&\s"'<>#;]+)""")
_SIGNED = re.compile(
    rf"""authorization\\*["']?\s*[:=]\s*\\*["']?(?:(bearer|basic|token|digest|apikey|bot)\s+)?({_VALUE}{{4,}})""",
    re.IGNORECASE,
)
_SCHEME = re.compile(rf"(?:bearer|basic)\s+({_VALUE}{{8,}})", re.IGNORECASE)
_COOKIE = re.compile(r"""cookie\\*["']?\s*:\s*\\*["']?([^\s"'\\][^\r\n"'\\]*)""", re.IGNORECASE)

_STANDS_FOR_A_VALUE = re.compile(
    r"\$\{[^{}:]*(?::[^-{}][^{}]*)?\}|\$\{\{[^{}]*\}\}|\{(?:env|file|keyring):[^{}\"']*\}|\$[A-Z][A-Z_]*"
    r"|<[^<>]*>?|\.{3}|…|\*+|[xX]+"
)
_WORD = re.compile(r"[^\W\d_]+[.!?…]*")
_SAYS_NOTHING = frozenset(
    """
    true false null none nil undefined required optional missing invalid expired empty unset unknown string number integer
    boolean object yes no on off ok denied hidden redacted masked default enabled disabled
    """.split()
)


def mask_text(text: str) -> str:
    """The text without what looks like a secret in it; ordinary words, hashes, ids, paths and versions stay."""
    # Once more as long as something is found: what is left beside a mask may be part of the same value.
    for _ in range(_MOST_ROUNDS):
        spans = list(text_spans(text))
        if not spans:
            break
        text = covered(text, spans)
    return text


def cover_keys(text: str) -> str:
    """The text without keys of well-known services and without passwords in addresses, and otherwise as it is."""
    return covered(text, [*key_spans(text), *_users(text)])


def text_spans(text: str) -> Iterator[Span]:
    """Every place in a running text that looks like a secret."""
    yield from key_spans(text)
    small = text.translate(_SMALL_LETTERS)
    for span in (*_users(text), *_parameters(text), *_credentials(text, small), *_named(text, small)):
        if not stands_for_a_value(text[span.start : span.end]):
            yield span


def stands_for_a_value(text: str) -> bool:
    """Whether a text is a reference, a placeholder or a mask rather than a value; a default in a reference is a value."""
    return _STANDS_FOR_A_VALUE.fullmatch(text) is not None


def _users(text: str) -> Iterator[Span]:
    """Who signs in, in an address: `user:password@`, or a key alone."""
    for at in places(text, "://") if "@" in text else ():
        if match := _USER.match(text, at):
            group = 1 if match[1] is not None else 2
            if not _PLAIN_USER.fullmatch(match[group]):
                yield Span(*match.span(group))


def _parameters(text: str) -> Iterator[Span]:
    for match in _QUERY.finditer(text) if "=" in text else ():
        if is_secret_name(match[1]) and match[2].lower() not in _SAYS_NOTHING:
            yield Span(*match.span(2))


def _credentials(text: str, small: str) -> Iterator[Span]:
    """What signs a request: after the name of the header, or after the name of a scheme where it is no word."""
    for match in _matches_at(_SIGNED, "authorization", text, small):
        if match[1] or not _WORD.fullmatch(match[2]):
            yield Span(*match.span(2))
    for scheme in ("bearer", "basic"):
        for match in _matches_at(_SCHEME, scheme, text, small):
            if any(map(str.isdigit, match[1])):
                yield Span(*match.span(1))
    for match in _matches_at(_COOKIE, "cookie", text, small):
        if "=" in match[1]:
            yield Span(*match.span(1))


def _matches_at(pattern: re.Pattern[str], word: str, text: str, small: str) -> Iterator[re.Match[str]]:
    """What the pattern finds wherever the word stands; not looked for within what was found already."""
    done = 0
    for at in places(small, word):
        if at >= done and (match := pattern.match(text, at)):
            done = match.end()
            yield match


def _named(text: str, small: str) -> Iterator[Span]:
    """Values after a telling name; within a name or a value no further one is looked for."""
    done = 0
    for at, stem in sorted((place, word) for word in _STEMS for place in places(small, word)):
        if at < done:
            continue
        start, done = _whole_name(text, at, at + len(stem))
        after = None if small.endswith("unexpected ", 0, start) else _AFTER_NAME.match(text, done)
        if after is None or not is_secret_in_text(_with_word_before(text, start, done)):
            continue
        group = after.lastgroup
        if group and after[group] and _is_value(text[start:done], after["sign"], group, after[group]):
            yield Span(*after.span(group))
            done = after.end()


def _whole_name(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    while end < len(text) and text[end] in _NAME_CHARACTERS:
        end += 1
    return start, end


def _with_word_before(text: str, start: int, end: int) -> str:
    """The name, and where it is but the word "key", what kind of key."""
    name = text[start:end]
    if name.lower() not in {"key", "keys"} or text[start - 1 : start] != " ":
        return name
    kind = _LAST_WORD.search(text, max(0, start - 13), start - 1)
    return f"{kind[0]} {name}" if kind else name


def _is_value(name: str, sign: str | None, group: str, value: str) -> bool:
    """Whether what stands after a telling name is a value, and not a word about it: `token: expired`."""
    if value.lower().strip(".!?…") in _SAYS_NOTHING or value == MASK:
        return False
    if sign is None and not name.startswith("-"):
        return len(value) >= 8 and any(map(str.isdigit, value)) and "://" not in value and value[0] not in "/~."
    if sign == ":" and group == "bare":
        return not _WORD.fullmatch(value)
    return True
