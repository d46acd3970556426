"""The tools of five everyday servers, in the style and length that servers in the wild have, with two canned results."""

from __future__ import annotations

import json
from typing import Any

TEXT = {"type": "string"}


def tool(
    name: str, description: str, required: dict[str, Any], optional: dict[str, Any] | None = None
) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


def text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def number(description: str) -> dict[str, str]:
    return {"type": "integer", "description": description}


def texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": TEXT, "description": description}


REPO = {"repo": text("Repository (owner/name)")}
ISSUE = {**REPO, "number": number("Issue number")}
PATH = {"path": text("Path of the file")}

GITHUB = [
    tool(
        "create_issue",
        "Open a new issue in a repository.",
        {**REPO, "title": text("Title of the issue")},
        {"body": text("Text of the issue")},
    ),
    tool("update_issue", "Change title, text, state or labels of an issue.", ISSUE, {"state": text("open or closed")}),
    tool("get_issue", "Get one issue with its text, labels and who it is assigned to.", ISSUE),
    tool("list_issues", "List the issues of a repository, newest first. Pull requests are not included.", REPO),
    tool("add_issue_comment", "Write a comment under an issue or a pull request.", {**ISSUE, "body": TEXT}),
    tool("search_code", "Search for code in all repositories you can see. Uses the code search syntax.", {"q": TEXT}),
    tool(
        "create_pull_request", "Open a pull request from one branch into another.", {**REPO, "head": TEXT, "base": TEXT}
    ),
    tool("merge_pull_request", "Merge a pull request, squash it, or rebase it onto its base branch.", ISSUE),
    tool("create_branch", "Make a new branch from a commit or from another branch.", {**REPO, "branch": TEXT}),
    tool("get_file_contents", "Get a file or the entries of a folder from a repository at some ref.", {**REPO, **PATH}),
]
FILES = [
    tool(
        "read_file",
        "Read a file from the file system. Handles several text encodings and says clearly what went wrong if the "
        "file cannot be read. Only works within the allowed folders.",
        PATH,
        {"head": number("Only the first lines"), "tail": number("Only the last lines")},
    ),
    tool(
        "write_file",
        "Create a file or overwrite an existing one without asking. Use with care. Only works within the allowed folders.",
        {**PATH, "content": text("What to write")},
    ),
    tool(
        "edit_file",
        "Replace exact lines of a text file and get a diff of what changed.",
        {**PATH, "edits": texts("Edits")},
    ),
    tool("list_directory", "List the files and folders in a folder, marked with [FILE] or [DIR].", PATH),
    tool("move_file", "Move or rename a file or a folder.", {"source": TEXT, "destination": TEXT}),
    tool("search_files", "Find files and folders below a folder whose path matches a glob.", {**PATH, "pattern": TEXT}),
    tool("get_file_info", "Get size, times, permissions and kind of a file or folder.", PATH),
]
CALENDAR = [
    tool("create_event", "Add an event to a calendar and invite people.", {"title": TEXT, "start": TEXT, "end": TEXT}),
    tool("find_free_time", "Find times when everyone in a list is free.", {"people": texts("Mail addresses")}),
    tool("list_events", "List the events between two points in time.", {"from": TEXT, "to": TEXT}),
    tool("delete_event", "Cancel an event and tell the people invited.", {"id": TEXT}),
]
DATABASE = [
    tool("query", "Run a read-only SQL query and get its rows as JSON.", {"sql": text("One SELECT statement")}),
    tool("list_tables", "List the tables of the database with their row counts.", {}),
    tool("describe_table", "Get the columns, types and indexes of a table.", {"table": TEXT}),
]
CHAT = [
    tool("post_message", "Send a message to a channel or a person.", {"channel": TEXT, "text": TEXT}),
    tool("reply_to_thread", "Answer in the thread of a message.", {"channel": TEXT, "thread": TEXT, "text": TEXT}),
    tool(
        "list_channels",
        "List public channels, one page at a time.",
        {},
        {"cursor": TEXT, "limit": number("Most channels")},
    ),
    tool("add_reaction", "Add an emoji reaction to a message.", {"channel": TEXT, "timestamp": TEXT, "reaction": TEXT}),
]

SERVERS = {"github": GITHUB, "filesystem": FILES, "calendar": CALENDAR, "database": DATABASE, "chat": CHAT}

NEW_ISSUE = {
    "number": 123,
    "url": "https://github.example/acme/shop/issues/123",
    "title": "Crash on start without a configuration file",
    "state": "open",
}
README = """# Shop

A small web shop. `make run` starts it on port 8000, `make test` runs the tests.

Known trouble: it crashes on start when there is no configuration file.
"""
RESULTS = {"create_issue": json.dumps(NEW_ISSUE), "read_file": README}
