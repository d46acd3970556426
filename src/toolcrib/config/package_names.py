"""What a command runs, by name: the package of a runner, the image of a container, a module, or the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from toolcrib.config.bridges import program_name
from toolcrib.config.wrappers import started_by
from toolcrib.model.server import StdioLaunch

Words = tuple[str, ...]

CONTAINER_PROGRAMS = frozenset({"docker", "podman", "nerdctl"})
_PYTHON = re.compile(r"py(?:thon)?[0-9.]*w?")
_SCRIPT_RUNNERS = frozenset({"node", "nodejs", "bun", "deno", "tsx", "ts-node"})
_IN_NODE_MODULES = re.compile(r".*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\.][^/\\]*)")
_VERSION = re.compile(r"(?<=.)(?:@|\[|[=<>~!]=|[<>;\s]).*", re.DOTALL)
# Options of `docker run` and `docker exec` that are followed by no value; all others are.
_CONTAINER_SWITCHES = re.compile(
    r"-[itdPq]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|quiet|publish-all|no-healthcheck"
    r"|oom-kill-disable|sig-proxy)"
)


@dataclass(frozen=True, slots=True)
class _Runner:
    """How a runner is told what to run: the words before it, the options that name a package, those with another value."""

    words: frozenset[str] = frozenset()
    package_options: frozenset[str] = frozenset()
    value_options: frozenset[str] = frozenset()


def _npm(*words: str) -> _Runner:
    values = "-c --call -w --workspace --registry --cache --prefix --userconfig --loglevel --node-options"
    return _Runner(frozenset(words), frozenset({"-p", "--package"}), frozenset(values.split()))


def _pypi(*words: str) -> _Runner:
    values = (
        "--with --with-editable --with-requirements --python -p --index --index-url --extra-index-url --default-index"
        " --directory --project --refresh-package --env-file --constraint --pip-args --cache-dir --extra --group"
    )
    return _Runner(frozenset(words), frozenset({"--from", "--spec"}), frozenset(values.split()))


_RUNNERS: Mapping[str, _Runner] = {
    "npx": _npm(),
    "bunx": _npm(),
    "pnpx": _npm(),
    "npm": _npm("exec", "x"),
    "pnpm": _npm("dlx", "exec"),
    "yarn": _npm("dlx", "exec"),
    "bun": _npm("x"),
    "uvx": _pypi(),
    "uv": _pypi("tool", "run", "x"),
    "pipx": _pypi("run"),
}


def package_names(launch: StdioLaunch) -> list[str]:
    """Every name of what a launch runs, through wrappers and shells too; in lower case and without versions."""
    commands = started_by((launch.command, *launch.args))
    return list(dict.fromkeys(name for words in commands for name in names_run_by(words)))


def fetched_by(words: Words) -> Iterator[tuple[str, bool]]:
    """What a command fetches, as it is written, with its version: packages, and images (which the second value says)."""
    for command in started_by(words):
        program, args = program_name(command[0]), command[1:]
        if program in _RUNNERS:
            yield from ((name, False) for name in _fetched(args, _RUNNERS[program]) if name)
        elif program in CONTAINER_PROGRAMS and "exec" not in args[:2]:
            yield from ((image, True) for image in container_words(args)[1][:1])


def downloads(words: Words) -> bool:
    """Whether a command fetches what it runs, or has a container engine run it, through wrappers and shells too."""
    for command in started_by(words):
        program, args = program_name(command[0]), command[1:]
        runner = _RUNNERS.get(program)
        if program in CONTAINER_PROGRAMS or program == "dnx":
            return True
        if runner is not None and (not runner.words or any(word in runner.words for word in args[:2])):
            return True
    return False


def names_run_by(words: Words) -> list[str]:
    """The same for one command, which is taken for what it is."""
    program, args = program_name(words[0]), words[1:]
    found = [_plain(name) for name in _named(program, args)]
    if own := _IN_NODE_MODULES.match(words[0]):
        found.append(_plain(own[1]))
    return [name for name in found if name]


def container_words(args: Words) -> tuple[Words, Words]:
    """What `docker run` (or `exec`) is told of the container, and the image with all that follows it; both may be empty."""
    rest = args[1:] if args[:1] == ("container",) else args
    if not rest or rest[0] not in ("run", "exec"):
        return (), ()
    at = 1
    while at < len(rest) and rest[at].startswith("-"):
        is_whole = "=" in rest[at] or _CONTAINER_SWITCHES.fullmatch(rest[at])
        at += 1 if is_whole else 2
    return rest[1:at], rest[at:]


def _named(program: str, args: Words) -> Iterator[str]:
    if program in _RUNNERS:
        yield from _asked_to_run(args, _RUNNERS[program])
    if program in CONTAINER_PROGRAMS:
        yield from _image_names(args)
    elif _PYTHON.fullmatch(program):
        yield from (module for option, module in pairwise(args) if option == "-m")
    elif program in _SCRIPT_RUNNERS:
        yield from _scripts(args)
    elif program not in _RUNNERS:
        yield program


def _asked_to_run(args: Words, runner: _Runner) -> Iterator[str]:
    is_told = not runner.words
    words = iter(args)
    for word in words:
        option, _, value = word.partition("=")
        if option in runner.package_options:
            yield value or next(words, "")
        elif word in runner.value_options:
            next(words, "")
        elif word in runner.words:
            is_told = True
        elif not word.startswith("-"):
            if is_told:
                yield word
            return


def _fetched(args: Words, runner: _Runner) -> list[str]:
    names = list(_asked_to_run(args, runner))
    # Where an option names the package, the word after it is one of its programs.
    is_named = any(word.partition("=")[0] in runner.package_options for word in args)
    return names[:-1] if is_named and len(names) > 1 else names


def _image_names(args: Words) -> Iterator[str]:
    image = "".join(container_words(args)[1][:1]).partition("@")[0]
    folder, _, last = image.rpartition("/")
    last = last.partition(":")[0]
    yield last
    if folder:
        yield f"{folder.rpartition('/')[2]}/{last}"


def _scripts(args: Words) -> Iterator[str]:
    """The package that a script lies in, or that a runner fetches by its address."""
    script = next((word for word in args if not word.startswith("-") and word != "run"), "")
    if found := _IN_NODE_MODULES.match(script):
        yield found[1]
    elif script.startswith(("npm:", "jsr:")):
        yield script.partition(":")[2]


def _plain(name: str) -> str:
    """A package's name without its version and extras; names that differ in case, `_` and `-` are one."""
    if "://" in name:  # the repository of a package
        name = name.partition("#")[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = name.removeprefix("npm:").replace("\\", "/")
    return _VERSION.sub("", name).lower().replace("_", "-")
