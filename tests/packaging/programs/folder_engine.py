"""Takes the place of a container engine: what it is told to run in a container it runs with the image's plain folder.

Its own file of answers is given by FOLDER_ENGINE: the command that runs a program of the image, and where to note things.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

PLACE = json.loads(Path(os.environ["FOLDER_ENGINE"]).read_text())
VALUED = {"--entrypoint", "--publish", "--tag"}


def main(verb: str, *words: str) -> int:
    with Path(PLACE["asked"]).open("a") as file:
        file.write(json.dumps([verb, *words]) + "\n")
    return {"info": done, "build": build, "run": run, "port": port, "stop": stop}[verb](*words)


def done(*_: str) -> int:
    return 0


def build(*words: str) -> int:
    return 0 if Path(words[-1], "Dockerfile").is_file() else 1


def run(*words: str) -> int:
    options: dict[str, str] = {}
    while words[0].startswith("--"):
        takes = 2 if words[0] in VALUED else 1
        options[words[0]] = words[takes - 1]
        words = words[takes:]
    program = options.get("--entrypoint", "toolcrib")
    command = [*PLACE["command"], program, *words[1:]]  # the first word is the image
    if "--detach" not in options:
        return subprocess.run(command, check=False).returncode
    # Not the port that is asked for: another gateway may have it.
    with Path(PLACE["log"]).open("wb") as log:
        process = subprocess.Popen([*command, "--port", "0"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    print(process.pid)
    return 0


def port(*_: str) -> int:
    for _ in range(600):
        found = re.search(r"serves MCP at http://[^:]+:(\d+)/", Path(PLACE["log"]).read_text())
        if found:
            print(f"127.0.0.1:{found[1]}")
            return 0
        time.sleep(0.05)
    return 1


def stop(name: str) -> int:
    os.kill(int(name), signal.SIGTERM)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
