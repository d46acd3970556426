"""How clients write references, turned once into ours: `${NAME}`, `${NAME:-default}`, and named needs for the rest."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

Dialect = Callable[[str], str]

HOME = "${USERPROFILE}" if sys.platform == "win32" else "${HOME}"
RUNS_A_COMMAND = "${command:"
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_SHOUTED = "[A-Z_][A-Z0-9_]*"
_DOLLAR_TO_HIDE = re.compile(r"\$(?=[${]|\Z)")
_EDITOR_VARIABLES = (
    r"workspace\w*|file\w*|relativeFile\w*|cwd|execPath|selectedText|lineNumber|columnNumber|extensionInstallFolder"
    r"|defaultBuildTask"
)


class Ours(str):
    """Text that is in our own form already, whatever the client's dialect is."""

    __slots__ = ()


def as_it_is(text: str) -> str:
    """The dialect of files that use our own form."""
    return text


def literal(text: str) -> str:
    """The dialect of clients that have no references: every `$` means itself."""
    return hidden(text) if "${" in text else text


def hidden(text: str) -> str:
    """Literal text to put beside other text: each `$` that could be taken for the start of something as `${$}`."""
    return _DOLLAR_TO_HIDE.sub("${$}", text)


def revealed(text: str) -> str:
    """The text that was hidden."""
    return text.replace("${$}", "$")


def reference(name: str) -> Ours:
    """Our reference to a variable."""
    return Ours(f"${{{name}}}")


def dialect(pattern: str, ours: Callable[[re.Match[str]], str | None]) -> Dialect:
    """The dialect whose references match the pattern; where `ours` gives None the text means itself."""
    compiled = re.compile(pattern, re.VERBOSE | re.DOTALL)

    def translate(text: str) -> str:
        pieces, position = [], 0
        for match in compiled.finditer(text):
            turned = ours(match)
            if turned is not None:
                pieces += [hidden(text[position : match.start()]), turned]
                position = match.end()
        return "".join([*pieces, hidden(text[position:])]) if pieces else literal(text)

    return translate


def _kept(match: re.Match[str]) -> str:
    return match[0]


def _editor_variable(match: re.Match[str]) -> str:
    if match["separator"]:
        return os.sep
    if match["home"]:
        return HOME
    return reference(match["name"]) if match["name"] else match[0]


def _bare_or_braced(match: re.Match[str]) -> str:
    name = match["bare"]
    if not name:
        return match[0]
    # `$word` inside a password stays as it is where no such variable is set.
    return reference(name) if name.isupper() else f"${{{name}:-${name}}}"


def _shell(match: re.Match[str]) -> str:
    return f"{RUNS_A_COMMAND}shell}}" if match["program"] else _bare_or_braced(match)


BRACES = dialect(rf"\$\{{{_NAME}(?::-[^}}]*)?\}}", _kept)
# For clients that document no references, or others, but in whose files people write `${TOKEN}` all the same.
SHOUTED_BRACES = dialect(rf"\$\{{{_SHOUTED}(?::-[^}}]*)?\}}", _kept)
EDITOR = dialect(
    rf"""\$\{{(?:
        (?P<separator>/|pathSeparator)
      | (?P<home>userHome)
      | env:(?P<name>{_NAME})
      | (?:{_EDITOR_VARIABLES})(?::[^}}]*)?
      | (?:env|input|command|config|file):[^}}]*
      | {_SHOUTED}(?::-[^}}]*)?
    )\}}""",
    _editor_variable,
)
ENV_BRACES = dialect(rf"\$\{{env:(?P<name>{_NAME})\}}", lambda match: reference(match["name"]))
BARE_OR_BRACES = dialect(rf"\$(?:(?P<bare>{_NAME})|\{{{_NAME}(?::-[^}}]*)?\}})", _bare_or_braced)
SHELL = dialect(rf"\$(?:(?P<program>\(.*\))|(?P<bare>{_NAME})|\{{{_NAME}(?::-[^}}]*)?\}})", _shell)
DOUBLE_BRACES = dialect(r"\$\{\{[^{}]*\}\}", _kept)
