"""What a model is told that sees nothing else of the gateway, in tokens of o200k_base."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.server.agent_tokens import count
from toolcrib.server.definitions import META_TOOL_NAMES
from toolcrib.server.instructions import instructions

TOPICS = {"github": ("issues", "pull requests", "comments"), "time": ("time", "time zones"), "odd": ()}
REAL_NAMES = (
    "github filesystem brave-search puppeteer sequential-thinking google-maps slack gitlab postgres sqlite everart "
    "memory time fetch notion linear kubernetes aws-kb-retrieval atlassian figma context7 playwright sentry stripe "
    "supabase airtable asana azure bigquery blender canva cloudflare confluence datadog discord docker dropbox elastic "
    "gmail google-calendar google-drive grafana heroku hubspot intercom jira jupyter mailchimp mongodb mysql neon "
    "obsidian openapi pagerduty paypal pinecone prometheus qdrant reddit redis salesforce shopify snowflake spotify "
    "square tavily telegram todoist trello twilio vercel whatsapp wikipedia wordpress xero youtube zapier zendesk zoom"
).split()


def topics(server: str) -> Sequence[str]:
    return TOPICS.get(server, ("messages", "channels", "users"))


def no_topics(_: str) -> Sequence[str]:
    return ()


def test_a_model_is_told_what_to_call_in_which_order_and_which_servers_there_are() -> None:
    said = instructions(["github", "time", "odd"], topics)

    steps = [said.index(name) for name in ("search_tools", "get_tool_details", "execute_tool")]
    assert steps == sorted(steps)
    assert said.endswith("Servers: github (issues, pull requests, comments), time (time zones), odd.")


@pytest.mark.parametrize("number", [1, 6, 20, 40, len(REAL_NAMES), 1000])
@pytest.mark.parametrize("told", [topics, no_topics])
def test_the_instructions_stay_within_250_tokens(number: int, told: object) -> None:
    names = [*REAL_NAMES, *(f"team-{n}-server" for n in range(1000))][:number]

    assert count(instructions(names, told)) <= 250  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["knowledge-of-the-accounting-department-and-its-archives-{:04}", "{:032x}", "Xq{}_zz"]
)
def test_odd_names_stay_within_250_tokens_too(name: str) -> None:
    assert count(instructions([name.format(n * 7919) for n in range(100)], topics)) <= 250


def test_every_server_of_an_ordinary_setup_is_named() -> None:
    said = instructions(REAL_NAMES[:40], topics)

    assert all(name in said for name in REAL_NAMES[:40])


def test_of_many_servers_as_many_as_fit_are_named_with_the_way_to_the_rest() -> None:
    said = instructions(REAL_NAMES, topics)

    named = said.partition("Servers: ")[2].partition(" and ")[0].split(", ")
    assert named == REAL_NAMES[: len(named)]
    assert len(named) > 35
    assert said.endswith(f" and {len(REAL_NAMES) - len(named)} more; list_mcp_servers shows all.")


def test_a_topic_that_the_name_says_already_is_left_out() -> None:
    assert instructions(["slack-messages"], topics).endswith("slack-messages (channels, users).")


def test_servers_that_nothing_more_could_be_said_of_are_not_looked_up() -> None:
    asked: list[str] = []

    def asking(name: str) -> Sequence[str]:
        asked.append(name)
        return ()

    instructions(REAL_NAMES, asking)

    assert asked == []


def test_without_any_server_a_model_is_told_what_a_person_can_do() -> None:
    said = instructions([], topics)

    assert "No server is configured yet" in said
    assert "toolcrib adopt" in said
    assert "toolcrib add" in said


def test_a_gateway_that_is_switched_off_says_so() -> None:
    assert "discovery.enabled: false" in instructions(["github"], topics, enabled=False)


def test_only_tools_that_exist_are_named() -> None:
    said = instructions(REAL_NAMES, topics)

    words = {word.strip(".,;:()") for word in said.split() if "_" in word}
    assert words <= {*META_TOOL_NAMES}
