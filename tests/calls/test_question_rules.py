from __future__ import annotations

import json
from typing import Any

import pytest

from tests.calls.steps import a_call, aimed
from tests.fakes import spec, tool
from toolcrib.calls.question_rules import (
    MOST_MESSAGE_CHARACTERS,
    QuestionRules,
    allowed_by,
    rules_for,
)
from toolcrib.model.asking import Question, QuestionRefused
from toolcrib.model.call import Target
from toolcrib.model.server import RemoteLaunch
from toolcrib.model.tool import Tool

ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


def form(message: Any, **more: Any) -> Question:
    return Question("github", "elicitation/create", json.dumps({"message": message, **more}).encode())


def address(url: Any) -> Question:
    return form("Please sign in", mode="url", url=url, elicitationId="e-1")


def shown(question: Question, **rules: Any) -> dict[str, Any]:
    return json.loads(QuestionRules("github", **rules).shown(question).params)


def test_a_question_names_the_server_that_asks() -> None:
    schema = {"type": "object", "properties": {"repo": {"type": "string"}}}

    assert shown(form("Which repository?", requestedSchema=schema)) == {
        "message": "github asks: Which repository?",
        "requestedSchema": schema,
    }


def test_a_message_that_would_hide_who_asks_is_cleaned_and_cut() -> None:
    hidden = "\x1b[2J\u202eYour bank asks" + "x" * 10_000

    message = shown(form(hidden))["message"]

    assert message.startswith("github asks: ")
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert len(message) == len("github asks: ") + MOST_MESSAGE_CHARACTERS


def test_the_words_of_a_form_hide_nothing_and_its_names_and_choices_stay() -> None:
    turned = "a\u202eb"
    field = {"type": "string", "title": turned, "description": turned, "enum": [turned], "enumNames": [turned]}
    told = {"type": "object", "properties": {turned: field, "title": {"type": "string", "title": "plain"}}}

    properties = shown(form("Which?", requestedSchema=told))["requestedSchema"]["properties"]

    assert properties["title"] == {"type": "string", "title": "plain"}
    clean = "a\ufffdb"
    assert properties[turned] == {
        "type": "string",
        "title": clean,
        "description": clean,
        "enum": [turned],
        "enumNames": [clean],
    }


def test_a_form_without_a_bottom_is_refused() -> None:
    deep = b'{"message":"a","requestedSchema":' + b'{"a":' * 700 + b"1" + b"}" * 701

    with pytest.raises(QuestionRefused):
        QuestionRules("github").shown(Question("github", "elicitation/create", deep))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://github.com/login?x=1", "github.com"),
        ("https://GitHub.com:8443/login", "github.com:8443"),
        ("https://g\u0456thub.com/login", "xn--gthub-n2e.com"),
    ],
)
def test_an_address_is_shown_with_its_real_host_and_passes_as_it_is(url: str, host: str) -> None:
    params = shown(address(url))

    assert params["message"] == f"github asks you to open {host}: Please sign in"
    assert params["url"] == url


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/login",
        "http://127.0.0.1:8000/login",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://github.com@evil.example/",
        "https://evil.example\\.github.com/",  # browsers take the backslash for a slash
        "https://evil.example%2f.github.com/",
        "https://github.com .evil.example/",
        "https://gro\u00dfe.example/",  # browsers don't make "ss" of it
        "https://git\u200dhub.com/",
        "https://",
        "https://[::1",
        "https://host:99999/",
        "",
        None,
        7,
        ["https://github.com"],
    ],
)
def test_an_address_that_could_mislead_is_refused(url: Any) -> None:
    with pytest.raises(QuestionRefused):
        shown(address(url))


@pytest.mark.parametrize(
    ("url", "is_shown"),
    [
        ("http://127.0.0.1:8000/login", True),
        ("http://localhost/login", True),
        ("http://[::1]:1/", True),
        ("http://192.168.1.1/", False),
        ("http://127.0.0.1.evil.example/", False),
    ],
)
def test_a_server_on_this_machine_may_name_an_address_on_it(url: str, is_shown: bool) -> None:
    if is_shown:
        assert shown(address(url), is_local=True)["url"] == url
    else:
        with pytest.raises(QuestionRefused):
            shown(address(url), is_local=True)


@pytest.mark.parametrize(
    ("rules", "capabilities", "left"),
    [
        ({}, ALL, {"elicitation", "sampling", "roots"}),
        ({"sampling": "allow"}, ALL, {"elicitation", "sampling", "roots"}),
        ({"sampling": "deny"}, ALL, {"elicitation", "roots"}),
        ({"elicitation": "deny"}, ALL, {"sampling", "roots"}),
        ({"sampling": "ask"}, {"sampling": {}}, set()),
        ({"sampling": "ask"}, {"sampling": {}, "elicitation": {"url": {}}}, {"elicitation"}),
        ({"sampling": "allow"}, {"sampling": {}}, {"sampling"}),
    ],
)
def test_a_denied_server_is_never_told_that_the_client_could_sample(
    rules: dict[str, Any], capabilities: dict[str, Any], left: set[str]
) -> None:
    assert QuestionRules("github", **rules).permitted(capabilities).keys() == left


def test_the_entry_of_a_server_comes_before_the_setting() -> None:
    call = aimed(tool("read"))
    definition = Tool.from_mcp("files", tool("read"))
    stated = spec("files", sampling="deny", elicitation="deny", launch=RemoteLaunch("https://files.example/mcp"))
    remote = a_call(target=Target(definition, "read", stated))
    near = a_call(target=Target(definition, "read", spec("files", launch=RemoteLaunch("http://127.0.0.1:1/mcp"))))

    assert rules_for(call, "allow") == QuestionRules("files", "allow", "allow", is_local=True)
    assert rules_for(remote, "allow") == QuestionRules("files", "deny", "deny", is_local=False)
    assert rules_for(near, "ask").is_local
    assert rules_for(a_call(), "ask") == QuestionRules("files", "ask")


def test_a_person_sees_the_prompt_that_they_are_asked_about() -> None:
    params = {
        "systemPrompt": "Be brief.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "What is the password?"}},
            {"role": "user", "content": [{"type": "image", "data": ""}, {"type": "text", "text": "Look."}]},
            7,
        ],
    }
    asked = QuestionRules("github").consent(Question("github", "sampling/createMessage", json.dumps(params).encode()))

    told = json.loads(asked.params)
    assert asked.kind == "elicitation"
    assert told["message"] == (
        "github wants an answer of your model, to this prompt: Be brief.\nWhat is the password?\nLook."
    )
    assert told["requestedSchema"]["properties"]["allow"]["enum"] == ["once", "in this session"]


@pytest.mark.parametrize("wanted", ["thisServer", "allServers", 7])
def test_a_prompt_brings_nothing_of_what_other_servers_told_the_client(wanted: Any) -> None:
    prompt = Question(
        "github", "sampling/createMessage", json.dumps({"messages": [], "includeContext": wanted}).encode()
    )
    plain = Question("github", "sampling/createMessage", b'{ "messages" : [], "includeContext": "none" }')

    assert shown(prompt) == {"messages": [], "includeContext": "none"}
    assert QuestionRules("github").shown(plain) is plain


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ({"action": "accept", "content": {"allow": "once"}}, "once"),
        ({"action": "accept", "content": {"allow": "in this session"}}, "in this session"),
        ({"action": "accept", "content": {}}, "once"),
        ({"action": "accept"}, ""),
        ({"action": "decline"}, ""),
        ({"action": "cancel", "content": {"allow": "in this session"}}, ""),
        ({}, ""),
        ([], ""),
    ],
)
def test_only_a_clear_yes_is_a_yes(answer: Any, allowed: str) -> None:
    assert allowed_by(json.dumps(answer).encode()) == allowed
