"""A catalog on a disk that fills up, run as a process of its own by the tests."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from toolcrib.errors import StoreUnavailable
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def save(server: str) -> None:
    tools = tuple({"name": f"tool-{item}", "description": "x" * 5000} for item in range(20))
    catalog.save_reading(server, server, ServerReading(Identity("modern", "1"), tools), 1.0)


say("ready")
sys.stdin.readline()

catalog = SqliteCatalog(Path(sys.argv[1]))
save("before")
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
try:
    save("meanwhile")
except StoreUnavailable as error:
    say("refused", error.code)
say("known", *catalog.servers(), len(catalog.all_tools()))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
save("after")
say("known", *catalog.servers(), len(catalog.all_tools()))
catalog.close()
