"""Install the real AI clients that `make clients` tries Toolcrib with into `.clients`; about 1.6 GB."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from install_test_servers import ROOT, InstallError, Target, install_node_packages, report, step

# These two put the program for this machine in place after they were installed; no other package script is run.
PLACED_BY = ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs")


def install_clients(pins: Path, folder: Path) -> None:
    install_node_packages(pins, folder)
    node = shutil.which("node")
    if node is None:
        raise InstallError("node is not on the PATH: install Node.js 20 or newer")
    for script in PLACED_BY:
        place = folder / "node_modules" / script
        step(node, place.name, cwd=place.parent)


def main() -> int:
    return 0 if report(Target(".clients", ROOT / "clients" / "package.json", install_clients, ROOT)) else 1


if __name__ == "__main__":
    sys.exit(main())
