"""Run every benchmark: each `bench/*.py` that has a main, one after the other, as `python -m bench.<name>`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def benchmarks() -> list[str]:
    """Names of the modules in `bench/` that can be run; the others are parts that these share."""
    return sorted(
        path.stem for path in (ROOT / "bench").glob("*.py") if 'if __name__ == "__main__":' in path.read_text("utf-8")
    )


def run(name: str) -> bool:
    print(f"\n== {name} ==", flush=True)
    return subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Run all of them even when one misses its bar; the exit code is 1 when one did, or when there is none."""
    names = benchmarks()
    missed = [name for name in names if not run(name)]
    if missed or not names:
        print(f"\nmissed: {', '.join(missed)}" if missed else "no benchmark found in bench/", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
