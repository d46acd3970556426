"""What a server may ask of the client that calls it, and how a person recognises who asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import msgspec

from toolcrib.model.addresses import is_loopback_host
from toolcrib.model.asking import ELICITATION, Question, QuestionKind, QuestionRefused, can_answer
from toolcrib.model.call import ToolCall
from toolcrib.model.clean_text import clean, clean_lines, cleaned
from toolcrib.model.server import Elicitation, RemoteLaunch, Sampling, ServerSpec
from toolcrib.wire.jsonrpc import INVALID_PARAMS

MOST_MESSAGE_CHARACTERS = 4_096
MOST_PROMPT_CHARACTERS = 1_000
ONCE, SESSION = "once", "in this session"

_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+", re.ASCII)
# What a form only shows.
_WORDS = frozenset({"title", "description", "enumNames"})
_FORM = Question("", ELICITATION, b"{}")
_CONSENT_FORM = {
    "type": "object",
    "properties": {"allow": {"type": "string", "title": "Allow it", "enum": [ONCE, SESSION], "default": ONCE}},
    "required": ["allow"],
}


@dataclass(frozen=True, slots=True)
class QuestionRules:
    """What one server may ask; `is_local` where it runs on this machine."""

    server: str = ""
    sampling: Sampling = "ask"
    elicitation: Elicitation = "allow"
    is_local: bool = False

    def permitted(self, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """The capabilities of a client, less those that the server may not use."""
        denied: set[QuestionKind] = set()
        if self.elicitation == "deny":
            denied.add("elicitation")
        # Without a form nobody can be asked for permission.
        if self.sampling == "deny" or (self.sampling == "ask" and not can_answer(capabilities, _FORM)):
            denied.add("sampling")
        if denied.isdisjoint(capabilities):
            return capabilities
        return {kind: value for kind, value in capabilities.items() if kind not in denied}

    def shown(self, question: Question) -> Question:
        """The question as the client gets it: a person is told who asks. Raises QuestionRefused for a doubtful address."""
        if question.kind == "sampling":
            return _without_context(question)
        if question.kind != "elicitation":
            return question
        params = _object(question.params)
        message = clean_lines(str(params.get("message", "")))[:MOST_MESSAGE_CHARACTERS]
        asks = f"{self.server} asks"
        if question.is_url:
            asks = f"{self.server} asks you to open {self._host(params.get('url'))}"
        try:
            told = {**_with_clean_words(params), "message": f"{asks}: {message}"}
        except RecursionError:
            raise QuestionRefused(INVALID_PARAMS, "the question is nested too deeply") from None
        return replace(question, params=msgspec.json.encode(told))

    def shown_page(self, page: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same for a page that an error has the client open (-32042)."""
        params = msgspec.json.encode({**page, "mode": "url"})
        return _object(self.shown(Question(self.server, ELICITATION, params)).params)

    def consent(self, question: Question) -> Question:
        """Our own question, whether the server may have this answer of the client's model."""
        said = clean_lines(_prompt_text(_object(question.params)))
        cut = f"{said[:MOST_PROMPT_CHARACTERS]} …" if len(said) > MOST_PROMPT_CHARACTERS else said
        message = f"{self.server} wants an answer of your model, to this prompt: {cut}"
        form = {"mode": "form", "message": message, "requestedSchema": _CONSENT_FORM}
        return replace(question, method=ELICITATION, params=msgspec.json.encode(form))

    def _host(self, address: object) -> str:
        """The host of an address that a person may be asked to open, as it is really called."""
        try:
            url = urlsplit(str(address))
            host, port = _as_browsers_read(url.hostname or ""), url.port
        except ValueError:
            host = ""
        if not host or url.username is not None or not self._is_safe(url.scheme, host):
            raise QuestionRefused(INVALID_PARAMS, "only https addresses are shown, without a user name in them")
        return clean(host if port is None else f"{host}:{port}")

    def _is_safe(self, scheme: str, host: str) -> bool:
        return scheme == "https" or (scheme == "http" and self.is_local and is_loopback_host(host))


def rules_for(call: ToolCall, sampling: Sampling) -> QuestionRules:
    """What the entry of the server says; `sampling` holds where it says nothing."""
    spec = None if call.target is None else call.target.spec
    if spec is None:
        return QuestionRules(call.server, sampling)
    return QuestionRules(call.server, spec.sampling or sampling, spec.elicitation, _is_local(spec))


def allowed_by(answer: bytes) -> str:
    """How far a person has allowed it: once, in this session, or (empty) not at all."""
    given = _object(answer)
    content = given.get("content")
    if given.get("action") != "accept" or not isinstance(content, Mapping):
        return ""
    return SESSION if content.get("allow") == SESSION else ONCE


def _without_context(question: Question) -> Question:
    """A prompt that brings nothing of the client's context: for the client, "this server" is all servers that we stand for."""
    params = _object(question.params)
    if params.get("includeContext", "none") == "none":
        return question
    return replace(question, params=msgspec.json.encode({**params, "includeContext": "none"}))


def _as_browsers_read(host: str) -> str:
    """The host as it is really called; empty for one that browsers read otherwise than we do, so that another one would open."""
    encoded = host.encode("idna")
    is_same = _HOST.fullmatch(host) if host.isascii() else encoded.decode("idna") == host
    return encoded.decode() if is_same else ""


def _with_clean_words(value: Any) -> Any:
    """A form in words that can do nothing but be read; names and choices stay, since they come back with the answer."""
    if isinstance(value, list):
        return [_with_clean_words(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: cleaned(one) if key in _WORDS and not isinstance(one, dict) else _with_clean_words(one)
        for key, one in value.items()
    }


def _is_local(spec: ServerSpec) -> bool:
    launch = spec.launch
    return not isinstance(launch, RemoteLaunch) or is_loopback_host(urlsplit(launch.url).hostname or "")


def _prompt_text(params: Mapping[str, Any]) -> str:
    """What the model would be told, as far as it is text."""
    messages = params.get("messages")
    contents = (
        [one.get("content") for one in messages if isinstance(one, Mapping)] if isinstance(messages, list) else []
    )
    blocks = [block for content in contents for block in (content if isinstance(content, list) else [content])]
    texts = [str(block["text"]) for block in blocks if isinstance(block, Mapping) and "text" in block]
    return "\n".join([str(params["systemPrompt"]), *texts] if params.get("systemPrompt") else texts)


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
