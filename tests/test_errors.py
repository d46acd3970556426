"""errors.py is the whole tree: no error of ours is defined elsewhere, and both drawings of it are true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import toolcrib
from toolcrib import errors
from toolcrib.errors import ToolcribError

LIBRARY_PAGE = Path(__file__).resolve().parent.parent / "docs" / "library.md"
# Runs in a process of its own, and raises nothing that leaves it.
NEEDS_AN_EXTRA = "toolcrib.libp2p_node."
# Programs, and what can be imported on Windows only.
NOT_IMPORTED = {"toolcrib.__main__", "toolcrib.demo.clock", "toolcrib.demo.words", "toolcrib.upstream.windows_job"}
BRANCH = re.compile(r"^(?P<indent>[│ ]*)[├└]── (?P<name>\w+)", re.MULTILINE)


def tree(error: type[ToolcribError]) -> Iterator[type[ToolcribError]]:
    yield error
    for kind in error.__subclasses__():
        yield from tree(kind)


def test_every_error_is_defined_in_one_file() -> None:
    for module in walk_packages(toolcrib.__path__, "toolcrib."):
        if module.name not in NOT_IMPORTED and not module.name.startswith(NEEDS_AN_EXTRA):
            import_module(module.name)

    ours = [error for error in tree(ToolcribError) if error.__module__.startswith("toolcrib.")]
    assert [error.__qualname__ for error in ours if error.__module__ != errors.__name__] == []


def test_the_drawn_tree_is_the_tree_of_the_classes() -> None:
    drawn, above = {"ToolcribError": "Exception"}, ["ToolcribError"]
    for branch in BRANCH.finditer(errors.__doc__ or ""):
        depth = len(branch["indent"]) // 4 + 1
        drawn[branch["name"]] = above[depth - 1]
        above[depth:] = [branch["name"]]

    defined = {error.__name__: error.__base__ for error in tree(ToolcribError) if error.__module__ == errors.__name__}
    assert drawn == {name: base.__name__ for name, base in defined.items() if base is not None}


def test_the_library_page_says_for_every_code_what_to_do() -> None:
    page = LIBRARY_PAGE.read_text(encoding="utf-8")
    table = page.partition("| code | what to do |")[2].partition("\n\n")[0]
    codes = re.findall(r"`([A-Z_]+)`", "".join(line.split("|")[1] for line in table.splitlines()[1:]))

    assert len(codes) == len(set(codes))
    assert set(codes) == {error.code for error in tree(ToolcribError)}
