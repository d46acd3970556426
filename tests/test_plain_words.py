"""What people read names no paper of ours: no plan, no number of a list that only we have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "docs", "bench", "training", "scripts", "clients", "requirements", ".ci", ".github")
SUFFIXES = {"", ".md", ".py", ".sh", ".sql", ".svg", ".toml", ".txt", ".yml"}
# Vocabularies: words that anybody may use of a tool.
VOCABULARIES = {"src/toolcrib/search/weights/words.txt", "src/toolcrib/model/verbs.py"}
OUR_PAPERS = re.compile(r"\bseeds?\b|\bissue (?:[A-Z]\d?|#?\d+)\b|\bchecklist\b|§", re.IGNORECASE)
# A data file, and where chance comes from.
OTHER_SEEDS = re.compile(r"registry-seed\.json|random seeds?")
SEEDS_OF_CHANCE = re.compile(r"\bseeds?\b", re.IGNORECASE)
IN_NAMES = re.compile(r"seed(?!ed)|mission_gaps|checklist|_row_\d|issue_[a-z]_|_bugs")


def pages() -> list[Path]:
    # What a test run leaves behind at the top (.coverage and the like) is nobody's text.
    top = [file for file in ROOT.glob("*") if not file.name.startswith(".")]
    files = [file for name in FOLDERS for file in (ROOT / name).rglob("*") if file.suffix in SUFFIXES]
    return [file for file in (*top, *files) if file.is_file() and "__pycache__" not in file.parts]


def told(file: Path) -> list[str]:
    name = file.relative_to(ROOT).as_posix()
    if name in VOCABULARIES:
        return []
    allowed = SEEDS_OF_CHANCE if name.startswith("training/") and file.suffix == ".py" else OTHER_SEEDS
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    return [f"{name}:{number} {line.strip()}" for number, line in lines if OUR_PAPERS.search(allowed.sub("", line))]


def test_nothing_that_people_read_names_a_paper_they_do_not_have() -> None:
    assert [line for file in pages() for line in told(file)] == []


def test_no_test_is_named_after_such_a_paper() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    tests = [
        name
        for file in files
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert len(tests) > 2_000
    assert [name for name in (*(file.stem for file in files), *tests) if IN_NAMES.search(name)] == []


# A metaphor or a turn of phrase that a reader has to guess at; in what is printed, logged, or sent to a model.
TO_GUESS_AT = re.compile(
    r"\bcounter\b|\bshel(?:f|ves|ved)\b|\bstrangers?\b|\bstock\b|\bfull house\b"
    r"|\b(?:is|are|was|were) told\b|\bstands? (?:twice|alone|beside|in for)\b|\bwhat is odd\b",
    re.IGNORECASE,
)
# Vocabularies of the search and of topics: words that anybody may use of a tool.
WORDS_OF_OTHERS = ("search", "topics")


def spoken(file: Path) -> list[tuple[int, str]]:
    """The texts in a module that may be shown to somebody: every literal but the docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    literals = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in quiet)
    return [(node.lineno, node.value) for node in literals if isinstance(node.value, str) and " " in node.value]


def test_messages_need_no_guessing() -> None:
    source = ROOT / "src" / "toolcrib"
    files = [file for file in source.rglob("*.py") if file.relative_to(source).parts[0] not in WORDS_OF_OTHERS]

    found = [
        f"{file.relative_to(ROOT)}:{line} {text}"
        for file in files
        for line, text in spoken(file)
        if TO_GUESS_AT.search(text)
    ]
    assert len(files) > 300
    assert found == []
