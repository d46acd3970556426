"""A demo server: small things to do with a text."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("words")


@server.tool()
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


@server.tool()
def sort_lines(text: str) -> str:
    """Sort the lines of a text alphabetically."""
    return "\n".join(sorted(text.splitlines()))


if __name__ == "__main__":
    server.run()
