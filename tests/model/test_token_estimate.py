from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.agent_tokens import compact, count
from tests.server.everyday_tools import SERVERS
from toolcrib.model.token_estimate import estimated_tokens

PAGES = Path(__file__).resolve().parents[2] / "docs"
NAMES = (
    "github, filesystem, brave-search, puppeteer, sequential-thinking, google-maps, slack, gitlab, postgres, sqlite, "
    "everart, memory, time, fetch, notion-mcp, linear_v2, k8s-prod, aws-kb-retrieval, mcp-atlassian, context7, sentry"
)


def summaries(server: str) -> str:
    return compact([{"name": tool["name"], "summary": tool["description"]} for tool in SERVERS[server]])


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(summaries(name), id=name) for name in SERVERS),
        pytest.param(compact(list(SERVERS.values())), id="definitions"),
        pytest.param((PAGES / "architecture.md").read_text(encoding="utf-8"), id="prose"),
        pytest.param(NAMES, id="names of servers"),
        pytest.param("検索して、ファイルを読む。日本語のサーバー名", id="another script"),
        pytest.param(compact([{"id": f"a{n}f{n * 7919}", "n": n * 1.37} for n in range(50)]), id="numbers and ids"),
    ],
)
def test_an_estimate_is_close_to_what_a_tokenizer_counts_and_rather_above_it(text: str) -> None:
    assert 0.97 <= estimated_tokens(text) / count(text) <= 1.3


def test_nothing_costs_nothing() -> None:
    assert estimated_tokens("") == 0
