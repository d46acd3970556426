"""A demo server: small things to do with a text."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("words")
ONLY_READS = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=ONLY_READS)
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


@server.tool(annotations=ONLY_READS)
def sort_lines(text: str) -> str:
    """Sort the lines of a text alphabetically."""
    return "\n".join(sorted(text.splitlines()))


if __name__ == "__main__":
    server.run()
