"""The words that people and tools use and the encoder's vocabulary does not hold whole: `python -m training.words DATA`.

They are what a query's words are compared with before one is taken for mistyped.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from toolcrib.search.encoder import Encoder
from toolcrib.search.spelling import OTHER_WORDS
from toolcrib.search.terms import fold
from training.corpus import OWN_INTENTS, OWN_TOOLS, TRAINED_POOLS, read_entries, read_rows

# A word that fewer than so many servers or queries use may itself be mistyped.
FEWEST_USES = 3
_WORD = re.compile(r"[a-z]{4,24}")


def main() -> None:
    """Write the list beside the weights, the most used word first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    known = set(Encoder.shipped().whole_words)
    uses = Counter(word for text in texts(data) for word in set(_WORD.findall(fold(text).lower())) - known)
    words = sorted((word for word, count in uses.items() if count >= FEWEST_USES), key=lambda word: (-uses[word], word))
    OTHER_WORDS.write_text("\n".join(words) + "\n", encoding="ascii")
    print(f"{len(words)} words in {OTHER_WORDS.name}")


def texts(data: Path) -> list[str]:
    """One text for each server's tools, and each query that may be trained on."""
    servers: dict[tuple[str, str], list[str]] = {}
    for entry in read_entries(data, TRAINED_POOLS):
        if entry.is_trained:
            servers.setdefault((entry.pool, entry.group or entry.key), []).append(" ".join(entry.parts))
    asked = [data / "intents" / "train.jsonl", *OWN_INTENTS, OWN_TOOLS]
    queries = [text for path in asked for row in read_rows(path) for text in row["q"]]
    return [*(" ".join(own) for own in servers.values()), *queries]


if __name__ == "__main__":
    main()
