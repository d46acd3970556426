"""A demo server: what time it is, and how far apart two dates are."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("clock")
ONLY_READS = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=ONLY_READS)
def current_time(timezone: str = "UTC") -> str:
    """Get the current date and time in a time zone, such as Asia/Tokyo."""
    return datetime.now(ZoneInfo(timezone)).isoformat(timespec="seconds")


@server.tool(annotations=ONLY_READS)
def days_between(start: str, end: str) -> int:
    """Count the days from one date to another, both as YYYY-MM-DD."""
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


if __name__ == "__main__":
    server.run()
