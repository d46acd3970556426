"""How well, how fast and at what price search finds tools, beside what others do: docs/benchmarks.md, "Search quality".

python bench/retrieval.py [DIR ...] [--help]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Read when the libraries are loaded, so before Python starts; one core is what a query may count on.
ONE_CORE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# What the rivals' libraries would do beside ranking: look for newer models, draw progress.
QUIET = {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "TOKENIZERS_PARALLELISM": "false"}


def main() -> int:
    paths = [str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, **ONE_CORE, **QUIET, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", "bench.search_quality", *sys.argv[1:]], env=env, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
