"""Who hears that a server is done with a page: those who were asked to open it, and nobody else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.fakes import INSTANT
from toolcrib.model.asking import Conversation, Question
from toolcrib.upstream.open_pages import MOST_KEPT, OpenPages


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


class Client(Conversation):
    def __init__(self) -> None:
        self.capabilities = {}
        self.heard: list[str] = []

    async def ask(self, question: Question) -> bytes:
        raise AssertionError(question)

    def tell(self, method: str, params: bytes) -> None:
        assert method == "notifications/elicitation/complete"
        self.heard.append(json.loads(params)["elicitationId"])


def page(id: Any) -> bytes:
    return json.dumps({"elicitationId": id}).encode()


async def test_a_client_hears_once_of_the_pages_that_it_was_asked_to_open() -> None:
    pages, ann, bob = OpenPages(), Client(), Client()
    pages.note_question(page("a"), ann)
    pages.note_error({"elicitations": [{"elicitationId": "b"}, {"elicitationId": "c"}, 7]}, bob)
    for id in ("a", "b", "a", "unknown"):
        pages.complete(page(id))

    assert (ann.heard, bob.heard) == (["a"], ["b"])


async def test_two_clients_with_one_page_both_hear_of_it() -> None:
    pages, ann, bob = OpenPages(), Client(), Client()
    for client in (ann, bob):
        pages.note_question(page("a"), client)
    pages.complete(page("a"))

    assert (ann.heard, bob.heard) == (["a"], ["a"])


async def test_a_notice_that_comes_before_the_error_it_belongs_to_is_not_lost() -> None:
    pages, ann = OpenPages(), Client()
    pages.complete(page("a"))
    pages.note_error({"elicitations": [{"elicitationId": "a"}]}, ann)

    assert ann.heard == ["a"]


async def test_pages_are_forgotten_after_a_while_and_when_they_are_too_many() -> None:
    pages, ann, bob = OpenPages(), Client(), Client()
    pages.note_question(page("old"), ann)
    pages.complete(page("early"))
    await asyncio.sleep(601)
    pages.complete(page("old"))
    pages.note_question(page("early"), ann)
    for number in range(MOST_KEPT + 1):
        pages.note_question(page(f"n{number}"), bob)
    pages.complete(page("n0"))
    pages.complete(page(f"n{MOST_KEPT}"))

    assert (ann.heard, bob.heard) == ([], [f"n{MOST_KEPT}"])


@pytest.mark.parametrize("id", [None, 7, "", "x" * 600, ["a"], {}])
async def test_what_is_no_id_concerns_nobody(id: Any) -> None:
    pages, ann = OpenPages(), Client()
    pages.note_question(page(id), ann)
    pages.note_error({"elicitations": [{"elicitationId": id}]}, ann)
    pages.complete(page(id))
    pages.complete(b"[1")

    assert ann.heard == []
