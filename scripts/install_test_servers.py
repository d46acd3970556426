"""Install the third-party MCP servers and clients that tests talk to into `.test-servers`.

Each folder keeps a stamp of what it was installed from, so a second run does nothing. The npm packages share one
folder; each Python program gets an environment of its own, because their needs may contradict each other and ours.
libp2p, in Python and in JavaScript, is there for the tests of peers, and a part of the SDK's source for conformance.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "tests" / "servers"
INSTALLED = ROOT / ".test-servers"
PYTHON_PROGRAMS = ("time", "git", "fetch", "fastmcp")
# What the archive of the SDK has besides its package: a server with every feature, made for the conformance suites.
SDK_SERVER = "/examples/servers/everything-server/"
# One package of libp2p is built from C, another has no wheel for a newer Python; tests say so where they are skipped.
HAS_LIBP2P = sys.platform == "linux" and sys.version_info < (3, 14)
STEP_SECONDS = 600
SHOWN_LINES = 25


class InstallError(Exception):
    """An installation step failed; the message holds what it printed last."""


@dataclass(frozen=True, slots=True)
class Target:
    """One folder to fill from one file of pinned versions."""

    name: str
    pins: Path
    install: Callable[[Path, Path], None]
    parent: Path = INSTALLED

    @property
    def folder(self) -> Path:
        return self.parent / self.name

    @property
    def stamp(self) -> Path:
        return self.folder / ".installed-from"

    def fingerprint(self) -> str:
        """Changes with the pinned versions and with the Python that the environments are made from."""
        return hashlib.sha256(self.pins.read_bytes() + sys.version.encode()).hexdigest()

    def is_current(self) -> bool:
        return self.stamp.is_file() and self.stamp.read_text() == self.fingerprint()


def step(*command: str, cwd: Path) -> None:
    """Run one installation command quietly; what it printed is shown only when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=STEP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{' '.join(command)}: no end after {STEP_SECONDS} s") from None
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
        raise InstallError(f"{' '.join(command)}: exit code {done.returncode}\n{tail}")


def install_node_packages(pins: Path, folder: Path) -> None:
    """Install without a lock file (it would record download addresses) and without running package scripts."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError("npm is not on the PATH: install Node.js 20 or newer")
    folder.mkdir(parents=True)
    shutil.copyfile(pins, folder / "package.json")
    step(npm, "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)


def install_python_packages(pins: Path, folder: Path) -> None:
    step(sys.executable, "-m", "venv", str(folder), cwd=ROOT)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    step(str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-r", str(pins), cwd=ROOT)


def install_sdk_server(pins: Path, folder: Path) -> None:
    """It is in the source archive only, and runs on our own environment, which has the package of that version."""
    folder.mkdir(parents=True)
    pip = (sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check")
    step(*pip, "--no-deps", "--no-binary", "mcp", "-r", str(pins), cwd=folder)
    (archive,) = folder.glob("mcp-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, [member for member in packed if SDK_SERVER in member.name], filter="data")
    (unpacked,) = folder.glob("mcp-*/")
    (unpacked / SDK_SERVER.strip("/")).rename(folder / "everything-server")
    shutil.rmtree(unpacked)
    archive.unlink()


def install_libp2p(pins: Path, folder: Path) -> None:
    """One package is built here, which takes a C compiler and the headers of GMP."""
    if not has_gmp():
        install_gmp()
    install_python_packages(pins, folder)


def install_gmp() -> None:
    """Where we are root or, in CI, may be."""
    sudo = () if os.geteuid() == 0 else ("sudo", "-n") if os.environ.get("CI") == "true" else None
    if shutil.which("apt-get") is None or sudo is None:
        raise InstallError("gmp.h can't be compiled: install a C compiler and GMP (Debian: gcc libgmp-dev)")
    step(*sudo, "apt-get", "update", "-qq", cwd=ROOT)
    packages = ("gcc", "libc6-dev", "libgmp-dev")
    step(*sudo, "apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages, cwd=ROOT)


def has_gmp() -> bool:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return False
    command = (compiler, "-E", "-x", "c", "-")
    done = subprocess.run(command, input=b"#include <gmp.h>", capture_output=True, timeout=STEP_SECONDS, check=False)
    return done.returncode == 0


def install(target: Target) -> str:
    """Fill the folder of `target` unless it is current, and say which it was."""
    if target.is_current():
        return f"{target.name}: up to date"
    # Whatever an interrupted or older run left could mix with the new versions.
    shutil.rmtree(target.folder, ignore_errors=True)
    target.install(target.pins, target.folder)
    target.stamp.write_text(target.fingerprint())
    return f"{target.name}: installed"


def report(target: Target) -> bool:
    """Install one target and print how it went; true when it went well."""
    try:
        print(install(target), flush=True)
    except (InstallError, OSError) as error:
        print(f"{target.name}: FAILED: {error}", file=sys.stderr, flush=True)
        return False
    return True


def main() -> int:
    """Install every target, in parallel; the exit code is 1 when one of them failed."""
    targets = [
        Target("node", PINS / "package.json", install_node_packages),
        *(Target(name, PINS / f"{name}.txt", install_python_packages) for name in PYTHON_PROGRAMS),
        Target("sdk-source", PINS / "sdk-source.txt", install_sdk_server),
    ]
    if HAS_LIBP2P:
        targets.append(Target("libp2p", PINS / "libp2p.txt", install_libp2p))
        targets.append(Target("libp2p-js", PINS / "libp2p-js.json", install_node_packages))
    INSTALLED.mkdir(exist_ok=True)
    with ThreadPoolExecutor(len(targets)) as pool:
        return 0 if all(list(pool.map(report, targets))) else 1


if __name__ == "__main__":
    sys.exit(main())
