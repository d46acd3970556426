"""T9: what servers are given is in no output, no file of ours and no process list."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from tests.journeys.stdio_gateway import Workshop

TELLTALE = Path(__file__).parents[1] / "cli" / "programs" / "telltale.py"
# None of them looks like a secret to anyone who does not know; one has characters that are written differently elsewhere.
CANARIES = {
    "variable": "plain-lily-one",
    "file": "plain-lily-two",
    "literal": "plain lily/three&four",
    "passed": "plain-lily-five",
    "envFile": "plain-lily-six",
    "header": "plain-lily-seven",
    "address": "plain-lily-eight",
}
COMMANDS = (
    ("doctor",),
    ("list", "--status", "--json"),
    ("logs", "telltale"),
    ("calls", "--json"),
    ("config", "show"),
    ("capabilities", "export"),
    ("-vv", "execute", "telltale", "tell", "--json"),
)


def configure(workshop: Workshop) -> set[Path]:
    """Each canary reaches a server in a way of its own; the files that a person wrote them into."""
    secret, more = workshop.folder / "secret.txt", workshop.folder / "more.env"
    secret.write_text(CANARIES["file"], encoding="utf-8")
    more.write_text(f"TELLTALE_MORE={CANARIES['envFile']}\n", encoding="utf-8")
    workshop.environment |= {"LILY": CANARIES["variable"], "TELLTALE_PASSED": CANARIES["passed"]}
    telltale = {
        "command": sys.executable,
        "args": ["-I", "-S", str(TELLTALE), "fail"],
        "env": {
            "TELLTALE_VARIABLE": "${LILY}",
            "TELLTALE_FILE": f"${{file:{secret}}}",
            "TELLTALE_LITERAL": CANARIES["literal"],
        },
        "passEnv": ["TELLTALE_PASSED"],
        "envFile": str(more),
    }
    away = {"url": f"http://me:{CANARIES['address']}@127.0.0.1:9/mcp", "headers": {"X-Api-Key": CANARIES["header"]}}
    workshop.configure({"telltale": telltale, "away": away}, maxRetries=0)
    return {secret, more, workshop.config}


def told(text: str) -> set[str]:
    """The canaries that a text tells: plainly, in an address, in JSON or in base64."""
    return {way for way, canary in CANARIES.items() if any(form in text for form in forms(canary))}


def forms(canary: str) -> Iterator[str]:
    yield from (canary, quote(canary, safe=""), json.dumps(canary)[1:-1])
    yield base64.b64encode(canary.encode()).decode().rstrip("=")[:-1]


def process_list(workshop: Workshop) -> str:
    """The command lines of every process of this test, as `ps` shows them."""
    lines = []
    for pid in workshop.processes():
        try:
            lines.append(Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return "\n".join(lines)


def files_that_tell(workshop: Workshop, written_by_person: set[Path]) -> dict[str, set[str]]:
    places = (workshop.folder, workshop.home)
    files = [path for place in places for path in place.rglob("*") if path.is_file() and path not in written_by_person]
    assert any(path.name.startswith("audit") for path in files)
    found = {str(path): told(path.read_bytes().decode("utf-8", "replace")) for path in files}
    return {name: canaries for name, canaries in found.items() if canaries}


async def toolcrib(workshop: Workshop, *words: str) -> str:
    command = [sys.executable, "-m", "toolcrib", "--config", str(workshop.config), *words]
    pipe = asyncio.subprocess.PIPE
    ran = await asyncio.create_subprocess_exec(*command, env=workshop.environment, stdout=pipe, stderr=pipe)
    out, err = await ran.communicate()
    return (out + err).decode("utf-8", "replace")


async def test_t09_a_canary_is_in_no_output_file_or_process_list(workshop: Workshop) -> None:
    written_by_person = configure(workshop)

    async with workshop.lines() as client:
        await client.initialize()
        await client.call("tools", "list_tools", server="telltale")
        await client.call("details", "get_tool_details", server="telltale", tool="tell")
        await client.call("search", "search_tools", query="tells")
        await client.execute("fail", "telltale", "tell")
        await client.execute("away", "away", "anything")
        # An agent that mixes things up sends what it was told elsewhere; that must not stay in the audit log.
        await client.execute("mixed up", "telltale", CANARIES["variable"])
        assert told(process_list(workshop)) == set()
        assert await client.leave() == 0
        answers = [message for message in client.messages if message.get("id") != "mixed up"]
    assert told(json.dumps(answers, ensure_ascii=False)) == set()
    for words in COMMANDS:
        assert told(await toolcrib(workshop, *words)) == set(), words
    assert files_that_tell(workshop, written_by_person) == {}
