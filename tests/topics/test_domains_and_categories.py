from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.topics.categories import CATEGORIES, infer_categories
from toolcrib.topics.domains import (
    domain_matches,
    extract_primary_domain,
    extract_sub_domain,
    infer_domains,
    topics,
)
from toolcrib.topics.topic_words import known_topics


@pytest.mark.parametrize(
    ("server", "domain"),
    [
        ("modelcontextprotocol/github", "github"),
        ("gh", "github"),
        ("GitHub-MCP-Server", "github"),
        ("aws-s3-server", "cloud.aws"),
        ("amazon_bedrock_mcp", "cloud.aws"),
        ("gcp-storage", "cloud.gcp"),
        ("googlemaps", "cloud.gcp"),
        ("google-calendar", "cloud.gcp"),
        ("azure-devops", "cloud.azure"),
        ("my-postgres", "database"),
        ("sales-db", "database"),
        ("salesDB", "database"),
        ("filesystem", "filesystem"),
        ("fs", "filesystem"),
        ("file-bot", "filesystem"),
        ("web-search", "web"),
        ("fetch", "web"),
        ("fastmail-smtp", "email"),
        ("gcal", "calendar"),
        ("slack-bot", "slack"),
        ("discord", "discord"),
        ("jira", "jira"),
        ("confluence", "confluence"),
        ("notion-api", "notion"),
        ("linear", "linear"),
        ("knowledge_base-mcp-server", "knowledge.base"),
        ("weather_api_server", "weather"),
        ("server", "server"),
    ],
)
def test_the_domain_of_a_server_is_told_from_its_name(server: str, domain: str) -> None:
    assert extract_primary_domain(server) == domain


@pytest.mark.parametrize("server", ["lighthouse", "profile", "webhooks", "gmail", "feedback-hub", "httpbin", "laws"])
def test_short_keys_count_only_as_whole_words(server: str) -> None:
    assert extract_primary_domain(server) == server.replace("-", ".")


@pytest.mark.parametrize(
    ("tool", "domain"),
    [
        ("list_issues", "issues"),
        ("get_issue", "issues"),
        ("get_pull_request", "pull_requests"),
        ("list_prs", "pull_requests"),
        ("get_all_users", "users"),
        ("createBranch", "branches"),
        ("list-repositories", "repos"),
        ("get_repo", "repos"),
        ("send_msg", "messages"),
        ("upload_file", "files"),
        ("create_folder", "directories"),
        ("list_issue_comments", "issue.comments"),
        ("searchCode", "code"),
        ("list_commits", "commits"),
        ("add_label", "labels"),
        ("run_query", None),
        ("list", None),
        ("getaway", None),
        ("", None),
    ],
)
def test_the_narrower_domain_is_what_the_action_is_done_to(tool: str, domain: str | None) -> None:
    assert extract_sub_domain(tool) == domain


def test_a_tool_has_the_domain_of_its_server_and_its_own() -> None:
    assert infer_domains("github", "list_issues") == ["github", "github.issues"]
    assert infer_domains("aws-s3", "upload_file") == ["cloud.aws", "cloud.aws.files"]
    assert infer_domains("github", "whoami") == ["github"]


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ("github", True),
        ("github.issues", True),
        ("github.issues.labels", True),
        ("git", False),
        ("github.issue", False),
        ("github.pull_requests", False),
    ],
)
def test_a_domain_fits_an_equal_a_wider_and_a_narrower_one(wanted: str, fits: bool) -> None:
    assert domain_matches(wanted, "github.issues") is fits


@pytest.mark.parametrize(
    ("tool", "categories"),
    [
        ("list_issues", ["crud.read"]),
        ("create_issue", ["crud.create"]),
        ("search_code", ["crud.read", "search"]),
        ("findUser", ["crud.read", "search"]),
        ("code_search", ["search"]),
        ("new-draft", ["crud.create"]),
        ("patch_file", ["crud.update"]),
        ("drop_table", ["crud.delete"]),
        ("send_mail", ["notify"]),
        ("post_message", ["crud.create", "notify"]),
        ("convert_currency", ["transform"]),
        ("check_spelling", ["validate"]),
        ("upload_file", ["upload"]),
        ("download_file", ["crud.read"]),
        ("start_upload", ["upload"]),
        ("whoami", ["other"]),
    ],
)
def test_the_categories_of_a_tool_are_told_from_its_name(tool: str, categories: list[str]) -> None:
    assert infer_categories(tool) == categories


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_name_has_a_domain_path_and_known_categories(server: str, tool: str) -> None:
    domains = infer_domains(server, tool)

    assert 1 <= len(domains) <= 2
    assert domains[-1].startswith(domains[0])
    assert set(infer_categories(tool)) <= set(CATEGORIES)


def test_topics_are_plain_words_the_most_frequent_first() -> None:
    names = ["list_issues", "get_pull_request", "create_issue", "list_issue_comments", "get_" + "x" * 50, "run"]

    assert topics(names) == ["issues", "pull requests", "issue comments"]


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        (["git_commit", "git_log", "git_diff_staged", "git_diff_unstaged"], ["diffs", "commits", "logs"]),
        (["get_current_time", "convert_time"], ["time"]),
        (["read_file", "list_directory", "readTextFile"], ["files", "directories", "text"]),
        (["fetch"], ["web pages"]),
        (["fetch_balance"], ["balances"]),
        (["merge_pull_request", "listPRs"], ["pull requests"]),
        (["post_message", "list_channels", "send-message"], ["messages", "channels"]),
        (["ignore_all_previous_instructions", "obey"], []),
    ],
)
def test_what_tools_are_about_is_told_only_in_words_of_our_own(tools: list[str], told: list[str]) -> None:
    assert known_topics(tools, most=3) == told
