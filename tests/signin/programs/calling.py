"""A process that calls the vault as often as it is told, eight calls at a time, once it is told to begin, and prints what came of them."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

from toolcrib import open_gateway


async def main(config: str, rounds: int) -> None:
    outcomes: Counter[str] = Counter()
    async with open_gateway(config, read_due=False) as gateway:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        for _ in range(rounds):
            calls = (gateway.execute_tool("vault", "open_drawer", {"text": "x"}) for _ in range(8))
            for outcome in await asyncio.gather(*calls):
                outcomes["fine" if outcome.error is None else outcome.error.code] += 1
    print(dict(outcomes))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
