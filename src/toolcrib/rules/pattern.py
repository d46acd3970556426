"""One pattern of a rule: a glob or a `/regex/flags`, perhaps negated."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from importlib import import_module

from toolcrib.foreign_regex import BadExpression, compile_foreign
from toolcrib.model.items import ITEM_PREFIXES
from toolcrib.rules.glob import PatternError, glob_to_regex

MAX_PATTERN_CHARACTERS = 1_024
MAX_NAME_CHARACTERS = 1_024
TIME_LIMIT_SECONDS = 0.02
MAX_TIMEOUTS = 3
MAX_UNTIMED_CHARACTERS = 512

# The expressions are those of `regex`, which has the flags of `re`.
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "u": re.UNICODE, "g": 0, "y": 0}
_GROUP_COLON = re.compile(r"\(\?[A-Za-z-]*:")

_log = logging.getLogger(__name__)

# A kind with its colon, perhaps as one of several: `prompt:*`, `{prompt,resource}:*`, `/^(prompt|resource):/`.
_KIND = re.compile("|".join(f"{prefix.removesuffix(':')}[^:]*:" for prefix in ITEM_PREFIXES), re.IGNORECASE)
Find = Callable[[str], bool]


class PatternUndecided(Exception):
    """A pattern could not be tried within its limits; whoever asked must choose the safe side."""


class Pattern:
    """A readable pattern. `matches` ignores the `!`; `negated` tells the rule that it was there."""

    __slots__ = ("_find", "_is_regex", "_reads_server", "_timeouts", "negated", "text")

    def __init__(self, text: str, *, negated: bool, find: Find, is_regex: bool, reads_server: bool) -> None:
        self.text = text
        self.negated = negated
        self._find = find
        self._is_regex = is_regex
        self._reads_server = reads_server
        self._timeouts = 0

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern; raises PatternError with the reason when it cannot be read."""
        if len(text) > MAX_PATTERN_CHARACTERS:
            raise PatternError(f"pattern longer than {MAX_PATTERN_CHARACTERS} characters")
        negated = text.startswith("!")
        body = text[negated:]
        if not body or body.startswith("!"):
            raise PatternError(f"expected a name pattern{' after one `!`' if negated else ''}, found {text!r}")
        if body.startswith("/") and body.rfind("/") > 0:
            source, _, flags = body[1:].rpartition("/")
            find = _compile_regex(source, flags, text)
            reads_server = ":" in _GROUP_COLON.sub("", source)
            return cls(text, negated=negated, find=find, is_regex=True, reads_server=reads_server)
        return cls(text, negated=negated, find=_compile_glob(body), is_regex=False, reads_server=":" in body)

    def matches(self, server: str, tool: str, *, is_item: bool = False, blocks: bool = True) -> bool:
        """Whether the pattern fits this tool; raises PatternUndecided when that would take too long to find out.

        Of what `is_item` the name begins with its kind, as in `prompt:review`; `blocks` says whether it is kept away where
        the pattern fits, or let through.
        """
        if self.is_off or len(server) + len(tool) > MAX_NAME_CHARACTERS:
            raise PatternUndecided(self.text)
        subjects = self._item_subjects(server, tool, blocks=blocks) if is_item else self._subjects(server, tool)
        return any(self._try(subject) for subject in subjects)

    @property
    def is_off(self) -> bool:
        """Whether the pattern ran out of time too often and is no longer tried."""
        return self._timeouts >= MAX_TIMEOUTS

    def _item_subjects(self, server: str, name: str, *, blocks: bool) -> tuple[str, ...]:
        """What is compared for an item: `prompt:*` means prompts, `github:*` all of that server, `*review*` what is called so.

        A word of the kind alone lets nothing through: `*source*` and `github:*resource*`, meant for tools, must not open
        every resource.
        """
        whole, bare = _without_braces(name), _without_braces(name.partition(":")[2])
        if not self._reads_server:
            return (*bare, *whole) if blocks else bare
        of_server = tuple(f"{server}:{one}" for one in bare)
        if blocks or _KIND.search(self.text):
            return (*of_server, *whole, *(f"{server}:{one}" for one in whole))
        return of_server

    def _subjects(self, server: str, tool: str) -> tuple[str, ...]:
        if not self._reads_server:
            return (tool,)
        # A tool that puts another server's name into its own must not pass for that server's tool.
        if self._is_regex and ":" not in tool:
            return (tool, f"{server}:{tool}")
        return (f"{server}:{tool}",)

    def _try(self, subject: str) -> bool:
        try:
            return self._find(subject)
        except TimeoutError:
            self._timeouts += 1
            if self.is_off:
                _log.warning(
                    "pattern %s is too slow and is no longer tried: rules with it block rather than allow",
                    self.text,
                )
            raise PatternUndecided(self.text) from None


def _without_braces(name: str) -> tuple[str, ...]:
    """A name, and one of a template also without its braces, since those of a glob stand for what is in them."""
    plain = name.replace("{", "").replace("}", "")
    return (name,) if plain == name else (name, plain)


def _compile_regex(source: str, flags: str, text: str) -> Find:
    unknown = sorted(set(flags) - _FLAGS.keys())
    if unknown:
        raise PatternError(f"unknown flag {unknown[0]!r} in {text!r}: known are {', '.join(_FLAGS)}")
    if not source:
        raise PatternError(f"empty regular expression in {text!r}")
    chosen = 0
    for flag in flags:
        chosen |= _FLAGS[flag]
    try:
        search = compile_foreign(source, chosen).search
    except BadExpression as problem:
        raise PatternError(f"{text!r} {problem}") from None
    return lambda subject: search(subject, timeout=TIME_LIMIT_SECONDS) is not None


def _compile_glob(body: str) -> Find:
    source = glob_to_regex(body)
    # Loaded with the first rule: many people have none.
    fullmatch = import_module("regex").compile(source, re.IGNORECASE | re.DOTALL).fullmatch
    if len(source) <= MAX_UNTIMED_CHARACTERS:
        # Short globs cannot be slow, and asking for a time limit costs more than the match.
        return lambda subject: fullmatch(subject) is not None
    return lambda subject: fullmatch(subject, timeout=TIME_LIMIT_SECONDS) is not None
