"""Put a trained model into the package: `python -m training.install OUT`."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path

from training.figures import table

WEIGHTS = Path(__file__).resolve().parents[1] / "src" / "toolcrib" / "search" / "weights"
CARD = WEIGHTS / "README.md"


def main() -> None:
    """Put the weights and their figures into the package; what the card says in words stays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="the folder that training.train wrote")
    out: Path = parser.parse_args().out
    record((out / "encoder.safetensors").read_bytes())
    report = json.loads((out / "report.json").read_text("utf-8"))
    figures = f"```\n{table(report['figures'])}\n```"
    card = CARD.read_text("utf-8")
    CARD.write_text(re.sub(r"```\n.*?\n```", lambda _: figures, card, count=1, flags=re.DOTALL), "utf-8")


def record(content: bytes) -> None:
    """Put weights in place of those that ship, with their checksum beside them and on the card."""
    checksum = hashlib.sha256(content).hexdigest()
    beside = WEIGHTS / "encoder.safetensors.new"
    beside.write_bytes(content)
    # In one step: a process that has the old file mapped keeps it.
    beside.replace(WEIGHTS / "encoder.safetensors")
    (WEIGHTS / "SHA256SUMS").write_text(f"{checksum}  encoder.safetensors\n", encoding="ascii")
    named = f"{len(content):,} bytes, SHA-256 `{checksum}`"
    card = CARD.read_text("utf-8")
    CARD.write_text(re.sub(r"[\d,]+ bytes, SHA-256 `[0-9a-f]{64}`", named, card), "utf-8")
    print(f"{len(content):,} bytes and a card in {WEIGHTS}")


if __name__ == "__main__":
    main()
