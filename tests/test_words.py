"""One word for one thing: the glossary, the names in the code, and the page about how it is built."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "toolcrib"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")

# Names that once meant several things, with what took their place.
RETIRED = {
    "Strangers": "UnapprovedReads",
    "CapabilityDesk": "CapabilitySinks",
    "Stock": "CatalogView",
    "StockedTool": "VisibleTool",
    "Finder": "SearchIndex and ToolSearch",
    "Lesson": "EncodingBatch",
    "Study": "Indexer",
    "Learner": "OutputShapes",
    "Admit": "ResolveTool",
    "CheckArguments": "ValidateArguments",
    "ResultShelf": "ResultStore",
    "Dress": "RequestEnvelope",
    "Wish": "Intent",
    "Presence": "OwnGatewayRow",
    "GatewayParts": "Engine",
    "seed_form": "published_form",
    "seed_variable": "alias_variable",
    "launch_fingerprint": "launch_key",
}


def rows() -> list[tuple[str, str]]:
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY, re.MULTILINE)
    return [(word, meaning) for word, meaning in found if word not in {"word", "---"}]


def sources() -> dict[str, str]:
    return {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


def test_each_word_has_one_meaning() -> None:
    words = [word for word, _ in rows()]

    assert len(words) > 20
    assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("engine", "class Engine:"),
        ("workspace", "class Workspace:"),
        ("caller", "class Caller:"),
        ("gateway", "class Gateway:"),
        ("client", "class Client:"),
        ("catalog", "class Catalog:"),
        ("catalog view", "class CatalogView:"),
        ("visible tool", "class VisibleTool:"),
        ("availability", "class Availability:"),
        ("refresher", "class CatalogRefresher:"),
        ("rights", "class Rights:"),
        ("session", "class Session:"),
        ("step", "class Step(Protocol):"),
        ("proposal", "class Proposal:"),
        ("launch key", "def launch_key(self)"),
    ],
)
def test_a_word_of_the_glossary_is_the_name_of_one_thing_in_the_code(word: str, name: str) -> None:
    assert word in dict(rows())
    assert len([path for path, text in sources().items() if f"\n{name}" in text or f"    {name}" in text]) >= 1


@pytest.mark.parametrize(("old", "new"), RETIRED.items())
def test_a_name_that_was_given_up_is_not_used_again(old: str, new: str) -> None:
    pattern = re.compile(rf"\b{old}\b")

    assert [path for path, text in sources().items() if pattern.search(text)] == [], f"it is {new} now"


def test_catalog_has_one_spelling() -> None:
    """The file on people's disks and the tables in it keep the name they were given."""
    kept = re.compile(r"catalogue(?:\.db|\\\.db)|(?:UPDATE|FROM|TABLE|INTO) catalogue")
    texts = {**sources(), **{page.name: page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}}

    assert [path for path, text in texts.items() if "catalogue" in kept.sub("", text).lower()] == []


def test_the_layers_on_the_page_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    checked = [line.replace("(", "").replace(")", "") for line in layers]
    [drawn] = re.findall(r"```\n(host > .*?)```", ARCHITECTURE, re.DOTALL)

    assert [layer.strip() for layer in " ".join(drawn.split()).split(" > ")] == checked


def test_every_module_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?!tools/|tests/)[a-z_]+/[a-z_/]+?)(?:\.py)?/?`", ARCHITECTURE))

    assert len(named) > 40
    assert sorted(path for path in named if not _exists(path)) == []


def _exists(path: str) -> bool:
    return (SOURCE / f"{path}.py").is_file() or (SOURCE / path).is_dir()
