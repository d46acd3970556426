"""What the documentation shows is what happens."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import pytest

from toolcrib import Gateway
from toolcrib.gateway import FIRST_READING_SECONDS
from toolcrib.server.definitions import META_TOOL_NAMES

DOCS = Path(__file__).resolve().parents[1] / "docs"
LIBRARY = (DOCS / "library.md").read_text(encoding="utf-8")
PROMISED = re.compile(r"^# -> (.*)$", re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", LIBRARY, re.MULTILINE | re.DOTALL)


@pytest.fixture
def _a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the configuration of the page, and `python` on the path."""
    (tmp_path / "toolcrib.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("_a_reader")
def test_every_example_of_the_library_page_prints_what_it_promises() -> None:
    # One after the other, as a reader would: what the first one reads, the others know from disk.
    for number, block in enumerate(blocks("python"), 1):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block, f"library.md, example {number}", "exec"), {"__name__": "__main__"})
        assert said.getvalue().splitlines() == PROMISED.findall(block), f"example {number}"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for python here")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.usefixtures("_a_reader")
def test_the_first_examples_wait_for_servers_that_nobody_has_read_yet(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow" / "python"
    slow.parent.mkdir()
    # Longer than a search waits by itself on the very first start.
    waits = f'case "$*" in *demo.words*) sleep {FIRST_READING_SECONDS + 1};; esac'
    slow.write_text(f'#!/bin/sh\n{waits}\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    block = blocks("python")[number - 1]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, f"library.md, example {number}", "exec"), {"__name__": "__main__"})
    assert said.getvalue().splitlines() == PROMISED.findall(block)


def test_the_example_of_the_search_page_finds_what_it_promises() -> None:
    page = (DOCS / "search.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, "search.md", "exec"), {"__name__": "__main__"})
    assert said.getvalue().splitlines() == PROMISED.findall(block)


def test_every_example_promises_something() -> None:
    assert len(blocks("python")) >= 6
    assert all(PROMISED.search(block) for block in blocks("python"))


@pytest.mark.parametrize(
    "name",
    "list_servers search_tools list_tools get_tool_details execute_tool execute_stream reload ready all_tools "
    "connect disconnect is_connected invalidate".split(),
)
def test_the_door_of_the_library_is_shown(name: str) -> None:
    assert callable(getattr(Gateway, name))
    assert f".{name}(" in LIBRARY


@pytest.mark.parametrize("name", META_TOOL_NAMES)
def test_every_meta_tool_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_every_test_that_the_security_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (DOCS / "security.md").read_text(encoding="utf-8")))
    files = Path(__file__).parent.rglob("test_*.py")
    written = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8"))}
    assert len(named) > 30
    assert named - written == set()


def test_links_between_the_pages_lead_somewhere() -> None:
    pages = [*DOCS.parent.glob("*.md"), *DOCS.rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_leads_to_a_page_about_every_feature_and_shows_the_commands_of_the_first_day() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")

    pages = {f"docs/{page.name}" for page in DOCS.glob("*.md")} - {"docs/glossary.md", "docs/releasing.md"}
    assert {page for page in pages if page not in readme} == set()
    assert {word for word in ("adopt", "add", "search", "serve", "doctor") if f"toolcrib {word}" not in readme} == set()
