"""A gateway's worth of catalog writes, run as a process of its own by the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


path, owner, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

say("ready")
sys.stdin.readline()

catalog = SqliteCatalog(path)
first_token = catalog.change_token()
leases = 0
for number in range(rounds):
    tools = tuple({"name": f"tool-{item}", "description": f"{owner} {number}"} for item in range(5))
    name = f"{owner}-{number}"
    catalog.save_reading(name, name, ServerReading(Identity("modern", "1"), tools), float(number))
    catalog.save_reading("shared", "shared", ServerReading(Identity("modern", "1"), tools), float(number))
    leases += catalog.try_lease(f"lease-{number}", owner, 100.0, 60.0)
say("wrote", leases, catalog.change_token() - first_token)

sys.stdin.readline()
say("sees", len(catalog.servers()), catalog.change_token())
catalog.close()
