"""A few tools for the tests of search, and short ways to make and name more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolcrib.model.tool import Tool, ToolMatch


def tool(server: str, name: str, description: str = "", **definition: Any) -> Tool:
    return Tool.from_mcp(server, {"name": name, "description": description, **definition})


def ids(matches: Iterable[ToolMatch]) -> list[str]:
    return [match.tool.id for match in matches]


ISSUES = [
    tool("github", "create_issue", "Create an issue in a repository."),
    tool("github", "list_commits", "List commits of a branch on GitHub, in a GitHub repository."),
    tool("jira", "create_issue", "Create an issue in a project."),
    tool("jira", "delete_issue", "Delete an issue. Jira Jira Jira Jira Jira."),
    tool("weather", "get_forecast", "Forecast for a city."),
]
