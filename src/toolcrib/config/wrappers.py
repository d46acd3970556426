"""Programs that only start another one: `env X=1 program`, `sh -c "exec program"`, `nohup program`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolcrib.config.bridges import program_name

Words = tuple[str, ...]

_DEEPEST = 8
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_WINDOWS_SCRIPT_OPTIONS = frozenset({"/c", "/k", "-command"})
_WINDOWS_SHELLS = frozenset({"cmd", "powershell", "pwsh"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_BETWEEN_COMMANDS = re.compile(r"[;&|()]+")
_SPLIT_OPTION = re.compile(r"-[iv]*S|--split-string(?:=|$)")
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*c")


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How a program is told what to start: its options that take a value, and the words before the command."""

    options_with_a_value: frozenset[str] = frozenset()
    words_before: int = 0


_WRAPPERS: Mapping[str, _Wrapper] = {
    "env": _Wrapper(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "busybox": _Wrapper(),
    "exec": _Wrapper(frozenset({"-a"})),
    "command": _Wrapper(),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "time": _Wrapper(frozenset({"-f", "-o"})),
    "nice": _Wrapper(frozenset({"-n"})),
    "ionice": _Wrapper(frozenset({"-c", "-n"})),
    "stdbuf": _Wrapper(frozenset({"-i", "-o", "-e"})),
    "timeout": _Wrapper(frozenset({"-s", "--signal", "-k", "--kill-after"}), words_before=1),
    "sudo": _Wrapper(frozenset({"-u", "-g", "-h", "-D"})),
    "caffeinate": _Wrapper(frozenset({"-t", "-w"})),
}


def started_by(words: Words, depth: int = 0) -> Iterator[Words]:
    """The command itself, and every command that it would start in its place, as far as can be told."""
    if not words or depth > _DEEPEST:
        return
    yield words
    for inner in _inner(words):
        yield from started_by(inner, depth + 1)


def _inner(words: Words) -> Iterator[Words]:
    name, args = program_name(words[0]), words[1:]
    if name in _SHELLS or name in _WINDOWS_SHELLS:
        yield from _scripted(args)
    elif name in _WRAPPERS:
        split = _split_string(args) if name == "env" else None
        yield split if split is not None else _without_options(args, _WRAPPERS[name])


def _without_options(args: Words, wrapper: _Wrapper) -> Words:
    rest = list(args)
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.fullmatch(rest[0])):
        option = rest.pop(0)
        if option == "--":
            break
        if option in wrapper.options_with_a_value and rest:
            rest.pop(0)
    return tuple(rest[wrapper.words_before :])


def _split_string(args: Words) -> Words | None:
    """What `env -S "X=1 program"` starts."""
    for at, word in enumerate(args):
        option = _SPLIT_OPTION.match(word)
        if option is not None:
            text = word[option.end() :] or " ".join(args[at + 1 : at + 2])
            rest = args[at + 1 :] if word[option.end() :] else args[at + 2 :]
            return ("env", *_shell_split(text), *rest)
        if not word.startswith("-"):
            return None
    return None


def _scripted(args: Words) -> Iterator[Words]:
    """The commands of a script given with -c, /c or -Command."""
    for at, word in enumerate(args[:-1]):
        if _SCRIPT_OPTION.fullmatch(word) or word.lower() in _WINDOWS_SCRIPT_OPTIONS:
            yield from _commands(args[at + 1])
            yield args[at + 1 :]  # Windows takes all that follows for the command
            return


def _commands(script: str) -> Iterator[Words]:
    """The simple commands of a shell script, without the assignments before them."""
    for line in script.splitlines():
        command: list[str] = []
        for token in (*_shell_split(line, operators=True), ";"):
            if not _BETWEEN_COMMANDS.fullmatch(token):
                command.append(token)
            elif command:
                yield _without_options(tuple(command), _Wrapper())
                command = []


def _shell_split(text: str, *, operators: bool = False) -> Sequence[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=operators)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # a quote that is never closed
        return text.split()
