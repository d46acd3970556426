"""What a sandbox shows of the system: programs, libraries, settings that hold no secret, and the kernel's own files."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

# Beside /usr. What is a link into /usr on most systems stays one.
_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Not all of /etc/ssl and /etc/pki: private keys lie beside the certificates, and root may read them.
_SETTINGS = (
    "alternatives ca-certificates group hosts ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf passwd"
    " protocols resolv.conf services ssl/certs ssl/cert.pem ssl/ca-bundle.pem ssl/openssl.cnf"
    " pki/ca-trust pki/java pki/tls/certs pki/tls/cert.pem pki/tls/openssl.cnf"
).split()
_PROC = Path("/proc")
# Which keys of whom there are.
_KEYS = ("keys", "key-users")


def system_folders() -> Iterator[str]:
    """The words for bubblewrap that show programs, libraries and settings."""
    yield from ("--ro-bind", "/usr", "/usr")
    for place in map(Path, _FOLDERS):
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))
    for name in _SETTINGS:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def kernel_files() -> Iterator[str]:
    """The words that make /proc: of what is no process, nothing can be written, nor read what root alone may read.

    The files of the kernel belong to root, and somebody who is root outside is still their owner inside: no capability is
    needed to write what a file's owner may write (`/proc/sys/kernel/core_pattern`).
    """
    yield from ("--proc", str(_PROC))
    for file in sorted(_PROC.iterdir()):
        if file.name.isdigit() or file.is_symlink():
            continue
        mode = file.stat().st_mode
        if stat.S_ISDIR(mode) or mode & 0o222:
            yield from ("--ro-bind", str(file), str(file))
        elif not mode & 0o004 or file.name in _KEYS:
            # A device where none can be opened.
            yield from ("--ro-bind", "/dev/null", str(file))
