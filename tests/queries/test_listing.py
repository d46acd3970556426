"""Lists of servers and tools as agents read them, in tokens of o200k_base."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.agent_tokens import compact, count
from toolcrib.model.status import CONNECTED, DISCONNECTED, ServerStatus
from toolcrib.model.view import ServerSummary, ToolSummary
from toolcrib.queries.listing import server_list, server_page, tool_list, tool_page

NAMES = (
    "github filesystem brave-search puppeteer sequential-thinking google-maps slack gitlab postgres sqlite everart "
    "memory time fetch notion linear kubernetes aws-kb-retrieval atlassian figma context7 playwright sentry stripe "
    "supabase airtable asana azure bigquery blender canva cloudflare confluence datadog discord docker dropbox elastic "
    "gmail google-calendar google-drive grafana heroku hubspot intercom jira jupyter mailchimp mongodb mysql neon "
    "obsidian openapi pagerduty paypal pinecone prometheus qdrant reddit redis salesforce shopify snowflake spotify "
    "square tavily telegram todoist trello twilio vercel whatsapp wikipedia"
).split()
VERBS = "list get create update delete search add remove close merge".split()
NOUNS = "issue pull_request repository branch commit release workflow_run label milestone code_scanning_alert".split()
TOOLS = [f"{verb}_{noun}" for noun in NOUNS for verb in VERBS]
BROKEN = ServerStatus("error", "the server exited with status 1: no such database")


def server(name: str = "files", status: ServerStatus = DISCONNECTED, **more: Any) -> ServerSummary:
    described = {"description": f"{name}: accounts, messages, projects and reports of the team", "tool_count": 12}
    return ServerSummary(name=name, status=status, **{"enabled_count": 12, **described, **more})


def tool(name: str, *, enabled: bool = True, tags: tuple[str, ...] = ()) -> ToolSummary:
    words = name.replace("_", " ")
    return ToolSummary(
        "github", name, f"{words.capitalize()} in a repository of an organisation or a user", enabled, tags
    )


# -- servers


def test_a_few_servers_are_shown_with_counts_and_status_and_nothing_for_people_only() -> None:
    given = ServerSummary("files", "Files.", 3, 2, CONNECTED, title="My Files", transport="stdio")

    assert server_list([given], enabled=True) == {
        "servers": [
            {"name": "files", "description": "Files.", "toolCount": 3, "enabledCount": 2, "status": "connected"}
        ]
    }


def test_a_server_in_trouble_is_shown_with_a_bounded_reason() -> None:
    shown = server_list([server(status=ServerStatus("error", "x" * 500))], enabled=True)["servers"][0]

    assert (shown["status"], len(shown["reason"])) == ("error", 200)


@pytest.mark.parametrize("number", [1, 5, 10, 20, 30, 50, 73])
def test_any_number_of_servers_is_listed_within_600_tokens_each_at_least_by_name(number: int) -> None:
    answer = server_list([server(name) for name in NAMES[:number]], enabled=True)

    assert count(compact(answer)) <= 600
    assert [shown["name"] for shown in answer["servers"]] + answer.get("more", []) == NAMES[:number]
    assert answer["servers"][0]["description"]


def test_73_servers_say_more_than_their_names() -> None:
    answer = server_list([server(name) for name in NAMES], enabled=True)

    assert len(NAMES) == 73
    assert len(answer["servers"]) >= 8
    assert set(answer["servers"][0]) == {"name", "description", "toolCount"}
    assert "list_tools" in answer["note"]


def test_of_very_many_servers_the_way_to_the_rest_is_shown() -> None:
    many = [server(f"team-server-{number}") for number in range(1_000)]
    answer = server_list(many, enabled=True)
    shown = len(answer["servers"])

    assert count(compact(answer)) <= 600
    assert f'arguments {{"offset":{shown}}}' in answer["note"]


def test_what_is_the_same_for_nearly_all_servers_is_left_out_of_a_long_list() -> None:
    many = [server(name) for name in NAMES[:20]]
    answer = server_list([*many, server("half", enabled_count=6)], enabled=True)

    assert not any("status" in shown for shown in answer["servers"])
    assert [shown["name"] for shown in answer["servers"] if "enabledCount" in shown] in (["half"], [])


def test_broken_servers_are_told_first_where_not_all_can_be_described() -> None:
    answer = server_list([*(server(name) for name in NAMES), server("broken", BROKEN)], enabled=True)

    assert answer["servers"][0]["name"] == "broken"
    assert answer["servers"][0]["status"] == "error"
    assert "no such database" in answer["servers"][0]["reason"]


@pytest.mark.parametrize(("enabled", "words"), [(True, "toolcrib adopt"), (False, "discovery.enabled: false")])
def test_an_empty_list_says_why_and_what_to_do(enabled: bool, words: str) -> None:
    answer = server_list([], enabled=enabled)

    assert answer["servers"] == []
    assert words in answer["note"]


# -- tools


def test_a_few_tools_are_shown_with_whether_they_are_enabled() -> None:
    given = [ToolSummary("files", "a", "Does it.", True, ("t",)), ToolSummary("files", "b", "", False)]

    assert tool_list("files", given) == {
        "server": "files",
        "tools": [
            {"name": "a", "summary": "Does it.", "enabled": True, "tags": ["t"]},
            {"name": "b", "enabled": False},
        ],
    }


@pytest.mark.parametrize("number", [1, 8, 15, 25, 40, 60, 98])
def test_any_number_of_tools_is_listed_within_500_tokens_summaries_first(number: int) -> None:
    answer = tool_list("github", [tool(name) for name in TOOLS[:number]])
    shown = [listed["name"] for listed in answer["tools"]]

    assert count(compact(answer)) <= 500
    assert shown + answer.get("more", []) == TOOLS[: len(shown) + len(answer.get("more", []))]
    assert all(listed["summary"] for listed in answer["tools"])
    assert len(shown) >= min(number, 8)


def test_of_98_tools_the_way_to_the_rest_is_shown() -> None:
    answer = tool_list("github", [tool(name) for name in TOOLS[:98]])
    shown = len(answer["tools"])

    assert answer["note"].startswith(f"{shown} of 98 tools are shown.")
    assert f'arguments {{"server":"github","offset":{shown}}}' in answer["note"]
    assert not any("enabled" in listed for listed in answer["tools"])


def test_a_disabled_tool_is_marked_in_a_long_list_too() -> None:
    listed = [tool(name, enabled=name != "get_issue") for name in TOOLS[:25]]

    assert [one["name"] for one in tool_list("github", listed)["tools"] if "enabled" in one] == ["get_issue"]


def test_why_no_tools_are_known_is_said() -> None:
    assert tool_list("files", [], "It is gone.") == {"server": "files", "tools": [], "note": "It is gone."}


# -- the rest


def test_pages_go_on_to_the_end_of_a_list() -> None:
    found = [tool(name) for name in TOOLS]
    read: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = tool_page("github", found, offset)
        assert count(compact(page)) <= 1_000
        read += [listed["name"] for listed in page["tools"]]
        offset = page.get("next")

    assert read == TOOLS


def test_a_page_of_servers_begins_where_it_is_asked_to() -> None:
    page = server_page([server(name) for name in NAMES], 70)

    assert [shown["name"] for shown in page["servers"]] == NAMES[70:]
    assert "next" not in page


def test_the_rest_of_the_servers_begins_where_the_list_ended() -> None:
    many = [server(f"team-server-{number}", BROKEN if number % 7 == 3 else DISCONNECTED) for number in range(300)]
    read = [shown["name"] for shown in server_list(many, enabled=True)["servers"]]
    while (page := server_page(many, len(read)))["servers"]:
        read += [shown["name"] for shown in page["servers"]]

    assert sorted(read) == sorted(one.name for one in many)


def test_a_page_beyond_the_end_is_empty() -> None:
    assert tool_page("github", [tool("a")], 5) == {"server": "github", "tools": []}


# -- what waits for a person


def test_lists_say_how_much_waits_for_a_person_and_of_which_server() -> None:
    answer = server_list(
        [server("files", waiting_count=2), server("mail"), server("web", waiting_count=1)], enabled=True
    )

    assert answer["note"].endswith("waiting for a person's review (`toolcrib approvals`): 2 of files, 1 of web.")
    assert [one.get("waitingForReview") for one in answer["servers"]] == [2, None, 1]
    assert tool_list("github", [tool("list_issue")], waiting=3)["note"].endswith("3 of github.")
    assert "note" not in tool_list("github", [tool("list_issue")])


@pytest.mark.parametrize("number", [3, 73, 1000])
def test_lists_stay_within_their_budget_where_everything_waits(number: int) -> None:
    found = [server(f"{NAMES[at % len(NAMES)]}-{at}", waiting_count=9) for at in range(number)]

    assert count(compact(server_list(found, enabled=True))) <= 600
