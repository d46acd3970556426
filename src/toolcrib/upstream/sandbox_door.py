"""Runs inside a sandbox without network: a proxy on its loopback address that leads to the one outside; then the server.

    python -I -S sandbox_door.py SOCKET PROGRAM [ARGUMENT ...]

It imports nothing of ours, so that nothing of ours has to be in the sandbox.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_CHUNK_BYTES = 64 * 1024


def main(path: str, command: list[str]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    if os.fork() == 0:
        _serve(listener, path)
    listener.close()
    # The server takes our place; the sandbox ends with it, and so does the one that serves.
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    proxies = {name: address for upper in names for name in (upper, upper.lower())}
    others = {name: value for name, value in os.environ.items() if name.upper() != "NO_PROXY"}
    # Node.js looks at these variables only where it is told to.
    os.execvpe(command[0], command, {**others, **proxies, "NODE_USE_ENV_PROXY": "1"})  # noqa: S606 (that is what we want)


def _serve(listener: socket.socket, path: str) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # the server's alone
        os.dup2(null, stream)
    while True:
        here, _ = listener.accept()
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(path)
        except OSError:
            here.close()
            continue
        for source, sink in ((here, there), (there, here)):
            threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(_CHUNK_BYTES):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
