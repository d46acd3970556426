"""Put a trained model into the package: `python -m training.install OUT`."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path

from training.figures import table

WEIGHTS = Path(__file__).resolve().parents[1] / "src" / "toolcrib" / "search" / "weights"


def main() -> None:
    """Copy the weights and bring the card beside them up to date; what the card says in words stays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="the folder that training.train wrote")
    out: Path = parser.parse_args().out
    content = (out / "encoder.safetensors").read_bytes()
    checksum = hashlib.sha256(content).hexdigest()
    beside = WEIGHTS / "encoder.safetensors.new"
    beside.write_bytes(content)
    # In one step: a process that has the old file mapped keeps it.
    beside.replace(WEIGHTS / "encoder.safetensors")
    (WEIGHTS / "SHA256SUMS").write_text(f"{checksum}  encoder.safetensors\n", encoding="ascii")
    card = WEIGHTS / "README.md"
    report = json.loads((out / "report.json").read_text("utf-8"))
    card.write_text(_updated(card.read_text("utf-8"), checksum, len(content), table(report["figures"])), "utf-8")
    print(f"{len(content):,} bytes and a card in {WEIGHTS}")


def _updated(card: str, checksum: str, size: int, figures: str) -> str:
    card = re.sub(r"[\d,]+ bytes, SHA-256 `[0-9a-f]{64}`", f"{size:,} bytes, SHA-256 `{checksum}`", card)
    return re.sub(r"```\n.*?\n```", lambda _: f"```\n{figures}\n```", card, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    main()
