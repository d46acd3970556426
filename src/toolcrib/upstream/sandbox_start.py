"""Runs outside of a sandbox and becomes bubblewrap, with what can't be said on its command line.

    python -I -S sandbox_start.py BUBBLEWRAP [ARGUMENT ...]

Variables that begin with `FOR_INSIDE` are set inside, and for no program on the way. What runs inside has no use of the kernel's
keyrings: those of the session are inherited, and those of the user are open to whoever has the same user id.
"""

from __future__ import annotations

import os
import struct
import sys

FOR_INSIDE = "TOOLCRIB_SANDBOX_"
# Our own Python may need them to start; they are not for the server.
WITHOUT_INSIDE = ("LD_LIBRARY_PATH",)

_ENOSYS = 38
# The system calls add_key, request_key and keyctl, one after the other on each kind of machine: its code in the audit
# interface of the kernel, and the number of the first.
_FIRST_OF_KEYS = {
    0xC000003E: 248,  # x86_64
    0x40000003: 286,  # i386
    0xC00000B7: 217,  # aarch64
    0x40000028: 309,  # arm
    0xC00000F3: 217,  # riscv64
    0xC0000102: 217,  # loongarch64
    0xC0000015: 269,  # ppc64le
    0x80000016: 278,  # s390x
}
_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _IF_GREATER, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
_CALL, _MACHINE = 0, 4
# A program for x86_64 may mark its calls with this bit.
_WITHOUT_X32 = 0xFFFFFFFF ^ (1 << 30)
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | _ENOSYS


def main(command: list[str]) -> None:
    given = {name: value for name, value in os.environ.items() if name.startswith(FOR_INSIDE)}
    words = [word for name, value in given.items() for word in ("--setenv", name.removeprefix(FOR_INSIDE), value)]
    options = ["--args", _open(b"".join(os.fsencode(word) + b"\0" for word in words))]
    # There wherever the kernel knows such filters; a sandbox without one is better than none.
    if os.path.exists("/proc/sys/kernel/seccomp/actions_avail"):  # noqa: PTH110 (each start waits for what is loaded here)
        options += ["--seccomp", _open(without_keys())]
    env = {name: value for name, value in os.environ.items() if name not in given and name not in WITHOUT_INSIDE}
    os.execve(command[0], [command[0], *options, *command[1:]], env)  # noqa: S606 (that is what we want)


def without_keys() -> bytes:
    """A filter in the kernel's own words: to programs inside, it looks like one that was built without keyrings."""
    steps = [(_LOAD, 0, 0, _MACHINE)]
    for machine, first in _FIRST_OF_KEYS.items():
        steps += [
            (_IF_EQUAL, 0, 6, machine),  # otherwise on to the next machine
            (_LOAD, 0, 0, _CALL),
            (_AND, 0, 0, _WITHOUT_X32),
            (_IF_AT_LEAST, 0, 2, first),
            (_IF_GREATER, 1, 0, first + 2),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return b"".join(struct.pack("=HBBI", *step) for step in [*steps, (_RETURN, 0, 0, _ALLOW)])


def _open(content: bytes) -> str:
    """The number of a file in memory that the next program inherits."""
    file = os.memfd_create("toolcrib", 0)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return str(file)


if __name__ == "__main__":
    main(sys.argv[1:])
